import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { allocateRequestBytes, concatRequestBytes, toRequestBytes } from './request-bytes.ts';

describe('memory of requests', () => {
  it('is shared by small pieces alone, which never overlap', () => {
    const pieces = Array.from({ length: 500 }, (_, index) => allocateRequestBytes(index % 97).fill(index % 251));
    for (const [index, piece] of pieces.entries()) {
      assert.equal(piece.length, index % 97);
      assert.ok(piece.every((byte) => byte === index % 251));
    }
    const pooled = Buffer.allocUnsafe(10);
    assert.ok(pieces.every(({ buffer }) => buffer !== pooled.buffer));
    assert.ok(new Set(pieces.map(({ buffer }) => buffer)).size <= 4);
  });

  it('is its own for a large piece, which can be given back by itself', () => {
    const piece = allocateRequestBytes(5_000);
    assert.equal(piece.buffer.byteLength, 5_000);
  });

  it('takes parts in their order, and text as UTF-8', () => {
    const parts = ['{"a":', '', '1}'].map((part) => Buffer.from(part));
    assert.equal(concatRequestBytes(parts).toString(), '{"a":1}');
    assert.equal(concatRequestBytes([]).length, 0);
    assert.equal(toRequestBytes('Zürich 影').toString(), 'Zürich 影');
  });
});
