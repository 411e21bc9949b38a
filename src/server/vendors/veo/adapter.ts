import { Type } from 'typebox';
import { defined } from '../../../contract/objects.ts';
import { type AdapterContext, PollFailed } from '../../upstreams/upstream.ts';
import {
  API_KEY_CREDENTIALS,
  type Json,
  type RequestInput,
  SecretText,
  type VendorAdapter,
  type VideoRequest,
} from '../adapter.ts';
import { GEMINI_BASE_URL, gemini, isGeminiUrl } from './gemini.ts';
import {
  billedVideoTokens,
  interactionBillingFactors,
  interactions,
  interactionsBy,
  parseInteractionHandle,
  toInteractionBody,
} from './interactions.ts';
import { familyOf, isOmni, MAX_VIDEO_BYTES, VEO_MODELS, waysOfName } from './models.ts';
import { parseHandle, toVeoBody, VEO_METADATA, VERTEX_ONLY_KEYS, type VeoRoute, veoBillingFactors } from './request.ts';
import { VERTEX_HOST, vertex } from './vertex.ts';

/** A location or a project's id as used in URLs; the location is part of a host name. */
const Location = Type.String({ pattern: '^[a-z]{2,20}(?:-[a-z0-9]{1,20}){0,3}$' });
const Project = Type.String({ pattern: '^[a-z0-9][a-z0-9.:-]{1,100}$' });

const Credentials = Type.Union([
  API_KEY_CREDENTIALS,
  Type.Object(
    {
      // The key file as downloaded from Google, so that it can be pasted unchanged.
      service_account: Type.Object({
        client_email: Type.String({ minLength: 1 }),
        private_key: SecretText,
        private_key_id: Type.Optional(Type.String()),
        token_uri: Type.Optional(Type.String()),
      }),
      project: Project,
      location: Location,
    },
    { additionalProperties: false },
  ),
]);

type ChannelCredentials = AdapterContext['credentials'];

/** The API of a channel, determined by its credentials: a key, or a service account. Handles store it as `route`. */
export const routeOf = (credentials: ChannelCredentials): VeoRoute =>
  credentials.service_account === undefined ? 'gemini' : 'vertex';

const ROUTES = { gemini, vertex };

/** Keys of the metadata that have a place in a request to Interactions. */
const OMNI_USED_KEYS: readonly string[] = ['aspectRatio', 'durationSeconds', 'resolution', 'task', 'storageUri'];

function droppedMetadata({ model, images }: VideoRequest, channel?: { readonly credentials: ChannelCredentials }) {
  const isNative = channel !== undefined && routeOf(channel.credentials) === 'gemini';
  const ofRoute = isNative ? VERTEX_ONLY_KEYS : [];
  if (isOmni(model))
    return [...ofRoute, ...Object.keys(VEO_METADATA.properties).filter((key) => !OMNI_USED_KEYS.includes(key))];
  return [
    ...ofRoute,
    'task',
    ...(familyOf(model).audio ? [] : ['generateAudio']),
    ...(images.length === 1 ? [] : ['resizeMode']),
  ];
}

/** Omni models are only served by Interactions and all others by operations, so the model decides. */
const submitApi = (model: string, route: VeoRoute): Pick<VendorAdapter, 'submit'> =>
  isOmni(model) ? interactionsBy(route) : ROUTES[route];

const apiOf = (handle: Json) => (parseInteractionHandle(handle) ? interactions : ROUTES[parseHandle(handle).route]);

/**
 * The API a job was submitted through; unavailable if the channel's
 * credentials have since been replaced by the other kind.
 */
function apiOfHandle(handle: Json, context: AdapterContext) {
  const { route } = parseHandle(handle);
  if (route !== routeOf(context.credentials))
    throw new PollFailed(`the channel has no credentials for its ${route} jobs`);
  return apiOf(handle);
}

/**
 * Adapter for Google's videos. The Veo models have two APIs that differ in nearly everything except the request: the
 * Gemini API (native) with an API key, and Vertex AI (the cloud platform) with a service account. The Omni models are
 * served by Interactions, for either kind of credentials. Unfinished tasks keep their API in their handle.
 */
export const veo: VendorAdapter = {
  name: 'veo',
  title: 'Google Veo and Omni',
  defaultBaseUrl: GEMINI_BASE_URL,
  credentials: Credentials,
  models: VEO_MODELS,
  unlistedWays: waysOfName,
  metadata: VEO_METADATA,
  droppedMetadata,
  formFields: {
    seconds: 'duration',
    ratio: 'metadata.aspectRatio',
    resolution: 'metadata.resolution',
    negative_prompt: 'metadata.negativePrompt',
  },
  presentation: {
    url: 'never',
    statusWords: {
      NOT_START: 'queued',
      SUBMITTED: 'queued',
      QUEUED: 'queued',
      IN_PROGRESS: 'processing',
      UNKNOWN: 'processing',
      SUCCESS: 'succeeded',
      FAILURE: 'failed',
    },
    isOpaque: (handle) => parseHandle(handle).route === 'vertex',
  },
  example: {
    model: 'gemini-omni-1.2-flash',
    prompt: 'a kite over dunes',
    duration: 8,
    metadata: { aspectRatio: '16:9', resolution: '720p' },
  },
  /**
   * All hosts of Vertex AI serve the same models; a channel of
   * it may still have Gemini's base URL, which is the default.
   */
  hostOf: ({ baseUrl, credentials }) =>
    routeOf(credentials) === 'vertex' && isGeminiUrl(baseUrl) ? VERTEX_HOST : new URL(baseUrl).host,
  inlineBytes: { video: MAX_VIDEO_BYTES },
  refreshOnQuery: true,
  billingFactors: (request) =>
    isOmni(request.model) ? interactionBillingFactors(request) : veoBillingFactors(request),
  billedFacts: billedVideoTokens,
  takesByValue: () => true,
  assertSendable(request, { credentials, options }) {
    const route = routeOf(credentials);
    const withoutData = (inputs: readonly RequestInput[] = []) =>
      inputs.map(({ role }) => defined({ data: '', mimeType: '', role }));
    const media = { images: withoutData(request.images), videos: withoutData(request.videos) };
    if (isOmni(request.model)) toInteractionBody(request, media, route, options);
    else toVeoBody(request, media, route, options);
  },
  submit: (request, context) => submitApi(request.model, routeOf(context.credentials)).submit(request, context),
  query: async (handle, context) => apiOfHandle(handle, context).query(handle, context),
  content: async (handle, raw, variant, context) => apiOfHandle(handle, context).content(handle, raw, variant, context),
  async deleteTask(handle, context) {
    if (parseInteractionHandle(handle)) await interactions.deleteTask(handle, context);
  },
  checkCredentials: (context) => ROUTES[routeOf(context.credentials)].checkCredentials(context),
};
