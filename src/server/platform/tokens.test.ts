import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { hasValidChecksum } from '../../../test/token-checksum.ts';
import { hashToken, isSameSecret, newTaskId, newTimedId, randomText, randomToken, timeOfId } from './tokens.ts';

describe('tokens', () => {
  it('are random letters and digits after their prefix', () => {
    const tokens = Array.from({ length: 500 }, () => randomToken('sk-', 48));
    for (const token of tokens) assert.match(token, /^sk-[0-9A-Za-z]{48}$/);
    assert.equal(new Set(tokens).size, 500);
  });

  it('use every character of an alphabet about equally often', () => {
    const counts = new Map<string, number>();
    for (const character of randomText(62_000)) counts.set(character, (counts.get(character) ?? 0) + 1);
    assert.equal(counts.size, 62);
    for (const [character, count] of counts) assert.ok(count > 750 && count < 1250, `${character}: ${count}`);
    assert.match(randomText(20, 'BCDF'), /^[BCDF]{20}$/);
  });

  it('have a checksum that detects any changed character', () => {
    const token = randomToken('rg_', 40, { checksum: true });
    assert.match(token, /^rg_[0-9A-Za-z]{46}$/);
    assert.equal(hasValidChecksum(token), true);
    for (let at = 0; at < token.length; at++) {
      const other = token[at] === 'x' ? 'y' : 'x';
      assert.equal(hasValidChecksum(token.slice(0, at) + other + token.slice(at + 1)), false);
    }
    assert.equal(hasValidChecksum(''), false);
  });

  it('are stored as SHA-256 and compared as secrets', () => {
    assert.equal(hashToken('abc'), 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
    assert.equal(isSameSecret('abc', 'abc'), true);
    assert.equal(isSameSecret('abc', 'abcd'), false);
  });
});

describe('ids with a time', () => {
  it('contain the time, which other texts do not', () => {
    for (const time of [0, 1, 61, 62, 1_795_972_834_123]) {
      const id = newTimedId('file-', time);
      assert.match(id, /^file-[0-9A-Za-z]{31}$/);
      assert.equal(timeOfId('file-', id), time);
    }
    for (const id of ['', 'file-', `file-${randomText(24)}`, newTimedId('batch-', 5), `${newTimedId('file-', 5)}x`])
      assert.equal(timeOfId('file-', id), undefined);
  });
});

describe('generate task id', () => {
  it('generates unique task ids in the documented format', () => {
    const ids = Array.from({ length: 1000 }, newTaskId);
    for (const id of ids) assert.match(id, /^task_[0-9A-Za-z]{32}$/);
    assert.equal(new Set(ids).size, 1000);
  });

  it('increases only the first characters of ids with time', () => {
    const early = newTaskId(1_700_000_000_000);
    const late = newTaskId(1_700_000_000_001);
    assert.ok(early < late);
    assert.equal(early.slice(0, 11), late.slice(0, 11));
    assert.notEqual(early.slice(12), newTaskId(1_700_000_000_000).slice(12));
    assert.match(newTaskId(62 ** 7 - 1), /^task_zzzzzzz/);
  });
});
