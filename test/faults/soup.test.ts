import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import type { FaultKind, Weather } from '../../src/sandbox/faults.ts';
import { refundAbandoned } from '../../src/server/quota/abandoned.ts';
import { makeQuota } from '../../src/server/quota/service.ts';
import { QuotaStore } from '../../src/server/quota/store.ts';
import { PRICE, question } from '../chat/service.ts';
import { forEachDatabase } from '../databases.ts';
import { DOORS, type Door, idOf, startVideoService, type VideoService } from '../flows/video-service.ts';
import { assertBooks, lookInto } from './books.ts';
import { Chance } from './chance.ts';
import { openImpatient } from './impatient-door.ts';
import { RoughDatabase } from './rough-database.ts';

/** Videos on each database; the script that hammers for releases asks for more, with another seed. */
const TASKS = Number(process.env.SOUP_TASKS ?? '45');
const SEED = Number(process.env.SOUP_SEED ?? '20261121');
const CALLS = Math.ceil(TASKS / 2);
const AT_ONCE = 18;

/** Of all calls to upstreams. */
const FAILING = 0.3;
/** Of what is asked of PostgreSQL: commits whose answer is lost, commits that never arrive, and anything else. */
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
const BEFALLS: Readonly<Record<string, readonly FaultKind[]>> = {
  submit: [...ANY, 'billing', 'model', 'concurrency', 'policy', 'invalid'],
  query: [...ANY, 'reordered', 'duplicate'],
};
/** A video that is not there ends no task of Sora's, whose answers name no file. */
const fatesOf = ({ letter }: Door) => ['', '', '', '[fail]', '[filtered]', letter === 'H' ? '' : '[empty]'];

interface Wish {
  readonly door: Door;
  readonly model: string;
  readonly prompt: string;
}

