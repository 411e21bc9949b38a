import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { SeededRandom } from '../../src/sandbox/deviations.ts';
import type { FaultChooser, FaultKind } from '../../src/sandbox/faults.ts';
import { LedgerStore } from '../../src/server/quota/ledger.ts';
import { LedgerService, refundAbandonedReservations } from '../../src/server/quota/ledger-service.ts';
import { chatBody, PRICE } from '../chat/chat-fixture.ts';
import { idOf, startVideoService, VENDOR_MODELS, type VendorModel, type VideoService } from '../flows/video-fixture.ts';
import { forEachDatabase } from '../for-each-database.ts';
import { CONTRACT_CASES } from '../vendors/load-contract-cases.ts';
import { FlakyPostgresProxy } from './flaky-postgres-proxy.ts';
import { openWithShortTimeouts } from './impatient-client.ts';
import { assertLedgerConsistent, openReadOnly } from './ledger-assertions.ts';

/** Videos on each database; `npm run hammer` generates more, with another seed. */
const TASKS = Number(process.env.RANDOM_FAULT_TASKS ?? '45');
const SEED = Number(process.env.RANDOM_FAULT_SEED ?? '6');
const CALLS = Math.ceil(TASKS / 2);
const AT_ONCE = 18;

/** Share of all upstream calls that fail. */
const FAILING = 0.3;
/**
 * Shares of the messages to PostgreSQL: commits whose response is lost, commits that never arrive, and all other
 * messages.
 */
const LOST_COMMITS = 0.1;
const CUT_COMMITS = 0.05;
const CUT_OTHERS = 0.003;

const ANY: readonly FaultKind[] = [
  ...(['401', '403', '429', '500', '502', '503', '504'] as const),
  ...([
    'reset',
    'drop',
    'hang',
    'hang-after',
    'truncated',
    'malformed',
    'html',
    'empty',
    'deep',
    'wrong-types',
  ] as const),
  ...(['unauthorized', 'forbidden', 'rate', 'overloaded', 'broken', 'timeout'] as const),
];
const FAULTS_BY_OPERATION: Readonly<Record<string, readonly FaultKind[]>> = {
  submit: [...ANY, 'billing', 'model', 'concurrency', 'policy', 'invalid'],
  query: [...ANY, 'reordered', 'duplicate'],
};
/**
 * Vendors whose poll responses do not name the job, so that a response about another job, with its video, is taken for
 * the right one.
 */
const NAMING_NO_JOB: ReadonlySet<string> = new Set(
  CONTRACT_CASES.filter(({ pollNamesNoJob }) => pollNamesNoJob).map(({ simulator }) => simulator.name),
);
const faultsOf = (vendor: string, operation: string): readonly FaultKind[] | undefined =>
  NAMING_NO_JOB.has(vendor) && operation === 'query'
    ? FAULTS_BY_OPERATION.query?.filter((kind) => kind !== 'duplicate')
    : FAULTS_BY_OPERATION[operation];
/** A missing video does not end a Sora task, because Sora's responses name no file. */
const outcomesOf = ({ name }: VendorModel) => ['', '', '', '[fail]', '[filtered]', name === 'sora' ? '' : '[empty]'];

interface PlannedSubmit {
  readonly vendor: VendorModel;
  readonly model: string;
  readonly prompt: string;
}

