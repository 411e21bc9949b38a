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

/** xAI's video API, from its own page and the provider of the AI SDK. Errors are a code and a text under `error`. */

const KEY = `xai-${'0123456789abcdef'.repeat(5)}`;

const PROBLEMS: Readonly<Record<ProblemKind, readonly [status: number, code: string, text: string]>> = {
  unauthorized: [401, 'unauthenticated', 'Invalid or missing API key.'],
  forbidden: [403, 'permission-denied', 'The team may not use this API.'],
  billing: [402, 'insufficient_balance', 'Your team has used all available credits: insufficient balance.'],
  model: [404, 'model_not_found', 'The model does not exist or your team has no access to it.'],
  rate: [429, 'rate_limit_exceeded', 'Too many requests.'],
  concurrency: [429, 'rate_limit_exceeded', 'Too many concurrent requests.'],
  overloaded: [503, 'unavailable', 'The service is at capacity.'],
  broken: [500, 'internal', 'Internal error.'],
  timeout: [504, 'deadline-exceeded', 'The service did not respond in time.'],
  policy: [400, 'content_policy_violation', 'The prompt was rejected by content moderation.'],
  invalid: [400, 'invalid-argument', 'Invalid request.'],
  not_found: [404, 'not-found', 'Request not found.'],
};

const refusal = (kind: ProblemKind, message?: string): SimulatorResponse => {
  const [status, code, text] = PROBLEMS[kind];
  return jsonResponse(status, { code, error: message ?? text });
};

type Body = Readonly<Record<string, unknown>>;
type Check = (value: unknown) => boolean;

const LATEST = 'grok-imagine-video-1.5';
const MODELS = [LATEST, 'grok-imagine-video'];
/** Newer models have the rules of the latest. */
const knownAs = (model: unknown): string =>
  /^grok-imagine-video-(?:1\.5-|[2-9])/.test(String(model)) ? LATEST : String(model);
const RATIOS = ['1:1', '16:9', '9:16', '4:3', '3:4', '3:2', '2:3'];
const isWhole =
  (min: number, max: number): Check =>
  (value) =>
    Number.isInteger(value) && Number(value) >= min && Number(value) <= max;
const isFile =
  (pattern: RegExp): Check =>
  (value) =>
    pattern.test(String((value as Body | null)?.url));
