import assert from 'node:assert/strict';
import { type Codec, findCodec, ResponseConversion } from '../../../src/server/chat/conversion/convert.ts';
import {
  ANTHROPIC_MESSAGES_DIALECT,
  CHAT_DIALECT,
  type Dialect,
  GEMINI_DIALECT,
  RESPONSES_DIALECT,
} from '../../../src/server/chat/dialects.ts';
import { EventStream } from '../../../src/server/chat/event-stream.ts';
import { parseNonStreamedResponse } from '../../../src/server/chat/model-call.ts';
import type { Usage } from '../../../src/server/chat/usage.ts';
import { ASSEMBLERS } from './assemble.ts';
import { CHAT_UPSTREAMS } from './chat-upstreams.ts';
import type { Deviation, Expected } from './deviation.ts';
import { GEMINI_UPSTREAMS } from './gemini-upstreams.ts';
import { MESSAGES_UPSTREAMS } from './messages-upstreams.ts';
import { RESPONSES_UPSTREAMS } from './responses-upstreams.ts';

/** The four dialects under their short names in these tests. */
export const DIALECTS = {
  chat: CHAT_DIALECT,
  messages: ANTHROPIC_MESSAGES_DIALECT,
  responses: RESPONSES_DIALECT,
  gemini: GEMINI_DIALECT,
} as const satisfies Readonly<Record<string, Dialect>>;
/** Short name of a dialect. */
export type Name = keyof typeof DIALECTS;
export const NAMES = Object.keys(DIALECTS) as Name[];
/** All recorded deviations, by the dialect of the upstream. */
export const CORPUS: Readonly<Record<Name, readonly Deviation[]>> = {
  chat: CHAT_UPSTREAMS,
  messages: MESSAGES_UPSTREAMS,
  responses: RESPONSES_UPSTREAMS,
  gemini: GEMINI_UPSTREAMS,
};
const CONTEXT = { id: 'x', model: 'm', created: 1, wantsUsage: true, asked: {}, origins: new Map() };

/** A relayed response as the caller receives it, with the usage that is charged. */
export interface Outcome {
  readonly fails?: string;
  readonly output: string;
  readonly usage: Usage | undefined;
  readonly dropped: readonly string[];
}

/** The codec of a dialect. */
export const codecOf = (name: Name): Codec => {
  const codec = findCodec(DIALECTS[name]);
  assert.ok(codec);
  return codec;
};

/** Encodes events as server-sent events; texts are written verbatim. */
export function write(events: readonly unknown[]): Buffer {
  const texts = events.map((event) => {
    if (typeof event === 'string') return event;
    return `data: ${JSON.stringify(event)}\n\n`;
  });
  return Buffer.from(texts.join(''));
}

/** Relays a complete response the way a model call does. */
export function relayBody(from: Name, to: Name, body: Buffer, wantsStream: boolean): Outcome {
  const result = parseNonStreamedResponse(body, DIALECTS[from]);
  if (typeof result === 'string') return { fails: result, output: '', usage: undefined, dropped: [] };
  const conversion = new ResponseConversion(codecOf(from), codecOf(to), CONTEXT);
  const output = wantsStream ? conversion.convertToStream(body) : conversion.convert(body);
  const fails = conversion.failure === undefined ? undefined : 'reason';
  return { fails, output, usage: result.usage, dropped: conversion.dropped };
}

/** Relays a stream that arrives in pieces the way a model call does. */
export function relayStream(from: Name, to: Name, bytes: Buffer, wantsStream: boolean, pieceLength: number): Outcome {
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

/** Asserts that a relayed response has the expected failure, charge and content. */
export function assertExpected(outcome: Outcome, expected: Expected, to: Name, isStream: boolean): void {
  assert.equal(outcome.fails, expected.fails);
  if (expected.charged === 'counted') assert.equal(outcome.usage, undefined);
  else if (expected.charged !== undefined)
    assert.deepEqual([outcome.usage?.promptTokens, outcome.usage?.completionTokens], expected.charged);
  if (expected.fails !== undefined) return;
  assertContent(outcome.output, expected, to, isStream);
  for (const part of expected.dropped ?? [])
    assert.ok(
      outcome.dropped.some((path) => path.includes(part)),
      `${part} is named among ${outcome.dropped.join(', ')}`,
    );
  assert.equal(outcome.output.includes('x-reelgate-dropped'), isStream && outcome.dropped.length > 0);
}

/** Asserts that a response has the expected content, calls and end. */
export function assertContent(output: string, expected: Expected, to: Name, isStream: boolean): void {
  const { text, thought, calls, images, end } = ASSEMBLERS[to](output, isStream);
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
}

/** Arguments with the whitespace of their JSON removed; text that is not JSON stays unchanged. */
function normalize(args: string): string {
  if (args === '') return '{}';
  try {
    const value: unknown = JSON.parse(args);
    return typeof value === 'string' ? value : JSON.stringify(value);
  } catch {
    return args;
  }
}

/** Relays a recorded deviation as a body or as a stream. */
export function relayShape({ body, events }: Deviation, from: Name, to: Name, isStream: boolean): Outcome {
  if (events !== undefined) return relayStream(from, to, write(events), isStream, Number.MAX_SAFE_INTEGER);
  return relayBody(from, to, Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)), isStream);
}
