import { randomUUID } from 'node:crypto';
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
} from '../define-simulator.ts';
import { hasToken, issueToken, serviceAccount } from './google-service-account.ts';
import { checkVeoBody, type VeoApi } from './veo-validation.ts';

/** What the Gemini API lists. */
const PREVIEWS = ['veo-3.1-generate-preview', 'veo-3.1-fast-generate-preview', 'veo-3.1-lite-generate-preview'];

/** Google's Veo by both APIs: the Gemini API (`veo`) and Vertex AI (`veo-vertex`), which includes its token endpoint. */

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

/** Withdrawn and invented names get the same response. */
const MODEL = /^veo-(?:2\.0-generate-001|3\.0-(?:fast-)?generate-001|3\.1-(?:fast-|lite-)?generate-(?:001|preview))$/;

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

/** Operations carry the number of the canonical code, where HTTP errors carry its name. */
const OPERATION_ERROR: Readonly<Partial<Record<JobPhase, { code: number; message: string }>>> = {
  failed: { code: 13, message: 'Video generation failed due to an internal server issue.' },
  cancelled: { code: 1, message: 'The operation was cancelled.' },
};
const FILTERED = {
  raiMediaFilteredCount: 1,
  raiMediaFilteredReasons: ['The video was blocked by the safety filters. Support codes: 61493863'],
};

/** The response to a poll of an operation. `done` is absent while it runs; an expired operation is not found. */
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

/** The Gemini API's side that is the same for operations and interactions; a wrong key is a 400 there. */
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

export const listOfModels = (ids: readonly string[]): Route => ({
  method: 'GET',
  path: '/v1beta/models',
  operation: 'other',
  handle: () => jsonResponse(200, { models: ids.map((id) => ({ name: `models/${id}` })) }),
});

/** A finished file: redirected to storage, which needs no key. */
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
