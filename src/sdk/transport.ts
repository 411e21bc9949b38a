import { type Endpoint, type EndpointPart, isModelPolicy } from '../contract/endpoint.ts';
import { ORGANIZATION_HEADER } from '../contract/organization-roles.ts';
import { notJsonError, parseErrorResponse, ReelgateError } from './errors.ts';

/** Credentials of a request; with the browser's session cookie only `userId` is needed. */
export interface Credentials {
  /** An `sk-` token or llm_token, for /v1 and the vendor-format routes. */
  readonly apiKey?: string;
  /** A user access token or a device access_token, for /api. */
  readonly accessToken?: string;
  /** Id of the account the access token belongs to. */
  readonly userId?: number;
  /** Name of the header with the user id, if the service has renamed it (`api_user_header` of GET /api/status). */
  readonly userHeader?: string;
}

/** Credential a request needs: `model` an apiKey, `account` an access token, `none` neither. */
export type CredentialPurpose = 'model' | 'account' | 'none';

/** Options of the client. */
export interface TransportOptions {
  /** URL of the service, such as `http://127.0.0.1:3000`; empty in a browser: the origin of the page. */
  readonly baseUrl: string;
  /** Called before every request, so that refreshed tokens are used immediately. */
  readonly credentials?: (purpose: CredentialPurpose) => Credentials | Promise<Credentials>;
  /**
   * Called once when /api responds to an access token with 401. True: the token was refreshed, and the request is sent
   * again.
   */
  readonly refresh?: () => Promise<boolean>;
  /**
   * Slug of the organization to act for: its videos, keys, wallet and so on, instead of the account's own. API keys and
   * device sign-ins belong to one context whatever is given here.
   */
  readonly organization?: string;
  /** Language of messages: `en` or `zh-CN`; default: the service's. */
  readonly language?: string;
  /** Sends the requests; default `globalThis.fetch`. */
  readonly fetch?: typeof globalThis.fetch;
  /** @internal Aborts the calls that name no signal of their own. */
  readonly signal?: AbortSignal;
}

/** @internal */
type RequestInputOf<E extends Endpoint> = {
  [K in 'params' | 'query' | 'body' as EndpointPart<E, K> extends undefined ? never : K]: EndpointPart<E, K>;
};

/** @internal */
interface RequestInput {
  readonly params?: unknown;
  readonly query?: unknown;
  readonly body?: unknown;
}

/** Options of one call. */
export interface CallOptions {
  /** Aborts the call; the call then throws the signal's reason. */
  readonly signal?: AbortSignal;
  /** Headers to send in addition to the client's own. */
  readonly headers?: Readonly<Record<string, string>>;
  /** @internal Sent instead of a JSON body. */
  readonly form?: FormData;
}

/** A page of a list that grows at the top. */
export interface CursorResult<Row> {
  /** Rows of the page. */
  readonly data: Row[];
  /** Cursor of the next page; null after the last one. */
  readonly next: string | null;
}

/** A page of a list with numbered pages. */
export interface PageResult<Row> {
  /** Rows of the page. */
  readonly data: Row[];
  /** Total number of rows. */
  readonly total: number;
}

/** Timeout of a GET request with a JSON response; no query of the service takes this long. */
const READ_TIMEOUT_MS = 30_000;
/** Maximum attempts for requests that are safe to repeat: GET, or with an Idempotency-Key. */
const MAX_ATTEMPTS = 4;
/** Longest delay asked for by the service that is waited for. */
const MAX_RETRY_AFTER_SECONDS = 60;
/** Responses that an earlier request with the same Idempotency-Key is in progress: two minutes, at 2 seconds each. */
const MAX_CONFLICTS = 60;

/**
 * Calls endpoints of the contract. The endpoint's definition determines the path, the credential and the error format.
 */
export class Transport {
  readonly #options: TransportOptions;
  /** @internal */
  constructor(options: TransportOptions) {
    this.#options = options;
  }

  /** URL of the service, without a trailing slash. */
  get baseUrl(): string {
    return this.#options.baseUrl;
  }

