import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { SeededRandom } from '../../src/sandbox/deviations.ts';
import type { FaultChooser, FaultKind } from '../../src/sandbox/faults.ts';
import { sameClip } from '../../src/sandbox/media.ts';
import { findBrokenRows } from '../../src/server/commands/check-database.ts';
import type { Database } from '../../src/server/platform/db/database.ts';
import type { Tables } from '../../src/server/tables.ts';
import { openWithFileTimeouts } from '../faults/impatient-client.ts';
import { openReadOnly } from '../faults/ledger-assertions.ts';
import { idOf, startVideoService, VENDOR_MODELS, type VendorModel, type VideoService } from '../flows/video-fixture.ts';
import { forEachDatabase } from '../for-each-database.ts';
import { bytesBelow } from './artifact-fixture.ts';
import { DownloadCheck, type ExpectedFile } from './download-check.ts';
import { uniqueClip } from './unique-clip.ts';

/** Videos on each database; `npm run hammer -- --artifacts N` generates more. */
const TASKS = Number(process.env.ARTIFACT_TASKS ?? '22');
const SEED = Number(process.env.ARTIFACT_SEED ?? '3');
const AT_ONCE = 24;
const READERS = 12;
/**
 * Average reads of each video while the videos are copied: more if there are few videos, so that some reads meet
 * faults.
 */
const READS_EACH = Math.max(5, 500 / TASKS);
/** Share of file requests that fail, in addition to those whose URL has expired. */
const FAILING = 0.45;
const FAULTS: readonly FaultKind[] = [
  ...(['429', '500', '502', '503', 'reset', 'drop', 'html', 'empty'] as const),
  ...(['malformed', 'no-length', 'padded', 'truncated', 'cut', 'hang-after', 'stall'] as const),
];
/** Long enough to fetch a file on a busy machine, and shorter than the wait before the third attempt of a copy. */
const URL_LIFETIME_MS = 10_000;
/**
 * A copy in progress holds its claim for 60 to 90 s of the clock. A copy waits 5 s or 30 s for its first or second
 * retry, and at least 120 s for a later one.
 */
const CLAIM_MS = { least: 50_000, most: 90_000 };
/** Longer than the poll interval of a task whose vendor responds. */
const LONG_WAIT_MS = 5_000;

