import type { BufferedResponse, OutboundRequest } from '../../platform/outbound/outbound.ts';
import { type AdapterContext, endpointUrl } from '../../upstreams/upstream.ts';
import type { ContentSource, RequestJson } from '../adapter-types.ts';
import { rejectedPoll } from '../error-mapping.ts';
import { withJsonBody } from '../json-http-calls-and-outcomes.ts';
import { asText } from '../untrusted-json.ts';
import { isGeminiUrl } from './gemini-api.ts';
import { accessToken, type ServiceAccount, TokenRequestFailed } from './google-token.ts';
import { MAX_RESPONSE_BYTES } from './parse-long-running-operation.ts';

/** Authorized requests to Vertex AI and to the Cloud Storage of its customers. */

export const credentialsOf = (context: AdapterContext) =>
  context.credentials as {
    readonly service_account: ServiceAccount;
    readonly project: string;
    readonly location: string;
  };

export const VERTEX_HOST = 'aiplatform.googleapis.com';

/** Two multi-regions and the global endpoint have hosts of their own. */
const HOSTS: Readonly<Record<string, string>> = {
  global: VERTEX_HOST,
  eu: 'aiplatform.eu.rep.googleapis.com',
  us: 'aiplatform.us.rep.googleapis.com',
};

/** Vertex AI has a host per location, and the vendor's default base URL is Gemini's; one set on the channel takes precedence. */
export const vertexBase = (baseUrl: string, location: string): string =>
  isGeminiUrl(baseUrl) ? `https://${HOSTS[location] ?? `${location}-aiplatform.googleapis.com`}` : baseUrl;

/** One request with a token; if that is refused, one more with a new token, which is safe since no job was begun. */
export async function sendWithToken(
  context: AdapterContext,
  call: {
    readonly method?: OutboundRequest['method'];
    /** Begins with the API's version. */
    readonly path: string;
    readonly location: string;
    readonly body?: RequestJson;
  },
): Promise<BufferedResponse> {
  const { service_account: account } = credentialsOf(context);
  const send = (token: string): Promise<BufferedResponse> => {
    const request: OutboundRequest = {
      method: call.method ?? 'POST',
      url: endpointUrl({ baseUrl: vertexBase(context.baseUrl, call.location) }, `/${call.path}`),
      headers: { authorization: `Bearer ${token}` },
      signal: context.signal,
    };
    return context.sendJson({ ...withJsonBody(request, call.body), maxBytes: MAX_RESPONSE_BYTES });
  };
  const token = await accessToken(account, context);
  const reply = await send(token);
  if (reply.status !== 401) return reply;
  const fresh = await accessToken(account, context, token);
  return fresh === token ? reply : send(fresh);
}

/** Without a token nothing is sent: what that means depends on the request it was for. */
export async function recoverTokenFailure<T>(
  work: Promise<T>,
  otherwise: (refused: TokenRequestFailed) => T,
): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof TokenRequestFailed) return otherwise(error);
    throw error;
  }
}
export const throwPollFailed = ({ error }: TokenRequestFailed): never => {
  throw rejectedPoll(error);
};

const STORAGE_BASE_URL = 'https://storage.googleapis.com';

/**
 * A file in the customer's own bucket, fetched with the same bearer token by the JSON API; tests replace Google's host by a simulator.
 *
 * @throws PollFailed where there is no token
 */
export async function storedFile(gcsUri: string, context: AdapterContext): Promise<ContentSource> {
  const [, bucket = '', object = ''] = /^gs:\/\/([^/]+)\/(.+)$/.exec(gcsUri) ?? [];
  const base = asText(context.options.storage_base_url) ?? STORAGE_BASE_URL;
  const url = `${base}/storage/v1/b/${bucket}/o/${encodeURIComponent(object)}?alt=media`;
  const token = await recoverTokenFailure(
    accessToken(credentialsOf(context).service_account, context),
    throwPollFailed,
  );
  return { kind: 'fetch', url, headers: { authorization: `Bearer ${token}` }, trusted: true };
}
