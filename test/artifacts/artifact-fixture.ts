import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { loadMedia } from '../../src/sandbox/media.ts';
import type { OpenSource } from '../../src/server/artifacts/artifact-copier.ts';
import { type Artifacts, makeArtifacts } from '../../src/server/artifacts/module.ts';
import type { PlanStorage } from '../../src/server/artifacts/storage-space.ts';
import { type ManualClock, manualClock } from '../../src/server/platform/clock.ts';
import { parseConfig } from '../../src/server/platform/config.ts';
import type { Database } from '../../src/server/platform/db/database.ts';
import { openLog } from '../../src/server/platform/log.ts';
import { openOutbound } from '../../src/server/platform/outbound/client.ts';
import type { Tables } from '../../src/server/tables.ts';

export const CLIP = loadMedia('sea-1-silent.mp4').bytes;

/** A source that delivers the whole clip with its correct length. */
export const openWholeClip: OpenSource = async () => ({ body: Readable.from([CLIP]), bytes: CLIP.length });

/** Stored copies with a manual clock, and records of all notices and events. */
export interface ArtifactFixture {
  readonly artifacts: Artifacts;
  readonly clock: ManualClock;
  readonly directory: string;
  /** Titles of the notices to administrators and owners. */
  readonly notices: string[];
  /** Keys of the notices to administrators, each of which is shown once. */
  readonly noticeKeys: string[];
  /** Texts of the notices to administrators. */
  readonly noticeTexts: string[];
  /** Events of expiring videos: the account and the data. */
  readonly events: { readonly userId: number | undefined; readonly data: Readonly<Record<string, unknown>> }[];
  /** Storage terms of the accounts' plans; default: none. */
  readonly plans: Map<number, PlanStorage>;
  enqueue(taskId: string, userId?: number): Promise<void>;
  /** Waits until the rows of these tasks are in this state. */
  waitFor(state: string, ...taskIds: string[]): Promise<void>;
  row(taskId: string): Promise<{ state: string; bytes: number; last_error: string; tries: number } | undefined>;
  /** Bytes of all files below the directory, including copies in progress. */
  diskBytes(): Promise<number>;
  stop(): Promise<void>;
}

/** Stored copies on a database, without vendors: tests define the sources. */
export async function makeArtifactFixture(
  database: Database<Tables>,
  env: Readonly<Record<string, string>> = {},
  ffmpeg?: string,
): Promise<ArtifactFixture> {
  const directory = await mkdtemp(join(tmpdir(), 'rg-artifacts-'));
  const clock = manualClock();
  const notices: string[] = [];
  const noticeKeys: string[] = [];
  const noticeTexts: string[] = [];
  const events: ArtifactFixture['events'] = [];
  const plans = new Map<number, PlanStorage>();
  const outbound = openOutbound();
  const config = parseConfig({
    ARTIFACTS_DIR: directory,
    ARTIFACTS_MIN_FREE_GB: '0',
    DATABASE_URL: 'sqlite::memory:',
    ...env,
  });
  const artifacts = makeArtifacts({
    config,
    database,
    outbound,
    notifier: {
      notify: async (_trx, { title }) => void notices.push(title.en),
      notifyAdministrators: async (_trx, { title, content, deduplicationKey = '' }) => {
        notices.push(title.en);
        noticeKeys.push(deduplicationKey);
        noticeTexts.push(content.en);
      },
    },
    events: { write: async (_trx, { userId, data }) => void events.push({ userId, data }) },
    findPlanStorage: async (userId) => plans.get(userId) ?? { days: null, gb: null },
    clock,
    log: openLog('silent'),
    ffmpeg: ffmpeg ?? join(directory, 'no-ffmpeg'),
  });
  const row = (taskId: string) =>
    database.kysely
      .selectFrom('artifacts')
      .selectAll()
      .where('task_id', '=', taskId)
      .where('variant', '=', 'video')
      .executeTakeFirst();
  return {
    artifacts,
    clock,
    directory,
    notices,
    noticeKeys,
    noticeTexts,
    events,
    plans,
    row,
    enqueue: (taskId, userId = 1) =>
      database.transaction((trx) => artifacts.enqueue(trx, { id: taskId, user_id: userId })),
    async waitFor(state, ...taskIds) {
      for (const taskId of taskIds) while ((await row(taskId))?.state !== state) await pause(10);
    },
    diskBytes: () => bytesBelow(directory),
    async stop() {
      await artifacts.stop();
      await outbound.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

/**
 * Bytes of all files below a directory. Files removed during the walk count as 0, because copies come and go meanwhile.
 */
export async function bytesBelow(directory: string): Promise<number> {
  let bytes = 0;
  for (const entry of await readdir(directory, { withFileTypes: true }).catch(toAbsent([]))) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isDirectory()) bytes += await bytesBelow(path);
    else if (entry.isFile()) bytes += (await stat(path).catch(toAbsent({ size: 0 }))).size;
  }
  return bytes;
}

/** Handles the error of a path that no longer exists. */
const toAbsent =
  <T>(instead: T) =>
  (error: NodeJS.ErrnoException): T => {
    if (error.code === 'ENOENT') return instead;
    throw error;
  };
