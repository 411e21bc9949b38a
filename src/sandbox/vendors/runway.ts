import { randomUUID } from 'node:crypto';
import {
  defineSimulator,
  type Job,
  type JobPhase,
  jsonResponse,
  type ProblemKind,
  type SimulatorContext,
  type SimulatorRequest,
  type SimulatorResponse,
  toShape,
} from '../simulator.ts';

/** Runway's developer API: two endpoints start tasks, one returns them. Errors are a text under `error`. */

const KEY = `key_${'0123456789abcdef'.repeat(8)}`;
const VERSION = '2024-11-06';

const PROBLEMS: Readonly<Record<ProblemKind, readonly [status: number, text: string]>> = {
  unauthorized: [401, 'The API key provided is not valid.'],
  forbidden: [403, 'Your organization may not use this API.'],
  billing: [400, 'You do not have enough credits to run this task.'],
  model: [403, 'Model variant is not available.'],
  rate: [429, 'Too many requests. Please slow down.'],
  concurrency: [429, 'The daily task limit of this model was reached.'],
  overloaded: [503, 'The service is shedding load.'],
  broken: [500, 'Internal server error.'],
  timeout: [504, 'The service is overloaded.'],
  policy: [400, 'The prompt was rejected by content moderation.'],
  invalid: [400, 'Validation of body failed'],
  not_found: [404, 'Task not found'],
};

const refusal = (kind: ProblemKind, message?: string): SimulatorResponse => {
  const [status, text] = PROBLEMS[kind];
  return jsonResponse(status, { error: message ?? text });
};

const HD = ['1280:720', '720:1280'];
const SIX_FRAMES = [...HD, '1104:832', '832:1104', '960:960', '1584:672'];
const TO_FULL_HD = [...HD, '1920:1080', '1080:1920'];

interface Rules {
  readonly text: readonly string[];
  readonly image: readonly string[];
  readonly isOwn: boolean;
}
const MODELS: Readonly<Record<string, Rules>> = {
  'gen4.5': { text: HD, image: SIX_FRAMES, isOwn: true },
  gen4_turbo: { text: [], image: SIX_FRAMES, isOwn: true },
  'veo3.1': { text: TO_FULL_HD, image: TO_FULL_HD, isOwn: false },
  'veo3.1_fast': { text: TO_FULL_HD, image: TO_FULL_HD, isOwn: false },
};

type Body = Readonly<Record<string, unknown>>;
const isUri = (value: unknown): boolean =>
  typeof value === 'string' && /^https:\/\/|^data:image\/[a-z0-9.+-]+;base64,/.test(value);
const isImage = (value: unknown): boolean =>
  isUri(value) ||
  (Array.isArray(value) &&
    value.length > 0 &&
    value.every((entry: Body | null) => isUri(entry?.uri) && ['first', 'last'].includes(String(entry?.position))));

/** Body fields with the check for accepted values. */
const FIELDS: Readonly<Record<string, (value: unknown, rules: Rules) => boolean>> = {
  model: (value) => typeof value === 'string',
  promptText: (value) => typeof value === 'string' && value.length >= 1 && value.length <= 1_000,
  promptImage: isImage,
  ratio: (value) => typeof value === 'string',
  duration: (value, { isOwn }) =>
    isOwn ? Number.isInteger(value) && Number(value) >= 2 && Number(value) <= 10 : [4, 6, 8].includes(Number(value)),
  seed: (value, { isOwn }) => isOwn && Number.isInteger(value) && Number(value) >= 0,
  contentModeration: (value, { isOwn }) => isOwn && typeof value === 'object',
  audio: (value, { isOwn }) => !isOwn && typeof value === 'boolean',
  negativePrompt: (value, { isOwn }) => !isOwn && typeof value === 'string',
};

/** Data URLs are limited to five megabytes. */
const MAX_DATA_URL = 5_000_000 * (4 / 3) + 100;
const isVideoUri = (value: unknown): boolean =>
  typeof value === 'string' &&
  /^https?:\/\/|^runway:\/\/|^data:video\/[a-z0-9.+-]+;base64,/.test(value) &&
  value.length <= Math.max(MAX_DATA_URL, 0);
const isKeyframe = (entry: Body | null): boolean => isUri(entry?.uri) && Number(entry?.seconds) >= 0;
const EDIT_FIELDS: Readonly<Record<string, (value: unknown) => boolean>> = {
  model: (value) => value === 'aleph2',
  videoUri: isVideoUri,
  promptText: (value) => typeof value === 'string' && value.length >= 1 && value.length <= 1_000,
  keyframes: (value) => Array.isArray(value) && value.length <= 5 && value.every(isKeyframe),
  seed: (value) => Number.isInteger(value) && Number(value) >= 0,
  contentModeration: (value) => typeof value === 'object',
  outputFormat: (value) => typeof value === 'string',
  targetAspectRatio: (value) => typeof value === 'string',
};

