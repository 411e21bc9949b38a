import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { allocateRequestBytes, concatRequestBytes, toRequestBytes } from './request-bytes.ts';

describe('request memory', () => {
  it('shares slabs among small pieces only, which never overlap', () => {
    const pieces = Array.from({ length: 500 }, (_, index) => allocateRequestBytes(index % 97).fill(index % 251));
    for (const [index, piece] of pieces.entries()) {
      assert.equal(piece.length, index % 97);
      assert.ok(piece.every((byte) => byte === index % 251));
    }
    const pooled = Buffer.allocUnsafe(10);
    assert.ok(pieces.every(({ buffer }) => buffer !== pooled.buffer));
    assert.ok(new Set(pieces.map(({ buffer }) => buffer)).size <= 4);
  });

  it('allocates a large piece separately, so that it can be released by itself', () => {
    const piece = allocateRequestBytes(5_000);
    assert.equal(piece.buffer.byteLength, 5_000);
  });

  it('concatenates parts in order, and encodes text as UTF-8', () => {
    const parts = ['{"a":', '', '1}'].map((part) => Buffer.from(part));
    assert.equal(concatRequestBytes(parts).toString(), '{"a":1}');
    assert.equal(concatRequestBytes([]).length, 0);
    assert.equal(toRequestBytes('Zürich 影').toString(), 'Zürich 影');
  });
});