describe(`videos of vendors whose files expire, have a wrong length, break off or are pages (seed ${SEED})`, () => {
  forEachDatabase((_name, _open, freshUrl) => {
    const random = new SeededRandom(SEED);
    let service: VideoService;
    let folder: string;
    let database: Database<Tables>;
    let clockOffsetMs = 0;
    /** Shared by the service and the vendors, which verify the time in signatures. */
    const clock = { now: () => Date.now() + clockOffsetMs };
    before(async () => {
      folder = await mkdtemp(join(tmpdir(), 'rg-vendor-faults-'));
      const url = await freshUrl();
      service = await startVideoService(url, {
        env: { ARTIFACTS: 'disk', ARTIFACTS_DIR: folder, ARTIFACTS_MIN_FREE_GB: '0' },
        overrides: { ffmpeg: join(folder, 'none'), outbound: openWithFileTimeouts(), clock },
        sandbox: { clock, keepRequests: 0, urlLifetimeMs: URL_LIFETIME_MS, fileOf: uniqueClip },
      });
      // More than the most expensive video of each vendor costs.
      await service.operator.grantQuota(TASKS * 3_000_000);
      database = openReadOnly(url);
    });
    after(async () => {
      await service?.stop();
      await database?.close();
      await rm(folder, { recursive: true, force: true });
    });

    /** Chooses the same faults in every run, as far as requests for one file come in the same order. */
    const faultChooser = (): FaultChooser => {
      const times = new Map<string, number>();
      return (vendor, operation, text) => {
        if (operation !== 'content') return undefined;
        const file = `${vendor} ${/\/[^/]*\d{6,}[^/]*/.exec(text())?.[0] ?? ''}`;
        const nth = (times.get(file) ?? 0) + 1;
        times.set(file, nth);
        return random.next(`${file} ${nth}`) < FAILING ? random.pick(`${file} ${nth}`, FAULTS) : undefined;
      };
    };

    const unfinished = () =>
      database.kysely
        .selectFrom('tasks')
        .select(['public_id', 'vendor', 'next_poll_at'])
        .where('next_poll_at', 'is not', null)
        .execute();
    const uncopied = () =>
      database.kysely
        .selectFrom('artifacts')
        .select(['state', 'next_try_at', 'last_error'])
        .where('variant', '=', 'video')
        .where('state', '<>', 'stored')
        .execute();

    /** Submits as a client does: retries with the same key while an overloaded service is unavailable. */
    async function submit(model: string, prompt: string): Promise<string> {
      for (;;) {
        const headers = { 'idempotency-key': prompt.replaceAll(/[^a-z0-9]/g, '-') };
        const { status, body } = await service.caller.request('POST', '/v1/videos', { model, prompt }, headers);
        if (status === 200) return idOf(body);
        assert.equal(status, 503, JSON.stringify(body));
        await pause(500);
      }
    }

    async function untilAllAreCopied(): Promise<void> {
      for (let left = await unfinished(); left.length > 0; left = await unfinished()) {
        // Veo tasks are polled when a client requests them.
        const [polledByClients = [], others = []] = [true, false].map((isVeo) =>
          left.filter(({ vendor }) => (vendor === 'veo') === isVeo),
        );
        // A vendor whose polls failed, as on a machine that stalls, is not polled for up to five minutes.
        const nextMs = Math.min(...others.map(({ next_poll_at }) => (next_poll_at ?? 0) - clock.now()));
        if (others.length > 0 && nextMs > LONG_WAIT_MS) clockOffsetMs += nextMs;
        await eachOf(polledByClients, AT_ONCE, async ({ public_id }) => {
          await service.caller.request('GET', `/v1/videos/${public_id}`);
        });
        await pause(100);
      }
      for (let left = await uncopied(); left.length > 0; left = await uncopied()) {
        for (const { state, last_error } of left) assert.equal(state, 'pending', `given up: ${last_error}`);
        const waits = left.map(({ next_try_at }) => (next_try_at ?? 0) - clock.now());
        const isDueOrClaimed = (ms: number) => ms <= 0 || (ms > CLAIM_MS.least && ms <= CLAIM_MS.most);
        // Advances past all waits at once: otherwise thousands of due times would need a jump each.
        if (!waits.some(isDueOrClaimed)) clockOffsetMs += Math.max(...waits);
        await pause(500);
      }
    }

    it(`${TASKS} tasks: no wrong byte is ever served, and no confirmed copy is lost`, {
      timeout: 300_000 + 500 * TASKS,
    }, async (t) => {
      const { control } = service.sandbox;
      control.chooseFaults(faultChooser());
      const check = new DownloadCheck(service.caller, random);
      const planned = Array.from({ length: TASKS }, (_, n) => ({
        vendor: VENDOR_MODELS[n % VENDOR_MODELS.length] as VendorModel,
        prompt: `a file of its own, number ${n}.`,
      }));
      const made: ExpectedFile[] = [];
      const submits = eachOf(planned, AT_ONCE, async ({ vendor, prompt }) => {
        const id = await submit(vendor.model, prompt);
        const job = service.job(vendor.name, prompt);
        made.push({
          id,
          // Generated on demand: thousands of files would fill the memory.
          get bytes() {
            return uniqueClip(sameClip(job), job.id).bytes;
          },
        });
      });
      let isOver = false;
      t.after(() => {
        isOver = true;
      });
      let reads = 0;
      const readers = Array.from({ length: READERS }, async (_, reader) => {
        for (let nth = 0; !isOver; nth++) {
          const file = made[Math.floor(random.next(`reader ${reader} ${nth}`) * made.length)];
          if (file === undefined || reads >= READS_EACH * made.length) {
            await pause(20);
            continue;
          }
          reads += 1;
          await check.read(file);
        }
      });
      await submits;
      await untilAllAreCopied();
      isOver = true;
      await Promise.all(readers);
      t.diagnostic(`while copying: ${JSON.stringify(check.counts)}`);

      // From here on the vendors have no files.
      control.chooseFaults((_vendor, operation) =>
        operation === 'content' ? '403' : operation === 'query' ? 'not_found' : undefined,
      );
      await eachOf(made, AT_ONCE, (file) => check.readStored(file));
      assert.deepEqual(check.wrong, []);
      assert.ok(check.counts.broken + check.counts.refused > 0, 'some downloads met a fault');
      const { total } = await database.kysely
        .selectFrom('artifacts')
        .select(({ fn }) => fn.sum<number>('bytes').as('total'))
        .executeTakeFirstOrThrow();
      assert.equal(await bytesBelow(folder), Number(total));
      assert.deepEqual(await findBrokenRows(database), []);
    });
  });
});

async function eachOf<T>(items: readonly T[], atOnce: number, work: (item: T) => Promise<void>): Promise<void> {
  const queue = items.values();
  const worker = async () => {
    for (const item of queue) await work(item);
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
}
