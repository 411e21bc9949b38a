import type { Channel, Channels, ResolvedModel } from '../channels/channels.ts';
import type { Log } from '../platform/log.ts';
import type { ExchangeControl, ExchangeHandler, Outbound, OutboundError } from '../platform/outbound/outbound.ts';
import { type Ask, toUpstreamBody } from './ask.ts';
import { asBrokenOff, cutShort, malformed, tooLong } from './broken-answers.ts';
import type { Charge } from './charge.ts';
import type { Audience, Client } from './client.ts';
import { type EventStream, streamFor } from './event-stream.ts';
import type { Enrolled } from './roll.ts';
import {
  type Refusal,
  readLoss,
  readRefusal,
  readStreamError,
  toRequest,
  type UpstreamTimes,
  withoutKeyIn,
} from './upstreams/openai.ts';
import { readWhole } from './whole-answer.ts';

export interface RunParts {
  readonly outbound: Outbound;
  readonly channels: Channels;
  readonly log: Log;
  readonly times: UpstreamTimes;
  /** Silence after which a comment keeps proxies from closing a stream. */
  readonly keepAliveMs: number;
  /** Told when the run is over. */
  over(run: Run): void;
}

export interface RunWork {
  readonly ask: Ask;
  readonly client: Client;
  readonly charge: Charge;
  readonly model: ResolvedModel;
  /** In the order to ask them; at least one. */
  readonly candidates: readonly Channel[];
}

const MAX_TRIES = 3;
const MAX_ANSWER_BYTES = 64 * 1024 * 1024;
const MAX_REFUSAL_BYTES = 64 * 1024;
/** A caller who does not read for this long has gone, whatever the connection says. */
const STALL_MS = 60_000;
/** Who leaves at the last word leaves before the figures, which alone tell of thinking that was not shown. */
const FIGURES_MS = 500;
const COMMENT = ': keep-alive\n\n';
const JSON_TYPE = 'application/json; charset=utf-8';

/**
 * One model call between its caller and an upstream. `asking` until a status has come, then one of `refused`, `whole` and
 * `streaming`. Another channel is asked only while no byte of an answer has come.
 */
type Phase = 'asking' | 'refused' | 'whole' | 'streaming' | 'over';

export class Run implements ExchangeHandler, Audience, Enrolled {
  place = -1;
  readonly #parts: RunParts;
  readonly #work: RunWork;
  #phase: Phase = 'asking';
  #try = -1;
  #control: ExchangeControl | undefined;
  #status = 0;
  #headers: Readonly<Record<string, string>> = {};
  #chunks: Buffer[] = [];
  #size = 0;
  #stream: EventStream | undefined;
  #gone = false;
  /** Times of `performance.now()`; the pause is 0 while the caller keeps up. */
  #wroteAt = 0;
  #pausedAt = 0;

  constructor(parts: RunParts, work: RunWork) {
    this.#parts = parts;
    this.#work = work;
  }

