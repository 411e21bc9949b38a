import assert from 'node:assert/strict';
import { it } from 'node:test';
import { startService } from '../../../test/accounts/service.ts';
import { forEachDatabase } from '../../../test/databases.ts';
import { migrations } from '../migrations.ts';
import { openDatabase } from '../platform/db/database.ts';
import { migrate } from '../platform/db/migrate.ts';
import type { Tables } from '../tables.ts';
import { resetPassword } from './reset-password.ts';

forEachDatabase((_name, open, freshUrl) => {
  it('makes one root when several first starts race, and shows its password once', async () => {
    const url = await freshUrl();
    const databases = [1, 2, 3].map(() => openDatabase<Tables>(url));
    for (const database of databases) await migrate(database, migrations);
    const services = await Promise.all(
      databases.map((database, index) =>
        startService(database, { config: { adminPassword: undefined, adminUsername: `chief-${index % 2}` } }),
      ),
    );
    const shown = services.flatMap((service) => service.shown);
    assert.equal(shown.length, 1);
    const [, username = '', password = ''] = /administrator: (\S+) {2}password: (\S+)/.exec(shown[0] ?? '') ?? [];
    const [service] = services;
    assert.ok(service);
    const root = service.visitor();
    assert.equal((await root.logIn(username, password)).role, 'root');
    assert.equal((await root.send('GET', '/api/admin/users')).body.total, 1);
    for (const each of services) await each.close();
    for (const database of databases) await database.close();
  });

  it('makes no second administrator at a later start, not even when the first is gone', async () => {
    const database = await open();
    const first = await startService(database);
    const root = first.visitor();
    await root.logIn('root', 'root-password-1');
    await root.ok('POST', '/api/admin/users', { username: 'heir', password: 'heir-password', role: 'root' });
    const heir = first.visitor();
    await heir.logIn('heir', 'heir-password');
    await heir.ok('DELETE', `/api/admin/users/${root.id}`);
    const second = await startService(database, { config: { adminPassword: undefined } });
    assert.deepEqual(second.shown, []);
    await second.visitor().fails(200, 'POST', '/api/user/login', { username: 'root', password: 'root-password-1' });
    await first.close();
    await second.close();
  });

  it('resets a password on the server and ends what the old one opened', async () => {
    const database = await open();
    const service = await startService(database);
    const person = await service.person('forgetful');
    const program = await person.program();
    const ended: number[] = [];
    const { password } = await resetPassword(database, 'forgetful', {
      clock: service.clock,
      endsWithAccount: [{ endAll: async (_trx, userId) => void ended.push(userId) }],
    });
    assert.deepEqual(ended, [person.id]);
    await person.fails(401, 'GET', '/api/user/self');
    await program.fails(401, 'GET', '/api/user/self');
    await person.fails(200, 'POST', '/api/user/login', { username: 'forgetful', password: 'correct horse battery' });
    await person.logIn('forgetful', password);
    await assert.rejects(resetPassword(database, 'nobody'), { code: 'not_exist' });
    await service.close();
  });
});
