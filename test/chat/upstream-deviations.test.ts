import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type Codec, findCodec, ResponseConversion } from '../../src/server/chat/conversion/convert.ts';
import {
  ANTHROPIC_MESSAGES_DIALECT,
  CHAT_DIALECT,
  type Dialect,
  GEMINI_DIALECT,
  RESPONSES_DIALECT,
} from '../../src/server/chat/dialects.ts';
import { EventStream } from '../../src/server/chat/event-stream.ts';
import { parseNonStreamedResponse } from '../../src/server/chat/model-call.ts';
import type { Usage } from '../../src/server/chat/usage.ts';
import { ASSEMBLERS } from './deviations/assemble.ts';
import { CHAT_UPSTREAMS } from './deviations/chat-upstreams.ts';
import type { Deviation, Expected } from './deviations/deviation.ts';
import { GEMINI_UPSTREAMS } from './deviations/gemini-upstreams.ts';
import { MESSAGES_UPSTREAMS } from './deviations/messages-upstreams.ts';
import { RESPONSES_UPSTREAMS } from './deviations/responses-upstreams.ts';

const DIALECTS = {
  chat: CHAT_DIALECT,
  messages: ANTHROPIC_MESSAGES_DIALECT,
  responses: RESPONSES_DIALECT,
  gemini: GEMINI_DIALECT,
} as const satisfies Readonly<Record<string, Dialect>>;
type Name = keyof typeof DIALECTS;
const NAMES = Object.keys(DIALECTS) as Name[];
const CORPUS: Readonly<Record<Name, readonly Deviation[]>> = {
  chat: CHAT_UPSTREAMS,
  messages: MESSAGES_UPSTREAMS,
  responses: RESPONSES_UPSTREAMS,
  gemini: GEMINI_UPSTREAMS,
};
const CONTEXT = { id: 'x', model: 'm', created: 1, wantsUsage: true, asked: {}, origins: new Map() };
/** Longer streams are not cut at every byte. */
const MAX_CUT_BYTES = 2_500;

interface Outcome {
  readonly fails?: string;
  readonly output: string;
  readonly usage: Usage | undefined;
  readonly dropped: readonly string[];
}

const codecOf = (name: Name): Codec => {
  const codec = findCodec(DIALECTS[name]);
  assert.ok(codec);
  return codec;
};

function write(events: readonly unknown[]): Buffer {
  const texts = events.map((event) => {
    if (typeof event === 'string') return event;
    return `data: ${JSON.stringify(event)}\n\n`;
  });
  return Buffer.from(texts.join(''));
}

/** The way of a complete response, as a model call goes it. */
function relayBody(from: Name, to: Name, body: Buffer, wantsStream: boolean): Outcome {
  const result = parseNonStreamedResponse(body, DIALECTS[from]);
  if (typeof result === 'string') return { fails: result, output: '', usage: undefined, dropped: [] };
  const conversion = new ResponseConversion(codecOf(from), codecOf(to), CONTEXT);
  const output = wantsStream ? conversion.convertToStream(body) : conversion.convert(body);
  const fails = conversion.failure === undefined ? undefined : 'reason';
  return { fails, output, usage: result.usage, dropped: conversion.dropped };
}

/** The way of a stream that arrives in pieces. */
function relayStream(from: Name, to: Name, bytes: Buffer, wantsStream: boolean, pieceLength: number): Outcome {
  const stream = new EventStream(DIALECTS[from], false);
  const conversion = new ResponseConversion(codecOf(from), codecOf(to), CONTEXT);
  const forwarded: Buffer[] = [];
  let output = '';
  const deliver = (events: Buffer | undefined): void => {
    if (events === undefined) return;
    if (wantsStream) output += conversion.push(events);
    else forwarded.push(events);
  };
  for (let at = 0; at < bytes.length && stream.error === undefined; at += pieceLength)
    deliver(stream.push(Buffer.from(bytes.subarray(at, at + pieceLength))));
  deliver(stream.finish());
  const usage = stream.usage;
  const failed =
    stream.error !== undefined ? 'error' : stream.complete ? (stream.hasContent ? undefined : 'empty') : 'cut';
  if (failed !== undefined) return { fails: failed, output, usage, dropped: [] };
  output += wantsStream ? conversion.finish() : conversion.convertToBody(Buffer.concat(forwarded));
  return { fails: conversion.failure === undefined ? undefined : 'reason', output, usage, dropped: conversion.dropped };
}

function assertExpected(outcome: Outcome, expected: Expected, to: Name, isStream: boolean): void {
  assert.equal(outcome.fails, expected.fails);
  if (expected.charged === 'counted') assert.equal(outcome.usage, undefined);
  else if (expected.charged !== undefined)
    assert.deepEqual([outcome.usage?.promptTokens, outcome.usage?.completionTokens], expected.charged);
  if (expected.fails !== undefined) return;
  const { text, thought, calls, images, end } = ASSEMBLERS[to](outcome.output, isStream);
  const { text: saidText = '', thought: saidThought = '', calls: made = [], images: shown = 0 } = expected;
  assert.deepEqual(
    { text, thought, images, end },
    { text: saidText, thought: saidThought, images: shown, end: expected.end ?? (made.length > 0 ? 'calls' : 'end') },
  );
  assert.deepEqual(
    calls.map(({ name, args }) => [name, normalize(args)]),
    made.map(([name, args]) => [name, normalize(args)]),
  );
  assert.equal(new Set(calls.map(({ id }) => id)).size, calls.length, 'every call has an id of its own');
  for (const { id } of calls) assert.ok(id, 'no id is empty');
  for (const part of expected.dropped ?? [])
    assert.ok(
      outcome.dropped.some((path) => path.includes(part)),
      `${part} is named among ${outcome.dropped.join(', ')}`,
    );
  assert.equal(outcome.output.includes('x-reelgate-dropped'), isStream && outcome.dropped.length > 0);
}

/** Arguments without the blanks of their JSON; what is none, as it is. */
function normalize(args: string): string {
  if (args === '') return '{}';
  try {
    const value: unknown = JSON.parse(args);
    return typeof value === 'string' ? value : JSON.stringify(value);
  } catch {
    return args;
  }
}

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

test('the corpus has no shape twice', () => {
  for (const name of NAMES) {
    const names = CORPUS[name].map((each) => each.name);
    assert.deepEqual(
      names.filter((each, index) => names.indexOf(each) !== index),
      [],
    );
  }
});
