import type { Endpoint, PartOf } from '../contract/endpoint.ts';
import { ReelgateError, readFailure } from './errors.ts';

/** What proves who is calling; the browser's session cookie needs `userId` alone. */
export interface Credentials {
  /** An `sk-` token or llm_token, for /v1 and the vendor-format routes. */
  readonly apiKey?: string | undefined;
  /** A user access token or a device access_token, for /api. */
  readonly accessToken?: string | undefined;
  readonly userId?: number | undefined;
  /** Name of the header with the user id, where the service has renamed it (`api_user_header` of GET /api/status). */
  readonly userHeader?: string | undefined;
}

/** What a credential is wanted for: `model` an apiKey, `account` an access token, `none` neither. */
export type Purpose = 'model' | 'account' | 'none';

export interface TransportOptions {
  /** Where the service is: `http://127.0.0.1:3000`. In a browser the page's own address is the default. */
  readonly baseUrl: string;
  /** Asked before every request, so that a refreshed token is used at once. */
  readonly credentials?: (purpose: Purpose) => Credentials | Promise<Credentials>;
  /** Called once when /api answers 401 to an access token; true: it was renewed, try again. */
  readonly renew?: () => Promise<boolean>;
  readonly userHeader?: string;
  readonly language?: string;
  readonly fetch?: typeof globalThis.fetch;
}

type PartsOf<E extends Endpoint> = {
  [K in 'params' | 'query' | 'body' as PartOf<E, K> extends undefined ? never : K]: PartOf<E, K>;
};

interface RequestParts {
  readonly params?: unknown;
  readonly query?: unknown;
  readonly body?: unknown;
}

export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent in place of a JSON body. */
  readonly form?: FormData;
}

/** One attempt to read an answer of JSON; nothing the service looks up takes this long. */
const READ_TIMEOUT_MS = 30_000;
/** How often a request that changes nothing, or is safe to repeat, is sent at most. */
const TRIES = 4;

/** Calls lines of the contract; the path, the credential and the form of failures all follow from the line. */
export class Transport {
  readonly #options: TransportOptions;
  constructor(options: TransportOptions) {
    this.#options = options;
  }

  get baseUrl(): string {
    return this.#options.baseUrl;
  }

  /** The success body, typed by the contract. Throws ReelgateError. */
  async call<const E extends Endpoint>(
    endpoint: E,
    parts: PartsOf<E>,
    options: CallOptions = {},
  ): Promise<PartOf<E, 'answer'>> {
    const response = await this.#send(
      endpoint,
      parts,
      options,
      endpoint.method === 'GET' ? READ_TIMEOUT_MS : undefined,
    );
    const text = await response.text().catch((error: unknown) => {
      throw toNetworkError(error, options.signal, this.baseUrl);
    });
    const body = toJson(text);
    const failure = readFailure(response.status, response.headers, body);
    if (failure !== undefined) throw failure;
    if (body === undefined)
      throw new ReelgateError('The service did not answer with JSON. Is the address right?', {
        status: response.status,
        code: 'not_json',
      });
    return body as PartOf<E, 'answer'>;
  }

  /** The raw answer, for files and streams; failures are not read. Network errors are tried again where that is safe. */
  send<const E extends Endpoint>(endpoint: E, parts: PartsOf<E>, options: CallOptions = {}): Promise<Response> {
    return this.#send(endpoint, parts, options);
  }

  async #send(endpoint: Endpoint, parts: RequestParts, options: CallOptions, timeoutMs?: number): Promise<Response> {
    const repeatable = endpoint.method === 'GET' || options.headers?.['idempotency-key'] !== undefined;
    let renewed = false;
    for (let attempt = 1; ; attempt += 1) {
      const known = (await this.#options.credentials?.(purposeOf(endpoint))) ?? {};
      const signal = both(options.signal, timeoutMs);
      const response = await this.#once(endpoint, parts, { ...options, signal }, known).catch((error: unknown) =>
        toNetworkError(error, options.signal, this.baseUrl),
      );
      if (response instanceof Response) {
        const passing = response.status === 429 || response.status === 503;
        if (response.status === 401 && !renewed && purposeOf(endpoint) === 'account') {
          renewed = true;
          if ((await this.#options.renew?.()) === true) {
            await response.body?.cancel();
            continue;
          }
        }
        if (!passing || !repeatable || attempt >= TRIES) return response;
        await response.body?.cancel();
        await pause(waitOf(attempt, Number(response.headers.get('retry-after') ?? Number.NaN)), options.signal);
      } else {
        if (!repeatable || attempt >= TRIES || options.signal?.aborted === true) throw response;
        await pause(waitOf(attempt, Number.NaN), options.signal);
      }
    }
  }

  async #once(endpoint: Endpoint, parts: RequestParts, options: CallOptions, known: Credentials): Promise<Response> {
    const { fetch = globalThis.fetch, baseUrl, language } = this.#options;
    const purpose = purposeOf(endpoint);
    const userHeader = known.userHeader ?? this.#options.userHeader ?? 'Service-Api-User';
    const bearer = { model: known.apiKey, account: known.accessToken, none: undefined }[purpose];
    const hasBody = parts.body !== undefined && options.form === undefined;
    return fetch(`${baseUrl}${toPath(endpoint.path, parts.params)}${toQuery(parts.query)}`, {
      method: endpoint.method,
      headers: {
        accept: 'application/json',
        ...(hasBody ? { 'content-type': 'application/json' } : {}),
        ...(bearer === undefined ? {} : { authorization: `Bearer ${bearer}` }),
        ...(purpose !== 'account' || known.userId === undefined ? {} : { [userHeader]: String(known.userId) }),
        ...(language === undefined ? {} : { 'accept-language': language }),
        ...options.headers,
      },
      ...(options.form === undefined ? {} : { body: options.form }),
      ...(hasBody ? { body: JSON.stringify(parts.body) } : {}),
      ...(options.signal === undefined ? {} : { signal: options.signal }),
    });
  }
}

