import { toEventPayload } from '../../contract/events.ts';
import { signWebhook } from '../../contract/webhook-signing-and-secrets.ts';
import type { WebhookPreset } from '../../contract/webhooks.ts';
import type { Clock } from '../platform/clock.ts';
import { type BufferedResponse, type OutboundClient, OutboundError } from '../platform/outbound/outbound.ts';
import { CHAT_PRESETS, reportsError, toMessage } from './chat-service-presets.ts';
import type { DeliveryRow } from './delivery-store.ts';
import { parseRetryAfter } from './retry-schedule.ts';
import { isListedHost } from './url-check.ts';

/** Standard Webhooks: 15 to 30 seconds. */
const TIMEOUT_MS = 15_000;
const MAX_RESPONSE_BYTES = 16_384;
const MAX_STORED_RESPONSE = 2_048;

/** Statuses by which a receiver asks for fewer requests. */
const SLOW_DOWN = new Set([429, 502, 503, 504]);
const GONE = 410;
const PAUSE_MS = 5_000;

export interface WebhookSenderDependencies {
  readonly outbound: Pick<OutboundClient, 'postUntrusted'>;
  readonly clock: Clock;
  readonly allowHttp: boolean;
  /** `host:port` pairs of the operator's own network that may receive webhooks. */
  readonly privateHosts: readonly string[];
  readonly userAgent: string;
}

/** Where and how a delivery is sent. */
export interface Destination {
  readonly url: string;
  readonly preset: WebhookPreset;
  /** The present secret first. */
  readonly secrets: readonly string[];
}

/** One attempt: what was sent, what came back. */
export interface Attempt {
  readonly startedAt: number;
  readonly durationMs: number;
  readonly url: string;
  readonly body: string;
  /** Null: no answer came. */
  readonly status: number | null;
  readonly response: string;
  /** Empty: the receiver accepted the delivery. */
  readonly error: string;
  /** The receiver answered 410: it must not be sent anything again. */
  readonly isGone: boolean;
  readonly retryAfterMs: number | undefined;
  /** The receiver wants fewer requests: nothing goes to it for so long. */
  readonly pauseMs: number;
}

/** Sends one delivery once. Only 2xx is a success; redirects are not followed. */
export class WebhookSender {
  readonly #dependencies: WebhookSenderDependencies;
  constructor(dependencies: WebhookSenderDependencies) {
    this.#dependencies = dependencies;
  }

  async attempt(
    { event_id, event_type, event_at, data }: DeliveryRow,
    { url, preset, secrets }: Destination,
    signal: AbortSignal,
  ): Promise<Attempt> {
    const { outbound, clock, allowHttp, privateHosts, userAgent } = this.#dependencies;
    const payload = toEventPayload(event_type, event_at, data);
    const chat = preset === 'standard' ? undefined : CHAT_PRESETS[preset];
    const body = JSON.stringify(chat === undefined ? payload : chat.body(toMessage(event_type, payload.data)));
    const startedAt = clock.now();
    const timestamp = Math.floor(startedAt / 1000);
    const signature = chat === undefined ? await signWebhook(secrets, { id: event_id, timestamp, body }) : {};
    const begun = performance.now();
    // The path and query of a chat service's URL authenticate the sender, and need not be kept with every delivery.
    const sent = { startedAt, url: chat === undefined ? url : (URL.parse(url)?.origin ?? ''), body };
    const elapsed = (): number => Math.round(performance.now() - begun);
    try {
      const response = await outbound.postUntrusted({
        url,
        body,
        headers: { 'content-type': 'application/json', 'user-agent': userAgent, ...signature },
        allowHttp,
        allowedPrivateHosts: privateHosts,
        totalTimeoutMs: TIMEOUT_MS,
        maxBytes: MAX_RESPONSE_BYTES,
        signal,
      });
      const isRefused = chat !== undefined && reportsError(chat, response.json);
      const result = { ...sent, durationMs: elapsed(), ...judge(response, isRefused, clock.now()) };
      // Any account may name a listed host and a path on it; what the operator's own network answers is not theirs to read.
      return isListedHost(new URL(url), privateHosts) ? { ...result, response: '' } : result;
    } catch (error) {
      if (!(error instanceof OutboundError)) throw error;
      return {
        ...sent,
        durationMs: elapsed(),
        status: null,
        response: '',
        error: `${error.phase}: ${error.message}`,
        isGone: false,
        retryAfterMs: undefined,
        pauseMs: 0,
      };
    }
  }
}

function judge({ status, headers, text }: BufferedResponse, isRefused: boolean, now: number) {
  const isSuccess = status >= 200 && status < 300 && !isRefused;
  const retryAfterMs = isSuccess ? undefined : parseRetryAfter(headers['retry-after'], now);
  return {
    status,
    response: text.replaceAll('\u0000', '').slice(0, MAX_STORED_RESPONSE).toWellFormed(),
    error: isSuccess ? '' : isRefused ? 'the answer reports an error' : `status ${status}`,
    isGone: status === GONE,
    retryAfterMs,
    pauseMs: SLOW_DOWN.has(status) ? (retryAfterMs ?? PAUSE_MS) : 0,
  };
}