/** Every upstream fails every third time in a way of its own, and so does the database, until all has come to an end. */
describe(`R4, R7: a soup of faults (seed ${SEED})`, () => {
  forEachDatabase((name, _open, freshUrl) => {
    const chance = new Chance(SEED);
    let service: VideoService;
    let rough: RoughDatabase | undefined;
    let database: ReturnType<typeof lookInto>;
    const wishes = Array.from({ length: TASKS }, (_, n): Wish => {
      const door = DOORS[n % DOORS.length] as Door;
      const model = `soup-${n}`;
      return { door, model, prompt: `${model}. ${chance.pick(model, fatesOf(door))}` };
    });

    before(async () => {
      const url = await freshUrl();
      if (name === 'postgres') rough = await RoughDatabase.start(url);
      service = await startVideoService(rough?.urlOf(url) ?? url, {
        env: { AMBIGUOUS_SUBMIT_TTL_SECONDS: '4' },
        overrides: { outbound: openImpatient() },
        sandbox: { keepRequests: 100_000 },
      });
      database = lookInto(url);
      const { operator, sandbox } = service;
      // A model and two channels for each, so that no one's fault rests another's channel.
      await each(wishes, async ({ door, model }) => {
        await operator.call('POST', '/api/admin/models', { id: model, alias_of: door.model });
        await service.addChannel(door.name, [model], { priority: 1 });
        await service.addChannel(door.name, [model]);
      });
      await operator.call('POST', '/api/admin/models', {
        id: 'sandbox-chat',
        vendor: 'openai',
        kind: 'chat',
        price: PRICE,
      });
      await service.addChannel('openai', ['sandbox-chat']);
      await operator.grant(100_000_000_000);
      sandbox.control.clearRequests();
    });
    after(async () => {
      await service?.stop();
      await database?.close();
      await rough?.stop();
    });

    /** What befalls one wish is the same in every run: it follows from the seed, its name and how often it was so. */
    const weather = (): Weather => {
      const times = new Map<string, number>();
      return (vendor, operation, text) => {
        const choices = BEFALLS[operation];
        if (choices === undefined || vendor === 'openai') return undefined;
        const said = text();
        const job =
          operation === 'query' ? service.sandbox.control.jobs(vendor).find(({ id }) => said.includes(id)) : undefined;
        const whose = /soup-\d+\b/.exec(job?.prompt ?? said)?.[0] ?? vendor;
        const nth = (times.get(`${operation} ${whose}`) ?? 0) + 1;
        times.set(`${operation} ${whose}`, nth);
        const moment = `${operation} ${whose} ${nth}`;
        return chance.of(moment) < FAILING ? chance.pick(moment, choices) : undefined;
      };
    };

    function begin(): () => Promise<void> {
      service.sandbox.control.weather(weather());
      let messages = 0;
      if (rough !== undefined)
        rough.choose = (message) => {
          messages += 1;
          const fate = chance.of(`message ${messages}`);
          if (message === 'other') return fate < CUT_OTHERS ? 'before' : undefined;
          if (fate < LOST_COMMITS) return 'after';
          return fate < LOST_COMMITS + CUT_COMMITS ? 'before' : undefined;
        };
      let isOver = false;
      // On SQLite another process takes the lock for a while, as a backup does.
      const locking = (async () => {
        for (let turn = 0; rough === undefined && !isOver; turn += 1) {
          await pause(100 + 200 * chance.of(`pause ${turn}`));
          await database.transaction(() => pause(300 * chance.of(`lock ${turn}`))).catch(() => {});
        }
      })();
      return async () => {
        isOver = true;
        service.sandbox.control.weather(undefined);
        if (rough !== undefined) rough.choose = undefined;
        await locking;
      };
    }

    /** As a patient client does: again under the same key while the service cannot. The id, or undefined for a refusal. */
    async function submit({ model, prompt }: Wish): Promise<string | undefined> {
      for (let tries = 0; tries < 6; tries += 1) {
        const headers = { 'idempotency-key': model };
        const { status, body } = await service.viewer.ask('POST', '/v1/video/generations', { model, prompt }, headers);
        if (status === 200) return idOf(body);
        assert.notEqual(status, 500, JSON.stringify(body));
        if (status !== 503) return undefined;
        await pause(200);
      }
      return undefined;
    }

    async function call(n: number): Promise<void> {
      const body = question(`[chunks=5] call ${n}`, { stream: n % 2 === 0 });
      const response = await service.viewer.raw('/v1/chat/completions', {
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
      for (let looks = 0; looks < 240 + TASKS; looks += 1) {
        const left = await open();
        if (left.length === 0) return;
        // Veo's are looked at when somebody asks.
        await each(
          left.filter(({ vendor }) => vendor === 'veo'),
          async ({ public_id }) => {
            const { status, body } = await service.viewer.ask('GET', `/v1/videos/${public_id}`);
            assert.notEqual(status, 500, JSON.stringify(body));
          },
        );
        await pause(250);
      }
      assert.fail(`unfinished: ${JSON.stringify(await open())}`);
    }

    it('ends every task, charges what was made, and gives back the rest', {
      timeout: 300_000 + 1_000 * TASKS,
    }, async () => {
      const calm = begin();
      const answers = new Map<string, string>();
      try {
        const submits = each(wishes, async (wish) => {
          const id = await submit(wish);
          if (id !== undefined) answers.set(wish.prompt, id);
        });
        await Promise.all([
          submits,
          each(
            Array.from({ length: CALLS }, (_, n) => n),
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
      if (rough !== undefined)
        assert.ok(Math.min(rough.cuts.after, rough.cuts.before) > TASKS / 20, JSON.stringify(rough.cuts));

      await untilCallsAreClosed();
      await assertBooks(database);
      const tasks = await database.kysely
        .selectFrom('tasks')
        .select(['id', 'public_id', 'prompt', 'status', 'price', 'handle', 'vendor'])
        .execute();
      const named = Map.groupBy(tasks, ({ prompt }) => prompt);
      for (const { door, prompt } of wishes) {
        const own = named.get(prompt) ?? [];
        const jobs = control.jobs(door.name).filter((job) => job.prompt === prompt);
        const id = answers.get(prompt);
        assert.ok(id === undefined || own.some(({ public_id }) => public_id === id), `${prompt}: ${id} is there`);
        assert.ok(
          own.length <= 1 || own.slice(0, -1).every(({ status }) => status === 'FAILURE'),
          `${prompt}: one at most`,
        );
        assert.ok(jobs.length <= own.length, `${prompt}: ${jobs.length} jobs for ${own.length} tasks`);
        for (const { status, handle } of own) {
          if (status !== 'SUCCESS') continue;
          assert.equal(/\[/.test(prompt) && jobs[0]?.fate !== 'succeed', false, `${prompt}: made of a job that failed`);
          assert.ok(
            jobs.some((job) => handle?.includes(job.id)),
            `${prompt}: made of its own job`,
          );
        }
      }
      const made = tasks.filter(({ status }) => status === 'SUCCESS');
      assert.ok(made.length > TASKS / 4, `${made.length} of ${TASKS} were made`);
      const charged = await database.kysely
        .selectFrom('ledger')
        .select(({ fn }) => fn.sum<number>('charged').as('sum'))
        .where('kind', '=', 'settle')
        .where('ref', 'not like', 'req_%')
        .executeTakeFirstOrThrow();
      assert.equal(
        Number(charged.sum),
        made.reduce((sum, { price }) => sum + price, 0),
      );
    });

    /** Ends of model calls are tried again for a while; what is left then is the sweep's. */
    async function untilCallsAreClosed(): Promise<void> {
      const left = () => database.kysely.selectFrom('holds').select('ref').where('ref', 'like', 'req_%').execute();
      for (let looks = 0; looks < 50 && (await left()).length > 0; looks += 1) await pause(100);
      const clock = { now: () => Date.now() + 86_400_000 };
      const store = new QuotaStore(database);
      await refundAbandoned(
        { database, store, quota: makeQuota(store, clock), clock },
        { prefix: 'req_', olderThanMs: 1 },
      );
    }
  });
});

async function each<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const queue = [...items];
  const worker = async () => {
    for (let item = queue.shift(); item !== undefined; item = queue.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}
