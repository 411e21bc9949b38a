import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { forEachDatabase } from '../../../test/for-each-database.ts';
import { DAY_MS } from '../../contract/time-units.ts';
import { manualClock } from '../platform/clock.ts';
import { hashToken } from '../platform/tokens.ts';
import { KnownSourceStore, KnownSources } from './guess-limit.ts';
import type { SessionStore } from './sessions.ts';

const HOME = '192.0.2.1';
const AWAY = '198.51.100.1';

describe('known login sources', () => {
  forEachDatabase((_name, open) => {
    const start = async () => {
      const database = await open();
      const clock = manualClock(1_000 * DAY_MS);
      const store = new KnownSourceStore(database);
      const sessions = {
        findByHash: async (hash: string) => (hash === hashToken('rgs_of_1') ? { id: 9, user_id: 1 } : undefined),
      } as unknown as SessionStore;
      const sources = new KnownSources({ store, sessions, clock });
      const client = (address: string, more: { session?: string; knownDevice?: string } = {}) => ({
        address,
        userAgent: '',
        session: undefined,
        knownDevice: undefined,
        ...more,
      });
      return {
        clock,
        sources,
        client,
        remember: (userId: number, from: ReturnType<typeof client>) =>
          database.transaction((trx) => sources.remember(trx, userId, from)),
        countRows: async () => (await database.kysely.selectFrom('known_login_sources').selectAll().execute()).length,
      };
    };

    it('are recognized by device, else by network, for that account only', async () => {
      const { sources, client, remember } = await start();
      const unknownSource = { network: HOME, knownSourceKey: undefined };
      assert.deepEqual(await sources.identify(1, client(HOME)), unknownSource);
      const knownDevice = await remember(1, client(HOME));
      assert.match(knownDevice, /^rgkd_.{43}$/);
      assert.deepEqual(await sources.identify(1, client(HOME)), { network: HOME, knownSourceKey: `network:${HOME}` });
      assert.deepEqual(await sources.identify(1, client(AWAY)), { network: AWAY, knownSourceKey: undefined });
      assert.deepEqual(await sources.identify(1, client(AWAY, { knownDevice })), {
        network: undefined,
        knownSourceKey: `device:${hashToken(knownDevice)}`,
      });
      for (const userId of [2, undefined])
        assert.deepEqual(await sources.identify(userId, client(HOME, { knownDevice })), unknownSource);
    });

    it('are recognized by a session of the same account', async () => {
      const { sources, client } = await start();
      const own = client(AWAY, { session: 'rgs_of_1' });
      assert.deepEqual(await sources.identify(1, own), { network: undefined, knownSourceKey: 'session:9' });
      assert.deepEqual(await sources.identify(2, own), { network: AWAY, knownSourceKey: undefined });
      assert.deepEqual(await sources.identify(undefined, client(AWAY, { session: 'rgs_x' })), {
        network: AWAY,
        knownSourceKey: undefined,
      });
    });

    it("keep a device's existing cookie, and replace one the service never issued", async () => {
      const { client, remember } = await start();
      const mark = await remember(1, client(HOME));
      assert.equal(await remember(2, client(AWAY, { knownDevice: mark })), mark);
      for (const knownDevice of ['rgs_something', `rgkd_${'x'.repeat(95)}`])
        assert.match(await remember(1, client(HOME, { knownDevice })), /^rgkd_.{43}$/);
      const longest = `rgkd_${'x'.repeat(94)}`;
      assert.equal(await remember(1, client(HOME, { knownDevice: longest })), longest);
    });

    it('expire after ninety days without use', async () => {
      const { clock, sources, client, remember, countRows } = await start();
      const knownDevice = await remember(1, client(HOME));
      await remember(2, client(HOME));
      assert.equal(await countRows(), 4);
      clock.advance(89 * DAY_MS);
      assert.equal((await sources.identify(1, client(HOME, { knownDevice }))).network, undefined);
      await remember(2, client(HOME));
      clock.advance(DAY_MS);
      await sources.deleteExpired();
      assert.equal(await countRows(), 5, 'after ninety days to the millisecond it is still known');
      clock.advance(1);
      assert.deepEqual(await sources.identify(1, client(HOME, { knownDevice })), {
        network: HOME,
        knownSourceKey: undefined,
      });
      assert.equal((await sources.identify(2, client(HOME))).knownSourceKey, `network:${HOME}`);
      await sources.deleteExpired();
      assert.equal(await countRows(), 2);
    });

    it('are limited to the latest twenty per account, whatever other accounts use', async () => {
      const { clock, sources, client, remember, countRows } = await start();
      const networks = Array.from({ length: 15 }, (_, n) => `10.0.0.${n}`);
      await remember(2, client('10.0.0.0'));
      for (const network of networks) {
        clock.advance(1);
        await remember(1, client(network));
      }
      assert.equal(await countRows(), 20 + 2);
      const known = async (userId: number, network: string) =>
        (await sources.identify(userId, client(network))).knownSourceKey !== undefined;
      assert.deepEqual(
        await Promise.all(networks.map((network) => known(1, network))),
        networks.map((_, n) => n >= 5),
      );
      assert.equal(await known(2, '10.0.0.0'), true);
    });
  });
});
