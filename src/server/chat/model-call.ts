import type { ErrorCode } from '../../contract/error-codes.ts';
import { asObject, type UntrustedObject } from '../../contract/objects.ts';
import type { RequestStatus } from '../../contract/request-kinds.ts';
import type { Channel, ChannelDirectory, ResolvedModel } from '../channels/directory.ts';
import { type AppError, isAppError } from '../platform/app-error.ts';
import type { Clock } from '../platform/clock.ts';
import { tryParse } from '../platform/json.ts';
import type { Log } from '../platform/log.ts';
import {
  ContentDecoder,
  codingOf,
  type ExchangeControl,
  type ExchangeHandler,
  type OutboundClient,
  type OutboundError,
} from '../platform/outbound/outbound.ts';
import type { Span, SpanAttributes, SpanOptions, Tracing } from '../platform/tracing/tracing.ts';
import { type CredentialMask, credentialMaskOf, toAccountIds, toUpstreamModelName } from '../upstreams/upstream.ts';
import type { CallCharge, CallEnd, CallResult } from './charge.ts';
import type { ClientEvents, ClientResponse } from './client-response.ts';
import { findCodec, type ResponseConversion } from './conversion/convert.ts';
import { withoutRefusedReasoning } from './conversion/foreign-parts.ts';
import { type Dialect, EMBEDDINGS_DIALECT, errorIn, failureIn, IMAGES_DIALECT } from './dialects.ts';
import { createEventStream, type EventStream, isBlankText, looksLikeEvents, looksLikeJson } from './event-stream.ts';
import { type ChatRequest, type OutputProfiles, withoutUsageOption } from './request.ts';
import type { CallMeta, JournaledCall, SettlementJournal } from './settlement-journal.ts';
import {
  emptyResponse,
  malformedResponse,
  onlyComments,
  parseStreamError,
  parseUpstreamError,
  prepareExchange,
  prepareFormConversion,
  responseTooLong,
  toConnectionFailure,
  toPartialResponseError,
  truncatedStream,
  type UpstreamExchange,
  type UpstreamFailure,
  type UpstreamTimeouts,
  unknownStopReason,
} from './upstream.ts';
import { findUsageInText, parseUsage, type Usage, UsageTotals } from './usage.ts';

/** The services one model call uses. */
export interface ModelCallDependencies {
  readonly outbound: OutboundClient;
  readonly channels: ChannelDirectory;
  readonly log: Log;
  readonly tracing: Tracing;
  readonly timeouts: UpstreamTimeouts;
  readonly clock: Clock;
  /** Silence after which a comment is sent, so that proxies do not close the stream. */
  readonly keepAliveMs: number;
  readonly rates: OutputProfiles;
  readonly journal: SettlementJournal;
  /** Stop reasons that are missing from every table and were already logged, by channel. */
  readonly loggedReasons: Set<string>;
  /**
   * Calls that request a stream or receive one, which alone need `tick`. A set of all calls would keep ended ones alive
   * (docs/decisions/platform.md).
   */
  readonly streams: Set<ModelCall>;
}

/** The request, the caller and the channels of one model call. */
export interface ModelCallContext {
  readonly request: ChatRequest;
  readonly clientResponse: ClientResponse;
  readonly charge: CallCharge;
  readonly model: ResolvedModel;
  /** In the order in which they are tried; at least one. */
  readonly candidates: readonly Channel[];
}

/** A call that is ready for its first attempt. */
interface PreparedCall extends ModelCallContext {
  readonly firstExchange: UpstreamExchange;
}

const MAX_ATTEMPTS = 3;
const MAX_RESPONSE_BYTES = 64 * 1024 * 1024;
const MAX_ERROR_BODY_BYTES = 64 * 1024;
/** A caller that does not read for this long counts as disconnected, even if the connection is still open. */
const MAX_CLIENT_STALL_MS = 60_000;
/**
 * How long to wait for an upstream's usage after the caller disconnected; only the upstream's figures include hidden
 * reasoning tokens.
 */
const USAGE_WAIT_MS = 500;
/** An upstream that sends comments but no data is dropped after this many times the longest permitted silence. */
const COMMENT_PATIENCE = 4;
/** How long a stream that is over may keep its connection open; events with the usage follow the end without a delay. */
const END_GRACE_MS = 2_000;
const MAX_LOGGED_REASONS = 1_000;
const KEEP_ALIVE_COMMENT = ': keep-alive\n\n';
const JSON_CONTENT_TYPE = 'application/json; charset=utf-8';

