import {
  defineSimulator,
  type Job,
  type JobPhase,
  jsonResponse,
  type ProblemKind,
  type Route,
  type SimulatorContext,
  type SimulatorResponse,
  toShape,
} from '../simulator.ts';

const KEY = '3f1c0a52-sandbox-seedance';

let serial = 0;
const refusal = (status: number, type: string, code: string, message: string, param = ''): SimulatorResponse => {
  serial += 1;
  const text = `${message} Request id: 02176740${String(serial).padStart(8, '0')}`;
  return jsonResponse(status, { error: { code, message: text, param, type } });
};

const PROBLEMS: Readonly<Record<ProblemKind, readonly [number, string, string, string]>> = {
  unauthorized: [401, 'Unauthorized', 'AuthenticationError', 'The API key in the request is missing or invalid.'],
  forbidden: [403, 'Forbidden', 'AccessDenied', 'The request failed because you do not have access to the resource.'],
  billing: [403, 'Forbidden', 'AccountOverdueError', 'The request failed because your account has an overdue balance.'],
  model: [404, 'NotFound', 'ModelNotOpen', 'Your account has not activated the model.'],
  rate: [429, 'TooManyRequests', 'ModelAccountRpmRateLimitExceeded', 'RPM limit of the model is exceeded.'],
  concurrency: [429, 'TooManyRequests', 'QuotaExceeded', 'The request has exceeded the quota.'],
  overloaded: [429, 'TooManyRequests', 'ServerOverloaded', 'The service is currently unable to handle more requests.'],
  broken: [500, 'InternalServerError', 'InternalServiceError', 'The service encountered an unexpected internal error.'],
  timeout: [500, 'InternalServerError', 'InternalServiceError', 'The service did not answer in time.'],
  policy: [400, 'BadRequest', 'InputTextSensitiveContentDetected', 'The input text may contain sensitive information.'],
  invalid: [400, 'BadRequest', 'InvalidParameter', 'One or more parameters specified in the request are not valid.'],
  not_found: [404, 'NotFound', 'NotFound.Task', 'The specified task is not found.'],
};

const WORDS: Readonly<Record<JobPhase, string>> = {
  queued: 'queued',
  running: 'running',
  succeeded: 'succeeded',
  failed: 'failed',
  filtered: 'failed',
  expired: 'expired',
  cancelled: 'cancelled',
  unknown: 'paused',
};
const ERRORS: Readonly<Partial<Record<JobPhase, { code: string; message: string }>>> = {
  failed: { code: 'InternalServiceError', message: 'The service encountered an unexpected internal error.' },
  filtered: {
    code: 'OutputVideoSensitiveContentDetected',
    message: 'The output video may contain sensitive information.',
  },
};

const seconds = (ms: number) => Math.floor(ms / 1000);

/** Pixels of a 16:9 clip, from which billed tokens are computed. */
const PIXELS: Readonly<Record<string, number>> = {
  '480p': 864 * 480,
  '720p': 1280 * 720,
  '1080p': 1920 * 1080,
  '4k': 3840 * 2160,
};

function toTask(job: Job, context: SimulatorContext): Readonly<Record<string, unknown>> {
  const { phase, hasArtifact } = context.pollJob(job);
  const input = job.input as Readonly<Record<string, unknown>>;
  const resolution = typeof input.resolution === 'string' ? input.resolution : modelOf(job.model)?.resolution;
  const tokens = Math.round(((PIXELS[resolution ?? ''] ?? PIXELS['720p'] ?? 0) * 24 * job.seconds) / 1024);
  const link = `X-Tos-Expires=86400&X-Tos-Signature=sandbox`;
  const isDone = phase === 'succeeded';
  return {
    id: job.id,
    model: job.model,
    status: WORDS[phase],
    error: ERRORS[phase],
    content: hasArtifact ? { video_url: `${context.artifactUrl(job)}?${link}` } : undefined,
    usage: isDone ? { completion_tokens: tokens, total_tokens: tokens } : undefined,
    created_at: seconds(job.createdAtMs),
    updated_at: seconds(isDone ? context.jobs.finishedAtMs(job) : context.now()),
    ...(isDone && {
      seed: input.seed ?? 11,
      resolution,
      ratio: job.shape,
      framespersecond: 24,
      duration: input.frames === undefined ? job.seconds : undefined,
      frames: input.frames,
    }),
    service_tier: 'default',
    execution_expires_after: 172_800,
  };
}

