import { asObject, type UntrustedObject } from '../../contract/is-object.ts';
import * as chatEndpoints from '../../contract/openai-anthropic-and-gemini-model-calls.ts';
import { ANTHROPIC_MESSAGES_DIALECT } from './anthropic-dialect.ts';
import {
  type Dialect,
  hasFigures,
  isBlank,
  listOf,
  MAX_IMAGE_EVENT_BYTES,
  MAX_TEXT_EVENT_BYTES,
  textOf,
} from './dialect.ts';
import { GEMINI_DIALECT } from './gemini-dialect.ts';
import { parseUsage } from './parse-usage.ts';

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
      : listOf(content)
          .map((part) => textOf(asObject(part)?.text))
          .join('');
  const toolCallTexts = [...listOf(calls).map((each) => asObject(each)?.function ?? asObject(each)?.custom), call].map(
    (each) => {
      const { name, arguments: args, input } = asObject(each) ?? {};
      return textOf(name) + textOf(args) + textOf(input);
    },
  );
  return (textOf(reasoning) || textOf(plainReasoning)) + contentText + textOf(refusal) + toolCallTexts.join('');
}

const extractChoicesText = (answer: UntrustedObject, key: 'delta' | 'message'): string =>
  listOf(answer.choices)
    .map((choice) => textOfMessage(asObject(choice)?.[key]))
    .join('');

/** The usage at the top level, in the `response` of an event, or in a choice; the first one that is complete, or the only one. */
function findUsage(value: unknown): UntrustedObject | undefined {
  const body = asObject(value);
  const usual = asObject(body?.usage);
  const ofResponse = asObject(asObject(body?.response)?.usage);
  const ofChoice = asObject(asObject(listOf(body?.choices)[0])?.usage);
  if (ofResponse === undefined && ofChoice === undefined) return usual;
  return [usual, ofResponse, ofChoice].find((usage) => parseUsage(usage) !== undefined);
}

/** What all of OpenAI's kinds of calls have in common. */
const OPENAI = {
  vendor: 'openai',
  count: undefined,
  forwardedHeaders: [],
  idHeader: undefined,
  // Not `"usage":null`, which some write into every event once usage was asked for.
  usageMarkers: ['"usage":{', '"usage": {'],
  findUsage,
} as const;

/** Reasons that say no more than that a stream has ended. */
const isPlainEnd = (reason: unknown): boolean => isBlank(reason) || reason === 'stop';

/** A chunk whose choices only name the role, or end, and that has no figures. */
function isPreambleChunk(event: UntrustedObject): boolean {
  if (hasFigures(findUsage(event))) return false;
  return listOf(event.choices).every((choice) => {
    const { delta, message, text, finish_reason: reason } = asObject(choice) ?? {};
    const said = { ...asObject(delta), ...asObject(message), text, role: undefined };
    return isPlainEnd(reason) && Object.values(said).every(isBlank);
  });
}

const OPENING_EVENT = /^(?:response\.(?:created|queued|in_progress)|keepalive|ping)$/;

/** Events before the first item, and the end of a response that has none. */
function isPreambleEvent(event: UntrustedObject): boolean {
  const type = textOf(event.type);
  if (OPENING_EVENT.test(type)) return isBlank(asObject(event.response)?.output);
  if (type !== 'response.completed') return false;
  return isBlank(asObject(event.response)?.output) && !hasFigures(findUsage(event));
}

const toDataEvent = (body: string): string => `data: ${body}\n\n`;

export const CHAT_DIALECT: Dialect = {
  ...OPENAI,
  path: '/v1/chat/completions',
  body: chatEndpoints.chatCompletions.body,
  maxTokensKeys: ['max_completion_tokens', 'max_tokens'],
  defaultMaxTokens: 4_096,
  hasChoiceCount: true,
  streamUsageIsOptIn: true,
  promptKey: 'messages',
  resultKey: 'choices',
  countFinishedChoices: ({ choices }) =>
    listOf(choices).filter((choice) => textOf(asObject(choice)?.finish_reason) !== '').length,
  isPreamble: isPreambleChunk,
  isEmptyResponse: isPreambleChunk,
  maxEventBytes: MAX_TEXT_EVENT_BYTES,
  extractEventText: (event) => extractChoicesText(event, 'delta'),
  extractResponseText: (answer) => extractChoicesText(answer, 'message'),
  toErrorEvent: toDataEvent,
};

/** platform.openai.com/docs/api-reference/responses-streaming */
export const RESPONSES_DIALECT: Dialect = {
  ...OPENAI,
  path: '/v1/responses',
  body: chatEndpoints.responses.body,
  maxTokensKeys: ['max_output_tokens'],
  defaultMaxTokens: 4_096,
  hasChoiceCount: false,
  streamUsageIsOptIn: false,
  promptKey: 'input',
  resultKey: 'output',
  countFinishedChoices: ({ type }) => Number(/^response\.(completed|incomplete|failed)$/.test(textOf(type))),
  isPreamble: isPreambleEvent,
  isEmptyResponse: (answer) =>
    isBlank(answer.output) && !hasFigures(findUsage(answer)) && isBlank(answer.incomplete_details),
  failureMarker: 'failed',
  maxEventBytes: MAX_IMAGE_EVENT_BYTES,
  extractEventText: ({ type, delta }) => (textOf(type).endsWith('.delta') ? textOf(delta) : ''),
  extractResponseText: ({ output }) =>
    listOf(output)
      .map((item) => {
        const { content, summary, arguments: args, input } = asObject(item) ?? {};
        const parts = [...listOf(content), ...listOf(summary)].map(asObject);
        return textOf(args) + textOf(input) + parts.map((part) => textOf(part?.text) + textOf(part?.refusal)).join('');
      })
      .join(''),
  toErrorEvent(body) {
    const error = (JSON.parse(body) as { error: object }).error;
    return `event: error\ndata: ${JSON.stringify({ ...error, type: 'error', sequence_number: 0 })}\n\n`;
  },
};

export const EMBEDDINGS_DIALECT: Dialect = {
  ...OPENAI,
  path: '/v1/embeddings',
  body: chatEndpoints.embeddings.body,
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

export const IMAGES_DIALECT: Dialect = {
  ...EMBEDDINGS_DIALECT,
  path: '/v1/images/generations',
  body: chatEndpoints.imageGenerations.body,
  promptKey: 'prompt',
  // A large picture of the models that are paid by tokens.
  defaultMaxTokens: 4_096,
  hasChoiceCount: true,
  maxEventBytes: MAX_IMAGE_EVENT_BYTES,
  countFinishedChoices: ({ type }) => Number(type === 'image_generation.completed'),
};

/** A dialect by its path. */
export const findDialect = (path: string): Dialect | undefined =>
  [
    CHAT_DIALECT,
    RESPONSES_DIALECT,
    EMBEDDINGS_DIALECT,
    IMAGES_DIALECT,
    ANTHROPIC_MESSAGES_DIALECT,
    GEMINI_DIALECT,
  ].find((dialect) => dialect.path === path);
