import type { BufferedResponse } from '../../platform/outbound/outbound.ts';
import type { AdapterContext } from '../../upstreams/upstream.ts';
import { UnsupportedRequestError } from '../../upstreams/vendor-errors.ts';
import type { VendorAdapter } from '../adapter-types.ts';
import { rejectedPoll } from '../error-mapping.ts';
import { isSuccessStatus } from '../untrusted-json.ts';
import { parseGoogleError } from './google-errors.ts';
import { TokenRequestFailed } from './google-token.ts';
import {
  filmIn,
  inlineFile,
  parseHandle,
  parseOperation,
  parseOperationSubmit,
} from './parse-long-running-operation.ts';
import { loadImages, toVeoBody } from './request.ts';
import {
  credentialsOf,
  recoverTokenFailure,
  sendWithToken,
  storedFile,
  throwPollFailed,
} from './vertex-requests-and-storage-files.ts';

/** Veo by Vertex AI (cloud.google.com/vertex-ai, veo-video-generation): a service account, an operation polled with POST. */

type ApiRoute = Pick<VendorAdapter, 'submit' | 'query' | 'content' | 'checkCredentials'>;

const OPERATION_NAME =
  /^(projects\/[\w.:-]+\/locations\/([a-z0-9-]+)\/publishers\/google\/models\/[\w.-]+)\/operations\/[\w-]+$/;

/** Polls an operation by its name, which contains its location. */
function fetchOperation(name: string, context: AdapterContext): Promise<BufferedResponse> {
  const [, model = '', location = ''] = OPERATION_NAME.exec(name) ?? [];
  return sendWithToken(context, { path: `v1/${model}:fetchPredictOperation`, location, body: { operationName: name } });
}

const modelPath = (model: string, context: AdapterContext): string => {
  const { project, location } = credentialsOf(context);
  return `projects/${encodeURIComponent(project)}/locations/${location}/publishers/google/models/${encodeURIComponent(model)}`;
};

export const vertex: ApiRoute = {
  async submit(request, context) {
    const body = toVeoBody(request, await loadImages(request, context), 'vertex', context.options);
    const path = `v1/${modelPath(request.model, context)}:predictLongRunning`;
    const { location } = credentialsOf(context);
    const reply = await recoverTokenFailure<BufferedResponse | TokenRequestFailed>(
      sendWithToken(context, { path, location, body }),
      (it) => it,
    );
    if (reply instanceof TokenRequestFailed) return { kind: 'refused', error: reply.error, raw: null };
    return parseOperationSubmit(reply, 'vertex', OPERATION_NAME, context);
  },

  async query(stored, context) {
    const handle = parseHandle(stored);
    const reply = await recoverTokenFailure(fetchOperation(handle.name, context), throwPollFailed);
    return parseOperation(reply, handle, context);
  },

  /** In the customer's bucket with the same bearer token, or inside the operation, which is polled once more. */
  async content(stored, raw, variant, context) {
    if (variant !== undefined && variant !== 'video')
      throw new UnsupportedRequestError('Veo has only the video.', 'variant');
    const { gcsUri, url } = filmIn(raw) ?? {};
    if (gcsUri !== undefined) return storedFile(gcsUri, context);
    if (url !== undefined) return { kind: 'fetch', url, headers: {}, trusted: false };
    const reply = await recoverTokenFailure(fetchOperation(parseHandle(stored).name, context), throwPollFailed);
    if (!isSuccessStatus(reply)) throw rejectedPoll(parseGoogleError(reply, context.now(), 'missing'));
    const film = filmIn(reply.json);
    return inlineFile(film?.base64, film?.mimeType, reply);
  },

  /** Polls an operation that never existed: valid credentials get NOT_FOUND or INVALID_ARGUMENT. */
  async checkCredentials(context) {
    const model = modelPath('veo-3.1-generate-001', context);
    const operationName = `${model}/operations/00000000-0000-4000-8000-000000000000`;
    const { location } = credentialsOf(context);
    const path = `v1/${model}:fetchPredictOperation`;
    const asked = sendWithToken(context, { path, location, body: { operationName } });
    const reply = await recoverTokenFailure<BufferedResponse | TokenRequestFailed>(asked, (it) => it);
    if (reply instanceof TokenRequestFailed) return { ok: false, error: reply.error };
    const error = parseGoogleError(reply, context.now(), 'missing');
    const isKnown = error.code === 'NOT_FOUND' || error.code === 'INVALID_ARGUMENT';
    return isSuccessStatus(reply) || isKnown ? { ok: true } : { ok: false, error };
  },
};
