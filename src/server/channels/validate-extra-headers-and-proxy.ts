import type { Static } from 'typebox';
import type { changeChannel } from '../../contract/channels.ts';
import { defined } from '../../contract/omit-undefined.ts';
import { invalidRequest } from '../platform/app-error.ts';
import { isMetadataUrl, isPrivateHostname } from './base-url-and-internal-host-checks.ts';
import type { ChannelConnection } from './credential-and-connection-encryption.ts';

type ConnectionChange = Pick<Static<(typeof changeChannel)['body']>, 'extra_headers' | 'proxy'>;

/** Headers that describe one message or connection; HTTP itself sets them (RFC 9110 section 7.6.1). */
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

/** What a change makes of a connection. @throws invalid_request */
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
