import { setTimeout as sleep } from 'node:timers/promises';
import { asObject, defined } from '../../contract/objects.ts';
import type { CallOutcome, Channel, ChannelDirectory } from '../channels/directory.ts';
import { AppError, invalidRequest } from '../platform/app-error.ts';
import { stripDataUrlPrefix } from '../platform/base64.ts';
import type { Clock } from '../platform/clock.ts';
import type { ModelCaller } from '../platform/http/route-registry.ts';
import type { Log } from '../platform/log.ts';
import { OutboundError } from '../platform/outbound/outbound.ts';
import { type AdapterContext, toAccountIds, type VendorError } from '../upstreams/upstream.ts';
import type { ImageGeneration, ImageRequest } from '../vendors/adapter.ts';
import type { ChargeBatcher } from './charge.ts';
import { OpenAiChatStreamWriter, writeOpenAiChatResponse } from './conversion/chat-response.ts';
import type { ResponseEvent } from './conversion/neutral-form.ts';
import { CHAT_DIALECT } from './dialects.ts';
import type { ModelCallContext } from './model-call.ts';
import { applyOptionRules } from './options.ts';
import type { ChatRequest } from './request.ts';
import type { SettlementJournal } from './settlement-journal.ts';

/** The services image calls use. */
export interface ImageTaskRelayDependencies {
  readonly channels: ChannelDirectory;
  readonly clock: Clock;
  readonly log: Log;
  readonly batcher: ChargeBatcher;
  readonly journal: Pick<SettlementJournal, 'whenWritten'>;
  /** Constructed by the video capability: the context its adapters get. */
  readonly adapterContexts: { contextFor(channel: Channel, signal: AbortSignal): AdapterContext };
  /** Time between two polls. */
  readonly pollMs: number;
  readonly totalMs: number;
  readonly keepAliveMs: number;
  /** Aborted when the service stops. */
  readonly stopping: AbortSignal;
}

const MAX_TRIES = 3;
const NO_TOKENS = { promptTokens: 0, completionTokens: 0, reasoningTokens: 0 };
const IGNORE_CLIENT_EVENTS = { disconnected: () => {}, drained: () => {} };

/** Serves image models through the chat endpoint: the response is a Markdown link to the image. */
export class ImageTaskRelay {
  readonly #dependencies: ImageTaskRelayDependencies;
  constructor(parts: ImageTaskRelayDependencies) {
    this.#dependencies = parts;
  }

  async serve(caller: ModelCaller, work: ModelCallContext, images: ImageGeneration): Promise<void> {
    const request = parseImageRequest(work.request, work.model.target);
    await work.charge.reserve(caller, work.model.id, work.request.maxOutputTokens);
    await work.charge.durable;
    this.#dependencies.batcher.track(this.#run(request, work, images));
  }

  /**
   * Continues after the caller disconnected: the vendor bills
   * the image anyway, so the outcome of the task must be known.
   */
  async #run(request: ImageRequest, work: ModelCallContext, images: ImageGeneration): Promise<void> {
    const { clientResponse, charge, request: ask, model } = work;
    clientResponse.setListener(IGNORE_CLIENT_EVENTS);
    const heart = ask.stream ? this.#startKeepAlive(work) : undefined;
    try {
      const { urls, channel } = await this.#generate(request, work, images);
      // The vendor bills each image; some models generate several if the prompt requests them.
      const result = { usage: NO_TOKENS, complete: true, imageCount: urls.length, text: () => '' };
      const { surcharge } = applyOptionRules(ask.governedOptions, channel);
      charge.settle(result, { status: 'ok', channelId: channel.id, surcharge });
      await new Promise<void>((resolve) => this.#dependencies.journal.whenWritten(resolve));
      if (!clientResponse.disconnected)
        sendImages(work, urls, Math.floor(this.#dependencies.clock.now() / 1_000), model.id);
    } catch (error) {
      const errorCode = error instanceof AppError ? error.code : 'internal_error';
      await charge.refund({ status: 'failed', errorCode, channelId: 0 });
      if (!(error instanceof AppError))
        this.#dependencies.log.error({ err: error, requestId: clientResponse.id }, 'an image failed');
      clientResponse.fail(error, ask.dialect);
    } finally {
      clearInterval(heart);
    }
  }

  #startKeepAlive({ clientResponse }: ModelCallContext): NodeJS.Timeout {
    return setInterval(() => {
      if (clientResponse.disconnected) return;
      clientResponse.openStream();
      clientResponse.write(': working\n\n');
    }, this.#dependencies.keepAliveMs);
  }

  async #generate(
    request: ImageRequest,
    { candidates, model, charge }: ModelCallContext,
    images: ImageGeneration,
  ): Promise<{ readonly urls: readonly string[]; readonly channel: Channel }> {
    let last = new AppError('upstream_unavailable');
    for (const channel of candidates.slice(0, MAX_TRIES)) {
      const call = this.#dependencies.adapterContexts.contextFor(channel, this.#dependencies.stopping);
      const submission = await this.#submit(request, channel, { images, call, model: model.id, userId: charge.userId });
      if ('id' in submission) {
        const urls = await this.#pollUntilDone(images, request.model, submission.id, call);
        return { urls, channel };
      }
      last = submission.error;
      if (!submission.retryable) break;
    }
    throw last;
  }

  async #submit(
    request: ImageRequest,
    channel: Channel,
    { images, call, ...of }: { images: ImageGeneration; call: AdapterContext; model: string; userId: number },
  ): Promise<{ id: string } | { error: AppError; retryable: boolean }> {
    const { channels } = this.#dependencies;
    const startedAt = performance.now();
    const report = (news: Pick<CallOutcome, 'outcome' | 'code' | 'message'>): void =>
      channels.report({
        ...toAccountIds(channel),
        ...of,
        operation: 'image',
        durationMs: performance.now() - startedAt,
        ...news,
      });
    try {
      const submitted = await images.submit(request, call);
      if ('id' in submitted) {
        report({ outcome: 'ok' });
        return submitted;
      }
      const { reason, code, message, retryable } = submitted.error;
      report({ outcome: reason, code, message });
      return { error: toAppError(submitted.error), retryable };
    } catch (error) {
      if (!(error instanceof OutboundError)) throw error;
      report({ outcome: 'unreachable', message: error.message });
      // If the request may have arrived, the vendor may be generating the image, so it is not submitted again.
      return {
        error: new AppError(error.mayHaveArrived ? 'upstream_error' : 'upstream_unavailable'),
        retryable: !error.mayHaveArrived,
      };
    }
  }

