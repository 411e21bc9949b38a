import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { isConsolePath } from '../../src/server/notifications/announcements.ts';
import type { Notice } from '../../src/server/notifications/notifier.ts';
import { parseCursor } from '../../src/server/notifications/streams.ts';
import type { TestUser } from '../accounts/test-user-client.ts';
import { forEachDatabase } from '../for-each-database.ts';
import { startTestService, type TestService } from '../test-service.ts';

interface Row {
  readonly id: number;
  readonly user_id: number;
  readonly type: string;
  readonly title: string;
  readonly content: string;
  readonly is_read: boolean;
  readonly related_id: number;
  readonly target_url: string;
  readonly created_at: number;
}
interface List {
  readonly data: Row[];
  readonly total: number;
  readonly unread_count: number;
  readonly has_more: boolean;
}

const KEYS = ['content', 'created_at', 'id', 'is_read', 'related_id', 'target_url', 'title', 'type', 'user_id'];

const noticeFor = (userId: number, change: Partial<Notice> = {}): Notice => ({
  userId,
  topic: 'task.failed',
  type: 'system',
  title: { en: 'A title', 'zh-CN': '标题' },
  content: { en: 'Words', 'zh-CN': '内容' },
  targetUrl: '/tasks/task_1',
  ...change,
});

it('T86: targets lead only into the console', () => {
  for (const good of ['', '/', '/tickets/12', '/tasks/task_x?tab=1#a', '/%2f%2fevil.example'])
    assert.ok(isConsolePath(good), good);
  for (const bad of [
    '//evil.example',
    '/\\evil.example',
    '\\\\evil',
    'javascript:alert(1)',
    'https://evil.example',
    '/\t/evil.example',
    '/.//evil.example',
    ' /x',
    '/a b',
    'x',
    '/\u202e',
  ])
    assert.ok(!isConsolePath(bad), bad);
});

it('accepts only cursors', () => {
  assert.deepEqual(parseCursor('12.7'), { own: 12, announced: 7 });
  for (const junk of [undefined, '', '1', '1.', '-1.2', '1.2.3', 'a.b', '1e3.2', ' 1.2'])
    assert.equal(parseCursor(junk), undefined);
});

