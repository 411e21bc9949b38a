import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import type { TestUser } from '../../../test/accounts/test-user-client.ts';
import { type DeviceAuthFixture, startDeviceService } from '../../../test/device-auth/device-auth-fixture.ts';
import { forEachDatabase } from '../../../test/for-each-database.ts';

interface Listed {
  readonly id: number;
  readonly name: string;
  readonly client: string;
}

forEachDatabase((_dialect, _open, freshUrl) => {
  let service: DeviceAuthFixture;
  let ada: TestUser;
  let eve: TestUser;
  before(async () => {
    service = await startDeviceService(await freshUrl());
    ada = await service.newUser('ada');
    eve = await service.newUser('eve');
  });
  after(() => service.app.close());

  const devices = (person: TestUser) => person.ok<Listed[]>('GET', '/api/user/devices');
  const signedIn = async (name: string): Promise<Listed> => {
    await service.signIn(ada, { client_name: name });
    const found = (await devices(ada)).find((each) => each.name === name);
    assert.ok(found);
    return found;
  };
  const nameOf = async (id: number) => (await devices(ada)).find((each) => each.id === id)?.name;

  it('shows the device name its owner chose, in one line of at most 100 characters', async () => {
    const { id } = await signedIn('Kitchen');
    await ada.ok('PUT', `/api/user/devices/${id}`, { name: ' My‮ laptop\n ' });
    assert.equal(await nameOf(id), 'My laptop');
    await ada.ok('PUT', `/api/user/devices/${id}`, { name: '🦊'.repeat(100) });
    assert.equal(await nameOf(id), '🦊'.repeat(100));
    await ada.fails(400, 'PUT', `/api/user/devices/${id}`, { name: 'x'.repeat(101) });
    await ada.fails(400, 'PUT', `/api/user/devices/${id}`, {});
    await ada.ok('PUT', `/api/user/devices/${id}`, { name: '' });
    assert.equal(await nameOf(id), '');
    const log = await (await service.root()).ok<{ after: { name: string } }[]>(
      'GET',
      `/api/admin/audit?action=device.rename&target=device:${id}`,
    );
    assert.deepEqual(
      log.map(({ after: { name } }) => name),
      ['', '🦊'.repeat(100), 'My laptop'],
    );
  });

  it("does not rename another account's device, or one that does not exist", async () => {
    const { id } = await signedIn('Hall');
    const foreign = await eve.fails(200, 'PUT', `/api/user/devices/${id}`, { name: 'Mine' });
    assert.equal(await eve.fails(200, 'PUT', '/api/user/devices/999999', { name: 'Mine' }), foreign);
    assert.equal(await nameOf(id), 'Hall');
    const pending = await service.code({ client_name: 'Attic' });
    await service.anonymous().send('GET', `/api/auth/device/verify?user_code=${pending.user_code}`);
    await eve.fails(200, 'PUT', `/api/user/devices/${id + 1}`, { name: 'Mine' });
    await ada.fails(200, 'PUT', `/api/user/devices/${id + 1}`, { name: 'Mine' });
  });

  it('does not allow a device to rename itself or another', async () => {
    const tokens = await service.signIn(ada, { client_name: 'Cellar' });
    const [{ id } = { id: 0 }] = await devices(ada);
    const { status } = await service.sendAsDevice(tokens, ada.id, 'PUT', `/api/user/devices/${id}`, {
      name: 'Harmless',
    });
    assert.equal(status, 403);
    assert.equal(await nameOf(id), 'Cellar');
  });

  it('keeps a name set while the device collects its tokens', async () => {
    for (let round = 0; round < 8; round++) {
      const code = await service.code({ client_name: 'Before' });
      await ada.ok('POST', '/api/auth/device/approve', { user_code: code.user_code });
      const { id } = await service.app.database.kysely
        .selectFrom('device_codes')
        .select('id')
        .where('user_code', '=', code.user_code.replace('-', ''))
        .executeTakeFirstOrThrow();
      const both = [
        () => service.poll(code.device_code),
        () => ada.ok('PUT', `/api/user/devices/${id}`, { name: 'After' }),
      ];
      await Promise.all((round % 2 === 0 ? both : both.toReversed()).map((each) => each()));
      assert.equal(await nameOf(id), 'After');
    }
  });
});
