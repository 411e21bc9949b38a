import assert from 'node:assert/strict';
import { it } from 'node:test';
import { dateOf, dayOf } from './ledger.ts';

it('dayOf counts UTC days and dateOf formats them', () => {
  assert.equal(dayOf(Date.UTC(1970, 0, 1, 23, 59, 59, 999)), 0);
  assert.equal(dayOf(Date.UTC(2026, 1, 28)) + 1, dayOf(Date.UTC(2026, 2, 1)));
  assert.equal(dateOf(dayOf(Date.UTC(2026, 1, 28, 23))), '2026-02-28');
});
