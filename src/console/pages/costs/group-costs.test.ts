import assert from 'node:assert/strict';
import { test } from 'node:test';
import { relativeChange, toGroupCosts } from './group-costs.ts';

test('groups are summed and compared with the preceding range, including groups that only appear there', () => {
  const row = (model: string, quota: number) => ({ model, quota, requests: 1, prompt_tokens: 2, completion_tokens: 3 });
  const groups = toGroupCosts([row('a', 10), row('b', 60), row('a', 30)], [row('a', 20), row('c', 5)], 'model');
  assert.deepEqual(
    groups.map(({ key, quota, quotaBefore, share, change, requests, tokens }) =>
      [key, quota, quotaBefore, share, change, requests, tokens].join(),
    ),
    ['b,60,0,0.6,,1,5', 'a,40,20,0.4,1,2,10', 'c,0,5,0,-1,0,0'],
  );
  assert.deepEqual(toGroupCosts([], [], 'channel'), []);
  assert.equal(relativeChange(15, 10), 0.5);
});
