import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import fc from 'fast-check';
import { isConsolePath } from '../../src/server/notifications/announcements.ts';
import type { TestUser } from '../accounts/test-user-client.ts';
import { forEachDatabase } from '../for-each-database.ts';
import { NotificationStreamClient } from '../notifications/notification-stream-client.ts';
import { startTestService, type TestService } from '../test-service.ts';
import { HOSTILE_TEXTS } from './hostile-texts.ts';

const EVIL_TARGETS = [
  '//evil.example',
  '/\\evil.example',
  '\\\\evil.example',
  '/\t/evil.example',
  '/\n/evil.example',
  '/..//evil.example',
  '/a/..//evil.example',
  '/.//evil.example',
  'https:evil.example',
  'https://evil.example',
  'javascript:alert(1)',
  'JaVaScRiPt:alert(1)',
  'java\nscript:alert(1)',
  'data:text/html,x',
  'vbscript:x',
  'evil.example',
  './x',
  '?x',
  '#x',
  '@evil.example',
  '/\u2028/evil',
  '/／evil.example',
  ' /tickets',
  '/tick ets',
];

it('no accepted target leaves the origin, however it is parsed', () => {
  const pieces = fc.constantFrom(
    '/',
    '\\',
    '.',
    '..',
    '%2f',
    '%5c',
    ':',
    '@',
    '?',
    '#',
    '\t',
    '\n',
    'evil.example',
    'x',
  );
  const paths = fc.oneof(
    fc.array(pieces, { maxLength: 8 }).map((parts) => `/${parts.join('')}`),
    fc.string({ unit: 'binary', maxLength: 20 }),
    fc.webPath(),
  );
  fc.assert(
    fc.property(paths, (path) => {
      if (!isConsolePath(path) || path === '') return;
      for (const base of ['https://console.example', 'http://127.0.0.1:3000/tickets/1?x=1']) {
        const url = new URL(path, base);
        assert.equal(url.origin, new URL(base).origin);
        // A router that splits the path off the URL and resolves it again must stay on the same origin too.
        assert.equal(new URL(url.pathname + url.search + url.hash, base).origin, new URL(base).origin);
      }
    }),
    { numRuns: 5_000 },
  );
});

forEachDatabase((_name, _open, freshUrl) => {
  let service: TestService;
  let root: TestUser;
  let ann: TestUser;
  before(async () => {
    service = await startTestService(await freshUrl());
    root = service.root;
    ann = await service.signUp('ann');
  });
  after(() => service.stop());

  const assertHarmless = (headers: Readonly<Record<string, unknown>>): void => {
    assert.match(String(headers['content-type']), /^application\/json/);
    assert.equal(headers['x-content-type-options'], 'nosniff');
  };

  it('keeps hostile text unchanged in every field and for both sides, only as JSON', async () => {
    for (const text of HOSTILE_TEXTS) {
      const category = [...text].slice(0, 64).join('');
      const { id } = await ann.ok<{ id: number }>('POST', '/api/tickets', { title: text, content: text, category });
      await ann.ok('POST', `/api/tickets/${id}/replies`, { content: text });
      await root.ok('POST', `/api/admin/tickets/${id}/replies`, { content: text });
      const own = await ann.send('GET', `/api/tickets/${id}`);
      assertHarmless(own.headers);
      const ticket = own.body.data as {
        title: string;
        content: string;
        category: string;
        replies: { content: string }[];
      };
      assert.deepEqual(
        [ticket.title, ticket.content, ticket.category, ...ticket.replies.map(({ content }) => content)],
        [text, text, category, text, text],
      );
      const found = await root.send('GET', `/api/admin/tickets?category=${encodeURIComponent(category)}`);
      assertHarmless(found.headers);
      assert.ok((found.body.data as { id: number }[]).some((row) => row.id === id));
    }
  });

  it('keeps it in applications and their notes', async () => {
    for (const [index, text] of HOSTILE_TEXTS.slice(0, 24).entries()) {
      const feature = `${index} ${[...text].slice(0, 80).join('')}`.trim();
      const { id } = await ann.ok<{ id: number }>('POST', '/api/beta-applications', { feature, reason: text });
      await root.ok('POST', `/api/admin/beta-applications/${id}/reject`, { note: text });
      const row = await root.ok<Record<string, unknown>>('GET', `/api/admin/beta-applications/${id}`);
      assert.deepEqual([row.feature, row.reason, row.note], [feature, text, text]);
    }
  });

  it('sends it through the live stream without a forged event', async () => {
    const stream = new NotificationStreamClient(service.url, ann);
    await stream.waitFor((listening) => listening.unread() !== undefined);
    const texts = HOSTILE_TEXTS.slice(0, 24);
    for (const title of texts) await root.ok('POST', '/api/admin/announcements', { title, content: title });
    await stream.waitFor((listening) => listening.titles().length >= texts.length);
    await stream.stop();
    assert.deepEqual(stream.titles(), texts);
    assert.ok(
      stream.events.every(({ event, id }) => ['notification', 'unread'].includes(event) && /^\d+\.\d+$/.test(id)),
    );
    assert.ok(stream.events.every(({ id }) => id !== '9.9'));
  });

  it('T86: accepts no target that leads away', async () => {
    for (const target_url of EVIL_TARGETS) {
      await root.fails(400, 'POST', '/api/admin/announcements', { title: 'x', content: 'x', target_url });
    }
    const { id } = await root.ok<{ id: number }>('POST', '/api/admin/announcements', { title: 'x', content: 'x' });
    for (const target_url of EVIL_TARGETS)
      await root.fails(400, 'PUT', `/api/admin/announcements/${id}`, { target_url });
    const rows = await ann.ok<{ target_url: string }[]>('GET', '/api/notifications/?page_size=50');
    for (const { target_url } of rows) assert.ok(isConsolePath(target_url), target_url);
  });

  it('answers invalid filters with a list or an error', async () => {
    const lists = ['/api/tickets', '/api/admin/tickets', '/api/beta-applications', '/api/admin/beta-applications'];
    const own = ['/api/notifications/', '/api/notifications/unread-count', '/api/admin/announcements'];
    const values = [
      '%25%25%25%25',
      '%00',
      '-1',
      '1e9',
      '1000000000',
      '999999999999999999999',
      "'%20or%201=1--",
      '',
      'x'.repeat(4_000),
    ];
    const keys = [
      'page',
      'page_size',
      'status',
      'user_id',
      'category',
      'feature',
      'unprocessed',
      'audience',
      'sort',
      '__proto__',
    ];
    for (const path of [...lists, ...own])
      for (const key of keys)
        for (const value of values) {
          const { status, body } = await root.send('GET', `${path}?${key}=${value}`);
          const known = status === 200 ? body.success === true : [400, 414].includes(status) && body.success === false;
          assert.ok(known, `${path}?${key}=${value.slice(0, 30)}: ${status} ${JSON.stringify(body).slice(0, 200)}`);
        }
  });
});
