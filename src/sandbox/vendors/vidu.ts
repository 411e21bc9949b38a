import {
  defineSimulator,
  type Job,
  type JobPhase,
  jsonResponse,
  newDigits,
  type ProblemKind,
  type SimulatorContext,
  type SimulatorResponse,
} from '../simulator.ts';
import { viduCredits } from './billed-units.ts';

/** Vidu's enterprise API `/ent/v2` (platform.vidu.com/docs): four submit paths by type of input, one poll, one list. */

const API_KEY = 'vda_sandbox_9c1f6c0e5a';

/** Kratos-style error bodies; `reason` is the decisive code, and lack of credits is a plain 400. */
const PROBLEMS: Readonly<Record<ProblemKind, readonly [status: number, reason: string, message: string]>> = {
  unauthorized: [401, 'Unauthorized', 'invalid api key'],
  forbidden: [403, 'Forbidden', 'this key may not use the service'],
  billing: [400, 'CreditInsufficient', 'credits are not enough'],
  model: [400, 'ModelUnavailable', 'the model is not available'],
  rate: [429, 'TooManyRequests', 'too many requests'],
  concurrency: [429, 'QuotaExceeded', 'too many running tasks'],
  overloaded: [503, 'InternalServiceFailure', 'the system is busy'],
  broken: [500, 'InternalServiceFailure', 'internal service failure'],
  timeout: [504, 'InternalServiceFailure', 'upstream timed out'],
  policy: [400, 'TaskPromptPolicyViolation', 'the prompt breaks the content policy'],
  invalid: [400, 'FieldInvalid', 'a field is invalid'],
  not_found: [404, 'TaskNotFound', 'task not found'],
};

const failure = (status: number, reason: string, message: string): SimulatorResponse =>
  jsonResponse(status, { code: status, reason, message, metadata: {} });

const STATE: Readonly<Record<JobPhase, string>> = {
  queued: 'queueing',
  running: 'processing',
  succeeded: 'success',
  failed: 'failed',
  filtered: 'failed',
  expired: 'failed',
  cancelled: 'failed',
  unknown: 'hibernating',
};
const ERR_CODE: Readonly<Partial<Record<JobPhase, string>>> = {
  failed: 'InternalServiceFailure',
  filtered: 'CreationPolicyViolation',
  expired: 'Canceled',
  cancelled: 'UserCancelled',
};

const PACKAGE_CREDITS = 1_000_000;

function creditsOf(job: Job): number {
  const { resolution, isReference } = job.input as { readonly resolution?: unknown; readonly isReference: boolean };
  return viduCredits(job.model, typeof resolution === 'string' ? resolution : '720p', job.seconds, isReference);
}

function submit(
  task: ViduTask,
  request: { json(): Readonly<Record<string, unknown>> | undefined },
  context: SimulatorContext,
) {
  const body = request.json();
  if (!body) return failure(400, 'CODEC', 'body is not a JSON object');
  const refusal = checkViduBody(task, body);
  if (refusal) return failure(400, refusal.reason, refusal.message);
  const job = context.createJob({
    id: `899${newDigits(context.now())}`,
    prompt: typeof body.prompt === 'string' ? body.prompt : '',
    model: typeof body.model === 'string' ? body.model : '',
    input: { ...body, isReference: task === 'reference2video' },
    externalId: typeof body.payload === 'string' ? body.payload : undefined,
    shape: body.aspect_ratio === '9:16' || body.aspect_ratio === '1:1' ? body.aspect_ratio : '16:9',
    audio: body.audio === true || body.bgm === true,
    seconds: Number(body.duration ?? 5),
  });
  return jsonResponse(200, {
    task_id: job.id,
    type: task,
    state: 'created',
    ...body,
    seed: body.seed ?? 1_746_093_211,
    credits: creditsOf(job),
    created_at: new Date(job.createdAtMs).toISOString().replace('Z', '123Z'),
  });
}

function toCreations(job: Job, context: SimulatorContext) {
  const snapshot = context.pollJob(job);
  const payload = job.externalId ?? '';
  const creation = {
    id: `${job.id}0`,
    url: context.artifactUrl(job),
    cover_url: context.artifactUrl(job, 'thumbnail'),
    watermarked_url: '',
  };
  return {
    id: job.id,
    state: STATE[snapshot.phase],
    err_code: ERR_CODE[snapshot.phase] ?? '',
    credits: ERR_CODE[snapshot.phase] ? 0 : creditsOf(job),
    payload,
    bgm: false,
    off_peak: false,
    creations: snapshot.hasArtifact ? [creation] : [],
  };
}

const submitRoute = (task: ViduTask) => ({
  method: 'POST' as const,
  path: `/ent/v2/${task}`,
  operation: 'submit' as const,
  handle: (request: Parameters<typeof submit>[1], context: SimulatorContext) => submit(task, request, context),
});

