import type { Channel } from '../channels/directory.ts';
import { getOrMakeEntry, memoizeByObject } from '../platform/cache.ts';
import type { StreamedRequest } from '../platform/outbound/outbound.ts';
import { chatAuthorizationHeaders, endpointUrl, isAzure, openaiUrl } from '../upstreams/upstream.ts';

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
    ...chatAuthorizationHeaders(channel.vendor, apiKeyOf(channel), channel),
    ...channel.extraHeaders,
  }),
);

/** URLs of a channel by path. Texts made anew for each call would be hashed anew wherever they are looked up. */
const urlsByPath = memoizeByObject((channel: Channel) => ({
  // Azure's URLs may name the model.
  namesModel: channel.vendor === 'openai' && isAzure(channel),
  urls: new Map<string, string>(),
}));

function toUrl(channel: Channel, { path, model }: UpstreamTarget): string {
  const { namesModel, urls } = urlsByPath(channel);
  return getOrMakeEntry(urls, namesModel ? `${path} ${model}` : path, () =>
    channel.vendor === 'openai' ? openaiUrl(channel, path, model) : endpointUrl(channel, path),
  );
}

/** What is called at an upstream: an endpoint of its dialect, and the model by the upstream's name. */
export interface UpstreamTarget {
  readonly path: string;
  readonly model: string;
}

/** A call of a chat upstream. */
export function toRequest(
  channel: Channel,
  target: UpstreamTarget,
  body: Buffer,
  times: UpstreamTimeouts,
  headers?: Readonly<Record<string, string>>,
): StreamedRequest {
  return {
    method: 'POST',
    url: toUrl(channel, target),
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
