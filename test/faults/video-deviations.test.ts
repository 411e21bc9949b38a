import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { type DeviationEffect, SeededRandom, vendorDeviations } from '../../src/sandbox/deviations.ts';
import { JOB_TIMINGS } from '../../src/sandbox/jobs.ts';
import { sameClip } from '../../src/sandbox/media.ts';
import { idOf, startVideoService, VENDOR_MODELS, type VendorModel, type VideoService } from '../flows/video-fixture.ts';
import { assertLedgerConsistent } from './ledger-assertions.ts';

/** Videos; `npm run hammer` generates more, with another seed. */
const VIDEOS = Number(process.env.DEVIATING_VIDEOS ?? '150');
const SEED = Number(process.env.DEVIATION_SEED ?? '41');
const SHARE = 0.4;
const BATCH = 1_000;
const AT_ONCE = 24;
const MAX_REPORTED = 10;
/** Every nth finished video is downloaded. */
const DOWNLOADED = Math.ceil(VIDEOS / 600);
const MAX_DOWNLOADS = 20;
/** Longer than the poll interval of any vendor, including those that are polled when their owner reads the task. */
const LEAP_MS = 65_000;
/** Maximum leaps until every task has ended: submits that were never confirmed are given up after ten minutes. */
const MAX_LEAPS = 40;
const ODD_POLLS_TO_FAIL = 3;
const OUTCOMES = ['', '', '', '', '[fail]', '[filtered]'];

interface Row {
  readonly id: string;
  readonly public_id: string;
  readonly prompt: string;
  readonly status: string;
  readonly price: number;
  readonly pricing: string;
  readonly error_code: string;
}

interface Planned {
  readonly vendor: VendorModel;
  readonly prompt: string;
}

const random = new SeededRandom(SEED);
const plan = (n: number): Planned => {
  const vendor = VENDOR_MODELS[n % VENDOR_MODELS.length] as VendorModel;
  const name = `video ${n}.`;
  return { vendor, prompt: `${name} ${random.pick(name, OUTCOMES)}`.trim() };
};

/** The effects of a vendor's responses on one task, in order. */
interface History {
  readonly submits: readonly (DeviationEffect | 'documented')[];
  readonly polls: readonly (DeviationEffect | 'documented')[];
  /** Reads of the file. */
  readonly files: readonly (DeviationEffect | 'documented')[];
  readonly names: readonly string[];
}

const hasRow = (polls: History['polls'], effect: DeviationEffect): boolean =>
  polls.some(
    (_, at) =>
      at + ODD_POLLS_TO_FAIL <= polls.length &&
      polls.slice(at, at + ODD_POLLS_TO_FAIL).every((each) => each === effect),
  );