let count = 0;
/** `cgt-`, 14 digits of time, five characters. */
function newId(nowMs: number): string {
  count += 1;
  const time = new Date(nowMs).toISOString().replace(/\D/g, '').slice(0, 14);
  return `cgt-${time}-${count.toString(36).padStart(5, '0')}`;
}

function lengthOf(body: Readonly<Record<string, unknown>>): number {
  if (typeof body.frames === 'number') return body.frames / 24;
  return typeof body.duration === 'number' && body.duration > 0 ? body.duration : 5;
}

/** Settings that the final video takes from its draft. */
const OF_THE_DRAFT = ['duration', 'frames', 'ratio', 'seed', 'generate_audio', 'camera_fixed', 'draft'];

/** Starts the final video of a finished draft, which has everything but the resolution from its draft. */
function finishDraft(
  body: Readonly<Record<string, unknown>>,
  items: readonly Item[],
  { finals = [] }: Model,
  context: SimulatorContext,
): SimulatorResponse {
  const draft = context.jobs.find(String(items[0]?.draft_task?.id));
  const isDone = draft !== undefined && context.jobs.snapshot(draft).phase === 'succeeded';
  const isDraft = isDone && (draft.input as { draft?: unknown }).draft === true && draft.model === body.model;
  const isAlone = items.length === 1 && OF_THE_DRAFT.every((name) => body[name] === undefined);
  const { resolution = finals[0] } = body;
  if (!isDraft || !isAlone || !finals.some((name) => name === resolution))
    return refusal(400, 'BadRequest', 'InvalidParameter', 'The parameter `draft_task` is not valid.', 'content');
  const { prompt, seconds, shape, audio, model } = draft;
  const input = { ...body, resolution };
  const job = context.createJob({ id: newId(context.now()), model, prompt, input, seconds, shape, audio });
  return jsonResponse(200, { id: job.id });
}

const TASKS = '/api/v3/contents/generations/tasks';
const TASK = /^\/api\/v3\/contents\/generations\/tasks\/(?<id>[^/]+)$/;

const routes: readonly Route[] = [
  {
    method: 'POST',
    path: TASKS,
    operation: 'submit',
    handle(request, context) {
      const body = request.json();
      if (!body) return refusal(...PROBLEMS.invalid);
      const model = modelOf(String(body.model));
      if (!model) {
        const text = `The model or endpoint ${String(body.model)} does not exist or you do not have access to it.`;
        return refusal(404, 'NotFound', 'InvalidEndpointOrModel.NotFound', text);
      }
      const items = Array.isArray(body.content) ? (body.content as readonly Item[]) : [];
      if (items.some(({ type }) => type === 'draft_task')) return finishDraft(body, items, model, context);
      if (String(body.model).includes('2-5') && breaksTaskConstraint(body, items)) {
        const text = 'The parameters do not fit the task type.';
        return refusal(400, 'BadRequest', 'InvalidParameter.TaskTypeConstraint', text);
      }
      const wrong = findInvalidField(body, model);
      if (wrong) {
        const text = `The parameter \`${wrong}\` specified in the request is not valid.`;
        return refusal(400, 'BadRequest', 'InvalidParameter', text, wrong);
      }
      const texts = (body.content as readonly { text?: unknown }[]).map(({ text }) => text);
      const job = context.createJob({
        id: newId(context.now()),
        model: String(body.model),
        prompt: texts.find((text) => typeof text === 'string') ?? '',
        input: body,
        seconds: lengthOf(body),
        shape: toShape(body.ratio),
        audio: model.audio && body.generate_audio === true,
      });
      return jsonResponse(200, { id: job.id });
    },
  },
  {
    method: 'GET',
    path: TASKS,
    operation: 'other',
    handle({ query }, context) {
      const ids = query.getAll('filter.task_ids');
      const found = context.jobs.all().filter((job) => ids.length === 0 || ids.includes(job.id));
      const [page, size] = [Number(query.get('page_num') ?? 1), Number(query.get('page_size') ?? 20)];
      const shown = found.toReversed().slice((page - 1) * size, page * size);
      const items = shown.map((job) => ({ id: job.id, model: job.model, created_at: seconds(job.createdAtMs) }));
      return jsonResponse(200, { items, total: found.length });
    },
  },
  {
    method: 'GET',
    path: TASK,
    operation: 'query',
    handle({ params }, context) {
      const job = context.jobs.find(params.id ?? '');
      return job ? jsonResponse(200, toTask(job, context)) : refusal(...PROBLEMS.not_found);
    },
  },
  {
    method: 'DELETE',
    path: TASK,
    operation: 'other',
    handle({ params }, context) {
      const job = context.jobs.find(params.id ?? '');
      if (!job) return refusal(...PROBLEMS.not_found);
      const { phase } = context.jobs.snapshot(job);
      if (phase === 'running') {
        return refusal(409, 'Conflict', 'InvalidAction.RunningTaskDeletion', 'The task is running.');
      }
      if (phase === 'queued') job.outcome = 'cancel';
      else context.jobs.remove(job.id);
      return jsonResponse(200, {});
    },
  },
];

