import { createHmac, generateKeyPairSync, randomBytes, randomUUID } from 'node:crypto';
import { jwtVerify } from 'jose';
import { asObject } from '../../contract/objects.ts';
import {
  defineSimulator,
  type Job,
  type JobPhase,
  jsonResponse,
  type ProblemKind,
  type Route,
  type Simulator,
  type SimulatorContext,
  type SimulatorRequest,
  type SimulatorResponse,
  toShape,
} from '../simulator.ts';

/** A Google service account and the endpoint that exchanges its signed assertions for access tokens (RFC 7523). */

const EMAIL = 'reelgate@sandbox-project.iam.gserviceaccount.com';
const KEY_ID = '3f0c1d7e5b9a48e2a6c4';
const SCOPE = 'https://www.googleapis.com/auth/cloud-platform';
const GRANT_TYPE = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
const LIFE_S = 3599;

// Created on first use, because generating a key takes time that processes without service accounts should not spend.
let pair: ReturnType<typeof makePair> | undefined;
const makePair = () => generateKeyPairSync('rsa', { modulusLength: 2048 });
const keys = () => {
  pair ??= makePair();
  return pair;
};
const secret = randomBytes(32);
const stamp = (text: string): string => createHmac('sha256', secret).update(text).digest('base64url');

/** The key file an administrator would download. */
export const serviceAccount = (url: string) => ({
  type: 'service_account',
  project_id: 'sandbox-project',
  private_key_id: KEY_ID,
  private_key: keys().privateKey.export({ type: 'pkcs8', format: 'pem' }),
  client_email: EMAIL,
  token_uri: `${url}/token`,
});

const refuse = (description: string): SimulatorResponse =>
  jsonResponse(400, { error: 'invalid_grant', error_description: description });

/** Verifies signature, issuer, audience, lifetime and scope; tokens are valid for an hour, like Google's. */
async function issueToken(request: SimulatorRequest, context: SimulatorContext): Promise<SimulatorResponse> {
  const form = new URLSearchParams(request.body.toString('utf8'));
  if (form.get('grant_type') !== GRANT_TYPE) return jsonResponse(400, { error: 'unsupported_grant_type' });
  try {
    const { payload, protectedHeader } = await jwtVerify(form.get('assertion') ?? '', keys().publicKey, {
      algorithms: ['RS256'],
      issuer: EMAIL,
      audience: `${context.url}/token`,
      requiredClaims: ['iat', 'exp'],
      currentDate: new Date(context.now()),
    });
    if (protectedHeader.kid !== undefined && protectedHeader.kid !== KEY_ID) return refuse('Invalid key id.');
    if ((payload.exp ?? 0) - (payload.iat ?? 0) > 3600)
      return refuse('Token must be a short-lived token (60 minutes).');
    if (payload.scope !== SCOPE)
      return jsonResponse(400, { error: 'invalid_scope', error_description: 'Invalid OAuth scope.' });
  } catch {
    return refuse('Invalid JWT Signature.');
  }
  const end = String(context.now() + LIFE_S * 1000);
  const nonce = randomBytes(6).toString('hex');
  const token = `ya29.${end}.${nonce}.${stamp(`${end}.${nonce}`)}`;
  return jsonResponse(200, { access_token: token, expires_in: LIFE_S, token_type: 'Bearer' });
}

/** Whether the request carries an unexpired token issued by this endpoint. */
function hasToken(request: SimulatorRequest, nowMs: number): boolean {
  const [, end = '', nonce = '', mark] =
    /^Bearer ya29\.(\d+)\.([0-9a-f]+)\.(.+)$/.exec(request.headers.authorization ?? '') ?? [];
  return mark === stamp(`${end}.${nonce}`) && Number(end) > nowMs;
}

/** Models listed by the Gemini API. */
const PREVIEWS = ['veo-3.1-generate-preview', 'veo-3.1-fast-generate-preview', 'veo-3.1-lite-generate-preview'];

/**
 * Google's Veo in both APIs: the Gemini API (`veo`) and Vertex AI (`veo-vertex`), which includes its token endpoint.
 */

const API_KEY = 'AIzaSandbox-2b8f0d5c7e1a';
const PROJECT = 'sandbox-project';
const LOCATION = 'us-central1';

