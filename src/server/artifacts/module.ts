import type { EventWriter } from '../event-log/event-log.ts';
import type { AdminNotice, AdminNotifier, Notifier } from '../notifications/notifier.ts';
import type { Clock } from '../platform/clock.ts';
import { workOnEach } from '../platform/concurrency.ts';
import type { Config } from '../platform/config.ts';
import { afterCommit, type Database } from '../platform/db/database.ts';
import type { Log } from '../platform/log.ts';
import type { OutboundClient } from '../platform/outbound/outbound.ts';
import type { ScheduledJob } from '../platform/scheduled-jobs.ts';
import { randomText } from '../platform/tokens.ts';
import type { Tables, Trx } from '../tables.ts';
import {
  ArtifactCopier,
  CopiesUnderWay,
  ExpiryNotices,
  type PosterOutcome,
  type PosterOwner,
  Posters,
  type VideoSources,
} from './artifact-copier.ts';
import { ArtifactReader } from './artifact-reader.ts';
import {
  ArtifactStore,
  ExpiryNoticeStore,
  OrphanFileStore,
  RemovalStore,
  StorageUsageStore,
  type Usage,
} from './artifact-store.ts';
import { createFileStorage } from './create-storage.ts';
import { IncomingFileDirectory, storeGoneNotice, WatchedStorage } from './file-storage.ts';
import {
  ArtifactRemover,
  accountStorageLimits,
  orphansNotice,
  type PlanStorage,
  type SpaceShortage,
  type StorageLimits,
  StorageSpace,
  StorageUsageSumCheck,
  storageFullNotice,
} from './storage-space.ts';
import { UploadStorage } from './upload-storage.ts';

interface ArtifactsDependencies {
  readonly config: Config;
  readonly database: Database<Tables>;
  readonly outbound: OutboundClient;
  readonly notifier: Notifier & AdminNotifier;
  readonly events: EventWriter;
  readonly findPlanStorage: (userId: number) => Promise<PlanStorage>;
  /** Name or path of ffmpeg; set by tests. Default: `ffmpeg` on the PATH. */
  readonly ffmpeg?: string;
  readonly clock: Clock;
  readonly log: Log;
}

/** The stored copies, as used by this capability's routes, other capabilities and app.ts. */
export interface Artifacts {
  /** False: nothing is copied, and every file is served by its vendor. */
  readonly isEnabled: boolean;
  readonly storedFiles: ArtifactReader;
  /** Undefined if copies are disabled: then there is no place for uploaded files either. */
  readonly uploads: UploadStorage | undefined;
  /** Schedules the copy of a finished video, in the transaction that ends its task. */
  enqueue(trx: Trx, task: { readonly id: string; readonly user_id: number }): Promise<void>;
  /** Removes the copy of a video or the bytes of a file, in the transaction that deletes the video or file. */
  removeWithTask(trx: Trx, taskId: string): Promise<void>;
  /** Gives copies and files to another account, in the transaction that does so with their videos and files. */
  changeOwner(trx: Trx, taskIds: readonly string[], userId: number): Promise<void>;
  /** Stores a poster extracted by the owner's browser; undefined if copies are disabled. */
  putPoster(owner: PosterOwner, bytes: Buffer): Promise<PosterOutcome | undefined>;
  /** The given tasks that have a stored poster. */
  findWithPoster(taskIds: readonly string[]): Promise<Set<string>>;
  /** Expiry of a video's copy, Unix milliseconds; undefined: there is no copy, null: it never expires. */
  findExpiry(taskId: string): Promise<number | null | undefined>;
  /** Stored space of one account, or of all accounts. */
  usage(userId?: number): Promise<Usage>;
  limitsOf(userId: number): Promise<StorageLimits>;
  countPending(): Promise<number>;
  /** Files of removed copies whose deletion has failed and is retried. */
  countUnremovable(): Promise<number>;
  /** Whether the files are where this service wrote them; undefined if copies are disabled. */
  isAvailable(): Promise<boolean | undefined>;
  /**
   * Number of space sums that differ from the stored copies, from this process's latest check; undefined if it has made
   * none.
   */
  countWrongSums(): number | undefined;
  /** Starts due copies now, without waiting for the next check. */
  wake(): void;
  /** Starts copying. */
  start(sources: VideoSources): void;
  stop(): Promise<void>;
  /** Announces copies that expire soon and removes expired ones. Called every minute. */
  removeEnded(): Promise<void>;
  readonly jobs: readonly ScheduledJob[];
}

const GB = 1024 ** 3;
/** Writes to a bucket follow a look at its marker within this time; on a disk each does. */
const BUCKET_RECHECK_MS = 60_000;

