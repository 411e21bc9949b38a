import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { hasControlCharacter } from './text.ts';

describe('hasControlCharacter', () => {
  it('detects every byte below 0x20 and no other, at every position and alignment', () => {
    const memory = Buffer.alloc(64);
    for (let start = 0; start < 8; start++)
      for (let length = 0; length <= 12; length++)
        for (const around of [0x20, 0x41, 0x80, 0xff]) {
          // Bytes outside of the buffer must not matter.
          memory.fill(0);
          const bytes = memory.subarray(start, start + length).fill(around);
          assert.equal(hasControlCharacter(bytes), false, `${length} bytes from ${start}`);
          for (let at = 0; at < length; at++) {
            for (let byte = 0; byte < 256; byte++) {
              bytes[at] = byte;
              assert.equal(hasControlCharacter(bytes), byte < 0x20, `${byte} at ${at} of ${length} from ${start}`);
            }
            bytes[at] = around;
          }
        }
  });
});
