import { LRUCache } from 'lru-cache';
import type { ChatVendor } from '../../contract/channels.ts';
import { defined, isObject } from '../../contract/objects.ts';
import type { FailureCause } from '../../contract/task-states.ts';
import { memoizeByObject } from '../platform/cache.ts';
import type { Clock } from '../platform/clock.ts';
import {
  type BufferedResponse,
  type OutboundClient,
  OutboundError,
  type OutboundRequest,
} from '../platform/outbound/outbound.ts';

/** The parts of an account at an upstream that calls need; a channel is one. */
interface UpstreamAccount {
  readonly id: number;
  /** Id of the stored credential in use. */
  readonly credentialId: number;
  /** Without a trailing slash; includes the path below which the endpoints are, if any. */
  readonly baseUrl: string;
  /** Decrypted. */
  readonly credentials: { readonly [key: string]: unknown };
  /** Unparsed, as entered by the administrator. */
  readonly options: { readonly [key: string]: unknown };
  /** Whether its own base URL and artifacts may be at private IP addresses. */
  readonly private: boolean;
  /** Sent with every request, lower-case names; they override the adapter's own. Absent: none. */
  readonly extraHeaders?: Readonly<Record<string, string>>;
  /** URL of the proxy for its requests, with credentials. Absent: none. */
  readonly proxy?: string;
}

/** Passed to every call of an adapter, which has no state, clock, credentials or sockets of its own. */
export interface AdapterContext extends Pick<UpstreamAccount, 'baseUrl' | 'credentials' | 'options'> {
  /** Unix milliseconds. */
  now(): number;
  /**
   * Sends one JSON request to the vendor; the channel's credentials are masked in the response.
   * @throws OutboundError when there was no response
   */
  sendJson(request: OutboundRequest & { readonly maxBytes?: number }): Promise<BufferedResponse>;
  /**
   * A secret cached until it expires (an OAuth access token, the URI of an uploaded file), shared by all calls with the same credential; concurrent
   * callers wait for one `make`. `rejected` is a value the vendor has just refused: it is replaced only while it is
   * still the cached one, so that concurrent 401s trigger a single token refresh.
   */
  cachedSecret(
    key: string,
    make: () => Promise<{ value: string; expiresAtMs: number }>,
    rejected?: string,
  ): Promise<string>;
  readonly signal: AbortSignal;
}

/** Members that hold a URL, or a list of them. */
const URL_MEMBER = /(?:^|_)(?:url|uri|link|output|video)s?$|(?:Url|Uri)s?$/i;
const PATH = /^\/(?!\/)\S+$/;

/** Completes the URLs of a response that lack their host, which some relays leave out. */
function withAbsoluteUrls(value: unknown, base: string, name = ''): unknown {
  if (typeof value === 'string')
    return URL_MEMBER.test(name) && PATH.test(value.trim()) ? new URL(value.trim(), base).href : value;
  if (Array.isArray(value)) return value.map((each) => withAbsoluteUrls(each, base, name));
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, held]) => [key, withAbsoluteUrls(held, base, key)]));
}

interface CachedSecret {
  readonly value: string;
  readonly expiresAtMs: number;
}

/** The caller's own way to make a secret. */
interface SecretRequest {
  readonly make: () => Promise<CachedSecret>;
  readonly rejected: string | undefined;
  readonly signal: AbortSignal;
}

/** Access tokens, and the URIs of uploaded files; the least recently used one is made again. */
const MAX_SECRETS = 20_000;

/** A cached secret is replaced this long before it expires, milliseconds. */
const EXPIRY_MARGIN_MS = 60_000;

/** Creates the context of adapter calls. One per process, because it holds the cache of access tokens. */
export class UpstreamCalls {
  readonly #outbound: OutboundClient;
  readonly #clock: Clock;
  readonly #secrets = new LRUCache<string, Promise<CachedSecret>>({ max: MAX_SECRETS });

  constructor(outbound: OutboundClient, clock: Clock) {
    this.#outbound = outbound;
    this.#clock = clock;
  }