/** By the line's policy; where the handler reads its credential itself, the caller puts it into the headers. */
function purposeOf({ policy }: Endpoint): Purpose {
  if (policy === 'model') return 'model';
  return policy === 'public' || policy === 'self' ? 'none' : 'account';
}

function toPath(path: string, params: unknown): string {
  const values = (params ?? {}) as Readonly<Record<string, string>>;
  return path.replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(values[name] ?? ''));
}

function toQuery(query: unknown): string {
  const entries = Object.entries((query ?? {}) as Record<string, string | undefined>).filter(
    (entry): entry is [string, string] => entry[1] !== undefined,
  );
  return entries.length === 0 ? '' : `?${new URLSearchParams(entries)}`;
}

function toJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Ends with the signal, or when the time is over. */
function both(signal: AbortSignal | undefined, timeoutMs: number | undefined): AbortSignal | undefined {
  if (timeoutMs === undefined) return signal;
  const timeout = AbortSignal.timeout(timeoutMs);
  return signal === undefined ? timeout : AbortSignal.any([signal, timeout]);
}

const isTimeout = (error: unknown): boolean => error instanceof DOMException && error.name === 'TimeoutError';

/** Throws the signal's reason when it is the caller who stopped. */
function toNetworkError(error: unknown, signal: AbortSignal | undefined, baseUrl: string): ReelgateError {
  if (signal?.aborted === true && !isTimeout(signal.reason)) throw signal.reason;
  const message = isTimeout(error)
    ? `The service at ${baseUrl} did not answer in time.`
    : `The service at ${baseUrl} cannot be reached.`;
  return new ReelgateError(message, { code: 'network', cause: error });
}

/** Milliseconds: what the service asked for, else doubling with jitter. */
function waitOf(attempt: number, retryAfterSeconds: number): number {
  if (Number.isFinite(retryAfterSeconds)) return Math.min(60, retryAfterSeconds) * 1000;
  return 2 ** attempt * 250 * (0.75 + Math.random() / 2);
}

/** Waits, unless the signal ends it first. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => {
      clearTimeout(timer);
      reject(signal?.reason instanceof Error ? signal.reason : new Error('aborted'));
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    }, ms);
    if (signal?.aborted === true) onAbort();
    else signal?.addEventListener('abort', onAbort, { once: true });
  });
}