/** Simulated Vidu. */
export const vidu = defineSimulator({
  name: 'vidu',
  credentials: () => ({ api_key: API_KEY }),
  authorize(request) {
    // The id is parsed before the key is verified.
    const id = /^\/ent\/v2\/tasks\/([^/]+)\/creations$/.exec(request.path)?.[1];
    if (id !== undefined && !/^\d{1,19}$/.test(id)) return failure(400, 'CODEC', `parsing field "id": ${id}`);
    return request.headers.authorization === `Token ${API_KEY}` ? undefined : this.problem('unauthorized');
  },
  problem(problem, message) {
    const [status, reason, usual] = PROBLEMS[problem];
    return failure(status, reason, message ?? usual);
  },
  routes: [
    submitRoute('text2video'),
    submitRoute('img2video'),
    submitRoute('start-end2video'),
    submitRoute('reference2video'),
    {
      method: 'GET',
      path: /^\/ent\/v2\/tasks\/(?<id>\d+)\/creations$/,
      operation: 'query',
      handle({ params }, context) {
        const job = context.jobs.find(params.id ?? '');
        return job ? jsonResponse(200, toCreations(job, context)) : failure(404, 'TaskNotFound', 'task not found');
      },
    },
    {
      method: 'GET',
      path: '/ent/v2/credits',
      operation: 'other',
      handle(_request, context) {
        const used = context.jobs
          .all()
          .filter((job) => context.jobs.snapshot(job).phase === 'succeeded')
          .reduce((sum, job) => sum + creditsOf(job), 0);
        return jsonResponse(200, { remains: [{ type: 'metered', credit_remain: PACKAGE_CREDITS - used }] });
      },
    },
    {
      method: 'POST',
      path: /^\/ent\/v2\/tasks\/(?<id>\d+)\/cancel$/,
      operation: 'other',
      handle({ params }, context) {
        const job = context.jobs.find(params.id ?? '');
        if (!job) return failure(404, 'TaskNotFound', 'task not found');
        const { phase } = context.jobs.snapshot(job);
        if (phase !== 'queued') return failure(400, 'BadRequest', `task state is ${STATE[phase]}, can not cancel`);
        job.outcome = 'cancel';
        return jsonResponse(200, {});
      },
    },
    {
      method: 'GET',
      path: '/ent/v2/tasks',
      operation: 'other',
      handle({ query }, context) {
        const size = Math.min(Number(query.get('pager.pagesz') ?? 10), 100);
        const [from = 0, to = Number.POSITIVE_INFINITY] = ['created_at.from', 'created_at.to'].map((name) => {
          const time = query.get(name);
          return time === null ? undefined : Date.parse(time);
        });
        const first = Number(query.get('pager.page') ?? 0) * size;
        const newest = context.jobs.all().toReversed();
        const asked = newest.filter(({ createdAtMs }) => createdAtMs >= from && createdAtMs <= to);
        const tasks = asked
          .slice(first, first + size)
          .map((job) => ({ ...toCreations(job, context), model: job.model, prompt: job.prompt }));
        return jsonResponse(200, { tasks, next_page_token: '' });
      },
    },
  ],
});

type ViduTask = 'text2video' | 'img2video' | 'start-end2video' | 'reference2video';

/** Minimum and maximum seconds of a model on each path; unsupported paths are absent. */
interface Model {
  readonly seconds: Readonly<Partial<Record<ViduTask, readonly [first: number, last: number]>>>;
  readonly resolutions: readonly string[];
}

const LARGE = ['540p', '720p', '1080p'];
const MODELS: Readonly<Record<string, Model>> = {
  'viduq3-pro': {
    seconds: { text2video: [1, 16], img2video: [1, 16], 'start-end2video': [1, 16] },
    resolutions: LARGE,
  },
  'viduq3-turbo': {
    seconds: { text2video: [1, 16], img2video: [1, 16], 'start-end2video': [1, 16], reference2video: [3, 16] },
    resolutions: LARGE,
  },
  'viduq3-pro-fast': { seconds: { img2video: [1, 16] }, resolutions: ['720p', '1080p'] },
  viduq3: { seconds: { reference2video: [3, 16] }, resolutions: LARGE },
  'viduq3-mix': { seconds: { reference2video: [3, 16] }, resolutions: ['720p', '1080p'] },
  viduq2: { seconds: { text2video: [1, 10], reference2video: [1, 10] }, resolutions: LARGE },
  'viduq2-pro': {
    seconds: { img2video: [1, 10], 'start-end2video': [1, 8], reference2video: [0, 10] },
    resolutions: LARGE,
  },
  'viduq2-turbo': { seconds: { img2video: [1, 10], 'start-end2video': [1, 8] }, resolutions: LARGE },
  'viduq2-pro-fast': { seconds: { img2video: [1, 10], 'start-end2video': [1, 8] }, resolutions: ['720p', '1080p'] },
  viduq1: {
    seconds: { text2video: [5, 5], img2video: [5, 5], 'start-end2video': [5, 5], reference2video: [5, 5] },
    resolutions: ['1080p'],
  },
  'viduq1-classic': { seconds: { img2video: [5, 5], 'start-end2video': [5, 5] }, resolutions: ['1080p'] },
  'vidu2.0': {
    seconds: { img2video: [4, 8], 'start-end2video': [4, 8], reference2video: [4, 4] },
    resolutions: ['360p', '720p', '1080p'],
  },
};

