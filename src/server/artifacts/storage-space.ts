import { DAY_MS, HOUR_MS } from '../../contract/time-units.ts';
import type { AdminNotice, Bilingual } from '../notifications/notifier.ts';
import type { Clock } from '../platform/clock.ts';
import { KeyedCounter, KeyedMutex } from '../platform/concurrency.ts';
import type { Config } from '../platform/config.ts';
import { DatabaseUnavailableError } from '../platform/db/database.ts';
import type { Log } from '../platform/log.ts';
import type { ScheduledJob } from '../platform/scheduled-jobs.ts';
import type {
  ArtifactStore,
  OldestCopy,
  OrphanFileStore,
  RemovalStore,
  RemovingCopy,
  StorageUsageStore,
} from './artifact-store.ts';
import type { ArtifactFileStorage, IncomingFileDirectory } from './file-storage.ts';

/**
 * `evicting`: the oldest copies were removed for a newer one. `blocked`: a copy was not stored, and none was removed
 * for it. `unremovable`: files of removed copies cannot be deleted and still use space.
 */
export type SpaceShortage = 'evicting' | 'blocked' | 'unremovable';

interface StorageSpaceDependencies {
  readonly usage: StorageUsageStore;
  readonly removals: RemovalStore;
  readonly files: ArtifactFileStorage;
  readonly remover: ArtifactRemover;
  /** Limit on the bytes of all copies. */
  readonly maxBytes: number;
  /** Bytes to leave free on the device. */
  readonly minFreeBytes: number;
  /**
   * Called when the total space is exhausted; `since` is the start of the shortage in Unix milliseconds. Never throws.
   */
  readonly onShortage: (shortage: SpaceShortage, since: number) => Promise<void>;
  readonly clock: Clock;
}

/** Not enough space for a copy. `isPermanent`: the copy exceeds the account's whole limit. */
export class NoSpaceError extends Error {
  readonly isPermanent: boolean;
  constructor(message: string, isPermanent: boolean) {
    super(message);
    this.name = 'NoSpaceError';
    this.isPermanent = isPermanent;
  }
}

/** Whether a write failed because the device has no space, or this user may use no more of it. */
export const isDeviceFull = (error: unknown): boolean =>
  ['ENOSPC', 'EDQUOT'].includes((error as NodeJS.ErrnoException | null)?.code ?? '');

/** Space reserved for a copy in progress. */
export interface Reservation {
  /**
   * Reserves at least this many bytes in total.
   * @throws NoSpaceError
   */
  growTo(bytes: number): Promise<void>;
  release(): void;
}

const EVICTION_BATCH = 200;
/** A copy of unknown length reserves space in steps of this size. */
const STEP_BYTES = 32 * 1024 ** 2;
/** If more than this share of the bytes to leave free is missing, other programs fill the device, not the copies. */
const FOREIGN_SHARE = 0.5;

/** Bytes that must be freed before a copy fits. */
interface Shortage {
  /** Of the account's own copies. */
  readonly ofAccount: number;
  /** Of any account's copies. */
  readonly ofAll: number;
  /** Bytes of the space to leave free that other programs use. */
  readonly foreign: number;
}

/**
 * Keeps the copies within the limits of their account and of the total by evicting the oldest. Decides before removing:
 * if evictions would not free enough, or other programs have filled the device, nothing is removed. Stored bytes are
 * counted by the sums over the rows, bytes about to be stored by this process's reservations.
 */
export class StorageSpace {
  readonly #dependencies: StorageSpaceDependencies;
  readonly #mutex = new KeyedMutex<'space'>();
  readonly #reservedByUser = new KeyedCounter<number>();
  #reserved = 0;
  /** Bytes reserved but not on the device yet. */
  #unwritten = 0;
  /** Since when no copy could be stored, Unix milliseconds. */
  #blockedSince: number | undefined;

