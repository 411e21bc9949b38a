import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import type { TestUser } from '../../../test/accounts/test-user-client.ts';
import {
  CLI,
  type DeviceAuthFixture,
  startDeviceService,
  type Tokens,
} from '../../../test/device-auth/device-auth-fixture.ts';
import { forEachDatabase } from '../../../test/for-each-database.ts';
import { hasValidChecksum } from '../../../test/token-checksum.ts';
import { formatMessage } from '../../contract/messages/format-message.ts';
import { DAY_MS } from '../../contract/time-units.ts';
import { reuseNotice } from './codes.ts';

interface Listed {
  readonly id: number;
  readonly name: string;
  readonly current: boolean;
}

forEachDatabase((_dialect, _open, freshUrl) => {
  let service: DeviceAuthFixture;
  let ada: TestUser;
  let root: TestUser;
  before(async () => {
    service = await startDeviceService(await freshUrl());
    ada = await service.newUser('ada');
    root = await service.root();
  });
  after(() => service.app.close());

  const logOut = (access_token: string) =>
    service.anonymous().send('POST', '/api/auth/device/logout', undefined, { authorization: `Bearer ${access_token}` });
  const revoke = (form: Record<string, string>) =>
    service.app.http.fastify.inject({
      method: 'POST',
      url: '/oauth/revoke',
      payload: new URLSearchParams({ ...form, ...CLI }).toString(),
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    });
  const signIn = async (name: string): Promise<Tokens & { id: number }> => {
    const tokens = await service.signIn(ada, { client_name: name });
    const found = (await ada.ok<Listed[]>('GET', '/api/user/devices')).find((each) => each.name === name);
    assert.ok(found);
    return { ...tokens, id: found.id };
  };

  it('audits how each sign-in ended, its owner, and who ended it', async () => {
    const tokens = {
      end: await signIn('Ended'),
      logout: await signIn('Logged out'),
      revoke: await signIn('Revoked'),
      'refresh-reuse': await signIn('Copied'),
    };
    await ada.ok('DELETE', `/api/user/devices/${tokens.end.id}`);
    assert.equal((await logOut(tokens.logout.access_token)).body.success, true);
    assert.equal((await revoke({ token: tokens.revoke.refresh_token })).statusCode, 200);
    await service.refresh(tokens['refresh-reuse'].refresh_token);
    service.clock.advance(60_001);
    await service.refresh(tokens['refresh-reuse'].refresh_token);
    const actors = { end: ada.id, logout: ada.id, revoke: null, 'refresh-reuse': null };
    const names = { end: 'Ended', logout: 'Logged out', revoke: 'Revoked', 'refresh-reuse': 'Copied' };
    for (const way of ['end', 'logout', 'revoke', 'refresh-reuse'] as const) {
      const rows = await root.ok<Record<string, unknown>[]>(
        'GET',
        `/api/admin/audit?action=device.${way}&target=device:${tokens[way].id}`,
      );
      assert.equal(rows.length, 1, way);
      assert.partialDeepStrictEqual(rows[0], {
        actor_id: actors[way],
        before: { user: ada.id, client: CLI.client_id, name: names[way] },
        after: null,
        address: '127.0.0.1',
      });
    }
  });

  it('keeps no record of the code of an ended sign-in', async () => {
    const [ended, kept] = [await service.code(), await service.code()];
    for (const { user_code, device_code } of [ended, kept]) {
      await ada.ok('POST', '/api/auth/device/approve', { user_code });
      assert.equal((await service.poll(device_code)).success, true);
    }
    const [, first] = await ada.ok<Listed[]>('GET', '/api/user/devices');
    await ada.ok('DELETE', `/api/user/devices/${first?.id}`);
    assert.deepEqual(
      [await service.status(ended.user_code), await service.status(kept.user_code)],
      ['invalid', 'used'],
    );
  });

  it('T30: notifies the owner of a refresh_token that was used twice', async () => {
    const olga = await service.newUser('olga');
    const { refresh_token } = await service.signIn(olga, { client_name: 'Kitchen' });
    await service.refresh(refresh_token);
    service.clock.advance(60_001);
    await service.refresh(refresh_token);
    const { data } = (await olga.send('GET', '/api/notifications/')).body;
    const notices = data as { title: string; content: string; target_url: string }[];
    const [notice] = notices.filter(({ title }) => title === 'A device was signed out for safety');
    assert.match(notice?.content ?? '', /^Reelgate CLI \(“Kitchen”\) used a refresh token/);
    assert.equal(notice?.target_url, '/account/devices');
  });

  it('names a device by its client, and by its own name if it has one', () => {
    const text = (clientName: string) =>
      reuseNotice({ id: 1, userId: 1, clientName, registeredName: 'App' }).content.en.split(' used')[0];
    assert.deepEqual([text(''), text('App'), text('Kitchen')], ['App', 'App', 'App (“Kitchen”)']);
  });

  it('tells a device whether its sign-in was ended or its refresh_token expired', async () => {
    const ended = await signIn('Ended early');
    const used = await signIn('Used and ended');
    await service.refresh(used.refresh_token);
    for (const { id } of [ended, used]) await ada.ok('DELETE', `/api/user/devices/${id}`);
    const messages = async () =>
      Promise.all([ended, used].map(async ({ refresh_token }) => (await service.refresh(refresh_token)).message));
    const [spent, expired] = [formatMessage('refresh_token_spent', 'en'), formatMessage('refresh_token_expired', 'en')];
    assert.deepEqual(await messages(), [spent, spent]);
    service.clock.advance(90 * DAY_MS);
    assert.deepEqual(await messages(), [expired, spent]);
    await ada.logIn('ada');
  });

  it('marks the calling device in the list', async () => {
    const [mine, other] = [await signIn('This one'), await signIn('Another')];
    const { body } = await service.sendAsDevice(mine, ada.id, 'GET', '/api/user/devices');
    const current = (body.data as Listed[]).filter((each) => each.current).map(({ id }) => id);
    assert.deepEqual(current, [mine.id]);
    assert.ok((body.data as Listed[]).some(({ id }) => id === other.id));
  });

  it("names a device's model key after the device, or else its client", async () => {
    const zed = await service.newUser('zed');
    for (const client_name of ['Kitchen', '']) await service.signIn(zed, { client_name });
    const rows = await service.app.database.kysely
      .selectFrom('tokens')
      .select('name')
      .where('user_id', '=', zed.id)
      .where('kind', '=', 'llm')
      .orderBy('id')
      .execute();
    assert.deepEqual(
      rows.map(({ name }) => name),
      ['Kitchen', 'Reelgate CLI'],
    );
  });

  it('issues tokens that leak scanners recognize, also on refresh', async () => {
    const tokens = await signIn('Scanned');
    const refreshed = await service.refresh(tokens.refresh_token);
    assert.equal(refreshed.success, true);
    for (const token of [tokens.access_token, tokens.refresh_token, refreshed.data?.access_token ?? ''])
      assert.equal(hasValidChecksum(token), true);
  });
});
