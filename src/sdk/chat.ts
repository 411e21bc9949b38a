import { createParser } from 'eventsource-parser';
import type { EndpointPart } from '../contract/endpoint.ts';
import { chatCompletions, countMessageTokens } from '../contract/model-calls.ts';
import { notJsonError, ReelgateError, throwForStatus } from './errors.ts';
import { type Transport, toJson } from './transport.ts';

/**
 * One message in the format of OpenAI's chat completions; content parts are texts, images or other input the model
 * accepts.
 */
export interface ChatMessage {
  /** Author of the message. */
  readonly role: 'system' | 'developer' | 'user' | 'assistant' | 'tool';
  /** Text, or parts: texts, images and other input. */
  readonly content:
    | string
    | readonly {
        /** `text`, `image_url`, … */
        readonly type: string;
        readonly [key: string]: unknown;
      }[];
  /** Further keys of OpenAI's format: `tool_calls`, `name`, … */
  readonly [key: string]: unknown;
}

/** Body of a chat completion; further keys are forwarded to the upstream unchanged (`tools`, `temperature`, …). */
export interface ChatRequest {
  /** Id of the model. */
  readonly model: string;
  /** The conversation, oldest message first. */
  readonly messages: readonly ChatMessage[];
  /** Maximum length of the answer, in tokens. */
  readonly max_tokens?: number;
  /** Further keys are sent unchanged. */
  readonly [key: string]: unknown;
}

/** Token counts of a call. */
export interface ChatUsage {
  /** Input tokens. */
  readonly prompt_tokens: number;
  /** Output tokens. */
  readonly completion_tokens: number;
}

/** A complete answer. */
export interface ChatResult {
  /** Text of the answer. */
  readonly content: string;
  /** `stop`, `length`, `tool_calls` …; empty if the upstream does not report it. */
  readonly finishReason: string;
  /** Token counts of the call; undefined if the upstream does not report them. */
  readonly usage: ChatUsage | undefined;
}

/** One event of a stream, or a complete response. All keys are optional because upstreams differ. */
export interface ChatEvent {
  /** Answers; a single one unless several were requested. */
  readonly choices?: readonly {
    /** In a stream: text and other output added by this event. */
    readonly delta?: {
      /** Next part of the text. */
      readonly content?: string | null;
      readonly [key: string]: unknown;
    };
    /** Outside a stream: the complete answer. */
    readonly message?: {
      /** The complete text. */
      readonly content?: string | null;
      readonly [key: string]: unknown;
    };
    /** Why the answer ended: `stop`, `length`, `tool_calls`, … */
    readonly finish_reason?: string | null;
  }[];
  /** Token counts of the call. */
  readonly usage?: ChatUsage | null;
  /** Further keys, as the upstream sends them. */
  readonly [key: string]: unknown;
}

/** A prompt to count the tokens of; further keys such as `tools` are in the format of Anthropic's Messages. */
export interface TokenCountRequest {
  /** Id of the model. */
  readonly model: string;
  /** The conversation, oldest message first. */
  readonly messages: readonly {
    /** Author of the message. */
    readonly role: 'user' | 'assistant';
    /** Text, or parts in Anthropic's format. */
    readonly content: unknown;
  }[];
  /** The system prompt. */
  readonly system?: string;
  /** Further keys are sent unchanged. */
  readonly [key: string]: unknown;
}

/** Token count of a prompt. */
export interface TokenCount {
  /** Number of tokens in the prompt. */
  readonly tokens: number;
  /** `estimate`: counted by the service with a tokenizer other than the model's. */
  readonly source: 'upstream' | 'estimate';
}

/** Options of a model call. */
export interface ChatOptions {
  /** Aborts the response; output generated before that is charged. */
  readonly signal?: AbortSignal;
}

/**
 * Language models, called with an `sk-` token or llm_token. Requests are never retried automatically, because each is
 * charged.
 */
export class Chat {
  readonly #transport: Pick<Transport, 'send'>;
  /** @internal */
  constructor(transport: Pick<Transport, 'send'>) {
    this.#transport = transport;
  }

  /**
   * Returns the complete response at once. @throws ReelgateError `quota_not_enough`, `model_not_found`,
   * `upstream_error`, …
   */
  async complete(request: ChatRequest, options: ChatOptions = {}): Promise<ChatResult> {
    const response = await this.#post({ ...request, stream: false }, options);
    const completion = (await readJson(response, options)) as ChatEvent;
    const [choice] = completion.choices ?? [];
    return {
      content: choice?.message?.content ?? '',
      finishReason: choice?.finish_reason ?? '',
      usage: completion.usage ?? undefined,
    };
  }

