import assert from 'node:assert/strict';
import { it } from 'node:test';
import { formatMessage } from '../../src/contract/messages/format-message.ts';
import type { AccountsDependencies } from '../../src/server/accounts/module.ts';
import { forEachDatabase } from '../for-each-database.ts';
import { startAccounts } from './accounts-fixture.ts';
import { startEmailService, tokenOf } from './email-fixture.ts';
import { PASSWORD } from './test-user-client.ts';

const AGAIN = '/api/user/email/confirmation';
const CONFIRM = '/api/user/email/confirm';
const RESET = '/api/user/password-reset';

forEachDatabase((_name, open, freshUrl) => {
  /** An account with an e-mail address, on a service with this mailer. */
  const startWith = async (mailer: AccountsDependencies['mailer']) => {
    const service = await startAccounts(await open(), { dependencies: { mailer } });
    const ada = await service.newUser('ada');
    const { kysely } = service.database;
    await kysely.updateTable('accounts').set({ email: 'ada@example.org' }).where('id', '=', ada.id).execute();
    return { service, ada };
  };

  it('requests no e-mail where the service sends none', async () => {
    const enqueued: unknown[] = [];
    const { service, ada } = await startWith({
      isEnabled: false,
      registerKind: () => {},
      isScheduled: async () => false,
      enqueue: async (_trx, mail) => enqueued.push(mail) > 0,
    });
    const refusal = formatMessage('mail_off', 'en');
    assert.equal(await ada.fails(200, 'POST', AGAIN), refusal);
    assert.equal(await ada.fails(200, 'POST', RESET, { email: 'ada@example.org' }), refusal);
    assert.deepEqual(enqueued, []);
    await service.close();
  });

  it('reports when no e-mail can be queued', async () => {
    const { service, ada } = await startWith({
      isEnabled: true,
      registerKind: () => {},
      isScheduled: async () => false,
      enqueue: async () => false,
    });
    await ada.fails(503, 'POST', AGAIN);
    await ada.fails(503, 'POST', RESET, { email: 'ada@example.org' });
    await service.close();
  });

  it('sends no link without an address, or when nothing needs confirmation', async () => {
    const service = await startEmailService(await freshUrl());
    const none = service.visitor();
    await none.register('none');
    await none.logIn('none');
    assert.match(await none.fails(200, 'POST', AGAIN), /No such e-mail address/);
    const done = await service.join('done');
    await service.visitor().ok('POST', CONFIRM, { token: tokenOf((await service.mailsTo('done@example.org'))[0]) });
    await done.logIn('done');
    await done.ok('POST', AGAIN);
    assert.equal((await service.mailsTo('done@example.org')).length, 1);
    await service.stop();
  });

  it('reserves a confirmed address against another account that entered it too', async () => {
    const service = await startEmailService(await freshUrl());
    const first = await service.join('first');
    const second = service.visitor();
    await second.ok('POST', '/api/user/register', {
      username: 'second',
      password: PASSWORD,
      email: 'first@example.org',
    });
    await second.logIn('second');
    const tokens = (await service.mailsTo('first@example.org')).map(tokenOf);
    assert.equal(tokens.length, 2);
    const state = async (person: typeof first, username: string) => {
      await person.logIn(username);
      return (await person.ok('GET', '/api/user/email')).confirmed;
    };
    const [mine, theirs] = tokens;
    await service.visitor().ok('POST', CONFIRM, { token: mine });
    const confirmedFirst = await state(first, 'first');
    assert.equal(
      await service.visitor().fails(200, 'POST', CONFIRM, { token: theirs }),
      formatMessage('email_taken', 'en'),
    );
    assert.deepEqual([await state(first, 'first'), await state(second, 'second')], [confirmedFirst, !confirmedFirst]);
    await service.stop();
  });

  it('T34: notifies the owner when a link sets the password, and the old address when the address changes', async () => {
    const service = await startEmailService(await freshUrl());
    const { app } = service;
    const ada = await service.join('ada');
    await service.visitor().ok('POST', CONFIRM, { token: tokenOf((await service.mailsTo('ada@example.org'))[0]) });
    await ada.logIn('ada');
    await ada.ok('PUT', '/api/user/self', { email: 'new@example.org', original_password: PASSWORD });
    const notice = (await service.mailsTo('ada@example.org')).at(-1);
    const links = notice?.text.match(/https?:\S+/g) ?? [];
    assert.equal(links.length, 1);
    assert.equal(new URL(links[0] ?? '').pathname, '/account/security');
    await service.visitor().ok('POST', RESET, { email: 'ada@example.org' });
    const token = tokenOf((await service.mailsTo('ada@example.org')).at(-1));
    const password = 'another fine password';
    await service.visitor().ok('POST', `${RESET}/confirm`, { token, password });
    const again = service.visitor();
    await again.logIn('ada', password);
    const { data } = (await again.send('GET', '/api/notifications/')).body;
    assert.ok((data as { title: string }[]).some(({ title }) => title === 'Your password was changed'));
    const { kysely } = app.database;
    const entries = await kysely.selectFrom('audit_log').select('action').where('actor_id', '=', ada.id).execute();
    const actions = entries.map(({ action }) => action);
    for (const action of ['self.email', 'self.email-confirmed', 'self.password-reset'])
      assert.ok(actions.includes(action), action);
    await service.stop();
  });
});