type Detail = Readonly<Record<string, unknown>>;
const googleError = (
  status: number,
  name: string,
  message: string,
  details: readonly Detail[] = [],
): SimulatorResponse =>
  jsonResponse(status, {
    error: { code: status, message, status: name, details: details.length > 0 ? details : undefined },
  });

const keyInvalid = {
  '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
  reason: 'API_KEY_INVALID',
  domain: 'googleapis.com',
};
const retrySoon = { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '12s' };
const POLICY =
  "The prompt could not be submitted. It contains words that violate the service's usage guidelines. Support codes: 62263041";

type Words = readonly [status: number, name: string, message: string, details?: readonly Detail[]];
const PROBLEMS: Readonly<Record<ProblemKind, Words>> = {
  unauthorized: [401, 'UNAUTHENTICATED', 'Request had invalid authentication credentials.'],
  forbidden: [403, 'PERMISSION_DENIED', 'The caller does not have permission.'],
  billing: [400, 'FAILED_PRECONDITION', 'This API requires a project with billing enabled.'],
  model: [404, 'NOT_FOUND', 'This model is no longer available.'],
  rate: [429, 'RESOURCE_EXHAUSTED', 'Quota exceeded for online prediction requests per base model.', [retrySoon]],
  concurrency: [429, 'RESOURCE_EXHAUSTED', 'Too many concurrent operations.', [retrySoon]],
  overloaded: [503, 'UNAVAILABLE', 'The model is overloaded. Please try again later.'],
  broken: [500, 'INTERNAL', 'An internal error has occurred.'],
  timeout: [504, 'DEADLINE_EXCEEDED', 'Deadline expired before operation could complete.'],
  policy: [400, 'INVALID_ARGUMENT', POLICY],
  invalid: [400, 'INVALID_ARGUMENT', 'Request contains an invalid argument.'],
  not_found: [404, 'NOT_FOUND', 'Requested entity was not found.'],
};

function problem(what: ProblemKind, message?: string): SimulatorResponse {
  const [status, name, usual, details] = PROBLEMS[what];
  return googleError(status, name, message ?? usual, details);
}

/** Discontinued and invented names get the same response; newer versions have the rules of 3.1. */
const MODEL =
  /^veo-(?:2\.0-generate-001|3\.0-(?:fast-)?generate-001|(?:3\.1|[4-9]\.\d)-(?:fast-|lite-)?generate-(?:001|preview))$/;

const asFields = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {};

function begin(api: VeoApi, id: string, request: SimulatorRequest, context: SimulatorContext): SimulatorResponse | Job {
  const model = request.params.model ?? '';
  if (!MODEL.test(model)) return problem('model', `models/${model} is not found for API version v1beta.`);
  const body = request.json();
  const wrong = checkVeoBody(model, body, api);
  if (wrong !== undefined) return problem('invalid', wrong);
  const instance = asFields(Array.isArray(body?.instances) ? body.instances[0] : undefined);
  const parameters = asFields(body?.parameters);
  return context.createJob({
    id,
    prompt: typeof instance.prompt === 'string' ? instance.prompt : '',
    model,
    input: body,
    shape: toShape(parameters.aspectRatio),
    audio: !model.startsWith('veo-2') && parameters.aspectRatio !== '9:16' && parameters.generateAudio !== false,
    seconds: Number(parameters.durationSeconds ?? 8),
  });
}

/** Operations carry the number of the canonical code, whereas HTTP errors carry its name. */
const OPERATION_ERROR: Readonly<Partial<Record<JobPhase, { code: number; message: string }>>> = {
  failed: { code: 13, message: 'Video generation failed due to an internal server issue.' },
  cancelled: { code: 1, message: 'The operation was cancelled.' },
};
const FILTERED = {
  raiMediaFilteredCount: 1,
  raiMediaFilteredReasons: ['The video was blocked by the safety filters. Support codes: 61493863'],
};