describe(`videos of deviating vendors (seed ${SEED})`, () => {
  let service: VideoService;
  let offsetMs = 0;
  const clock = { now: () => Date.now() + offsetMs };

  before(async () => {
    service = await startVideoService('sqlite::memory:', {
      overrides: { clock },
      sandbox: {
        timing: JOB_TIMINGS.instant,
        clock,
        keepRequests: 40 * BATCH,
        deviations: { seed: SEED, share: SHARE },
      },
    });
    await service.operator.grantQuota(1_000_000_000_000_000);
  });
  after(() => service?.stop());

  const openTasks = () =>
    service.app.database.kysely
      .selectFrom('tasks')
      .select(['public_id', 'vendor'])
      .where('next_poll_at', 'is not', null)
      .execute();

  /** Advances the clock until every task has ended; all unfinished tasks are polled between two leaps. */
  async function untilAllHaveEnded(): Promise<void> {
    for (let leaps = 0; leaps < MAX_LEAPS; leaps += 1) {
      let left = await openTasks();
      for (let seen = -1, quiet = 0; quiet < 3; left = await openTasks()) {
        if (left.length === 0) return;
        const now = service.sandbox.control.requests().length;
        quiet = now === seen ? quiet + 1 : 0;
        seen = now;
        await pause(150);
      }
      offsetMs += LEAP_MS;
    }
    assert.fail(`${(await openTasks()).length} tasks did not end`);
  }

  const effectOf = (vendor: string, operation: string, name: string | undefined): DeviationEffect | 'documented' =>
    name === undefined
      ? 'documented'
      : (vendorDeviations(vendor).find((each) => each.name === name && each.operation === operation)?.effect ??
        assert.fail(`${vendor} has no deviation named ${name}`));

  function historyOf({ vendor, prompt }: Planned): History {
    const jobs = service.sandbox.control.jobs(vendor.name).filter((job) => job.prompt === prompt);
    const requests = service.sandbox.control.requests({ vendor: vendor.name });
    const submits = requests.filter(({ operation, body }) => operation === 'submit' && body.includes(prompt));
    const polls = requests.filter(
      ({ operation, path, query, body }) =>
        operation === 'query' &&
        jobs.some(({ id, externalId }) => {
          const text = decodeURIComponent(`${path}?${query} ${body}`);
          return text.includes(id) || (externalId !== undefined && text.includes(externalId));
        }),
    );
    const files = requests.filter(
      ({ operation, path }) => operation === 'content' && jobs.some(({ id }) => decodeURIComponent(path).includes(id)),
    );
    const toEffects = (some: typeof requests) =>
      some.map(({ operation = '', deviation }) => effectOf(vendor.name, operation, deviation));
    return {
      submits: toEffects(submits),
      polls: toEffects(polls),
      files: toEffects(files),
      names: [...submits, ...polls, ...files].map(({ deviation }) => deviation ?? '-'),
    };
  }

  /**
   * Asserts the outcome of one video by the documented rules alone: delivered if its job succeeded, otherwise refunded.
   */
  function assertVideo(planned: Planned, row: Row | undefined, status: number, history: History): void {
    const jobs = service.sandbox.control.jobs(planned.vendor.name).filter((job) => job.prompt === planned.prompt);
    if (history.submits.includes('refused')) {
      assert.ok(status !== 200 || row?.status === 'FAILURE', `a refused submit: ${status}, ${row?.status}`);
      return;
    }
    assert.equal(jobs.length, 1, 'one job');
    if (jobs[0]?.outcome !== 'succeed') {
      // A job that has already failed at the time of the response is refused at once.
      assert.ok(status !== 200 || row?.status === 'FAILURE', `a failed job: ${status}, ${row?.status}`);
      return;
    }
    assert.equal(status, 200);
    assert.ok(row);
    if (row.status === 'SUCCESS') return;
    const isLost = history.submits.includes('lost');
    const isUnplayable = row.error_code === 'unplayable_video' && hasRow(history.files, 'odd');
    assert.ok(
      isLost || isUnplayable || hasRow(history.polls, 'odd'),
      `${row.status} (${row.error_code}) though the job succeeded`,
    );
    if (isLost && history.polls.length === 0) assert.equal(row.error_code, 'unconfirmed');
  }

  /** Downloads a video until its host serves the file; until then the caller gets an error, never other bytes. */
  async function assertDownload({ vendor, prompt }: Planned, id: string): Promise<void> {
    const [job] = service.sandbox.control.jobs(vendor.name).filter((each) => each.prompt === prompt);
    assert.ok(job);
    for (let tries = 0; tries < MAX_DOWNLOADS; tries++) {
      const response = await fetch(`${service.baseUrl}/v1/videos/${id}/content`, {
        headers: { authorization: `Bearer ${service.caller.key}` },
      });
      const bytes = await response.bytes().catch(() => undefined);
      if (bytes === undefined) continue;
      if (response.status === 200) {
        assert.match(response.headers.get('content-type') ?? '', /^(?:video\/mp4|application\/octet-stream)$/);
        assert.ok(sameClip(job).bytes.equals(bytes), `${bytes.length} bytes of another file`);
        return;
      }
      assert.ok(response.status >= 400 && response.status !== 500, `HTTP ${response.status}`);
      assert.match(response.headers.get('content-type') ?? '', /json/);
    }
    assert.fail('the file was never delivered');
  }

  /** Asserts the charge of each task, 0 for failed ones. */
  async function assertCharges(rows: readonly Row[]): Promise<void> {
    const entries = await service.app.database.kysely
      .selectFrom('ledger')
      .select(['ref', 'kind', 'charged'])
      .where('kind', 'in', ['settle', 'refund'])
      .where(
        'ref',
        'in',
        rows.map(({ id }) => id),
      )
      .execute();
    const byTask = Map.groupBy(entries, ({ ref }) => ref);
    for (const { id, status, price, pricing, prompt } of rows) {
      const [entry, ...more] = byTask.get(id) ?? [];
      assert.ok(entry && more.length === 0, `${prompt}: closed once`);
      assert.equal(entry.kind, status === 'SUCCESS' ? 'settle' : 'refund', prompt);
      if (status !== 'SUCCESS') continue;
      // A vendor's own count may be less than the reservation.
      if (JSON.parse(pricing).price.settle_by === 'vendor')
        assert.ok(entry.charged > 0 && entry.charged <= price, `${prompt}: ${entry.charged} of ${price}`);
      else assert.equal(entry.charged, price, prompt);
    }
  }

  async function submitAll(batch: readonly Planned[]): Promise<ReadonlyMap<string, { status: number; id: string }>> {
    const queue = [...batch];
    const answers = new Map<string, { status: number; id: string }>();
    const worker = async () => {
      for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
        const { vendor, prompt } = next;
        const { status, body } = await service.caller.request('POST', '/v1/video/generations', {
          model: vendor.model,
          prompt,
        });
        assert.notEqual(status, 500, JSON.stringify(body));
        answers.set(prompt, { status, id: status === 200 ? idOf(body) : JSON.stringify(body) });
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
    return answers;
  }

  it('delivers generated videos, charges each once and refunds the rest', {
    timeout: 120_000 + VIDEOS * 500,
  }, async () => {
    const startedAt = performance.now();
    const failures: string[] = [];
    const counts: Record<string, number> = {};
    for (let at = 0; at < VIDEOS; at += BATCH) {
      const batch = Array.from({ length: Math.min(BATCH, VIDEOS - at) }, (_, n) => plan(at + n));
      const answers = await submitAll(batch);
      await untilAllHaveEnded();
      const rows: Row[] = await service.app.database.kysely
        .selectFrom('tasks')
        .select(['id', 'public_id', 'prompt', 'status', 'price', 'pricing', 'error_code'])
        .where(
          'prompt',
          'in',
          batch.map(({ prompt }) => prompt),
        )
        .execute();
      const byId = new Map(rows.map((row) => [row.public_id, row]));
      for (const planned of batch) {
        const answer = answers.get(planned.prompt);
        const row = byId.get(answer?.id ?? '');
        const history = historyOf(planned);
        const outcome = row?.status ?? `HTTP ${answer?.status}`;
        counts[outcome] = (counts[outcome] ?? 0) + 1;
        try {
          assertVideo(planned, row, answer?.status ?? 0, history);
        } catch (error) {
          failures.push(
            `${planned.vendor.name} ${planned.prompt}: ${(error as Error).message}; ${JSON.stringify(answer)}; ${history.names.join(' | ')}`,
          );
        }
      }
      const finished = batch.flatMap((planned, n) => {
        const row = byId.get(answers.get(planned.prompt)?.id ?? '');
        return row?.status === 'SUCCESS' && n % DOWNLOADED === 0 ? [{ planned, row }] : [];
      });
      for (const { planned, row } of finished)
        await assertDownload(planned, row.public_id).catch((error: Error) =>
          failures.push(`${planned.vendor.name} ${planned.prompt}: download: ${error.message}`),
        );
      await assertCharges(rows);
      service.sandbox.control.clearRequests();
    }
    assert.equal(failures.length, 0, `${failures.length} failed\n${failures.slice(0, MAX_REPORTED).join('\n')}`);
    const { kysely } = service.app.database;
    for (const { id } of await kysely.selectFrom('channels').select('id').execute()) {
      const { condition, name } = await service.operator.requestData<{ condition: string; name: string }>(
        'GET',
        `/api/admin/channels/${id}`,
      );
      assert.notEqual(condition, 'resting', name);
    }
    await assertLedgerConsistent(service.app.database);
    const seconds = (performance.now() - startedAt) / 1_000;
    console.log(`${VIDEOS} videos, ${JSON.stringify(counts)}, ${(VIDEOS / seconds).toFixed(1)} videos/s`);
  });
});
