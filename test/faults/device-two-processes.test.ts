import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, it } from 'node:test';
import { sql } from 'kysely';
import type { Database } from '../../src/server/platform/db/database.ts';
import { openDatabase } from '../../src/server/platform/db/open-database.ts';
import type { Tables } from '../../src/server/tables.ts';
import { forEachDatabase } from '../for-each-database.ts';
import { DeviceAuthServerProcess, type OwnerHeaders } from './start-device-server.ts';

/** `npm run hammer` sets more. */
const ROUNDS = Number(process.env.RACE_ROUNDS ?? '4');

/** Runs many requests at the same time, alternating between the processes. */
const race = <T>(times: number, run: (index: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: times }, (_, index) => run(index)));

forEachDatabase((dialect, _open, freshUrl) => {
  // SQLite serves a single process.
  if (dialect === 'sqlite') return;
  let database: Database<Tables>;
  let processes: [DeviceAuthServerProcess, DeviceAuthServerProcess];
  let owner: OwnerHeaders;
  const on = (index: number): DeviceAuthServerProcess => processes[index % 2] ?? processes[0];

  before(async () => {
    const url = await freshUrl();
    const masterKey = randomBytes(32).toString('base64');
    database = openDatabase<Tables>(url);
    // Both start at once on a database without tables.
    processes = await Promise.all([
      DeviceAuthServerProcess.start(url, masterKey),
      DeviceAuthServerProcess.start(url, masterKey),
    ]);
    owner = await on(0).logIn();
  });
  after(async () => {
    await Promise.all(processes.map((each) => each.kill()));
    await database.close();
  });

  const count = async (table: 'device_authorizations' | 'device_refresh_tokens' | 'tokens'): Promise<number> => {
    const { rows } = await sql<{ n: number }>`select count(*)::int as n from ${sql.table(table)}`.execute(
      database.kysely,
    );
    return Number(rows[0]?.n);
  };

  it('T08: of 50 polls of one code over two processes exactly one receives tokens', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const code = await on(round).approved(owner);
      const before = [
        await count('device_authorizations'),
        await count('device_refresh_tokens'),
        await count('tokens'),
      ];
      const answers = await race(50, (index) => on(index).poll(code));
      assert.equal(answers.filter(({ success }) => success).length, 1);
      assert.equal(answers.filter(({ error }) => error === 'invalid_grant').length, 49);
      const minted = [
        await count('device_authorizations'),
        await count('device_refresh_tokens'),
        await count('tokens'),
      ];
      assert.deepEqual(
        minted,
        before.map((n) => n + 1),
      );
    }
  });

  it('T09: of 20 approvals and denials over two processes exactly one takes effect, and the device receives that one', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const { data: code } = await on(round).code();
      assert.ok(code);
      const answers = await race(20, async (index) => {
        const action = (index + Math.floor(index / 2)) % 2 === 0 ? 'approve' : 'deny';
        return { action, ...(await on(index).decide(action, code, owner)) };
      });
      const [carriedOut, ...others] = answers.filter(({ success }) => success);
      assert.deepEqual(others, []);
      const told = await on(round + 1).poll(code);
      assert.equal(told.success ? 'approve' : told.error, carriedOut?.action === 'deny' ? 'access_denied' : 'approve');
    }
  });

  it('T31: of 20 refreshes over two processes exactly one succeeds, and the chain stays valid', async () => {
    let tokens = await on(0).signIn(owner);
    for (let round = 0; round < ROUNDS; round++) {
      const answers = await race(20, (index) => on(index).refresh(tokens));
      const [won, ...others] = answers.filter(({ success }) => success);
      assert.deepEqual(others, []);
      assert.equal(answers.filter(({ error }) => error === 'invalid_grant').length, 19);
      tokens = { ...tokens, ...won?.data };
      for (const process of processes) assert.deepEqual(await process.opens(tokens, owner), [true, true]);
    }
  });

  it('T30: reuse after the window on one process ends the device on the other at once', async () => {
    const tokens = await on(0).signIn(owner);
    const { data: fresh } = await on(0).refresh(tokens);
    assert.ok(fresh);
    // Simulates that the window has passed.
    await database.kysely
      .updateTable('device_refresh_tokens')
      .set({ used_at: sql<number>`used_at - 61000` })
      .where('used_at', 'is not', null)
      .execute();
    assert.equal((await on(1).refresh(tokens)).error, 'invalid_grant');
    for (const process of processes)
      assert.deepEqual(await process.opens({ ...tokens, ...fresh }, owner), [false, false]);
    assert.equal((await on(0).refresh(fresh)).error, 'invalid_grant');
  });

  it('T33: nothing started after an acknowledged logout succeeds on the other process', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const tokens = await on(round).signIn(owner);
      assert.deepEqual(await on(round + 1).opens(tokens, owner), [true, true]);
      let acknowledged = false;
      const hammer = async (index: number): Promise<string[]> => {
        const late: string[] = [];
        for (let after = 0; after < 3; ) {
          const begunAfter = acknowledged;
          const [account, models] = await on(index).opens(tokens, owner);
          if (begunAfter && (account || models)) late.push(`process ${index % 2}`);
          if (begunAfter) after += 1;
        }
        return late;
      };
      const hammering = race(8, hammer);
      assert.equal((await on(round).logOut(tokens)).success, true);
      acknowledged = true;
      assert.deepEqual((await hammering).flat(), []);
      assert.equal((await on(round + 1).refresh(tokens)).success, false);
    }
  });

  it('of two concurrent logouts on two processes one finds the device', async () => {
    const tokens = await on(0).signIn(owner);
    const [first, second] = await Promise.all([on(0).logOut(tokens), on(1).logOut(tokens)]);
    assert.notEqual(first.success, second.success, 'one finds the device');
    for (const process of processes) assert.deepEqual(await process.opens(tokens, owner), [false, false]);
  });
});
