import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, it } from 'node:test';
import { forEachDatabase } from '../../../test/for-each-database.ts';
import { seededRandom } from '../../../test/seeded-random.ts';
import { manualClock } from '../platform/clock.ts';
import { openPubSub } from '../platform/db/pub-sub.ts';
import { openLog } from '../platform/log.ts';
import { createVault } from '../platform/vault.ts';
import { toAccountIds } from '../upstreams/upstream.ts';
import { CircuitStore, ReplicatedCircuitBreakers } from './circuit-breaker.ts';
import { CatalogStore, type Channel } from './directory.ts';
import { ensureSandboxChannels, type SandboxChannel, seedModels } from './seeds.ts';
import { ChannelSelectionService, weightedOrder } from './selection.ts';
import type { ChannelVendor } from './tables.ts';

const PRICE = { per_call: 0, per_second: 10 };
const key = randomBytes(32);

const simulator = (name: string, also: Partial<SandboxChannel> = {}): SandboxChannel => ({
  vendor: 'vidu',
  name,
  baseUrl: 'http://127.0.0.1:1',
  credentials: { api_key: `key of ${name}` },
  models: ['film'],
  ...also,
});
const seed = (id: string, vendor: ChannelVendor = 'vidu') => ({ id, vendor, kind: 'video', price: PRICE }) as const;