  async #pollUntilDone(
    images: ImageGeneration,
    model: string,
    id: string,
    call: AdapterContext,
  ): Promise<readonly string[]> {
    const { pollMs, totalMs, stopping } = this.#dependencies;
    const endsAt = performance.now() + totalMs;
    while (performance.now() < endsAt) {
      await sleep(pollMs, undefined, { signal: stopping }).catch(() => {
        throw new AppError('unavailable');
      });
      const outcome = await images.query(model, id, call).catch((error: unknown) => {
        if (error instanceof OutboundError) return { kind: 'working' } as const;
        throw error;
      });
      if (outcome.kind === 'done') return outcome.urls;
      if (outcome.kind === 'failed') throw toAppError(outcome.error);
    }
    throw new AppError('upstream_timeout');
  }
}

/** The error for the caller; it contains the vendor's own text only if the caller's request caused the failure. */
function toAppError({ reason, code, message }: VendorError): AppError {
  if (reason === 'rate') return new AppError('rate_limit_exceeded', { params: { seconds: 1 }, retryAfterSeconds: 1 });
  if (reason !== 'user' && reason !== 'policy') return new AppError('upstream_error');
  const details = { params: { detail: message }, message: message || 'The model provider refused the request.' };
  return new AppError('upstream_refused', code === '' ? details : { ...details, publicCode: code });
}

/** Text and images of the last user message; on the images endpoint, the prompt. */
function parseImageRequest({ body, dialect }: ChatRequest, model: string): ImageRequest {
  // These models generate one image per call, so further ones would be charged without being delivered.
  if (typeof body.n === 'number' && body.n > 1) throw invalidRequest('This model makes one image a call.', 'n');
  if (dialect !== CHAT_DIALECT && body.stream === true)
    throw invalidRequest('This model does not stream at this address.', 'stream');
  if (body.response_format === 'b64_json')
    throw invalidRequest('This model answers with addresses.', 'response_format');
  const { width, height } = parseSize(body.size);
  const shape = defined({
    model,
    ...(width === undefined || height === undefined ? undefined : { width, height }),
    seed: typeof body.seed === 'number' && Number.isInteger(body.seed) ? body.seed : undefined,
  });
  if (dialect !== CHAT_DIALECT) return { ...shape, prompt: String(body.prompt), inputImages: [] };
  const messages = Array.isArray(body.messages) ? body.messages.map(asObject) : [];
  const said = messages.findLast((message) => message?.role === 'user')?.content;
  const parts = (Array.isArray(said) ? said : [{ type: 'text', text: said }]).map(asObject);
  const prompt = parts
    .map((part) => part?.text)
    .filter((text) => typeof text === 'string')
    .join('\n')
    .trim();
  if (prompt === '')
    throw invalidRequest('messages must end with a text of the user that describes the image.', 'messages');
  const images = parts.flatMap((part) => {
    const { image_url: image } = part ?? {};
    const url = typeof image === 'string' ? image : asObject(image)?.url;
    return typeof url === 'string' ? [stripDataUrlPrefix(url)] : [];
  });
  return { ...shape, prompt, inputImages: images };
}

function parseSize(size: unknown): { width?: number; height?: number } {
  const match = typeof size === 'string' ? /^(\d{2,5})[x*](\d{2,5})$/i.exec(size) : null;
  return match === null ? {} : { width: Number(match[1]), height: Number(match[2]) };
}

/** Spaces and brackets would end a Markdown link. */
const toMarkdownImage = (url: string): string =>
  `![image](${new URL(url).href.replaceAll('(', '%28').replaceAll(')', '%29')})`;

function sendImages(
  { clientResponse, request: ask }: ModelCallContext,
  imageUrls: readonly string[],
  created: number,
  model: string,
): void {
  if (ask.dialect !== CHAT_DIALECT) {
    clientResponse.sendBody(
      'application/json; charset=utf-8',
      JSON.stringify({ created, data: imageUrls.map((url) => ({ url })) }),
    );
    return;
  }
  const events: readonly ResponseEvent[] = [
    { type: 'start', id: clientResponse.id },
    { type: 'text', text: imageUrls.map(toMarkdownImage).join('\n\n') },
    { type: 'end', reason: 'end', stopSequence: undefined, usage: NO_TOKENS },
  ];
  const { wantsUsage, body: asked } = ask;
  const context = { id: clientResponse.id, model, created, wantsUsage, asked, origins: new Map() };
  if (!ask.stream) {
    const completion = writeOpenAiChatResponse(events, context);
    clientResponse.sendBody('application/json; charset=utf-8', JSON.stringify(completion));
    return;
  }
  clientResponse.openStream();
  const writer = new OpenAiChatStreamWriter(context);
  for (const event of events) clientResponse.write(writer.write(event));
  clientResponse.end();
}