/**
 * Volcengine Ark's video generation. The fault `concurrency` with a `message` produces the other meanings of
 * QuotaExceeded.
 */
export const seedance = defineSimulator({
  name: 'seedance',
  credentials: () => ({ api_key: KEY }),
  authorize: (request) =>
    request.headers.authorization === `Bearer ${KEY}` ? undefined : refusal(...PROBLEMS.unauthorized),
  problem(problem, message) {
    const [status, type, code, text] = PROBLEMS[problem];
    return refusal(status, type, code, message ?? text);
  },
  routes,
});

/** Values Ark accepts for each series of models, and the errors it returns. */
interface Model {
  readonly resolutions: readonly string[];
  readonly resolution: string;
  readonly min: number;
  readonly max: number;
  readonly auto: boolean;
  readonly frames: number;
  readonly references: number;
  /** Videos, and audio files. */
  readonly clips?: number;
  /** Resolutions of the final video of a draft; absent: no drafts. */
  readonly finals?: readonly string[];
  readonly audio: boolean;
}

const ALL = ['480p', '720p', '1080p'];
const one = (frames: number, resolution: string, references = 0): Model => {
  return { resolutions: ALL, resolution, min: 2, max: 12, auto: false, frames, references, audio: false };
};
const two = (resolutions: readonly string[], max: number, references: number, clips = 3): Model => {
  return { resolutions, resolution: '720p', min: 4, max, auto: true, frames: 2, references, clips, audio: true };
};

const MODELS: Readonly<Record<string, Model>> = {
  '1-0-pro': one(2, '1080p'),
  '1-0-pro-fast': one(1, '1080p'),
  '1-0-lite-t2v': one(0, '720p'),
  '1-0-lite-i2v': one(2, '720p', 4),
  '1-5-pro': { ...two(ALL, 12, 0), finals: ['720p', '1080p'] },
  '2-0': two([...ALL, '4k'], 15, 9),
  '2-0-fast': two(['480p', '720p'], 15, 9),
  '2-0-mini': two(['480p', '720p'], 15, 9),
  '2-5': { ...two([...ALL, '4k'], 30, 30, 10), finals: ['1080p'] },
  '2-5-flash': two(['480p', '720p'], 30, 30, 10),
};

/** A newer model than those above has the rules of the newest. */
function modelOf(id: string): Model | undefined {
  const name = /^(?:doubao-|dreamina-)?seedance-([a-z0-9-]+?)(?:-\d{6})?$/.exec(id)?.[1] ?? '';
  return MODELS[name] ?? (/^[3-9]-\d/.test(name) ? MODELS[NEWEST] : undefined);
}
const NEWEST = '2-5';

const RATIOS = ['16:9', '4:3', '1:1', '3:4', '9:16', '21:9', 'adaptive'];
const MEDIA_URL = /^https?:\/\/|^data:image\/[a-z0-9.+-]+;base64,|^asset:\/\//;

interface Item {
  readonly type?: unknown;
  readonly text?: unknown;
  readonly role?: unknown;
  readonly image_url?: { readonly url?: unknown };
  readonly video_url?: { readonly url?: unknown };
  readonly audio_url?: { readonly url?: unknown };
  readonly draft_task?: { readonly id?: unknown };
}