  begin(): void {
    this.#work.client.watch(this);
    if (!this.#gone) this.#askNext();
  }

  head(status: number, headers: Readonly<Record<string, string>>, control: ExchangeControl): void {
    this.#control = control;
    this.#status = status;
    this.#headers = headers;
    if (status < 200 || status > 299) this.#phase = 'refused';
    else if (headers['content-type']?.toLowerCase().startsWith('text/event-stream')) {
      this.#phase = 'streaming';
      this.#wroteAt = performance.now();
      this.#stream = streamFor(this.#work.ask, this.#work.model.kind);
    } else this.#phase = 'whole';
  }

  chunk(bytes: Buffer, control: ExchangeControl): void {
    if (this.#phase === 'streaming') {
      this.#pass(bytes, control);
      return;
    }
    this.#size += bytes.length;
    if (this.#size <= (this.#phase === 'refused' ? MAX_REFUSAL_BYTES : MAX_ANSWER_BYTES)) this.#chunks.push(bytes);
    else if (this.#phase === 'refused') this.#refused(this.#readRefusal(), control);
    else this.#refused(tooLong(), control);
  }

  end(): void {
    if (this.#phase === 'refused') this.#refused(this.#readRefusal());
    else if (this.#phase === 'whole') this.#finishWhole();
    else if (this.#phase === 'streaming') this.#finishStream();
  }

  fail(error: OutboundError): void {
    if (this.#phase === 'over') return;
    if (this.#gone) {
      this.#abandon(error.mayHaveArrived);
      return;
    }
    if (this.#phase === 'refused') {
      this.#refused(this.#readRefusal());
      return;
    }
    if (this.#phase === 'streaming' && this.#stream?.begun === true) {
      this.#breakOff(readLoss(error));
      return;
    }
    this.#refused(readLoss(error));
  }

  /** The caller went away: the upstream is stopped at once, or when it has told what a complete answer cost. */
  left(mayWait = true): void {
    if (this.#phase === 'over') return;
    this.#gone = true;
    this.drained();
    const control = this.#control;
    if (control === undefined) this.#abandon(false);
    else if (mayWait && this.#stream?.complete === true) setTimeout(() => this.left(false), FIGURES_MS).unref();
    else control.abort();
  }

  drained(): void {
    if (this.#pausedAt === 0 || this.#phase === 'over') return;
    this.#pausedAt = 0;
    this.#control?.resume();
  }

  /** Called every now and then. */
  tick(now: number): void {
    const { client } = this.#work;
    if (this.#pausedAt > 0) {
      if (now - this.#pausedAt > STALL_MS) client.cut();
    } else if (this.#phase === 'streaming' && now - this.#wroteAt >= this.#parts.keepAliveMs) this.#write(COMMENT);
  }

  get #channel(): Channel {
    const channel = this.#work.candidates[this.#try];
    if (channel === undefined) throw new Error('no channel has been asked');
    return channel;
  }

  #askNext(): void {
    const { ask, model } = this.#work;
    const attempt = ++this.#try;
    this.#phase = 'asking';
    this.#control = undefined;
    this.#chunks = [];
    this.#size = 0;
    this.#stream = undefined;
    const body = toUpstreamBody(ask, model.target);
    const control = this.#parts.outbound.stream(
      toRequest(this.#channel, ask.dialect.path, body, this.#parts.times),
      this,
    );
    // A request that is refused before it leaves has asked the next one by now.
    if (this.#try === attempt) this.#control ??= control;
  }

  #pass(bytes: Buffer, control: ExchangeControl): void {
    const stream = this.#stream;
    if (stream === undefined) return;
    const events = stream.take(bytes);
    if (events !== undefined && !this.#write(withoutKeyIn(this.#channel, events)) && this.#pausedAt === 0) {
      this.#pausedAt = performance.now();
      control.pause();
    }
    if (stream.error !== undefined) this.#breakOff(readStreamError(this.#channel, stream.error), control);
    else if (stream.overlong) this.#breakOff(tooLong(), control);
  }

  #write(data: Buffer | string): boolean {
    const { client } = this.#work;
    if (this.#gone) return true;
    if (!client.streaming) client.openStream();
    this.#wroteAt = performance.now();
    return client.write(data);
  }

  #finishStream(): void {
    const { client, charge } = this.#work;
    const stream = this.#stream;
    if (stream === undefined) return;
    const rest = stream.finish();
    if (rest !== undefined) this.#write(withoutKeyIn(this.#channel, rest));
    if (stream.error !== undefined) {
      this.#breakOff(readStreamError(this.#channel, stream.error));
      return;
    }
    if (!stream.complete) {
      this.#breakOff(cutShort());
      return;
    }
    this.#done();
    this.#parts.channels.report({ channelId: this.#channel.id, model: this.#work.model.id, outcome: 'ok' });
    if (!client.streaming) client.openStream();
    client.end();
    charge.settle(stream);
  }

  #finishWhole(): void {
    const { client, charge, ask, model } = this.#work;
    const body =
      this.#chunks.length === 1 && this.#chunks[0] !== undefined ? this.#chunks[0] : Buffer.concat(this.#chunks);
    const came = readWhole(body, ask.dialect);
    if (came === 'malformed' || came === 'failure') {
      this.#refused(came === 'malformed' ? malformed() : this.#readRefusal());
      return;
    }
    this.#done();
    this.#parts.channels.report({ channelId: this.#channel.id, model: model.id, outcome: 'ok' });
    client.answer(JSON_TYPE, withoutKeyIn(this.#channel, body));
    charge.settle(came);
  }

  #readRefusal(): Refusal {
    const body = Buffer.concat(this.#chunks).toString('utf8');
    // HTTP 200 around an error is some gateways' way.
    const status = this.#status < 300 ? 502 : this.#status;
    return readRefusal(this.#channel, this.#work.ask.dialect.path, status, this.#headers, body);
  }

  /** No answer has begun: the next channel is asked where that makes sense, else the caller hears why not. */
  #refused(refusal: Refusal, control?: ExchangeControl): void {
    const { client, charge, candidates, ask } = this.#work;
    this.#tell(refusal);
    const hasNext = this.#try + 1 < Math.min(MAX_TRIES, candidates.length);
    this.#phase = 'over';
    control?.abort();
    if (refusal.retryable && hasNext && !client.streaming && !client.gone) {
      this.#askNext();
      return;
    }
    this.#done();
    charge.refund();
    client.fail(refusal.error, ask.dialect);
  }

  /** The answer had begun: it ends with an error, and what came is paid. Without any text nothing is. */
  #breakOff(refusal: Refusal, control?: ExchangeControl): void {
    const { client, charge, ask } = this.#work;
    const stream = this.#stream;
    if (!client.streaming) {
      this.#refused(refusal, control);
      return;
    }
    this.#tell(refusal);
    this.#done();
    control?.abort();
    const isCharged = stream !== undefined && stream.text() !== '';
    if (isCharged) charge.settle(stream);
    else charge.refund();
    client.fail(isCharged ? asBrokenOff(refusal.error) : refusal.error, ask.dialect);
  }

  /** The caller left: what came until then is paid, the question too once it was sent. */
  #abandon(wasSent: boolean): void {
    const { charge } = this.#work;
    const wasRefused = this.#phase === 'refused';
    this.#done();
    if (!wasSent || wasRefused) charge.refund();
    else charge.settle(this.#stream ?? { usage: undefined, text: () => '', complete: false });
  }

  #tell({ outcome, message, code, retryAfterMs }: Refusal): void {
    this.#parts.channels.report({
      channelId: this.#channel.id,
      model: this.#work.model.id,
      outcome,
      message,
      code,
      ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    });
  }

  #done(): void {
    this.#phase = 'over';
    this.#parts.over(this);
  }
}