forEachDatabase((_name, _open, freshUrl) => {
  let service: TestService;
  let ann: TestUser;
  let bob: TestUser;
  let count = 0;
  before(async () => {
    service = await startTestService(await freshUrl());
    ann = await service.signUp('ann');
    bob = await service.signUp('bob');
  });
  after(() => service.stop());

  const tell = (notice: Notice) =>
    service.app.database.transaction((trx) => service.app.notifications.notifier.notify(trx, notice));
  const list = async (person: TestUser, query = '', headers?: Record<string, string>) => {
    const { body, status } = await person.send('GET', `/api/notifications/${query}`, undefined, headers);
    assert.equal(status, 200, JSON.stringify(body));
    return body as unknown as List;
  };
  const unread = async (person: TestUser, query = '') =>
    Number(await person.ok<number>('GET', `/api/notifications/unread-count${query}`));
  const fresh = () => service.signUp(`somebody-${count++}`);

  it('lists with exactly the contract’s keys, newest first, in the language of the reader', async () => {
    const person = await fresh();
    await tell(noticeFor(person.id, { relatedId: 3 }));
    await tell(noticeFor(person.id, { title: { en: 'Second', 'zh-CN': '第二' } }));
    const { body } = await person.send('GET', '/api/notifications/');
    assert.deepEqual(Object.keys(body), ['success', 'data', 'total', 'unread_count', 'has_more']);
    const found = await list(person);
    assert.deepEqual(Object.keys(found.data[0] ?? {}).sort(), KEYS);
    assert.deepEqual([found.total, found.unread_count, found.has_more], [2, 2, false]);
    assert.deepEqual(
      found.data.map(({ title, user_id, type, is_read, related_id }) => [title, user_id, type, is_read, related_id]),
      [
        ['Second', person.id, 'system', false, 0],
        ['A title', person.id, 'system', false, 3],
      ],
    );
    const chinese = await list(person, '', { 'accept-language': 'zh-CN' });
    assert.equal(chinese.data[0]?.title, '第二');
    const bare = await person.send('GET', '/api/notifications');
    assert.deepEqual(bare.body, body);
    const counted = await person.send('GET', '/api/notifications/unread-count');
    assert.deepEqual(counted.body, { success: true, data: 2 });
  });

  it('pages, limits page_size to 50, and ignores invalid values', async () => {
    const person = await fresh();
    await service.app.database.transaction(async (trx) => {
      for (let i = 0; i < 55; i++) await service.app.notifications.notifier.notify(trx, noticeFor(person.id));
    });
    const first = await list(person);
    assert.deepEqual([first.data.length, first.total, first.has_more], [20, 55, true]);
    const cut = await list(person, '?page_size=1000');
    assert.deepEqual([cut.data.length, cut.has_more], [50, true]);
    const last = await list(person, '?page=3');
    assert.deepEqual([last.data.length, last.has_more], [15, false]);
    assert.equal(
      new Set([...first.data, ...(await list(person, '?page=2')).data, ...last.data].map(({ id }) => id)).size,
      55,
    );
    for (const junk of [
      'page=0',
      'page=-1',
      'page=abc',
      'page=1e3',
      'page_size=0',
      'page_size=%00',
      'status=%25%25',
      'audience=admin',
      'status=read&page_size=x',
    ])
      assert.ok([200, 400].includes((await person.send('GET', `/api/notifications/?${junk}`)).status), junk);
    assert.deepEqual((await list(person, '?page=0&page_size=nonsense&status=nonsense')).data, first.data);
    assert.deepEqual((await list(person, '?page=999999999')).data, []);
    for (const twice of ['page=1&page=2', 'status=unread&status=x'])
      await person.fails(400, 'GET', `/api/notifications/?${twice}`);
  });

  it('marks one and all as read, and counts exactly', async () => {
    const person = await fresh();
    for (let i = 0; i < 3; i++) await tell(noticeFor(person.id));
    const [newest, second] = (await list(person)).data;
    await person.ok('POST', `/api/notifications/${newest?.id}/read`);
    await person.ok('POST', `/api/notifications/${newest?.id}/read`);
    assert.equal(await unread(person), 2);
    const open = await list(person, '?status=unread');
    assert.deepEqual([open.total, open.data.length, open.data[0]?.id], [2, 2, second?.id]);
    const marked = await person.send('POST', '/api/notifications/mark-read');
    assert.deepEqual(marked.body, { success: true, message: '' });
    assert.equal(await unread(person), 0);
    await tell(noticeFor(person.id));
    const later = await list(person);
    assert.deepEqual(
      later.data.map(({ is_read }) => is_read),
      [false, true, true, true],
    );
    assert.deepEqual([later.unread_count, (await list(person, '?status=unread')).total], [1, 1]);
  });

  it("responds identically to every id that is not the account's own", async () => {
    await tell(noticeFor(ann.id));
    const foreign = (await list(ann)).data[0]?.id;
    for (const id of [
      foreign,
      0,
      -1,
      '1.5',
      '1e3',
      'abc',
      '%20',
      '99999999999999999999',
      '9007199254740993',
      9007199254740991,
      '٣',
    ])
      assert.equal(
        await bob.fails(200, 'POST', `/api/notifications/${encodeURIComponent(String(id))}/read`),
        'Invalid notification ID.',
      );
    assert.equal((await list(ann)).data[0]?.is_read, false);
  });

  it('notifies once per key', async () => {
    const person = await fresh();
    await Promise.all(Array.from({ length: 5 }, () => tell(noticeFor(person.id, { deduplicationKey: 'only-once' }))));
    const found = await list(person);
    assert.deepEqual([found.total, found.unread_count, found.data.length], [1, 1, 1]);
  });

  it('keeps nothing of a rolled back transaction', async () => {
    const person = await fresh();
    const undone = service.app.database.transaction(async (trx) => {
      await service.app.notifications.notifier.notify(trx, noticeFor(person.id));
      throw new Error('undone');
    });
    await assert.rejects(undone, /undone/);
    assert.deepEqual([(await list(person)).total, await unread(person)], [0, 0]);
  });

  it('shows to-dos only to administrators who request all', async () => {
    const { notifier } = service.app.notifications;
    const text = { en: 'To do', 'zh-CN': '待办' };
    const rootSaw = await unread(service.root);
    await service.app.database.transaction((trx) =>
      notifier.notifyAdministrators(trx, {
        type: 'admin_ticket',
        topic: 'ticket',
        exceptUserId: ann.id,
        title: text,
        content: text,
        targetUrl: '/admin/tickets/1',
      }),
    );
    assert.equal(await unread(service.root), rootSaw + 1);
    assert.equal((await list(service.root)).data[0]?.type, 'admin_ticket');
    assert.ok((await list(service.root, '?audience=user')).data.every(({ type }) => !type.startsWith('admin_')));
    assert.ok((await list(ann)).data.every(({ type }) => !type.startsWith('admin_')));
    await service.root.ok('POST', '/api/notifications/mark-read?audience=user');
    assert.deepEqual([await unread(service.root, '?audience=user'), await unread(service.root)], [0, 1]);
    await service.root.ok('POST', '/api/notifications/mark-read');
    assert.equal(await unread(service.root), 0);
    assert.equal(await service.root.ok('GET', '/api/notifications/pending-count'), 0);
  });

  it('reaches every account with one row, and records separately who read it', async () => {
    const early = await fresh();
    const rows = async () =>
      (await service.app.database.kysely.selectFrom('notifications').select('id').execute()).length;
    const before = await rows();
    const { id } = await service.root.ok<{ id: number }>('POST', '/api/admin/announcements', {
      title: 'Maintenance',
      content: '<script>alert(1)</script>',
      zh_cn: { title: '维护', content: '今晚维护' },
      target_url: '/packages',
    });
    assert.equal(await rows(), before + 1);
    const late = await fresh();
    assert.equal((await list(late)).total, 0);
    await late.fails(200, 'POST', `/api/notifications/${id}/read`);
    const [shown] = (await list(early)).data;
    assert.deepEqual(
      [shown?.id, shown?.user_id, shown?.type, shown?.content],
      [id, early.id, 'system', '<script>alert(1)</script>'],
    );
    assert.equal((await list(early, '', { 'accept-language': 'zh' })).data[0]?.title, '维护');
    assert.equal(await unread(early), 1);
    await early.ok('POST', `/api/notifications/${id}/read`);
    await early.ok('POST', `/api/notifications/${id}/read`);
    assert.deepEqual(
      [await unread(early), (await list(early)).data[0]?.is_read, (await list(early, '?status=unread')).total],
      [0, true, 0],
    );
    const annSees = await unread(ann);
    assert.ok((await list(ann)).data.some((row) => row.id === id && !row.is_read));
    await ann.ok('POST', '/api/notifications/mark-read');
    assert.equal(await unread(ann), 0);
    assert.ok(annSees > 0);
    const second = await service.root.ok<{ id: number }>('POST', '/api/admin/announcements', {
      title: 'B',
      content: 'b',
    });
    assert.deepEqual([await unread(ann), await unread(early), await unread(late)], [1, 1, 1]);
    await service.root.ok('PUT', `/api/admin/announcements/${second.id}`, { title: 'Better' });
    assert.equal((await list(ann)).data[0]?.title, 'Better');
    await service.root.ok('DELETE', `/api/admin/announcements/${second.id}`);
    assert.deepEqual([await unread(ann), (await list(late)).total], [0, 0]);
    await service.root.fails(200, 'GET', `/api/admin/announcements/${second.id}`);
    for (const target_url of ['//evil.example', 'https://evil.example', 'javascript:alert(1)'])
      await service.root.fails(400, 'POST', '/api/admin/announcements', { title: 'x', content: 'x', target_url });
    await ann.fails(403, 'POST', '/api/admin/announcements', { title: 'x', content: 'x' });
  });

  it('respects preferences, except for security', async () => {
    const person = await fresh();
    await person.ok('PUT', '/api/notifications/preferences', { topics: { 'task.failed': false } });
    await tell(noticeFor(person.id));
    await tell(noticeFor(person.id, { topic: 'security' }));
    assert.equal((await list(person)).total, 1);
    const rows = await person.ok<{ topic: string; in_app: boolean; locked: boolean }[]>(
      'GET',
      '/api/notifications/preferences',
    );
    assert.deepEqual(
      rows.find(({ topic }) => topic === 'task.failed'),
      { topic: 'task.failed', in_app: false, locked: false, mail: false, mail_locked: false },
    );
    assert.match(
      await person.fails(200, 'PUT', '/api/notifications/preferences', { topics: { security: false } }),
      /security/,
    );
    await person.fails(400, 'PUT', '/api/notifications/preferences', { topics: { nonsense: true } });
    await person.fails(400, 'PUT', '/api/notifications/preferences', { topics: { 'task.failed': 'no' } });
    await person.ok('PUT', '/api/notifications/preferences', { topics: { 'task.failed': true } });
    await tell(noticeFor(person.id));
    assert.equal((await list(person)).total, 2);
  });

  it('loses no notification that arrives while all are marked as read', async () => {
    const person = await fresh();
    let marked = 0;
    await Promise.all([
      ...Array.from({ length: 60 }, () => tell(noticeFor(person.id))),
      ...Array.from({ length: 6 }, async () => {
        await person.ok('POST', '/api/notifications/mark-read');
        marked += 1;
      }),
      ...Array.from({ length: 4 }, async () => {
        const [row] = (await list(person, '?status=unread')).data;
        if (row !== undefined) await person.ok('POST', `/api/notifications/${row.id}/read`);
      }),
    ]);
    assert.equal(marked, 6);
    const seen: Row[] = [];
    for (const page of [1, 2]) seen.push(...(await list(person, `?page=${page}&page_size=50`)).data);
    assert.equal(seen.length, 60);
    const open = seen.filter(({ is_read }) => !is_read).length;
    assert.deepEqual([await unread(person), (await list(person, '?status=unread')).total], [open, open]);
    await person.ok('POST', '/api/notifications/mark-read');
    assert.equal(await unread(person), 0);
  });
});