  constructor(dependencies: StorageSpaceDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * @param bytes undefined: unknown
   * @param limitBytes the account's limit
   * @throws NoSpaceError
   */
  async reserve(userId: number, bytes: number | undefined, limitBytes: number): Promise<Reservation> {
    let held = 0;
    let written = 0;
    const growTo = async (wanted: number): Promise<void> => {
      // Bytes already written are included in the device's usage.
      this.#unwritten -= Math.min(wanted, held) - written;
      written = Math.min(wanted, held);
      if (wanted <= held) return;
      const next = bytes === undefined ? Math.ceil(wanted / STEP_BYTES) * STEP_BYTES : wanted;
      await this.#mutex.runExclusive('space', async () => {
        await this.#makeRoom(userId, next - held, limitBytes, wanted);
        this.#change(userId, next - held);
        held = next;
      });
    };
    await growTo(bytes ?? 1);
    return {
      growTo,
      release: () => {
        this.#unwritten += written;
        this.#change(userId, -held);
      },
    };
  }

  #change(userId: number, bytes: number): void {
    this.#reserved += bytes;
    this.#unwritten += bytes;
    this.#reservedByUser.add(userId, bytes);
  }

  async #makeRoom(userId: number, bytes: number, limitBytes: number, fileBytes: number): Promise<void> {
    const { maxBytes, minFreeBytes } = this.#dependencies;
    if (fileBytes > Math.min(limitBytes, maxBytes))
      throw new NoSpaceError(`a file of ${fileBytes} bytes is larger than the space of the account`, true);
    const { removals } = this.#dependencies;
    const unremovable = await removals.countFailed();
    const shortage = await this.#measure(userId, bytes, { limitBytes, unremovableBytes: unremovable.bytes });
    // Evicted copies would be lost to their owners without freeing any space.
    if (unremovable.files > 0 && shortage.ofAccount + shortage.ofAll > 0) {
      await this.#tell('unremovable');
      throw new NoSpaceError('files of removed copies cannot be deleted', false);
    }
    const isForeign = shortage.foreign > minFreeBytes * FOREIGN_SHARE;
    const evicted = isForeign ? undefined : await this.#choose(userId, shortage);
    if (evicted !== undefined) {
      await this.#remove(evicted);
      this.#blockedSince = undefined;
      if (shortage.ofAll > 0) await this.#tell('evicting');
      return;
    }
    if (shortage.ofAll > 0) await this.#tell('blocked');
    throw new NoSpaceError(
      isForeign ? 'the device was filled by something else' : 'there is no space for a copy',
      false,
    );
  }

  /** Records that a write failed because the device is full. */
  async noteDeviceFull(): Promise<void> {
    await this.#tell('blocked');
  }

  #tell(shortage: SpaceShortage): Promise<void> {
    const { clock, onShortage } = this.#dependencies;
    if (shortage === 'blocked') this.#blockedSince ??= clock.now();
    return onShortage(shortage, this.#blockedSince ?? clock.now());
  }

  /**
   * Copies never use the space to leave free: bytes missing from it belong to other programs, and no copy is evicted to
   * replace them.
   */
  async #measure(
    userId: number,
    bytes: number,
    { limitBytes, unremovableBytes }: { readonly limitBytes: number; readonly unremovableBytes: number },
  ): Promise<Shortage> {
    const { usage, files, maxBytes, minFreeBytes } = this.#dependencies;
    const used = (await usage.of(userId)).bytes + this.#reservedByUser.of(userId);
    const total = (await usage.ofAll()).bytes + unremovableBytes + this.#reserved;
    const free = (await files.freeBytes()) ?? Number.POSITIVE_INFINITY;
    const missing = minFreeBytes + this.#unwritten + bytes - free;
    return {
      ofAccount: Math.max(0, used + bytes - limitBytes),
      ofAll: Math.max(0, total + bytes - maxBytes, Math.min(bytes, missing)),
      foreign: Math.max(0, missing - bytes),
    };
  }

  /**
   * The oldest copies whose eviction is sufficient: first the account's, then any account's.
   * @returns undefined if no selection is sufficient
   */
  async #choose(userId: number, { ofAccount, ofAll }: Shortage): Promise<string[] | undefined> {
    const own = await this.#oldest(userId, ofAccount, new Set());
    if (own === undefined) return undefined;
    const others = await this.#oldest(undefined, ofAll - sumOf(own), new Set(own.map(({ id }) => id)));
    return others && [...own, ...others].map(({ id }) => id);
  }

  async #oldest(
    userId: number | undefined,
    bytes: number,
    besides: ReadonlySet<string>,
  ): Promise<OldestCopy[] | undefined> {
    const chosen: OldestCopy[] = [];
    for (let left = bytes, after: OldestCopy | undefined; left > 0; ) {
      const batch = await this.#dependencies.removals.listOldest(userId, EVICTION_BATCH, after);
      if (batch.length === 0) return undefined;
      for (const copy of batch) {
        if (left <= 0) break;
        if (besides.has(copy.id)) continue;
        chosen.push(copy);
        left -= copy.bytes;
      }
      after = batch.at(-1);
    }
    return chosen;
  }

  async #remove(ids: readonly string[]): Promise<void> {
    const { removals, remover } = this.#dependencies;
    for (const id of ids) {
      await removals.markRemoved([id]);
      if (await remover.tryRemove({ id, removal_tries: 0 })) continue;
      await this.#tell('unremovable');
      throw new NoSpaceError('the file of an evicted copy could not be deleted', false);
    }
  }
}

