import assert from 'node:assert/strict';
import { randomBytes, randomInt } from 'node:crypto';
import { it } from 'node:test';
import { openDatabase } from '../../src/server/platform/db/open-database.ts';
import type { Tables } from '../../src/server/tables.ts';
import type { Tokens } from '../device-auth/device-auth-fixture.ts';
import { forEachDatabase } from '../for-each-database.ts';
import { DeviceAuthServerProcess, type OwnerHeaders } from './start-device-server.ts';

/** `npm run hammer` sets more. */
const ROUNDS = Number(process.env.DEVICE_KILL_ROUNDS ?? '3');
/** On a slow machine, beside other tests. */
const MAX_MS = 120_000 + 60_000 * ROUNDS;
const CODES = 24;

interface CodeCounts {
  readonly used: number;
  readonly approved: number;
}

/**
 * Asserts that all tables agree on every sign-in: tokens exist only where a code was used, and each device has one
 * llm_token and exactly one valid refresh_token.
 */
async function assertWhole(url: string): Promise<CodeCounts> {
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

/** Waits for a random number of responses, so that the kill falls between two of them however busy the machine is. */
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

  it('killed while issuing tokens, leaves each code with all of its tokens or none', {
    timeout: MAX_MS,
  }, async () => {
    const url = await freshUrl();
    let answered = 0;
    let server = await DeviceAuthServerProcess.start(url, masterKey);
    for (let round = 0; round < ROUNDS; round++) {
      const owner = await server.logIn();
      const codes = await times(CODES, () => server.approved(owner));
      const polls = codes.map((code) => server.poll(code).catch(failed));
      await amidst(polls);
      await server.kill();
      answered += (await Promise.all(polls)).filter((response) => response?.success).length;
      const { used, approved } = await assertWhole(url);
      assert.ok(answered <= used, 'nobody got tokens that were not stored');
      assert.equal(used + approved, CODES * (round + 1));
      server = await DeviceAuthServerProcess.start(url, masterKey);
      // A code that was not collected can still be collected once; a lost response counts as collected.
      const later = await Promise.all(codes.map((code) => server.poll(code)));
      assert.equal(later.filter(({ success }) => success).length, approved);
      answered = CODES * (round + 1);
      const again = await Promise.all(codes.map((code) => server.poll(code)));
      assert.ok(again.every(({ error }) => error === 'invalid_grant'));
    }
    await server.kill();
  });

  /** A process on the test's database, with a signed-in owner. */
  interface Stage {
    readonly server: DeviceAuthServerProcess;
    readonly owner: OwnerHeaders;
  }
  const start = async (url: string): Promise<Stage> => {
    const server = await DeviceAuthServerProcess.start(url, masterKey);
    return { server, owner: await server.logIn() };
  };
  /** Each round kills the process it receives and returns the one started after it. */
  const itInRounds = (title: string, playRound: (url: string, stage: Stage, round: number) => Promise<Stage>): void => {
    it(title, { timeout: MAX_MS }, async () => {
      const url = await freshUrl();
      let stage = await start(url);
      for (let round = 0; round < ROUNDS; round++) stage = await playRound(url, stage, round);
      await stage.server.kill();
    });
  };

  itInRounds('killed while it rotates, leaves each device one pair: the old one or the new', async (url, before) => {
    const devices = await times(CODES, () => before.server.signIn(before.owner));
    const rotations = devices.map((tokens) => before.server.refresh(tokens).catch(failed));
    await amidst(rotations);
    await before.server.kill();
    const responses = await Promise.all(rotations);
    await assertWhole(url);
    const { server, owner } = await start(url);
    await times(CODES, async (index) => {
      const old = devices[index] as Tokens;
      const fresh = responses[index]?.data;
      const retried = await server.refresh(old);
      // A device that received the response has the valid pair, and the old one is used up.
      if (fresh !== undefined) {
        assert.equal(retried.error, 'invalid_grant');
        assert.deepEqual(await server.opens({ ...old, ...fresh }, owner), [true, true]);
        return;
      }
      // A device without the response may retry: either the rotation never happened, or it did and the retry ends
      // nothing.
      if (retried.data !== undefined) {
        assert.deepEqual(await server.opens({ ...old, ...retried.data }, owner), [true, true]);
        return;
      }
      assert.deepEqual(await server.opens(old, owner), [false, true]);
    });
    await assertWhole(url);
    return { server, owner };
  });

  itInRounds('killed while it signs out or replaces, ends devices whole or not at all', async (url, before, round) => {
    const leaving = await times(CODES / 2, () => before.server.signIn(before.owner));
    const replaced = await times(CODES / 2, (index) => before.server.signIn(before.owner, `machine-${round}-${index}`));
    const codes = await times(CODES / 2, async (index) => {
      const { data } = await before.server.code(`machine-${round}-${index}`);
      assert.ok(data);
      return data;
    });
    const work = [
      ...leaving.map((tokens) => before.server.logOut(tokens).catch(failed)),
      ...codes.map((code) => before.server.decide('approve', code, before.owner).catch(failed)),
    ];
    await amidst(work);
    await before.server.kill();
    const responses = await Promise.all(work);
    const { server, owner } = await start(url);
    for (const [index, tokens] of [...leaving, ...replaced].entries()) {
      const [account, models] = await server.opens(tokens, owner);
      assert.equal(account, models, 'all of it or none');
      if (responses[index]?.success) assert.equal(account, false, 'what was acknowledged holds');
    }
    await assertWhole(url);
    return { server, owner };
  });
});
