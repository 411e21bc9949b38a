import { asObject, type UntrustedObject } from '../../contract/is-object.ts';
import * as chatEndpoints from '../../contract/openai-anthropic-and-gemini-model-calls.ts';
import { type Dialect, hasFigures, isBlank, listOf, MAX_TEXT_EVENT_BYTES, textOf } from './dialect.ts';

/** Text of a block of a message. The arguments of a tool call are an object in a complete response, and text in a stream. */
function textOfBlock(block: unknown): string {
  const { text, thinking, name, input } = asObject(block) ?? {};
  const args = asObject(input);
  const argsText = args === undefined || Object.keys(args).length === 0 ? '' : JSON.stringify(args);
  return textOf(text) + textOf(thinking) + textOf(name) + argsText;
}

/** Events around the blocks of a message, and blocks that hold nothing yet. */
function isPreamble({ type, message, content_block: block, delta, usage }: UntrustedObject): boolean {
  switch (type) {
    case 'ping':
    case 'content_block_stop':
    case 'message_stop':
      return true;
    case 'message_start':
      return isBlank(asObject(message)?.content);
    case 'content_block_start': {
      const { type: kind, text, thinking } = asObject(block) ?? {};
      return (kind === 'text' && isBlank(text)) || (kind === 'thinking' && isBlank(thinking));
    }
    case 'content_block_delta': {
      const { type: kind, text, thinking } = asObject(delta) ?? {};
      return (kind === 'text_delta' && isBlank(text)) || (kind === 'thinking_delta' && isBlank(thinking));
    }
    case 'message_delta': {
      const { stop_reason: reason } = asObject(delta) ?? {};
      const { output_tokens: output } = asObject(usage) ?? {};
      return (isBlank(reason) || reason === 'end_turn') && !(typeof output === 'number' && output > 0);
    }
    default:
      return false;
  }
}

/** Anthropic's Messages (docs.claude.com/en/api/messages, and messages-streaming for the events). */
export const ANTHROPIC_MESSAGES_DIALECT: Dialect = {
  vendor: 'anthropic',
  path: '/v1/messages',
  body: chatEndpoints.messages.body,
  count: { path: () => chatEndpoints.countMessageTokens.path, key: 'input_tokens' },
  maxTokensKeys: ['max_tokens'],
  defaultMaxTokens: 4_096,
  hasChoiceCount: false,
  streamUsageIsOptIn: false,
  promptKey: 'messages',
  resultKey: 'content',
  // Features in beta are asked for by header, and change what the body may hold.
  forwardedHeaders: ['anthropic-version', 'anthropic-beta'],
  idHeader: 'request-id',
  usageMarkers: ['"usage":{', '"usage": {'],
  findUsage(value) {
    const body = asObject(value);
    return asObject(body?.usage) ?? asObject(asObject(body?.message)?.usage);
  },
  countFinishedChoices: ({ type }) => Number(type === 'message_stop'),
  isPreamble,
  isEmptyResponse: ({ content, usage, stop_reason: reason }) =>
    isBlank(content) && !hasFigures(asObject(usage)) && (isBlank(reason) || reason === 'end_turn'),
  maxEventBytes: MAX_TEXT_EVENT_BYTES,
  extractEventText({ type, delta, content_block: block }) {
    if (type === 'content_block_start') return textOfBlock(block);
    if (type !== 'content_block_delta') return '';
    const { text, thinking, partial_json: json } = asObject(delta) ?? {};
    return textOf(text) + textOf(thinking) + textOf(json);
  },
  extractResponseText: ({ content }) => listOf(content).map(textOfBlock).join(''),
  toErrorEvent: (body) => `event: error\ndata: ${body}\n\n`,
};
