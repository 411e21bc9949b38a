import assert from 'node:assert/strict';
import { it } from 'node:test';
import { PASSWORD } from '../../../test/accounts/person.ts';
import { ROOT, startService } from '../../../test/accounts/service.ts';
import { forEachDatabase } from '../../../test/databases.ts';

forEachDatabase((_name, open) => {
  it('takes a person from registration to an API token', async () => {
    const service = await startService(await open());
    const ada = service.visitor();
    const made = await ada.ok('POST', '/api/user/register', {
      username: 'ada',
      password: PASSWORD,
      email: 'Ada@Example.org',
    });
    assert.deepEqual(Object.keys(made).sort(), ['id', 'username']);
    assert.deepEqual(await ada.logIn('ada'), {
      id: made.id,
      username: 'ada',
      display_name: 'ada',
      role: 'user',
    });
    const self = await ada.ok('GET', '/api/user/self');
    assert.equal(self.email, 'ada@example.org');
    assert.equal(self.quota, 0);
    assert.equal(self.current_package_code, 'none');
    const { key } = await ada.ok<{ key: string }>('POST', '/api/tokens', { name: 'laptop' });
    const caller = await service.accounts.authenticator.model({
      headers: { authorization: `Bearer ${key}` },
      session: undefined,
      address: '127.0.0.1',
    });
    assert.equal(caller.userId, made.id);
    await service.close();
  });

  it('makes the first root account', async () => {
    const service = await startService(await open());
    const root = service.visitor();
    assert.equal((await root.logIn(ROOT.username, ROOT.password)).role, 'root');
    await service.close();
  });
});
