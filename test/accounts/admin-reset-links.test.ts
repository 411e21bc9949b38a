import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { formatMessage } from '../../src/contract/messages/format-message.ts';
import { forEachDatabase } from '../for-each-database.ts';
import { type AccountsFixture, ROOT, startAccounts } from './accounts-fixture.ts';
import { PASSWORD, type TestUser } from './test-user-client.ts';

const NEW_PASSWORD = 'chosen by its owner';
const DAY_MS = 86_400_000;

forEachDatabase((_name, open) => {
  let service: AccountsFixture;
  let root: TestUser;
  before(async () => {
    service = await startAccounts(await open());
    root = service.anonymous();
    await root.logIn(ROOT.username, ROOT.password);
  });
  after(() => service.close());

  const issue = async (by: TestUser, id: number): Promise<string> => {
    const { url } = await by.ok<{ url: string }>('POST', `/api/admin/users/${id}/password-reset`);
    assert.match(url, /^http:\/\/127\.0\.0\.1\/reset-password#rgel_\w{43}$/);
    return url.split('#')[1] ?? '';
  };
  const use = (token: string, password = NEW_PASSWORD) =>
    service.anonymous().send('POST', '/api/user/password-reset/confirm', { token, password });
  const isRefused = async (token: string): Promise<void> =>
    assert.equal((await use(token)).body.message, formatMessage('link_invalid', 'en'));
  const newAdministrator = async (username: string): Promise<TestUser> => {
    const person = await service.newUser(username);
    await root.ok('PUT', `/api/admin/users/${person.id}`, { role: 'admin' });
    await person.logIn(username);
    return person;
  };

  it('sets a new password once, ends every sign-in and is recorded in the audit log', async () => {
    const person = await service.newUser('forgot');
    const token = await issue(root, person.id);
    assert.equal((await use(token)).body.success, true);
    assert.equal((await person.ok('GET', '/api/user/session-end')).reason, 'password_reset');
    await isRefused(token);
    await service.anonymous().fails(200, 'POST', '/api/user/login', { username: 'forgot', password: PASSWORD });
    await service.anonymous().logIn('forgot', NEW_PASSWORD);
    const audit = await root.ok<{ action: string; actor_id: number; after: unknown; target_name: string }[]>(
      'GET',
      `/api/admin/audit?target=user:${person.id}`,
    );
    assert.deepEqual(
      audit.map(({ action, actor_id: actor, target_name: name, after: facts }) => [action, actor, name, facts]),
      [
        ['self.password-reset', person.id, 'forgot', { issued_by: root.id }],
        ['user.password-reset-link', root.id, 'forgot', null],
      ],
    );
  });

  it('is valid for a day, and replaced by the next link', async () => {
    const { id } = await service.newUser('slow');
    const first = await issue(root, id);
    const second = await issue(root, id);
    await isRefused(first);
    service.clock.advance(DAY_MS);
    await isRefused(second);
    const third = await issue(root, id);
    service.clock.advance(DAY_MS - 1);
    assert.equal((await use(third)).body.success, true);
  });

  it('ends with the password it was to replace', async () => {
    const owner = await service.newUser('remembered');
    const before = await issue(root, owner.id);
    await owner.ok('PUT', '/api/user/self', { password: 'chosen meanwhile', original_password: PASSWORD });
    await isRefused(before);
    const again = await issue(root, owner.id);
    await root.ok('PUT', `/api/admin/users/${owner.id}`, { password: 'set by an administrator' });
    await isRefused(again);
  });

  it('is refused for equals, superiors, disabled and unknown accounts, and to users', async () => {
    const [one, two] = [await newAdministrator('staff-one'), await newAdministrator('staff-two')];
    for (const id of [root.id, one.id, two.id])
      assert.equal(
        await one.fails(403, 'POST', `/api/admin/users/${id}/password-reset`),
        formatMessage('rank_too_low', 'en'),
      );
    const user = await service.newUser('disabled-later');
    await user.fails(403, 'POST', `/api/admin/users/${user.id}/password-reset`);
    await root.ok('PUT', `/api/admin/users/${user.id}`, { status: 2 });
    await one.fails(200, 'POST', `/api/admin/users/${user.id}/password-reset`);
    await one.fails(200, 'POST', '/api/admin/users/999999/password-reset');
  });

  it('opens no account promoted above its issuer, and none once the issuer has lost the role', async () => {
    const [staff, rising, other] = [
      await newAdministrator('issuer'),
      await service.newUser('rising'),
      await service.newUser('unaffected'),
    ];
    const [toRising, toOther] = [await issue(staff, rising.id), await issue(staff, other.id)];
    await root.ok('PUT', `/api/admin/users/${rising.id}`, { role: 'admin' });
    await isRefused(toRising);
    await root.ok('PUT', `/api/admin/users/${staff.id}`, { status: 2 });
    await isRefused(toOther);
    await service.anonymous().logIn('rising');
    await service.anonymous().logIn('unaffected');
  });

  it('only one of several concurrent uses succeeds', async () => {
    const { id } = await service.newUser('raced');
    const token = await issue(root, id);
    const passwords = ['the first of three', 'the second of three', 'the third of three'];
    const answers = await Promise.all(passwords.map((password) => use(token, password)));
    assert.equal(answers.filter(({ body }) => body.success).length, 1);
  });
});
