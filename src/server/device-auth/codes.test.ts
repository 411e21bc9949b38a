import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type DeviceAuthWithoutHttp, startBareDeviceAuth } from '../../../test/device-auth/bare-device-auth.ts';
import { forEachDatabase } from '../../../test/for-each-database.ts';
import { DISABLED } from '../../contract/account-fields.ts';
import { USER_CODE_ALPHABET } from '../../contract/device-auth.ts';
import { formatUserCode, newUserCode, parseUserCode, toSingleLine } from './codes.ts';

describe('codes', () => {
  const AT_HOME = { address: '127.0.0.1', requestId: 'home' };
  const FAR = '203.0.113.20';
  const CLIENT = 'reelgate-cli';

  forEachDatabase((_name, open) => {
    let rules: DeviceAuthWithoutHttp;
    let ada: number;
    let bob: number;
    before(async () => {
      rules = await startBareDeviceAuth(await open());
      ada = (await rules.accounts.newUser('ada')).id;
      bob = (await rules.accounts.newUser('bob')).id;
    });
    after(() => rules.accounts.close());

    const issue = async (more: { clientName?: string; deviceId?: string; address?: string } = {}) =>
      (
        await rules.codes.issue({
          clientId: CLIENT,
          clientName: '',
          deviceId: '',
          userAgent: '',
          address: FAR,
          ...more,
        })
      ).userCode;
    const approverOf = async (userId: number) => {
      const sessions = rules.accounts.database.kysely.selectFrom('sessions').select('id');
      const { id: sessionId } = await sessions.where('user_id', '=', userId).executeTakeFirstOrThrow();
      const caller = { kind: 'session', userId, role: 'user', sessionId } as const;
      return { caller, loggedInAt: rules.accounts.clock.now() };
    };
    const approve = async (code: string, userId = ada) =>
      rules.codes.approve(code, await approverOf(userId), AT_HOME, {});
    const deny = (code: string, userId = ada) => rules.codes.deny(code, userId, AT_HOME);
    const idOf = async (code: string) => (await rules.codes.lookUp(code, AT_HOME.address)).code?.id;
    const audited = async (code: string) =>
      (
        await rules.accounts.database.kysely
          .selectFrom('audit_log')
          .select(['actor_id', 'action', 'after', 'address', 'request_id'])
          .where('target', '=', `device:${await idOf(code)}`)
          .orderBy('id')
          .execute()
      ).map((row) => ({ ...row, after: row.after === null ? null : JSON.parse(row.after) }));

    it('audits each decision and report with its account, its source and the requesting client', async () => {
      const [approved, denied] = [await issue({ clientName: 'Kitchen' }), await issue({ clientName: 'Hall' })];
      await approve(approved);
      await deny(denied);
      await rules.codes.report(denied, ada, AT_HOME);
      const entry = (action: string, name: string) => ({
        actor_id: ada,
        action,
        after: { client: CLIENT, name, asked_from: FAR },
        address: AT_HOME.address,
        request_id: 'home',
      });
      assert.deepEqual(await audited(approved), [entry('device.approve', 'Kitchen')]);
      const both = [entry('device.deny', 'Hall'), entry('device.report', 'Hall')];
      assert.deepEqual(await audited(denied), both);
      await rules.codes.report(denied, ada, AT_HOME);
      assert.deepEqual(await audited(denied), both, 'a second report of an IP that is blocked changes nothing');
      rules.accounts.clock.advance(60 * 60_000);
    });

    it('blocks an IP only for a report by the account that denied its code', async () => {
      const invalid = { code: 'user_code_invalid' };
      const [approved, denied, pending] = [await issue(), await issue(), await issue()];
      await approve(approved);
      await deny(denied);
      await assert.rejects(rules.codes.report(approved, ada, AT_HOME), invalid);
      await assert.rejects(rules.codes.report(denied, bob, AT_HOME), invalid);
      await assert.rejects(rules.codes.report(pending, ada, AT_HOME), invalid);
      await assert.rejects(rules.codes.report('BBBB-BBBB', ada, AT_HOME), invalid);
      const own = await issue({ address: '127.0.0.1' });
      await deny(own);
      await rules.codes.report(own, ada, AT_HOME);
      assert.deepEqual(
        (await audited(own)).map(({ action }) => action),
        ['device.deny'],
        'the network of the reporter is not blocked',
      );
      await issue();
      await rules.codes.report(denied, ada, AT_HOME);
      await assert.rejects(issue(), { code: 'rate_limit_exceeded' });
      rules.accounts.clock.advance(60 * 60_000);
    });

    it('T04: returns the reason when a claim is rejected', async () => {
      const [theirs, late] = [await issue(), await issue()];
      const claim = (code: string, userId: number) =>
        rules.accounts.database.transaction((trx) => rules.codes.claim(trx, code.replace('-', ''), userId));
      await claim(theirs, bob);
      await assert.rejects(claim(theirs, ada), { code: 'user_code_processed' });
      await assert.rejects(claim('BBBB-BBBB', ada), { code: 'user_code_invalid' });
      rules.accounts.clock.advance(600_000);
      await assert.rejects(claim(late, ada), { code: 'user_code_expired' });
      await assert.rejects(approve(late), { code: 'user_code_expired' });
    });

    it('T13: an account disabled after its request was authenticated cannot decide a code', async () => {
      const banned = await rules.accounts.newUser('banned');
      const [code, approver] = [await issue(), await approverOf(banned.id)];
      const { kysely } = rules.accounts.database;
      await kysely.updateTable('accounts').set({ status: DISABLED }).where('id', '=', banned.id).execute();
      await assert.rejects(rules.codes.approve(code, approver, AT_HOME, {}), { code: 'unauthorized' });
      await assert.rejects(deny(code, banned.id), { code: 'unauthorized' });
      assert.equal((await rules.codes.lookUp(code, AT_HOME.address)).status, 'pending');
    });

    it('T13: approves neither a device nor an application for a request authenticated before its session ended', async () => {
      const eve = await rules.accounts.newUser('eve');
      const approver = await approverOf(eve.id);
      const code = await issue();
      await eve.ok('POST', '/api/user/logout');
      await assert.rejects(rules.codes.approve(code, approver, AT_HOME, {}), { code: 'unauthorized' });
      assert.equal((await rules.codes.lookUp(code, AT_HOME.address)).status, 'pending');
      const request = {
        client: { id: CLIENT, name: '', type: 'public', redirectUris: [], scopes: undefined },
        redirectUri: 'http://127.0.0.1/',
        state: undefined,
        terms: { scopes: ['models'], audience: 'api' },
        codeChallenge: '',
      } as const;
      const limits = { endsAt: null, spendLimit: null };
      await assert.rejects(rules.grants.approve(request, approver, limits, { ...AT_HOME, userAgent: '' }, {}), {
        code: 'unauthorized',
      });
    });

    it('T14: ends no sign-in and sends no notice when a code is denied', async () => {
      const signedIn = await issue({ deviceId: 'tablet' });
      await approve(signedIn);
      const notified = rules.notices.length;
      const again = await issue({ deviceId: 'tablet' });
      await deny(again);
      assert.equal((await rules.codes.lookUp(signedIn, AT_HOME.address)).status, 'approved');
      assert.equal(rules.notices.length, notified);
      const denied = (await rules.codes.lookUp(again, AT_HOME.address)).code;
      assert.deepEqual([denied?.access_expires_at, denied?.refresh_expires_at], [null, null]);
      await approve(await issue({ deviceId: 'tablet' }));
      assert.equal((await rules.codes.lookUp(signedIn, AT_HOME.address)).status, 'invalid', 'to approve one does');
      assert.equal(rules.notices.length, notified + 1);
    });

    it('announces a revocation only if it ended a sign-in', async () => {
      const { revocation, revocations, accounts } = rules;
      const before = revocations.length;
      const revoked = await accounts.database.transaction((trx) => revocation.revoke(trx, { user_id: 999_999 }));
      assert.deepEqual([revoked, revocations.length], [[], before]);
    });

    it('T01: retries with another code on a collision, five times', async () => {
      const { codeStore } = rules;
      const insert = codeStore.insert.bind(codeStore);
      const tried: string[] = [];
      let taken = 5;
      codeStore.insert = async (row, db) => {
        tried.push(row.user_code);
        return tried.length > taken && insert(row, db);
      };
      await assert.rejects(issue(), { code: 'unavailable' });
      assert.deepEqual([tried.length, new Set(tried).size], [5, 5]);
      tried.length = 0;
      taken = 4;
      assert.equal((await rules.codes.lookUp(await issue(), AT_HOME.address)).status, 'pending');
      codeStore.insert = insert;
    });
  });
});

