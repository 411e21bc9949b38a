/**
 * A process that ends tasks, copies and deletes their videos until it is killed, or drains the remaining ones and
 * prints `drained`.
 */
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { flushCompileCache } from 'node:module';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { DAY_MS } from '../../src/contract/time-units.ts';
import { makeArtifacts } from '../../src/server/artifacts/module.ts';
import { parseConfig } from '../../src/server/platform/config.ts';
import { openDatabase } from '../../src/server/platform/db/open-database.ts';
import { openLog } from '../../src/server/platform/log.ts';
import { openOutbound } from '../../src/server/platform/outbound/client.ts';
import type { Tables } from '../../src/server/tables.ts';
import { readInstruction } from '../faults/read-instruction-line.ts';

/** Instruction to the process, as one line of JSON. */
export interface CopyingOrder {
  readonly databaseUrl: string;
  readonly directory: string;
  /** Directory of the sandbox's media. */
  readonly media: string;
  /** Milliseconds by which this process's clock is ahead, so that the previous process's claims are due again. */
  readonly clockOffsetMs: number;
  /** True: ends no task, only copies the remaining videos. */
  readonly drains: boolean;
}

const order = await readInstruction<CopyingOrder>();
const database = openDatabase<Tables>(order.databaseUrl);
const CLIP = readFileSync(join(order.media, 'sea-1.mp4'));
const COVER = readFileSync(join(order.media, 'sea-1.webp'));
const CHUNK = 8 * 1024;
const MOST_KEPT = 200;

/** The clip in pieces, some of them delayed, so that a kill meets copies at all stages. */
async function* pieces(): AsyncGenerator<Buffer> {
  for (let at = 0; at < CLIP.length; at += CHUNK) {
    if (Math.random() < 0.2) await pause(1);
    yield CLIP.subarray(at, at + CHUNK);
  }
}

let aheadMs = order.clockOffsetMs;
const artifacts = makeArtifacts({
  config: parseConfig({
    ARTIFACTS_DIR: order.directory,
    ARTIFACTS_MIN_FREE_GB: '0',
    DATABASE_URL: order.databaseUrl,
    MASTER_KEY: Buffer.alloc(32).toString('base64'),
  }),
  database,
  outbound: openOutbound(),
  notifier: { notify: async () => {}, notifyAdministrators: async () => {} },
  events: { write: async () => {} },
  findPlanStorage: async () => ({ days: null, gb: null }),
  clock: { now: () => Date.now() + aheadMs },
  log: openLog('silent'),
});
artifacts.start({
  openVideo: async () => ({ body: Readable.from(pieces()), bytes: CLIP.length }),
  openCover: async () => COVER,
});
if (order.drains) {
  process.stdout.write('ready\n');
  while ((await artifacts.countPending()) > 0) await pause(20);
  await artifacts.removeEnded();
  // Files that a kill left without a row are removed a week after they were found.
  for (const days of [0, 7]) {
    aheadMs += days * DAY_MS;
    for (const job of artifacts.jobs) await job.run(AbortSignal.timeout(60_000));
  }
  await artifacts.stop();
  process.stdout.write('drained\n');
  process.exit(0);
}
/** Includes tasks of earlier processes, so that the stored data does not grow with the number of kills. */
const ended = (
  await database.kysely
    .selectFrom('artifacts')
    .select('task_id')
    .where('variant', '=', 'video')
    .where('state', '<>', 'removing')
    .orderBy('created_at')
    .execute()
).map(({ task_id }) => task_id);
const remove = (id: string) => database.transaction((trx) => artifacts.removeWithTask(trx, id));
for (const id of ended.splice(0, ended.length - MOST_KEPT)) await remove(id);
for (let made = 0; ; made++) {
  const id = `task_${randomUUID()}`;
  await database.transaction((trx) => artifacts.enqueue(trx, { id, user_id: 1 }));
  ended.push(id);
  if (made === 0) {
    // The parent kills the process some time after this line, whatever the speed of the machine.
    process.stdout.write('ready\n');
    // Flushed now because the process ends by a kill: the next process loads the same modules.
    flushCompileCache();
  }
  const [oldest] = ended.length > 10 ? ended.splice(0, 1) : [];
  if (oldest !== undefined && Math.random() < 0.5) await remove(oldest);
  await pause(2);
}
