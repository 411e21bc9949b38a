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

/** The kinds of upstreams in the column order of docs/clients.md, each with a reasoning model. */
const UPSTREAMS: readonly Upstream[] = [
  { vendor: 'openai', model: 'gpt-5.5', options: { responses: false } },
  { vendor: 'openai', model: 'gpt-5.5', options: { responses: 'only' } },
  { vendor: 'anthropic', model: 'claude-opus-4-8', options: {} },
  { vendor: 'gemini', model: 'gemini-3-pro', options: {} },
];

/** What happens to a field on its way to an upstream. */
export type Treatment = 'same' | 'yes' | 'partly' | 'dropped' | 'refused' | 'default';

interface DialectTreatments {
  readonly title: string;
  readonly fields: readonly { readonly field: string; readonly treatments: readonly Treatment[] }[];
}

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

/** By dialect of the caller, what each kind of upstream gets of each field; docs/clients.md lists them. */
export const FIELD_TREATMENTS: readonly DialectTreatments[] = SAMPLED_DIALECTS.map(({ title, dialect, samples }) => ({
  title,
  fields: samples.map((sample) => ({
    field: sample.field,
    treatments: UPSTREAMS.map((upstream) => treatmentOf(sample, dialect, upstream)),
  })),
}));
