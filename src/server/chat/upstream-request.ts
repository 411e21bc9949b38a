import type { Channel } from '../channels/channel-directory.ts';
import type { ConfiguredRequest } from '../platform/outbound/outbound-types.ts';
import { chatAuthorization } from '../upstreams/chat-authorization.ts';

export interface UpstreamTimeouts {
  /** Time until the response begins; a response that is not streamed begins when it is complete. */
  readonly firstByteMs: number;
  /** Longest time without data inside a response. */
  readonly idleMs: number;
  readonly totalMs: number;
}

/** A call of a chat upstream. */
export function toRequest(
  channel: Channel,
  path: string,
  body: Buffer,
  times: UpstreamTimeouts,
  headers: Readonly<Record<string, string>> = {},
): ConfiguredRequest {
  return {
    method: 'POST',
    url: channel.baseUrl + path,
    headers: {
      'accept-encoding': 'identity',
      'content-type': 'application/json',
      ...chatAuthorization(channel.vendor, apiKeyOf(channel)),
      ...headers,
      ...channel.extraHeaders,
    },
    body,
    private: channel.private,
    proxy: channel.proxy,
    headersTimeoutMs: times.firstByteMs,
    idleTimeoutMs: times.idleMs,
    totalTimeoutMs: times.totalMs,
  };
}

export const apiKeyOf = ({ credentials }: Channel): string => String(credentials.api_key);
