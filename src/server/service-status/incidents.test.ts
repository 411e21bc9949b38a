import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Sample } from '../platform/metrics.ts';
import {
  findAffectedAreas,
  findIncidents,
  mergeInstanceIncidents,
  type Reading,
  WATCHED_METRICS,
  type WatchedMetric,
} from './incidents.ts';

describe('incidents', () => {
  const call = (outcome: string, value: number, channel = '1'): Sample => ({
    labels: { vendor: 'kling', channel, kind: 'submit', outcome },
    value,
  });
  const duration = (part: string, value: number, le?: string): Sample => ({
    labels: { vendor: 'kling', channel: '1', kind: 'poll', part, ...(le === undefined ? {} : { le }) },
    value,
  });
  const durationOf = (vendor: string, kind: string, part: string, value: number, le?: string): Sample => ({
    labels: { ...duration(part, value, le).labels, vendor, kind },
    value,
  });
  const plain = (value: number): Sample[] => [{ labels: {}, value }];

  const reading = (at: number, values: Partial<Record<WatchedMetric, readonly Sample[]>>): Reading => ({
    at,
    values: Object.fromEntries(
      WATCHED_METRICS.map((name) => [name, values[name] ?? []]),
    ) as unknown as Reading['values'],
  });
  /** The incidents found after an empty first reading. */
  const found = (values: Partial<Record<WatchedMetric, readonly Sample[]>>, before = {}) =>
    findIncidents([reading(0, before), reading(600_000, values)]).map(({ id, subjects }) => `${id} ${subjects.join()}`);

  describe('the incidents seen by one process', () => {
    const CASES: readonly (readonly [string, Partial<Record<WatchedMetric, readonly Sample[]>>, string[]])[] = [
      ['calls that went well', { upstream_calls_total: [call('ok', 50), call('capacity', 2)] }, []],
      [
        'a vendor without an answer',
        { upstream_calls_total: [call('unreachable', 3), call('ok', 2)] },
        ['vendor_down kling'],
      ],
      ['half of the calls', { upstream_calls_total: [call('unreachable', 3), call('ok', 3)] }, []],
      [
        'mistakes of callers count neither way',
        { upstream_calls_total: [call('unreachable', 3), call('user', 90)] },
        ['vendor_down kling'],
      ],
      ['a refused key', { upstream_calls_total: [call('auth', 1, '7'), call('auth', 0, '8')] }, ['key_revoked 7']],
      ['an empty account', { upstream_calls_total: [call('billing', 2, '7')] }, ['no_balance 7']],
      [
        'slow polls',
        { upstream_call_seconds: [duration('bucket', 8, '5'), duration('count', 10), duration('sum', 90)] },
        ['vendor_slow kling'],
      ],
      [
        'slow submits at one of two vendors',
        {
          upstream_call_seconds: [
            durationOf('kling', 'submit', 'bucket', 3, '5'),
            durationOf('kling', 'submit', 'count', 3),
            durationOf('vidu', 'submit', 'bucket', 2, '5'),
            durationOf('vidu', 'submit', 'bucket', 3, '10'),
            durationOf('vidu', 'submit', 'count', 3),
          ],
        },
        ['vendor_slow vidu'],
      ],
      ['two slow polls', { upstream_call_seconds: [duration('bucket', 0, '5'), duration('count', 2)] }, []],
      [
        'models, which take their time',
        {
          upstream_call_seconds: [
            durationOf('openai', 'chat', 'bucket', 0, '5'),
            durationOf('openai', 'chat', 'count', 9),
          ],
        },
        [],
      ],
      ['polls fast enough', { upstream_call_seconds: [duration('bucket', 9, '5'), duration('count', 10)] }, []],
      [
        'slow statements',
        {
          db_query_seconds: [
            { labels: { part: 'sum' }, value: 2 },
            { labels: { part: 'count' }, value: 10 },
          ],
        },
        ['database_slow database'],
      ],
      [
        'statements fast enough',
        {
          db_query_seconds: [
            { labels: { part: 'sum' }, value: 1 },
            { labels: { part: 'count' }, value: 10 },
          ],
        },
        [],
      ],
      ['a database that answers', { database_up: plain(1) }, []],
      ['a database that does not answer', { database_up: plain(0) }, ['database_gone database']],
      [
        'a full disk',
        {
          disk_free_bytes: [
            { labels: { volume: 'journal' }, value: 9 },
            { labels: { volume: 'database' }, value: 50 },
          ],
          disk_size_bytes: [
            { labels: { volume: 'journal' }, value: 100 },
            { labels: { volume: 'database' }, value: 100 },
          ],
        },
        ['disk_nearly_full journal'],
      ],
      [
        'a tenth of a disk, and a disk of unknown size',
        {
          disk_free_bytes: [
            { labels: { volume: 'journal' }, value: 10 },
            { labels: { volume: 'database' }, value: 1 },
          ],
          disk_size_bytes: [{ labels: { volume: 'journal' }, value: 100 }],
        },
        [],
      ],
      [
        'a mail server whose answers are lost',
        { mail_server_calls_total: [{ labels: { outcome: 'uncertain' }, value: 1 }] },
        ['mail_server_gone mail'],
      ],
      [
        'a mail server that is away',
        { mail_server_calls_total: [{ labels: { outcome: 'unavailable' }, value: 1 }] },
        ['mail_server_gone mail'],
      ],
      [
        'a mail server that is back',
        {
          mail_server_calls_total: [
            { labels: { outcome: 'unavailable' }, value: 1 },
            { labels: { outcome: 'ok' }, value: 1 },
          ],
        },
        [],
      ],
      ['videos polled in time', { task_oldest_due_seconds: plain(120) }, []],
      ['videos nobody polls', { task_oldest_due_seconds: plain(121) }, ['backlog_grows videos']],
      ['a ledger that does not add up', { ledger_audit_ok: plain(0) }, ['ledger_mismatch ledger']],
      ['a ledger that adds up', { ledger_audit_ok: plain(1) }, []],
      ['a ledger that was not audited yet', {}, []],
      [
        'an account that lost units no video explains',
        {
          reconciliation_unexplained_units: [
            { labels: { channel: '4', vendor: 'vidu' }, value: 80 },
            { labels: { channel: '5', vendor: 'kling' }, value: 0 },
          ],
        },
        ['billing_difference 4'],
      ],
    ];
    for (const [name, values, expected] of CASES) it(name, () => assert.deepEqual(found(values), expected));

    it('counts only increases since the oldest reading', () => {
      const calls = { upstream_calls_total: [call('auth', 5), call('unreachable', 9)] };
      assert.deepEqual(found(calls, calls), []);
    });

    it('reports overdue deliveries and waiting queries only if every reading has some', () => {
      const late = { webhook_backlog: plain(3), db_pool_connections: [{ labels: { state: 'waiting' }, value: 1 }] };
      assert.deepEqual(found(late, late), ['database_slow database', 'webhook_target_dead webhooks']);
      assert.deepEqual(found(late, {}), []);
      assert.deepEqual(findIncidents([reading(0, late)]), []);
    });
  });

  it('affect the areas that cannot work meanwhile, and no others', () => {
    const affected = (values: Partial<Record<WatchedMetric, readonly Sample[]>>) => ({
      ...findAffectedAreas([reading(0, {}), reading(600_000, values)]),
    });
    assert.deepEqual(affected({}), {});
    assert.deepEqual(findAffectedAreas([]), {});
    assert.deepEqual(affected({ database_up: plain(0) }), { sign_in: 'down', video: 'down', chat: 'down' });
    const slow = [
      { labels: { part: 'sum' }, value: 9 },
      { labels: { part: 'count' }, value: 10 },
    ];
    assert.deepEqual(affected({ db_query_seconds: slow }), { sign_in: 'limited', video: 'limited', chat: 'limited' });
    assert.deepEqual(affected({ task_oldest_due_seconds: plain(121) }), { video: 'limited' });
    assert.deepEqual(affected({ upstream_calls_total: [call('unreachable', 3)] }), { video: 'down' });
    assert.deepEqual(affected({ ledger_audit_ok: plain(0), webhook_backlog: plain(1) }), {});
  });
});