  /**
   * Yields the text in chunks as it is generated; the generator's return value is the complete result.
   *
   * @throws ReelgateError, also in the middle of the stream: output generated before that is charged
   */
  async *stream(request: ChatRequest, options: ChatOptions = {}): AsyncGenerator<string, ChatResult> {
    let content = '';
    let finishReason = '';
    let usage: ChatUsage | undefined;
    for await (const event of this.events({ ...request, stream_options: { include_usage: true } }, options)) {
      const [choice] = event.choices ?? [];
      const piece = choice?.delta?.content ?? '';
      finishReason = choice?.finish_reason ?? finishReason;
      usage = event.usage ?? usage;
      content += piece;
      if (piece !== '') yield piece;
    }
    return { content, finishReason, usage };
  }

  /**
   * Yields every event of a stream unchanged, for tool calls, reasoning and other output besides the text.
   *
   * @throws ReelgateError as `stream` does
   */
  async *events(request: ChatRequest, options: ChatOptions = {}): AsyncGenerator<ChatEvent, void> {
    const response = await this.#post({ ...request, stream: true }, options);
    if (response.headers.get('content-type')?.startsWith('text/event-stream') !== true) {
      await response.body?.cancel();
      throw streamInterruptedError();
    }
    const pending: string[] = [];
    const parser = createParser({ onEvent: ({ data }) => void pending.push(data) });
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    try {
      for (;;) {
        const read = await reader?.read().catch((error: unknown) => {
          if (options.signal?.aborted === true) throw options.signal.reason;
          throw streamInterruptedError(error);
        });
        if (read === undefined || read.done) throw streamInterruptedError();
        parser.feed(read.value);
        for (const data of pending.splice(0)) {
          if (data === '[DONE]') return;
          yield parseEvent(data);
        }
      }
    } finally {
      // Runs when the consumer stops early: closing the connection aborts the upstream call too.
      await reader?.cancel().catch(() => {});
    }
  }

  /** Counts the tokens of a prompt, free of charge. @throws ReelgateError `model_not_found` */
  async countTokens(request: TokenCountRequest, { signal }: ChatOptions = {}): Promise<TokenCount> {
    const body = request as unknown as EndpointPart<typeof countMessageTokens, 'body'>;
    const response = await throwForStatus(await this.#transport.send(countMessageTokens, { body }, { signal }));
    const { input_tokens: tokens } = (await readJson(response, { signal })) as EndpointPart<
      typeof countMessageTokens,
      'response'
    >;
    const source = response.headers.get('x-reelgate-token-count') === 'upstream' ? 'upstream' : 'estimate';
    return { tokens, source };
  }

  async #post(body: ChatRequest & { readonly stream: boolean }, { signal }: ChatOptions): Promise<Response> {
    const checked = body as unknown as EndpointPart<typeof chatCompletions, 'body'>;
    const headers = { accept: body.stream ? 'text/event-stream' : 'application/json' };
    return throwForStatus(await this.#transport.send(chatCompletions, { body: checked }, { signal, headers }));
  }
}

/** @throws ReelgateError `broken_off`, or `not_json` for the page of a proxy */
async function readJson(response: Response, { signal }: ChatOptions): Promise<object> {
  const text = await response.text().catch((error: unknown) => {
    throw signal?.aborted === true ? signal.reason : streamInterruptedError(error);
  });
  const value = toJson(text);
  if (typeof value !== 'object' || value === null) throw notJsonError(response.status);
  return value;
}

/**
 * @throws ReelgateError for an error event: after a stream has started, the HTTP status can no longer report a failure
 */
function parseEvent(data: string): ChatEvent {
  let event: ChatEvent & { readonly error?: { readonly message?: string; readonly code?: string } | null };
  try {
    event = JSON.parse(data);
  } catch (error) {
    throw new ReelgateError('The answer has an event that cannot be read.', { code: 'not_json', cause: error });
  }
  if (event.error === undefined || event.error === null) return event;
  const { message = 'The model failed in the middle of its answer.', code = 'upstream_error' } = event.error;
  throw new ReelgateError(message, { code, status: 200 });
}

const streamInterruptedError = (cause?: unknown): ReelgateError =>
  new ReelgateError('The response ended too early.', { code: 'broken_off', cause });