/** Every upstream fails a third of its calls in various ways, and so does the database, until all tasks have ended. */
describe(`random faults in every part (seed ${SEED})`, () => {
  forEachDatabase((name, _open, freshUrl) => {
    const random = new SeededRandom(SEED);
    let service: VideoService;
    let proxy: FlakyPostgresProxy | undefined;
    let database: ReturnType<typeof openReadOnly>;
    const plannedSubmits = Array.from({ length: TASKS }, (_, n): PlannedSubmit => {
      const vendor = VENDOR_MODELS[n % VENDOR_MODELS.length] as VendorModel;
      const model = `random-${n}`;
      return { vendor, model, prompt: `${model}. ${random.pick(model, outcomesOf(vendor))}` };
    });

    before(async () => {
      const url = await freshUrl();
      if (name === 'postgres') proxy = await FlakyPostgresProxy.start(url);
      service = await startVideoService(proxy?.urlOf(url) ?? url, {
        env: { AMBIGUOUS_SUBMIT_TTL_SECONDS: '4' },
        overrides: { outbound: openWithShortTimeouts() },
        sandbox: { keepRequests: 100_000 },
      });
      database = openReadOnly(url);
      const { operator, sandbox } = service;
      // Each gets its own model and two channels, so that a fault of one does not open the circuit breaker of another's
      // channel. Created a few at a time: on a busy machine more would wait for a pool connection longer than it
      // allows.
      await each(plannedSubmits, 4, async ({ vendor, model }) => {
        await operator.requestData('POST', '/api/admin/models', { id: model, alias_of: vendor.model });
        await service.addChannel(vendor.name, [model], { priority: 1 });
        await service.addChannel(vendor.name, [model]);
      });
      await operator.requestData('POST', '/api/admin/models', {
        id: 'sandbox-chat',
        vendor: 'openai',
        kind: 'chat',
        price: PRICE,
      });
      await service.addChannel('openai', ['sandbox-chat']);
      await operator.grantQuota(100_000_000_000);
      sandbox.control.clearRequests();
    });
    after(async () => {
      await service?.stop();
      await database?.close();
      await proxy?.stop();
    });

    /**
     * The fault of a request is the same in every run: it follows from the seed, the submit's prompt and the number of
     * earlier requests.
     */
    const faultChooser = (): FaultChooser => {
      const times = new Map<string, number>();
      return (vendor, operation, text) => {
        const choices = faultsOf(vendor, operation);
        if (choices === undefined || vendor === 'openai') return undefined;
        const said = text();
        const job =
          operation === 'query' ? service.sandbox.control.jobs(vendor).find(({ id }) => said.includes(id)) : undefined;
        const whose = /random-\d+\b/.exec(job?.prompt ?? said)?.[0] ?? vendor;
        const nth = (times.get(`${operation} ${whose}`) ?? 0) + 1;
        times.set(`${operation} ${whose}`, nth);
        const moment = `${operation} ${whose} ${nth}`;
        return random.next(moment) < FAILING ? random.pick(moment, choices) : undefined;
      };
    };

    function begin(): () => Promise<void> {
      service.sandbox.control.chooseFaults(faultChooser());
      let messages = 0;
      if (proxy !== undefined)
        proxy.chooseCut = (message) => {
          messages += 1;
          const draw = random.next(`message ${messages}`);
          if (message === 'other') return draw < CUT_OTHERS ? 'before' : undefined;
          if (draw < LOST_COMMITS) return 'after';
          return draw < LOST_COMMITS + CUT_COMMITS ? 'before' : undefined;
        };
      let isOver = false;
      // On SQLite another process holds the write lock for a while, as a backup does.
      const locking = (async () => {
        for (let turn = 0; proxy === undefined && !isOver; turn += 1) {
          await pause(100 + 200 * random.next(`pause ${turn}`));
          await database.transaction(() => pause(300 * random.next(`lock ${turn}`))).catch(() => {});
        }
      })();
      return async () => {
        isOver = true;
        service.sandbox.control.chooseFaults(undefined);
        if (proxy !== undefined) proxy.chooseCut = undefined;
        await locking;
      };
    }

    /**
     * Submits as a patient client does, retrying with the same key while the service is unavailable; returns the id, or
     * undefined for a refusal.
     */
    async function submit({ model, prompt }: PlannedSubmit): Promise<string | undefined> {
      for (let tries = 0; tries < 6; tries += 1) {
        const headers = { 'idempotency-key': model };
        const { status, body } = await service.caller.request(
          'POST',
          '/v1/video/generations',
          { model, prompt },
          headers,
        );
        if (status === 200) return idOf(body);
        assert.notEqual(status, 500, JSON.stringify(body));
        if (status !== 503) return undefined;
        await pause(200);
      }
      return undefined;
    }

    async function call(n: number): Promise<void> {
      const body = chatBody(`[chunks=5] call ${n}`, { stream: n % 2 === 0 });
      const response = await service.caller.fetchRaw('/v1/chat/completions', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
      assert.notEqual(response.status, 500, await response.text());
    }

    const open = () =>
      database.kysely
        .selectFrom('tasks')
        .select(['public_id', 'vendor', 'prompt', 'status'])
        .where('next_poll_at', 'is not', null)
        .execute();

    async function untilAllHaveEnded(): Promise<void> {
      for (let attempts = 0; attempts < 240 + TASKS; attempts += 1) {
        const left = await open();
        if (left.length === 0) return;
        // Veo tasks are polled when a client requests them.
        await each(
          left.filter(({ vendor }) => vendor === 'veo'),
          AT_ONCE,
          async ({ public_id }) => {
            const { status, body } = await service.caller.request('GET', `/v1/videos/${public_id}`);
            assert.notEqual(status, 500, JSON.stringify(body));
          },
        );
        await pause(250);
      }
      assert.fail(`unfinished: ${JSON.stringify(await open())}`);
    }

    it('ends every task, charges finished videos and refunds the rest', {
      timeout: 300_000 + 1_000 * TASKS,
    }, async () => {
      const calm = begin();
      const answers = new Map<string, string>();
      try {
        const submits = each(plannedSubmits, AT_ONCE, async (planned) => {
          const id = await submit(planned);
          if (id !== undefined) answers.set(planned.prompt, id);
        });
        await Promise.all([
          submits,
          each(
            Array.from({ length: CALLS }, (_, n) => n),
            AT_ONCE,
            call,
          ),
        ]);
        await untilAllHaveEnded();
      } finally {
        await calm();
      }

      const { control } = service.sandbox;
      const calls = [...control.requests({ operation: 'submit' }), ...control.requests({ operation: 'query' })];
      const faulty = calls.filter(({ fault }) => fault !== undefined && !fault.startsWith('job-'));
      assert.ok(faulty.length > 0.15 * calls.length, `${faulty.length} of ${calls.length} calls failed`);
      if (proxy !== undefined)
        assert.ok(Math.min(proxy.cuts.after, proxy.cuts.before) > TASKS / 20, JSON.stringify(proxy.cuts));

      await untilCallsAreClosed();
      await assertLedgerConsistent(database);
      const tasks = await database.kysely
        .selectFrom('tasks')
        .select(['id', 'public_id', 'prompt', 'status', 'price', 'pricing', 'handle', 'vendor'])
        .orderBy('seq')
        .execute();
      const named = Map.groupBy(tasks, ({ prompt }) => prompt);
      for (const { vendor, prompt } of plannedSubmits) {
        const own = named.get(prompt) ?? [];
        const jobs = control.jobs(vendor.name).filter((job) => job.prompt === prompt);
        const id = answers.get(prompt);
        assert.ok(id === undefined || own.some(({ public_id }) => public_id === id), `${prompt}: ${id} is there`);
        assert.ok(
          own.length <= 1 || own.slice(0, -1).every(({ status }) => status === 'FAILURE'),
          `${prompt}: one at most`,
        );
        assert.ok(jobs.length <= own.length, `${prompt}: ${jobs.length} jobs for ${own.length} tasks`);
        for (const { status, handle } of own) {
          if (status !== 'SUCCESS') continue;
          const job = jobs.find(({ id }) => handle?.includes(id));
          assert.ok(job, `${prompt}: made of its own job`);
          assert.equal(job.outcome, 'succeed', `${prompt}: made of a job that succeeded`);
        }
      }
      const made = tasks.filter(({ status }) => status === 'SUCCESS');
      assert.ok(made.length > TASKS / 4, `${made.length} of ${TASKS} were made`);
      const settled = await database.kysely
        .selectFrom('ledger')
        .select(['ref', 'charged'])
        .where('kind', '=', 'settle')
        .where('ref', 'not like', 'req_%')
        .execute();
      assert.equal(settled.length, made.length);
      const charges = new Map(settled.map(({ ref, charged }) => [ref, charged]));
      for (const { id, price, pricing } of made) {
        const charged = charges.get(id) ?? 0;
        // A vendor's own count may be less than the reservation.
        if (JSON.parse(pricing).price.settle_by === 'vendor') assert.ok(charged > 0 && charged <= price, `${charged}`);
        else assert.equal(charged, price);
      }
    });

    /** Settlements of model calls are retried for a while; the sweep settles the rest. */
    async function untilCallsAreClosed(): Promise<void> {
      const left = () =>
        database.kysely.selectFrom('reservations').select('ref').where('ref', 'like', 'req_%').execute();
      for (let attempts = 0; attempts < 50 && (await left()).length > 0; attempts += 1) await pause(100);
      const clock = { now: () => Date.now() + 86_400_000 };
      const store = new LedgerStore(database);
      await refundAbandonedReservations(
        { database, store, ledger: new LedgerService({ store, clock }), clock },
        { prefix: 'req_', olderThanMs: 1 },
      );
    }
  });
});

async function each<T>(items: readonly T[], atOnce: number, work: (item: T) => Promise<void>): Promise<void> {
  const queue = [...items];
  const worker = async () => {
    for (let item = queue.shift(); item !== undefined; item = queue.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
}
