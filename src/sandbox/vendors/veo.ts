import { randomUUID } from 'node:crypto';
import {
  defineSimulator,
  type Job,
  json,
  type Phase,
  type Problem,
  type Reply,
  type SimulatorRequest,
  type Stage,
  toShape,
} from '../simulator.ts';
import { hasToken, issueToken, serviceAccount } from './google-account.ts';
import { checkVeoBody, type VeoDoor } from './veo-fields.ts';

/** Google's Veo by both doors: the Gemini API (`veo`) and Vertex AI (`veo-vertex`), whose token endpoint it brings along. */

const API_KEY = 'AIzaSandbox-2b8f0d5c7e1a';
const PROJECT = 'sandbox-project';
const LOCATION = 'us-central1';

type Detail = Readonly<Record<string, unknown>>;
const googleError = (status: number, name: string, message: string, details: readonly Detail[] = []): Reply =>
  json(status, { error: { code: status, message, status: name, ...(details.length > 0 ? { details } : {}) } });

const keyInvalid = {
  '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
  reason: 'API_KEY_INVALID',
  domain: 'googleapis.com',
};
const retrySoon = { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '12s' };
const POLICY =
  "The prompt could not be submitted. It contains words that violate the service's usage guidelines. Support codes: 62263041";

type Words = readonly [status: number, name: string, message: string, details?: readonly Detail[]];
const PROBLEMS: Readonly<Record<Problem, Words>> = {
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

function problem(what: Problem, message?: string): Reply {
  const [status, name, usual, details] = PROBLEMS[what];
  return googleError(status, name, message ?? usual, details);
}

/** Withdrawn and invented names are the same to a caller. */
const MODEL = /^veo-(?:2\.0-generate-001|3\.0-(?:fast-)?generate-001|3\.1-(?:fast-|lite-)?generate-(?:001|preview))$/;

const asFields = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {};

function begin(door: VeoDoor, id: string, request: SimulatorRequest, stage: Stage): Reply | Job {
  const model = request.params.model ?? '';
  if (!MODEL.test(model)) return problem('model', `models/${model} is not found for API version v1beta.`);
  const body = request.json();
  const wrong = checkVeoBody(model, body, door);
  if (wrong !== undefined) return problem('invalid', wrong);
  const instance = asFields(Array.isArray(body?.instances) ? body.instances[0] : undefined);
  const parameters = asFields(body?.parameters);
  return stage.begin({
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
const OPERATION_ERROR: Readonly<Partial<Record<Phase, { code: number; message: string }>>> = {
  failed: { code: 13, message: 'Video generation failed due to an internal server issue.' },
  cancelled: { code: 1, message: 'The operation was cancelled.' },
};
const FILTERED = {
  raiMediaFilteredCount: 1,
  raiMediaFilteredReasons: ['The video was blocked by the safety filters. Support codes: 61493863'],
};

/** One look at an operation. `done` is absent while it runs; an expired one is gone. */
function operation(name: string, job: Job | undefined, stage: Stage, door: VeoDoor): Reply {
  const look = job && stage.look(job);
  if (!job || !look || look.phase === 'expired') return problem('not_found', `Operation ${name} was not found.`);
  if (look.phase === 'queued' || look.phase === 'running') return json(200, { name });
  if (look.phase === 'unknown') return json(200, { name, done: 'PARTIALLY', response: {} });
  const error = OPERATION_ERROR[look.phase];
  if (error) return json(200, { name, done: true, error });
  const body = look.phase === 'filtered' ? FILTERED : look.hasArtifact ? RESULT[door](job, stage) : {};
  return json(200, { name, done: true, response: RESPONSE[door](body) });
}

const RESPONSE: Readonly<Record<VeoDoor, (body: object) => object>> = {
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

const RESULT: Readonly<Record<VeoDoor, (job: Job, stage: Stage) => object>> = {
  gemini: (job, stage) => ({
    generatedSamples: [{ video: { uri: `${stage.url}/v1beta/files/${job.id}:download?alt=media` } }],
  }),
  vertex(job, stage) {
    const { storageUri } = asFields(asFields(job.input).parameters);
    const file = stage.media(job);
    const where =
      typeof storageUri === 'string'
        ? { gcsUri: `${storageUri.replace(/\/*$/, '/')}${job.id}/sample_0.mp4` }
        : { bytesBase64Encoded: file.bytes.toString('base64') };
    return { videos: [{ ...where, mimeType: file.mimeType }] };
  },
};

export const veo = defineSimulator({
  name: 'veo',
  models: /-preview$/,
  credentials: () => ({ api_key: API_KEY }),
  authorize({ headers, query }) {
    const key = headers['x-goog-api-key'] ?? query.get('key');
    if (key === API_KEY) return undefined;
    if (key == null) return problem('forbidden', "Method doesn't allow unregistered callers.");
    return googleError(400, 'INVALID_ARGUMENT', 'API key not valid. Please pass a valid API key.', [keyInvalid]);
  },
  // A wrong key is a 400 by this door.
  problem: (what, message) =>
    what === 'unauthorized'
      ? googleError(400, 'INVALID_ARGUMENT', message ?? 'API key not valid. Please pass a valid API key.', [keyInvalid])
      : problem(what, message),
  routes: [
    {
      method: 'POST',
      path: /^\/v1beta\/models\/(?<model>[^/:]+):predictLongRunning$/,
      operation: 'submit',
      handle(request, stage) {
        const job = begin('gemini', randomUUID().replaceAll('-', '').slice(0, 12), request, stage);
        return 'kind' in job ? job : json(200, { name: `models/${job.model}/operations/${job.id}` });
      },
    },
    {
      method: 'GET',
      path: /^\/v1beta\/(?<name>models\/[^/]+\/operations\/(?<id>[^/]+))$/,
      operation: 'query',
      handle: ({ params: { name = '', id = '' } }, stage) => operation(name, stage.jobs.find(id), stage, 'gemini'),
    },
    {
      method: 'GET',
      path: /^\/v1beta\/files\/(?<id>[^/:]+):download$/,
      operation: 'content',
      handle({ params: { id = '' } }, stage) {
        const job = stage.jobs.find(id);
        if (!job) return problem('forbidden', 'You do not have permission to access the file or it may not exist.');
        const headers = { location: stage.artifactUrl(job) };
        return { kind: 'body', status: 302, headers, body: Buffer.alloc(0) };
      },
    },
    {
      method: 'GET',
      path: '/v1beta/models',
      operation: 'other',
      handle: () => json(200, { models: [{ name: 'models/veo-3.1-generate-preview' }] }),
    },
  ],
});

const VERTEX = String.raw`^\/v1(?:beta1)?\/(?<path>projects\/(?<project>[^/]+)\/locations\/(?<location>[^/]+)\/publishers\/google\/models\/(?<model>[^/:]+))`;

export const veoVertex = defineSimulator({
  name: 'veo-vertex',
  models: /-001$/,
  credentials: ({ url }) => ({ service_account: serviceAccount(url), project: PROJECT, location: LOCATION }),
  authorize(request, stage) {
    if (!hasToken(request, stage.now())) return problem('unauthorized');
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
      handle(request, stage) {
        const job = begin('vertex', randomUUID(), request, stage);
        return 'kind' in job ? job : json(200, { name: `${request.params.path ?? ''}/operations/${job.id}` });
      },
    },
    {
      method: 'POST',
      path: new RegExp(`${VERTEX}:fetchPredictOperation$`),
      operation: 'query',
      handle(request, stage) {
        const name = request.json()?.operationName;
        const path = request.params.path ?? '';
        if (typeof name !== 'string' || !name.startsWith(`${path}/operations/`)) return problem('invalid');
        return operation(name, stage.jobs.find(name.slice(`${path}/operations/`.length)), stage, 'vertex');
      },
    },
    {
      // The customer's own bucket, which on loopback has to live somewhere too.
      method: 'GET',
      path: /^\/storage\/v1\/b\/[^/]+\/o\/(?<object>[^/]+)$/,
      operation: 'content',
      handle({ params: { object = '' } }, stage) {
        const job = stage.jobs.find(/([0-9a-f-]{36})\/sample_0\.mp4$/.exec(object)?.[1] ?? '');
        return job ? { kind: 'media', file: stage.media(job) } : problem('not_found', 'No such object.');
      },
    },
  ],
});
