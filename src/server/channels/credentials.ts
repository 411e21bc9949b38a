import { isDeepStrictEqual } from 'node:util';
import type { Kysely } from 'kysely';
import type { Static } from 'typebox';
import { Compile } from 'typebox/compile';
import type { changeChannel } from '../../contract/channels.ts';
import { defined } from '../../contract/objects.ts';
import { invalidRequest } from '../platform/app-error.ts';
import { isCloudMetadataIp, isPublicIp } from '../platform/outbound/guard.ts';
import { type SealedColumn, UnsealError, type Vault } from '../platform/vault.ts';
import type { Tables } from '../tables.ts';
import type { VendorRegistry } from '../vendors/registry.ts';
import {
  type ChannelConnection,
  type ChannelCredential,
  type CredentialList,
  type CredentialValues,
  hintOf,
} from './directory.ts';

/** Endpoints of the chat dialects and video vendors as they appear at the end of an address copied from an example. */
const ENDPOINT = new RegExp(
  `/(?:${[
    // OpenAI
    'chat/completions|completions|responses|embeddings|moderations|images/(?:generations|edits|variations)',
    'audio/(?:speech|transcriptions|translations)|videos',
    // Anthropic
    'messages(?:/count_tokens|/batches)?',
    // Gemini, Veo
    'models/[^/]+:[a-z]+',
    // Kling, Runway, Vidu, Hailuo
    'videos/(?:text2video|image2video|omni-video)|(?:text|image|video)_to_video',
    '(?:text2|img2|start-end2|reference2)video|(?:query/)?video_generation',
    // Seedance, Wan
    'contents/generations/tasks|services/aigc/[a-z0-9-]+/[a-z-]+',
  ].join('|')})$`,
  'i',
);
/** A base URL may itself end in this word, so it is only cut off after a version. */
const MODEL_LIST = /(\/v\d[a-z0-9.]*(?:\/openai)?)\/models$/i;

/**
 * Validates and normalizes an upstream's base URL: scheme, host, port, and the path below which its endpoints are. The
 * outbound client checks the resolved address again on every call.
 *
 * @throws AppError `invalid_request`
 */
export function parseBaseUrl(pasted: string, isPrivate: boolean): string {
  const text = trimPasted(pasted);
  const invalidUrl = (why: string) => invalidRequest(`base_url ${why}.`, 'base_url');
  const url = /\s/.test(text) ? null : URL.parse(text);
  if (url === null) throw invalidUrl('is not a URL');
  if (url.protocol !== 'https:' && url.protocol !== 'http:') throw invalidUrl('must start with https://');
  if (url.username !== '' || url.password !== '') throw invalidUrl('must not hold credentials');
  if (text.includes('#')) throw invalidUrl('must have no fragment');
  if (/[?&]api-version=/.test(text))
    throw invalidUrl('must have no query: an API version goes into options.api_version');
  if (text.includes('?')) throw invalidUrl('must have no query');
  if (/[{}<>]|%7[BD]/i.test(text)) throw invalidUrl('still has a placeholder: put your own name in its place');
  if (isMetadataUrl(text)) throw invalidUrl('is where a cloud hands out the secrets of its machines');
  const address = url.origin + toBasePath(url.pathname);
  if (isPrivate) return address;
  if (url.protocol === 'http:') throw invalidUrl('must start with https:// unless options.private is set');
  if (isPrivateHostname(url.hostname))
    throw invalidUrl('is a loopback or private address, which needs options.private to be true');
  return address;
}

/** The path of a base URL without trailing slashes and without an endpoint pasted with it. */
function toBasePath(pathname: string): string {
  const path = pathname.replace(/\/{2,}/g, '/').replace(/\/$/, '');
  return path.replace(ENDPOINT, '').replace(MODEL_LIST, '$1');
}

/** Host names under which clouds serve their metadata; `isCloudMetadataIp` knows their IP addresses. */
const METADATA_NAMES: ReadonlySet<string> = new Set([
  'metadata',
  'metadata.google.internal',
  'metadata.goog',
  'instance-data',
  'instance-data.ec2.internal',
]);

