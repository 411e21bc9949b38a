import { createParser } from 'eventsource-parser';
import { chatCompletions } from '../contract/chat.ts';
import type { PartOf } from '../contract/endpoint.ts';
import { ReelgateError, readFailure } from './errors.ts';
import type { Transport } from './transport.ts';

/** One message, in the form of OpenAI's chat completions; parts are texts, pictures and whatever the model takes. */
export interface ChatMessage {
  readonly role: 'system' | 'developer' | 'user' | 'assistant' | 'tool';
  readonly content: string | readonly { readonly type: string; readonly [key: string]: unknown }[];
  readonly [key: string]: unknown;
}

/** What to ask; keys beyond these go to the model's own service as they are (`tools`, `temperature`, …). */
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

export interface ChatAnswer {
  readonly content: string;
  /** `stop`, `length`, `tool_calls` …; empty where the service of the model does not tell. */
  readonly finishReason: string;
  readonly usage: ChatUsage | undefined;
}

/** One event of a stream, or a whole completion; read leniently, as upstreams differ. */
export interface ChatEvent {
  readonly choices?: readonly {
    readonly delta?: { readonly content?: string | null; readonly [key: string]: unknown };
    readonly message?: { readonly content?: string | null; readonly [key: string]: unknown };
    readonly finish_reason?: string | null;
  }[];
  readonly usage?: ChatUsage | null;
  readonly [key: string]: unknown;
}

interface AskOptions {
  /** Ends the answer; what came until then is charged. */
  readonly signal?: AbortSignal | undefined;
}

/** Language models by an `sk-` token or llm_token. A question is never asked twice by itself: each is paid for. */
export class Chat {
  readonly #transport: Pick<Transport, 'send'>;
  constructor(transport: Pick<Transport, 'send'>) {
    this.#transport = transport;
  }

  /** The whole answer at once. */
  async complete(request: ChatRequest, options: AskOptions = {}): Promise<ChatAnswer> {
    const response = await this.#ask({ ...request, stream: false }, options);
    const completion = (await response.json()) as ChatEvent;
    const [choice] = completion.choices ?? [];
    return {
      content: choice?.message?.content ?? '',
      finishReason: choice?.finish_reason ?? '',
      usage: completion.usage ?? undefined,
    };
  }

  /**
   * The text piece by piece as it is written; the generator's return value is the whole.
   *
   * @throws ReelgateError also in the middle: what had come by then is charged
   */
  async *stream(request: ChatRequest, options: AskOptions = {}): AsyncGenerator<string, ChatAnswer> {
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

  /** Every event of a stream as it came: for tool calls, reasoning and whatever else a model says beside its text. */
  async *events(request: ChatRequest, options: AskOptions = {}): AsyncGenerator<ChatEvent, void> {
    const response = await this.#ask({ ...request, stream: true }, options);
    if (response.headers.get('content-type')?.startsWith('text/event-stream') !== true) throw brokenOff();
    const waiting: string[] = [];
    const parser = createParser({ onEvent: ({ data }) => void waiting.push(data) });
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    try {
      for (;;) {
        const read = await reader?.read().catch((error: unknown) => {
          if (options.signal?.aborted === true) throw options.signal.reason;
          throw brokenOff(error);
        });
        if (read === undefined || read.done) throw brokenOff();
        parser.feed(read.value);
        for (const data of waiting.splice(0)) {
          if (data === '[DONE]') return;
          yield toEvent(data);
        }
      }
    } finally {
      // Whoever stops listening hangs up, which stops the model too.
      await reader?.cancel().catch(() => {});
    }
  }

  async #ask(body: ChatRequest & { readonly stream: boolean }, { signal }: AskOptions): Promise<Response> {
    const checked = body as unknown as PartOf<typeof chatCompletions, 'body'>;
    const headers = { accept: body.stream ? 'text/event-stream' : 'application/json' };
    const response = await this.#transport.send(chatCompletions, { body: checked }, { signal, headers });
    if (response.ok) return response;
    const refusal: unknown = await response.json().catch(() => undefined);
    throw readFailure(response.status, response.headers, refusal) ?? brokenOff();
  }
}

/** @throws ReelgateError for an event that tells of a failure: the status could no longer do that */
function toEvent(data: string): ChatEvent {
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

const brokenOff = (cause?: unknown): ReelgateError =>
  new ReelgateError('The answer broke off.', { code: 'broken_off', cause });
