import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { Secret, TOTP } from 'otpauth';
import { type AccountsFixture, startAccounts } from '../../../test/accounts/accounts-fixture.ts';
import { PASSWORD, type TestUser } from '../../../test/accounts/test-user-client.ts';
import { forEachDatabase } from '../../../test/for-each-database.ts';
import { formatMessage } from '../../contract/messages/format-message.ts';
import { HOUR_MS } from '../../contract/time-units.ts';

const STEP_MS = 30_000;

forEachDatabase((_name, open) => {
  let service: AccountsFixture;
  let count = 0;
  before(async () => {
    service = await startAccounts(await open());
  });
  after(() => service.close());

  interface Guarded {
    readonly person: TestUser;
    readonly username: string;
    readonly backupCodes: string[];
    /** The code that many steps from now. */
    code(steps?: number): string;
  }

  /** An account with two-step verification enabled one minute ago. */
  const guarded = async (): Promise<Guarded> => {
    const username = `guarded-${count++}`;
    const person = await service.newUser(username);
    const { secret, otpauth_url } = await person.ok<{ secret: string; otpauth_url: string }>(
      'POST',
      '/api/user/2fa/setup',
    );
    assert.match(
      otpauth_url,
      new RegExp(`^otpauth://totp/Reelgate:${username}%40127\\.0\\.0\\.1\\?.*secret=${secret}`),
    );
    const totp = new TOTP({ secret: Secret.fromBase32(secret) });
    const code = (steps = 0) => totp.generate({ timestamp: service.clock.now() + steps * STEP_MS });
    const { backup_codes } = await person.ok<{ backup_codes: string[] }>('POST', '/api/user/2fa/enable', {
      code: code(),
    });
    service.clock.advance(2 * STEP_MS);
    return { person, username, backupCodes: backup_codes, code };
  };
  /** A browser that has completed the first step. */
  const half = async (username: string): Promise<TestUser> => {
    const person = service.anonymous();
    assert.deepEqual(await person.logIn(username), { require_2fa: true });
    return person;
  };
  const second = (person: TestUser, code: string) => person.send('POST', '/api/user/login/2fa', { code });

  it('asks for the second step and completes with a code', async () => {
    const { username, code, person: owner } = await guarded();
    const person = await half(username);
    assert.equal(person.cookies.has('session'), false);
    const { body, cookies } = await second(person, code());
    const data = body.data as { id: number; username: string };
    assert.deepEqual(Object.keys(data).sort(), ['display_name', 'id', 'role', 'username']);
    assert.match(cookies.join(), /session=rgs_/);
    assert.equal(person.cookies.has('pending_login'), false);
    person.id = data.id;
    const self = await person.ok('GET', '/api/user/self');
    assert.equal(self.has_2fa, true);
    assert.equal(self.id, owner.id);
  });

  it('T21: accepts a code and a name as input methods write them, and rejects other digits as wrong', async () => {
    const { username, code } = await guarded();
    const person = service.anonymous();
    assert.deepEqual(await person.logIn(` ${username} `), { require_2fa: true });
    const wide = (digits: string) =>
      digits.replace(/[0-9]/g, (digit) => String.fromCharCode(digit.charCodeAt(0) + 0xfee0));
    for (const wrong of ['٠١٢٣٤٥', 'éééééé', '一二三四五六', '😀😀😀'])
      assert.equal((await second(person, wrong)).status, 200, wrong);
    assert.equal(
      (await second(person, `${wide(code().slice(0, 3))}\u3000${wide(code().slice(3))}`)).body.success,
      true,
    );
    const unprotected = await service.newUser('no-second-step');
    await unprotected.ok('POST', '/api/user/2fa/setup');
    await unprotected.fails(200, 'POST', '/api/user/2fa/enable', { code: '٠١٢٣٤٥' });
  });

  it('accepts the steps next to the current one, and no other', async () => {
    for (const [steps, right] of [
      [-2, false],
      [2, false],
      [-1, true],
      [1, true],
    ] as const) {
      const { username, code } = await guarded();
      service.clock.advance(2 * STEP_MS);
      assert.equal((await second(await half(username), code(steps))).body.success, right, String(steps));
    }
  });

  it('T26: lets one code create one session, in a race of twenty and afterwards', async () => {
    const { username, code } = await guarded();
    const browsers = [];
    for (let index = 0; index < 8; index++) browsers.push(await half(username));
    const one = code();
    const answers = await Promise.all(browsers.map((browser) => second(browser, one)));
    assert.equal(answers.filter((answer) => answer.body.success).length, 1);
    service.clock.advance(HOUR_MS);
    const again = code();
    const browser = await half(username);
    const same = await Promise.all(Array.from({ length: 20 }, () => second(browser, again)));
    assert.equal(same.filter((answer) => answer.body.success).length, 1);
    service.clock.advance(STEP_MS);
    assert.equal((await second(await half(username), again)).body.success, false);
  });

  it('T26: accepts each backup code once, in any spelling', async () => {
    const { username, backupCodes } = await guarded();
    assert.equal(new Set(backupCodes).size, 10);
    for (const each of backupCodes) assert.match(each, /^([a-z2-9]{6}-){3}[a-z2-9]{6}$/);
    const [first = '', other = ''] = backupCodes;
    const browsers = [await half(username), await half(username), await half(username), await half(username)];
    const spelled = first.toUpperCase().replaceAll('-', ' ');
    const answers = await Promise.all(browsers.map((browser) => second(browser, spelled)));
    assert.equal(answers.filter((answer) => answer.body.success).length, 1);
    assert.equal((await second(await half(username), first)).body.success, false);
    assert.equal((await second(await half(username), other)).body.success, true);
  });

  it('T25: ends a pending login after five wrong codes', async () => {
    const { username, code } = await guarded();
    const person = await half(username);
    const wrong = await Promise.all(Array.from({ length: 12 }, () => second(person, '000000')));
    assert.equal(wrong.filter((answer) => /wrong/.test(String(answer.body.message))).length, 5);
    assert.match(String((await second(person, code())).body.message), /expired/);
  });

  it('T25: checks ten codes of an account in an hour, over all its logins and settings', async () => {
    const { username, code } = await guarded();
    let evaluated = 0;
    for (let login = 0; login < 5; login++) {
      const person = await half(username);
      for (let guess = 0; guess < 5; guess++) {
        if ((await second(person, '000000')).status === 200) evaluated++;
      }
    }
    assert.equal(evaluated, 10);
    assert.equal((await second(await half(username), code())).status, 429);
    service.clock.advance(HOUR_MS);
    assert.equal((await second(await half(username), code())).body.success, true);
  });

  it('T22: accepts the second step on a known device while an attacker with the password exhausts the attempts', async () => {
    const { username, code } = await guarded();
    const attemptFrom = async (address: string, guess: string) => {
      const person = service.anonymous(address);
      await person.logIn(username);
      return person.send('POST', '/api/user/login/2fa', { code: guess });
    };
    const statuses = [];
    for (let guess = 0; guess < 12; guess++) statuses.push((await attemptFrom(`10.30.0.${guess}`, '000000')).status);
    assert.deepEqual(statuses.slice(8), [200, 200, 429, 429]);
    assert.equal((await attemptFrom('10.30.1.1', code())).status, 429);
    assert.equal((await second(await half(username), code())).body.success, true);
  });

  it('T34: ends a login that waits for its second step when the password changes', async () => {
    const { username, person: owner, code } = await guarded();
    const thief = await half(username);
    await owner.ok('PUT', '/api/user/self', { password: 'another fine password', original_password: PASSWORD });
    const { body } = await second(thief, code());
    assert.equal(body.success, false);
    assert.match(String(body.message), /expired/);
  });

  it('refunds no wrong codes after a correct one', async () => {
    const { username, code } = await guarded();
    const guess = async (value: string) => (await second(await half(username), value)).status;
    for (let wrong = 0; wrong < 9; wrong++) assert.equal(await guess('000000'), 200);
    assert.equal((await second(await half(username), code())).body.success, true);
    assert.deepEqual([await guess('000000'), await guess('000000')], [200, 429]);
  });

  it('expires a pending login after five minutes, and recognizes it by its cookie alone', async () => {
    const { username, code } = await guarded();
    const person = await half(username);
    assert.match(String((await second(service.anonymous(), code())).body.message), /expired/);
    const forged = service.anonymous();
    forged.cookies.set('pending_login', `rgpl_${'x'.repeat(43)}`);
    assert.match(String((await second(forged, code())).body.message), /expired/);
    service.clock.advance(5 * 60_000);
    assert.match(String((await second(person, code())).body.message), /expired/);
  });

  it('creates no session for an account disabled or removed after the first step', async () => {
    for (const [change, refusal] of [
      [{ status: 2 }, 'account_disabled'],
      [{ removed_at: 1 }, 'login_expired'],
    ] as const) {
      const { username, code, person: owner } = await guarded();
      const person = await half(username);
      // Written directly: the service's own changes also end pending logins.
      await service.database.kysely.updateTable('accounts').set(change).where('id', '=', owner.id).execute();
      assert.equal((await second(person, code())).body.message, formatMessage(refusal, 'en'));
      assert.equal(person.cookies.has('session'), false);
    }
  });

  it('T26: lets two backup codes of one login create one session, and leaves the other code unused', async () => {
    const { username, backupCodes } = await guarded();
    const person = await half(username);
    const codes = backupCodes.slice(0, 2);
    const answers = await Promise.all(
      codes.map((code) =>
        service
          .anonymous()
          .send(
            'POST',
            '/api/user/login/2fa',
            { code },
            { cookie: `pending_login=${person.cookies.get('pending_login')}` },
          ),
      ),
    );
    const refused = answers.findIndex(({ body }) => !body.success);
    assert.equal(answers.filter(({ body }) => body.success).length, 1);
    assert.equal(answers[refused]?.body.message, formatMessage('login_expired', 'en'));
    const again = await half(username);
    assert.equal((await second(again, codes[refused] ?? '')).body.success, true);
  });

  it('T27: requires the second step of the account that logged in, whatever else the browser sends', async () => {
    const [one, other] = [await guarded(), await guarded()];
    const person = await half(one.username);
    person.id = other.person.id;
    const { body } = await person.send('POST', '/api/user/login/2fa', {
      code: other.code(),
      username: other.username,
      user_id: other.person.id,
    });
    assert.equal(body.success, false);
  });

  it('T27: gives a pending login no other access', async () => {
    const { username, person: owner } = await guarded();
    const person = await half(username);
    const pending = person.cookies.get('pending_login') ?? '';
    person.id = owner.id;
    for (const { method, path, policy } of service.routes.endpoints) {
      if (policy === 'public' || policy === 'self') continue;
      const url = path.replace(/:\w+/g, '1');
      for (const [cookie, authorization] of [
        [`pending_login=${pending}; session=${pending}`, undefined],
        [`pending_login=${pending}`, `Bearer ${pending}`],
      ] as const) {
        const headers = { cookie, ...(authorization === undefined ? {} : { authorization }) };
        const { status } = await person.send(method, url, method === 'GET' ? undefined : {}, headers);
        assert.equal(status, 401, `${method} ${path}`);
      }
    }
  });

  it('ends other sessions, device sign-ins and the management token when two-step verification is turned on or off', async () => {
    const username = `watched-${count++}`;
    const ended: number[] = [];
    const watched = await startAccounts(service.database, {
      clock: service.clock,
      dependencies: { linkedLogins: [{ revokeAll: async (_trx, userId) => void ended.push(userId) }] },
    });
    const [here, there] = [await watched.newUser(username), watched.anonymous()];
    await there.logIn(username);
    const program = await there.withManagementToken();
    const { secret } = await here.ok<{ secret: string }>('POST', '/api/user/2fa/setup');
    await there.ok('GET', '/api/user/self');
    const totp = new TOTP({ secret: Secret.fromBase32(secret) });
    const code = () => totp.generate({ timestamp: service.clock.now() });
    await here.fails(200, 'POST', '/api/user/2fa/enable', { code: '000000' });
    await there.ok('GET', '/api/user/self');
    await program.ok('GET', '/api/user/self');
    const enabled = await Promise.all([1, 2, 3].map(() => here.send('POST', '/api/user/2fa/enable', { code: code() })));
    assert.equal(enabled.filter((answer) => answer.body.success).length, 1);
    await here.ok('GET', '/api/user/self');
    await there.fails(401, 'GET', '/api/user/self');
    assert.equal((await there.ok('GET', '/api/user/session-end')).reason, 'two_factor_on');
    await program.fails(401, 'GET', '/api/user/self');
    assert.deepEqual(ended, [here.id]);
    await there.logIn(username);
    service.clock.advance(2 * STEP_MS);
    await there.ok('POST', '/api/user/login/2fa', { code: code() });
    await here.fails(200, 'POST', '/api/user/2fa/setup');
    const another = await here.withManagementToken();
    service.clock.advance(2 * STEP_MS);
    await here.ok('POST', '/api/user/2fa/disable', { code: code() });
    await another.fails(401, 'GET', '/api/user/self');
    await there.fails(401, 'GET', '/api/user/self');
    assert.equal((await there.ok('GET', '/api/user/session-end')).reason, 'two_factor_off');
    assert.deepEqual(ended, [here.id, here.id]);
    assert.deepEqual(Object.keys(await watched.anonymous().logIn(username)).length, 4);
    await watched.fastify.close();
  });

  it('gives an unfinished set-up no effect', async () => {
    const username = `unfinished-${count++}`;
    const person = await service.newUser(username);
    for (let time = 0; time < 12; time++) {
      await person.fails(200, 'POST', '/api/user/2fa/enable', { code: '123456' });
      await person.fails(200, 'POST', '/api/user/2fa/disable', { code: '123456' });
    }
    await person.ok('POST', '/api/user/2fa/setup');
    assert.equal((await person.ok('GET', '/api/user/self')).has_2fa, false);
    assert.equal((await service.anonymous().logIn(username)).username, username);
  });

  it('rejects malformed codes', async () => {
    const { username } = await guarded();
    const person = await half(username);
    for (const code of ['', 'x'.repeat(65), 123456, null, ['1'], { a: 1 }, '\u0000']) {
      await person.fails(400, 'POST', '/api/user/login/2fa', { code });
    }
    for (const code of ['１２３４５６', '+12345', '12 34', PASSWORD]) {
      assert.equal((await second(person, code)).body.success, false);
    }
  });
});
