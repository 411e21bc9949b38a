import type { Clock } from '../../platform/clock.ts';
import { type OutboundClient, OutboundError } from '../../platform/outbound/outbound.ts';
import { BackendError } from '../mail-backend.ts';

export interface MailcowSettings {
  /** `https://mail.example.org` */
  readonly url: string;
  /** A read-write API key. */
  readonly apiKey: string;
}

/** mailcow counts wrong keys and then blocks the caller's IP on every port, so after one wrong key we pause requests. */
const WRONG_KEY_PAUSE_MS = 10 * 60_000;

/** Codes of mailcow's `msg` and what they mean to us; every other refusal needs the operator. */
const TAKEN = new Set(['object_exists', 'is_alias', 'is_spam_alias', 'is_alias_or_mailbox']);
const GONE = new Set(['app_passwd_id_invalid']);

/**
 * mailcow's HTTP API: `X-API-Key`, JSON both ways, writes by POST only. A refused write returns HTTP 200 with an array
 * of `{type, log, msg}`, so the status is not sufficient; reading an unknown object returns 200 and `{}`. Responses can
 * contain passwords and are never logged.
 */
export class MailcowApi {
  readonly #settings: MailcowSettings;
  readonly #outbound: OutboundClient;
  readonly #clock: Clock;
  #silentUntil = 0;

  constructor(settings: MailcowSettings, outbound: OutboundClient, clock: Clock) {
    this.#settings = settings;
    this.#outbound = outbound;
    this.#clock = clock;
  }

  read(path: string, signal?: AbortSignal): Promise<unknown> {
    return this.#call('GET', path, undefined, signal);
  }

  /** @returns false when the object to change does not exist */
  async write(path: string, body: unknown): Promise<boolean> {
    const answer = await this.#call('POST', path, body);
    const outcomes = Array.isArray(answer) ? answer.map(readOutcome) : [];
    // An unreadable response leaves it unknown whether the change was applied.
    if (outcomes.length === 0 || outcomes.includes('unreadable'))
      throw new BackendError('uncertain', `mailcow ${path}: unreadable answer`);
    const refusal = outcomes.find((outcome) => outcome !== 'done');
    if (refusal === undefined) return true;
    if (GONE.has(refusal)) return false;
    throw new BackendError(TAKEN.has(refusal) ? 'taken' : 'rejected', `mailcow ${path}: ${refusal}`);
  }

  async #call(method: 'GET' | 'POST', path: string, body?: unknown, signal?: AbortSignal): Promise<unknown> {
    if (this.#clock.now() < this.#silentUntil)
      throw new BackendError('unavailable', 'mailcow refused our API key; it is not asked again for ten minutes');
    const uncertain = method === 'POST' ? 'uncertain' : 'unavailable';
    const answer = await this.#outbound
      .requestJson({
        method,
        url: `${this.#settings.url}/api/v1/${path}`,
        headers: { 'x-api-key': this.#settings.apiKey, 'content-type': 'application/json', accept: 'application/json' },
        body: body === undefined ? undefined : JSON.stringify(body),
        signal,
        private: true,
        connectTimeoutMs: 3_000,
        totalTimeoutMs: 8_000,
      })
      .catch((cause: unknown) => {
        const arrived = !(cause instanceof OutboundError) || cause.mayHaveArrived;
        throw new BackendError(arrived ? uncertain : 'unavailable', `mailcow ${path}: no answer`, { cause });
      });
    if (answer.status === 401) this.#silentUntil = this.#clock.now() + WRONG_KEY_PAUSE_MS;
    if (answer.status === 401 || answer.status === 403)
      throw new BackendError(
        'unavailable',
        `mailcow ${path}: HTTP ${answer.status}, check the API key and its address list`,
      );
    if (answer.status >= 400 && answer.status < 500)
      throw new BackendError('rejected', `mailcow ${path}: HTTP ${answer.status}`);
    if (answer.status !== 200 || answer.json === undefined)
      throw new BackendError(uncertain, `mailcow ${path}: HTTP ${answer.status}`);
    return answer.json;
  }
}

/** `done`, or the code of a refusal: `msg` is a code, or a list that begins with it. */
function readOutcome(entry: unknown): string {
  const { type, msg } = (entry ?? {}) as { type?: unknown; msg?: unknown };
  if (type === 'success' || type === 'warning') return 'done';
  const code = Array.isArray(msg) ? msg[0] : msg;
  return (type === 'danger' || type === 'error') && typeof code === 'string' ? code : 'unreadable';
}
