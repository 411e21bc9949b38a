import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import type { TestUser } from '../accounts/test-user-client.ts';
import { forEachDatabase } from '../for-each-database.ts';
import { startTestService, type TestService } from '../test-service.ts';

interface Application {
  readonly id: number;
  readonly feature: string;
  readonly status: string;
  readonly note: string;
  readonly decided_time: number | null;
  readonly decided_by?: number | null;
}
interface Told {
  readonly type: string;
  readonly content: string;
  readonly related_id: number;
  readonly target_url: string;
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

  const fresh = () => service.signUp(`applicant-${count++}`);
  const apply = async (person: TestUser, feature = 'longer videos') =>
    (await person.ok<{ id: number }>('POST', '/api/beta-applications', { feature, reason: 'Films.' })).id;
  const own = (person: TestUser) => person.ok<Application[]>('GET', '/api/beta-applications');
  const results = async (person: TestUser) =>
    (await person.ok<Told[]>('GET', '/api/notifications/')).filter(({ type }) => type === 'beta_result');
  const pending = () => root.ok<number>('GET', '/api/notifications/pending-count');

  it('is decided once, and the applicant is notified', async () => {
    const person = await fresh();
    const before = await pending();
    const id = await apply(person);
    assert.equal(await pending(), before + 1);
    const toDos = await root.ok<Told[]>('GET', '/api/notifications/');
    assert.deepEqual([toDos[0]?.type, toDos[0]?.related_id], ['admin_beta', id]);
    const decisions = await Promise.all(
      Array.from({ length: 8 }, (_, i) =>
        root.send('POST', `/api/admin/beta-applications/${id}/${i % 2 === 0 ? 'approve' : 'reject'}`, {
          note: `n${i}`,
        }),
      ),
    );
    assert.equal(decisions.filter(({ body }) => body.success).length, 1);
    assert.equal(await pending(), before);
    const [row] = await own(person);
    const won = decisions.findIndex(({ body }) => body.success);
    assert.deepEqual([row?.status, row?.note], [won % 2 === 0 ? 'approved' : 'rejected', `n${won}`]);
    assert.ok((row?.decided_time ?? 0) > 0);
    assert.ok(!('decided_by' in (row ?? {})));
    const heard = await results(person);
    assert.deepEqual(
      heard.map((one) => [one.related_id, one.target_url, one.content.endsWith(`\nn${won}`)]),
      [[id, '/beta-applications', true]],
    );
    assert.equal((await root.ok<Application>('GET', `/api/admin/beta-applications/${id}`)).decided_by, root.id);
  });

  it('exists once per feature, and may be sent again after a rejection', async () => {
    const person = await fresh();
    const sent = await Promise.all(
      Array.from({ length: 6 }, () =>
        person.send('POST', '/api/beta-applications', { feature: ' mail ', reason: 'x' }),
      ),
    );
    assert.equal(sent.filter(({ body }) => body.success).length, 1);
    const [first] = await own(person);
    assert.equal(first?.feature, 'mail');
    await root.ok('POST', `/api/admin/beta-applications/${first?.id}/reject`);
    const again = await apply(person, 'mail');
    await root.ok('POST', `/api/admin/beta-applications/${again}/approve`);
    await person.fails(200, 'POST', '/api/beta-applications', { feature: 'mail', reason: 'x' });
    assert.deepEqual(
      (await own(person)).map(({ status }) => status),
      ['approved', 'rejected'],
    );
    await root.ok('DELETE', `/api/admin/beta-applications/${again}`);
    await apply(person, 'mail');
  });

  it('lists the features of the setting, and refuses a setting that lists none', async () => {
    const person = await fresh();
    const features = () => person.ok('GET', '/api/beta-applications/features');
    assert.deepEqual(await features(), []);
    await service.setSiteSetting(
      'BETA_FEATURES',
      ' Storyboards : one script, several shots\r\n\n分镜：一次生成\nMail\nMail: b',
    );
    assert.deepEqual(await features(), [
      { name: 'Storyboards', description: 'one script, several shots' },
      { name: '分镜', description: '一次生成' },
      { name: 'Mail', description: '' },
    ]);
    for (const value of [
      ':',
      ': no name',
      'Mail\n: no name',
      'x'.repeat(101),
      `x:${'y'.repeat(301)}`,
      'x\n'.repeat(21),
    ])
      await root.fails(400, 'PUT', '/api/admin/settings/BETA_FEATURES', { value });
    await service.setSiteSetting('BETA_FEATURES', null);
    assert.deepEqual(await features(), []);
  });

  it('refuses invalid input, and access by other accounts', async () => {
    const person = await fresh();
    const id = await apply(person);
    for (const body of [
      {},
      { feature: 'x' },
      { feature: ' ', reason: 'x' },
      { feature: 'x'.repeat(101), reason: 'x' },
      { feature: 'x', reason: 'x'.repeat(2_001) },
      { feature: {}, reason: 'x' },
      { feature: 'x', reason: '\u0000' },
    ])
      await person.fails(400, 'POST', '/api/beta-applications', body);
    for (const verdict of ['approve', 'reject']) {
      await person.fails(403, 'POST', `/api/admin/beta-applications/${id}/${verdict}`);
      await root.fails(400, 'POST', `/api/admin/beta-applications/${id}/${verdict}`, { note: 7 });
      await root.fails(400, 'POST', `/api/admin/beta-applications/abc/${verdict}`);
      await root.fails(200, 'POST', `/api/admin/beta-applications/999999999/${verdict}`);
    }
    await root.fails(400, 'GET', '/api/admin/beta-applications?status=all');
    const { body } = await root.send('GET', `/api/admin/beta-applications?user_id=${person.id}&status=pending`);
    assert.deepEqual([body.total, (body.data as Application[])[0]?.id], [1, id]);
    assert.deepEqual(await own(await fresh()), []);
  });
});
