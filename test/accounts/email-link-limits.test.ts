import assert from 'node:assert/strict';
import { it } from 'node:test';
import { formatMessage } from '../../src/contract/messages/format-message.ts';
import { EmailTokenStore } from '../../src/server/accounts/email.ts';
import type { MailRenderer, MailRequest } from '../../src/server/mail/mail-queue.ts';
import { manualClock } from '../../src/server/platform/clock.ts';
import { createRateLimits, type RateLimits } from '../../src/server/platform/limits/rate-limits.ts';
import { hashToken } from '../../src/server/platform/tokens.ts';
import { forEachDatabase } from '../for-each-database.ts';
import { startAccounts } from './accounts-fixture.ts';
import { tokenOf } from './email-fixture.ts';
import { PASSWORD } from './test-user-client.ts';

const AGAIN = '/api/user/email/confirmation';
const CONFIRM = '/api/user/email/confirm';
const RESET = '/api/user/password-reset';
const OLD = 'old@example.org';
const NEW = 'new@example.org';
const ANOTHER_PASSWORD = 'another fine password';
const INVALID = formatMessage('link_invalid', 'en');

forEachDatabase((_name, open) => {
  /** Accounts whose e-mails the test renders, so that it can change anything between a request and its e-mail. */
  const start = async ({ isEnabled = true, limits }: { isEnabled?: boolean; limits?: RateLimits } = {}) => {
    const queued: MailRequest[] = [];
    const renderers = new Map<string, MailRenderer>();
    const service = await startAccounts(await open(), {
      dependencies: {
        mailer: {
          isEnabled,
          isScheduled: async () => false,
          registerKind: (kind, render) => void renderers.set(kind, render),
          enqueue: async (_trx, mail) => queued.push(mail) > 0,
        },
        ...(limits !== undefined && { limits }),
      },
    });
    const { kysely } = service.database;
    /** The content sent for a queued e-mail now; undefined if nothing is sent. */
    const render = (mail: MailRequest | undefined) => {
      assert.ok(mail !== undefined, 'a mail was queued');
      return renderers.get(mail.kind)?.({ params: {}, ...mail });
    };
    return {
      ...service,
      queued,
      render,
      /** The token of the most recently requested link. */
      lastToken: async () => tokenOf(await render(queued.at(-1))),
      /** Changes the stored account without the service's knowledge. */
      store: (
        id: number,
        columns: { email?: string; login_email?: string | null; email_confirmed_at?: number | null },
      ) => kysely.updateTable('accounts').set(columns).where('id', '=', id).execute(),
      loginEmailOf: async (id: number) =>
        (await kysely.selectFrom('accounts').select('login_email').where('id', '=', id).executeTakeFirst())
          ?.login_email,
      disable: async (id: number) => {
        const root = service.anonymous();
        await root.logIn('root', 'root-password-1');
        await root.ok('PUT', `/api/admin/users/${id}`, { status: 2 });
      },
    };
  };
  const confirmedAs = (email: string) => ({ email, login_email: email, email_confirmed_at: 1 });

  it('counts every e-mail for its recipient and in total, and requests of an account or network for it too', async () => {
    const consumed: string[] = [];
    const real = createRateLimits({ clock: manualClock() });
    const limits: RateLimits = {
      ...real,
      define(rule) {
        const limiter = real.define(rule);
        return {
          consume: (key, points) => {
            if (/email|reset/.test(rule.name)) consumed.push(`${rule.name} ${key}`);
            return limiter.consume(key, points);
          },
          penalty: (key, points) => limiter.penalty(key, points),
          refund: (key, points) => limiter.refund(key, points),
          peek: (key) => limiter.peek(key),
          reset: (key) => limiter.reset(key),
        };
      },
    };
    const { newUser, anonymous, store, close } = await start({ limits });
    const ada = await newUser('ada');
    await store(ada.id, { email: OLD });
    const counts = async (send: () => Promise<unknown>) => {
      consumed.length = 0;
      await send();
      return [...consumed].sort((one, other) => (one < other ? -1 : 1));
    };
    const eva = { username: 'eva', password: PASSWORD, email: NEW };
    const registered = await counts(() => anonymous().ok('POST', '/api/user/register', eva));
    assert.deepEqual(registered, ['email-all all', `email-recipient ${NEW}`]);
    assert.deepEqual(await counts(() => ada.ok('POST', AGAIN)), [
      `email-account ${ada.id}`,
      'email-all all',
      `email-recipient ${OLD}`,
    ]);
    const change = (email: string, original_password?: string, more = {}) => ({ email, original_password, ...more });
    const SELF = '/api/user/self';
    for (const [email, more] of [
      ['next@example.org', {}],
      ['last@example.org', { password: ANOTHER_PASSWORD }],
    ] as const)
      assert.deepEqual(await counts(() => ada.ok('PUT', SELF, change(email, PASSWORD, more))), [
        `email-account ${ada.id}`,
        'email-all all',
        `email-recipient ${email}`,
      ]);
    const unproved = async () => {
      await ada.fails(400, 'PUT', SELF, change(NEW));
      await ada.fails(200, 'PUT', SELF, change(NEW, 'not the password'));
    };
    assert.deepEqual(await counts(unproved), [], 'without the password nothing is sent');
    assert.deepEqual(await counts(() => anonymous().ok('POST', RESET, { email: 'OLD@example.org' })), [
      'email-all all',
      `email-recipient ${OLD}`,
      'password-reset-address 127.0.0.1',
    ]);
    const use = { token: 'none', password: ANOTHER_PASSWORD };
    assert.deepEqual(await counts(() => anonymous().fails(200, 'POST', `${RESET}/confirm`, use)), [
      'password-reset-address 127.0.0.1',
    ]);
    await close();
  });

  it('reports an e-mail address as confirmed only where it counts for sign-in', async () => {
    for (const [isEnabled, columns, expected] of [
      [false, {}, { email: '', confirmed: false }],
      [false, { email: OLD }, { email: OLD, confirmed: false }],
      [false, { email: OLD, login_email: OLD }, { email: OLD, confirmed: true }],
      [true, { email: OLD, login_email: OLD }, { email: OLD, confirmed: false }],
      [true, { email: OLD, login_email: NEW, email_confirmed_at: 1 }, { email: OLD, confirmed: false }],
      [true, confirmedAs(OLD), { email: OLD, confirmed: true }],
    ] as const) {
      const { newUser, store, close } = await start({ isEnabled });
      const ada = await newUser('ada');
      if (Object.keys(columns).length > 0) await store(ada.id, columns);
      assert.deepEqual(await ada.ok('GET', '/api/user/email'), { ...expected, can_confirm: isEnabled });
      await close();
    }
  });

  it('takes an address from an account that never confirmed it, and revokes older links of the account that did', async () => {
    const { database, newUser, anonymous, store, lastToken, loginEmailOf, close } = await start();
    const [ada, eva] = [await newUser('ada'), await newUser('eva')];
    // As before the service sent e-mails, when addresses counted at once.
    await store(ada.id, { email: NEW, login_email: NEW, email_confirmed_at: null });
    await store(eva.id, confirmedAs(OLD));
    await anonymous().ok('POST', RESET, { email: OLD });
    await lastToken();
    await store(eva.id, { email: NEW });
    await eva.ok('POST', AGAIN);
    const [first, second] = [await lastToken(), await lastToken()];
    assert.equal(await anonymous().fails(200, 'POST', CONFIRM, { token: 'none' }), INVALID);
    await anonymous().ok('POST', CONFIRM, { token: first });
    assert.deepEqual([await loginEmailOf(ada.id), await loginEmailOf(eva.id)], [null, NEW]);
    assert.equal(await anonymous().fails(200, 'POST', CONFIRM, { token: second }), INVALID);
    assert.deepEqual(await database.kysely.selectFrom('email_tokens').selectAll().execute(), []);
    await close();
  });

  it('sends no link for an address or password that has changed since the request', async () => {
    const { newUser, anonymous, store, queued, render, disable, close } = await start();
    const [ada, eva, old] = [await newUser('ada'), await newUser('eva'), await newUser('old')];
    await store(ada.id, { email: OLD });
    await ada.ok('POST', AGAIN);
    const confirmation = queued.at(-1);
    assert.match((await render(confirmation))?.text ?? '', /confirm-email#/);
    await store(ada.id, { email: NEW });
    assert.equal(await render(confirmation), undefined, 'the address is another');
    const gone = confirmation && { ...confirmation, params: { userId: '999' } };
    assert.equal(await render(gone), undefined, 'the account is gone');

    await store(eva.id, confirmedAs('eva@example.org'));
    await anonymous().ok('POST', RESET, { email: 'eva@example.org' });
    const reset = queued.at(-1);
    assert.match((await render(reset))?.text ?? '', /reset-password#/);
    await disable(eva.id);
    assert.equal(await render(reset), undefined, 'the account is disabled');
    await store(old.id, { email: 'b@example.org', login_email: 'b@example.org', email_confirmed_at: null });
    assert.equal(await render(reset && { ...reset, recipient: 'b@example.org' }), undefined, 'it was never confirmed');
    assert.equal(await render(reset && { ...reset, recipient: 'none@example.org' }), undefined);
    await ada.ok('PUT', '/api/user/self', { email: 'third@example.org', original_password: PASSWORD });
    await close();
  });

  it('sends nothing to the address of a removed account', async () => {
    const { newUser, store, queued, render, close } = await start();
    const ada = await newUser('ada');
    await store(ada.id, confirmedAs(OLD));
    await ada.ok('PUT', '/api/user/self', { email: NEW, original_password: PASSWORD });
    const notice = queued.find(({ recipient }) => recipient === OLD);
    assert.match((await render(notice))?.text ?? '', /account\/security/);
    assert.equal(await render(notice && { ...notice, params: { userId: '999' } }), undefined);
    await close();
  });

  it('T34: a new password voids an address that is not confirmed, unless entered along with it', async () => {
    const { newUser, anonymous, store, queued, render, loginEmailOf, close } = await start();
    const ada = await newUser('ada');
    await store(ada.id, confirmedAs(OLD));
    const enter = async (change: object) => {
      await ada.ok('PUT', '/api/user/self', change);
      return queued.findLast(({ recipient }) => recipient === NEW);
    };
    const entered = await enter({ email: NEW, original_password: PASSWORD });
    const token = tokenOf(await render(entered));
    await ada.ok('PUT', '/api/user/self', { password: ANOTHER_PASSWORD, original_password: PASSWORD });
    assert.equal((await ada.ok('GET', '/api/user/self')).email, OLD);
    assert.equal(await anonymous().fails(200, 'POST', CONFIRM, { token }), INVALID);
    assert.equal(await render(entered), undefined);
    const both = { email: NEW, password: PASSWORD, original_password: ANOTHER_PASSWORD };
    await anonymous().ok('POST', CONFIRM, { token: tokenOf(await render(await enter(both))) });
    assert.equal(await loginEmailOf(ada.id), NEW);
    await close();
  });

  it('T34: a session alone does not restore an address that a new password has just voided', async (test) => {
    const { newUser, store, database, queued, close } = await start();
    const ada = await newUser('ada');
    await store(ada.id, { ...confirmedAs(OLD), email: NEW });
    const transaction = database.transaction.bind(database);
    const voidFirst: typeof transaction = async (work) => {
      await store(ada.id, { email: OLD });
      return transaction(work);
    };
    test.mock.method(database, 'transaction', voidFirst, { times: 1 });
    await ada.ok('PUT', '/api/user/self', { email: NEW, display_name: 'Countess' });
    const { email, display_name } = await ada.ok('GET', '/api/user/self');
    assert.deepEqual([email, display_name, queued], [OLD, 'Countess', []]);
    await close();
  });

  it('sets a password only for an enabled account, by a link to its sign-in address, and confirms no other one', async () => {
    const { newUser, anonymous, store, lastToken, disable, close } = await start();
    const [ada, eva] = [await newUser('ada'), await newUser('eva')];
    const linkFor = async (id: number, email: string) => {
      await store(id, confirmedAs(email));
      await anonymous().ok('POST', RESET, { email });
      return lastToken();
    };
    const use = (token: string) =>
      anonymous().fails(200, 'POST', `${RESET}/confirm`, { token, password: ANOTHER_PASSWORD });
    const moved = await linkFor(ada.id, OLD);
    await store(ada.id, confirmedAs(NEW));
    assert.equal(await use(moved), INVALID, 'its address logs in no more');
    const banned = await linkFor(eva.id, 'eva@example.org');
    await disable(eva.id);
    assert.equal(await use(banned), formatMessage('account_disabled', 'en'));

    const reset = await linkFor(ada.id, NEW);
    await store(ada.id, { email: 'third@example.org' });
    await ada.ok('POST', AGAIN);
    const confirmation = await lastToken();
    const answers = await Promise.all(
      Array.from({ length: 4 }, () =>
        anonymous().send('POST', `${RESET}/confirm`, { token: reset, password: ANOTHER_PASSWORD }),
      ),
    );
    assert.deepEqual(
      answers.map(({ status }) => status),
      [200, 200, 200, 200],
    );
    assert.equal(answers.filter(({ body }) => body.message === INVALID).length, 3);
    assert.equal(await anonymous().fails(200, 'POST', CONFIRM, { token: confirmation }), INVALID);
    await close();
  });

  it('finds a token by hash and purpose until it expires, and deletes those of one account and purpose', async () => {
    const database = await open();
    const store = new EmailTokenStore(database);
    const hash = hashToken('t');
    const token = { hash, user_id: 1, purpose: 'reset', email: OLD, issued_by: null, expires_at: 10 } as const;
    await store.insert(token);
    const find = async (...key: Parameters<typeof store.find>) => (await store.find(...key)) !== undefined;
    assert.deepEqual(
      [
        await find(hash, 'reset', 9),
        await find(hash, 'reset', 10),
        await find(hash, 'confirm', 9),
        await find('x', 'reset', 9),
      ],
      [true, false, false, false],
    );
    const consume = (...[key, purpose, now]: Parameters<typeof store.find>) =>
      database.transaction((trx) => store.consume(trx, key, purpose, now));
    assert.equal(await consume(hash, 'reset', 10), undefined);
    assert.equal(await consume(hash, 'confirm', 9), undefined);
    await store.insert({ ...token, hash: 'other', purpose: 'confirm' });
    await store.insert({ ...token, hash: 'foreign', user_id: 2 });
    await database.transaction((trx) => store.deleteOfUser(trx, 1, 'reset'));
    assert.deepEqual(
      [await find(hash, 'reset', 0), await find('other', 'confirm', 0), await find('foreign', 'reset', 0)],
      [false, true, true],
    );
    assert.deepEqual(await consume('foreign', 'reset', 9), { ...token, hash: 'foreign', user_id: 2 });
  });
});