/** Response to a poll of an operation. `done` is absent while it runs; an expired operation is not found. */
function operation(name: string, job: Job | undefined, context: SimulatorContext, api: VeoApi): SimulatorResponse {
  const snapshot = job && context.pollJob(job);
  if (!job || !snapshot || snapshot.phase === 'expired')
    return problem('not_found', `Operation ${name} was not found.`);
  if (snapshot.phase === 'queued' || snapshot.phase === 'running') return jsonResponse(200, { name });
  if (snapshot.phase === 'unknown') return jsonResponse(200, { name, done: 'PARTIALLY', response: {} });
  const error = OPERATION_ERROR[snapshot.phase];
  if (error) return jsonResponse(200, { name, done: true, error });
  const body = snapshot.phase === 'filtered' ? FILTERED : snapshot.hasArtifact ? RESULT[api](job, context) : {};
  return jsonResponse(200, { name, done: true, response: RESPONSE[api](body) });
}

const RESPONSE: Readonly<Record<VeoApi, (body: object) => object>> = {
  gemini: (body) => ({
    '@type': 'type.googleapis.com/google.ai.generativelanguage.v1beta.PredictLongRunningResponse',
    generateVideoResponse: body,
  }),
  vertex: (body) => ({
    '@type': 'type.googleapis.com/cloud.ai.large_models.vision.GenerateVideoResponse',
    raiMediaFilteredCount: 0,
    ...body,
  }),
};

const RESULT: Readonly<Record<VeoApi, (job: Job, context: SimulatorContext) => object>> = {
  gemini: (job, context) => ({
    generatedSamples: [{ video: { uri: `${context.url}/v1beta/files/${job.id}:download?alt=media` } }],
  }),
  vertex(job, context) {
    const { storageUri } = asFields(asFields(job.input).parameters);
    const file = context.media(job);
    const where =
      typeof storageUri === 'string'
        ? { gcsUri: `${storageUri.replace(/\/*$/, '/')}${job.id}/sample_0.mp4` }
        : { bytesBase64Encoded: file.bytes.toString('base64') };
    return { videos: [{ ...where, mimeType: file.mimeType }] };
  },
};

/** Behaviour shared by operations and interactions of the Gemini API; a wrong key is a 400 there. */
export const geminiApi: Pick<Simulator, 'credentials' | 'authorize' | 'problem'> = {
  credentials: () => ({ api_key: API_KEY }),
  authorize({ headers, query }) {
    const key = headers['x-goog-api-key'] ?? query.get('key');
    if (key === API_KEY) return undefined;
    if (key == null) return problem('forbidden', "Method doesn't allow unregistered callers.");
    return googleError(400, 'INVALID_ARGUMENT', 'API key not valid. Please pass a valid API key.', [keyInvalid]);
  },
  problem: (what, message) =>
    what === 'unauthorized'
      ? googleError(400, 'INVALID_ARGUMENT', message ?? 'API key not valid. Please pass a valid API key.', [keyInvalid])
      : problem(what, message),
};

/** The list of models. */
export const listOfModels = (ids: readonly string[]): Route => ({
  method: 'GET',
  path: '/v1beta/models',
  operation: 'other',
  handle: () => jsonResponse(200, { models: ids.map((id) => ({ name: `models/${id}` })) }),
});

/** Download of a finished file: redirects to storage, which needs no key. */
export const fileDownload: Route = {
  method: 'GET',
  path: /^\/v1beta\/files\/(?<id>[^/:]+):download$/,
  operation: 'content',
  handle({ params: { id = '' } }, context) {
    const job = context.jobs.find(id);
    if (!job) return problem('forbidden', 'You do not have permission to access the file or it may not exist.');
    const headers = { location: context.artifactUrl(job) };
    return { kind: 'body', status: 302, headers, body: Buffer.alloc(0) };
  },
};

/** Simulated Veo of the Gemini API. */
export const veo = defineSimulator({
  name: 'veo',
  models: /-preview$/,
  ...geminiApi,
  routes: [
    {
      method: 'POST',
      path: /^\/v1beta\/models\/(?<model>[^/:]+):predictLongRunning$/,
      operation: 'submit',
      handle(request, context) {
        const job = begin('gemini', randomUUID().replaceAll('-', '').slice(0, 12), request, context);
        return 'kind' in job ? job : jsonResponse(200, { name: `models/${job.model}/operations/${job.id}` });
      },
    },
    {
      method: 'GET',
      path: /^\/v1beta\/(?<name>models\/[^/]+\/operations\/(?<id>[^/]+))$/,
      operation: 'query',
      handle: ({ params: { name = '', id = '' } }, context) =>
        operation(name, context.jobs.find(id), context, 'gemini'),
    },
    fileDownload,
    listOfModels(PREVIEWS),
  ],
});

