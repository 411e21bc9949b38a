import type { Channel } from '../channels/channel-directory-types.ts';
import { getOrMakeEntry } from '../platform/get-or-make-entry.ts';
import { memoizeByObject } from '../platform/memoize-by-object.ts';
import type { StreamedRequest } from '../platform/outbound/outbound-types.ts';
import { chatAuthorizationHeaders } from '../upstreams/chat-authorization-headers.ts';

export interface UpstreamTimeouts {
  /** Time until the response begins; a response that is not streamed begins when it is complete. */
  readonly firstByteMs: number;
  /** Longest time without data inside a response. */
  readonly idleMs: number;
  readonly totalMs: number;
}

/** What is sent with every call of a channel. Channels live as long as the catalog they are part of. */
const ownHeaders = memoizeByObject(
  (channel: Channel): Readonly<Record<string, string>> => ({
    'accept-encoding': 'identity',
    'content-type': 'application/json',
    ...chatAuthorizationHeaders(channel.vendor, apiKeyOf(channel)),
    ...channel.extraHeaders,
  }),
);

/** URLs of a channel by path. Texts made anew for each call would be hashed anew wherever they are looked up. */
const urlsByPath = memoizeByObject((_channel: Channel) => new Map<string, string>());

/** A call of a chat upstream. */
export function toRequest(
  channel: Channel,
  path: string,
  body: Buffer,
  times: UpstreamTimeouts,
  headers?: Readonly<Record<string, string>>,
): StreamedRequest {
  return {
    method: 'POST',
    url: getOrMakeEntry(urlsByPath(channel), path, () => channel.baseUrl + path),
    headers:
      headers === undefined ? ownHeaders(channel) : { ...ownHeaders(channel), ...headers, ...channel.extraHeaders },
    body,
    private: channel.private,
    proxy: channel.proxy,
    headersTimeoutMs: times.firstByteMs,
    idleTimeoutMs: times.idleMs,
    totalTimeoutMs: times.totalMs,
  };
}

export const apiKeyOf = ({ credentials }: Channel): string => String(credentials.api_key);
