import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { sql } from 'kysely';
import { openDatabase } from '../../src/server/platform/db/open-database.ts';
import type { Tables } from '../../src/server/tables.ts';
import { forEachDatabase } from '../databases.ts';
import { startTestService } from '../test-service.ts';
import { Receiver } from '../webhooks/receiver.ts';
import { bundleScript } from './bundle-script.ts';
import type { EventProcessOrder } from './event-process.fixture.ts';
import { SeededRandom } from './seeded-random.ts';

const FIXTURE = join(import.meta.dirname, 'event-process.fixture.ts');
const KILLS = Number(process.env.EVENT_KILLS ?? 4);
/** More than a claim lasts. */
const CLOCK_STEP_MS = 61_000;

forEachDatabase((_name, _open, freshUrl) => {
  it(`loses and invents no event over ${KILLS} kills, and repeats them with the same id, in order`, async () => {
    const databaseUrl = await freshUrl();
    const script = await bundleScript(FIXTURE);
    const receiver = await new Receiver().listen();
    const service = await startTestService(databaseUrl, { WEBHOOK_PRIVATE_HOSTS: receiver.host });
    const { masterKey } = service;
    const ada = await service.signUp('ada');
    await ada.ok('POST', '/api/webhooks', { url: receiver.url() });
    await service.stop();
    const children = new Set<ChildProcess>();
    const random = new SeededRandom(KILLS);
    const database = openDatabase<Tables>(databaseUrl);
    const latestFact = async (): Promise<number> => {
      const { latest } = await database.kysely
        .selectFrom('meta')
        .select(sql<number | null>`max(cast(substr(name, ${'fact:'.length + 1}) as integer))`.as('latest'))
        .where('name', 'like', 'fact:%')
        .executeTakeFirstOrThrow();
      return latest ?? 0;
    };
    const facts = async (): Promise<number[]> => {
      const rows = await database.kysely.selectFrom('meta').select('name').where('name', 'like', 'fact:%').execute();
      return rows.map(({ name }) => Number(name.slice('fact:'.length))).sort((one, other) => one - other);
    };
    const start = async (round: number, from: number | undefined) => {
      const order: EventProcessOrder = {
        databaseUrl,
        masterKey,
        userId: ada.id,
        receiver: receiver.host,
        clockOffsetMs: round * CLOCK_STEP_MS,
        from,
      };
      const child = spawn(process.execPath, [script.path, JSON.stringify(order)], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      children.add(child);
      child.once('exit', () => children.delete(child));
      const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
      assert.equal((await lines.next()).value, 'ready');
      return { child, lines };
    };
    try {
      for (let round = 1; round <= KILLS; round++) {
        const { child } = await start(round, (await latestFact()) + 1);
        // Any moment of a batch: a batch of events and their deliveries takes some tens of milliseconds.
        await delay(random.next(`round ${round}`) * 150);
        child.kill('SIGKILL');
        await once(child, 'exit');
      }
      const { child, lines } = await start(KILLS + 1, undefined);
      assert.equal((await lines.next()).value, 'drained');
      if (child.exitCode === null) await once(child, 'exit');

      const committed = await facts();
      assert.ok(committed.length > 0);
      const ids = new Map<number, string>();
      const latest = new Map<number, number>();
      for (const { headers, body } of receiver.received) {
        const { number } = JSON.parse(body).data as { number: number };
        assert.equal(headers['webhook-id'], ids.get(number) ?? headers['webhook-id'], 'a repeated event has its id');
        ids.set(number, headers['webhook-id'] ?? '');
        assert.ok(number >= (latest.get(number % 5) ?? 0), `${number} of its subject came late`);
        latest.set(number % 5, number);
      }
      assert.deepEqual(
        [...ids.keys()].sort((one, other) => one - other),
        committed,
      );
      assert.equal(new Set(ids.values()).size, committed.length);
    } finally {
      for (const child of children) child.kill('SIGKILL');
      await database.close();
      await receiver.close();
      script.remove();
    }
  });
});