/**
 * Phases of a model call: `sent` until a status has arrived, then `error`, `complete` (a response that is not streamed)
 * or `streaming`, and finally `finished`. Another channel is tried only before the first byte of a response.
 */
type Phase = 'sent' | 'error' | 'complete' | 'streaming' | 'finished';

/** One model call between its caller and an upstream. */
export class ModelCall implements ExchangeHandler, ClientEvents, JournaledCall {
  readonly #dependencies: ModelCallDependencies;
  readonly #context: PreparedCall;
  /** The caller's request, without what an upstream has refused. */
  #request: ChatRequest;
  /** Paths of the members that were removed after an upstream refused them. */
  #refusedParts: readonly string[] = [];
  /** Failure of the newest attempt that was refused. */
  #failure: AppError | undefined;
  #phase: Phase = 'sent';
  #attempt = -1;
  #exchange: UpstreamExchange | undefined;
  #control: ExchangeControl | undefined;
  /** The channel on which this call counts as in flight. */
  #countedOn: Channel | undefined;
  #status = 0;
  #headers: Readonly<Record<string, string>> = {};
  #chunks: Buffer[] = [];
  #size = 0;
  #stream: EventStream | undefined;
  /** Decoder of a response that is compressed although no compression was requested. */
  #decoder: ContentDecoder | undefined;
  #clientGone = false;
  #sentAt = 0;
  /** Trace context of the request that started the call; callbacks of a response run outside its span. */
  readonly #parent: string | undefined;
  #span: Span | undefined;
  /** Events are being sent to the caller, although perhaps not written yet. Comments do not count. */
  #hasDelivered = false;
  /** Time from the request to the first event its caller received. */
  #firstTokenMs: number | undefined;
  /** Times of `performance.now()`; the pause is 0 while the caller keeps up. */
  #lastWriteAt = 0;
  /** When the last event with data arrived. */
  #lastDataAt = 0;
  #pausedSince = 0;
  /** Output held back until the reservation is on disk; undefined once it is. */
  #held: (() => void)[] | undefined = [];

  constructor(dependencies: ModelCallDependencies, context: PreparedCall) {
    this.#dependencies = dependencies;
    this.#context = context;
    this.#request = context.request;
    this.#parent = dependencies.tracing.current();
  }

