import { isObject } from '../../contract/objects.ts';
import { signWebhook, toEventPayload, type WebhookPreset } from '../../contract/webhooks.ts';
import type { Clock } from '../platform/clock.ts';
import {
  type BufferedResponse,
  type OutboundClient,
  OutboundError,
  parseRetryAfter,
} from '../platform/outbound/outbound.ts';
import type { DeliveryRow } from './delivery-store.ts';
import { isListedHost } from './endpoints.ts';

/** Standard Webhooks recommends 15 to 30 seconds. */
const TIMEOUT_MS = 15_000;
const MAX_RESPONSE_BYTES = 16_384;
const MAX_STORED_RESPONSE = 2_048;

/** Statuses with which a receiver requests fewer deliveries. */
const SLOW_DOWN = new Set([429, 502, 503, 504]);
const GONE = 410;
const PAUSE_MS = 5_000;

interface WebhookSenderDependencies {
  readonly outbound: Pick<OutboundClient, 'postUntrusted'>;
  readonly clock: Clock;
  readonly allowHttp: boolean;
  /** `host:port` pairs in the operator's own network that may receive webhooks. */
  readonly privateHosts: readonly string[];
  readonly userAgent: string;
}

/** The URL of a delivery, and how it is signed and formatted. */
export interface Destination {
  readonly url: string;
  readonly preset: WebhookPreset;
  /** The current secret first. */
  readonly secrets: readonly string[];
}

/** One attempt: the request that was sent and the response. */
export interface Attempt {
  readonly startedAt: number;
  readonly durationMs: number;
  readonly url: string;
  readonly body: string;
  /** Null: no response was received. */
  readonly status: number | null;
  readonly response: string;
  /** Empty: the receiver accepted the delivery. */
  readonly error: string;
  /** The receiver answered 410: nothing may be sent to it again. */
  readonly isGone: boolean;
  readonly retryAfterMs: number | undefined;
  /** Pause requested by the receiver, milliseconds. */
  readonly pauseMs: number;
}