/** Whether a text is the URL of a cloud's metadata service, which is forbidden even for private channels. */
export function isMetadataUrl(text: string): boolean {
  const name = URL.parse(text.trim())?.hostname.replace(/\.$/, '').toLowerCase() ?? '';
  return METADATA_NAMES.has(name) || isCloudMetadataIp(name.replace(/^\[|\]$/g, ''));
}

/**
 * Whether a host name is private: names no public host has (RFC 6761, RFC 6762, RFC 8375 and the metadata names of
 * clouds), and every address that is not public.
 */
function isPrivateHostname(hostname: string): boolean {
  const name = hostname.replace(/\.$/, '');
  if (name.startsWith('[')) return !isPublicIp(name.slice(1, -1));
  if (/^[\d.]+$/.test(name)) return !isPublicIp(name);
  return !name.includes('.') || /\.(?:localhost|local|internal|intranet|lan|home\.arpa)$/.test(name);
}

type CredentialChange = Pick<Static<(typeof changeChannel)['body']>, 'credentials' | 'credential_list'>;
type ListEntry = NonNullable<CredentialChange['credential_list']>[number];

/** Creates a list of new credentials, enabled unless stated otherwise. */
export const toCredentialList = (
  all: readonly { readonly values: CredentialValues; readonly name?: string; readonly enabled?: boolean }[],
): CredentialList => ({
  nextId: all.length + 1,
  items: all.map(({ values, name = '', enabled = true }, index) => ({ id: index + 1, name, enabled, values })),
});

/**
 * Applies a change to a channel's credentials. The single form replaces all of them by one; if there was exactly one,
 * it is replaced in place, so that a renewed key continues with the tasks of the old one.
 *
 * @param read normalizes keys, and throws for those that are not the vendor's
 * @throws AppError `invalid_request`
 */
export function changeCredentials(
  before: CredentialList,
  { credentials, credential_list: list }: CredentialChange,
  read: CredentialReader,
): CredentialList {
  if (credentials !== undefined && list !== undefined)
    throw invalidRequest('Give either credentials or credential_list.', 'credential_list');
  if (credentials !== undefined) return replaceAll(before, read(credentials));
  return list === undefined ? before : applyList(before, list, read);
}

function replaceAll({ nextId, items }: CredentialList, values: CredentialValues): CredentialList {
  const kept =
    items.find((item) => isDeepStrictEqual(item.values, values)) ?? (items.length === 1 ? items[0] : undefined);
  if (kept !== undefined) return { nextId, items: [{ ...kept, enabled: true, values }] };
  return { nextId: nextId + 1, items: [{ id: nextId, name: '', enabled: true, values }] };
}

function applyList(before: CredentialList, list: readonly ListEntry[], read: CredentialReader): CredentialList {
  let { nextId } = before;
  const items = list.map(({ id, name, credentials, enabled }): ChannelCredential => {
    const stored = before.items.find((item) => item.id === id);
    if (id !== undefined && stored === undefined)
      throw invalidRequest(`The channel has no credential ${id}.`, 'credential_list');
    const values = credentials === undefined ? stored?.values : read(credentials);
    if (values === undefined) throw invalidRequest('A new credential needs credentials.', 'credential_list');
    return {
      id: stored?.id ?? nextId++,
      name: name ?? stored?.name ?? '',
      enabled: enabled ?? stored?.enabled ?? true,
      values,
    };
  });
  for (const [index, item] of items.entries())
    if (items.slice(0, index).some((other) => other.id === item.id || isDeepStrictEqual(other.values, item.values)))
      throw invalidRequest(
        `credential_list has the same credential twice: ${hintOf(item.values) || `#${index + 1}`}.`,
        'credential_list',
      );
  return { nextId, items };
}