  /** Sends the request while the reservation may still be written to the disk; the response waits for it. */
  start(): void {
    const { clientResponse, charge } = this.#context;
    charge.durable.then(
      () => this.#release(),
      (error: unknown) => this.#failUnreserved(error),
    );
    clientResponse.setListener(this);
    if (this.#clientGone) return;
    if (this.#mayOpenEarly) {
      this.#lastWriteAt = performance.now();
      this.#dependencies.streams.add(this);
    }
    this.#tryNextChannel();
  }

  head(status: number, headers: Readonly<Record<string, string>>, control: ExchangeControl): void {
    this.#control = control;
    this.#status = status;
    this.#headers = headers;
    this.#decoder = this.#createDecoder(codingOf(headers), control);
    if (status < 200 || status > 299) this.#phase = 'error';
    // Events for a caller that requested a single body are collected like a body.
    else if (this.#context.request.stream && isEventStream(headers)) this.#beginStream();
    else this.#phase = 'complete';
  }

  #createDecoder(coding: string | undefined, control: ExchangeControl): ContentDecoder | undefined {
    if (coding === undefined) return undefined;
    const handler = {
      chunk: (bytes: Buffer) => this.#receive(bytes, control),
      end: () => this.#finish(),
      fail: () => {
        if (this.#phase !== 'finished') this.#failMidStream(malformedResponse(), control);
      },
    };
    return new ContentDecoder(coding, handler, () => {
      if (this.#pausedSince === 0) control.resume();
    });
  }

  #beginStream(): void {
    this.#phase = 'streaming';
    this.#lastWriteAt = performance.now();
    this.#lastDataAt = this.#lastWriteAt;
    this.#stream = createEventStream(this.#dialect, this.#context.request, this.#context.model.kind);
    this.#dependencies.streams.add(this);
  }

  chunk(bytes: Buffer, control: ExchangeControl): void {
    if (this.#decoder === undefined) this.#receive(bytes, control);
    else if (!this.#decoder.write(bytes)) control.pause();
  }

  #receive(bytes: Buffer, control: ExchangeControl): void {
    if (this.#phase === 'finished') return;
    // Blank lines that keep the connection open until there is a response (DeepSeek) do not show its format.
    if (this.#size === 0 && (this.#stream?.totalBytes ?? 0) === 0 && isBlankText(bytes)) return;
    // An upstream's content type is not a reliable sign of its format.
    if (this.#phase === 'complete' && this.#size === 0 && this.#context.request.stream && looksLikeEvents(bytes))
      this.#beginStream();
    else if (this.#phase === 'streaming' && this.#stream?.totalBytes === 0 && looksLikeJson(bytes))
      this.#phase = 'complete';
    if (this.#phase === 'streaming') {
      this.#forwardEvents(bytes, control);
      return;
    }
    this.#size += bytes.length;
    if (this.#size <= (this.#phase === 'error' ? MAX_ERROR_BODY_BYTES : MAX_RESPONSE_BYTES)) this.#chunks.push(bytes);
    else if (this.#phase === 'error') this.#failBeforeFirstByte(this.#readUpstreamError(), control);
    else this.#failBeforeFirstByte(responseTooLong(), control);
  }

  end(): void {
    if (this.#decoder === undefined) this.#finish();
    else this.#decoder.end();
  }

  #finish(): void {
    if (this.#phase === 'error') this.#failBeforeFirstByte(this.#readUpstreamError());
    else if (this.#phase === 'complete') this.#finishComplete();
    else if (this.#phase === 'streaming') this.#finishStream();
  }

  fail(error: OutboundError): void {
    if (this.#phase === 'finished') return;
    if (this.#clientGone) {
      this.#finishAbandoned(error.mayHaveArrived);
      return;
    }
    if (this.#phase === 'error') {
      this.#failBeforeFirstByte(this.#readUpstreamError());
      return;
    }
    if (this.#hasWholeStream) {
      this.#finishStream();
      return;
    }
    if (this.#phase === 'streaming' && this.#hasDelivered) {
      this.#failMidStream(toConnectionFailure(error));
      return;
    }
    this.#failBeforeFirstByte(toConnectionFailure(error));
  }

  /**
   * Aborts the upstream request as soon as the caller disconnects. Where the response is complete, or the model may
   * generate hidden reasoning tokens, the upstream first gets a short time to report its usage.
   */
  disconnected(mayAwaitUsage = true): void {
    if (this.#phase === 'finished') return;
    this.#clientGone = true;
    this.drained();
    const control = this.#control;
    if (control === undefined) this.#finishAbandoned(false);
    else if (mayAwaitUsage && this.#stream !== undefined && this.#isWorthWaiting(this.#stream))
      setTimeout(() => this.disconnected(false), USAGE_WAIT_MS).unref();
    else control.abort();
  }

  drained(): void {
    if (this.#pausedSince === 0 || this.#phase === 'finished') return;
    this.#pausedSince = 0;
    this.#control?.resume();
  }

  /** Whether a channel was called. */
  get wasSent(): boolean {
    return this.#attempt >= 0;
  }

  get isStreaming(): boolean {
    return this.#phase === 'streaming';
  }

  /** Called periodically to check the time limits. */
  tick(now: number): void {
    const { clientResponse } = this.#context;
    if (this.#pausedSince > 0) {
      if (now - this.#pausedSince > MAX_CLIENT_STALL_MS) clientResponse.destroy();
    } else if (now - this.#lastDataAt > END_GRACE_MS && this.#hasWholeStream && this.#isOver(now)) {
      this.#finishStream();
      this.#control?.abort();
    } else if (
      this.#phase === 'streaming' &&
      now - this.#lastDataAt > COMMENT_PATIENCE * this.#dependencies.timeouts.idleMs
    )
      this.#failMidStream(onlyComments(), this.#control);
    else if (
      (this.#phase === 'streaming' || this.#mayOpenEarly) &&
      this.#held === undefined &&
      now - this.#lastWriteAt >= this.#dependencies.keepAliveMs
    )
      this.#write(this.#keepAlive);
  }

  /**
   * Whether comments may start the response before the upstream has answered: a slow model answers after the time in
   * which proxies close a silent connection. In a dialect without conversions the answer may be no stream.
   */
  get #mayOpenEarly(): boolean {
    const { stream, dialect } = this.#context.request;
    return stream && findCodec(dialect) !== undefined;
  }

  /** A comment until the first event was sent, because a dialect's own keep-alive event cannot start a stream. */
  get #keepAlive(): string {
    const { keepAlive = KEEP_ALIVE_COMMENT } = this.#context.request.responseDialect;
    return this.#hasDelivered ? keepAlive : KEEP_ALIVE_COMMENT;
  }

  /** Whether the stream has signalled its end; some upstreams then neither close the connection nor keep it sound. */
  get #hasWholeStream(): boolean {
    return this.#phase === 'streaming' && this.#stream?.complete === true && this.#stream.hasContent;
  }

  /** A stream that may continue gets as much time as any other pause. */
  #isOver(now: number): boolean {
    return this.#stream?.isOver === true || now - this.#lastDataAt > this.#dependencies.timeouts.idleMs;
  }

  get #channel(): Channel {
    const channel = this.#context.candidates[this.#attempt];
    if (channel === undefined) throw new Error('no channel has been tried');
    return channel;
  }

  get #hasNext(): boolean {
    return this.#attempt + 1 < Math.min(MAX_ATTEMPTS, this.#context.candidates.length);
  }

  get #mask(): CredentialMask {
    return credentialMaskOf(this.#channel);
  }

  /** The dialect of the upstream of this attempt. */
  get #dialect(): Dialect {
    return this.#exchange?.dialect ?? this.#context.request.dialect;
  }

  #tryNextChannel(): void {
    this.#attempt++;
    this.#send();
  }

  /** Sends the request to the channel of this attempt. */
  #send(): void {
    const { request, model, clientResponse, firstExchange } = this.#context;
    const attempt = this.#attempt;
    this.#phase = 'sent';
    this.#control = undefined;
    this.#chunks = [];
    this.#size = 0;
    this.#stream = undefined;
    this.#decoder?.destroy();
    this.#decoder = undefined;
    const channel = this.#channel;
    const { outbound, tracing } = this.#dependencies;
    this.#countOn(channel);
    const isFirst = attempt === 0 && this.#request === request;
    const exchange = isFirst ? firstExchange : this.#prepareAgain(channel);
    if (exchange === undefined) return;
    clientResponse.setDropped([...this.#refusedParts, ...exchange.dropped]);
    this.#exchange = exchange;
    this.#sentAt = performance.now();
    if (tracing.isOn) this.#span = tracing.start(modelCallSpan(request, model, channel, this.#parent));
    const control = tracing.run(this.#span, () => outbound.stream(exchange.request, this));
    // A request that was refused before it was sent has already moved to the next channel.
    if (this.#attempt === attempt) this.#control ??= control;
  }

  /**
   * Prepares another attempt. Undefined if the dialect of its channel cannot express the request: the next channel has
   * then been called, or the call has ended with the failure of the one before.
   */
  #prepareAgain(channel: Channel): UpstreamExchange | undefined {
    const { model, clientResponse } = this.#context;
    const { timeouts, clock } = this.#dependencies;
    try {
      return prepareExchange(this.#request, model, channel, { timeouts, id: clientResponse.id, nowMs: clock.now() });
    } catch (error) {
      if (isAppError(error, 'invalid_request') && this.#hasNext) this.#tryNextChannel();
      else {
        this.#markFinished();
        this.#refundAndFail(this.#failure ?? error);
      }
      return undefined;
    }
  }

  #forwardEvents(bytes: Buffer, control?: ExchangeControl): void {
    const stream = this.#stream;
    if (stream === undefined) return;
    const events = stream.push(bytes);
    if (stream.hasNewData) {
      stream.hasNewData = false;
      this.#lastDataAt = performance.now();
    }
    if (events !== undefined) this.#deliver(events, control);
    if (stream.error !== undefined) this.#failMidStream(parseStreamError(this.#channel, stream.error), control);
    else if (stream.exceedsLimit) this.#failMidStream(responseTooLong(), control);
  }

  /**
   * Writes events to the journal and then to the caller, so that everything a caller has seen is charged even if this
   * process is killed the next moment. The upstream is paused while the caller cannot take more.
   */
  #deliver(events: Buffer, control?: ExchangeControl): void {
    const { journal } = this.#dependencies;
    const converted = this.#exchange?.conversion?.push(events);
    // Events that carry nothing for the caller do not start a response: another channel may still be tried.
    if (converted === '') return;
    this.#firstTokenMs ??= Math.round(performance.now() - this.#context.clientResponse.begunAt);
    if (!this.#hasDelivered) journal.open(this);
    this.#hasDelivered = true;
    journal.append(this.#context.clientResponse.ref, events);
    const shown = this.#mask.bytes(converted === undefined ? events : Buffer.from(converted));
    this.#whenSafe(() => {
      if (this.#write(shown) || this.#pausedSince !== 0 || this.#phase === 'finished') return;
      this.#pausedSince = performance.now();
      control?.pause();
    });
  }

  #write(data: Buffer | string): boolean {
    const { clientResponse } = this.#context;
    if (this.#clientGone) return true;
    clientResponse.openStream();
    this.#lastWriteAt = performance.now();
    return clientResponse.write(data);
  }

  #finishStream(): void {
    const { clientResponse, charge } = this.#context;
    const stream = this.#stream;
    if (stream === undefined) return;
    const rest = stream.finish();
    if (rest !== undefined) this.#deliver(rest);
    if (stream.error !== undefined) {
      this.#failMidStream(parseStreamError(this.#channel, stream.error));
      return;
    }
    if (!stream.complete || !stream.hasContent) {
      this.#failMidStream(stream.complete ? emptyResponse() : truncatedStream());
      return;
    }
    const conversion = this.#exchange?.conversion;
    const tail = conversion === undefined ? (stream.missingEnd ?? '') : this.#mask.text(conversion.finish());
    if (conversion?.failure !== undefined) {
      if (tail !== '') this.#sendEnd(() => void this.#write(tail));
      this.#failMidStream(this.#unknownReason(conversion));
      return;
    }
    this.#markFinished();
    this.#reportSuccess(stream.usage, stream.totalBytes);
    charge.settle(stream, this.#endAs('ok'));
    this.#sendEnd(() => {
      clientResponse.openStream();
      if (tail !== '') clientResponse.write(tail);
      clientResponse.end();
    });
  }

  #finishComplete(): void {
    const body = Buffer.concat(this.#chunks);
    if (looksLikeEvents(body)) {
      this.#finishEvents(body);
      return;
    }
    const result = parseNonStreamedResponse(body, this.#dialect);
    if (typeof result === 'string') {
      this.#failBeforeFirstByte(this.#toFailure(result));
      return;
    }
    const { stream } = this.#context.request;
    const isOtherForm = stream || /^\s*\[/.test(body.toString('latin1', 0, 64));
    const conversion = this.#exchange?.conversion ?? (isOtherForm ? this.#createFormConversion() : undefined);
    if (stream && conversion !== undefined) this.#finishConverted(result, conversion.convertToStream(body), conversion);
    else this.#finishConverted(result, conversion?.convert(body) ?? this.#completed(body), conversion);
  }

  #completed(body: Buffer): Buffer {
    const { clientResponse, request } = this.#context;
    return this.#dialect.complete?.(body, clientResponse.id, request.body) ?? body;
  }

  /**
   * Completes a call whose upstream streams although a single body was requested, or whose first bytes did not look
   * like a stream.
   */
  #finishEvents(body: Buffer): void {
    const { request, model } = this.#context;
    if (request.stream) {
      this.#beginStream();
      this.#forwardEvents(body);
      this.#finish();
      return;
    }
    const conversion = this.#exchange?.conversion ?? this.#createFormConversion();
    const stream = createEventStream(this.#dialect, request, model.kind);
    const events = stream.push(body) ?? Buffer.alloc(0);
    const last = stream.finish() ?? Buffer.alloc(0);
    if (stream.error !== undefined) this.#failBeforeFirstByte(parseStreamError(this.#channel, stream.error));
    else if (conversion === undefined) this.#failBeforeFirstByte(malformedResponse());
    else if (!stream.complete) this.#failBeforeFirstByte(truncatedStream());
    else if (!stream.hasContent) this.#failBeforeFirstByte(emptyResponse());
    else this.#finishConverted(stream, conversion.convertToBody(Buffer.concat([events, last])), conversion);
  }

  #toFailure(result: 'malformed' | 'failure' | 'empty'): UpstreamFailure {
    if (result === 'failure') return this.#readUpstreamError();
    return result === 'malformed' ? malformedResponse() : emptyResponse();
  }

  #createFormConversion(): ResponseConversion | undefined {
    const { request, clientResponse } = this.#context;
    return prepareFormConversion(request, { id: clientResponse.id, nowMs: this.#dependencies.clock.now() });
  }

  /** Sends a whole response that was charged as the body or the stream it was converted to. */
  #finishConverted(result: CallResult, shown: Buffer | string, conversion: ResponseConversion | undefined): void {
    const { clientResponse, charge, request } = this.#context;
    if (conversion?.failure !== undefined) {
      this.#failBeforeFirstByte(this.#unknownReason(conversion));
      return;
    }
    const isStream = request.stream && conversion !== undefined;
    // Comments have started a stream that cannot contain a body.
    if (!isStream && clientResponse.streaming) {
      this.#failBeforeFirstByte(malformedResponse());
      return;
    }
    for (const path of conversion?.dropped ?? []) clientResponse.addDropped(path);
    this.#markFinished();
    this.#reportSuccess(result.usage, this.#size);
    if (result.usage === undefined) {
      this.#dependencies.journal.open(this);
      this.#dependencies.journal.appendText(clientResponse.ref, result.text());
    }
    charge.settle(result, this.#endAs('ok'));
    const masked = this.#mask.bytes(typeof shown === 'string' ? Buffer.from(shown) : shown);
    this.#sendEnd(() => {
      if (!isStream) return clientResponse.sendBody(JSON_CONTENT_TYPE, masked);
      clientResponse.openStream();
      clientResponse.write(masked);
      clientResponse.end();
    });
  }

  /** Runs a step of the response once the reservation is on disk and the journal has its records. */
  #whenSafe(send: () => void): void {
    const trySend = (): void => this.#trySend(send);
    if (this.#held === undefined) this.#dependencies.journal.whenWritten(trySend);
    else this.#held.push(trySend);
  }

  /** No caller waits for a response that cannot be sent, and no other call is affected. */
  #trySend(send: () => void): void {
    try {
      send();
    } catch (error) {
      const { clientResponse } = this.#context;
      this.#dependencies.log.error({ err: error, ref: clientResponse.ref }, 'a response could not be sent');
      clientResponse.destroy();
    }
  }

  #release(): void {
    const held = this.#held ?? [];
    this.#held = undefined;
    for (const send of held) this.#dependencies.journal.whenWritten(send);
  }

  /** The reservation did not reach the disk: its response is dropped. */
  #failUnreserved(error: unknown): void {
    const { clientResponse, charge, request } = this.#context;
    charge.abandon();
    this.#control?.abort();
    if (this.#phase !== 'finished') this.#markFinished();
    clientResponse.fail(error, request.responseDialect);
  }

  #unknownReason({ failure = '' }: ResponseConversion): UpstreamFailure {
    const { loggedReasons, log } = this.#dependencies;
    const key = `${this.#channel.id} ${failure}`;
    if (!loggedReasons.has(key) && loggedReasons.size < MAX_LOGGED_REASONS) {
      loggedReasons.add(key);
      log.warn({ channel: this.#channel.id, reason: failure }, 'an upstream ended a response for an unknown reason');
    }
    return unknownStopReason(failure);
  }

  /**
   * Sends the end once the cost of the call is in the journal, so that no caller has a complete response that would not
   * be charged after a crash.
   */
  #sendEnd(send: () => void): void {
    const { clientResponse } = this.#context;
    this.#whenSafe(() => {
      if (!clientResponse.disconnected) send();
    });
  }

  #readUpstreamError(): UpstreamFailure {
    const body = Buffer.concat(this.#chunks).toString('utf8');
    return parseUpstreamError(this.#channel, this.#dialect.path, this.#status, this.#headers, body);
  }

  /**
   * Ends or retries a call without a response: the next channel is tried if the failure is retryable, otherwise the
   * caller gets the error.
   */
  #failBeforeFirstByte(refusal: UpstreamFailure, control?: ExchangeControl): void {
    const { clientResponse } = this.#context;
    if (this.#sendWithoutRefused(refusal, control)) return;
    this.#reportFailure(refusal);
    this.#failure = refusal.error;
    this.#phase = 'finished';
    control?.abort();
    if (refusal.retryable && this.#hasNext && !this.#hasDelivered && !clientResponse.disconnected) {
      this.#tryNextChannel();
      return;
    }
    this.#markFinished();
    this.#refundAndFail(refusal.error);
  }

  /**
   * Sends the request again, once, if the upstream refused reasoning of earlier turns that another model generated, or
   * the option for usage.
   *
   * @returns false if it was refused for something else
   */
  #sendWithoutRefused({ message, outcome }: UpstreamFailure, control: ExchangeControl | undefined): boolean {
    const { clientResponse, model, request } = this.#context;
    if (this.#request !== request || this.#hasDelivered || clientResponse.disconnected) return false;
    const rest = withoutRefusedReasoning(request, toUpstreamModelName(this.#channel, model), message);
    const remainder = rest?.request ?? (outcome === 'user' ? withoutUsageOption(request, message) : undefined);
    if (remainder === undefined) return false;
    this.#phase = 'finished';
    control?.abort();
    this.#request = remainder;
    this.#refusedParts = rest?.dropped ?? [];
    this.#span?.end(outcome);
    this.#send();
    return true;
  }

  /** Refunds first, so that a caller who queries the balance after the error sees the full amount. */
  #refundAndFail(error: unknown): void {
    const { clientResponse, charge, request } = this.#context;
    const code = isAppError(error) ? error.code : 'internal_error';
    const send = (): void => clientResponse.fail(error, request.responseDialect);
    void charge.refund(this.#endAs('failed', code)).then(() => this.#whenSafe(send));
  }

  /** Ends a response in progress with an error and charges the part received; without any text nothing is charged. */
  #failMidStream(refusal: UpstreamFailure, control?: ExchangeControl): void {
    const { clientResponse, charge, request } = this.#context;
    const stream = this.#stream;
    if (!this.#hasDelivered) {
      this.#failBeforeFirstByte(refusal, control);
      return;
    }
    this.#reportFailure(refusal);
    this.#markFinished();
    control?.abort();
    if (stream === undefined || stream.text() === '') {
      this.#refundAndFail(refusal.error);
      return;
    }
    const error = toPartialResponseError(refusal.error);
    charge.settle(stream, this.#endAs('failed', error.code));
    this.#sendEnd(() => clientResponse.fail(error, request.responseDialect));
  }

  /**
   * Settles a call whose caller disconnected: whatever the upstream did until it was stopped is charged, including the
   * prompt once it was sent.
   */
  #finishAbandoned(wasSent: boolean): void {
    const { charge, request, model } = this.#context;
    const failed = this.#phase === 'error';
    this.#span?.end('abandoned');
    this.#markFinished();
    if (!wasSent || failed) {
      void charge.refund(this.#endAs('cancelled'));
      return;
    }
    const seconds = (performance.now() - this.#sentAt) / 1_000;
    const generated = this.#dependencies.rates.estimate(model.target, request, seconds);
    const result = this.#stream ?? { usage: undefined, text: () => '', complete: false };
    charge.settle(result, this.#endAs('cancelled'), generated);
  }

  /** The entry for the request log. A call without a channel ended before it was sent. */
  #endAs(status: RequestStatus, errorCode?: ErrorCode): CallEnd {
    const channelId = this.#context.candidates[this.#attempt]?.id ?? 0;
    return { status, errorCode, channelId, surcharge: this.#exchange?.surcharge, firstTokenMs: this.#firstTokenMs };
  }

  journalMeta(): CallMeta {
    const meta = this.#context.charge.journalMeta(this.#endAs('failed', 'answer_broken_off'));
    return { ...meta, path: this.#dialect.path };
  }

  journalBody(): Buffer {
    return this.#context.charge.journalBody;
  }

  journalText(): string {
    return this.#stream?.text() ?? '';
  }

  #isWorthWaiting(stream: EventStream): boolean {
    const { request, model } = this.#context;
    return stream.complete || this.#dependencies.rates.mayHideTokens(model.target, request) !== false;
  }

  #reportSuccess(usage: Usage | undefined, bytes: number): void {
    const { model, charge } = this.#context;
    const { channels, rates } = this.#dependencies;
    channels.report({
      ...toAccountIds(this.#channel),
      model: model.id,
      userId: charge.userId,
      outcome: 'ok',
      operation: 'chat',
      durationMs: performance.now() - this.#sentAt,
    });
    if (usage !== undefined) this.#span?.set(usageAttributes(usage));
    this.#span?.end();
    if (usage !== undefined) rates.record(model.target, usage, bytes, (performance.now() - this.#sentAt) / 1_000);
  }

  #reportFailure({ outcome, message, code, retryAfterMs }: UpstreamFailure): void {
    this.#span?.end(outcome);
    this.#dependencies.channels.report({
      ...toAccountIds(this.#channel),
      model: this.#context.model.id,
      userId: this.#context.charge.userId,
      outcome,
      operation: 'chat',
      durationMs: performance.now() - this.#sentAt,
      message,
      code,
      retryAfterMs,
    });
  }

  /** Moves the call's in-flight count from its previous channel to this one; undefined: to none. */
  #countOn(channel: Channel | undefined): void {
    const { load } = this.#dependencies.channels;
    if (this.#countedOn !== undefined) load.ended(this.#countedOn);
    this.#countedOn = channel;
    if (channel !== undefined) load.began(channel);
  }

  #markFinished(): void {
    this.#countOn(undefined);
    this.#phase = 'finished';
    this.#dependencies.streams.delete(this);
  }
}

const isEventStream = (headers: Readonly<Record<string, string>>): boolean =>
  headers['content-type']?.toLowerCase().startsWith('text/event-stream') === true;

/** Longer vectors and images are not parsed as a whole, only searched for their usage. */
const MAX_PARSED_BYTES = 1024 * 1024;

/**
 * Reads the response of a call that was not streamed. `failure`: an error in an envelope of HTTP 200; `empty`: neither
 * content nor figures.
 */
export function parseNonStreamedResponse(
  body: Buffer,
  dialect: Dialect,
): CallResult | 'malformed' | 'failure' | 'empty' {
  const text = body.toString('utf8');
  if (body.length > MAX_PARSED_BYTES && dialect.maxTokensKeys.length === 0) {
    if (!/^\s*\{/.test(text) || !text.trimEnd().endsWith('}')) return 'malformed';
    const imageCount = dialect.countImages && countEncodedImages(text);
    return { usage: findUsageInText(text), complete: true, imageCount: imageCount || undefined, text: () => '' };
  }
  const value = tryParse(text);
  if (Array.isArray(value) && dialect.refusalKeys !== undefined) return parseChunks(value.map(asObject), dialect);
  const response = asObject(value);
  if (response === undefined) return 'malformed';
  if (isErrorBody(response, dialect)) return 'failure';
  if (dialect.isEmptyResponse?.(response) === true) return failureIn(response) === undefined ? 'empty' : 'failure';
  return {
    usage: parseUsage(dialect.findUsage(response)),
    complete: true,
    imageCount: dialect.countImages?.(response) || undefined,
    text: () => dialect.extractResponseText(response),
  };
}

/** Number of images in a response that is too long to contain only their addresses. */
const countEncodedImages = (text: string): number => text.match(/"b64_json"\s*:\s*"/g)?.length ?? 0;

/** Parses Google's streams that are not events but a list of chunks, one of which may be an error. */
function parseChunks(
  chunks: readonly (UntrustedObject | undefined)[],
  dialect: Dialect,
): ReturnType<typeof parseNonStreamedResponse> {
  const objects = chunks.filter((chunk) => chunk !== undefined);
  if (objects.length < chunks.length || objects.some((chunk) => isErrorBody(chunk, dialect))) return 'failure';
  if (objects.every((chunk) => dialect.isPreamble?.(chunk) === true)) return 'empty';
  const usage = new UsageTotals();
  for (const chunk of objects) usage.add(dialect.findUsage(chunk));
  return {
    usage: usage.usage,
    complete: true,
    text: () => objects.map((chunk) => dialect.extractResponseText(chunk)).join(''),
  };
}

/** Whether a body is an error: some gateways wrap their failures into HTTP 200, in various envelopes. */
const isErrorBody = (answer: UntrustedObject, { resultKey, refusalKeys = [], failureMarker }: Dialect): boolean =>
  (failureMarker !== undefined && answer.status === failureMarker) ||
  errorIn(answer) !== undefined ||
  answer.object === 'error' ||
  ![resultKey, ...refusalKeys].some((key) => Object.hasOwn(answer, key));

/**
 * The span of one attempt at an upstream, named by OpenTelemetry's
 * conventions for generative AI. It contains no prompt.
 */
function modelCallSpan(
  { dialect }: ChatRequest,
  { id, target }: ResolvedModel,
  channel: Channel,
  parent: string | undefined,
): SpanOptions {
  const operation =
    dialect === EMBEDDINGS_DIALECT ? 'embeddings' : dialect === IMAGES_DIALECT ? 'generate_content' : 'chat';
  return {
    name: `${operation} ${target}`,
    kind: 'client',
    parent,
    attributes: {
      'gen_ai.operation.name': operation,
      'gen_ai.provider.name': channel.vendor,
      'gen_ai.request.model': target,
      'server.address': new URL(channel.baseUrl).hostname,
      'reelgate.channel.id': channel.id,
      ...(id === target ? {} : { 'reelgate.model': id }),
    },
  };
}

const usageAttributes = ({ promptTokens, completionTokens }: Usage): SpanAttributes => ({
  'gen_ai.usage.input_tokens': promptTokens,
  'gen_ai.usage.output_tokens': completionTokens,
});