  /** @param signal aborts every request made through the context */
  contextFor(account: UpstreamAccount, signal: AbortSignal): AdapterContext {
    const outbound = this.#outbound;
    const { extraHeaders, proxy } = account;
    return {
      baseUrl: account.baseUrl,
      credentials: account.credentials,
      options: account.options,
      now: () => this.#clock.now(),
      async sendJson(request) {
        const headers = extraHeaders === undefined ? request.headers : { ...request.headers, ...extraHeaders };
        const response = await outbound.requestJson(
          defined({ signal, ...request, headers, private: account.private, proxy }),
        );
        const masked = credentialMaskOf(account).response(response, request.headers);
        return { ...masked, json: withAbsoluteUrls(masked.json, request.url) };
      },
      cachedSecret: (key, make, rejected) =>
        this.#cachedSecret(`${account.id}/${account.credentialId}:${key}`, { make, rejected, signal }),
      signal,
    };
  }

  async #cachedSecret(key: string, request: SecretRequest): Promise<string> {
    const { make, rejected, signal } = request;
    const cached = this.#secrets.get(key);
    if (cached !== undefined) {
      const secret = await cached.catch((error: unknown) => {
        // Only the caller that asked for it has left; this one asks again.
        if (error instanceof OutboundError && error.phase === 'aborted' && !signal.aborted) return undefined;
        throw error;
      });
      const isUsable =
        secret !== undefined && secret.value !== rejected && secret.expiresAtMs - EXPIRY_MARGIN_MS > this.#clock.now();
      if (isUsable) return secret.value;
      // Another caller may have replaced it while this one waited.
      if (this.#secrets.get(key) !== cached) return this.#cachedSecret(key, request);
    }
    const made = make();
    this.#secrets.set(key, made);
    made.catch(() => this.#secrets.get(key) === made && this.#secrets.delete(key));
    return (await made).value;
  }
}

/** The upstream of a task, as stored in its row. */
interface UpstreamTask<Vendor extends string> {
  readonly vendor: Vendor;
  /** The account that holds the task. */
  readonly channel_id: number | null;
  /** Id of the account's credential that submitted the task. */
  readonly credential_id: number | null;
  /** JSON returned by the adapter when the task was accepted; null before that. */
  readonly handle: string | null;
}

interface TaskUpstreamsDependencies<Vendor extends string, Adapter, Account extends UpstreamAccount> {
  readonly accounts: { byId(id: number, credentialId: number | null): Promise<Account | undefined> };
  readonly adapters: { get(vendor: Vendor): Adapter };
  readonly calls: UpstreamCalls;
}

/** Finds the adapter and the account of a task, for polling, content and deletion. */
export class TaskUpstreams<Vendor extends string, Adapter, Account extends UpstreamAccount> {
  readonly #accounts: TaskUpstreamsDependencies<Vendor, Adapter, Account>['accounts'];
  readonly #adapters: TaskUpstreamsDependencies<Vendor, Adapter, Account>['adapters'];
  readonly #calls: UpstreamCalls;

  constructor({ accounts, adapters, calls }: TaskUpstreamsDependencies<Vendor, Adapter, Account>) {
    this.#accounts = accounts;
    this.#adapters = adapters;
    this.#calls = calls;
  }

  /** Undefined once the account has been removed. */
  async find(task: UpstreamTask<Vendor>): Promise<TaskUpstream<Adapter, Account> | undefined> {
    const { channel_id: id, credential_id: credentialId } = task;
    const account = id === null ? undefined : await this.#accounts.byId(id, credentialId);
    return account && new TaskUpstream(this.adapterOf(task), account, task.handle, this.#calls);
  }

  adapterOf(task: Pick<UpstreamTask<Vendor>, 'vendor'>): Adapter {
    return this.#adapters.get(task.vendor);
  }
}

/** The adapter and the account of one task, for calls about it. */
export class TaskUpstream<Adapter, Account extends UpstreamAccount> {
  readonly adapter: Adapter;
  readonly account: Account;
  /** Whether the vendor has confirmed the task, so that calls about it are possible. */
  readonly isConfirmed: boolean;
  readonly #handle: string | null;
  readonly #calls: UpstreamCalls;

  constructor(adapter: Adapter, account: Account, handle: string | null, calls: UpstreamCalls) {
    this.adapter = adapter;
    this.account = account;
    this.isConfirmed = handle !== null;
    this.#handle = handle;
    this.#calls = calls;
  }