const VERTEX = String.raw`^\/v1(?:beta1)?\/(?<path>projects\/(?<project>[^/]+)\/locations\/(?<location>[^/]+)\/publishers\/google\/models\/(?<model>[^/:]+))`;

/** Simulated Veo of Vertex AI. */
export const veoVertex = defineSimulator({
  name: 'veo-vertex',
  vendor: 'veo',
  models: /-001$/,
  credentials: ({ url }) => ({ service_account: serviceAccount(url), project: PROJECT, location: LOCATION }),
  authorize(request, context) {
    if (!hasToken(request, context.now())) return problem('unauthorized');
    const { project = PROJECT } = request.params;
    return project === PROJECT ? undefined : problem('forbidden', `Permission denied on project ${project}.`);
  },
  problem,
  routes: [
    { method: 'POST', path: '/token', operation: 'token', open: true, handle: issueToken },
    {
      method: 'POST',
      path: new RegExp(`${VERTEX}:predictLongRunning$`),
      operation: 'submit',
      handle(request, context) {
        const job = begin('vertex', randomUUID(), request, context);
        return 'kind' in job ? job : jsonResponse(200, { name: `${request.params.path ?? ''}/operations/${job.id}` });
      },
    },
    {
      method: 'POST',
      path: new RegExp(`${VERTEX}:fetchPredictOperation$`),
      operation: 'query',
      handle(request, context) {
        const name = request.json()?.operationName;
        const path = request.params.path ?? '';
        if (typeof name !== 'string' || !name.startsWith(`${path}/operations/`)) return problem('invalid');
        return operation(name, context.jobs.find(name.slice(`${path}/operations/`.length)), context, 'vertex');
      },
    },
    {
      // The customer's own bucket, for which the simulator needs an endpoint on loopback too.
      method: 'GET',
      path: /^\/storage\/v1\/b\/[^/]+\/o\/(?<object>[^/]+)$/,
      operation: 'content',
      handle({ params: { object = '' } }, context) {
        const job = context.jobs.find(/([0-9a-f-]{36})\/sample_0\.mp4$/.exec(object)?.[1] ?? '');
        return job ? { kind: 'media', file: context.media(job) } : problem('not_found', 'No such object.');
      },
    },
  ],
});

/** Error that both of Google's Veo APIs return for an invalid submit, INVALID_ARGUMENT; undefined if it is valid. */

type Fields = Readonly<Record<string, unknown>>;
type Check = (value: unknown) => boolean;

const isText: Check = (value) => typeof value === 'string';
const isFlag: Check = (value) => typeof value === 'boolean';
const isOneOf =
  (...words: string[]): Check =>
  (value) =>
    typeof value === 'string' && words.includes(value);
const isBetween =
  (least: number, most: number): Check =>
  (value) =>
    Number.isInteger(value) && Number(value) >= least && Number(value) <= most;

const BOTH: Readonly<Record<string, Check>> = {
  sampleCount: isBetween(1, 4),
  aspectRatio: isOneOf('16:9', '9:16'),
  durationSeconds: isBetween(4, 8),
  resolution: isOneOf('720p', '1080p', '4k'),
  negativePrompt: isText,
  personGeneration: isOneOf('allow_all', 'allow_adult', 'dont_allow'),
};
const PARAMETERS: Readonly<Record<VeoApi, Readonly<Record<string, Check>>>> = {
  gemini: { ...BOTH, enhancePrompt: isFlag },
  vertex: {
    ...BOTH,
    enhancePrompt: isFlag,
    storageUri: (value) => typeof value === 'string' && value.startsWith('gs://'),
    seed: isBetween(0, 4_294_967_295),
    generateAudio: isFlag,
    compressionQuality: isOneOf('optimized', 'lossless'),
    resizeMode: isOneOf('pad', 'crop'),
    fps: isBetween(24, 24),
    pubsubTopic: isText,
  },
};
type VeoApi = 'gemini' | 'vertex';