/** Newer models than those above have every path. */
const NEWER_MODEL = /^viduq[4-9]/;
const NEWER: Model = {
  seconds: { text2video: [1, 16], img2video: [1, 16], 'start-end2video': [1, 16], reference2video: [1, 16] },
  resolutions: LARGE,
};

type Check = (value: unknown) => boolean;
const isText =
  (max: number): Check =>
  (value) =>
    typeof value === 'string' && value.length <= max;
const isFlag: Check = (value) => typeof value === 'boolean';
const isOneOf =
  (...words: string[]): Check =>
  (value) =>
    typeof value === 'string' && words.includes(value);
const isWhole: Check = (value) => Number.isSafeInteger(value);

/** A URL, or Base64 with a MIME type prefix: the vendor rejects bare Base64. */
const isImage: Check = (value) =>
  typeof value === 'string' &&
  (/^https?:\/\/\S+$/.test(value) || /^data:image\/(?:png|jpe?g|webp);base64,[A-Za-z0-9+/]+={0,2}$/.test(value));

const EVERYWHERE: Readonly<Record<string, Check>> = {
  model: isText(64),
  prompt: isText(5000),
  duration: isWhole,
  seed: isWhole,
  resolution: isText(8),
  movement_amplitude: isOneOf('auto', 'small', 'medium', 'large'),
  bgm: isFlag,
  audio: isFlag,
  off_peak: isFlag,
  payload: isText(1_048_576),
  watermark: isFlag,
  wm_position: isWhole,
  wm_url: isText(2048),
  meta_data: isText(1_048_576),
  callback_url: isText(2048),
};
const RATIO = { aspect_ratio: isOneOf('16:9', '9:16', '1:1', '4:3', '3:4') };
const IMAGES: Check = (value) => Array.isArray(value) && value.every(isImage);
const VOICE = { audio_type: isOneOf('all', 'speech_only', 'sound_effect_only') };
const PLACE: Readonly<Record<ViduTask, Readonly<Record<string, Check>>>> = {
  text2video: { ...RATIO, style: isOneOf('general', 'anime') },
  img2video: { ...VOICE, images: IMAGES, voice_id: isText(64), is_rec: isFlag },
  'start-end2video': { images: IMAGES, is_rec: isFlag },
  reference2video: { ...RATIO, ...VOICE, images: IMAGES },
};
const IMAGE_COUNT: Readonly<Record<ViduTask, readonly [least: number, most: number]>> = {
  text2video: [0, 0],
  img2video: [1, 1],
  'start-end2video': [2, 2],
  reference2video: [1, 7],
};

/** The vendor's objection to a submit's body; undefined if the body is valid. */
function checkViduBody(
  task: ViduTask,
  body: Readonly<Record<string, unknown>>,
): { reason: string; message: string } | undefined {
  const wrong = (reason: string, message: string) => ({ reason, message });
  const known: Readonly<Record<string, Check>> = { ...EVERYWHERE, ...PLACE[task] };
  for (const [key, value] of Object.entries(body)) {
    const check = Object.hasOwn(known, key) ? known[key] : undefined;
    if (!check) return wrong('FieldUnwanted', `field ${key} is unwanted`);
    if (!check(value)) return wrong('FieldInvalid', `field ${key} is invalid`);
  }
  if (body.model === undefined) return wrong('FieldLacking', 'field model is lacking');
  const text = (key: string): string => (typeof body[key] === 'string' ? body[key] : '');
  const model = MODELS[text('model')] ?? (NEWER_MODEL.test(text('model')) ? NEWER : undefined);
  const seconds = model?.seconds[task];
  if (!model || !seconds) return wrong('ModelUnavailable', `model ${text('model')} is unavailable for ${task}`);
  const needsPrompt = task === 'text2video' || task === 'reference2video';
  if (needsPrompt && !body.prompt) return wrong('FieldLacking', 'field prompt is lacking');
  const [least, most] = IMAGE_COUNT[task];
  const count = Array.isArray(body.images) ? body.images.length : 0;
  if (count < least || count > most) return wrong('FieldItemCountOutOfRange', 'field images has a wrong count');
  const isTwo = body.model === 'vidu2.0';
  const duration = Number(body.duration ?? (isTwo ? 4 : 5));
  if (duration < seconds[0] || duration > seconds[1] || (isTwo && duration !== 4 && duration !== 8)) {
    return wrong('FieldInvalid', 'field duration is invalid');
  }
  const small = isTwo && duration === 8 ? ['720p'] : isTwo && task === 'reference2video' ? ['360p', '720p'] : undefined;
  const resolutions = small ?? model.resolutions;
  if (body.resolution !== undefined && !resolutions.includes(text('resolution'))) {
    return wrong('FieldInvalid', 'field resolution is invalid');
  }
  return undefined;
}
