import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import type { Channel, ResolvedModel } from '../../src/server/channels/directory.ts';
import type { Dialect } from '../../src/server/chat/dialects.ts';
import { permittingChannels } from '../../src/server/chat/relay.ts';
import { parseChatRequest } from '../../src/server/chat/request.ts';
import { prepareExchange, upstreamDialect } from '../../src/server/chat/upstream.ts';
import { AppError } from '../../src/server/platform/app-error.ts';
import { type FieldSample, SAMPLED_DIALECTS } from './dialect-fields.ts';

interface Upstream {
  readonly vendor: 'openai' | 'anthropic' | 'gemini';
  readonly model: string;
  readonly options: Readonly<Record<string, unknown>>;
}

/** The kinds of upstreams in the column order of the document, each with a reasoning model. */
const UPSTREAMS: readonly Upstream[] = [
  { vendor: 'openai', model: 'gpt-5.5', options: { responses: false } },
  { vendor: 'openai', model: 'gpt-5.5', options: { responses: 'only' } },
  { vendor: 'anthropic', model: 'claude-opus-4-8', options: {} },
  { vendor: 'gemini', model: 'gemini-3-pro', options: {} },
];

type Treatment = 'same' | 'yes' | 'partly' | 'dropped' | 'refused' | 'default';

interface Sent {
  readonly body: unknown;
  readonly dropped: readonly string[];
}

/** The upstream's request for a caller's request. @throws AppError if the request is refused */
function send(dialect: Dialect, body: object, { vendor, model, options }: Upstream): Sent {
  const channel = {
    id: 1,
    credentialId: 1,
    name: vendor,
    vendor,
    baseUrl: 'https://upstream.example',
    credentials: { api_key: 'none' },
    options,
    private: false,
    models: [model],
    priority: 0,
    weight: 1,
  } satisfies Channel;
  const resolved: ResolvedModel = {
    id: model,
    target: model,
    vendor,
    kind: 'chat',
    price: { per_call: 0, per_second: 0 },
  };
  const request = parseChatRequest(dialect, Buffer.from(JSON.stringify(body)), body, { model, stream: false });
  const { droppedTools } = permittingChannels(request, [channel]);
  const timeouts = { firstByteMs: 1, idleMs: 1, totalMs: 1 };
  const exchange = prepareExchange(request, resolved, channel, { timeouts, id: 'x', nowMs: 0 });
  const { body: bytes } = exchange.request;
  return {
    body: Buffer.isBuffer(bytes) ? JSON.parse(bytes.toString('utf8')) : undefined,
    dropped: [...droppedTools.map((index) => `tools.${index}`), ...exchange.dropped],
  };
}

function treatmentOf({ body, without }: FieldSample, dialect: Dialect, upstream: Upstream): Treatment {
  const isSame = upstreamDialect(dialect, upstream.vendor, upstream.options) === dialect;
  try {
    const base = send(dialect, without, upstream);
    const sent = send(dialect, body, upstream);
    const isNamed = sent.dropped.some((path) => !base.dropped.includes(path));
    const isSent = !isDeepStrictEqual(sent.body, base.body);
    if (isSame) return isNamed ? 'dropped' : 'same';
    if (isSent) return isNamed ? 'partly' : 'yes';
    return isNamed ? 'dropped' : 'default';
  } catch (error) {
    if (error instanceof AppError && error.code === 'invalid_request') return 'refused';
    throw error;
  }
}

const treatments = SAMPLED_DIALECTS.map(({ title, dialect, samples }) => ({
  title,
  fields: samples.map((sample) => ({
    field: sample.field,
    treatments: UPSTREAMS.map((upstream) => treatmentOf(sample, dialect, upstream)),
  })),
}));

test('no field of a dialect is dropped silently in conversion to another', () => {
  const silent = treatments.flatMap(({ title, fields }) =>
    fields.filter((each) => each.treatments.includes('default')).map(({ field }) => `${title}: ${field}`),
  );
  assert.deepEqual(silent, ["Anthropic's Messages: thinking: adaptive"]);
});

/** Fields by dialect from the document's tables: `| refused | same | dropped | yes | field; field |`. */
function documentedFields(): Record<string, Record<string, string>> {
  const text = readFileSync(join(import.meta.dirname, '../../docs/chat-dialects.md'), 'utf8');
  const sections = text.split(/^## /m).slice(1);
  return Object.fromEntries(
    sections.map((section) => [
      section.split('\n', 1)[0],
      Object.fromEntries(
        section
          .split('\n')
          .filter((line) => line.startsWith('| ') && !line.startsWith('| OpenAI') && !line.startsWith('| ---'))
          .map((line) => line.slice(2, -2).split(' | '))
          .flatMap((cells) => (cells[4] ?? '').split('; ').map((field) => [field, cells.slice(0, 4).join(', ')])),
      ),
    ]),
  );
}

test('docs/chat-dialects.md lists every field that an upstream does not support in full', () => {
  const isWhole = (each: Treatment): boolean => each === 'same' || each === 'yes';
  const expected = treatments.map(({ title, fields }) => [
    title,
    Object.fromEntries(
      fields.filter((each) => !each.treatments.every(isWhole)).map((each) => [each.field, each.treatments.join(', ')]),
    ),
  ]);
  assert.deepEqual(documentedFields(), Object.fromEntries(expected));
});
