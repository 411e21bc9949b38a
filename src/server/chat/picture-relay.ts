import { setTimeout as sleep } from 'node:timers/promises';
import type { Channel, Channels } from '../channels/channels.ts';
import type { Clock } from '../platform/clock.ts';
import { AppError, invalid } from '../platform/errors.ts';
import type { ModelCaller } from '../platform/http/caller.ts';
import type { Log } from '../platform/log.ts';
import { OutboundError } from '../platform/outbound/outbound.ts';
import type { VendorCall } from '../video/vendor.ts';
import type { Ask } from './ask.ts';
import type { Books } from './books.ts';
import { CHAT } from './dialects.ts';
import type { RunWork } from './run.ts';
import { asObject } from './untrusted.ts';
import { lookForPicture, type PictureRequest, submitPicture } from './upstreams/jimeng-image.ts';

export interface PictureParts {
  readonly channels: Channels;
  readonly clock: Clock;
  readonly log: Log;
  readonly books: Books;
  /** Made by video: the same calls its adapters get. */
  readonly calls: { make(channel: Channel, signal: AbortSignal): VendorCall };
  /** Between two looks. */
  readonly pollMs: number;
  readonly totalMs: number;
  readonly keepAliveMs: number;
  /** Ends when the service stops. */
  readonly stopping: AbortSignal;
}

const MAX_TRIES = 3;
const NO_AUDIENCE = { left: () => {}, drained: () => {} };

/** Models that make a picture in seconds, called as if they spoke: the answer is a Markdown link to it. */
export class PictureRelay {
  readonly #parts: PictureParts;
  constructor(parts: PictureParts) {
    this.#parts = parts;
  }

  async serve(caller: ModelCaller, work: RunWork): Promise<void> {
    const request = readPictureRequest(work.ask, work.model.target);
    await work.charge.reserve(caller, work.model.id);
    this.#parts.books.follow(this.#run(request, work));
  }

  /** Goes on without its caller: the vendor bills the picture all the same, and only its end tells whether it came to one. */
  async #run(request: PictureRequest, work: RunWork): Promise<void> {
    const { client, charge, ask, model } = work;
    client.watch(NO_AUDIENCE);
    const heart = ask.stream ? this.#beat(work) : undefined;
    try {
      const urls = await this.#make(request, work);
      const usage = { promptTokens: 0, completionTokens: 0 };
      // The vendor bills each; some models make several where the words ask for them.
      charge.settle({ usage, complete: true, pieces: urls.length, text: () => '' });
      if (!client.gone) answer(work, urls, Math.floor(this.#parts.clock.now() / 1_000), model.id);
    } catch (error) {
      charge.refund();
      if (!(error instanceof AppError)) this.#parts.log.error({ err: error, requestId: client.id }, 'a picture failed');
      client.fail(error, ask.dialect);
    } finally {
      clearInterval(heart);
    }
  }

  #beat({ client }: RunWork): NodeJS.Timeout {
    return setInterval(() => {
      if (client.gone) return;
      if (!client.streaming) client.openStream();
      client.write(': working\n\n');
    }, this.#parts.keepAliveMs);
  }

  async #make(request: PictureRequest, { candidates, model }: RunWork): Promise<readonly string[]> {
    const { channels } = this.#parts;
    let last = new AppError('upstream_unavailable');
    for (const channel of candidates.slice(0, MAX_TRIES)) {
      const call = this.#parts.calls.make(channel, this.#parts.stopping);
      const begun = await this.#submit(request, channel, call, model.id);
      if ('id' in begun) {
        channels.report({ channelId: channel.id, model: model.id, outcome: 'ok' });
        return this.#await(request.model, begun.id, call);
      }
      last = begun.error;
      if (!begun.retryable) break;
    }
    throw last;
  }