/** Sends one delivery once. Only 2xx counts as a success; redirects are not followed. */
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
    // The path and query of a chat service's URL authenticate the sender and must not be stored with every delivery.
    const sent = { startedAt, url: chat === undefined ? url : (URL.parse(url)?.origin ?? ''), body };
    const elapsed = (): number => Math.round(performance.now() - begun);
    try {
      const response = await outbound.postUntrusted({
        url,
        body,
        // Web application firewalls with the OWASP rules refuse a request without Accept.
        headers: { 'content-type': 'application/json', accept: '*/*', 'user-agent': userAgent, ...signature },
        allowHttp,
        allowedPrivateHosts: privateHosts,
        totalTimeoutMs: TIMEOUT_MS,
        maxBytes: MAX_RESPONSE_BYTES,
        signal,
      });
      const isRefused = chat !== undefined && reportsError(chat, response.json);
      const result = { ...sent, durationMs: elapsed(), ...judge(response, isRefused, clock.now(), chat?.waitHeader) };
      // Any account may name a listed host with any path; responses from the operator's own network must not be shown
      // to it.
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

function judge({ status, headers, text }: BufferedResponse, isRefused: boolean, now: number, waitHeader = '') {
  const isSuccess = status >= 200 && status < 300 && !isRefused;
  const waits = { ...headers, 'retry-after': headers[waitHeader] ?? headers['retry-after'] ?? '' };
  const retryAfterMs = isSuccess ? undefined : parseRetryAfter(waits, now);
  return {
    status,
    response: text.replaceAll('\u0000', '').slice(0, MAX_STORED_RESPONSE).toWellFormed(),
    error: isSuccess ? '' : isRefused ? 'the answer reports an error' : `status ${status}`,
    isGone: status === GONE,
    retryAfterMs,
    pauseMs: SLOW_DOWN.has(status) ? Math.min(retryAfterMs ?? PAUSE_MS, MAX_RETRY_AFTER_MS) : 0,
  };
}

interface Message {
  readonly title: string;
  readonly text: string;
}

interface ChatPreset {
  /** JSON body of the message, as documented by the service. */
  readonly body: (message: Message) => object;
  /** Key of the error code in the response of a service that always answers 200; 0 is a success. */
  readonly errorKey?: string;
  /** The header with the wait in seconds of a service whose Retry-After has another unit. */
  readonly waitHeader?: string;
}

/** Incoming webhooks of chat and push services. Their URLs contain the authentication, so nothing is signed. */
export const CHAT_PRESETS: Readonly<Record<Exclude<WebhookPreset, 'standard'>, ChatPreset>> = {
  // https://api.slack.com/messaging/webhooks; unescaped, a text such as <!channel> would notify everyone
  slack: { body: ({ title, text }) => ({ text: escapeSlack(`*${title}*\n${text}`) }) },
  // https://open.feishu.cn/document/client-docs/bot-v3/add-custom-bot
  lark: {
    body: ({ title, text }) => ({ msg_type: 'text', content: { text: withoutLarkTags(`${title}\n${text}`) } }),
    errorKey: 'code',
  },
  // https://open.dingtalk.com/document/robots/custom-robot-access
  dingtalk: {
    body: ({ title, text }) => ({ msgtype: 'text', text: { content: `${title}\n${text}` } }),
    errorKey: 'errcode',
  },
  // https://discord.com/developers/docs/resources/webhook#execute-webhook
  discord: {
    body: ({ title, text }) => ({ content: `**${title}**\n${text}`, allowed_mentions: { parse: [] } }),
    // The URL that Discord shows names no version and so means version 6, where Retry-After is in milliseconds.
    waitHeader: 'x-ratelimit-reset-after',
  },
  // https://core.telegram.org/bots/api#sendmessage, with ?chat_id= in the URL
  telegram: { body: ({ title, text }) => ({ text: `${title}\n${text}` }) },
  // https://bark.day.app/#/tutorial
  bark: { body: ({ title, text }) => ({ title, body: text }) },
  // https://gotify.net/docs/pushmsg
  gotify: { body: ({ title, text }) => ({ title, message: text, priority: 5 }) },
};

/** https://api.slack.com/reference/surfaces/formatting#escaping */
const escapeSlack = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

/** A text such as <at user_id="all"> would notify everyone, and Lark has no escape sequence for it. */
const withoutLarkTags = (text: string): string => text.replaceAll('<', '＜');

const MAX_VALUE_LENGTH = 300;
/** Discord's limit of 2,000 characters is the lowest of all services. */
const MAX_TEXT_LENGTH = 1_800;

/** An event as a short text: its type, then one line per plain value of its data. */
export function toMessage(type: string, data: Readonly<Record<string, unknown>>): Message {
  const lines = Object.entries(data).flatMap(([key, value]) => {
    const shown = isObject(value) && typeof value.message === 'string' ? value.message : value;
    return typeof shown === 'string' || typeof shown === 'number' || typeof shown === 'boolean'
      ? [`${key}: ${cut(String(shown), MAX_VALUE_LENGTH)}`]
      : [];
  });
  return { title: `Reelgate: ${type}`, text: cut(lines.join('\n'), MAX_TEXT_LENGTH) };
}

/** Half of a UTF-16 surrogate pair would not be valid text for JSON parsers. */
const cut = (text: string, length: number): string => text.slice(0, length).toWellFormed();

/** Whether the response of a service that always answers 200 reports an error. */
export function reportsError({ errorKey }: ChatPreset, answer: unknown): boolean {
  return errorKey !== undefined && isObject(answer) && typeof answer[errorKey] === 'number' && answer[errorKey] !== 0;
}

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/**
 * Delays after the first to the ninth failed attempt: ten attempts over 75 h 35 min (the schedule of Standard Webhooks
 * 1.0.0).
 */
const WAITS_MS = [5 * SECOND, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR, 14 * HOUR, 20 * HOUR, 24 * HOUR];
/** Maximum number of attempts per delivery. */
export const MAX_TRIES = WAITS_MS.length + 1;
/** Spreads retries of receivers that failed at the same time. */
const JITTER = 0.1;
const MAX_RETRY_AFTER_MS = 24 * HOUR;

/**
 * Time of the next attempt.
 *
 * @param tries attempts so far, including the failed one
 * @param retryAfterMs the delay the receiver requested; a longer delay than scheduled is granted, up to a day
 * @param random from 0 to 1
 * @returns Unix milliseconds; undefined after the last attempt
 */
export function nextTryAt(
  tries: number,
  now: number,
  retryAfterMs: number | undefined,
  random: number,
): number | undefined {
  const planned = WAITS_MS[tries - 1];
  if (planned === undefined) return undefined;
  const jittered = planned * (1 + JITTER * (2 * random - 1));
  return now + Math.round(Math.max(jittered, Math.min(retryAfterMs ?? 0, MAX_RETRY_AFTER_MS)));
}
