import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { chatBody } from '../chat/chat-fixture.ts';
import { idOf, startVideoService, type VideoService } from '../flows/video-fixture.ts';
import { forEachDatabase } from '../for-each-database.ts';
import { type PostgresServer, startPostgres } from '../start-postgres.ts';
import { assertLedgerConsistent, openReadOnly } from './ledger-assertions.ts';
import { addChatModel, untilAllEnded } from './submit-steps.ts';

/** `npm run hammer` sets more. */
const ROUNDS = Number(process.env.RESTART_ROUNDS ?? '2');
const DOWN_MS = 700;
/** A restarted database must be used again within this time. */
const RECOVERY_MS = 20_000;
const CALLERS = 6;
const VENDORS = [
  { name: 'kling', model: 'kling-v1-6' },
  { name: 'sora', model: 'sora-2' },
] as const;

forEachDatabase((name) => {
  // SQLite is part of the process.
  if (name === 'sqlite') return;

  describe('a database restarted under load', () => {
    let server: PostgresServer;
    let service: VideoService;
    before(async () => {
      server = await startPostgres();
      service = await startVideoService(server.url, { env: { AMBIGUOUS_SUBMIT_TTL_SECONDS: '3' } }, VENDORS);
      await addChatModel(service);
    });
    after(async () => {
      await service?.stop();
      await server?.stop();
    });

    /** Sends one request of each kind in turn until `isOver` returns true; returns their outcomes. */
    async function work(caller: string, isOver: () => boolean) {
      const done = { ids: [] as string[], refused: 0, calls: 0 };
      for (let n = 0; !isOver(); n += 1) {
        const { model } = VENDORS[n % VENDORS.length] ?? VENDORS[0];
        const prompt = `${caller} video ${n} ${n % 3 === 2 ? '[fail]' : ''}`;
        const asked = [
          ['POST', '/v1/videos', { model, prompt }],
          ['GET', `/v1/videos/${done.ids.at(-1) ?? 'none'}`],
          ['POST', '/v1/chat/completions', chatBody(`${caller} call ${n}`)],
        ] as const;
        for (const [method, path, body] of asked) {
          const answer = await service.caller.request(method, path, body);
          const said = `${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`;
          assert.match(String(answer.status), /^(200|400|503)$/, said);
          if (answer.status === 503) {
            done.refused += 1;
            assert.ok(Number(answer.headers.get('retry-after')) > 0, said);
            assert.match(JSON.stringify(answer.body), /"code":"unavailable"/);
          }
          if (answer.status === 200 && path === '/v1/videos') done.ids.push(idOf(answer.body));
          if (answer.status === 200 && path === '/v1/chat/completions') done.calls += 1;
        }
        await pause(20);
      }
      return done;
    }

    for (let round = 0; round < ROUNDS; round += 1) {
      const signal = round % 2 === 0 ? 'SIGQUIT' : 'SIGKILL';
      it(`${round + 1}, ${signal}: 503 meanwhile, immediate recovery, nothing lost or duplicated`, {
        timeout: 240_000,
      }, async () => {
        let isOver = false;
        const working = Promise.all(
          Array.from({ length: CALLERS }, (_, n) => work(`round ${round} caller ${n}`, () => isOver)),
        );
        await pause(700);
        await server.restart(signal, DOWN_MS);
        const backAt = performance.now();
        const served = async () => (await service.caller.request('GET', '/v1/videos')).status === 200;
        while (!(await served())) {
          assert.ok(performance.now() - backAt < RECOVERY_MS, 'it serves again');
          await pause(50);
        }
        await pause(700);
        isOver = true;
        const done = await working;
        const refused = done.reduce((sum, each) => sum + each.refused, 0);
        assert.ok(refused > 0, 'requests met the outage');

        const database = openReadOnly(server.url);
        try {
          await untilAllEnded(database, 90);
          const rows = await database.kysely.selectFrom('tasks').select(['public_id', 'prompt']).execute();
          const known = new Set(rows.map(({ public_id }) => public_id));
          for (const id of done.flatMap(({ ids }) => ids)) assert.ok(known.has(id), `${id} was answered and is there`);
          assert.equal(new Set(rows.map(({ prompt }) => prompt)).size, rows.length);
          for (let attempts = 0; attempts < 600 && (await openCalls(database)) > 0; attempts += 1) await pause(100);
          await assertLedgerConsistent(database);
        } finally {
          await database.close();
        }
      });
    }
  });
});

const openCalls = async ({ kysely }: ReturnType<typeof openReadOnly>): Promise<number> =>
  (await kysely.selectFrom('reservations').select('ref').where('ref', 'like', 'req_%').execute()).length;
