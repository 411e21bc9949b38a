import { createParser } from 'eventsource-parser';
import type { EndpointPart } from '../contract/endpoint.ts';
import { chatCompletions, countMessageTokens } from '../contract/model-calls.ts';
import { parseErrorResponse, ReelgateError } from './errors.ts';
import type { Transport } from './transport.ts';

/** One message in the format of OpenAI's chat completions; content parts are texts, images and whatever else the model accepts. */
export interface ChatMessage {
  readonly role: 'system' | 'developer' | 'user' | 'assistant' | 'tool';
  readonly content: string | readonly { readonly type: string; readonly [key: string]: unknown }[];
  readonly [key: string]: unknown;
}

/** The body of a chat completion; further keys are passed on to the upstream unchanged (`tools`, `temperature`, …). */
export interface ChatRequest {
  readonly model: string;
  readonly messages: readonly ChatMessage[];
  readonly max_tokens?: number;
  readonly [key: string]: unknown;
}

/** Tokens. */
export interface ChatUsage {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
}

export interface ChatResult {
  readonly content: string;
  /** `stop`, `length`, `tool_calls` …; empty if the upstream does not report it. */
  readonly finishReason: string;
  readonly usage: ChatUsage | undefined;
}

/** One event of a stream, or a complete response. All keys are optional, as upstreams differ. */
export interface ChatEvent {
  readonly choices?: readonly {
    readonly delta?: { readonly content?: string | null; readonly [key: string]: unknown };
    readonly message?: { readonly content?: string | null; readonly [key: string]: unknown };
    readonly finish_reason?: string | null;
  }[];
  readonly usage?: ChatUsage | null;
  readonly [key: string]: unknown;
}

/** A question whose tokens are counted; further keys such as `tools` are in the format of Anthropic's Messages. */
export interface TokenCountRequest {
  readonly model: string;
  readonly messages: readonly { readonly role: 'user' | 'assistant'; readonly content: unknown }[];
  readonly system?: string;
  readonly [key: string]: unknown;
}

export interface TokenCount {
  readonly tokens: number;
  /** `estimate`: counted by the service with another tokenizer than the model's. */
  readonly source: 'upstream' | 'estimate';
}

interface ChatOptions {
  /** Aborts the response; what was generated until then is charged. */
  readonly signal?: AbortSignal;
}

/** Language models, called with an `sk-` token or llm_token. Requests are never retried automatically, since each is charged. */
export class Chat {
  readonly #transport: Pick<Transport, 'send'>;
  constructor(transport: Pick<Transport, 'send'>) {
    this.#transport = transport;
  }

  /** The complete response at once. */
  async complete(request: ChatRequest, options: ChatOptions = {}): Promise<ChatResult> {
    const response = await this.#post({ ...request, stream: false }, options);
    const completion = (await response.json()) as ChatEvent;
    const [choice] = completion.choices ?? [];
    return {
      content: choice?.message?.content ?? '',
      finishReason: choice?.finish_reason ?? '',
      usage: completion.usage ?? undefined,
    };
  }

  /**
   * The text in chunks as it is generated; the generator's return value is the complete result.
   *
   * @throws ReelgateError, also in the middle of the stream: what was generated until then is charged
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

  /** Every event of a stream, unchanged: for tool calls, reasoning and other output beside the text. */
  async *events(request: ChatRequest, options: ChatOptions = {}): AsyncGenerator<ChatEvent, void> {
    const response = await this.#post({ ...request, stream: true }, options);
    if (response.headers.get('content-type')?.startsWith('text/event-stream') !== true) throw streamInterruptedError();
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
      // A consumer that stops early closes the connection, which aborts the upstream call too.
      await reader?.cancel().catch(() => {});
    }
  }

  /** The tokens of a question, free of charge. */
  async countTokens(request: TokenCountRequest, { signal }: ChatOptions = {}): Promise<TokenCount> {
    const body = request as unknown as EndpointPart<typeof countMessageTokens, 'body'>;
    const response = await this.#transport.send(countMessageTokens, { body }, { signal });
    const answer: unknown = await response.json().catch(() => undefined);
    if (!response.ok) throw parseErrorResponse(response.status, response.headers, answer) ?? streamInterruptedError();
    const { input_tokens: tokens } = answer as EndpointPart<typeof countMessageTokens, 'response'>;
    const source = response.headers.get('x-reelgate-token-count') === 'upstream' ? 'upstream' : 'estimate';
    return { tokens, source };
  }

  async #post(body: ChatRequest & { readonly stream: boolean }, { signal }: ChatOptions): Promise<Response> {
    const checked = body as unknown as EndpointPart<typeof chatCompletions, 'body'>;
    const headers = { accept: body.stream ? 'text/event-stream' : 'application/json' };
    const response = await this.#transport.send(chatCompletions, { body: checked }, { signal, headers });
    if (response.ok) return response;
    const errorBody: unknown = await response.json().catch(() => undefined);
    throw parseErrorResponse(response.status, response.headers, errorBody) ?? streamInterruptedError();
  }
}

/** @throws ReelgateError for an error event: once a stream has begun, the HTTP status cannot report a failure any more */
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
