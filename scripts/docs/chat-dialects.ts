import { isDeepStrictEqual } from 'node:util';
import { asObject } from '../../src/contract/objects.ts';
import type { Channel, ResolvedModel } from '../../src/server/channels/directory.ts';
import type { Dialect } from '../../src/server/chat/dialects.ts';
import { channelsPermittingOptions } from '../../src/server/chat/relay.ts';
import { parseChatRequest } from '../../src/server/chat/request.ts';
import { prepareExchange, upstreamDialect } from '../../src/server/chat/upstream.ts';
import { AppError } from '../../src/server/platform/app-error.ts';
import { type FieldSample, SAMPLED_DIALECTS } from './dialect-field-samples.ts';

interface Upstream {
  readonly title: string;
  readonly vendor: 'openai' | 'anthropic' | 'gemini';
  readonly model: string;
  readonly options: Readonly<Record<string, unknown>>;
}

/** The kinds of upstreams, each with a model that thinks. */
const UPSTREAMS: readonly Upstream[] = [
  { title: 'OpenAI, chat', vendor: 'openai', model: 'gpt-5.5', options: { responses: false } },
  { title: 'OpenAI, Responses', vendor: 'openai', model: 'gpt-5.5', options: { responses: 'only' } },
  { title: 'Anthropic', vendor: 'anthropic', model: 'claude-opus-4-8', options: {} },
  { title: 'Google', vendor: 'gemini', model: 'gemini-3-pro', options: {} },
];

/** What becomes of a field. */
export type FieldTreatment = 'same' | 'yes' | 'in part' | 'left out' | 'refused' | 'default';

const TIMES = { firstByteMs: 1, idleMs: 1, totalMs: 1 };

interface Sent {
  readonly body: unknown;
  readonly dropped: readonly string[];
}

/** What an upstream is sent for a request, by the code that serves it. @throws AppError where it is refused */
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
  const { droppedTools } = channelsPermittingOptions(request, [channel]);
  const exchange = prepareExchange(request, resolved, channel, { timeouts: TIMES, id: 'x', nowMs: 0 });
  const { body: bytes } = exchange.request;
  return {
    body: Buffer.isBuffer(bytes) ? JSON.parse(bytes.toString('utf8')) : undefined,
    dropped: [...droppedTools.map((index) => `tools.${index}`), ...exchange.dropped],
  };
}

/** @throws what is no refusal */
export function treatmentOf({ body, without }: FieldSample, dialect: Dialect, upstream: Upstream): FieldTreatment {
  const isSame = upstreamDialect(dialect, upstream.vendor, upstream.options) === dialect;
  try {
    const base = send(dialect, without, upstream);
    const sent = send(dialect, body, upstream);
    const isNamed = sent.dropped.some((path) => !base.dropped.includes(path));
    const isSent = !isDeepStrictEqual(sent.body, base.body);
    if (isSame) return isNamed ? 'left out' : 'same';
    if (isSent) return isNamed ? 'in part' : 'yes';
    return isNamed ? 'left out' : 'default';
  } catch (error) {
    if (error instanceof AppError && error.code === 'invalid_request') return 'refused';
    throw error;
  }
}

/** Fields of a dialect, and what becomes of each at every kind of upstream. */
export const treatmentsOfFields = () =>
  SAMPLED_DIALECTS.map(({ title, dialect, samples }) => ({
    title,
    path: asObject(dialect)?.path,
    rows: samples.map((sample) => ({
      field: sample.field,
      treatments: UPSTREAMS.map((upstream) => treatmentOf(sample, dialect, upstream)),
    })),
  }));

/** docs/chat-dialects.md: a table for each dialect, by trying each field on the converters. */
export function renderChatDialects(): string {
  const tables = treatmentsOfFields().map(({ title, rows }) => {
    const head = ['Field', ...UPSTREAMS.map((upstream) => upstream.title)];
    const lines = [head, head.map(() => '---'), ...rows.map(({ field, treatments }) => [field, ...treatments])];
    return `## ${title}\n\n${lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n')}\n`;
  });
  return `# What becomes of each field between dialects

Each row was tried on the converters with a request that has the field and one that has not. The rows are the fields of the caller's
dialect, the columns the upstreams. "OpenAI, chat" is a channel with \`responses: false\`, "OpenAI, Responses" one with
\`responses: "only"\`; without the option a channel gets chat completions and Responses as they come, and the others converted to chat.

- \`same\`: the caller's bytes pass as they are
- \`yes\`: said in the upstream's dialect
- \`in part\`: said, and what of it cannot be said is named in \`x-reelgate-dropped\`
- \`default\`: what the upstream does without it
- \`left out\`: named in \`x-reelgate-dropped\`
- \`refused\`: HTTP 400 that names the field, by the conversion or by the table of options of the channel

Fields that are not listed are left out and named where they are converted, and pass where they are not, unless the table of options
([decisions/chat.md](decisions/chat.md)) refuses them.

${tables.join('\n')}`;
}
