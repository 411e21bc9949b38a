import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { type EmailFixture, startEmailService } from '../accounts/email-fixture.ts';
import type { TestUser } from '../accounts/test-user-client.ts';
import { forEachDatabase } from '../for-each-database.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

describe('notifications by e-mail', () => {
  forEachDatabase((_name, _open, freshUrl) => {
    let service: EmailFixture;
    let ada: TestUser;
    let number = 0;
    before(async () => {
      service = await startEmailService(await freshUrl());
      // Noon in UTC.
      service.clock.advance(12 * HOUR_MS - (service.clock.now() % (24 * HOUR_MS)));
    });
    after(() => service.stop());
    beforeEach(async () => {
      const name = `ada${++number}`;
      ada = await service.join(name);
      await setConfirmed(ada.id, service.clock.now());
      await service.mailsTo(addressOf());
      service.sender.sent.length = 0;
    });

    const addressOf = () => `ada${number}@example.org`;
    const setConfirmed = (id: number, email_confirmed_at: number | null) =>
      service.app.database.kysely
        .updateTable('accounts')
        .set({ email_confirmed_at, login_email: addressOf() })
        .where('id', '=', id)
        .execute();
    type Notice = Parameters<typeof service.app.notifications.notifier.notify>[1];
    const notify = (title: string, more: Partial<Notice> = {}) =>
      service.app.database.transaction((trx) =>
        service.app.notifications.notifier.notify(trx, {
          userId: ada.id,
          topic: 'ticket',
          type: 'ticket_reply',
          title: { en: title, 'zh-CN': `${title}（中文）` },
          content: { en: 'What happened.', 'zh-CN': '发生的事。' },
          targetUrl: '/tickets/7',
          ...more,
        }),
      );
    const mails = () => service.mailsTo(addressOf());
    const after1Minute = async () => {
      service.clock.advance(MINUTE_MS + 1);
      return mails();
    };
    const settings = (change: object) => ada.ok('PUT', '/api/notifications/mail', change);
    const unread = () =>
      ada.ok<{ id: number; title: string }[]>('GET', '/api/notifications?status=unread').then((rows) => rows);

    it('arrive together a minute later, with links, and say where to change them', async () => {
      await notify('First answer');
      service.clock.advance(10_000);
      await notify('Second answer');
      assert.deepEqual(await mails(), []);
      const [mail, ...more] = await after1Minute();
      assert.deepEqual(more, []);
      assert.match(mail?.subject ?? '', /^2 notifications from /);
      assert.match(mail?.text ?? '', /First answer\nWhat happened\.\nhttp\S+\/tickets\/7\n\nSecond answer/);
      assert.match(mail?.text ?? '', /\/notifications\/settings\n$/);
      // The next notification starts a new e-mail.
      await notify('Third answer');
      const sent = await after1Minute();
      assert.match(sent[1]?.subject ?? '', /^Third answer · /);
    });

    it('are omitted if already read in the console, except for security', async () => {
      await notify('Read soon');
      await ada.ok('POST', '/api/notifications/mark-read');
      assert.deepEqual(await after1Minute(), []);
      await notify('Your password was changed', { topic: 'security', type: 'system' });
      await ada.ok('POST', '/api/notifications/mark-read');
      assert.equal((await mails()).length, 1);
      await notify('Read one');
      await notify('Not read');
      const one = (await unread()).find(({ title }) => title === 'Read one');
      await ada.ok('POST', `/api/notifications/${one?.id}/read`);
      const [, mail] = await after1Minute();
      assert.match(mail?.subject ?? '', /^Not read · /);
    });

    it('wait for the end of the quiet hours, or for the digest, in the time zone and language of the account', async () => {
      await ada.ok('PUT', '/api/user/settings', { time_zone: 'Asia/Shanghai' });
      await settings({ quiet_hours: { from: '20:00', to: '07:00' }, language: 'zh-CN' });
      const shown = await ada.ok('GET', '/api/notifications/mail');
      assert.deepEqual(shown, {
        available: true,
        email: addressOf(),
        time_zone: 'Asia/Shanghai',
        digest_at: null,
        quiet_hours: { from: '20:00', to: '07:00' },
        language: 'zh-CN',
      });
      // Slightly after noon in UTC: evening in Shanghai.
      const now = service.clock.now();
      await notify('At night');
      service.clock.advance(2 * HOUR_MS);
      await notify('Later at night');
      await notify('A new device', { topic: 'device.new', type: 'system' });
      assert.deepEqual(
        (await mails()).map(({ subject }) => subject.split(' · ')[0]),
        ['A new device（中文）'],
      );
      const dayLength = 24 * HOUR_MS;
      const seven = Math.floor(now / dayLength) * dayLength + 23 * HOUR_MS;
      service.clock.advance(seven - service.clock.now() - 1_000);
      assert.equal((await mails()).length, 1);
      service.clock.advance(1_000);
      const [, mail] = await mails();
      assert.match(mail?.text ?? '', /^At night（中文）\n发生的事。.*Later at night/s);
      await settings({ quiet_hours: null, digest_at: '08:30' });
      await notify('For the digest');
      service.clock.advance(HOUR_MS);
      await notify('For the digest too');
      assert.equal((await mails()).length, 2);
      service.clock.advance(HOUR_MS);
      assert.match((await mails())[2]?.subject ?? '', /2 条通知/);
      service.clock.advance(13 * HOUR_MS);
    });

    it('follow the preferences of each topic, independently of the console', async () => {
      const all = await ada.ok<{ topic: string; mail: boolean; mail_locked: boolean }[]>(
        'GET',
        '/api/notifications/preferences',
      );
      const mailed = all.filter(({ mail }) => mail).map(({ topic }) => topic);
      assert.ok(mailed.includes('ticket') && !mailed.includes('task.finished'));
      assert.deepEqual(
        all.filter((row) => row.mail_locked).map(({ topic }) => topic),
        ['device.new', 'security'],
      );
      await ada.ok('PUT', '/api/notifications/preferences', {
        topics: { 'task.finished': false },
        mail: { ticket: false, 'task.finished': true },
      });
      await notify('Not mailed');
      await notify('Only mailed', { topic: 'task.finished', type: 'system', deduplicationKey: 'one' });
      await notify('Only mailed', { topic: 'task.finished', type: 'system', deduplicationKey: 'one' });
      assert.deepEqual(
        (await unread()).map(({ title }) => title),
        ['Not mailed'],
      );
      const sent = await after1Minute();
      assert.deepEqual(
        sent.map(({ subject }) => subject.split(' · ')[0]),
        ['Only mailed'],
      );
      await ada.fails(200, 'PUT', '/api/notifications/preferences', { mail: { security: false } });
      await ada.fails(400, 'PUT', '/api/notifications/preferences', { mail: { nonsense: true } });
    });

    it('go only to confirmed addresses of enabled accounts, using the current address', async () => {
      await setConfirmed(ada.id, null);
      await notify('Nowhere to go');
      assert.deepEqual(await after1Minute(), []);
      await setConfirmed(ada.id, 1);
      await notify('To an address that changes');
      const { kysely } = service.app.database;
      await kysely
        .updateTable('accounts')
        .set({ login_email: `new${number}@example.org` })
        .where('id', '=', ada.id)
        .execute();
      await notify('After the change');
      assert.deepEqual(await after1Minute(), []);
      const [mail, ...more] = await service.mailsTo(`new${number}@example.org`);
      assert.deepEqual(more, []);
      assert.match(mail?.text ?? '', /To an address that changes.*After the change/s);
    });

    it('refuse invalid times', async () => {
      for (const change of [
        { digest_at: '24:00' },
        { digest_at: 8 },
        { quiet_hours: { from: '22:00' } },
        { quiet_hours: { from: '22:00', to: 'dawn' } },
        { language: 'fr' },
      ])
        await ada.fails(400, 'PUT', '/api/notifications/mail', change);
    });
  });
});