const sumOf = (copies: readonly OldestCopy[]): number => copies.reduce((sum, { bytes }) => sum + bytes, 0);

const INTERVAL_MS = 6 * HOUR_MS;

/** Compares the sums of stored space with the actual copies and keeps the result for the metrics. */
export class StorageUsageSumCheck {
  readonly #usage: StorageUsageStore;
  readonly #log: Log;
  #wrong: number | undefined;

  constructor(usage: StorageUsageStore, log: Log) {
    this.#usage = usage;
    this.#log = log;
  }

  /** Sums that differed in this process's latest check; undefined if another process checks. */
  get wrongSums(): number | undefined {
    return this.#wrong;
  }

  get job(): ScheduledJob {
    return { name: 'artifact sums', intervalMs: INTERVAL_MS, run: () => this.#run() };
  }

  async #run(): Promise<void> {
    this.#wrong = await this.#usage.countWrong();
    if (this.#wrong > 0)
      this.#log.error({ sums: this.#wrong }, 'sums of stored space differ from the copies; `check` names them');
  }
}

const TEXTS: Readonly<Record<SpaceShortage, { readonly title: Bilingual; readonly content: Bilingual }>> = {
  evicting: {
    title: { en: 'The space for stored videos is full', 'zh-CN': '视频存储空间已用完' },
    content: {
      en: 'The oldest stored videos are removed to make room for new ones. ARTIFACTS_MAX_GB and ARTIFACTS_MIN_FREE_GB limit the space; see docs/artifacts.md.',
      'zh-CN':
        '正在删除最早存储的视频，以便为新视频腾出空间。空间由 ARTIFACTS_MAX_GB 和 ARTIFACTS_MIN_FREE_GB 限定；处理方法见 docs/artifacts.md。',
    },
  },
  unremovable: {
    title: { en: 'Deleted videos still use space', 'zh-CN': '已删除的视频仍占用空间' },
    content: {
      en: 'Files of removed or expired videos cannot be deleted. They are no longer served, but use space (and cost money in a bucket), and new videos are not stored once the space is used up. Check that the service may delete them (s3:DeleteObject, or write access to ARTIFACTS_DIR); it retries by itself. See docs/artifacts.md.',
      'zh-CN':
        '部分已删除或已过期视频的文件无法删除。这些文件不再对外提供，但仍占用空间（在存储桶中还会产生费用）；空间用完后，新视频将无法存储。请检查服务是否有删除权限（s3:DeleteObject，或 ARTIFACTS_DIR 的写权限）；服务会自动重试。处理方法见 docs/artifacts.md。',
    },
  },
  blocked: {
    title: { en: 'New videos cannot be stored', 'zh-CN': '新视频无法存储' },
    content: {
      en: 'The device of ARTIFACTS_DIR has less free space than ARTIFACTS_MIN_FREE_GB, and removing stored videos would not help: none was removed. New videos are served by their vendors, who delete them after hours or days. Free space on the device; see docs/artifacts.md.',
      'zh-CN':
        'ARTIFACTS_DIR 所在磁盘的可用空间低于 ARTIFACTS_MIN_FREE_GB，删除已存储的视频也无济于事，因此未删除任何视频。新视频暂由供应商提供，数小时或数天后会被供应商删除。请清理磁盘空间；处理方法见 docs/artifacts.md。',
    },
  },
};

const KEYS: Readonly<Record<SpaceShortage, (since: number) => string>> = {
  evicting: () => 'full',
  blocked: (since) => `blocked:${since}`,
  unremovable: () => 'unremovable',
};

/**
 * Notified once a day while the shortage lasts; a new shortage is notified separately if nothing can be stored.
 *
 * @param since start of the shortage, Unix milliseconds
 * @param now Unix milliseconds
 */
export const storageFullNotice = (shortage: SpaceShortage, since: number, now: number): AdminNotice => ({
  type: 'system',
  topic: 'storage.full',
  ...TEXTS[shortage],
  targetUrl: '',
  deduplicationKey: `storage.${KEYS[shortage](since)}:${Math.floor(now / DAY_MS)}`,
});

/**
 * Notified once for all files without a row that were first found on one day.
 *
 * @param lastRemovedAt Unix milliseconds
 */
export function orphansNotice(files: number, lastRemovedAt: number): AdminNotice {
  const day = new Date(lastRemovedAt).toISOString().slice(0, 10);
  return {
    type: 'system',
    topic: 'storage.full',
    title: {
      en: 'Stored files belong to no video of this database',
      'zh-CN': '部分存储文件不属于此数据库中的任何视频',
    },
    content: {
      en: `The database does not know ${files} stored files, as after a restore of an older backup. Each is removed a week after it was found, the last on ${day}. If this is the wrong database, stop this service before then, and correct DATABASE_URL. See docs/artifacts.md.`,
      'zh-CN': `数据库中没有 ${files} 个存储文件的记录，例如在恢复较早的备份之后。每个文件在发现一周后删除，最后一批于 ${day} 删除。如果数据库有误，请在此之前停止本服务，并更正 DATABASE_URL。处理方法见 docs/artifacts.md。`,
    },
    targetUrl: '',
    deduplicationKey: `storage.orphans:${day}`,
  };
}

/** A plan's limits for stored copies; null: the setting applies. */
export interface PlanStorage {
  readonly days: number | null;
  readonly gb: number | null;
}

/** The limits that apply to an account's copies. */
export interface StorageLimits {
  /** 0: indefinitely. */
  readonly days: number;
  readonly bytes: number;
}

const GB = 1024 ** 3;
/**
 * An account without a limit in its plan gets this fraction of the space, so that it alone cannot evict everyone else's
 * copies.
 */
const ACCOUNTS_SHARING = 4;

/** The limits of an account: its plan's, if the plan has any, but never more than the total space. */
export function accountStorageLimits(
  config: Pick<Config, 'artifactsDays' | 'artifactsMaxGb'>,
  plan: PlanStorage,
): StorageLimits {
  const gb = plan.gb ?? config.artifactsMaxGb / ACCOUNTS_SHARING;
  return {
    days: plan.days ?? config.artifactsDays,
    bytes: Math.min(gb === 0 ? config.artifactsMaxGb : gb, config.artifactsMaxGb) * GB,
  };
}

/** Dependencies of {@link ArtifactRemover}. */
interface ArtifactRemoverDependencies {
  readonly store: ArtifactStore;
  readonly removals: RemovalStore;
  readonly orphans: OrphanFileStore;
  readonly files: ArtifactFileStorage;
  readonly incoming: IncomingFileDirectory;
  /** Whether the place of the files is there; none is removed meanwhile. */
  readonly isAvailable: () => Promise<boolean>;
  /** Called when files could repeatedly not be removed. Never throws. */
  readonly onUnremovable: () => Promise<void>;
  /** Called with the number of files without a row and the time the last of them is removed, if they are many. Never throws. */
  readonly onOrphans: (files: number, lastRemovedAt: number) => Promise<void>;
  readonly clock: Clock;
  readonly log: Log;
}

const BATCH = 200;
/** Delays after the first, second, … failed removal; the last one repeats. */
const RETRY_MS = [60_000, 5 * 60_000, 30 * 60_000, 2 * HOUR_MS, 6 * HOUR_MS] as const;
/** Failed attempts at one file after which the administrators are notified: a short outage of a bucket is none. */
const TRIES_OF_NOTICE = 3;
const MAX_ERROR_LENGTH = 300;
const ORPHAN_INTERVAL_MS = 6 * HOUR_MS;
/** A younger file may belong to a row that is still being written. */
const ORPHAN_AGE_MS = HOUR_MS;
/** How long administrators have to notice that the database is not the one of the files. */
const ORPHAN_GRACE_MS = 7 * DAY_MS;
const MAX_LEFTOVERS = 20;

/**
 * Removes copies in the order mark, file, row, so that no file ever exists without a row. A marked copy is no longer
 * served, even while its file cannot be removed, such as for want of a permission.
 */
export class ArtifactRemover {
  readonly #dependencies: ArtifactRemoverDependencies;
  constructor(dependencies: ArtifactRemoverDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Removes the file and the row of a copy that is marked, or postpones that.
   * @returns false if the file could not be removed
   */
  async tryRemove(copy: RemovingCopy): Promise<boolean> {
    const { removals, files, incoming, clock, log } = this.#dependencies;
    const { id, removal_tries: tries } = copy;
    try {
      // This order matters: a copy in progress can no longer be stored once its incoming file is gone.
      await incoming.removeAll(id);
      await files.remove(id);
    } catch (error) {
      log.error({ err: error, artifactId: id, tries: tries + 1 }, 'a stored file could not be removed');
      const waitMs = RETRY_MS[Math.min(tries, RETRY_MS.length - 1)] ?? 0;
      await removals.postpone(copy, clock.now() + waitMs, messageOf(error));
      return false;
    }
    await removals.delete(id);
    return true;
  }

  /** Removes expired copies, copies of removed accounts, and marked copies. */
  async removeEnded(): Promise<void> {
    const { removals, clock, isAvailable, onUnremovable } = this.#dependencies;
    while ((await removals.markEnded(clock.now(), BATCH)) >= BATCH);
    if (!(await isAvailable())) return;
    let isOverdue = false;
    for (let last: string | undefined = ''; last !== undefined; ) {
      const copies: RemovingCopy[] = await removals.listRemoving(clock.now(), last, BATCH);
      for (const copy of copies) {
        const isRemoved = await this.tryRemove(copy);
        isOverdue ||= !isRemoved && copy.removal_tries + 1 >= TRIES_OF_NOTICE;
      }
      last = copies.length < BATCH ? undefined : copies.at(-1)?.id;
    }
    if (isOverdue) await onUnremovable();
  }

  /** A file that cannot be removed stays for the next run and holds up no other. */
  async #orLater(id: string, remove: () => Promise<void>): Promise<void> {
    try {
      await remove();
    } catch (error) {
      if (error instanceof DatabaseUnavailableError) throw error;
      this.#dependencies.log.error({ err: error, artifactId: id }, 'a stored file could not be removed');
    }
  }