/** Ids of the credentials that a change removes. */
export const removedIds = (before: CredentialList, after: CredentialList): number[] =>
  before.items.map(({ id }) => id).filter((id) => !after.items.some((item) => item.id === id));

/** Whether any stored value stays unchanged. */
export const keepsStoredValues = (before: CredentialList, after: CredentialList): boolean =>
  after.items.some(({ values }) => before.items.some((item) => item.values === values));

/** Whether any keys are new. */
export const replacesValues = (before: CredentialList, { items }: CredentialList): boolean =>
  items.some(({ values }) => !before.items.some((item) => item.values === values));

/** The credentials as kept in the audit log. */
export const toAuditList = ({ items }: CredentialList) => items.map(({ id, name, enabled }) => ({ id, name, enabled }));

/** Sealed for its own row, so that credentials cannot be moved to another one. */
const credentialCell = (id: number) => ({ table: 'channels', row: id, column: 'credentials' });
const connectionCell = (id: number) => ({ table: 'channels', row: id, column: 'connection' });

/** Seals a channel's credentials for its row. */
export const encryptCredentials = (vault: Vault, id: number, credentials: CredentialList): string =>
  vault.seal(JSON.stringify(credentials), credentialCell(id));

/** @throws UnsealError */
export const decryptCredentials = (
  vault: Vault,
  row: { readonly id: number; readonly credentials: string },
): CredentialList => JSON.parse(vault.open(row.credentials, credentialCell(row.id)));

/** Null if nothing is set. */
export const encryptConnection = (vault: Vault, id: number, connection: ChannelConnection): string | null =>
  connection.extraHeaders === undefined && connection.proxy === undefined
    ? null
    : vault.seal(JSON.stringify(connection), connectionCell(id));

/** @throws UnsealError */
export const decryptConnection = (
  vault: Vault,
  row: { readonly id: number; readonly connection: string | null },
): ChannelConnection => (row.connection === null ? {} : JSON.parse(vault.open(row.connection, connectionCell(row.id))));

/** Returns the decrypted value, or `otherwise` if the master key does not decrypt it. */
export function decryptOr<T extends object>(decrypt: () => T, otherwise: T): T {
  try {
    return decrypt();
  } catch (error) {
    if (error instanceof UnsealError) return otherwise;
    throw error;
  }
}

const MAX_LENGTH = 16_384;

/** Returns normalized keys; throws `invalid_request` for keys that are not those of the vendor. */
export type CredentialReader = (values: CredentialValues) => CredentialValues;

/** Returns the reader of a vendor's keys. */
export function credentialReader({
  title,
  credentials: schema,
}: ReturnType<VendorRegistry['profile']>): CredentialReader {
  const validator = Compile(schema);
  return (given) => {
    if (JSON.stringify(given).length > MAX_LENGTH) throw invalidRequest('credentials are too long.', 'credentials');
    const values = Object.fromEntries(Object.entries(given).map(([name, value]) => [name, withoutPasteMarks(value)]));
    if (validator.Check(values)) {
      const unsendable = Object.values(values).some((value) => typeof value === 'string' && !SENDABLE.test(value));
      if (unsendable)
        throw invalidRequest(
          'credentials contain characters that no key has, such as a line break or the dots of a shortened key.',
          'credentials',
        );
      return values;
    }
    // Never includes the library's message, which may quote the submitted values.
    throw invalidRequest(
      `credentials do not have the keys ${title} needs: ${describeCredentialKeys(schema)}.`,
      'credentials',
    );
  };
}

/** Characters that a header can carry. Others are line breaks and the ellipsis or bullets of a key shown in part. */
const SENDABLE = /^[\x20-\x7e]*$/;

/** Strips what people copy along with a key: whitespace at both ends, invisible characters, a leading `Bearer`. */
const withoutPasteMarks = (value: unknown): unknown =>
  typeof value === 'string' ? trimPasted(value).replace(/^bearer\s+/i, '') : value;

/** Invisible characters are removed everywhere, blanks and line breaks at both ends. */
const trimPasted = (text: string): string => text.replace(/\p{Cf}/gu, '').trim();

