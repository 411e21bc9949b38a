import assert from 'node:assert/strict';
import { it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { SeededRandom } from '../../src/sandbox/deviations.ts';
import { openDatabase } from '../../src/server/platform/db/open-database.ts';
import type { Tables } from '../../src/server/tables.ts';
import { fixtureProgram } from '../fixture-programs.ts';
import { forEachDatabase } from '../for-each-database.ts';
import { startTestService } from '../test-service.ts';
import { WebhookReceiver } from '../webhooks/receiver.ts';
import type { EventProcessOrder } from './event-delivery-process.fixture.ts';
import { REPORTED_EVENT_ROW_NAMES, reportedEventNumber } from './event-row-names.ts';
import { ProcessesInTurn } from './processes-in-turn.ts';

const PROGRAM = fixtureProgram('test/faults/event-delivery-process.fixture.ts');
const KILLS = Number(process.env.EVENT_KILLS ?? 4);
/** Longer than a claim lasts. */
const CLOCK_STEP_MS = 61_000;

forEachDatabase((_name, _open, freshUrl) => {
  it(`loses and invents no event over ${KILLS} kills, and repeats events with the same id, in order`, async () => {
    const databaseUrl = await freshUrl();
    const processes = new ProcessesInTurn<EventProcessOrder>(PROGRAM);
    const receiver = await new WebhookReceiver().listen();
    const service = await startTestService(databaseUrl, { WEBHOOK_PRIVATE_HOSTS: receiver.host });
    const { masterKey } = service;
    const ada = await service.signUp('ada');
    await ada.ok('POST', '/api/webhooks', { url: receiver.url() });
    await service.stop();
    const random = new SeededRandom(KILLS);
    const database = openDatabase<Tables>(databaseUrl);
    const factNames = () =>
      database.kysely
        .selectFrom('meta')
        .select('name')
        .where('name', '>=', REPORTED_EVENT_ROW_NAMES.first)
        .where('name', '<', REPORTED_EVENT_ROW_NAMES.end);
    const latestFact = async (): Promise<number> => {
      const latest = await factNames().orderBy('name', 'desc').limit(1).executeTakeFirst();
      return latest === undefined ? 0 : reportedEventNumber(latest.name);
    };
    const facts = async (): Promise<number[]> =>
      (await factNames().orderBy('name').execute()).map(({ name }) => reportedEventNumber(name));
    const order = (round: number, from: number | undefined): EventProcessOrder => ({
      databaseUrl,
      masterKey,
      userId: ada.id,
      receiver: receiver.host,
      clockOffsetMs: round * CLOCK_STEP_MS,
      from,
    });
    try {
      for (let round = 1; round <= KILLS; round++) {
        const started = await processes.begin(order(round, (await latestFact()) + 1));
        // Any moment of a batch: a batch of events and their deliveries takes some tens of milliseconds.
        await delay(random.next(`round ${round}`) * 150);
        await processes.kill(started);
      }
      await processes.drain(order(KILLS + 1, undefined));

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
      processes.stop();
      await database.close();
      await receiver.close();
    }
  });
});
