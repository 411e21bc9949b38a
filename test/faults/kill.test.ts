import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { type Sandbox, startSandbox } from '../../src/sandbox/kit.ts';
import { SIMULATORS } from '../../src/sandbox/simulators.ts';
import { forEachDatabase } from '../databases.ts';
import { model, Operator } from '../operator.ts';
import { assertBooks, lookInto } from './books.ts';
import { startCrashing } from './crashing-service.ts';

/** Every named point of the money path. */
const POINTS = ['after-reserve', 'before-send', 'after-send', 'after-answer', 'before-settle', 'mid-refund'] as const;
/** Rounds over both databases; the script that hammers for releases sets more. */
const ROUNDS = Number(process.env.KILL_ROUNDS ?? '20');
const ENV = { AMBIGUOUS_SUBMIT_TTL_SECONDS: '2', SYNC_PERIOD_SECONDS: '1' };
const MODELS = { kling: 'kling-v1-6', sora: 'sora-2' } as const;
const TASKS = 6;

forEachDatabase((name, _open, freshUrl) => {
  describe(`kill -9 on ${name}`, { concurrency: 2 }, () => {
    let sandbox: Sandbox;
    before(async () => {
      sandbox = await startSandbox({ simulators: SIMULATORS });
    });
    after(() => sandbox.stop());

    for (let round = 0; round < Math.ceil(ROUNDS / 2); round += 1) {
      const point = POINTS[round % POINTS.length] ?? 'after-reserve';
      // Two of the six tasks fail, the other four are settled.
      const most = point === 'mid-refund' ? 2 : 4;
      const count = 1 + (Math.floor(round / POINTS.length) % most);
      test(`round ${round + 1}: at ${point}, time ${count}`, async () => {
        const url = await freshUrl();
        const key = await prepare(url, sandbox);
        const crashing = await startCrashing(url, ENV, { at: point, count });
        const answers = await Promise.all(
          Array.from({ length: TASKS }, (_, index) =>
            submit(
              crashing.baseUrl,
              key,
              index % 2 === 0 ? MODELS.kling : MODELS.sora,
              `round ${round} task ${index} ${index % 3 === 2 ? '[fail]' : ''}`,
            ),
          ),
        );
        assert.equal(await Promise.race([crashing.ended, pause(20_000, 'not killed', { ref: false })]), 'SIGKILL');

        const again = await startCrashing(url, ENV);
        const database = lookInto(url);
        try {
          await untilAllEnded(database);
          await assertBooks(database);
          const known = new Set(
            (await database.kysely.selectFrom('tasks').select('public_id').execute()).map(({ public_id }) => public_id),
          );
          for (const id of answers) assert.ok(id === undefined || known.has(id), `${id} was answered and is there`);
          for (const vendor of Object.keys(MODELS)) {
            const ids = sandbox.control
              .jobs(vendor)
              .map(({ prompt }) => prompt)
              .filter((prompt) => prompt.startsWith(`round ${round} `));
            assert.equal(new Set(ids).size, ids.length, `${vendor} was asked once for each task`);
          }
        } finally {
          await database.close();
          await again.stop();
        }
      });
    }
  });
});

/** First start, channels, money and a token, by a process that stops in order. */
async function prepare(url: string, sandbox: Sandbox): Promise<string> {
  const service = await startCrashing(url, ENV);
  try {
    const operator = await new Operator(service.baseUrl).signIn();
    for (const [vendor, id] of Object.entries(MODELS)) {
      const channel = { vendor, base_url: sandbox.url(vendor), credentials: sandbox.credentials(vendor), models: [id] };
      await operator.addChannel(channel);
    }
    await operator.grant(100_000_000);
    return await operator.makeToken();
  } finally {
    await service.stop();
  }
}

/** The task id, or undefined when the process died before it answered. */
async function submit(baseUrl: string, key: string, name: string, prompt: string): Promise<string | undefined> {
  try {
    const { status, body } = await model(baseUrl, key, 'POST', '/v1/video/generations', { model: name, prompt });
    assert.equal(status, 200, JSON.stringify(body));
    return String(body.id ?? body.task_id);
  } catch (error) {
    if (error instanceof assert.AssertionError) throw error;
    return undefined;
  }
}

async function untilAllEnded(database: ReturnType<typeof lookInto>): Promise<void> {
  for (let tries = 0; tries < 150; tries += 1) {
    const open = await database.kysely
      .selectFrom('tasks')
      .select(({ fn }) => fn.countAll<number>().as('count'))
      .where('next_poll_at', 'is not', null)
      .executeTakeFirstOrThrow();
    if (Number(open.count) === 0) return;
    await pause(100);
  }
  assert.fail('tasks did not end');
}
