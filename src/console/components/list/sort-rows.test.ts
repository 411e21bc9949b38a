import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatSort, parseSort } from '../../../contract/responses.ts';
import { nextSort, sortRows } from './sort-rows.ts';

const columns = [
  { sortKey: 'cost', sortValue: ({ cost }: { cost: number | null }) => cost },
  { sortKey: 'name', sortValue: ({ name }: { name: string }) => name },
];
const rows = [
  { name: 'b', cost: 10 },
  { name: 'a', cost: null },
  { name: 'c', cost: 9 },
];
const names = (sort: string | undefined) => sortRows(rows, columns, parseSort(sort)).map(({ name }) => name);

test('rows are sorted by a column, numbers numerically, missing values last', () => {
  assert.deepEqual(names('-cost'), ['b', 'c', 'a']);
  assert.deepEqual(names('cost'), ['c', 'b', 'a']);
  assert.deepEqual(names('name'), ['a', 'b', 'c']);
});

test('a URL without a known column keeps the order', () => {
  for (const sort of [undefined, '', 'price', '--cost', 'Cost', '__proto__', '-'])
    assert.deepEqual(names(sort), ['b', 'a', 'c'], String(sort));
});

test('clicks sort descending, then ascending, then restore the original order', () => {
  const first = nextSort(undefined, 'cost');
  assert.equal(first && formatSort(first), '-cost');
  const second = nextSort(first, 'cost');
  assert.equal(second && formatSort(second), 'cost');
  assert.equal(nextSort(second, 'cost'), undefined);
  assert.deepEqual(nextSort(second, 'name'), { key: 'name', descending: true });
});
