import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import type { TestUser } from '../accounts/test-user-client.ts';
import { forEachDatabase } from '../for-each-database.ts';
import { startTestService, type TestService } from '../test-service.ts';

interface Reply {
  readonly id: number;
  readonly by_staff: boolean;
  readonly content: string;
  readonly author_id?: number;
  readonly internal?: boolean;
}
interface Ticket {
  readonly id: number;
  readonly title: string;
  readonly content: string;
  readonly status: string;
  readonly waiting_for: string;
  readonly reply_count: number;
  readonly replies: Reply[];
}
interface Told {
  readonly type: string;
  readonly title: string;
  readonly content: string;
  readonly target_url: string;
  readonly related_id: number;
}

forEachDatabase((_name, _open, freshUrl) => {
  let service: TestService;
  let root: TestUser;
  let count = 0;
  before(async () => {
    service = await startTestService(await freshUrl());
    root = service.root;
  });
  after(() => service.stop());

  const fresh = () => service.signUp(`asker-${count++}`);
  const ask = async (person: TestUser, more: object = {}): Promise<number> =>
    (await person.ok<{ id: number }>('POST', '/api/tickets', { title: 'Stuck', content: 'It hangs.', ...more })).id;
  const read = (person: TestUser, id: number) => person.ok<Ticket>('GET', `/api/tickets/${id}`);
  const review = (id: number) => root.ok<Ticket>('GET', `/api/admin/tickets/${id}`);
  const told = (person: TestUser, type: string) =>
    person
      .ok<Told[]>('GET', '/api/notifications/?page_size=50')
      .then((rows) => rows.filter((row) => row.type === type));
  const pending = () => root.ok<number>('GET', '/api/notifications/pending-count');
  const answer = (id: number, body: object) =>
    root.ok<{ id: number }>('POST', `/api/admin/tickets/${id}/replies`, { content: 'Look here.', ...body });

  it('goes from open to closed, and notifies those concerned', async () => {
    const person = await fresh();
    const before = await pending();
    const id = await ask(person, { category: 'video' });
    assert.equal(await pending(), before + 1);
    assert.equal(await person.ok('GET', '/api/notifications/pending-count'), 0);
    const [toDo] = await told(root, 'admin_ticket');
    assert.deepEqual([toDo?.related_id, toDo?.target_url], [id, `/admin/tickets/${id}`]);
    assert.deepEqual(await told(person, 'admin_ticket'), []);

    const { id: replyId } = await answer(id, {});
    assert.equal(await pending(), before);
    const [heard] = await told(person, 'ticket_reply');
    assert.deepEqual([heard?.content, heard?.related_id, heard?.target_url], ['Look here.', id, `/tickets/${id}`]);
    const seen = await read(person, id);
    assert.deepEqual(Object.keys(seen).sort(), [
      'category',
      'content',
      'created_time',
      'id',
      'replies',
      'reply_count',
      'status',
      'task_id',
      'title',
      'updated_time',
      'waiting_for',
    ]);
    assert.deepEqual([seen.status, seen.waiting_for, seen.reply_count], ['open', 'user', 1]);
    assert.deepEqual(
      seen.replies.map((reply) => [reply.id, reply.by_staff, reply.content, Object.keys(reply).length]),
      [[replyId, true, 'Look here.', 5]],
    );

    await person.ok('POST', `/api/tickets/${id}/replies`, { content: 'Still hangs.' });
    assert.equal(await pending(), before + 1);
    assert.equal((await told(root, 'admin_ticket'))[0]?.content, 'Still hangs.');
    assert.deepEqual(
      (await read(person, id)).replies.map(({ by_staff }) => by_staff),
      [true, false],
    );
    await root.ok('PUT', `/api/admin/tickets/${id}`, { status: 'in_progress' });
    await root.ok('PUT', `/api/admin/tickets/${id}`, { status: 'in_progress' });
    assert.equal(await pending(), before);
    assert.equal((await told(person, 'ticket_status')).length, 1);
    await root.ok('PUT', `/api/admin/tickets/${id}`, { status: 'resolved' });
    assert.equal((await read(person, id)).waiting_for, 'nobody');
    await person.ok('POST', `/api/tickets/${id}/replies`, { content: 'Not at all.' });
    assert.deepEqual([(await read(person, id)).status, await pending()], ['open', before + 1]);
    await person.ok('POST', `/api/tickets/${id}/close`);
    assert.deepEqual([(await read(person, id)).status, await pending()], ['closed', before]);
    for (const path of ['close', 'replies'])
      assert.match(await person.fails(200, 'POST', `/api/tickets/${id}/${path}`, { content: 'One more.' }), /closed/);
    assert.match(await root.fails(200, 'POST', `/api/admin/tickets/${id}/replies`, { content: 'One more.' }), /closed/);
    assert.equal((await read(person, id)).reply_count, 3);
    await root.ok('PUT', `/api/admin/tickets/${id}`, { status: 'open' });
    assert.equal(await pending(), before + 1);
  });

  it('shows internal notes only to administrators', async () => {
    const person = await fresh();
    const id = await ask(person);
    const before = await pending();
    await answer(id, { content: 'He has asked twice.', internal: true });
    assert.deepEqual([await pending(), (await told(person, 'ticket_reply')).length], [before, 0]);
    const seen = await read(person, id);
    assert.deepEqual([seen.reply_count, seen.replies], [0, []]);
    assert.deepEqual(
      (await review(id)).replies.map(({ content, internal, author_id }) => [content, internal, author_id]),
      [['He has asked twice.', true, root.id]],
    );
  });

  it('is hidden from other accounts', async () => {
    const [person, other] = [await fresh(), await fresh()];
    const id = await ask(person);
    const missing = await other.fails(200, 'GET', '/api/tickets/999999999');
    assert.equal(await other.fails(200, 'GET', `/api/tickets/${id}`), missing);
    assert.equal(await other.fails(200, 'POST', `/api/tickets/${id}/close`), missing);
    assert.equal(await other.fails(200, 'POST', `/api/tickets/${id}/replies`, { content: 'x' }), missing);
    assert.equal((await other.send('GET', '/api/tickets')).body.total, 0);
    for (const [method, path, body] of [
      ['GET', '', undefined],
      ['GET', `/${id}`, undefined],
      ['PUT', `/${id}`, { status: 'closed' }],
      ['DELETE', `/${id}`, undefined],
      ['POST', `/${id}/replies`, { content: 'x' }],
    ] as const)
      await person.fails(403, method, `/api/admin/tickets${path}`, body);
    assert.equal((await read(person, id)).status, 'open');
  });

  it('refuses invalid tickets, and changes nothing', async () => {
    const person = await fresh();
    for (const body of [
      {},
      { title: 'x' },
      { title: '', content: 'x' },
      { title: ' \n', content: 'x' },
      { title: 'x', content: '\t' },
      { title: 'x'.repeat(201), content: 'x' },
      { title: 'x', content: 'x'.repeat(10_001) },
      { title: 1, content: 'x' },
      { title: 'x', content: ['x'] },
      { title: 'x\u0000', content: 'x' },
      { title: '\ud800', content: 'x' },
      { title: 'x', content: 'x', category: 7 },
      { title: 'x', content: 'x', category: 'x'.repeat(65) },
    ])
      await person.fails(400, 'POST', '/api/tickets', body);
    await person.fails(200, 'POST', '/api/tickets', { title: 'x', content: 'x', task_id: 'task_of_nobody' });
    assert.equal((await person.send('GET', '/api/tickets')).body.total, 0);
    const id = await ask(person, { title: '𝄞'.repeat(200), content: '𝄞'.repeat(10_000) });
    for (const junk of ['0', '-1', '1.5', '1e3', 'abc', '%20', '99999999999999999999', '٣'])
      await person.fails(400, 'GET', `/api/tickets/${junk}`);
    await person.fails(200, 'GET', '/api/tickets/9999999999999999');
    for (const body of [{}, { content: '' }, { content: 'x', seen_replies: -1 }, { content: 'x', seen_replies: '0' }])
      await person.fails(400, 'POST', `/api/tickets/${id}/replies`, body);
    for (const status of ['OPEN', '', 'done', null, 1])
      await root.fails(400, 'PUT', `/api/admin/tickets/${id}`, { status });
    for (const query of [
      'status=nonsense',
      'user_id=%27',
      'user_id=-1',
      'unprocessed=yes',
      'status=open&status=closed',
    ])
      await root.fails(400, 'GET', `/api/admin/tickets?${query}`);
    assert.equal((await read(person, id)).reply_count, 0);
  });

  it('lists and filters', async () => {
    const person = await fresh();
    const ids: number[] = [];
    for (let i = 0; i < 4; i++) ids.push(await ask(person, { category: i % 2 === 0 ? 'even' : '%' }));
    await person.ok('POST', `/api/tickets/${ids[0]}/close`);
    await answer(ids[1] ?? 0, {});
    const list = async (query: string) => {
      const { body } = await root.send('GET', `/api/admin/tickets?user_id=${person.id}${query}`);
      return [(body.data as Ticket[]).map(({ id }) => ids.indexOf(id)), body.total];
    };
    assert.deepEqual(await list(''), [[3, 2, 1, 0], 4]);
    assert.deepEqual(await list('&page_size=3&page=2'), [[0], 4]);
    assert.deepEqual(await list('&page=1000000&page_size=50'), [[], 4]);
    assert.deepEqual(await list('&status=closed'), [[0], 1]);
    assert.deepEqual(await list('&category=even'), [[2, 0], 2]);
    assert.deepEqual(await list('&category=%25'), [[3, 1], 2]);
    assert.deepEqual(await list('&unprocessed=true'), [[3, 2], 2]);
    const own = await person.send('GET', '/api/tickets?status=open');
    assert.deepEqual([(own.body.data as Ticket[]).map(({ id }) => ids.indexOf(id)), own.body.total], [[3, 2, 1], 3]);
  });

  it('accepts only one of several concurrent answers that know the same replies', async () => {
    const person = await fresh();
    for (let round = 0; round < 10; round++) {
      const id = await ask(person);
      const answers = await Promise.all(
        ['one', 'two', 'three'].map((content) =>
          root.send('POST', `/api/admin/tickets/${id}/replies`, { content, seen_replies: 0 }),
        ),
      );
      const refused = answers.filter(({ body }) => !body.success);
      assert.equal(refused.length, 2);
      for (const { body } of refused) assert.match(String(body.message), /in the meantime/);
      const { replies, reply_count } = await review(id);
      assert.deepEqual([replies.length, reply_count], [1, 1]);
    }
    assert.equal((await told(person, 'ticket_reply')).length, 10);
  });

  it('loses no reply, closes once and notifies of each status once under concurrent changes', async () => {
    const person = await fresh();
    const id = await ask(person);
    await Promise.all([
      ...Array.from({ length: 10 }, (_, i) => answer(id, { content: `staff ${i}` })),
      ...Array.from({ length: 10 }, (_, i) =>
        person.ok('POST', `/api/tickets/${id}/replies`, { content: `owner ${i}` }),
      ),
    ]);
    const { replies, reply_count } = await review(id);
    assert.deepEqual([replies.length, reply_count, (await told(person, 'ticket_reply')).length], [20, 20, 10]);
    await Promise.all(
      Array.from({ length: 8 }, () => root.send('PUT', `/api/admin/tickets/${id}`, { status: 'resolved' })),
    );
    assert.equal((await told(person, 'ticket_status')).length, 1);
    const closed = await Promise.all(Array.from({ length: 8 }, () => person.send('POST', `/api/tickets/${id}/close`)));
    assert.equal(closed.filter(({ body }) => body.success).length, 1);
  });

  it('limits the number of replies', async () => {
    const person = await fresh();
    const id = await ask(person);
    await service.app.database.transaction((trx) =>
      trx.updateTable('tickets').set({ entry_count: 199 }).where('id', '=', id).execute(),
    );
    const sent = await Promise.all(
      Array.from({ length: 5 }, () => person.send('POST', `/api/tickets/${id}/replies`, { content: 'x' })),
    );
    assert.equal(sent.filter(({ body }) => body.success).length, 1);
    assert.match(await person.fails(200, 'POST', `/api/tickets/${id}/replies`, { content: 'x' }), /200 replies/);
  });

  it('removes a ticket with its replies, and keeps its actions in the audit log', async () => {
    const person = await fresh();
    const [id, other] = [await ask(person), await ask(person)];
    await answer(id, {});
    await answer(other, {});
    await root.ok('PUT', `/api/admin/tickets/${id}`, { status: 'resolved' });
    await root.ok('DELETE', `/api/admin/tickets/${id}`);
    await root.fails(200, 'DELETE', `/api/admin/tickets/${id}`);
    await person.fails(200, 'GET', `/api/tickets/${id}`);
    const left = await service.app.database.kysely
      .selectFrom('ticket_replies')
      .select('id')
      .where('ticket_id', '=', id)
      .execute();
    assert.deepEqual(left, []);
    assert.equal((await read(person, other)).replies.length, 1);
    const log = await root.ok<{ action: string }[]>('GET', `/api/admin/audit?target=ticket:${id}`);
    assert.deepEqual(
      log.map(({ action }) => action),
      ['ticket.delete', 'ticket.update', 'ticket.reply'],
    );
  });
});
