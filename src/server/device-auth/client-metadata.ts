import { LRUCache } from 'lru-cache';
import { OAUTH_SCOPES, type OauthScope } from '../../contract/oauth.ts';
import { isObject } from '../../contract/objects.ts';
import { HOUR_MS } from '../../contract/time-units.ts';
import { AppError } from '../platform/app-error.ts';
import { upToEntries } from '../platform/cache.ts';
import type { Clock } from '../platform/clock.ts';
import { tryParse } from '../platform/json.ts';
import { type OutboundClient, OutboundError } from '../platform/outbound/outbound.ts';
import { type DeviceClient, isRedirectUri } from './clients.ts';
import { toSingleLine } from './codes.ts';
import type { DeviceRateLimits } from './rate-limits.ts';

const MAX_URL_LENGTH = 300;
const MAX_BYTES = 10_000;
const TIMEOUT_MS = 5_000;
const MAX_NAME_LENGTH = 100;
const MAX_REDIRECT_URIS = 20;
const MAX_CACHED = 1_000;
/** How long a document is used: its `max-age` within these bounds. A failure is remembered for the shortest time. */
const FRESH_MS = { least: 60_000, byDefault: HOUR_MS, most: 24 * HOUR_MS } as const;
/** How long a document is used after its last fetch while its host cannot be reached. */
const MAX_STALE_MS = 7 * 24 * HOUR_MS;

interface ClientMetadataDependencies {
  readonly outbound: Pick<OutboundClient, 'requestUntrusted'>;
  readonly clock: Clock;
  readonly rateLimits: DeviceRateLimits;
  /** The setting `OAUTH_CLIENT_METADATA`. */
  readonly isEnabled: () => boolean;
}

/** A cached document, or the error of the last fetch. */
interface CachedClient {
  /** Undefined: the document is missing or unusable; `unreachable`: its host could not be asked. */
  readonly client: DeviceClient | 'unreachable' | undefined;
  readonly freshUntil: number;
  /** Of the document; 0 without one. */
  readonly fetchedAt: number;
}

/**
 * Public clients that describe themselves in a document at their client_id, an https URL
 * (draft-ietf-oauth-client-id-metadata-document). Anyone can publish one, so nothing in it is trusted beyond the host it
 * comes from.
 */
export class ClientMetadataDocuments {
  readonly #dependencies: ClientMetadataDependencies;
  readonly #known = new LRUCache<string, CachedClient>(upToEntries(MAX_CACHED));

  constructor(dependencies: ClientMetadataDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * @param clientIp whose request causes a fetch
   * @throws rate_limit_exceeded; unavailable while the host cannot be reached: a client that is reported as unknown
   *   drops its tokens
   */
  async find(id: string, clientIp: string): Promise<DeviceClient | undefined> {
    const { clock, rateLimits, isEnabled } = this.#dependencies;
    if (!isEnabled() || !isMetadataUrl(id)) return undefined;
    let known = this.#known.get(id);
    if (known === undefined || known.freshUntil <= clock.now()) {
      await rateLimits.consumeMetadataFetch(clientIp);
      known = toKnown(await this.#fetch(id), this.#known.get(id), clock.now());
      this.#known.set(id, known);
    }
    if (known.client !== 'unreachable') return known.client;
    throw new AppError('unavailable', { retryAfterSeconds: FRESH_MS.least / 1000 });
  }

  async #fetch(id: string): Promise<CachedClient> {
    const now = this.#dependencies.clock.now();
    const unusable = { client: undefined, freshUntil: now + FRESH_MS.least, fetchedAt: 0 };
    const unreachable = { ...unusable, client: 'unreachable' } as const;
    try {
      const { status, headers, body } = await this.#dependencies.outbound.requestUntrusted({
        method: 'GET',
        url: id,
        headers: { accept: 'application/json' },
        totalTimeoutMs: TIMEOUT_MS,
        maxBytes: MAX_BYTES,
        maxRedirects: 0,
      });
      const chunks: Buffer[] = [];
      for await (const chunk of body) chunks.push(chunk as Buffer);
      if (status >= 500 || status === 429) return unreachable;
      if (status !== 200 || !/^application\/(?:[\w.-]+\+)?json\b/i.test(headers['content-type'] ?? '')) return unusable;
      const client = toClient(id, Buffer.concat(chunks).toString('utf8'));
      if (client === undefined) return unusable;
      return { client, freshUntil: now + toFreshMs(headers['cache-control']), fetchedAt: now };
    } catch (error) {
      if (error instanceof OutboundError) return error.phase === 'blocked' ? unusable : unreachable;
      throw error;
    }
  }
}

/** The document fetched before, for a while, if its host cannot be reached now. */
function toKnown(fetched: CachedClient, before: CachedClient | undefined, now: number): CachedClient {
  const isReplaced = fetched.client !== 'unreachable' || before === undefined || before.fetchedAt + MAX_STALE_MS <= now;
  return isReplaced ? fetched : { ...before, freshUntil: fetched.freshUntil };
}

/** An https URL with a path, in the only spelling that a URL parser gives it. */
export function isMetadataUrl(id: string): boolean {
  if (!id.startsWith('https://') || id.length > MAX_URL_LENGTH || !URL.canParse(id)) return false;
  const { href, pathname, hash, username, password } = new URL(id);
  return href === id && pathname !== '/' && hash === '' && !id.includes('#') && username === '' && password === '';
}

function toFreshMs(cacheControl = ''): number {
  if (/\bno-(?:store|cache)\b/i.test(cacheControl)) return FRESH_MS.least;
  const seconds = /\bmax-age=(\d{1,9})\b/i.exec(cacheControl)?.[1];
  const ms = seconds === undefined ? FRESH_MS.byDefault : Number(seconds) * 1000;
  return Math.min(Math.max(ms, FRESH_MS.least), FRESH_MS.most);
}

/** The client of a document; undefined if the document is not for this id, or describes a client with a secret. */
function toClient(id: string, text: string): DeviceClient | undefined {
  const document = tryParse(text);
  if (!isObject(document)) return undefined;
  const { client_id, client_name, redirect_uris, scope, token_endpoint_auth_method: method } = document;
  if (client_id !== id || 'client_secret' in document) return undefined;
  if (method !== undefined && method !== 'none') return undefined;
  if (!Array.isArray(redirect_uris) || redirect_uris.length === 0 || redirect_uris.length > MAX_REDIRECT_URIS)
    return undefined;
  if (!redirect_uris.every((uri): uri is string => typeof uri === 'string' && isRedirectUri(uri))) return undefined;
  const publisher = new URL(id).host;
  const name = typeof client_name === 'string' ? toSingleLine(client_name, MAX_NAME_LENGTH) : '';
  const named = typeof scope === 'string' ? new Set(scope.split(' ')) : undefined;
  const scopes: readonly OauthScope[] | undefined = named && OAUTH_SCOPES.filter((each) => named.has(each));
  return { id, name: name === '' ? publisher : name, type: 'public', redirectUris: redirect_uris, scopes, publisher };
}