const isMediaUrl = (value: unknown): boolean => typeof value === 'string' && MEDIA_URL.test(value);

function isItem(item: Item): boolean {
  if (item.type === 'text') return typeof item.text === 'string';
  if (item.type === 'image_url') return isMediaUrl(item.image_url?.url);
  if (item.type === 'audio_url')
    return /^https?:\/\/|^data:audio\//.test(String(item.audio_url?.url)) && item.role === 'reference_audio';
  // Videos are not accepted as Base64.
  const isAddress = /^https?:\/\/|^asset:\/\//.test(String(item.video_url?.url));
  return item.type === 'video_url' && isAddress && item.role === 'reference_video';
}

/** Whether the roles form one of the three modes: a first frame, a first and a last frame, or references. */
function areRoles(items: readonly Item[], model: Model): boolean {
  const images = items.filter(({ type }) => type === 'image_url').map(({ role }) => role);
  const references = images.filter((role) => role === 'reference_image').length;
  const frames = images.length - references;
  const videos = items.filter(({ type }) => type === 'video_url').length;
  const audios = items.filter(({ type }) => type === 'audio_url').length;
  const { clips = 0 } = model;
  if (Math.max(videos, audios) > clips || references > model.references) return false;
  // Before 2.5 audio needs an image or a video beside it.
  if (audios > 0 && references + videos === 0 && clips < 10) return false;
  if (references + videos + audios > 0) return frames === 0;
  if (frames > model.frames) return false;
  if (frames === 2) return images.includes('first_frame') && images.includes('last_frame');
  return frames === 0 || images[0] === undefined || images[0] === 'first_frame';
}

const isWhole = (value: unknown, min: number, max: number): boolean =>
  typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max;
const isFlag = (value: unknown): boolean => value === undefined || typeof value === 'boolean';

/** 2.5 names the task of a video, and accepts no ratio but `adaptive` where the inputs determine it. */
function breaksTaskConstraint(body: Readonly<Record<string, unknown>>, items: readonly Item[]): boolean {
  const { omni_reference_task_type: task, ratio, duration } = body;
  const isFrame = items.some(({ role }) => role === 'first_frame' || role === 'last_frame');
  if (!isFrame && task !== 'edit' && task !== 'extend') return false;
  const hasVideo = items.some(({ type }) => type === 'video_url');
  if (!isFrame && !hasVideo) return true;
  return (ratio !== undefined && ratio !== 'adaptive') || (task === 'edit' && duration !== -1);
}

/** Name of the first invalid field; body fields are validated strictly. */
function findInvalidField(body: Readonly<Record<string, unknown>>, model: Model): string | undefined {
  const { content, duration, frames, resolution, ratio, seed } = body;
  if (!Array.isArray(content) || content.length === 0) return 'content';
  const items = content as readonly Item[];
  if (!items.every(isItem) || !areRoles(items, model)) return 'content';
  const hasText = items.some(({ type, text }) => type === 'text' && text !== '');
  if (!hasText && items.every(({ type }) => type === 'text')) return 'content';
  if (resolution !== undefined && !model.resolutions.some((name) => name === resolution)) return 'resolution';
  if (ratio !== undefined && !RATIOS.some((name) => name === ratio)) return 'ratio';
  if (frames !== undefined && !(isWhole(frames, 29, 289) && (Number(frames) - 25) % 4 === 0)) return 'frames';
  if (duration !== undefined && !isWhole(duration, model.min, model.max) && !(model.auto && duration === -1)) {
    return 'duration';
  }
  const isLiteReference = model.references === 4 && items.some(({ role }) => role === 'reference_image');
  if (isLiteReference && (resolution === '1080p' || ratio === 'adaptive')) return 'resolution';
  if (body.omni_reference_task_type !== undefined && model.clips !== 10) return 'omni_reference_task_type';
  if (body.draft === true && (model.finals === undefined || resolution !== '480p')) return 'draft';
  if (seed !== undefined && !isWhole(seed, -1, 2 ** 32 - 1)) return 'seed';
  if (body.generate_audio !== undefined && !model.audio) return 'generate_audio';
  return ['generate_audio', 'camera_fixed', 'watermark'].find((name) => !isFlag(body[name]));
}
