import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { arbitraryMutatedJson } from '../../../test/arbitrary-mutated-json.ts';
import { CHAT_DIALECT } from './dialects.ts';
import { EventStream } from './event-stream.ts';

const event = (value: unknown): string => `data: ${JSON.stringify(value)}\n\n`;
const word = (content: string) => ({ choices: [{ index: 0, delta: { content }, finish_reason: null }] });
const USAGE = { choices: [], usage: { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 } };
const cuts = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 30 });

/** Sends a text in pieces of these sizes, repeated as needed; returns the forwarded text. */
function passed(stream: EventStream, text: string, sizes: readonly number[]): string {
  const bytes = Buffer.from(text);
  const out: Buffer[] = [];
  for (let at = 0, turn = 0; at < bytes.length; turn++) {
    const size = sizes[turn % sizes.length] ?? 1;
    const piece = stream.push(Buffer.from(bytes.subarray(at, at + size)));
    if (piece !== undefined) out.push(piece);
    at += size;
  }
  const rest = stream.finish();
  if (rest !== undefined) out.push(rest);
  return Buffer.concat(out).toString();
}

test('events are forwarded unchanged and in order however the bytes arrive, except for usage that was not requested', () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: 'grapheme', maxLength: 20 }), { maxLength: 20 }), cuts, (words, sizes) => {
      const spoken = words.map((each) => event(word(each))).join('');
      const hidden = new EventStream(CHAT_DIALECT, true);
      assert.equal(passed(hidden, `${spoken}${event(USAGE)}data: [DONE]\n\n`, sizes), `${spoken}data: [DONE]\n\n`);
      assert.deepEqual(hidden.usage, { promptTokens: 3, completionTokens: 4, reasoningTokens: 0 });
      assert.equal(hidden.complete, true);
      assert.equal(hidden.text(), words.join(''));
      const shown = new EventStream(CHAT_DIALECT, false);
      const whole = `: a comment\n\n${spoken.replaceAll('\n\n', '\r\n\r\n')}${event(USAGE)}data: [DONE]\n\n`;
      assert.equal(passed(shown, whole, sizes), whole);
      assert.deepEqual(shown.usage, { promptTokens: 3, completionTokens: 4, reasoningTokens: 0 });
    }),
  );
});

test('usage: null is removed for callers who did not request usage, in any spelling, and texts keep it', () => {
  const nothing = ['"usage":null', '"usage": null', '"usage" : null '];
  fc.assert(
    fc.property(fc.array(fc.string({ unit: 'grapheme', maxLength: 20 }), { maxLength: 12 }), cuts, (words, sizes) => {
      const said = [...words, ',"usage":null', '{"usage": null,"a":1}'];
      const plain = said.map((each) => JSON.stringify(word(each)));
      const written = plain.map((json, index) => {
        const member = nothing[index % nothing.length];
        return index % 2 === 0 ? json.replace(/}$/, `,${member}}`) : json.replace(/^{/, `{${member},`);
      });
      const stream = new EventStream(CHAT_DIALECT, true);
      const events = written.map((json) => `data: ${json}\n\n`).join('');
      assert.equal(passed(stream, events, sizes), plain.map((json) => `data: ${json}\n\n`).join(''));
      assert.equal(stream.text(), said.join(''));
    }),
  );
});

test('nothing from an error on is forwarded, and its text is not charged', () => {
  fc.assert(
    fc.property(fc.nat(8), cuts, (before, sizes) => {
      const spoken = Array.from({ length: before }, (_, index) => event(word(`w${index}`))).join('');
      const stream = new EventStream(CHAT_DIALECT, true);
      const bytes = Buffer.from(`${spoken}${event({ error: { message: 'secret', code: 500 } })}${event(word('late'))}`);
      let out = '';
      for (let at = 0, turn = 0; at < bytes.length && stream.error === undefined; turn++) {
        const size = sizes[turn % sizes.length] ?? 1;
        out += stream.push(Buffer.from(bytes.subarray(at, at + size)))?.toString() ?? '';
        at += size;
      }
      assert.equal(out, spoken);
      assert.equal(stream.error?.message, 'secret');
      assert.equal(stream.text(), Array.from({ length: before }, (_, index) => `w${index}`).join(''));
      assert.equal(stream.complete, false);
    }),
  );
});

test('arbitrary upstream bytes neither break the stream nor yield figures that cannot be charged', () => {
  fc.assert(
    fc.property(
      fc.array(arbitraryMutatedJson([word('a'), USAGE, { error: { message: 'x' } }]), { maxLength: 8 }),
      cuts,
      (values, sizes) => {
        const stream = new EventStream(CHAT_DIALECT, true);
        passed(stream, values.map(event).join(''), sizes);
        assert.equal(typeof stream.text(), 'string');
        for (const figure of Object.values(stream.usage ?? {}))
          assert.ok(Number.isSafeInteger(figure) && figure >= 0, String(figure));
      },
    ),
    { numRuns: 2_000 },
  );
});

test('lone CRs at line ends are replaced by LF, and a CR LF that arrives in halves is one line end', () => {
  fc.assert(
    fc.property(
      fc.array(fc.string({ minLength: 1, maxLength: 9 }), { minLength: 1, maxLength: 9 }),
      cuts,
      (words, sizes) => {
        const spoken = words.map((each) => event(word(each))).join('');
        const plain = `${spoken}${event(USAGE)}data: [DONE]\n\n`;
        assert.equal(passed(new EventStream(CHAT_DIALECT, false), plain.replaceAll('\n', '\r'), sizes), plain);
        const windows = plain.replaceAll('\n', '\r\n');
        assert.equal(passed(new EventStream(CHAT_DIALECT, false), windows, sizes), windows);
      },
    ),
  );
});

test('comments and blank lines are no data, and events without content wait for one with content', () => {
  const stream = new EventStream(CHAT_DIALECT, false);
  assert.equal(stream.push(Buffer.from(': x\n\n\n\n'.repeat(1_000))), undefined);
  assert.deepEqual([stream.hasNewData, stream.hasContent], [false, false]);
  const role = event({ choices: [{ index: 0, delta: { role: 'assistant', content: '' }, finish_reason: null }] });
  assert.equal(stream.push(Buffer.from(role)), undefined);
  assert.deepEqual([stream.hasNewData, stream.hasContent], [true, false]);
  const said = event(word('a'));
  assert.ok(
    stream
      .push(Buffer.from(said))
      ?.toString()
      .endsWith(role + said),
  );
  assert.equal(stream.hasContent, true);
});

test('a stop reason beside text does not end a stream, because some upstreams write one into every event', () => {
  const stopped = (delta: object) => ({ choices: [{ index: 0, delta, finish_reason: 'stop' }] });
  const stream = new EventStream(CHAT_DIALECT, false);
  const states = [
    stopped({ reasoning_content: 'hm' }),
    stopped({ content: 'one' }),
    word('two'),
    stopped({}),
    USAGE,
  ].map((value) => {
    stream.push(Buffer.from(event(value)));
    return [stream.complete, stream.isOver];
  });
  assert.deepEqual(states, [
    [true, false],
    [true, false],
    [true, false],
    [true, true],
    [true, true],
  ]);
  const marked = new EventStream(CHAT_DIALECT, false);
  marked.push(Buffer.from(`${event(stopped({ content: 'one' }))}data: [DONE]\n\n`));
  assert.equal(marked.isOver, true);
});
