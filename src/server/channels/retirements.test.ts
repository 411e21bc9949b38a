import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, it } from 'node:test';
import { forEachDatabase } from '../../../test/for-each-database.ts';
import { DAY_MS } from '../../contract/time-units.ts';
import { manualClock } from '../platform/clock.ts';
import { openPubSub } from '../platform/db/pub-sub.ts';
import { openLog } from '../platform/log.ts';
import { createVault } from '../platform/vault.ts';
import { CircuitStore, ReplicatedCircuitBreakers } from './circuit-breaker.ts';
import { CatalogStore } from './directory.ts';
import { isNotDearer, type ModelLifecycles, UserRetirementNotices } from './retirements.ts';
import { ensureSandboxChannels, seedModels } from './seeds.ts';
import { ChannelSelectionService } from './selection.ts';

const END = Date.parse('2027-03-01T00:00:00Z');
const PRICE = { per_call: 0, per_second: 10 };
const seed = (id: string, price = PRICE) => ({ id, vendor: 'vidu', kind: 'video', price }) as const;
const lifecycles: ModelLifecycles = {
  hostOf: ({ baseUrl }) => new URL(baseUrl).host,
  of: (_vendor, model) =>
    model !== 'old' && model !== 'rumoured'
      ? []
      : [
          {
            route: 'gone.example',
            stage: 'deprecated',
            retiresOn: '2027-03-01',
            successor: 'new',
            source: 'https://gone.example/end',
            confirmedOn: model === 'old' ? '2026-11-20' : null,
            checkedOn: '2026-11-20',
          },
        ],
};

describe('models that are retired', () => {
  forEachDatabase((_name, open) => {
    async function setUp(hosts: readonly string[], newPrice = PRICE, models = ['old']) {
      const database = await open();
      const clock = manualClock(END - 90 * DAY_MS);
      const store = new CatalogStore(database);
      const vault = createVault(randomBytes(32));
      await seedModels(store, clock, [...models.map((id) => seed(id)), seed('new', newPrice)]);
      const channel = (name: string, host: string, models: readonly string[]) =>
        ({ vendor: 'vidu', name, baseUrl: `https://${host}`, credentials: { api_key: 'k' }, models }) as const;
      await ensureSandboxChannels({ store, vault, clock }, [
        ...hosts.map((host) => channel(host, host, models)),
        channel('next', 'next.example', ['new']),
      ]);
      const log = openLog('silent');
      const circuits = new ReplicatedCircuitBreakers({
        store: new CircuitStore(database),
        pubSub: openPubSub('sqlite:'),
        clock,
        log,
      });
      const service = new ChannelSelectionService({ store, circuits, vault, clock, log, sandbox: true, lifecycles });
      const listed = async () => (await service.listModels()).map(({ id }) => id).sort();
      const consent = () =>
        store.change(async (trx) => {
          await store.setModel(trx, 'old', { on_retirement: 'substitute' });
        });
      return { database, clock, service, listed, consent };
    }

    it('are served until the day, then neither listed nor found, and the refusal names the successor', async () => {
      const { clock, service, listed } = await setUp(['gone.example']);
      assert.equal((await service.retirement('old'))?.at, END);
      assert.equal(await service.retirement('new'), undefined);
      clock.advance(90 * DAY_MS - 1);
      assert.equal((await service.model('old'))?.target, 'old');
      clock.advance(1);
      await assert.rejects(service.model('old'), {
        code: 'model_not_found',
        options: { messageKey: 'model_retired_for', params: { model: 'old', successor: 'new' }, param: 'model' },
      });
      assert.deepEqual(await listed(), ['new']);
    });

    it('are still served where only third parties report their retirement, which the channel test shows', async () => {
      const { clock, service } = await setUp(['gone.example'], PRICE, ['rumoured']);
      clock.advance(91 * DAY_MS);
      assert.equal((await service.model('rumoured'))?.target, 'rumoured');
      assert.equal(await service.retirement('rumoured'), undefined);
      const [channel] = await service.candidates((await service.model('rumoured')) ?? assert.fail());
      assert.deepEqual(channel && service.endingModels(channel), [
        { model: 'rumoured', retiresOn: '2027-03-01', successor: 'new', confirmedOn: null },
      ]);
    });

    it('are still served where another host offers them, over that host alone', async () => {
      const { clock, service, listed } = await setUp(['gone.example', 'reseller.example']);
      assert.equal(await service.retirement('old'), undefined);
      clock.advance(91 * DAY_MS);
      const model = await service.model('old');
      assert.ok(model);
      assert.deepEqual(
        (await service.candidates(model)).map(({ baseUrl }) => baseUrl),
        ['https://reseller.example'],
      );
      assert.deepEqual(await listed(), ['new', 'old']);
    });

    it('are replaced by their successor where an administrator permits it and it costs no more', async () => {
      const { clock, service, listed, consent } = await setUp(['gone.example']);
      await consent();
      clock.advance(91 * DAY_MS);
      const model = await service.model('old');
      assert.deepEqual([model?.id, model?.target], ['old', 'new']);
      assert.deepEqual(model && (await service.candidates(model)).map(({ baseUrl }) => baseUrl), [
        'https://next.example',
      ]);
      assert.deepEqual(await listed(), ['new', 'old']);
      const dearer = await setUp(['gone.example'], { per_call: 0, per_second: 11 });
      await dearer.consent();
      dearer.clock.advance(91 * DAY_MS);
      await assert.rejects(dearer.service.model('old'), { code: 'model_not_found' });
    });

    it('are announced 60, 30, 7 and 1 day before, once each, to accounts that used them', async () => {
      const { database, clock, service } = await setUp(['gone.example']);
      const told: string[] = [];
      const events: string[] = [];
      const notices = () =>
        new UserRetirementNotices({
          database,
          clock,
          channels: service,
          usage: { usersOf: async (model) => (model === 'old' ? [7] : []) },
          notifier: { notify: async (_trx, { userId, title }) => void told.push(`${userId} ${title.en}`) },
          events: { write: async (_trx, { deduplicationKey }) => void events.push(deduplicationKey ?? '') },
        });
      const one = notices();
      for (let day = 0; day < 95; day++, clock.advance(DAY_MS)) await one.send();
      assert.deepEqual(told, [60, 30, 7].map((days) => `7 old ends in ${days} days`).concat('7 old ends in one day'));
      assert.equal(new Set(events).size, 4);
    });
  });

  it('are never replaced by a model that costs more for any request', () => {
    assert.ok(isNotDearer({ per_second: 5 }, { per_second: 6, per_call: 1 }));
    assert.ok(!isNotDearer({ per_second: 5, per_call: 1 }, { per_second: 6 }));
    assert.ok(!isNotDearer({ per_second: 5, multipliers: { mode: { pro: 2 } } }, { per_second: 5 }));
    assert.ok(!isNotDearer({ per_second: 5 }, { per_second: 5, multipliers: { mode: { std: 0.5 } } }));
    assert.ok(isNotDearer({ lines: [{ per_call: 1 }] }, { lines: [{ per_call: 1 }] }));
    assert.ok(!isNotDearer({ lines: [{ per_call: 1 }] }, { lines: [{ per_call: 2 }] }));
    assert.ok(!isNotDearer({ input_per_million: 1 }, { input_per_million: 1, cached_input_per_million: 0 }));
  });
});