describe('the incidents of all processes', () => {
  const row = (name: string, seenAt: number, incidents: unknown[] = []) => ({
    name,
    version: '1.0.0',
    started_at: 0,
    seen_at: seenAt,
    incidents: JSON.stringify(incidents),
    areas: '{}',
  });
  const open = (rows: Parameters<typeof mergeInstanceIncidents>[0]) =>
    mergeInstanceIncidents(rows, 1_000_000)
      .filter(({ is_open }) => is_open)
      .map(({ id, since, subjects }) => [id, since, subjects.join()]);

  it('are thirteen, each open if any process sees it, since the first process saw it', () => {
    assert.equal(mergeInstanceIncidents([], 0).length, 13);
    const down = (since: number, ...subjects: string[]) => ({ id: 'vendor_down', subjects, since });
    assert.deepEqual(open([row('a', 990_000, [down(9, 'vidu')]), row('b', 999_000, [down(4, 'kling', 'vidu')])]), [
      ['vendor_down', 4, 'kling,vidu'],
    ]);
  });

  it('name an unresponsive process and ignore its last incidents', () => {
    const gone = row('a', 900_000, [{ id: 'ledger_mismatch', subjects: ['ledger'], since: 1 }]);
    assert.deepEqual(open([gone, row('b', 999_999)]), [['replica_frozen', 900_000, 'a']]);
  });
});
