import { asObject } from '../../../contract/is-object.ts';
import { defined } from '../../../contract/omit-undefined.ts';
import type { BufferedResponse, OutboundRequest } from '../../platform/outbound/outbound.ts';
import type { AdapterContext } from '../../upstreams/upstream.ts';
import { UnsupportedRequestError } from '../../upstreams/vendor-errors.ts';
import type { Json, QueryOutcome, RequestJson, VendorAdapter } from '../adapter-types.ts';
import { failedTask, rejectedPoll } from '../error-mapping.ts';
import { acceptedSubmit, refusedSubmit } from '../json-http-calls-and-outcomes.ts';
import { isRefusedSubmit } from '../relay-answer.ts';
import { asText, asUrl, isSuccessStatus } from '../untrusted-json.ts';
import { fileIdOf, geminiFile, geminiRequest } from './gemini-api.ts';
import { parseGoogleError } from './google-errors.ts';
import { TokenRequestFailed } from './google-token.ts';
import { toInteractionBody } from './interactions-request.ts';
import {
  asInteractionId,
  findVideo,
  type InteractionHandle,
  interactionIn,
  parseInteraction,
  parseInteractionHandle,
  toInteractionHandle,
} from './interactions-response.ts';
import { inlineFile, isStorageUri, MAX_RESPONSE_BYTES } from './parse-long-running-operation.ts';
import { loadImages, type VeoRoute } from './request.ts';
import {
  credentialsOf,
  recoverTokenFailure,
  sendWithToken,
  storedFile,
  throwPollFailed,
} from './vertex-requests-and-storage-files.ts';

/**
 * Videos by Google's Interactions (ai.google.dev/gemini-api/docs/omni): the one API of the Omni models, for a key of the Gemini
 * API and for a service account of Vertex AI. Interactions run in the background and are polled by their id.
 */
type InteractionsApi = Required<Pick<VendorAdapter, 'submit' | 'query' | 'content' | 'deleteTask'>>;

interface Call {
  readonly method?: OutboundRequest['method'];
  /** Below `interactions`. */
  readonly path?: string;
  readonly body?: RequestJson;
}

/** Vertex AI serves them at its global endpoint only, whatever the location of the channel. */
function send(context: AdapterContext, route: VeoRoute, { method, path = '', body }: Call): Promise<BufferedResponse> {
  if (route === 'gemini') {
    const request = geminiRequest(context, `interactions${path}`, body, method);
    return context.sendJson({ ...request, maxBytes: MAX_RESPONSE_BYTES });
  }
  const project = encodeURIComponent(credentialsOf(context).project);
  const there = `v1beta1/projects/${project}/locations/global/interactions${path}`;
  const verb = method ?? (body === undefined ? 'GET' : 'POST');
  return sendWithToken(context, defined({ method: verb, path: there, location: 'global', body }));
}

const handleOf = (stored: Json): InteractionHandle =>
  parseInteractionHandle(stored) ?? { route: 'gemini', interaction: '' };

const readInteraction = ({ route, interaction }: InteractionHandle, context: AdapterContext) =>
  recoverTokenFailure(send(context, route, { path: `/${encodeURIComponent(interaction)}` }), throwPollFailed);

/** A file of the Gemini API may still be written when its interaction has ended; it cannot be fetched before. */
async function awaitFile(done: QueryOutcome, context: AdapterContext): Promise<QueryOutcome> {
  const file = fileIdOf(asUrl(findVideo(done.raw)?.uri) ?? '');
  if (file === undefined) return done;
  const reply = await context.sendJson(geminiRequest(context, `files/${file}`));
  const state = isSuccessStatus(reply) ? asObject(reply.json)?.state : undefined;
  if (state === 'PROCESSING') return { ...done, state: 'IN_PROGRESS' };
  if (state !== 'FAILED') return done;
  return failedTask(done.raw, { reason: 'other', cause: 'no_result', code: 'FILE_FAILED' });
}

/** @param route By the channel's credentials; afterwards handles keep it. */
export const interactionsBy = (route: VeoRoute): Pick<InteractionsApi, 'submit'> => ({
  async submit(request, context) {
    const body = toInteractionBody(request, await loadImages(request, context), route, context.options);
    const reply = await recoverTokenFailure<BufferedResponse | TokenRequestFailed>(
      send(context, route, { body }),
      (it) => it,
    );
    if (reply instanceof TokenRequestFailed) return { kind: 'refused', error: reply.error, raw: null };
    const interaction = interactionIn(reply.json);
    const isRefused = !isSuccessStatus(reply) || isRefusedSubmit(reply, interaction);
    if (isRefused) return refusedSubmit(parseGoogleError(reply, context.now(), 'model'), reply);
    const id = asInteractionId(interaction?.id);
    return acceptedSubmit(id, reply, toInteractionHandle({ route, interaction: id ?? '' }));
  },
});

export const interactions: Omit<InteractionsApi, 'submit'> = {
  async query(stored, context) {
    const handle = handleOf(stored);
    const outcome = parseInteraction(await readInteraction(handle, context), handle, context);
    const isFile = outcome.state === 'SUCCESS' && outcome.artifact?.kind === 'protected';
    return isFile && handle.route === 'gemini' ? awaitFile(outcome, context) : outcome;
  },

  /** In the customer's bucket, among the files of the Gemini API, or inside the interaction, which is polled once more. */
  async content(stored, raw, variant, context) {
    if (variant !== undefined && variant !== 'video')
      throw new UnsupportedRequestError('Gemini Omni has only the video.', 'variant');
    const { uri } = findVideo(raw) ?? {};
    if (isStorageUri(uri)) return storedFile(uri, context);
    const url = asUrl(uri);
    const handle = handleOf(stored);
    if (url !== undefined && handle.route === 'gemini') return geminiFile(url, context);
    if (url !== undefined) return { kind: 'fetch', url, headers: {}, trusted: false };
    const reply = await readInteraction(handle, context);
    if (!isSuccessStatus(reply)) throw rejectedPoll(parseGoogleError(reply, context.now(), 'missing'));
    const video = findVideo(interactionIn(reply.json));
    return inlineFile(asText(video?.data), video?.mime_type, reply);
  },

  /** Stops the interaction if it still runs, which refuses otherwise, and deletes it. */
  async deleteTask(stored, context) {
    const { route, interaction } = handleOf(stored);
    const path = `/${encodeURIComponent(interaction)}`;
    await send(context, route, { path: `${path}/cancel`, body: {} });
    await send(context, route, { method: 'DELETE', path });
  },
};
