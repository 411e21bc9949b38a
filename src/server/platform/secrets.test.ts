import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { hashToken, hasValidChecksum, isSameSecret, randomText, randomToken } from './random-tokens.ts';
import { createVault, matchesKeyCheck, toKeyCheck, UnsealError } from './vault.ts';

const key = randomBytes(32);
const place = { table: 'channels', row: 7, column: 'credentials' };

describe('vault', () => {
  it('opens what it sealed', () => {
    const vault = createVault(key);
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (plain) => {
        assert.equal(vault.open(vault.seal(plain, place), place), plain);
      }),
    );
  });

  it('never seals alike and shows nothing of the plain text', () => {
    const vault = createVault(key);
    const sealed = Array.from({ length: 200 }, () => vault.seal('hunter2hunter2', place));
    assert.equal(new Set(sealed).size, 200);
    for (const each of sealed) assert.ok(!Buffer.from(each.split('.')[2] ?? '', 'base64url').includes('hunter2'));
  });

  it('refuses a value moved to another row, column or table', () => {
    const vault = createVault(key);
    const sealed = vault.seal('secret', place);
    for (const other of [
      { ...place, row: 8 },
      { ...place, column: 'note' },
      { ...place, table: 'mailboxes' },
    ]) {
      assert.throws(() => vault.open(sealed, other), UnsealError);
    }
  });

  it('refuses every changed or shortened value', () => {
    const vault = createVault(key);
    const sealed = vault.seal('secret', place);
    const [format, id, text = ''] = sealed.split('.');
    const bytes = Buffer.from(text, 'base64url');
    for (let at = 0; at < bytes.length; at++) {
      const changed = Buffer.from(bytes);
      changed.writeUInt8(changed.readUInt8(at) ^ 1, at);
      assert.throws(() => vault.open(`${format}.${id}.${changed.toString('base64url')}`, place), UnsealError);
      assert.throws(
        () => vault.open(`${format}.${id}.${bytes.subarray(0, at).toString('base64url')}`, place),
        UnsealError,
      );
    }
    for (const junk of ['', '.', '..', 'secret', `s2.${id}.${text}`, `s1.00000000.${text}`]) {
      assert.throws(() => vault.open(junk, place), UnsealError);
    }
  });

  it('decrypts under an older key while that key is configured, and reports what is stale', () => {
    const next = randomBytes(32);
    const sealed = createVault(key).seal('secret', place);
    const rotating = createVault(next, [key]);
    assert.equal(rotating.open(sealed, place), 'secret');
    assert.equal(rotating.isStale(sealed), true);
    assert.equal(rotating.isStale(rotating.seal('secret', place)), false);
    assert.throws(() => createVault(next).open(sealed, place), UnsealError);
  });

  it('knows its key by the check value', () => {
    const check = toKeyCheck(key);
    assert.equal(matchesKeyCheck(key, check), true);
    assert.equal(matchesKeyCheck(randomBytes(32), check), false);
    assert.equal(matchesKeyCheck(key, ''), false);
    assert.throws(() => toKeyCheck(randomBytes(31)), RangeError);
  });
});

describe('tokens', () => {
  it('are random letters and digits behind their prefix', () => {
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

  it('carry a checksum that notices any changed character', () => {
    const token = randomToken('rg_', 40, { checksum: true });
    assert.match(token, /^rg_[0-9A-Za-z]{46}$/);
    assert.equal(hasValidChecksum(token), true);
    for (let at = 0; at < token.length; at++) {
      const other = token[at] === 'x' ? 'y' : 'x';
      assert.equal(hasValidChecksum(token.slice(0, at) + other + token.slice(at + 1)), false);
    }
    assert.equal(hasValidChecksum(''), false);
  });

  it('are kept as SHA-256 and compared as secrets', () => {
    assert.equal(hashToken('abc'), 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
    assert.equal(isSameSecret('abc', 'abc'), true);
    assert.equal(isSameSecret('abc', 'abcd'), false);
  });
});
