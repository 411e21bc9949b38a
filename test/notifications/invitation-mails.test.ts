import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, beforeEach, describe, it } from 'node:test';
import { sealedInvitationMails } from '../../src/server/organizations/organizations.ts';
import { createVault, openSealed, reencryptColumns } from '../../src/server/platform/vault.ts';
import { type EmailFixture, startEmailService, tokenOf } from '../accounts/email-fixture.ts';
import type { TestUser } from '../accounts/test-user-client.ts';
import { forEachDatabase } from '../for-each-database.ts';

const PATH = '/api/organizations/acme/invitations';
const ADDRESS = 'guest@example.org';

describe('invitations by e-mail', () => {
  forEachDatabase((_name, _open, freshUrl) => {
    let service: EmailFixture;
    let owner: TestUser;
    before(async () => {
      service = await startEmailService(await freshUrl());
      owner = await service.join('olga');
      await owner.ok('POST', '/api/organizations', { slug: 'acme', name: 'Acme Films' });
    });
    after(() => service.stop());
    beforeEach(() => {
      service.sender.refusal = undefined;
      service.sender.sent.length = 0;
    });

    const invite = () =>
      owner.ok<{ id: number; token: string; url: string }>('POST', PATH, { role: 'member', email: ADDRESS });
    const queued = () => service.app.database.kysely.selectFrom('outgoing_mails').selectAll().execute();

    it('wait without a token that readers of the database could use', async () => {
      service.sender.refusal = 'temporary';
      const { token, url } = await invite();
      assert.deepEqual(await service.mailsTo(ADDRESS), []);
      const waiting = JSON.stringify(await queued());
      assert.ok(waiting.includes('Acme Films') && !waiting.includes(token), waiting);
      service.sender.refusal = undefined;
      service.clock.advance(60 * 60_000);
      const [mail, ...more] = await service.mailsTo(ADDRESS);
      assert.deepEqual([tokenOf(mail), more.length], [token, 0]);
      assert.ok(mail?.text.includes(url));
      const guest = await service.join('gus');
      await guest.ok('POST', '/api/organizations/accept', { token });
    });

    it('link to nothing but the invitation, whatever the organization is called', async () => {
      await owner.ok('PUT', '/api/organizations/acme', {
        name: 'Suspended! See https://evil.example/a or a@evil.example',
      });
      const { url } = await invite();
      const [mail] = await service.mailsTo(ADDRESS);
      assert.deepEqual(mail?.text.match(/\S+[.:@]\w\S+/g), [url]);
      assert.doesNotMatch(mail?.subject ?? '', /evil\.example/);
      await owner.ok('PUT', '/api/organizations/acme', { name: 'Acme Films' });
    });

    it('are opened with the new master key after a change', async () => {
      service.sender.refusal = 'temporary';
      const { token } = await invite();
      const { kysely } = service.app.database;
      const [old, fresh] = [Buffer.from(service.masterKey, 'base64'), randomBytes(32)];
      const columns = [sealedInvitationMails(kysely)];
      assert.equal(await reencryptColumns(createVault(fresh, [old]), columns), 1);
      assert.deepEqual(await openSealed(createVault(fresh), columns), []);
      // And back, for the running service.
      assert.equal(await reencryptColumns(createVault(old, [fresh]), columns), 1);
      service.sender.refusal = undefined;
      service.clock.advance(60 * 60_000);
      assert.equal(tokenOf((await service.mailsTo(ADDRESS))[0]), token);
    });

    it('are not sent once they were withdrawn', async () => {
      service.sender.refusal = 'temporary';
      const { id } = await invite();
      await service.mailsTo(ADDRESS);
      await owner.ok('DELETE', `${PATH}/${id}`);
      service.sender.refusal = undefined;
      service.clock.advance(60 * 60_000);
      assert.deepEqual(await service.mailsTo(ADDRESS), []);
      assert.deepEqual(await queued(), []);
    });
  });
});