/** A video to edit, whose length and frame the result has; unknown fields are refused. */
function editVideo(request: SimulatorRequest, context: SimulatorContext): SimulatorResponse {
  const body = request.json();
  if (!body) return refusal('invalid');
  if (body.model !== 'aleph2') return refusal('model', `Model variant ${String(body.model)} is not available.`);
  const wrong =
    Object.keys(body).find((name) => !Object.hasOwn(EDIT_FIELDS, name) || !EDIT_FIELDS[name]?.(body[name])) ??
    (body.videoUri === undefined ? 'videoUri' : undefined);
  if (wrong !== undefined) return refusal('invalid', `Validation of body failed: ${wrong}: Invalid input`);
  const prompt = typeof body.promptText === 'string' ? body.promptText : '';
  const job = context.createJob({ id: randomUUID(), prompt, model: 'aleph2', input: body, seconds: 5 });
  return jsonResponse(200, { id: job.id });
}

/** Unknown keys are tolerated, as the API's documentation promises for newer ones. */
function findInvalidField(body: Body, rules: Rules, ratios: readonly string[]): string | undefined {
  if (typeof body.ratio !== 'string' || !ratios.includes(body.ratio)) return 'ratio';
  if (rules.isOwn && body.duration === undefined) return 'duration';
  return Object.keys(FIELDS).find((name) => body[name] !== undefined && !FIELDS[name]?.(body[name], rules));
}

function submit(request: SimulatorRequest, context: SimulatorContext): SimulatorResponse {
  const body = request.json();
  if (!body) return refusal('invalid');
  const rules = MODELS[String(body.model)];
  if (!rules) return refusal('model', `Model variant ${String(body.model)} is not available.`);
  const isFromText = request.path.endsWith('/text_to_video');
  const ratios = isFromText ? rules.text : rules.image;
  if (ratios.length === 0) return refusal('invalid', 'Validation of body failed: promptImage: Required');
  const wrong = findInvalidField(body, rules, ratios);
  const missing = isFromText ? 'promptText' : 'promptImage';
  const named = wrong ?? (body[missing] === undefined ? missing : undefined);
  if (named !== undefined) return refusal('invalid', `Validation of body failed: ${named}: Invalid input`);
  const job = context.createJob({
    id: randomUUID(),
    prompt: typeof body.promptText === 'string' ? body.promptText : '',
    model: String(body.model),
    input: body,
    shape: toShape(body.ratio),
    audio: !rules.isOwn && body.audio !== false,
    seconds: Number(body.duration ?? 8),
  });
  return jsonResponse(200, { id: job.id });
}

const STATUS: Readonly<Record<JobPhase, string>> = {
  queued: 'PENDING',
  running: 'RUNNING',
  succeeded: 'SUCCEEDED',
  failed: 'FAILED',
  filtered: 'FAILED',
  expired: 'FAILED',
  cancelled: 'CANCELLED',
  unknown: 'HELD',
};
const FAILURE: Readonly<Partial<Record<JobPhase, readonly [code: string, text: string]>>> = {
  failed: ['INTERNAL.BAD_OUTPUT.CODE01', 'An unexpected error occurred.'],
  filtered: ['SAFETY.OUTPUT.VIDEO', 'The output was rejected by content moderation.'],
  expired: ['INTERNAL', 'The task took too long.'],
};

function toTask(job: Job, context: SimulatorContext) {
  const { phase, progress, hasArtifact } = context.pollJob(job);
  const [failureCode, failure] = FAILURE[phase] ?? [];
  return {
    id: job.id,
    status: STATUS[phase],
    createdAt: new Date(job.createdAtMs).toISOString(),
    progress: phase === 'running' ? progress / 100 : undefined,
    failure,
    failureCode,
    output: phase === 'succeeded' ? (hasArtifact ? [`${context.artifactUrl(job)}?_jwt=sandbox`] : []) : undefined,
  };
}

const TASK = /^\/v1\/tasks\/(?<id>[^/]+)$/;

/** Simulated Runway. */
export const runway = defineSimulator({
  name: 'runway',
  credentials: () => ({ api_key: KEY }),
  authorize({ headers }) {
    if (headers.authorization !== `Bearer ${KEY}`) return refusal('unauthorized');
    return headers['x-runway-version'] === VERSION
      ? undefined
      : refusal('invalid', 'X-Runway-Version is not supported.');
  },
  problem: refusal,
  routes: [
    { method: 'POST', path: '/v1/text_to_video', operation: 'submit', handle: submit },
    { method: 'POST', path: '/v1/image_to_video', operation: 'submit', handle: submit },
    { method: 'POST', path: '/v1/video_to_video', operation: 'submit', handle: editVideo },
    {
      method: 'GET',
      path: TASK,
      operation: 'query',
      handle({ params }, context) {
        const job = context.jobs.find(params.id ?? '');
        return job ? jsonResponse(200, toTask(job, context)) : refusal('not_found');
      },
    },
    {
      method: 'DELETE',
      path: TASK,
      operation: 'other',
      handle({ params }, context) {
        context.jobs.remove(params.id ?? '');
        return { kind: 'body', status: 204, headers: {}, body: Buffer.alloc(0) };
      },
    },
    {
      method: 'GET',
      path: '/v1/organization',
      operation: 'other',
      handle: () => jsonResponse(200, { creditBalance: 100_000, tier: { models: {} }, usage: { models: {} } }),
    },
  ],
});