/** Describes the accepted sets of keys, such as `{access_key, secret_key} or {api_key}`. */
function describeCredentialKeys(schema: unknown): string {
  const { anyOf, properties } = schema as { readonly anyOf?: readonly unknown[]; readonly properties?: object };
  return anyOf?.map(describeCredentialKeys).join(' or ') ?? `{${Object.keys(properties ?? {}).join(', ')}}`;
}

type ConnectionChange = Pick<Static<(typeof changeChannel)['body']>, 'extra_headers' | 'proxy'>;

/** Headers that describe one message or connection; the HTTP client sets them (RFC 9110 section 7.6.1). */
const TRANSPORT_HEADERS: ReadonlySet<string> = new Set([
  'accept-encoding',
  'connection',
  'content-encoding',
  'content-length',
  'content-type',
  'expect',
  'host',
  'keep-alive',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/**
 * Applies a change to a connection.
 * @throws AppError `invalid_request`
 */
export function changeConnection(
  before: ChannelConnection,
  change: ConnectionChange,
  isPrivate: boolean,
): ChannelConnection {
  const { extra_headers: headers, proxy } = change;
  const after = defined({
    extraHeaders: headers === undefined ? before.extraHeaders : parseHeaders(headers),
    proxy: proxy === undefined ? before.proxy : proxy.trim() || undefined,
  });
  if (after.proxy !== undefined) assertProxy(after.proxy, isPrivate);
  return after;
}

function parseHeaders(headers: Readonly<Record<string, string>>): ChannelConnection['extraHeaders'] {
  const entries = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value.trim()] as const);
  const taken = entries.find(([name]) => TRANSPORT_HEADERS.has(name))?.[0];
  if (taken !== undefined) throw invalidRequest(`extra_headers must not set ${taken}.`, 'extra_headers');
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}

function assertProxy(text: string, isPrivate: boolean): void {
  const url = URL.parse(text);
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:') || url.pathname + url.search !== '/')
    throw invalidRequest('proxy must be the URL of an http or https proxy, without a path.', 'proxy');
  if (isMetadataUrl(text))
    throw invalidRequest('proxy is where a cloud hands out the secrets of its machines.', 'proxy');
  if (isPrivate) return;
  if (isPrivateHostname(url.hostname))
    throw invalidRequest('proxy is a loopback or private address, which needs options.private to be true.', 'proxy');
}

/** Scheme, host and port: a proxy's credentials are never shown. */
export const shownProxy = ({ proxy }: ChannelConnection): string | undefined =>
  proxy === undefined ? undefined : new URL(proxy).origin;

/** The sealed credentials of all channels, for re-encryption. */
export const sealedCredentials = (kysely: Kysely<Tables>): SealedColumn => ({
  async readAfter(after) {
    const rows = await kysely
      .selectFrom('channels')
      .select(['id', 'credentials'])
      .where('id', '>', after)
      .orderBy('id')
      .limit(500)
      .execute();
    return rows.map(({ id, credentials }) => ({ id, context: credentialCell(id), sealed: credentials }));
  },
  replace: ({ id, sealed: old }, credentials) =>
    kysely.updateTable('channels').set({ credentials }).where('id', '=', id).where('credentials', '=', old).execute(),
});

/** The sealed extra headers and proxies of the channels that have any, for re-encryption. */
export const sealedConnections = (kysely: Kysely<Tables>): SealedColumn => ({
  async readAfter(after) {
    const rows = await kysely
      .selectFrom('channels')
      .select(['id', 'connection'])
      .where('id', '>', after)
      .where('connection', 'is not', null)
      .orderBy('id')
      .limit(500)
      .execute();
    return rows.map(({ id, connection }) => ({ id, context: connectionCell(id), sealed: connection ?? '' }));
  },
  replace: ({ id, sealed: old }, connection) =>
    kysely.updateTable('channels').set({ connection }).where('id', '=', id).where('connection', '=', old).execute(),
});
