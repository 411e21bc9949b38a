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
  /** What is set aside for where the body names no bound. */
  readonly usualBound: number;
  /** `n` asks for several answers, each as long as the bound. */
  readonly hasCopies: boolean;
  /** Usage of a stream must be asked for with `stream_options`, and arrives in an event of its own. */
  readonly asksForUsage: boolean;
  /** The member that holds the question. */
  readonly question: string;
  /** The member every whole answer has; one without is no answer. */
  readonly yields: string;
  /** How many answers an event ends; a stream that ends fewer than were asked for, and has no `[DONE]`, was cut. */
  endsIn(event: Untrusted): number;
  /** Bytes; an event that outgrows it ends the stream. */
  readonly longestEvent: number;
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
    function_call: call,
  } = asObject(message) ?? {};
  const spoken =
    typeof content === 'string'
      ? content
      : list(content)
          .map((part) => text(asObject(part)?.text))
          .join('');
  const called = [...list(calls).map((each) => asObject(each)?.function ?? asObject(each)?.custom), call].map(
    (each) => {
      const { name, arguments: args, input } = asObject(each) ?? {};
      return text(name) + text(args) + text(input);
    },
  );
  return (text(reasoning) || text(thought)) + spoken + text(refusal) + called.join('');
}

const choices = (answer: Untrusted, key: 'delta' | 'message'): string =>
  list(answer.choices)
    .map((choice) => textOfMessage(asObject(choice)?.[key]))
    .join('');

const LONGEST_TEXT = 1024 * 1024;
/** Base64 of the largest pictures there are. */
export const LONGEST_PICTURE = 16 * 1024 * 1024;

const plainError = (body: string): string => `data: ${body}\n\n`;

export const CHAT: Dialect = {
  path: '/v1/chat/completions',
  body: lines.chatCompletions.body,
  bounds: ['max_completion_tokens', 'max_tokens'],
  usualBound: 4_096,
  hasCopies: true,
  asksForUsage: true,
  question: 'messages',
  yields: 'choices',
  endsIn: ({ choices }) => list(choices).filter((choice) => text(asObject(choice)?.finish_reason) !== '').length,
  longestEvent: LONGEST_TEXT,
  textOfEvent: (event) => choices(event, 'delta'),
  textOfAnswer: (answer) => choices(answer, 'message'),
  errorEvent: plainError,
};

/** platform.openai.com/docs/api-reference/responses-streaming */
export const RESPONSES: Dialect = {
  path: '/v1/responses',
  body: lines.responses.body,
  bounds: ['max_output_tokens'],
  usualBound: 4_096,
  hasCopies: false,
  asksForUsage: false,
  question: 'input',
  yields: 'output',
  endsIn: ({ type }) => Number(/^response\.(completed|incomplete|failed)$/.test(text(type))),
  longestEvent: LONGEST_PICTURE,
  textOfEvent: ({ type, delta }) => (text(type).endsWith('.delta') ? text(delta) : ''),
  textOfAnswer: ({ output }) =>
    list(output)
      .map((item) => {
        const { content, summary, arguments: args, input } = asObject(item) ?? {};
        const parts = [...list(content), ...list(summary)].map(asObject);
        return text(args) + text(input) + parts.map((part) => text(part?.text) + text(part?.refusal)).join('');
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
  usualBound: 0,
  hasCopies: false,
  asksForUsage: false,
  question: 'input',
  yields: 'data',
  endsIn: () => 0,
  longestEvent: LONGEST_TEXT,
  textOfEvent: () => '',
  textOfAnswer: () => '',
  errorEvent: plainError,
};

export const IMAGES: Dialect = {
  ...EMBEDDINGS,
  path: '/v1/images/generations',
  body: lines.imageGenerations.body,
  question: 'prompt',
  // A large picture of the models that are paid by tokens.
  usualBound: 4_096,
  hasCopies: true,
  longestEvent: LONGEST_PICTURE,
  endsIn: ({ type }) => Number(type === 'image_generation.completed'),
};
