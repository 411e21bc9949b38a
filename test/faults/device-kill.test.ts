import assert from 'node:assert/strict';
import { randomBytes, randomInt } from 'node:crypto';
import { it } from 'node:test';
import { openDatabase } from '../../src/server/platform/db/database.ts';
import type { Tables } from '../../src/server/tables.ts';
import { forEachDatabase } from '../databases.ts';
import type { Tokens } from '../device-auth/service.ts';
import { DeviceProcess } from './device-process.ts';

/** The script that hammers for releases sets more. */
const ROUNDS = Number(process.env.DEVICE_KILL_ROUNDS ?? '3');
const CODES = 24;

interface Books {
  readonly used: number;
  readonly approved: number;
}

/**
 * Every sign-in says the same in all tables: tokens exist where a code was used or nowhere, each device has one
 * llm_token and exactly one refresh_token that is still good.
 */
async function assertWhole(url: string): Promise<Books> {
  const database = openDatabase<Tables>(url);
  const { kysely } = database;
  const codes = await kysely.selectFrom('device_codes').select(['id', 'status']).execute();
  const devices = await kysely.selectFrom('device_authorizations').select(['id', 'llm_token_id']).execute();
  const unused = await kysely
    .selectFrom('device_refresh_tokens')
    .innerJoin('device_authorizations', 'device_authorizations.id', 'device_refresh_tokens.authorization_id')
    .select('device_authorizations.id')
    .where('used_at', 'is', null)
    .execute();
  const llm = await kysely
    .selectFrom('tokens')
    .select('id')
    .where('kind', '=', 'llm')
    .where('revoked_at', 'is', null)
    .execute();
  await database.close();
  const sorted = (ids: readonly number[]) => ids.toSorted((a, b) => a - b);
  const used = sorted(codes.filter(({ status }) => status === 'used').map(({ id }) => id));
  assert.deepEqual(sorted(devices.map(({ id }) => id)), used);
  assert.deepEqual(sorted(unused.map(({ id }) => id)), used);
  assert.deepEqual(sorted(llm.map(({ id }) => id)), sorted(devices.map((row) => row.llm_token_id)));
  const approved = codes.filter(({ status }) => status === 'approved').length;
  return { used: used.length, approved };
}

/** Waits until a random number of answers is there, so that the kill falls between two of them however busy the machine is. */
function amidst(work: readonly Promise<unknown>[]): Promise<void> {
  let left = randomInt(work.length);
  const { promise, resolve } = Promise.withResolvers<void>();
  if (left === 0) resolve();
  for (const each of work) {
    each.then(() => {
      left -= 1;
      if (left === 0) resolve();
    }, failed);
  }
  return promise;
}

const failed = () => undefined;
const times = <T>(count: number, run: (index: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, (_, index) => run(index)));

forEachDatabase((_dialect, _open, freshUrl) => {
  const masterKey = randomBytes(32).toString('base64');

  it('killed while it mints, leaves each code with all of its tokens or none', {
    timeout: 60_000 + 20_000 * ROUNDS,
  }, async () => {
    const url = await freshUrl();
    let answered = 0;
    let server = await DeviceProcess.start(url, masterKey);
    for (let round = 0; round < ROUNDS; round++) {
      const owner = await server.logIn();
      const codes = await times(CODES, () => server.approved(owner));
      const polls = codes.map((code) => server.poll(code).catch(failed));
      await amidst(polls);
      await server.kill();
      answered += (await Promise.all(polls)).filter((said) => said?.success).length;
      const { used, approved } = await assertWhole(url);
      assert.ok(answered <= used, 'nobody was handed tokens that were not kept');
      assert.equal(used + approved, CODES * (round + 1));
      server = await DeviceProcess.start(url, masterKey);
      // What was not collected can be, once; what was lost on the way is spent.
      const later = await Promise.all(codes.map((code) => server.poll(code)));
      assert.equal(later.filter(({ success }) => success).length, approved);
      answered = CODES * (round + 1);
      const again = await Promise.all(codes.map((code) => server.poll(code)));
      assert.ok(again.every(({ error }) => error === 'invalid_grant'));
    }
    await server.kill();
  });

  it('killed while it rotates, leaves each device one pair: the old one or the new', {
    timeout: 60_000 + 20_000 * ROUNDS,
  }, async () => {
    const url = await freshUrl();
    let server = await DeviceProcess.start(url, masterKey);
    let owner = await server.logIn();
    for (let round = 0; round < ROUNDS; round++) {
      const devices = await times(CODES, () => server.signIn(owner));
      const rotations = devices.map((tokens) => server.refresh(tokens).catch(failed));
      await amidst(rotations);
      await server.kill();
      const answers = await Promise.all(rotations);
      await assertWhole(url);
      server = await DeviceProcess.start(url, masterKey);
      owner = await server.logIn();
      await times(CODES, async (index) => {
        const old = devices[index] as Tokens;
        const fresh = answers[index]?.data;
        const retried = await server.refresh(old);
        // Who was answered holds the pair that counts, and the old one is spent.
        if (fresh !== undefined) {
          assert.equal(retried.error, 'invalid_grant');
          assert.deepEqual(await server.opens({ ...old, ...fresh }, owner), [true, true]);
          return;
        }
        // Who was not may retry: the rotation never was, or it was and the retry ends nothing.
        if (retried.data !== undefined) {
          assert.deepEqual(await server.opens({ ...old, ...retried.data }, owner), [true, true]);
          return;
        }
        assert.deepEqual(await server.opens(old, owner), [false, true]);
      });
      await assertWhole(url);
    }
    await server.kill();
  });

  it('killed while it signs out or replaces, ends devices whole or not at all', {
    timeout: 60_000 + 20_000 * ROUNDS,
  }, async () => {
    const url = await freshUrl();
    let server = await DeviceProcess.start(url, masterKey);
    let owner = await server.logIn();
    for (let round = 0; round < ROUNDS; round++) {
      const leaving = await times(CODES / 2, () => server.signIn(owner));
      const replaced = await times(CODES / 2, (index) => server.signIn(owner, `machine-${round}-${index}`));
      const codes = await times(CODES / 2, async (index) => {
        const { data } = await server.code(`machine-${round}-${index}`);
        assert.ok(data);
        return data;
      });
      const work = [
        ...leaving.map((tokens) => server.logOut(tokens).catch(failed)),
        ...codes.map((code) => server.decide('approve', code, owner).catch(failed)),
      ];
      await amidst(work);
      await server.kill();
      const answers = await Promise.all(work);
      server = await DeviceProcess.start(url, masterKey);
      owner = await server.logIn();
      for (const [index, tokens] of [...leaving, ...replaced].entries()) {
        const [account, models] = await server.opens(tokens, owner);
        assert.equal(account, models, 'all of it or none');
        if (answers[index]?.success) assert.equal(account, false, 'what was acknowledged holds');
      }
      await assertWhole(url);
    }
    await server.kill();
  });
});
