import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { type DeviceAuthFixture, startDeviceService } from '../../../test/device-auth/device-auth-fixture.ts';
import { forEachDatabase } from '../../../test/for-each-database.ts';

forEachDatabase((_dialect, _open, freshUrl) => {
  let service: DeviceAuthFixture;
  before(async () => {
    service = await startDeviceService(await freshUrl(), { codeLimits: { pendingPerIp: 20 } });
  });
  after(() => service.app.close());

  const request = (clientIp: string, body: Record<string, unknown> = {}) =>
    service.anonymous(clientIp).send('POST', '/api/auth/device/code', { client_id: 'reelgate-cli', ...body });
  const rowCount = async () =>
    (await service.app.database.kysely.selectFrom('device_codes').select('id').execute()).length;

  it('T17: limits an IP to twenty pending codes, and adds no rows beyond that', async () => {
    for (let index = 0; index < 20; index++) assert.equal((await request('192.0.2.1')).body.success, true);
    service.clock.advance(60_000);
    for (let index = 0; index < 30; index++) {
      const refused = await request('192.0.2.1');
      assert.equal(refused.status, 429);
      assert.equal(Number(refused.headers['retry-after']), 540, 'when the first of them expires');
    }
    assert.equal(await rowCount(), 20);
    assert.equal((await request('192.0.2.2')).body.success, true);
    service.clock.advance(540_000);
    assert.equal((await request('192.0.2.1')).body.success, true);
  });

  it('T17: frees a slot when a code is decided or replaced', async () => {
    const ada = await service.newUser('ada');
    const codes = [];
    for (let index = 0; index < 20; index++)
      codes.push(await service.code({ device_id: `device ${index}` }, '192.0.2.3'));
    assert.equal((await request('192.0.2.3')).status, 429);
    assert.equal((await request('192.0.2.3', { device_id: 'another' })).status, 429);
    assert.equal((await request('192.0.2.3', { device_id: 'device 7' })).body.success, true);
    await ada.ok('POST', '/api/auth/device/deny', { user_code: codes[3]?.user_code });
    assert.equal((await request('192.0.2.3')).body.success, true);
    assert.equal((await request('192.0.2.3')).status, 429);
  });

  it('T17: counts a /64 of IPv6 as one IP', async () => {
    for (let index = 0; index < 20; index++) await request(`2001:db8:7:7:${index}::1`);
    assert.equal((await request('2001:db8:7:7:ffff::1')).status, 429);
  });

  it('T17: admits exactly twenty of sixty simultaneous requests', async () => {
    const statuses = await Promise.all(Array.from({ length: 60 }, async () => (await request('192.0.2.4')).status));
    assert.equal(statuses.filter((status) => status === 200).length, 20);
    assert.equal(statuses.filter((status) => status === 429).length, 40);
  });

  it('T17: corrects a count that is too high, as after codes were decided', async () => {
    await request('192.0.2.5');
    const { kysely } = service.app.database;
    const count = () =>
      kysely.selectFrom('device_code_counts').select('codes').where('network', '=', '192.0.2.5').executeTakeFirst();
    await kysely.updateTable('device_code_counts').set({ codes: 20 }).where('network', '=', '192.0.2.5').execute();
    assert.equal((await request('192.0.2.5')).body.success, true);
    assert.equal(Number((await count())?.codes), 2);
  });

  it('T17: follows the setting DEVICE_CODES_PER_ADDRESS, as for an office behind one IP', async (t) => {
    const office = await startDeviceService(await freshUrl(), { codeLimits: {} });
    t.after(() => office.app.close());
    const ask = (clientIp: string) =>
      office.anonymous(clientIp).send('POST', '/api/auth/device/code', { client_id: 'reelgate-cli' });
    for (let index = 0; index < 50; index++) assert.equal((await ask('192.0.2.6')).status, 200);
    assert.equal((await ask('192.0.2.6')).status, 429);
    const root = await office.root();
    await root.ok('PUT', '/api/admin/settings/DEVICE_CODES_PER_ADDRESS', { value: '400' });
    const more = await Promise.all(Array.from({ length: 351 }, async () => (await ask('192.0.2.6')).status));
    assert.equal(more.filter((status) => status === 200).length, 350);
  });
});