/** Only Google's chat methods accept `inlineData`; this method rejects it. */
const isImage: Check = (value) => {
  const image = asObject(value);
  if (!image || Object.keys(image).some((key) => key !== 'bytesBase64Encoded' && key !== 'mimeType')) return false;
  const { bytesBase64Encoded: data, mimeType } = image;
  return (
    typeof data === 'string' &&
    /^[A-Za-z0-9+/]+={0,2}$/.test(data) &&
    isOneOf('image/png', 'image/jpeg', 'image/webp')(mimeType)
  );
};
const isReference: Check = (value) => {
  const reference = asObject(value);
  return isImage(reference?.image) && isOneOf('asset', 'ASSET')(reference?.referenceType);
};
const isVideo: Check = (value) => {
  const video = asObject(value);
  return typeof video?.bytesBase64Encoded === 'string' && video.mimeType === 'video/mp4';
};
const INSTANCE: Readonly<Record<string, Check>> = {
  video: isVideo,
  prompt: isText,
  image: isImage,
  lastFrame: isImage,
  referenceImages: (value) =>
    Array.isArray(value) && value.length >= 1 && value.length <= 3 && value.every(isReference),
};

function checkKeys(fields: Fields, known: Readonly<Record<string, Check>>, where: string): string | undefined {
  for (const [key, value] of Object.entries(fields)) {
    const check = Object.hasOwn(known, key) ? known[key] : undefined;
    if (!check) return `Unknown name "${key}" at '${where}': Cannot find field.`;
    if (!check(value)) return `\`${key}\` isn't supported by this model. Please remove it or change its value.`;
  }
  return undefined;
}

function checkModel(model: string, instance: Fields, parameters: Fields, api: VeoApi): string | undefined {
  const seconds = Number(parameters.durationSeconds ?? 8);
  const resolution = parameters.resolution ?? '720p';
  const isTwo = model.startsWith('veo-2');
  const isThreeOne = /^veo-(?:3\.1|[4-9])/.test(model);
  const isLite = model.includes('-lite-');
  if (instance.video !== undefined) {
    const isPlain = instance.image === undefined && instance.referenceImages === undefined;
    const isFit = isThreeOne && seconds === 7 && resolution === '720p' && parameters.aspectRatio === undefined;
    return api === 'vertex' && isPlain && isFit ? undefined : '`video` is not supported with these parameters.';
  }
  if (isTwo ? seconds < 5 : seconds % 2 !== 0) return `durationSeconds ${seconds} is out of bound.`;
  if (isTwo && parameters.resolution !== undefined) return '`resolution` is not supported by this model.';
  if (resolution === '4k' && (!isThreeOne || isLite)) return '4k is not supported by this model.';
  if (instance.lastFrame !== undefined && (!isThreeOne || instance.image === undefined))
    return '`lastFrame` is not supported.';
  const hasReferences = instance.referenceImages !== undefined;
  if (hasReferences && (!isThreeOne || isLite)) return '`referenceImages` is not supported by this model.';
  const isLong = seconds === 8;
  if (!isLong && (hasReferences || (api === 'gemini' && resolution !== '720p')))
    return 'durationSeconds must be 8 here.';
  return undefined;
}

function checkVeoBody(model: string, body: Fields | undefined, api: VeoApi): string | undefined {
  if (!body) return 'Invalid JSON payload received.';
  const extra = Object.keys(body).find((key) => key !== 'instances' && key !== 'parameters' && key !== 'labels');
  if (extra !== undefined) return `Unknown name "${extra}": Cannot find field.`;
  const instances = Array.isArray(body.instances) ? body.instances : [];
  const instance = asObject(instances[0]);
  if (!instance || instances.length !== 1) return 'Exactly one instance is required.';
  const parameters = asObject(body.parameters ?? {});
  if (!parameters) return "Invalid value at 'parameters'.";
  if (!instance.prompt && instance.image === undefined) return 'A prompt or an image is required.';
  return (
    checkKeys(instance, INSTANCE, 'instances[0]') ??
    checkKeys(parameters, PARAMETERS[api], 'parameters') ??
    checkModel(model, instance, parameters, api)
  );
}