  /**
   * @internal
   * The response body of a success, typed by the contract. @throws ReelgateError
   */
  async call<const E extends Endpoint>(
    endpoint: E,
    input: RequestInputOf<E>,
    options: CallOptions = {},
  ): Promise<EndpointPart<E, 'response'>> {
    const { response, text } = await this.#send(
      endpoint,
      input,
      options,
      async (received) => ({ response: received, text: await received.text() }),
      endpoint.method === 'GET' ? READ_TIMEOUT_MS : undefined,
    );
    return parseBody(response, text) as EndpointPart<E, 'response'>;
  }

  /**
   * @internal
   * The raw response, for files and streams; errors are not parsed. Network errors are retried if that is safe.
   */
  send<const E extends Endpoint>(endpoint: E, input: RequestInputOf<E>, options: CallOptions = {}): Promise<Response> {
    return this.#send(endpoint, input, options, async (response) => response);
  }

  /** Sends a request and, after a 401, once more with a refreshed token. @param read reads a final response */
  async #send<R>(
    endpoint: Endpoint,
    input: RequestInput,
    options: CallOptions,
    read: (response: Response) => Promise<R>,
    timeoutMs?: number,
  ): Promise<R> {
    const send = () => this.#sendWithRetries(endpoint, input, options, read, timeoutMs);
    const { response, result } = await send();
    if (response.status !== 401 || credentialPurposeOf(endpoint) !== 'account') return result;
    if ((await this.#options.refresh?.()) !== true) return result;
    if (!response.bodyUsed) await response.body?.cancel();
    return (await send()).result;
  }

  /** @param read its failures count as those of the request */
  async #sendWithRetries<R>(
    endpoint: Endpoint,
    input: RequestInput,
    options: CallOptions,
    read: (response: Response) => Promise<R>,
    timeoutMs: number | undefined,
  ): Promise<{ readonly response: Response; readonly result: R }> {
    const { signal = this.#options.signal } = options;
    const retries = new Retries(endpoint.method === 'GET' || options.headers?.['idempotency-key'] !== undefined);
    for (;;) {
      // Outside the try block: an error of the credentials or the input is not one of the network.
      const credentials = (await this.#options.credentials?.(credentialPurposeOf(endpoint))) ?? {};
      const { url, init } = this.#toRequest(endpoint, input, options, credentials);
      let delayMs: number | undefined;
      try {
        const response = await this.#fetch(url, { ...init, signal: combineSignals(signal, timeoutMs) ?? null });
        delayMs = retries.delayAfterResponse(response);
        if (delayMs === undefined) return { response, result: await read(response) };
        await response.body?.cancel();
      } catch (error) {
        const failure = toNetworkError(error, signal, this.baseUrl);
        delayMs = failure.code === 'network' && signal?.aborted !== true ? retries.delayAfterFailure() : undefined;
        if (delayMs === undefined) throw failure;
      }
      await sleep(delayMs, signal);
    }
  }

  /** @throws ReelgateError `invalid_request`, `invalid_api_key`, `unauthorized` for what cannot be sent */
  #toRequest(endpoint: Endpoint, input: RequestInput, options: CallOptions, credentials: Credentials) {
    const { baseUrl, organization, language } = this.#options;
    const purpose = credentialPurposeOf(endpoint);
    const userHeader = credentials.userHeader ?? 'Service-Api-User';
    const hasBody = input.body !== undefined && options.form === undefined;
    const headers: Record<string, string> = { accept: 'application/json' };
    if (hasBody) headers['content-type'] = 'application/json';
    const bearer = toBearer(purpose, credentials);
    if (bearer) headers.authorization = `Bearer ${bearer}`;
    if (purpose === 'account' && credentials.userId) headers[userHeader] = String(credentials.userId);
    // A path that names an organization must not be refused because the header names another one.
    if (endpoint.organization && organization && !endpoint.path.includes(':slug'))
      headers[ORGANIZATION_HEADER] = organization;
    if (language) headers['accept-language'] = language;
    return {
      url: `${baseUrl}${toPath(endpoint.path, input.params)}${toQuery(input.query)}`,
      init: {
        method: endpoint.method,
        headers: { ...headers, ...options.headers },
        body: hasBody ? JSON.stringify(input.body) : (options.form ?? null),
      },
    };
  }

  async #fetch(url: string, init: RequestInit): Promise<Response> {
    const { fetch = globalThis.fetch, baseUrl } = this.#options;
    // Another origin would get the request without its credential, or as a GET, and refuse it for that.
    const response = await fetch(url, { ...init, redirect: 'manual' });
    if (!isRedirect(response)) return response;
    await response.body?.cancel();
    throw toRedirectError(response, baseUrl);
  }
}

