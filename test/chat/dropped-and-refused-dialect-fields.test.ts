import assert from 'node:assert/strict';
import { test } from 'node:test';
import { treatmentsOfFields } from '../../scripts/docs/chat-dialects.ts';

/** What docs/chat-dialects.md says of each field; that it is up to date is tested with the other generated documents. */
test('no field of a dialect is left out in silence on its way to another', () => {
  const rows = treatmentsOfFields().flatMap(({ title, rows: fields }) => fields.map((row) => ({ title, ...row })));
  assert.deepEqual(
    rows.filter(({ treatments }) => treatments.includes('default')).map(({ title, field }) => `${title}: ${field}`),
    ["Anthropic's Messages: thinking: adaptive"],
  );
  assert.ok(rows.length > 150);
});

test('what is forced or reaches out is refused at every upstream, and the rest of a dialect passes at its own', () => {
  const rows = treatmentsOfFields().flatMap(({ rows: fields }) => fields);
  const refused = rows
    .filter(({ treatments }) => treatments.every((each) => each === 'refused'))
    .map(({ field }) => field);
  for (const field of [
    'service_tier: priority',
    'previous_response_id, conversation',
    'background: true',
    'web_search_options',
  ])
    assert.ok(refused.includes(field), field);
  assert.equal(rows.filter(({ treatments }) => treatments.includes('same')).length > 140, true);
});