  /**
   * Runs one call of the adapter about this task; throws the adapter's errors.
   * @param signal aborts the requests of the call
   * @param run receives the adapter, the stored handle (null while the task is unconfirmed) and the context for the
   * account
   */
  call<Result>(
    signal: AbortSignal,
    run: (adapter: Adapter, handle: Handle, context: AdapterContext) => Promise<Result>,
  ): Promise<Result> {
    return run(
      this.adapter,
      JSON.parse(this.#handle ?? 'null') as Handle,
      this.#calls.contextFor(this.account, signal),
    );
  }
}

/** Opaque to all code except the adapter that created it. */
type Handle = null | boolean | number | string | readonly Handle[] | { readonly [key: string]: Handle };

type Values = { readonly [key: string]: unknown };

/** The parts of an upstream account that hold secrets. */
interface SecretHolder {
  readonly credentials: Values;
  readonly extraHeaders?: Readonly<Record<string, string>>;
  readonly proxy?: string;
}

/**
 * Names of a channel's credentials that are secret; `project`
 * and `location` are part of every resource name of the vendor.
 */
const SECRET_FIELD = /(?:key|secret|password)(?:_id)?$/;
/** Headers with such a name hold a secret, however harmless the value looks. */
const SECRET_HEADER = /auth|cookie|credential|jwt|key|pass|secret|session|sign|token/;
/**
 * Headers that describe the client or the protocol. Masking their values would remove ordinary words from responses.
 */
const PUBLIC_HEADERS: ReadonlySet<string> = new Set([
  'accept',
  'accept-language',
  'anthropic-beta',
  'anthropic-version',
  'http-referer',
  'openai-beta',
  'origin',
  'referer',
  'user-agent',
  'x-title',
]);
/** Names, not secrets, such as the team a request belongs to. */
const PLAIN_WORDS = /^[a-z]+(?:[ -][a-z]+)*$/i;

/** Shorter values would match harmless text. A value that can be nothing but a secret may be shorter. */
const MIN_KEY_LENGTH = 6;
const MIN_HEADER_LENGTH = 8;
/**
 * Longer texts contain a file. No vendor writes errors of this length, and searching them would block the event loop.
 */
const MAX_SEARCHED_LENGTH = 4 * 1024 ** 2;
const MASK = '[masked]';

/** Masks an account's secrets in text for a caller, the log, the audit log or a page. */
export interface CredentialMask {
  text(text: string): string;
  /**
   * Returns the same bytes unless they contain a secret. A stream
   * must be passed in whole events, so that no secret is split.
   */
  bytes(bytes: Buffer): Buffer;
  /** @param headers sent with the request; a token derived for it is masked too */
  response(response: BufferedResponse, headers?: Readonly<Record<string, string>>): BufferedResponse;
}

/**
 * One mask for each account, with every secret its upstream receives: keys, extra headers, the password of the proxy.
 */
export const credentialMaskOf = memoizeByObject((account: SecretHolder): CredentialMask => {
  const secrets = [
    ...collectKeys(account.credentials),
    ...Object.entries(account.extraHeaders ?? {}).flatMap(([name, value]) => collectFromHeader(name, value)),
    ...collectFromProxy(account.proxy),
  ];
  return createMask(secrets);
});

function createMask(secrets: readonly string[]): CredentialMask {
  const spellings = [...new Set(secrets.flatMap(spell))].sort((a, b) => b.length - a.length);
  const encoded = spellings.map((spelling) => Buffer.from(spelling));
  const pattern = new RegExp(spellings.map(toPattern).join('|'), 'g');
  const text = (part: string): string => (spellings.length === 0 ? part : part.replace(pattern, MASK));
  return {
    text,
    bytes: (bytes) =>
      encoded.some((spelling) => bytes.includes(spelling)) ? Buffer.from(text(bytes.toString('utf8'))) : bytes,
    response(response, headers) {
      const derived = collectFromHeader('authorization', headers?.authorization ?? '');
      return derived.length === 0 || derived.every((token) => secrets.includes(token))
        ? maskResponse(response, spellings, text)
        : createMask([...secrets, ...derived]).response(response);
    },
  };
}

/**
 * Masks a response before any code reads it, because its text
 * is forwarded to callers, records, notifications and the log.
 */
function maskResponse(
  response: BufferedResponse,
  spellings: readonly string[],
  mask: CredentialMask['text'],
): BufferedResponse {
  const { text, json } = response;
  if (text.length > MAX_SEARCHED_LENGTH || spellings.length === 0) return response;
  // An upstream may escape any character of its JSON.
  const hasEscapes = json !== undefined && text.includes('\\u');
  if (!hasEscapes && !spellings.some((spelling) => text.includes(spelling))) return response;
  if (json === undefined) return { ...response, text: mask(text) };
  const masked = maskStrings(json, mask);
  return { ...response, text: JSON.stringify(masked), json: masked };
}

/** Masks only strings and names, so that a secret of digits does not change the numbers of a response. */
function maskStrings(value: unknown, mask: CredentialMask['text']): unknown {
  if (typeof value === 'string') return mask(value);
  if (Array.isArray(value)) return value.map((each) => maskStrings(each, mask));
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [mask(name), maskStrings(each, mask)]));
}

/** Collects keys at any depth. */
function collectKeys(credentials: Values): string[] {
  return Object.entries(credentials).flatMap(([name, value]) => {
    if (isObject(value)) return collectKeys(value);
    return typeof value === 'string' && value.length >= MIN_KEY_LENGTH && SECRET_FIELD.test(name) ? [value] : [];
  });
}

/** A header's value, and the token after a scheme such as `Bearer`. */
function collectFromHeader(name: string, value: string): string[] {
  const isSecret = SECRET_HEADER.test(name) || !(PUBLIC_HEADERS.has(name) || PLAIN_WORDS.test(value));
  if (!isSecret) return [];
  const token = value.split(' ').at(-1) ?? '';
  return [...new Set([value, token])].filter((each) => each.length >= MIN_HEADER_LENGTH);
}

/** The password of a proxy, in plain text and as HTTP sends it. */
function collectFromProxy(proxy: string | undefined): string[] {
  const { username = '', password = '' } = URL.parse(proxy ?? '') ?? {};
  if (password === '') return [];
  const [user, clear] = [decode(username), decode(password)];
  const basic = Buffer.from(`${user}:${clear}`).toString('base64');
  return [clear, password, basic].filter((each) => each.length >= MIN_KEY_LENGTH);
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Spellings of a secret in plain text, in JSON (PHP escapes slashes too) and in a URL. */
function spell(secret: string): string[] {
  const json = JSON.stringify(secret).slice(1, -1);
  return [secret, json, json.replaceAll('/', '\\/'), encodeURIComponent(secret.toWellFormed())];
}

/** Digits match only as a whole, and never as a JSON number, which masking would make invalid. */
const toPattern = (spelling: string): string =>
  /^\d+$/.test(spelling) ? `(?<![\\d.]|"\\s*:\\s*)${spelling}(?![\\d.])` : RegExp.escape(spelling);

/** An account of a vendor: a channel and one of its credentials. It has its own quota, key and rate limits. */
export interface ChannelAccount {
  /** Id of the channel. */
  readonly id: number;
  readonly credentialId: number;
}

/** An account as a text key. */
export const accountKey = (channelId: number, credentialId: number): string => `${channelId}/${credentialId}`;

/** The API version sent where the caller names none (docs.claude.com/en/api/versioning). */
const ANTHROPIC_VERSION = '2023-06-01';

type Headers = Readonly<Record<string, string>>;

/**
 * Authorization headers for each kind of chat upstream: https://platform.openai.com/docs/api-reference/authentication
 * and its equivalents.
 */
const AUTHORIZATION: Readonly<Record<ChatVendor, (key: string) => Headers>> = {
  openai: (key) => ({ authorization: `Bearer ${key}` }),
  gemini: (key) => ({ 'x-goog-api-key': key }),
  anthropic: (key) => ({ 'x-api-key': key, 'anthropic-version': ANTHROPIC_VERSION }),
};

/**
 * Headers that carry a channel's key.
 * @param vendor of the channel; a vendor without a chat protocol of its own gets OpenAI's headers
 */
export function chatAuthorizationHeaders(vendor: string, key: string, address: UpstreamAddress): Headers {
  if (vendor === 'openai' && isAzure(address)) return { 'api-key': key };
  const authorize = Object.hasOwn(AUTHORIZATION, vendor) ? AUTHORIZATION[vendor as ChatVendor] : AUTHORIZATION.openai;
  return authorize(key);
}

/** The called account, as reports of calls identify it. */
export const toAccountIds = ({ id, credentialId }: Pick<UpstreamAccount, 'id' | 'credentialId'>) => ({
  channelId: id,
  credentialId,
});

/** The part of a channel that maps model names. */
interface NamesOfUpstream {
  /** The upstream's names of models, by our names. Absent: the same. */
  readonly modelMapping?: Readonly<Record<string, string>>;
}

/**
 * The upstream's name of a model: by the name the caller used
 * (`id`), otherwise by the model that is an alias of (`target`).
 */
export function toUpstreamModelName(
  { modelMapping }: NamesOfUpstream,
  { id, target }: { readonly id: string; readonly target: string },
): string {
  if (modelMapping === undefined) return target;
  const mapped = [id, target].find((name) => Object.hasOwn(modelMapping, name));
  return mapped === undefined ? target : (modelMapping[mapped] ?? target);
}

/** Address of an account: its base URL, and the options that determine how the paths below it are written. */
type UpstreamAddress = Pick<UpstreamAccount, 'baseUrl' | 'options'>;

const VERSION = String.raw`v\d+(?:\.\d+)?(?:(?:alpha|beta)\d*)?`;
/** A version at the end, or before the `/openai` under which Google and DeepInfra serve OpenAI's protocol. */
const NAMES_VERSION = new RegExp(`^[^:]+://[^/]+/(?:.*/)?${VERSION}(?:/openai)?$`, 'i');
const AT_END = new RegExp(`/${VERSION}(?:/openai)?$`, 'i');
const THROUGH_VERSION = new RegExp(String.raw`^(?:/[\w-]+)*?/${VERSION}(?=[/?]|$)`, 'i');

/**
 * The URL of an endpoint. A base URL whose path contains a version is complete and replaces the start of the endpoint's
 * path up to its version; to any other base URL the whole path is appended.
 *
 * @param path of the vendor's API, version included: `/v1/messages`, `/api/v3/contents/generations/tasks`
 */
export const endpointUrl = ({ baseUrl }: Pick<UpstreamAddress, 'baseUrl'>, path: string): string =>
  baseUrl + (NAMES_VERSION.test(baseUrl) ? path.replace(THROUGH_VERSION, '') : path);

/** A base URL without the version at its end, for vendors whose API has endpoints of several versions, or of none. */
export const withoutVersion = (baseUrl: string): string =>
  NAMES_VERSION.test(baseUrl) ? baseUrl.replace(AT_END, '') : baseUrl;

// Azure OpenAI

const AZURE_HOST = /\.(?:openai|cognitiveservices|services\.ai)\.azure\.(?:com|us|cn)$/i;
const AZURE_DEPLOYMENT = /\/openai\/deployments\/([^/]+)$/;
/** Endpoints below a deployment in the dated API; all others belong to the resource. */
const OF_DEPLOYMENT = /^\/(?:chat\/completions|completions|embeddings|images\/|audio\/)/;
/** Exists only in the v1 API. */
const WITHOUT_DATED_API = /^\/videos/;
/** The newest dated version that is generally available. */
const DEFAULT_API_VERSION = '2024-10-21';

/** Whether an upstream with OpenAI's protocol is Azure's: by `options.api: "azure"`, its host, or the path of a deployment. */
export const isAzure = ({ baseUrl, options }: UpstreamAddress): boolean =>
  options.api === 'azure' || AZURE_DEPLOYMENT.test(baseUrl) || AZURE_HOST.test(new URL(baseUrl).hostname);

/** The deployment in a base URL; undefined: each call's model names its own. */
export const azureDeployment = (baseUrl: string): string | undefined => AZURE_DEPLOYMENT.exec(baseUrl)?.[1];

/**
 * The URL of an endpoint of OpenAI's protocol. Azure has two forms of it: the dated API, whose path names the deployment, and the v1 API
 * (learn.microsoft.com/azure/foundry/openai/api-version-lifecycle).
 *
 * @param deployment the upstream's name of the model, which is the name of a deployment on Azure
 */
export function openaiUrl(address: UpstreamAddress, path: string, deployment = ''): string {
  if (!isAzure(address)) return endpointUrl(address, path);
  const { baseUrl, options } = address;
  const version =
    typeof options.api_version === 'string' && options.api_version !== '' ? options.api_version : undefined;
  const rest = path.replace(THROUGH_VERSION, '');
  const named = azureDeployment(baseUrl);
  const isDated = named !== undefined || (!NAMES_VERSION.test(baseUrl) && /^\d{4}-/.test(version ?? ''));
  if (isDated && !WITHOUT_DATED_API.test(rest)) {
    const root = `${baseUrl.replace(/\/openai(?:\/deployments\/[^/]+)?$/, '')}/openai`;
    const below = OF_DEPLOYMENT.test(rest) ? `/deployments/${named ?? encodeURIComponent(deployment)}` : '';
    return withApiVersion(root + below + rest, version ?? DEFAULT_API_VERSION);
  }
  const root = NAMES_VERSION.test(baseUrl)
    ? baseUrl
    : `${baseUrl.replace(/\/openai(?:\/deployments\/[^/]+)?$/, '')}/openai/v1`;
  return withApiVersion(root + rest, version);
}

const withApiVersion = (url: string, version: string | undefined): string =>
  version === undefined ? url : `${url}${url.includes('?') ? '&' : '?'}api-version=${encodeURIComponent(version)}`;

/**
 * The closed set of reasons for errors of upstreams:
 * - `user`: the request is wrong; `policy`: its content was refused
 * - `rate`: too many requests, in time or at once; `capacity`: the upstream is overloaded or broken
 * - `auth`, `billing`: the channel's own account; `model`: that account cannot use this model
 * - `missing`: the task is unknown or has expired; `other`: none of these
 */
export const ERROR_REASONS = [
  'user',
  'policy',
  'rate',
  'capacity',
  'auth',
  'billing',
  'model',
  'missing',
  'other',
] as const;
/** One of `ERROR_REASONS`. */
export type ErrorReason = (typeof ERROR_REASONS)[number];

/** An error as a vendor reported it, in terms common to all vendors. */
export interface VendorError {
  readonly reason: ErrorReason;
  /** A more specific cause for the user, where the vendor's code gives one. */
  readonly cause?: FailureCause;
  /** Whether another channel may be tried. Decided by the vendor's own code first, then by the HTTP status. */
  readonly retryable: boolean;
  readonly httpStatus: number;
  /** The vendor's own code as text; empty where there is none. */
  readonly code: string;
  /** The vendor's own message, shown to the caller. */
  readonly message: string;
  /** The field at fault, where the vendor uses the same name as our callers. */
  readonly param?: string;
  /** Milliseconds, from Retry-After or the vendor's body, where given. */
  readonly retryAfterMs?: number;
  /** The response lacks the vendor's envelope, so it came from a firewall, a gateway or a wrong address. */
  readonly isPage?: boolean;
}

/**
 * Reasons that concern a single task when a poll reports them: its submit was accepted, so the account and its model
 * were too.
 */
const TASK_REASONS: ReadonlySet<ErrorReason> = new Set(['user', 'policy', 'missing', 'other', 'model']);

/** Whether an error reported by a poll concerns this task alone. */
const isAboutTask = ({ reason, isPage, httpStatus }: VendorError): boolean =>
  TASK_REASONS.has(reason) || (isPage === true && reason === 'capacity' && httpStatus < 500);

/**
 * A poll whose response says nothing about the task: a 429, a 5xx, a gateway's page, half a body. A single one never
 * ends the task; several odd ones in a row do (`TaskPoller`).
 */
export class PollFailed extends Error {
  /** The vendor's error, where its response was readable. */
  readonly error: VendorError | undefined;
  constructor(message: string, error?: VendorError) {
    super(message);
    this.name = 'PollFailed';
    this.error = error;
  }

  /** Whether the failure is specific to this task, so that it says nothing about its channel. */
  get isOdd(): boolean {
    return this.error === undefined || isAboutTask(this.error);
  }
}

/** A request that this vendor cannot serve, detected before anything was sent; the caller gets 400 with `message`. */
export class UnsupportedRequestError extends Error {
  /** The caller's field at fault, as a dotted path. */
  readonly param: string | undefined;
  constructor(message: string, param?: string) {
    super(message);
    this.name = 'UnsupportedRequestError';
    this.param = param;
  }
}
