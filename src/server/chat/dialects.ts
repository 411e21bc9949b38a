import type { TSchema } from 'typebox';
import * as lines from '../../contract/chat.ts';
import { asObject, type Untrusted } from './untrusted.ts';

/** What differs between the kinds of model calls; everything else about them is the same relay. */
export interface Dialect {
  /** Ours and the upstream's, below its base address. */
  readonly path: string;
  readonly body: TSchema;
  /**
   * The body's keys that bound the answer's tokens; upstreams differ in which of them they heed, so the largest counts.
   * Empty: nothing is generated as text.
   */
  readonly bounds: readonly string[];
  /** `n` asks for several answers, each as long as the bound. */
  readonly hasCopies: boolean;
  /** Usage of a stream must be asked for with `stream_options`, and arrives in an event of its own. */
  readonly asksForUsage: boolean;
  /** What an unbroken stream has in it; one that ends without was cut. */
  readonly endMarks: readonly string[];
  /** The generated text of one event of a stream, tool calls and reasoning included. */
  textOfEvent(event: Untrusted): string;
  /** The generated text of a whole answer. */
  textOfAnswer(answer: Untrusted): string;
  /** An error as an event of a stream that is under way; `body` is the envelope. */
  errorEvent(body: string): string;
}

const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
const text = (value: unknown): string => (typeof value === 'string' ? value : '');

/** Text of a chat message or of a piece of one. */
function textOfMessage(message: unknown): string {
  const {
    content,
    reasoning_content: reasoning,
    reasoning: thought,
    refusal,
    tool_calls: calls,
  } = asObject(message) ?? {};
  const spoken =
    typeof content === 'string'
      ? content
      : list(content)
          .map((part) => text(asObject(part)?.text))
          .join('');
  const called = list(calls).map((call) => {
    const { name, arguments: args } = asObject(asObject(call)?.function) ?? {};
    return text(name) + text(args);
  });
  return (text(reasoning) || text(thought)) + spoken + text(refusal) + called.join('');
}

const choices = (answer: Untrusted, key: 'delta' | 'message'): string =>
  list(answer.choices)
    .map((choice) => textOfMessage(asObject(choice)?.[key]))
    .join('');

const plainError = (body: string): string => `data: ${body}\n\n`;

export const CHAT: Dialect = {
  path: '/v1/chat/completions',
  body: lines.chatCompletions.body,
  bounds: ['max_completion_tokens', 'max_tokens'],
  hasCopies: true,
  asksForUsage: true,
  endMarks: ['[DONE]', '"finish_reason":"', '"finish_reason": "'],
  textOfEvent: (event) => choices(event, 'delta'),
  textOfAnswer: (answer) => choices(answer, 'message'),
  errorEvent: plainError,
};

/** platform.openai.com/docs/api-reference/responses-streaming */
export const RESPONSES: Dialect = {
  path: '/v1/responses',
  body: lines.responses.body,
  bounds: ['max_output_tokens'],
  hasCopies: false,
  asksForUsage: false,
  endMarks: ['response.completed', 'response.incomplete', 'response.failed'],
  textOfEvent: ({ type, delta }) => (text(type).endsWith('.delta') ? text(delta) : ''),
  textOfAnswer: ({ output }) =>
    list(output)
      .map((item) => {
        const { content, arguments: args } = asObject(item) ?? {};
        return (
          text(args) +
          list(content)
            .map((part) => text(asObject(part)?.text))
            .join('')
        );
      })
      .join(''),
  errorEvent(body) {
    const error = (JSON.parse(body) as { error: object }).error;
    return `event: error\ndata: ${JSON.stringify({ ...error, type: 'error', sequence_number: 0 })}\n\n`;
  },
};

export const EMBEDDINGS: Dialect = {
  path: '/v1/embeddings',
  body: lines.embeddings.body,
  bounds: [],
  hasCopies: false,
  asksForUsage: false,
  endMarks: [],
  textOfEvent: () => '',
  textOfAnswer: () => '',
  errorEvent: plainError,
};

export const IMAGES: Dialect = {
  ...EMBEDDINGS,
  path: '/v1/images/generations',
  body: lines.imageGenerations.body,
  endMarks: ['image_generation.completed'],
};
