import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { mergeInstanceIncidents } from './incidents.ts';

describe('the incidents of all processes', () => {
  const row = (name: string, seenAt: number, incidents: unknown[] = []) => ({
    name,
    version: '1.0.0',
    started_at: 0,
    seen_at: seenAt,
    incidents: JSON.stringify(incidents),
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
