import type { TSchema } from 'typebox';
import * as lines from '../../contract/chat.ts';
import { asObject, type UntrustedObject } from '../../contract/is-object.ts';

/** What differs between the kinds of model calls; everything else about them is the same relay. */
export interface Dialect {
  /** Path of the endpoint here and, below its base URL, at the upstream. */
  readonly path: string;
  readonly body: TSchema;
  /**
   * The body's keys that limit the response's tokens; upstreams differ in which of them they use, so the largest counts.
   * Empty: nothing is generated as text.
   */
  readonly maxTokensKeys: readonly string[];
  /** What is set aside for where the body names no bound. */
  readonly defaultMaxTokens: number;
  /** Whether `n` requests several choices, each of which may reach the limit. */
  readonly hasChoiceCount: boolean;
  /** Usage of a stream must be requested with `stream_options`, and arrives in an event of its own. */
  readonly streamUsageIsOptIn: boolean;
  /** The member that holds the question. */
  readonly promptKey: string;
  /** The member every complete response has; a body without it is not a valid response. */
  readonly resultKey: string;
  /** How many choices an event completes; a stream with fewer than were requested and without `[DONE]` was cut off. */
  countFinishedChoices(event: UntrustedObject): number;
  /** Bytes; an event that outgrows it ends the stream. */
  readonly maxEventBytes: number;
  /** The generated text of one event of a stream, tool calls and reasoning included. */
  extractEventText(event: UntrustedObject): string;
  /** The generated text of a complete response. */
  extractResponseText(answer: UntrustedObject): string;
  /** An error as an event of a stream in progress; `body` is the envelope. */
  toErrorEvent(body: string): string;
}

const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
const text = (value: unknown): string => (typeof value === 'string' ? value : '');

/** Text of a chat message or of a piece of one. */
function textOfMessage(message: unknown): string {
  const {
    content,
    reasoning_content: reasoning,
    reasoning: plainReasoning,
    refusal,
    tool_calls: calls,
    function_call: call,
  } = asObject(message) ?? {};
  const contentText =
    typeof content === 'string'
      ? content
      : list(content)
          .map((part) => text(asObject(part)?.text))
          .join('');
  const toolCallTexts = [...list(calls).map((each) => asObject(each)?.function ?? asObject(each)?.custom), call].map(
    (each) => {
      const { name, arguments: args, input } = asObject(each) ?? {};
      return text(name) + text(args) + text(input);
    },
  );
  return (text(reasoning) || text(plainReasoning)) + contentText + text(refusal) + toolCallTexts.join('');
}

const extractChoicesText = (answer: UntrustedObject, key: 'delta' | 'message'): string =>
  list(answer.choices)
    .map((choice) => textOfMessage(asObject(choice)?.[key]))
    .join('');

const MAX_TEXT_EVENT_BYTES = 1024 * 1024;
/** Base64 of the largest pictures there are. */
export const MAX_IMAGE_EVENT_BYTES = 16 * 1024 * 1024;

const toDataEvent = (body: string): string => `data: ${body}\n\n`;

export const CHAT: Dialect = {
  path: '/v1/chat/completions',
  body: lines.chatCompletions.body,
  maxTokensKeys: ['max_completion_tokens', 'max_tokens'],
  defaultMaxTokens: 4_096,
  hasChoiceCount: true,
  streamUsageIsOptIn: true,
  promptKey: 'messages',
  resultKey: 'choices',
  countFinishedChoices: ({ choices }) =>
    list(choices).filter((choice) => text(asObject(choice)?.finish_reason) !== '').length,
  maxEventBytes: MAX_TEXT_EVENT_BYTES,
  extractEventText: (event) => extractChoicesText(event, 'delta'),
  extractResponseText: (answer) => extractChoicesText(answer, 'message'),
  toErrorEvent: toDataEvent,
};

/** platform.openai.com/docs/api-reference/responses-streaming */
export const RESPONSES: Dialect = {
  path: '/v1/responses',
  body: lines.responses.body,
  maxTokensKeys: ['max_output_tokens'],
  defaultMaxTokens: 4_096,
  hasChoiceCount: false,
  streamUsageIsOptIn: false,
  promptKey: 'input',
  resultKey: 'output',
  countFinishedChoices: ({ type }) => Number(/^response\.(completed|incomplete|failed)$/.test(text(type))),
  maxEventBytes: MAX_IMAGE_EVENT_BYTES,
  extractEventText: ({ type, delta }) => (text(type).endsWith('.delta') ? text(delta) : ''),
  extractResponseText: ({ output }) =>
    list(output)
      .map((item) => {
        const { content, summary, arguments: args, input } = asObject(item) ?? {};
        const parts = [...list(content), ...list(summary)].map(asObject);
        return text(args) + text(input) + parts.map((part) => text(part?.text) + text(part?.refusal)).join('');
      })
      .join(''),
  toErrorEvent(body) {
    const error = (JSON.parse(body) as { error: object }).error;
    return `event: error\ndata: ${JSON.stringify({ ...error, type: 'error', sequence_number: 0 })}\n\n`;
  },
};

export const EMBEDDINGS: Dialect = {
  path: '/v1/embeddings',
  body: lines.embeddings.body,
  maxTokensKeys: [],
  defaultMaxTokens: 0,
  hasChoiceCount: false,
  streamUsageIsOptIn: false,
  promptKey: 'input',
  resultKey: 'data',
  countFinishedChoices: () => 0,
  maxEventBytes: MAX_TEXT_EVENT_BYTES,
  extractEventText: () => '',
  extractResponseText: () => '',
  toErrorEvent: toDataEvent,
};

export const IMAGES: Dialect = {
  ...EMBEDDINGS,
  path: '/v1/images/generations',
  body: lines.imageGenerations.body,
  promptKey: 'prompt',
  // A large picture of the models that are paid by tokens.
  defaultMaxTokens: 4_096,
  hasChoiceCount: true,
  maxEventBytes: MAX_IMAGE_EVENT_BYTES,
  countFinishedChoices: ({ type }) => Number(type === 'image_generation.completed'),
};

/** A dialect by its path. */
export const findDialect = (path: string): Dialect | undefined =>
  [CHAT, RESPONSES, EMBEDDINGS, IMAGES].find((dialect) => dialect.path === path);