  async #submit(
    request: PictureRequest,
    channel: Channel,
    call: VendorCall,
    model: string,
  ): Promise<{ id: string } | { error: AppError; retryable: boolean }> {
    const { channels } = this.#parts;
    try {
      const submitted = await submitPicture(request, call);
      if ('id' in submitted) return submitted;
      const { reason, code, message, error, retryable } = submitted.failure;
      channels.report({ channelId: channel.id, model, outcome: reason, code, message });
      return { error, retryable };
    } catch (error) {
      if (!(error instanceof OutboundError)) throw error;
      channels.report({ channelId: channel.id, model, outcome: 'unreachable', message: error.message });
      // The picture may be under way there: it is not begun twice.
      return {
        error: new AppError(error.mayHaveArrived ? 'upstream_error' : 'upstream_unavailable'),
        retryable: !error.mayHaveArrived,
      };
    }
  }

  async #await(reqKey: string, id: string, call: VendorCall): Promise<readonly string[]> {
    const { pollMs, totalMs, stopping } = this.#parts;
    const endsAt = performance.now() + totalMs;
    while (performance.now() < endsAt) {
      await sleep(pollMs, undefined, { signal: stopping }).catch(() => {
        throw new AppError('unavailable');
      });
      const looked = await lookForPicture(reqKey, id, call).catch((error: unknown) => {
        if (error instanceof OutboundError) return { kind: 'working' } as const;
        throw error;
      });
      if (looked.kind === 'done') return looked.urls;
      if (looked.kind === 'failed') throw looked.failure.error;
    }
    throw new AppError('upstream_timeout');
  }
}

/** The last thing the user said: its text and its pictures. On the images address, the prompt. */
function readPictureRequest({ body, dialect }: Ask, model: string): PictureRequest {
  // Charged for, they would not come.
  if (typeof body.n === 'number' && body.n > 1) throw invalid('This model makes one picture a call.', 'n');
  if (dialect !== CHAT && body.stream === true) throw invalid('This model does not stream at this address.', 'stream');
  if (body.response_format === 'b64_json') throw invalid('This model answers with addresses.', 'response_format');
  const { width, height } = readSize(body.size);
  const shape = {
    model,
    ...(width === undefined || height === undefined ? {} : { width, height }),
    ...(typeof body.seed === 'number' && Number.isInteger(body.seed) ? { seed: body.seed } : {}),
  };
  if (dialect !== CHAT) return { ...shape, prompt: String(body.prompt), pictures: [] };
  const messages = Array.isArray(body.messages) ? body.messages.map(asObject) : [];
  const said = messages.findLast((message) => message?.role === 'user')?.content;
  const parts = (Array.isArray(said) ? said : [{ type: 'text', text: said }]).map(asObject);
  const prompt = parts
    .map((part) => part?.text)
    .filter((text) => typeof text === 'string')
    .join('\n')
    .trim();
  if (prompt === '') throw invalid('messages must end with a text of the user that describes the picture.', 'messages');
  const pictures = parts.flatMap((part) => {
    const { image_url: image } = part ?? {};
    const url = typeof image === 'string' ? image : asObject(image)?.url;
    return typeof url === 'string' ? [url.replace(/^data:[^,]{0,100};base64,/i, '')] : [];
  });
  return { ...shape, prompt, pictures };
}

function readSize(size: unknown): { width?: number; height?: number } {
  const match = typeof size === 'string' ? /^(\d{2,5})[x*](\d{2,5})$/i.exec(size) : null;
  return match === null ? {} : { width: Number(match[1]), height: Number(match[2]) };
}

/** Blanks and brackets would end a Markdown link. */
const toMarkdown = (url: string): string =>
  `![image](${new URL(url).href.replaceAll('(', '%28').replaceAll(')', '%29')})`;

function answer({ client, ask }: RunWork, urls: readonly string[], created: number, model: string): void {
  if (ask.dialect !== CHAT) {
    client.answer('application/json; charset=utf-8', JSON.stringify({ created, data: urls.map((url) => ({ url })) }));
    return;
  }
  const content = urls.map(toMarkdown).join('\n\n');
  const usage = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };
  const base = { id: `chatcmpl-${client.id}`, created, model };
  if (!ask.stream) {
    const choice = { index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' };
    const completion = { ...base, object: 'chat.completion', choices: [choice], usage };
    client.answer('application/json; charset=utf-8', JSON.stringify(completion));
    return;
  }
  if (!client.streaming) client.openStream();
  const event = (choices: readonly unknown[], more: object = {}): string =>
    `data: ${JSON.stringify({ ...base, object: 'chat.completion.chunk', choices, ...more })}\n\n`;
  client.write(event([{ index: 0, delta: { role: 'assistant', content }, finish_reason: null }]));
  client.write(event([{ index: 0, delta: {}, finish_reason: 'stop' }]));
  if (ask.showsUsage) client.write(event([], { usage }));
  client.write('data: [DONE]\n\n');
  client.end();
}
