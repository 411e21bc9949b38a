import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { manualClock } from '../platform/clock.ts';
import { startHttp } from '../platform/http/start-http-server.fixture.ts';
import type { LedgerFilter, LedgerReportStore } from './ledger-reports.ts';
import { addQuotaRoutes, type QuotaRouteDependencies } from './routes.ts';

const ENTRY = { id: 1, user_id: 2, kind: 'settle', amount: -5, plan_amount: 0, created_at: 61_999 };

describe('ledger endpoints and public ids', () => {
  let http: Awaited<ReturnType<typeof startHttp>>;
  const asked: LedgerFilter[] = [];

  before(async () => {
    http = await startHttp({
      authenticator: {
        account: async () => ({ kind: 'session', userId: 1, role: 'root', sessionId: 1 }),
        model: () => assert.fail('no route of the model API'),
      },
    });
    addQuotaRoutes(http.routes, {
      database: {},
      clock: manualClock(),
      usage: {
        async entries(filter: LedgerFilter) {
          asked.push(filter);
          const refs = ['task_inner', 'task_same', 'req_x'];
          return { rows: refs.map((ref) => ({ ...ENTRY, ref })), total: 9 };
        },
      } as unknown as LedgerReportStore,
      tasks: {
        internalIdOf: async (id: string) => (id === 'outer' ? 'task_inner' : undefined),
        publicIds: async (ids: readonly string[]) => {
          assert.deepEqual(ids, ['task_inner', 'task_same'], 'requests have no other name');
          return new Map([['task_inner', 'outer']]);
        },
        prompts: async () => new Map([['task_inner', 'A boat']]),
      },
      findAuthors: async () => () => ({ submitted_by: 'mia', organization: 'studio' }),
    } as unknown as QuotaRouteDependencies);
    await http.start();
  });
  after(() => http.close(0));

  const list = async (query: string) => {
    asked.length = 0;
    const { status, body } = await http.send('GET', `/api/admin/ledger?${query}`);
    assert.equal(status, 200, body);
    return JSON.parse(body) as { data: Record<string, unknown>[]; total: number };
  };

  it('return public ids of tasks, and ids of requests', async () => {
    const { data, total } = await list('');
    assert.equal(total, 9);
    assert.deepEqual(
      data.map(({ task_id, prompt, request_id, created_time }) => [task_id, prompt, request_id, created_time]),
      [
        ['outer', 'A boat', '', 61],
        ['task_same', undefined, '', 61],
        ['', undefined, 'req_x', 61],
      ],
    );
  });

  it('accept the internal or the public id of a task as a filter', async () => {
    await list('task_id=outer&user_id=7&kind=refund');
    assert.deepEqual(asked, [{ userId: 7, ref: 'task_inner', kind: 'refund' }]);
    await list('task_id=req_x');
    assert.deepEqual(asked, [{ ref: 'req_x' }]);
    await list('');
    assert.deepEqual(asked, [{}]);
  });
});
