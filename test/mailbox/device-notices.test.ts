import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import type { TestUser } from '../accounts/test-user-client.ts';
import { type DeviceAuthFixture, startDeviceService, type Tokens } from '../device-auth/device-auth-fixture.ts';
import { forEachDatabase } from '../for-each-database.ts';
import { APP_PASSWORD, APPLY, type AppPasswordRecord, MAILBOX } from './mailbox-fixture.ts';

const TITLE = 'A signed-out device has seen your mailbox password';

forEachDatabase((_name, _open, freshUrl) => {
  let service: DeviceAuthFixture;
  before(async () => {
    service = await startDeviceService(await freshUrl(), { env: { SANDBOX: '1' } });
  });
  after(() => service.app.close());

  let count = 0;
  /** A user with a phone and a signed-in device, and with a mailbox unless `withMailbox` is false. */
  const equip = async (withMailbox = true): Promise<{ person: TestUser; tokens: Tokens }> => {
    const person = await service.newUser(`owner-${count++}`);
    await service.app.database.kysely
      .insertInto('bindings')
      .values({ user_id: person.id, kind: 'phone', value: `+1556${person.id}`, created_at: 0 })
      .execute();
    if (withMailbox) await person.ok('POST', APPLY);
    return { person, tokens: await service.signIn(person, { client_name: 'Desktop' }) };
  };
  const titlesOf = async (person: TestUser): Promise<string[]> => {
    const { body } = await person.send('GET', '/api/notifications/?page_size=50');
    return (body.data as { title: string }[]).map(({ title }) => title);
  };
  const noticesOf = async (person: TestUser) => (await titlesOf(person)).filter((title) => title === TITLE).length;

  it('gives a device full use of the mailbox, including the application password (T03)', async () => {
    const { person, tokens } = await equip();
    const asDevice = (method: 'GET' | 'POST', url: string) => service.sendAsDevice(tokens, person.id, method, url);
    const created = await asDevice('POST', APP_PASSWORD);
    assert.deepEqual([created.status, created.headers['cache-control']], [200, 'no-store']);
    const { app_password, email } = created.body.data as AppPasswordRecord;
    const shown = (await asDevice('GET', APP_PASSWORD)).body.data as AppPasswordRecord;
    assert.deepEqual([shown.app_password, shown.email, shown.consistent], [app_password, email, true]);
    assert.equal(((await asDevice('GET', MAILBOX)).body.data as { email: string }).email, email);
  });

  const reads: Record<string, readonly ['GET' | 'POST', string]> = {
    'read the mailbox password': ['GET', MAILBOX],
    'made an application password': ['POST', APP_PASSWORD],
  };
  for (const [what, [method, url]] of Object.entries(reads))
    it(`notifies the owner when a device ends that ${what}, with a link to replace the password (T03)`, async () => {
      const { person, tokens } = await equip();
      await service.sendAsDevice(tokens, person.id, method, url);
      assert.equal(await noticesOf(person), 0);
      await service.sendAsDevice(tokens, person.id, 'POST', '/api/auth/device/logout');
      const { body } = await person.send('GET', '/api/notifications/');
      const notice = (body.data as { title: string; content: string; target_url: string }[])[0];
      assert.deepEqual([notice?.title, notice?.target_url], [TITLE, '/mailbox']);
      assert.match(notice?.content ?? '', /“Desktop” was signed out\..*create a new application password/);
    });

  it('notifies the owner when a device ends that applied for the mailbox (T03)', async () => {
    const { person, tokens } = await equip(false);
    await service.sendAsDevice(tokens, person.id, 'POST', APPLY);
    await service.sendAsDevice(tokens, person.id, 'POST', '/api/auth/device/logout');
    assert.equal(await noticesOf(person), 1);
  });

  it('does not notify when a device ends that saw no password, or only learned that there is none (T03)', async () => {
    const { person, tokens } = await equip(false);
    for (const url of [MAILBOX, APP_PASSWORD]) await service.sendAsDevice(tokens, person.id, 'GET', url);
    await service.sendAsDevice(tokens, person.id, 'POST', '/api/auth/device/logout');
    assert.equal(await noticesOf(person), 0);
  });

  it('notifies once per device, and never of a session (T03)', async () => {
    const { person, tokens } = await equip();
    const second = await service.signIn(person, { client_name: 'Laptop' });
    await person.ok('GET', MAILBOX);
    for (const each of [tokens, second]) {
      await service.sendAsDevice(each, person.id, 'GET', MAILBOX);
      await service.sendAsDevice(each, person.id, 'GET', MAILBOX);
      await service.sendAsDevice(each, person.id, 'POST', '/api/auth/device/logout');
    }
    assert.equal(await noticesOf(person), 2);
  });
});
