import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { createVault, matchesKeyCheck, toKeyCheck, UnsealError } from './vault.ts';

const key = randomBytes(32);
const place = { table: 'channels', row: 7, column: 'credentials' };

describe('vault', () => {
  it('decrypts what it encrypted', () => {
    const vault = createVault(key);
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (plain) => {
        assert.equal(vault.open(vault.seal(plain, place), place), plain);
      }),
    );
  });

  it('never encrypts alike and reveals nothing of the plain text', () => {
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

  it('refuses every modified or truncated value', () => {
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

  it('recognizes its key by the check value', () => {
    const check = toKeyCheck(key);
    assert.equal(matchesKeyCheck(key, check), true);
    assert.equal(matchesKeyCheck(randomBytes(32), check), false);
    assert.equal(matchesKeyCheck(key, ''), false);
    assert.throws(() => toKeyCheck(randomBytes(31)), RangeError);
  });
});
