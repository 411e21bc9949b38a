import { DAY_MS, HOUR_MS } from '../../contract/time-units.ts';
import type { AdminNotice, Bilingual } from '../notifications/notifier.ts';
import type { Clock } from '../platform/clock.ts';
import { KeyedMutex } from '../platform/concurrency.ts';
import type { Config } from '../platform/config.ts';
import type { Log } from '../platform/log.ts';
import type { ScheduledJob } from '../platform/scheduled-jobs.ts';
import type { ArtifactRemover } from './artifact-remover.ts';
import type { OldestCopy, RemovalStore, StorageUsageStore } from './artifact-store.ts';
import type { ArtifactFileStorage } from './file-storage.ts';

/** `evicting`: the oldest copies were removed for a newer one. `blocked`: a copy was not stored, and none was removed for it. */
export type SpaceShortage = 'evicting' | 'blocked';

interface StorageSpaceDependencies {
  readonly usage: StorageUsageStore;
  readonly removals: RemovalStore;
  readonly files: ArtifactFileStorage;
  readonly remover: ArtifactRemover;
  /** Bytes of all copies together. */
  readonly maxBytes: number;
  /** Bytes left free on the device. */
  readonly minFreeBytes: number;
  /** The space of all is out, since then (Unix milliseconds); never throws. */
  readonly onShortage: (shortage: SpaceShortage, since: number) => Promise<void>;
  readonly clock: Clock;
}

/** No space for a copy. `isPermanent`: it is larger than what the account gets at all. */
export class NoSpaceError extends Error {
  readonly isPermanent: boolean;
  constructor(message: string, isPermanent: boolean) {
    super(message);
    this.name = 'NoSpaceError';
    this.isPermanent = isPermanent;
  }
}

/** Space held for a copy under way. */
interface Reservation {
  /** Holds at least so many bytes. @throws NoSpaceError */
  growTo(bytes: number): Promise<void>;
  release(): void;
}

const EVICTION_BATCH = 200;
/** A copy of unknown length takes its space in steps. */
const STEP_BYTES = 32 * 1024 ** 2;
/** Other programs that took more than this share of the space left free fill the device, and not the copies. */
const FOREIGN_SHARE = 0.5;

/** Bytes that have to go before a copy fits. */
interface Shortage {
  /** Of its account's own copies. */
  readonly ofAccount: number;
  /** Of anybody's. */
  readonly ofAll: number;
  /** Bytes that something else took of the space left free. */
  readonly foreign: number;
}

/**
 * Keeps the copies within the space of their account and of all: the oldest make room for the newest. Decides before it
 * removes: where the removal of copies would not be enough, or something else has filled the device, none is removed. Counts
 * stored bytes by the sums over the rows, and those this process is about to store by its reservations.
 */
export class StorageSpace {
  readonly #dependencies: StorageSpaceDependencies;
  readonly #mutex = new KeyedMutex<'space'>();
  readonly #reservedByUser = new Map<number, number>();
  #reserved = 0;
  /** Reserved, and not on the device yet. */
  #unwritten = 0;
  /** Since when no copy could be stored, Unix milliseconds. */
  #blockedSince: number | undefined;