/** Assembles the artifacts capability and registers its routes. */
export function makeArtifacts({
  config,
  database,
  outbound,
  notifier,
  events,
  findPlanStorage,
  ffmpeg = 'ffmpeg',
  ...shared
}: ArtifactsDependencies): Artifacts {
  const { clock, log } = shared;
  const store = new ArtifactStore(database);
  const removals = new RemovalStore(database);
  const usage = new StorageUsageStore(database);
  const copies = new CopiesUnderWay();
  const opened = createFileStorage(config, outbound);
  const tellAdministrators = (notice: AdminNotice) =>
    database
      .transaction((trx) => notifier.notifyAdministrators(trx, notice))
      .catch((error: unknown) => log.warn({ err: error }, 'administrators could not be notified'));
  const files = opened && watchStorage(opened, { store, clock, log, tellAdministrators });
  const limitsOf = async (userId: number) => accountStorageLimits(config, await findPlanStorage(userId));
  const common = {
    storedFiles: new ArtifactReader({ store, copies, clock, log, files }),
    findExpiry: async (taskId: string) => {
      const row = await store.findByTask(taskId);
      return row?.state === 'stored' ? row.expires_at : undefined;
    },
    findWithPoster: (taskIds: readonly string[]) => store.findWithPoster(taskIds),
    usage: (userId?: number) => (userId === undefined ? usage.ofAll() : usage.of(userId)),
    limitsOf,
    countPending: () => store.countPending(),
    countUnremovable: async () => (await removals.countFailed()).files,
    changeOwner: (trx: Trx, taskIds: readonly string[], userId: number) => store.changeOwner(trx, taskIds, userId),
  };
  if (opened === undefined || files === undefined) return { ...common, ...SWITCHED_OFF };

  const isAvailable = () => files.isAvailable();
  const audit = new StorageUsageSumCheck(usage, log);
  const incoming = new IncomingFileDirectory(opened.incomingDirectory);
  const onShortage = (shortage: SpaceShortage, since: number) => {
    log.warn({ shortage }, 'space for stored videos is short');
    return tellAdministrators(storageFullNotice(shortage, since, clock.now()));
  };
  const onUnremovable = () => onShortage('unremovable', clock.now());
  const remover = new ArtifactRemover({
    ...{ ...shared, store, removals, files, incoming, isAvailable, onUnremovable },
    orphans: new OrphanFileStore(database),
    onOrphans: (count, lastRemovedAt) => tellAdministrators(orphansNotice(count, lastRemovedAt)),
  });
  const limits = { maxBytes: config.artifactsMaxGb * GB, minFreeBytes: config.artifactsMinFreeGb * GB };
  const space = new StorageSpace({ usage, removals, files, remover, clock, ...limits, onShortage });
  const posters = new Posters({ ...shared, store, files, incoming, limitsOf, ffmpeg });
  const expiries = new ExpiryNoticeStore(database);
  const expiryNotices = new ExpiryNotices({ database, store: expiries, events, notifier, clock });
  let copier: ArtifactCopier | undefined;
  let describe: VideoSources['describe'];
  return {
    ...common,
    isEnabled: true,
    isAvailable,
    uploads: new UploadStorage({ ...shared, store, files, incoming, space, limitsOf }),
    countWrongSums: () => audit.wrongSums,
    putPoster: (owner, bytes) => posters.put(owner, bytes),
    async enqueue(trx, { id: taskId, user_id: userId }) {
      await store.insert(trx, { id: randomText(24), taskId, userId }, clock.now());
      afterCommit(trx, () => copier?.wake());
    },
    async removeWithTask(trx, taskId) {
      await removals.markTaskRemoved(trx, taskId);
      afterCommit(trx, () => {
        remover.removeEnded().catch((error: unknown) => log.warn({ err: error }, 'a stored file is removed later'));
      });
    },
    wake: () => copier?.wake(),
    start(sources) {
      describe = sources.describe;
      const copying = { store, files, incoming, space, copies, posters, limitsOf, isAvailable };
      copier = new ArtifactCopier({ ...shared, ...copying }, sources);
      copier.start();
    },
    stop: async () => copier?.stop(),
    async removeEnded() {
      const announce = async (): Promise<void> => describe && expiryNotices.send(describe);
      await workOnEach([announce, () => remover.removeEnded()], (step) => step());
    },
    jobs: [remover.orphanJob, audit.job],
  };
}

/** The storage that never takes a missing disk or bucket for missing files. */
const watchStorage = (
  { files, s3 }: NonNullable<ReturnType<typeof createFileStorage>>,
  {
    tellAdministrators,
    ...shared
  }: Pick<ArtifactsDependencies, 'clock' | 'log'> & {
    readonly store: ArtifactStore;
    readonly tellAdministrators: (notice: AdminNotice) => Promise<void>;
  },
): WatchedStorage =>
  new WatchedStorage({
    ...{ ...shared, files },
    recheckMs: s3 === undefined ? 0 : BUCKET_RECHECK_MS,
    onGone: (reason) => tellAdministrators(storeGoneNotice(files.markerName, reason, shared.clock.now())),
  });

const SWITCHED_OFF = {
  isEnabled: false,
  async isAvailable() {
    return undefined;
  },
  uploads: undefined,
  countWrongSums() {
    return undefined;
  },
  async putPoster() {
    return undefined;
  },
  async enqueue() {},
  async removeWithTask() {},
  wake() {},
  start() {},
  async stop() {},
  async removeEnded() {},
  jobs: [],
} satisfies Partial<Artifacts>;