/** Decides whether and when one request is repeated. */
class Retries {
  readonly #isRepeatable: boolean;
  #attempts = 1;
  #conflicts = 0;

  constructor(isRepeatable: boolean) {
    this.#isRepeatable = isRepeatable;
  }

  /** Milliseconds until the next attempt; undefined if the response is final. */
  delayAfterResponse(response: Response): number | undefined {
    const retryAfterSeconds = Number(response.headers.get('retry-after') ?? Number.NaN);
    if (isTransient(response)) return this.delayAfterFailure(retryAfterSeconds);
    if (!this.#isRepeatable || !isInProgress(response) || this.#conflicts >= MAX_CONFLICTS) return undefined;
    this.#conflicts += 1;
    return retryDelayMs(this.#attempts, retryAfterSeconds);
  }

  /** Milliseconds until the next attempt; undefined if the failure is final. */
  delayAfterFailure(retryAfterSeconds = Number.NaN): number | undefined {
    if (!this.#isRepeatable || this.#attempts >= MAX_ATTEMPTS) return undefined;
    // The caller should hear of a long delay instead of waiting for a request that is refused again.
    if (retryAfterSeconds > MAX_RETRY_AFTER_SECONDS) return undefined;
    this.#attempts += 1;
    return retryDelayMs(this.#attempts - 1, retryAfterSeconds);
  }
}

/**
 * Derives the credential from the endpoint's policy. If the handler authenticates the request itself, the caller passes
 * the credential as a header.
 */
function credentialPurposeOf({ policy }: Endpoint): CredentialPurpose {
  if (isModelPolicy(policy)) return 'model';
  return policy === 'public' || policy === 'self' ? 'none' : 'account';
}

/** Errors of `fetch` about a header would contain its value, and pass for those of the network. */
function toBearer(purpose: CredentialPurpose, { apiKey, accessToken }: Credentials): string | undefined {
  const bearer = { model: apiKey, account: accessToken, none: undefined }[purpose]?.trim();
  if (bearer === undefined || /^[\x21-\x7e]*$/.test(bearer)) return bearer;
  throw purpose === 'model'
    ? new ReelgateError('The API key has a character that none can have, such as a space or “…”.', {
        code: 'invalid_api_key',
      })
    : new ReelgateError('The access token has a character that none can have, such as a space or “…”.', {
        code: 'unauthorized',
      });
}

function toPath(path: string, params: unknown): string {
  const values = (params ?? {}) as Readonly<Record<string, string>>;
  return path.replace(/:(\w+)/g, (_, name: string) => {
    const value = values[name] ?? '';
    // Neither an empty segment nor one of dots, which URLs resolve, would lead to this endpoint.
    if (/^\.{0,2}$/.test(value)) throw new ReelgateError(`"${value}" is no ${name}.`, { code: 'invalid_request' });
    return encodeURIComponent(value);
  });
}

function toQuery(query: unknown): string {
  const entries = Object.entries((query ?? {}) as Record<string, string | undefined>).filter(
    (entry): entry is [string, string] => entry[1] !== undefined,
  );
  return entries.length === 0 ? '' : `?${new URLSearchParams(entries)}`;
}

/** @internal Parses the body of a response. @throws ReelgateError for an error, or a body that is not JSON */
export function parseBody({ status, headers }: Response, text: string): unknown {
  const body = toJson(text);
  // A 404 without JSON is a page: the URL leads to another site, or into the console.
  if (body === undefined && (status < 400 || status === 404)) throw notJsonError(status);
  const failure = parseErrorResponse(status, headers, body);
  if (failure !== undefined) throw failure;
  return body;
}

/** @internal Undefined for a text that is not JSON. */
export function toJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * Whether the request may succeed when repeated: the service has no room for it, or a proxy did not reach the service,
 * whose own responses have a request id.
 */
const isTransient = ({ status, headers }: Response): boolean =>
  status === 429 || status === 503 || ((status === 502 || status === 504) && !headers.has('x-request-id'));

/** Whether another process still serves an earlier request with the same Idempotency-Key. */
const isInProgress = ({ status, headers }: Response): boolean => status === 409 && headers.has('retry-after');

/** In a browser a redirect has no status. */
const isRedirect = ({ status, type }: Response): boolean =>
  type === 'opaqueredirect' || [301, 302, 303, 307, 308].includes(status);

/** The service redirects no calls: a proxy does, from http to https or to a page for signing in. */
function toRedirectError({ status, headers }: Response, baseUrl: string): ReelgateError {
  const [location, base] = [headers.get('location') ?? '', `${baseUrl}/`];
  const target = URL.canParse(location, base) ? new URL(location, base).origin : 'another URL';
  const message = `The service at ${baseUrl} redirects to ${target}. Use that URL.`;
  return new ReelgateError(message, { status, code: 'not_json' });
}

/** Aborts with the signal or after the timeout. */
function combineSignals(signal: AbortSignal | undefined, timeoutMs: number | undefined): AbortSignal | undefined {
  if (timeoutMs === undefined) return signal;
  const timeout = AbortSignal.timeout(timeoutMs);
  return signal === undefined ? timeout : AbortSignal.any([signal, timeout]);
}

interface FetchError {
  readonly name?: unknown;
  readonly cause?: { readonly code?: unknown } | null;
}

/** Node's `fetch` ends a request whose response has not begun, or has paused, for five minutes. */
const NODE_TIMEOUTS: ReadonlySet<unknown> = new Set(['UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT']);

const isNodeTimeout = (error: unknown): boolean => NODE_TIMEOUTS.has((error as FetchError | undefined)?.cause?.code);

/** Not by its class: environments of tests have several. */
const isTimeout = (error: unknown): boolean =>
  (error as FetchError | undefined)?.name === 'TimeoutError' || isNodeTimeout(error);

/** Rethrows the signal's reason if the caller aborted the request. */
function toNetworkError(error: unknown, signal: AbortSignal | undefined, baseUrl: string): ReelgateError {
  if (signal?.aborted === true && !isTimeout(signal.reason)) throw signal.reason;
  if (error instanceof ReelgateError) return error;
  const message = isNodeTimeout(error)
    ? `The service at ${baseUrl} did not respond within the five minutes of Node's fetch.`
    : isTimeout(error)
      ? `The service at ${baseUrl} did not respond in time.`
      : `The service at ${baseUrl} cannot be reached.`;
  return new ReelgateError(message, { code: 'network', cause: error });
}

/** Milliseconds before the next attempt: the service's Retry-After, else exponential backoff with jitter. */
function retryDelayMs(attempt: number, retryAfterSeconds: number): number {
  if (Number.isFinite(retryAfterSeconds)) return Math.min(MAX_RETRY_AFTER_SECONDS, retryAfterSeconds) * 1000;
  return 2 ** attempt * 250 * (0.75 + Math.random() / 2);
}

/** A longer timer would fire at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** @internal Waits; rejects if the signal is aborted first. */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => {
      clearTimeout(timer);
      reject(signal?.reason instanceof Error ? signal.reason : new Error('aborted'));
    };
    const timer = setTimeout(
      () => {
        signal?.removeEventListener('abort', onAbort);
        resolve();
      },
      Math.min(ms, MAX_TIMER_MS),
    );
    if (signal?.aborted === true) onAbort();
    else signal?.addEventListener('abort', onAbort, { once: true });
  });
}

const PAGE_SIZE = 50;

/** @internal Every item of a list, fetched page by page. */
export async function fetchAllPages<T>(
  fetchPage: (query: { page: string; page_size: string }) => Promise<{ readonly data: T[]; readonly total: number }>,
): Promise<T[]> {
  const rows: T[] = [];
  for (let page = 1; ; page += 1) {
    const { data, total } = await fetchPage({ page: String(page), page_size: String(PAGE_SIZE) });
    rows.push(...data);
    if (data.length < PAGE_SIZE || rows.length >= total) return rows;
  }
}