describe('user code', () => {
  describe('user codes', () => {
    it('T01: use the whole alphabet evenly', () => {
      const counts = new Map<string, number>();
      const codes = 1_000_000;
      for (let i = 0; i < codes; i++)
        for (const letter of newUserCode()) counts.set(letter, (counts.get(letter) ?? 0) + 1);
      assert.deepEqual([...counts.keys()].sort().join(''), USER_CODE_ALPHABET);
      const expected = (codes * 8) / 20;
      const chiSquared = [...counts.values()].reduce((sum, n) => sum + (n - expected) ** 2 / expected, 0);
      // With 19 degrees of freedom, one run in 100,000 exceeds 57.
      assert.ok(chiSquared < 57, `chi squared ${chiSquared}`);
    });

    it('T21: are accepted in any case, width, dashes and spacing, and no other variation', () => {
      for (const typed of [
        'BCDF-GHJK',
        'bcdfghjk',
        ' bcdf ghjk ',
        'BCDF–GHJK',
        'b c d f g h j k',
        'BCDF\u00A0GHJK',
        'ＢＣＤＦ－ＧＨＪＫ',
        'ｂｃｄｆ　ｇｈｊｋ',
      ]) {
        assert.equal(parseUserCode(typed), 'BCDFGHJK', typed);
      }
      for (const typed of ['', 'BCDF-GHJ', 'BCDF-GHJKL', 'ABCD-EFGH', 'BCDF_GHJK', 'ßCDFGHJ']) {
        assert.equal(parseUserCode(typed), undefined, typed);
      }
      assert.equal(formatUserCode('BCDFGHJK'), 'BCDF-GHJK');
    });

    it('T15: come with names free of invisible characters', () => {
      assert.equal(toSingleLine('a\u202Eb\u0000c\u200Bd\ne', 100), 'a b c d e');
      assert.equal([...toSingleLine('😀'.repeat(150), 100)].length, 100);
      assert.equal(toSingleLine(`e${'\u0301'.repeat(50)}`, 100), 'e\u0301\u0301');
    });
  });

  describe('typed user codes', () => {
    it('are shown in two halves and accepted in any spelling', () => {
      assert.equal(formatUserCode('BCDFGHJK'), 'BCDF-GHJK');
      for (const typed of ['BCDFGHJK', 'bcdf-ghjk', ' b c d f\u2013g h j k\t'])
        assert.equal(parseUserCode(typed), 'BCDFGHJK', typed);
      for (const typed of ['', 'BCDFGHJ', 'BCDFGHJKL', 'BCDFGHJA', 'BCDFGHJ1'])
        assert.equal(parseUserCode(typed), undefined);
    });

    it('come with names that fit on one line', () => {
      assert.equal(toSingleLine(' a\u202e\n b\u0000  c ', 99), 'a b c');
      assert.equal(toSingleLine(`e${'\u0301'.repeat(9)}`, 99), `e${'\u0301'.repeat(2)}`);
      assert.equal(toSingleLine('abcdef', 4).length <= 4, true);
    });
  });
});
