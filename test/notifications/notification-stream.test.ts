import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { Notice } from '../../src/server/notifications/notifier.ts';
import { openLog } from '../../src/server/platform/log.ts';
import type { TestUser } from '../accounts/test-user-client.ts';
import { forEachDatabase } from '../for-each-database.ts';
import { startTestService, type TestService } from '../test-service.ts';
import { NotificationStreamClient } from './notification-stream-client.ts';

const noticeFor = (userId: number, title: string): Notice => ({
  userId,
  topic: 'task.failed',
  type: 'system',
  title: { en: title, 'zh-CN': title },
  content: { en: '', 'zh-CN': '' },
  targetUrl: '',
});

/** The promise is one second; a busy test machine gets half a second more. */
const SECONDS_TO_CLOSE = 1.5;

forEachDatabase((name, _open, freshUrl) => {
  let url: string;
  let service: TestService;
  let ann: TestUser;
  let bob: TestUser;
  before(async () => {
    url = await freshUrl();
    service = await startTestService(url);
    ann = await service.signUp('ann');
    bob = await service.signUp('bob');
  });
  after(() => service.stop());

  const tell = (userId: number, title: string, on = service) =>
    on.app.database.transaction((trx) => on.app.notifications.notifier.notify(trx, noticeFor(userId, title)));
  const announce = (title: string) => service.root.ok('POST', '/api/admin/announcements', { title, content: 'all' });

  it('sends each notification only to its owner, with the unread count', async () => {
    const stream = new NotificationStreamClient(service.url, ann);
    const others = new NotificationStreamClient(service.url, bob);
    await Promise.all([stream.waitFor((s) => s.unread() === 0), others.waitFor((s) => s.unread() === 0)]);
    await tell(ann.id, 'one');
    await stream.waitFor((s) => s.titles().includes('one') && s.unread() === 1);
    await announce('for all');
    await stream.waitFor((s) => s.titles().includes('for all') && s.unread() === 2);
    await others.waitFor((s) => s.titles().includes('for all') && s.unread() === 1);
    const newest = stream.events.findLast(({ event }) => event === 'notification')?.data.id;
    await ann.ok('POST', `/api/notifications/${newest}/read`);
    await stream.waitFor((s) => s.unread() === 1);
    await ann.ok('POST', '/api/notifications/mark-read');
    await stream.waitFor((s) => s.unread() === 0);
    assert.deepEqual([stream.titles(), others.titles()], [['one', 'for all'], ['for all']]);
    await Promise.all([stream.stop(), others.stop()]);
    for (let i = 0; i < 200 && service.app.notifications.streams.size > 0; i++) await delay(10);
    assert.equal(service.app.notifications.streams.size, 0);
  });

  it('asks proxies neither to store, compress nor buffer it', async () => {
    const { headers } = await fetch(`${service.url}/api/notifications/stream`, {
      method: 'HEAD',
      headers: { cookie: `session=${ann.cookies.get('session')}`, 'service-api-user': String(ann.id) },
    });
    assert.deepEqual(
      ['content-type', 'cache-control', 'x-accel-buffering'].map((name) => headers.get(name)),
      ['text/event-stream; charset=utf-8', 'no-store, no-transform', 'no'],
    );
  });

  it('sends each notification exactly once across broken connections, while others arrive', async () => {
    const wanted = Array.from({ length: 120 }, (_, i) => `n${i}`);
    let cursor: string | undefined;
    let stream = new NotificationStreamClient(service.url, ann);
    await stream.waitFor((s) => s.lastId !== '');
    const got: (string | undefined)[] = [];
    const writing = (async () => {
      for (let i = 0; i < wanted.length; i += 6) {
        await Promise.all(wanted.slice(i, i + 6).map((title, n) => (n === 5 ? announce(title) : tell(ann.id, title))));
      }
    })();
    for (let round = 0; round < 8; round++) {
      await delay(20);
      await stream.stop();
      got.push(...stream.titles());
      cursor = stream.lastId || cursor;
      stream = new NotificationStreamClient(service.url, ann, cursor);
    }
    await writing;
    await stream.waitFor((s) => got.length + s.titles().length >= wanted.length);
    await delay(50);
    await stream.stop();
    got.push(...stream.titles());
    assert.equal(got.length, wanted.length);
    assert.deepEqual(new Set(got), new Set(wanted));
    assert.equal(await ann.ok('GET', '/api/notifications/unread-count'), wanted.length);
  });

  it('passes over pages of announcements from before the account', async () => {
    for (let i = 0; i < 100; i++) await announce(`older ${i}`);
    const person = await service.signUp('newcomer');
    const stream = new NotificationStreamClient(service.url, person, '0.0');
    await announce('for newcomers');
    await stream.waitFor((s) => s.unread() === 1 && s.titles().length > 0);
    assert.deepEqual(stream.titles(), ['for newcomers']);
    await stream.stop();
  });

  it('ignores a malformed cursor', async () => {
    for (const junk of ['abc', '1e9.2', '-1.-1', '9'.repeat(60)]) {
      const stream = new NotificationStreamClient(service.url, ann, junk);
      await stream.waitFor((s) => s.unread() !== undefined);
      assert.deepEqual(stream.titles(), []);
      await stream.stop();
    }
  });

  it('needs a credential, and limits the streams of an account', async () => {
    const nobody = await fetch(`${service.url}/api/notifications/stream`);
    assert.equal(nobody.status, 401);
    await nobody.body?.cancel();
    const person = await service.signUp('with-many');
    const streams = Array.from({ length: 32 }, () => new NotificationStreamClient(service.url, person));
    await Promise.all(streams.map((stream) => stream.waitFor((s) => s.unread() === 0)));
    const refused = await person.send('GET', '/api/notifications/stream');
    assert.deepEqual([refused.status, refused.body.success], [429, false]);
    await Promise.all(streams.map((stream) => stream.stop()));
  });

  const events: Record<string, (person: TestUser) => Promise<unknown>> = {
    'its session logs out': (person) => person.ok('POST', '/api/user/logout'),
    'its account is disabled': ({ id }) => service.root.ok('PUT', `/api/admin/users/${id}`, { status: 2 }),
    'its account is deleted': ({ id }) => service.root.ok('DELETE', `/api/admin/users/${id}`),
  };
  for (const [index, [event, end]] of Object.entries(events).entries())
    it(`closes a stream within a second when ${event}, on every process (T33, T34)`, async () => {
      const second =
        name === 'sqlite'
          ? undefined
          : await startTestService(url, { MASTER_KEY: service.masterKey }, { log: openLog('silent') });
      const person = await service.signUp(`leaving-${index}`);
      const stream = new NotificationStreamClient((second ?? service).url, person);
      await stream.waitFor((s) => s.unread() === 0);
      await end(person);
      const endedAt = performance.now();
      await stream.done;
      const seconds = (performance.now() - endedAt) / 1000;
      assert.ok(seconds <= SECONDS_TO_CLOSE, `closed after ${seconds} s`);
      await tell(person.id, 'too late');
      assert.deepEqual(stream.titles(), []);
      await second?.stop();
    });

  // SQLite serves a single process.
  if (name !== 'sqlite')
    it('delivers notifications written by other processes', async () => {
      const key = service.masterKey;
      const second = await startTestService(url, { MASTER_KEY: key }, { log: openLog('silent') });
      const person = await service.signUp('across');
      const stream = new NotificationStreamClient(second.url, person);
      await stream.waitFor((s) => s.unread() === 0);
      await tell(person.id, 'from the first');
      await stream.waitFor((s) => s.titles().includes('from the first'));
      await stream.stop();
      await second.stop();
    });
  if (name !== 'sqlite')
    it('keeps later notifications unread while another process marks all as read', async () => {
      const second = await startTestService(url, { MASTER_KEY: service.masterKey }, { log: openLog('silent') });
      const person = await service.signUp('marked-elsewhere');
      const headers = { cookie: `session=${person.cookies.get('session')}`, 'service-api-user': String(person.id) };
      const markAll = async () => {
        const answer = await fetch(`${second.url}/api/notifications/mark-read`, { method: 'POST', headers });
        assert.equal(((await answer.json()) as { success: boolean }).success, true);
      };
      await Promise.all([
        ...Array.from({ length: 40 }, (_, index) => tell(person.id, `n${index}`)),
        ...Array.from({ length: 6 }, markAll),
      ]);
      const rows = await person.ok<{ is_read: boolean }[]>('GET', '/api/notifications/?page_size=50');
      const open = rows.filter(({ is_read }) => !is_read).length;
      assert.deepEqual([rows.length, await person.ok('GET', '/api/notifications/unread-count')], [40, open]);
      await markAll();
      assert.equal(await person.ok('GET', '/api/notifications/unread-count'), 0);
      await second.stop();
    });
});
