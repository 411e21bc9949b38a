import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { forEachDatabase } from '../../../test/for-each-database.ts';
import type { Trx } from '../tables.ts';
import { AuthorizationStore } from './authorization-store.ts';
import { DeviceCodeStore, ENDED_CODE_RETENTION_MS, toDeviceCode } from './code-store.ts';

/** Covers conditional writes: which row each one changes, and when it changes none. */
describe('device sign-in storage', () => {
  forEachDatabase((_name, open) => {
    const start = async () => {
      const database = await open();
      const codes = new DeviceCodeStore(database);
      const run = <R>(work: (trx: Trx) => Promise<R>) => database.transaction(work);
      let count = 0;
      return {
        database,
        run,
        codes,
        devices: new AuthorizationStore(database),
        /** Inserts a pending code and returns its id. */
        async add(userCode: string, more: Partial<Parameters<typeof codes.insert>[0]> = {}): Promise<number> {
          const added = await codes.insert({
            device_code_hash: `hash-${++count}`,
            user_code: userCode,
            client_id: 'c',
            client_name: 'n',
            device_id: '',
            address: '',
            network: 'net',
            user_agent: '',
            created_at: 0,
            expires_at: 100,
            interval_seconds: 5,
            sweep_at: 200,
            scopes: null,
            audience: null,
            ...more,
          });
          assert.equal(added, true);
          return (await codes.findByUserCode(userCode, 0))?.id ?? -1;
        },
        decide: (userCode: string, user_id: number, decided_at: number, status: 'approved' | 'denied' = 'approved') =>
          run((trx) =>
            codes.decide(trx, userCode, {
              status,
              user_id,
              organization_id: null,
              decided_at,
              access_expires_at: 1_000,
              refresh_expires_at: 2_000,
              sweep_at: 300,
            }),
          ),
      };
    };
    type Started = Awaited<ReturnType<typeof start>>;
    const idsLeft = async ({ database }: Started) =>
      (await database.kysely.selectFrom('device_codes').select('id').orderBy('id').execute()).map(({ id }) => id);

    it('finds a code until its retention is over, and inserts it once', async () => {
      const { codes, add } = await start();
      const id = await add('ONE');
      assert.equal((await codes.findByUserCode('ONE', 199))?.id, id);
      assert.equal(await codes.findByUserCode('ONE', 200), undefined);
      assert.equal(await codes.findByUserCode('TWO', 0), undefined);
      const again = (await codes.findByUserCode('ONE', 0)) as NonNullable<
        Awaited<ReturnType<typeof codes.findByUserCode>>
      >;
      const { id: _id, status: _status, claimed_by: _by, ...columns } = again;
      const {
        user_id: _u,
        decided_at: _d,
        access_expires_at: _a,
        refresh_expires_at: _r,
        polled_at: _p,
        ...row
      } = columns;
      assert.equal(await codes.insert({ ...row, device_code_hash: 'other' }), false);
      assert.equal(await codes.insert({ ...row, user_code: 'OTHER' }), false);
    });

    it('lets one account claim and decide a code while it is pending', async () => {
      const { codes, run, add, decide } = await start();
      await add('ONE');
      await add('TWO');
      const claim = (userId: number, now: number) => run((trx) => codes.claim(trx, 'ONE', userId, now));
      assert.deepEqual(
        [await claim(1, 100), await claim(1, 99), await claim(2, 99), await claim(1, 99)],
        [false, true, false, true],
      );
      assert.equal((await codes.findByUserCode('TWO', 0))?.claimed_by, null);
      assert.equal(await decide('ONE', 2, 50), undefined, "another account's");
      assert.equal(await decide('ONE', 1, 100), undefined, 'expired');
      const decided = await decide('ONE', 1, 99);
      assert.deepEqual(
        [decided?.status, decided?.user_id, decided?.claimed_by, decided?.sweep_at],
        ['approved', 1, 1, 300],
      );
      assert.equal(await decide('ONE', 1, 99, 'denied'), undefined, 'decided');
      assert.equal(await claim(1, 99), false);
      assert.equal((await decide('TWO', 2, 0, 'denied'))?.claimed_by, 2, 'an unclaimed one by anybody');
    });

    it('lets an approval be collected once', async () => {
      const { codes, run, add, decide } = await start();
      const [one, denied] = [await add('ONE'), await add('TWO')];
      await add('THREE');
      await decide('THREE', 1, 0);
      await decide('TWO', 1, 0, 'denied');
      const consume = (id: number) => run((trx) => codes.consumeApproved(trx, id, 500));
      assert.equal(await consume(one), undefined, 'pending');
      await decide('ONE', 1, 0);
      assert.deepEqual(await consume(one), { client_name: 'n' });
      assert.deepEqual([await consume(one), await consume(denied)], [undefined, undefined]);
      const used = await codes.findByUserCode('ONE', 500);
      assert.deepEqual([used?.status, used?.sweep_at], ['used', 500 + ENDED_CODE_RETENTION_MS]);
      assert.equal((await codes.findByUserCode('TWO', 0))?.status, 'denied');
      assert.equal((await codes.findByUserCode('THREE', 0))?.status, 'approved', "another device's");
    });

    it('renames a device only for the account that approved it', async () => {
      const { codes, run, add, decide } = await start();
      const [one, two] = [await add('ONE'), await add('TWO')];
      const rename = (id: number, userId: number) => run((trx) => codes.renameApprovedDevice(trx, id, userId, 'new'));
      assert.equal(await rename(one, 1), false);
      await decide('ONE', 1, 0);
      await decide('TWO', 1, 0, 'denied');
      assert.deepEqual([await rename(one, 2), await rename(two, 1), await rename(one, 1)], [false, false, true]);
      assert.equal((await codes.findByUserCode('TWO', 0))?.client_name, 'n');
    });

    it('counts a code of a network with one write below the limit, and counts again at the limit', async () => {
      const { database, codes, run, add, decide } = await start();
      const reserve = (network: string, max: number) =>
        run((trx) => codes.reserve(trx, { network, created_at: 50, expires_at: 150 }, max));
      const counts = async () =>
        database.kysely.selectFrom('device_code_counts').selectAll().orderBy('network').execute();
      await add('ONE', { expires_at: 150 });
      await add('TWO', { expires_at: 120 });
      await add('GONE', { expires_at: 50 });
      await add('FAR', { network: 'other' });
      await add('DONE', { expires_at: 90 });
      await decide('DONE', 1, 0);
      for (let index = 0; index < 3; index++) assert.equal((await reserve('net', 3)).allowed, true);
      assert.deepEqual(await counts(), [{ network: 'net', codes: 3, ends_at: 150 }], 'what was reserved');
      assert.deepEqual(await reserve('net', 2), { allowed: false, retryAfterMs: 70 }, 'two are pending');
      assert.equal((await reserve('net', 3)).allowed, true);
      assert.deepEqual(await counts(), [{ network: 'net', codes: 3, ends_at: 150 }], 'two and the reserved one');
      assert.equal((await reserve('elsewhere', 1)).allowed, true);
      await codes.deleteEndedCounts(149);
      assert.equal((await counts()).length, 2);
      await codes.deleteEndedCounts(150);
      assert.deepEqual(await counts(), []);
    });

    it('deletes only what a device or account no longer waits for', async () => {
      const started = await start();
      const { codes, run, add, decide } = started;
      const device = { device_id: 'd' };
      await add('A', device);
      const [ended, approved, other, nameless] = [
        await add('B', { ...device, expires_at: 50 }),
        await add('C', device),
        await add('D', { device_id: 'e' }),
        await add('E'),
      ];
      await decide('C', 1, 0);
      await run((trx) => codes.deletePendingOfDevice(trx, '', 50));
      assert.equal((await idsLeft(started)).length, 5, 'no device is called nothing');
      await run((trx) => codes.deletePendingOfDevice(trx, 'd', 50));
      assert.deepEqual(await idsLeft(started), [ended, approved, other, nameless]);
      const newer = await add('F', device);
      await decide('F', 1, 0);
      const foreign = await add('G', device);
      await decide('G', 2, 0);
      await decide('D', 1, 0);
      await run((trx) => codes.deleteApprovedOfDevice(trx, { userId: 1, deviceId: 'd', organizationId: null }, newer));
      assert.deepEqual(await idsLeft(started), [ended, other, nameless, newer, foreign]);
      await decide('E', 1, 0, 'denied');
      await run((trx) => codes.deleteApprovedOfUser(trx, 1));
      assert.deepEqual(await idsLeft(started), [ended, nameless, foreign]);
      await run((trx) => codes.delete(trx, [foreign]));
      assert.deepEqual(await idsLeft(started), [ended, nameless]);
      const client = await add('H', { client_id: 'x' });
      await run((trx) => codes.deleteOfClient(trx, 'c'));
      assert.deepEqual(await idsLeft(started), [client]);
    });

    it('removes codes in batches once their retention is over', async () => {
      const started = await start();
      const { codes, add } = started;
      for (const name of ['A', 'B', 'C']) await add(name, { sweep_at: 200 });
      const later = await add('D', { sweep_at: 201 });
      assert.deepEqual([await codes.deleteExpired(200, 2), await codes.deleteExpired(200, 2)], [2, 1]);
      assert.deepEqual(await idsLeft(started), [later]);
    });

    it('enforces the poll interval, which each early poll widens up to a minute', async () => {
      const { database, codes, add } = await start();
      const [id, other] = [await add('ONE', { interval_seconds: 50 }), await add('TWO')];
      const T = 1_000_000;
      assert.equal(await codes.recordPoll(id, T), true, 'the first one');
      assert.equal(await codes.recordPoll(id, T + 48_999), false);
      assert.equal(await codes.recordPoll(id, T + 49_000), true, 'a second early');
      const state = async () =>
        (
          await database.kysely
            .selectFrom('device_codes')
            .select(['interval_seconds', 'polled_at'])
            .orderBy('id')
            .execute()
        ).map(({ interval_seconds, polled_at }) => [interval_seconds, polled_at]);
      for (const at of [1, 2, 3]) await codes.widenPollInterval(id, at);
      assert.deepEqual(await state(), [
        [60, 2],
        [5, null],
      ]);
      assert.equal(await codes.recordPoll(other, T), true);
    });

    it("returns a poll's client with each of its secrets, and the code with them", async () => {
      const { database, codes, add } = await start();
      const { kysely } = database;
      for (const client_id of ['c', 'x'])
        await kysely
          .insertInto('device_clients')
          .values({ client_id, name: client_id, enabled: 1, created_at: 0 })
          .execute();
      for (const [client_id, hash] of [
        ['c', 's1'],
        ['c', 's2'],
        ['x', 's3'],
      ] as const)
        await kysely.insertInto('device_client_secrets').values({ client_id, hash, hint: '', created_at: 0 }).execute();
      const id = await add('ONE', { device_code_hash: 'hash' });
      await add('TWO');
      const poll = async (client: string, hash: string, now: number) =>
        (await codes.findForPoll(client, hash, now))
          .toSorted((one, two) => String(one.secret_hash).localeCompare(String(two.secret_hash)))
          .map((row) => [row.secret_hash, row.id, toDeviceCode(row)?.id]);
      assert.deepEqual(await poll('c', 'hash', 199), [
        ['s1', id, id],
        ['s2', id, id],
      ]);
      assert.deepEqual(await poll('x', 'hash', 200), [['s3', null, undefined]]);
      assert.deepEqual(await poll('nobody', 'hash', 0), []);
      assert.equal(toDeviceCode(undefined), undefined);
    });

    it('renews, renames, lists and revokes a device by its exact identity', async () => {
      const { database, run, devices } = await start();
      const row = {
        ...{ client_id: 'c', client_name: 'n', device_id: 'd', address: '', user_agent: '', access_expires_at: 10 },
        ...{ refresh_expires_at: 20, llm_token_id: 0, created_at: 0, last_used_at: 5, last_address: 'a' },
        ...{
          scopes: null,
          audience: null,
          grant_ends_at: null,
          previous_access_hash: null,
          previous_access_ends_at: null,
          organization_id: null,
        },
      };
      for (const [id, user_id] of [
        [1, 1],
        [2, 1],
        [3, 2],
      ] as const)
        await run((trx) => devices.insert(trx, { ...row, id, user_id, access_hash: `h${id}` }));
      const found = {
        ...{ id: 2, user_id: 1, access_expires_at: 10, scopes: null, audience: null, llm_token_id: 0 },
        organization_id: null,
      };
      assert.deepEqual(await devices.findByAccessToken('h2'), found);
      assert.equal(await devices.findByAccessToken('h9'), undefined);
      const { rows, total } = await devices.list(1, { page: 2, offset: 1, pageSize: 1 });
      assert.deepEqual([rows.map(({ id }) => id), total], [[1], 2]);
      const renewal = {
        access_hash: 'new',
        access_expires_at: 11,
        refresh_expires_at: 21,
        last_used_at: 6,
        last_address: 'b',
      };
      assert.equal(await run((trx) => devices.renew(trx, 9, renewal)), false);
      assert.equal(await run((trx) => devices.renew(trx, 2, renewal)), true);
      assert.equal((await devices.findByAccessToken('h1'))?.id, 1);
      const rename = (id: number, userId: number) => run((trx) => devices.rename(trx, id, userId, 'x'));
      assert.deepEqual([await rename(3, 1), await rename(1, 1)], [false, true]);
      await devices.recordUse(
        new Map([
          [1, { at: 5, address: 'late' }],
          [2, { at: 7, address: 'now' }],
        ]),
      );
      const used = await database.kysely
        .selectFrom('device_authorizations')
        .select(['client_name', 'last_used_at', 'last_address'])
        .orderBy('id')
        .execute();
      assert.deepEqual(
        used.map((each) => Object.values(each)),
        [
          ['x', 5, 'a'],
          ['n', 7, 'now'],
          ['n', 5, 'a'],
        ],
      );
      await assert.rejects(
        run((trx) => devices.delete(trx, {})),
        /every device/,
      );
      const revoke = async (filter: Parameters<typeof devices.delete>[1]) =>
        (await run((trx) => devices.delete(trx, filter))).map(({ id }) => id).sort((one, two) => one - two);
      assert.deepEqual(await revoke({ id: 3, user_id: 1 }), []);
      assert.deepEqual(await revoke({ user_id: 1 }), [1, 2]);
      assert.deepEqual(await revoke({ id: 3 }), [3]);
    });

    it('accepts a refresh_token once, until it expires', async () => {
      const { run, devices } = await start();
      const token = { authorization_id: 1, client_id: 'c', expires_at: 100 };
      for (const hash of ['one', 'two']) await run((trx) => devices.insertRefreshToken(trx, { ...token, hash }));
      const consume = (hash: string, now: number) => run((trx) => devices.consumeRefreshToken(trx, hash, now));
      assert.deepEqual(
        [await consume('one', 100), await consume('one', 99), await consume('one', 99)],
        [false, true, false],
      );
      const [one, two] = [await devices.findRefreshToken('one'), await devices.findRefreshToken('two')];
      assert.deepEqual([one?.used_at, two?.used_at, two?.user_id, two?.approved_at], [99, null, null, null]);
      assert.equal(await devices.findRefreshToken('three'), undefined);
      await run((trx) => devices.insertRefreshToken(trx, { ...token, hash: 'three', expires_at: 101 }));
      await devices.deleteExpiredRefreshTokens(100);
      assert.equal(await devices.findRefreshToken('two'), undefined);
      assert.ok(await devices.findRefreshToken('three'));
    });
  });
});