async function until(isTrue: () => boolean): Promise<void> {
  for (let tries = 0; !isTrue(); tries++) {
    assert.ok(tries < 1_000, 'it never became true');
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

describe('channels and models', () => {
  forEachDatabase((_name, open) => {
    async function setUp() {
      const database = await open();
      const clock = manualClock();
      const store = new CatalogStore(database);
      const vault = createVault(key);
      const log = openLog('silent');
      const pubSub = openPubSub('sqlite:');
      const replica = (sandbox = true) => {
        const circuits = new ReplicatedCircuitBreakers({ store: new CircuitStore(database), pubSub, clock, log });
        return new ChannelSelectionService({ store, circuits, vault, clock, log, sandbox });
      };
      await seedModels(store, clock, [seed('film')]);
      const find = async (service: ChannelSelectionService, name = 'film') => {
        const model = await service.model(name);
        assert.ok(model);
        return (await service.candidates(model)).map((channel) => channel.name);
      };
      return { store, clock, vault, replica, find, parts: { store, vault, clock } };
    }

    it('applies a change on every replica at its next request', async () => {
      const { store, clock, replica, find, parts } = await setUp();
      const [one, other] = [replica(), replica()];
      assert.deepEqual(await find(one), []);
      assert.deepEqual(await other.listModels(), [], 'nobody serves it');
      await ensureSandboxChannels(parts, [simulator('a')]);
      assert.deepEqual(await find(one), ['a (sandbox)']);
      const channel = await other.byId((await one.candidates((await one.model('film')) as never))[0]?.id ?? 0);
      assert.deepEqual(channel?.credentials, { api_key: 'key of a' });
      assert.equal(channel?.private, true);
      await store.change((trx) => store.setChannel(trx, channel?.id ?? 0, { enabled: 0, updated_at: clock.now() }));
      assert.deepEqual(await find(other), []);
      assert.deepEqual(await find(one), []);
      assert.equal((await one.byId(channel?.id ?? 0))?.name, 'a (sandbox)', 'pinned tasks still find it');
    });

    it('never returns rows older than the request, however many requests are concurrent', async () => {
      const { store, replica, parts } = await setUp();
      await ensureSandboxChannels(parts, [simulator('a')]);
      const service = replica();
      for (let round = 1; round <= 20; round++) {
        const asked = Array.from({ length: 5 }, () => service.model('film'));
        await store.change((trx) =>
          store.setModel(trx, 'film', { price: JSON.stringify({ ...PRICE, per_call: round }) }),
        );
        const after = await Promise.all(Array.from({ length: 5 }, () => service.model('film')));
        for (const model of after) assert.deepEqual(model?.price, { ...PRICE, per_call: round });
        await Promise.all(asked);
      }
    });

    it('keeps credentials sealed, each for its own row only', async () => {
      const { store, replica, find, parts } = await setUp();
      await ensureSandboxChannels(parts, [simulator('a'), simulator('b')]);
      const [a, b] = await store.channels();
      assert.doesNotMatch(JSON.stringify([a, b]), /key of/);
      await store.change((trx) => store.setChannel(trx, a?.id ?? 0, { credentials: b?.credentials ?? '' }));
      const service = replica();
      assert.deepEqual(await find(service), ['b (sandbox)'], 'a swapped seal stops that channel, not the others');
      assert.deepEqual((await service.byId(a?.id ?? 0))?.credentials, {});
    });

    it('T95: follows an alias one step, with its own price and the vendor of its target', async () => {
      const { store, clock, replica, find, parts } = await setUp();
      await ensureSandboxChannels(parts, [simulator('a')]);
      await seedModels(store, clock, [seed('sora-2', 'sora'), seed('third')]);
      await store.change(async (trx) => {
        await store.setModel(trx, 'sora-2', { alias_of: 'film', price: null });
        await store.setModel(trx, 'third', { alias_of: 'sora-2' });
      });
      const service = replica();
      assert.deepEqual(await service.model('sora-2'), {
        id: 'sora-2',
        target: 'film',
        vendor: 'vidu',
        kind: 'video',
        price: PRICE,
      });
      assert.deepEqual(await find(service, 'sora-2'), ['a (sandbox)']);
      assert.equal((await service.model('third'))?.target, 'sora-2', 'never two steps');
      assert.deepEqual(await find(service, 'third'), []);
    });

    it('seeds a model only once', async () => {
      const { store, clock } = await setUp();
      await store.change(async (trx) => {
        await store.setModel(trx, 'film', { enabled: 0 });
      });
      await seedModels(store, clock, [seed('film'), seed('second')]);
      assert.deepEqual(
        (await store.models()).map(({ id, enabled }) => [id, enabled]),
        [
          ['film', 0],
          ['second', 1],
        ],
      );
      await store.change((trx) => store.removeModel(trx, 'second'));
      await Promise.all([1, 2, 3].map(() => seedModels(store, clock, [seed('second'), seed('third')])));
      assert.deepEqual(
        (await store.models()).map(({ id }) => id),
        ['film', 'third'],
      );
    });

    it('finds sandbox channels again and keeps the administrator’s settings', async () => {
      const { store, parts } = await setUp();
      await ensureSandboxChannels(parts, [simulator('a')]);
      const [before] = await store.channels();
      await store.change((trx) => store.setChannel(trx, before?.id ?? 0, { priority: 7, weight: 3 }));
      await ensureSandboxChannels(parts, [simulator('a', { baseUrl: 'http://127.0.0.1:2' }), simulator('b')]);
      const rows = await store.channels();
      assert.deepEqual(
        rows.map(({ id, priority, weight, base_url }) => [id, priority, weight, base_url]),
        [
          [before?.id, 7, 3, 'http://127.0.0.1:2'],
          [rows[1]?.id, 0, 1, 'http://127.0.0.1:1'],
        ],
      );
    });

    it('T94: sends no request to sandbox channels once the simulators are off', async () => {
      const { replica, find, parts } = await setUp();
      await ensureSandboxChannels(parts, [simulator('a')]);
      const production = replica(false);
      assert.deepEqual(await find(production), []);
      assert.deepEqual(await production.listModels(), []);
      assert.deepEqual(await find(replica()), ['a (sandbox)']);
    });

    it('skips channels with an open circuit, unless all are open, and lets one trial call through', async () => {
      const { clock, replica, find, parts } = await setUp();
      await ensureSandboxChannels(parts, [simulator('a'), simulator('b')]);
      const service = replica();
      const model = await service.model('film');
      assert.ok(model);
      const [a, b] = [...(await service.candidates(model))].sort((x, y) => x.id - y.id);
      assert.ok(a && b);
      service.report({ ...toAccountIds(a), model: 'film', outcome: 'auth', message: 'no such key' });
      assert.deepEqual(await find(service), [b.name]);
      service.report({ ...toAccountIds(b), model: 'film', outcome: 'billing' });
      assert.deepEqual((await find(service)).sort(), [a.name, b.name], 'better one with an open circuit than none');
      clock.advance(60_000);
      const trials = await find(service);
      assert.equal(trials.length, 2);
      const [tried, untried] = trials[0] === a.name ? [a, b] : [b, a];
      assert.deepEqual(await find(service), [untried.name], 'one call tries the first, the next one the other');
      assert.deepEqual((await find(service)).sort(), [a.name, b.name], 'with both on trial, better those than none');
      service.report({ ...toAccountIds(untried), model: 'film', outcome: 'ok' });
      assert.deepEqual(await find(service), [untried.name], 'the trial of the other is still under way');
      service.report({ ...toAccountIds(tried), model: 'film', outcome: 'ok' });
      assert.equal((await find(service)).length, 2);
    });

    it('leaves the trials of half-open circuits to calls: quotes and forecasts do not use them up', async () => {
      const { clock, replica, find, parts } = await setUp();
      await ensureSandboxChannels(parts, [simulator('a'), simulator('b')]);
      const service = replica();
      const model = await service.model('film');
      assert.ok(model);
      for (const channel of await service.candidates(model))
        service.report({ ...toAccountIds(channel), model: 'film', outcome: 'auth' });
      clock.advance(60_000);
      for (let quotes = 0; quotes < 3; quotes++) assert.equal((await service.prospects(model)).length, 2);
      assert.deepEqual([(await find(service)).length, (await find(service)).length], [2, 1]);
    });

    it('gives the trial of a half-open circuit to the next call if the call was not sent or says nothing', async () => {
      const { clock, replica, find, parts } = await setUp();
      await ensureSandboxChannels(parts, [simulator('a'), simulator('b')]);
      const [one, other] = [replica(), replica()];
      const model = await one.model('film');
      assert.ok(model);
      const [a, b] = [...(await one.candidates(model))].sort((x, y) => x.id - y.id);
      assert.ok(a && b);
      one.report({ ...toAccountIds(a), model: 'film', outcome: 'billing' });
      await one.flush();
      clock.advance(60_000);
      const tries = async (service: typeof one): Promise<readonly Channel[]> => {
        // Other replicas read the end of a trial a moment after it was written.
        for (let calls = 0; calls < 1_000; calls++) {
          const found = await service.candidates(model);
          if (found[0]?.id === a.id) return found;
          await new Promise((resolve) => setTimeout(resolve, 10));
        }
        assert.fail('no call tried the channel');
      };
      const refused = await tries(one);
      assert.deepEqual(await find(one), [b.name], 'the only trial');
      one.abandonTrial(refused);
      const unsent = await tries(one);
      one.abandonTrial(refused);
      assert.deepEqual(await find(one), [b.name], 'a call ends its own trial only');
      one.abandonTrial(unsent);
      await one.flush();
      await tries(other);
      other.report({ ...toAccountIds(a), model: 'film', outcome: 'user' });
      await other.flush();
      assert.notEqual(other.stateOf(a.id), 'closed', "a caller's own error does not close a circuit");
      await tries(replica());
    });

    it('skips a channel on every replica once its circuit is open, even after a restart, and lets one try it', async () => {
      const { clock, replica, find, parts, store } = await setUp();
      await ensureSandboxChannels(parts, [simulator('a'), simulator('b')]);
      const [one, other] = [replica(), replica()];
      const model = await one.model('film');
      assert.ok(model);
      const a = (await one.candidates(model)).find(({ name }) => name.startsWith('a'));
      assert.ok(a);
      await find(other);
      for (let failures = 0; failures < 5; failures++)
        one.report({ ...toAccountIds(a), model: 'film', outcome: 'unreachable' });
      await one.flush();
      await until(() => other.stateOf(a.id) === 'open');
      const started = replica();
      for (const each of [one, other, started]) assert.deepEqual(await find(each), ['b (sandbox)']);
      clock.advance(5_000);
      const held = await Promise.all(
        [one, other, started].map(async (each) => {
          for (let tries = 0; tries < 20; tries++) if ((await find(each))[0] === a.name) return 'tries it';
          return 'leaves it out';
        }),
      );
      assert.deepEqual(held.toSorted(), ['leaves it out', 'leaves it out', 'tries it']);
      other.report({ ...toAccountIds(a), model: 'film', outcome: 'ok' });
      await other.flush();
      await until(() => [one, started].every((each) => each.stateOf(a.id) === 'closed'));
      for (const each of [one, other, started]) assert.equal((await find(each)).length, 2);
      one.report({ ...toAccountIds(a), outcome: 'auth' });
      await one.flush();
      await until(() => other.stateOf(a.id) === 'open');
      await store.change((trx) => store.setChannel(trx, a.id, { updated_at: clock.now() }));
      for (const each of [one, other, replica()])
        assert.equal((await find(each)).length, 2, 'a changed channel is new');
    });

    it('keeps the newest errors of a channel, masked, without the errors caused by callers', async () => {
      const { clock, replica, parts } = await setUp();
      await ensureSandboxChannels(parts, [simulator('a')]);
      const service = replica();
      const id = (await service.candidates((await service.model('film')) as never))[0]?.id ?? 0;
      service.report({ channelId: id, credentialId: 1, model: 'film', outcome: 'user', message: 'bad prompt' });
      for (let i = 0; i < 50; i++) {
        service.report({
          channelId: id,
          credentialId: 1,
          model: 'film',
          outcome: 'capacity',
          code: String(i),
          message: `busy ${i}`,
        });
        if (i % 7 === 0) await service.flush();
      }
      service.report({
        channelId: id,
        credentialId: 1,
        outcome: 'auth',
        message: 'bad key sk-abcdefghijklmnop \u0000\ud800',
      });
      const { errors, health } = await service.condition(id);
      assert.equal(errors.length, 20);
      assert.deepEqual([errors[0]?.reason, errors[0]?.created_at], ['auth', clock.now()]);
      assert.doesNotMatch(errors[0]?.message ?? '', /abcdefghijklmnop/);
      assert.equal(errors[1]?.code, '49');
      assert.ok(health.every((each) => each.state === 'open'));
    });
  });
});

describe('the order in which channels are tried', () => {
  it('puts a higher priority first, whatever the weights', () => {
    const random = seededRandom(1);
    const channels = [
      { name: 'low', priority: 0, weight: 1000 },
      { name: 'high', priority: 5, weight: 0 },
      { name: 'middle', priority: 1, weight: 1 },
    ];
    for (let i = 0; i < 100; i++)
      assert.deepEqual(
        weightedOrder(channels, random).map(({ name }) => name),
        ['high', 'middle', 'low'],
      );
  });

  it('puts each channel first in proportion to its weight', () => {
    const random = seededRandom(2);
    const channels = [1, 2, 7].map((weight) => ({ weight, priority: 0 }));
    const first = new Map([1, 2, 7].map((weight) => [weight, 0]));
    for (let i = 0; i < 10_000; i++) {
      const weight = weightedOrder(channels, random)[0]?.weight ?? 0;
      first.set(weight, (first.get(weight) ?? 0) + 1);
    }
    for (const [weight, count] of first) assert.ok(Math.abs(count - weight * 1000) < 200, `${weight}: ${count}`);
  });

  it('puts weight 0 last and omits no channel', () => {
    for (const random of [seededRandom(3), () => 0]) {
      const channels = [0, 1, 0, 3].map((weight, index) => ({ weight, priority: 0, index }));
      const turn = weightedOrder(channels, random);
      assert.deepEqual(
        turn.slice(2).map(({ weight }) => weight),
        [0, 0],
      );
      assert.equal(new Set(turn).size, 4);
    }
  });
});