const isImage = isFile(/^https?:\/\/|^data:image\/[a-z]+;base64,/);
/** Videos are fetched. */
const isVideo = isFile(/^https?:\/\//);
const isAudio = isFile(/^https?:\/\/|^data:audio\/[a-z0-9.+-]+;base64,/);
const isList =
  (most: number, check: Check): Check =>
  (value) =>
    Array.isArray(value) && value.length >= 1 && value.length <= most && value.every(check);
const isText: Check = (value) => typeof value === 'string' && value.length >= 1 && value.length <= 4_096;

const COMMON: Readonly<Record<string, Check>> = {
  model: (value) => MODELS.includes(knownAs(value)),
  prompt: isText,
};
const FIELDS: Readonly<Record<string, Readonly<Record<string, Check>>>> = {
  generations: {
    ...COMMON,
    duration: isWhole(1, 15),
    aspect_ratio: (value) => RATIOS.includes(String(value)),
    resolution: (value) => ['480p', '720p', '1080p'].includes(String(value)),
    image: isImage,
    last_frame: isImage,
    keyframes: isList(4, (entry) => isImage((entry as Body).image) && Number((entry as Body).timestamp_s) > 0),
    reference_images: isList(7, isImage),
    reference_audios: isList(3, isAudio),
    generate_audio: (value) => typeof value === 'boolean',
    user: isText,
  },
  edits: { ...COMMON, video: isVideo, user: isText },
  extensions: { ...COMMON, video: isVideo, duration: isWhole(2, 10) },
};

/** Conditions between fields; undefined if all hold. */
function findConflict(body: Body): string | undefined {
  const { resolution, image, reference_images: references, reference_audios: audios } = body;
  const model = knownAs(body.model);
  const hasReferences = references !== undefined || audios !== undefined;
  if (hasReferences && image !== undefined) return 'image cannot be combined with reference_images';
  if (hasReferences && resolution === '1080p') return 'resolution is at most 720p with reference_images';
  if (model !== LATEST && resolution === '1080p') return 'resolution 1080p is not supported by this model';
  const latest = ['last_frame', 'keyframes', 'reference_audios'].find((name) => body[name] !== undefined);
  if (model !== LATEST && latest !== undefined) return `${latest} is not supported by this model`;
  if (body.last_frame !== undefined && image === undefined) return 'last_frame needs an image';
  const marks = (Array.isArray(body.keyframes) ? body.keyframes : []) as readonly { readonly timestamp_s: number }[];
  if (marks.some(({ timestamp_s: at }) => at >= Number(body.duration ?? 8)))
    return 'keyframes must lie within the video';
  return undefined;
}

function submit(request: SimulatorRequest, context: SimulatorContext): SimulatorResponse {
  const body = request.json();
  if (!body) return refusal('invalid');
  const fields = FIELDS[request.path.split('/').at(-1) ?? ''] ?? {};
  if (!MODELS.includes(knownAs(body.model))) return refusal('model');
  const missing = ['prompt', ...(fields.video ? ['video'] : [])].find((name) => body[name] === undefined);
  const wrong = missing ?? Object.keys(body).find((name) => !fields[name]?.(body[name])) ?? findConflict(body);
  if (wrong !== undefined) return refusal('invalid', `Invalid request: ${wrong}.`);
  const job = context.createJob({
    id: randomUUID(),
    prompt: String(body.prompt),
    model: String(body.model),
    input: body,
    shape: toShape(body.aspect_ratio),
    audio: body.generate_audio !== false,
    seconds: Number(body.duration ?? 8),
  });
  return jsonResponse(200, { request_id: job.id });
}

const STATUS: Readonly<Record<JobPhase, string>> = {
  queued: 'pending',
  running: 'processing',
  succeeded: 'done',
  failed: 'failed',
  filtered: 'done',
  expired: 'expired',
  cancelled: 'failed',
  unknown: 'held',
};

function toTask(job: Job, context: SimulatorContext): Body {
  const { phase, hasArtifact } = context.pollJob(job);
  const isDone = STATUS[phase] === 'done';
  const url = phase === 'succeeded' && hasArtifact ? context.artifactUrl(job) : undefined;
  return {
    status: STATUS[phase],
    model: job.model,
    video: isDone ? { url, duration: job.seconds, respect_moderation: phase !== 'filtered' } : undefined,
    error: phase === 'failed' ? { code: 'internal', message: 'The video could not be generated.' } : undefined,
  };
}

/** Simulated xAI. */
export const xai = defineSimulator({
  name: 'xai',
  credentials: () => ({ api_key: KEY }),
  authorize: ({ headers }) => (headers.authorization === `Bearer ${KEY}` ? undefined : refusal('unauthorized')),
  problem: refusal,
  routes: [
    ...Object.keys(FIELDS).map((name) => ({
      method: 'POST' as const,
      path: `/v1/videos/${name}`,
      operation: 'submit' as const,
      handle: submit,
    })),
    {
      method: 'GET',
      path: /^\/v1\/videos\/(?<id>[^/]+)$/,
      operation: 'query',
      handle({ params }, context) {
        const job = context.jobs.find(params.id ?? '');
        if (!job) return refusal('not_found');
        const task = toTask(job, context);
        return jsonResponse(task.status === 'pending' || task.status === 'processing' ? 202 : 200, task);
      },
    },
    { method: 'GET', path: '/v1/models', operation: 'other', handle: () => jsonResponse(200, { data: [] }) },
  ],
});