  constructor(dependencies: StorageSpaceDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * @param bytes undefined: not known
   * @param limitBytes what the account gets
   * @throws NoSpaceError
   */
  async reserve(userId: number, bytes: number | undefined, limitBytes: number): Promise<Reservation> {
    let held = 0;
    let written = 0;
    const growTo = async (wanted: number): Promise<void> => {
      // What is written is missing on the device already.
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
    const ofUser = (this.#reservedByUser.get(userId) ?? 0) + bytes;
    if (ofUser === 0) this.#reservedByUser.delete(userId);
    else this.#reservedByUser.set(userId, ofUser);
  }

  async #makeRoom(userId: number, bytes: number, limitBytes: number, fileBytes: number): Promise<void> {
    const { maxBytes, minFreeBytes } = this.#dependencies;
    if (fileBytes > Math.min(limitBytes, maxBytes))
      throw new NoSpaceError(`a file of ${fileBytes} bytes is larger than the space of the account`, true);
    const shortage = await this.#measure(userId, bytes, limitBytes);
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

  /** A write to the device failed because it is full. */
  async noteDeviceFull(): Promise<void> {
    await this.#tell('blocked');
  }

  #tell(shortage: SpaceShortage): Promise<void> {
    const { clock, onShortage } = this.#dependencies;
    if (shortage === 'blocked') this.#blockedSince ??= clock.now();
    return onShortage(shortage, this.#blockedSince ?? clock.now());
  }

  /**
   * The copies never take the space left free: bytes missing from it are somebody else's, and no copy is removed to replace them.
   */
  async #measure(userId: number, bytes: number, limitBytes: number): Promise<Shortage> {
    const { usage, files, maxBytes, minFreeBytes } = this.#dependencies;
    const used = (await usage.of(userId)).bytes + (this.#reservedByUser.get(userId) ?? 0);
    const total = (await usage.ofAll()).bytes + this.#reserved;
    const free = (await files.freeBytes()) ?? Number.POSITIVE_INFINITY;
    const missing = minFreeBytes + this.#unwritten + bytes - free;
    return {
      ofAccount: Math.max(0, used + bytes - limitBytes),
      ofAll: Math.max(0, total + bytes - maxBytes, Math.min(bytes, missing)),
      foreign: Math.max(0, missing - bytes),
    };
  }

  /** The oldest copies whose removal is enough: first of the account, then of all. @returns undefined where none is */
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
      await remover.remove(id);
    }
  }
}

const sumOf = (copies: readonly OldestCopy[]): number => copies.reduce((sum, { bytes }) => sum + bytes, 0);

const INTERVAL_MS = 6 * HOUR_MS;

/** Compares the sums of stored space with the copies they are of, and keeps the outcome for the metrics. */
export class StorageUsageSumCheck {
  readonly #usage: StorageUsageStore;
  readonly #log: Log;
  #wrong: number | undefined;

  constructor(usage: StorageUsageStore, log: Log) {
    this.#usage = usage;
    this.#log = log;
  }

  /** Sums that differed when this process last checked; undefined: it has not, another process does. */
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
  blocked: {
    title: { en: 'New videos cannot be stored', 'zh-CN': '新视频无法存储' },
    content: {
      en: 'The device of ARTIFACTS_DIR has less free space than ARTIFACTS_MIN_FREE_GB, and removing stored videos would not help: none was removed. New videos are served by their vendors, who delete them after hours or days. Free space on the device; see docs/artifacts.md.',
      'zh-CN':
        'ARTIFACTS_DIR 所在磁盘的可用空间低于 ARTIFACTS_MIN_FREE_GB，删除已存储的视频也无济于事，因此未删除任何视频。新视频暂由供应商提供，数小时或数天后会被供应商删除。请清理磁盘空间；处理方法见 docs/artifacts.md。',
    },
  },
};

/**
 * Once a day while it lasts; a shortage that begins anew is told anew where nothing can be stored.
 *
 * @param since when it began, Unix milliseconds
 * @param now Unix milliseconds
 */
export const buildAdminStorageFullNotice = (shortage: SpaceShortage, since: number, now: number): AdminNotice => ({
  type: 'system',
  topic: 'storage.full',
  ...TEXTS[shortage],
  targetUrl: '',
  deduplicationKey: `storage.${shortage === 'blocked' ? `blocked:${since}` : 'full'}:${Math.floor(now / DAY_MS)}`,
});

/** What a plan says of stored copies; null: what the settings say. */
export interface PlanStorage {
  readonly days: number | null;
  readonly gb: number | null;
}

/** What an account's copies get. */
export interface StorageLimits {
  /** 0: for ever. */
  readonly days: number;
  readonly bytes: number;
}

const GB = 1024 ** 3;
/** An account without a limit of its plan gets this part of the space, so that one alone cannot evict the copies of all others. */
const ACCOUNTS_SHARING = 4;

/** The limits of an account: its plan's where that has its own, never above the space of all. */
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
