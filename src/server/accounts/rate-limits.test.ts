import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { forEachDatabase } from '../../../test/for-each-database.ts';
import { DAY_MS } from '../../contract/time-units.ts';
import { manualClock } from '../platform/clock.ts';
import { hashToken } from '../platform/tokens.ts';
import { type AttemptLimit, GuessLimit, KnownSourceStore, KnownSources, toGuessSource } from './rate-limits.ts';
import type { SessionStore } from './sessions.ts';

describe('guess limit', () => {
  /** A limit that logs the calls made to it. */
  const limitNamed = (name: string, log: string[]): AttemptLimit => {
    const note = (verb: string) => async (key: string | number) => void log.push(`${verb} ${name} ${key}`);
    return {
      consume: note('consume'),
      assertNotExhausted: note('check'),
      refund: note('refund'),
      reset: note('reset'),
    } as unknown as AttemptLimit;
  };

  const open = (resetsWrongGuesses: boolean, withNetwork = true) => {
    const log: string[] = [];
    const limit = new GuessLimit({
      byAccount: limitNamed('account', log),
      byKnownSource: limitNamed('source', log),
      ...(withNetwork && { byNetwork: limitNamed('network', log) }),
      resetsWrongGuesses,
    });
    return { limit, log };
  };

  const UNKNOWN_SOURCE = { network: '192.0.2.1', knownSourceKey: undefined };
  const KNOWN = { network: '192.0.2.1', knownSourceKey: 'device:x' };
  const LOGGED_IN = { network: undefined, knownSourceKey: 'session:5' };

  describe('guess limits', () => {
    it('count against the network and the account, or against the known source alone', async () => {
      const { limit, log } = open(true);
      await limit.consume('ada', UNKNOWN_SOURCE);
      await limit.consume('ada', KNOWN);
      await limit.assertNotExhausted('ada', LOGGED_IN);
      await limit.assertNotExhausted('ada', UNKNOWN_SOURCE);
      await limit.succeed('ada', UNKNOWN_SOURCE);
      assert.deepEqual(log, [
        'consume network 192.0.2.1',
        'consume account ada',
        'consume network 192.0.2.1',
        'consume source ada:device:x',
        'check source ada:session:5',
        'check network 192.0.2.1',
        'check account ada',
        'refund network 192.0.2.1',
        'reset account ada',
      ]);
    });

    it('skip the account for an unguessable secret', async () => {
      const { limit, log } = open(true);
      await limit.consume('ada', UNKNOWN_SOURCE, true);
      await limit.assertNotExhausted('ada', UNKNOWN_SOURCE, true);
      await limit.succeed('ada', UNKNOWN_SOURCE, true);
      await limit.consume('ada', KNOWN, true);
      assert.deepEqual(log, [
        'consume network 192.0.2.1',
        'check network 192.0.2.1',
        'refund network 192.0.2.1',
        'consume network 192.0.2.1',
        'consume source ada:device:x',
      ]);
    });

    it('refund wrong guesses after a correct one if configured, but never those of the network', async () => {
      const forgiving = open(true);
      await forgiving.limit.succeed('ada', UNKNOWN_SOURCE);
      assert.deepEqual(forgiving.log, ['refund network 192.0.2.1', 'reset account ada']);
      const strict = open(false);
      await strict.limit.succeed('ada', KNOWN);
      assert.deepEqual(strict.log, ['refund network 192.0.2.1', 'refund source ada:device:x']);
    });

    it('skip the network for an authenticated caller', async () => {
      const { limit, log } = open(true, false);
      await limit.succeed('ada', UNKNOWN_SOURCE);
      assert.deepEqual(log, ['reset account ada']);
    });
  });

  it('identify a caller who proves the password again by the credential', () => {
    const of = (caller: object) => toGuessSource({ userId: 1, role: 'user', ...caller } as never);
    assert.deepEqual(of({ kind: 'session', sessionId: 5 }), { network: undefined, knownSourceKey: 'session:5' });
    assert.deepEqual(of({ kind: 'user-token', tokenHash: 'h' }), { network: undefined, knownSourceKey: 'user-token' });
  });
});

describe('known sources', () => {
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
});
