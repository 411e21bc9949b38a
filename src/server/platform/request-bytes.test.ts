import assert from 'node:assert/strict';
import { it } from 'node:test';
import { concatRequestBytes, toRequestBytes } from './request-bytes.ts';

it('concatenates parts in order, and encodes text as UTF-8, in memory of its own', () => {
  const parts = ['{"a":', '', '1}'].map((part) => Buffer.from(part));
  for (const [bytes, text] of [
    [concatRequestBytes(parts), '{"a":1}'],
    [concatRequestBytes([]), ''],
    [toRequestBytes('Zürich 影'), 'Zürich 影'],
  ] as const) {
    assert.equal(bytes.toString(), text);
    assert.equal(bytes.buffer.byteLength, bytes.length);
  }
});