  /** Looks for files that no row names, such as those left by restoring a database backup. */
  get orphanJob(): ScheduledJob {
    return {
      name: 'artifact orphans',
      intervalMs: ORPHAN_INTERVAL_MS,
      run: (signal) => this.removeOrphans(signal),
    };
  }

  /**
   * Removes the files that no row has named for a week. Never at once: the database may be an older backup, a trial
   * restore beside the service or, by a mistake in DATABASE_URL, a new one, and uploaded files exist only here.
   */
  async removeOrphans(signal?: AbortSignal): Promise<void> {
    const { store, orphans, files, incoming, clock, log, onOrphans } = this.#dependencies;
    const now = clock.now();
    const before = now - ORPHAN_AGE_MS;
    await incoming.removeOlder(before);
    let [named, removed, waiting, newest] = [0, 0, 0, 0];
    for await (const batch of files.list()) {
      if (signal?.aborted === true) return;
      const old = batch.filter(({ changedAt }) => changedAt < before).map(({ id }) => id);
      const known = old.length === 0 ? new Set() : await store.findKnown(old);
      const unnamed = old.filter((id) => !known.has(id));
      named += known.size;
      for (const { id, found_at: foundAt } of await orphans.record(unnamed, now))
        if (foundAt > now - ORPHAN_GRACE_MS) {
          waiting += 1;
          newest = Math.max(newest, foundAt);
        } else
          await this.#orLater(id, async () => {
            await files.remove(id);
            removed += 1;
          });
    }
    await orphans.forgetUnseen(now);
    if (removed > 0) log.warn({ removed }, 'removed files of videos that no row names');
    if (waiting === 0) return;
    log.warn(
      { files: waiting },
      'the database knows no video of these files: each is removed a week after it was found',
    );
    // A killed process leaves a few.
    if (waiting > MAX_LEFTOVERS || waiting > named) await onOrphans(waiting, newest + ORPHAN_GRACE_MS);
  }
}

const messageOf = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).slice(0, MAX_ERROR_LENGTH);
