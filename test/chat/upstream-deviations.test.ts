import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { assertExpected, CORPUS, NAMES, relayBody, relayStream, write } from './deviations/relay-shape.ts';

/** Longer streams are not cut at every byte. */
const MAX_CUT_BYTES = 2_500;

for (const from of NAMES)
  describe(`deviations of upstreams that speak ${from}`, () => {
    for (const { name, source, body, events, expected } of CORPUS[from])
      test(`${name} (${source})`, () => {
        const bytes = events === undefined ? undefined : write(events);
        for (const to of NAMES)
          for (const isStream of [true, false]) {
            const outcome =
              bytes === undefined
                ? relayBody(from, to, Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)), isStream)
                : relayStream(from, to, bytes, isStream, bytes.length || 1);
            try {
              assertExpected(outcome, expected, to, isStream);
              if (bytes !== undefined && bytes.length < MAX_CUT_BYTES)
                assertExpected(relayStream(from, to, bytes, isStream, 1), expected, to, isStream);
            } catch (error) {
              assert.ok(error instanceof Error);
              error.message = `as ${to}, ${isStream ? 'streamed' : 'whole'}: ${error.message}\n${outcome.output}`;
              throw error;
            }
          }
      });
  });

test('the corpus contains no deviation twice', () => {
  for (const name of NAMES) {
    const names = CORPUS[name].map((each) => each.name);
    assert.deepEqual(
      names.filter((each, index) => names.indexOf(each) !== index),
      [],
    );
  }
});
