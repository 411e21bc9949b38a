import { randomUUID } from 'node:crypto';
import { asObject } from '../../contract/objects.ts';
import {
  defineSimulator,
  type Job,
  type JobPhase,
  jsonResponse,
  type ProblemKind,
  type Route,
  type SimulatorContext,
  type SimulatorRequest,
  type SimulatorResponse,
  toShape,
} from '../simulator.ts';

const KEY = 'sk-sandbox-wan';

const refusal = (status: number, code: string, message: string): SimulatorResponse =>
  jsonResponse(status, { code, message, request_id: randomUUID() });

const PROBLEMS: Readonly<Record<ProblemKind, readonly [number, string, string]>> = {
  unauthorized: [401, 'InvalidApiKey', 'Invalid API-key provided.'],
  forbidden: [403, 'AccessDenied', 'Access denied.'],
  billing: [400, 'Arrearage', 'Access denied, please make sure your account is in good standing.'],
  model: [403, 'Model.AccessDenied', 'Model access denied.'],
  rate: [429, 'Throttling.RateQuota', 'Requests rate limit exceeded, please try again later.'],
  concurrency: [429, 'Throttling', 'Too many tasks are running.'],
  overloaded: [503, 'ModelUnavailable', 'The model is unavailable, please try again later.'],
  broken: [500, 'InternalError', 'An internal error has occurred, please try again later.'],
  timeout: [500, 'InternalError.Timeout', 'The request timed out.'],
  policy: [400, 'DataInspectionFailed', 'Input data may contain inappropriate content.'],
  invalid: [400, 'InvalidParameter', 'A parameter is invalid.'],
  not_found: [404, 'NotFound', 'Not found.'],
};

const WORDS: Readonly<Record<JobPhase, string>> = {
  queued: 'PENDING',
  running: 'RUNNING',
  succeeded: 'SUCCEEDED',
  failed: 'FAILED',
  filtered: 'FAILED',
  cancelled: 'CANCELED',
  expired: 'UNKNOWN',
  unknown: 'SUSPENDED',
};
const ERRORS: Readonly<Partial<Record<JobPhase, { code: string; message: string }>>> = {
  failed: { code: 'InternalError.Algo', message: 'An internal error has occurred during the computation.' },
  filtered: { code: 'DataInspectionFailed', message: 'Output data may contain inappropriate content.' },
};

/** Assumed length of every input video, because the simulator does not download files. */
const INPUT_SECONDS = 5;

/** Errors that fail an accepted task once the vendor processes it. */
const complaints = new WeakMap<Job, string>();

/** `YYYY-MM-DD HH:mm:ss.SSS` in Beijing time, without the time zone. */
const toTime = (ms: number): string => new Date(ms + 8 * 3_600_000).toISOString().replace('T', ' ').replace('Z', '');

/** Seconds of videos to refer to or to extend, which are billed. */
function referredSeconds({ input, model }: Job): number {
  const { media, reference_urls: urls } = asFields(asFields(input).input);
  const isClip = (type: unknown): boolean => type === 'reference_video' || type === 'first_clip';
  const hasClip = Array.isArray(media) && media.some((item) => isClip(asFields(item).type));
  const hasVideo = Array.isArray(urls) && urls.some((each) => /\.(?:mp4|mov)\b/.test(String(each)));
  return model.startsWith('wan') && (hasClip || hasVideo) ? INPUT_SECONDS : 0;
}

/** Three shapes: older models, newer ones, and references, whose numbers have a decimal point. */
function toUsage(job: Job): Readonly<Record<string, unknown>> {
  if (/2\.[12]-/.test(job.model)) return { video_duration: job.seconds, video_count: 1, SR: 720 };
  if (job.model === 'wan2.7-videoedit') {
    const seconds = { input_video_duration: INPUT_SECONDS, output_video_duration: job.seconds };
    return { duration: INPUT_SECONDS + job.seconds, ...seconds, video_count: 1, SR: 720 };
  }
  const input = referredSeconds(job);
  if (input > 0) {
    const seconds = { input_video_duration: input, output_video_duration: job.seconds };
    return { duration: input + job.seconds, ...seconds, video_count: 1, SR: 720 };
  }
  const duration = job.model.includes('r2v') ? `${job.seconds}.0` : job.seconds;
  return { duration, input_video_duration: 0, output_video_duration: duration, video_count: 1, SR: 720 };
}

function toTask(job: Job, context: SimulatorContext): Readonly<Record<string, unknown>> {
  const { phase, hasArtifact } = context.pollJob(job);
  const head = { request_id: randomUUID() };
  if (phase === 'expired') return { ...head, output: { task_id: job.id, task_status: 'UNKNOWN' } };
  const complaint = complaints.get(job);
  const error = phase === 'failed' && complaint ? { code: 'InvalidParameter', message: complaint } : ERRORS[phase];
  const isOver = phase !== 'queued' && phase !== 'running';
  const link = 'Expires=1795313500&OSSAccessKeyId=sandbox&Signature=sandbox';
  const output = {
    task_id: job.id,
    task_status: WORDS[phase],
    submit_time: toTime(job.createdAtMs),
    scheduled_time: phase === 'queued' ? undefined : toTime(job.createdAtMs + 1),
    end_time: isOver ? toTime(context.jobs.finishedAtMs(job)) : undefined,
    orig_prompt: phase === 'succeeded' ? job.prompt : undefined,
    video_url: hasArtifact ? `${context.artifactUrl(job)}?${link}` : undefined,
    ...error,
  };
  return { ...head, output, usage: phase === 'succeeded' ? toUsage(job) : undefined };
}

/** Submits one task; a model that belongs to the other path is unknown here. */
function submit(request: SimulatorRequest, context: SimulatorContext, isFramesPath: boolean): SimulatorResponse {
  if (request.headers['x-dashscope-async'] !== 'enable') {
    return refusal(403, 'AccessDenied', 'current user api does not support synchronous calls.');
  }
  const body = request.json();
  if (typeof body?.model !== 'string') return refusal(400, 'InvalidParameter', 'model is required');
  const model = modelOf(body.model);
  if (!model) return refusal(404, 'ModelNotFound', `Model not exist: ${body.model}.`);
  if ((model.kind === 'frames') !== isFramesPath)
    return refusal(400, 'InvalidParameter', 'url error, please check url!');
  const wrong = findErrorAtSubmit(body.model, model, body);
  if (wrong) return refusal(400, 'InvalidParameter', wrong);
  const input = asFields(body.input);
  const { size, ratio, duration, audio } = asFields(body.parameters);
  const job = context.createJob({
    id: randomUUID(),
    model: body.model,
    prompt: typeof input.prompt === 'string' ? input.prompt : '',
    input: body,
    seconds: typeof duration === 'number' && duration > 0 ? duration : 5,
    shape: toShape(size ?? ratio),
    audio: model.audio === true && audio === true,
  });
  const later = findErrorInTask(model, body);
  if (later) {
    complaints.set(job, later);
    job.outcome = 'fail';
  }
  return jsonResponse(200, { request_id: randomUUID(), output: { task_id: job.id, task_status: 'PENDING' } });
}

const routes: readonly Route[] = [
  {
    method: 'POST',
    path: '/api/v1/services/aigc/video-generation/video-synthesis',
    operation: 'submit',
    handle: (request, context) => submit(request, context, false),
  },
  {
    method: 'POST',
    path: '/api/v1/services/aigc/image2video/video-synthesis',
    operation: 'submit',
    handle: (request, context) => submit(request, context, true),
  },
  {
    method: 'GET',
    path: /^\/api\/v1\/tasks\/(?<id>[^/]+)$/,
    operation: 'query',
    handle({ params: { id = '' } }, context) {
      const job = context.jobs.find(id);
      if (job) return jsonResponse(200, toTask(job, context));
      return jsonResponse(200, { request_id: randomUUID(), output: { task_id: id, task_status: 'UNKNOWN' } });
    },
  },
  {
    method: 'POST',
    path: /^\/api\/v1\/tasks\/(?<id>[^/]+)\/cancel$/,
    operation: 'other',
    handle({ params }, context) {
      const job = context.jobs.find(params.id ?? '');
      if (!job || context.jobs.snapshot(job).phase !== 'queued') {
        return refusal(
          400,
          'UnsupportedOperation',
          'Failed to cancel the task, please confirm if the task is in PENDING.',
        );
      }
      job.outcome = 'cancel';
      return jsonResponse(200, { request_id: randomUUID() });
    },
  },
];

/** Alibaba Cloud Model Studio's video synthesis, which accepts nearly everything and fails later. */
export const wan = defineSimulator({
  name: 'wan',
  credentials: () => ({ api_key: KEY }),
  authorize: (request) =>
    request.headers.authorization === `Bearer ${KEY}` ? undefined : refusal(...PROBLEMS.unauthorized),
  problem(problem, message) {
    const [status, code, text] = PROBLEMS[problem];
    return refusal(status, code, message ?? text);
  },
  routes,
});

/** Capabilities of each series of models; the vendor detects most mistakes only while processing the task. */
interface Model {
  readonly kind: 'words' | 'image' | 'frames' | 'references' | 'media';
  readonly classes: readonly string[];
  /** Accepted seconds, as a list or a range. */
  readonly seconds: readonly number[] | readonly [min: number, to: 'to', max: number];
  readonly audio?: boolean;
}

const HD = ['720P', '1080P'];
const ALL = ['480P', '720P', '1080P'];
const LONG = [2, 'to', 15] as const;
const EDITED = [2, 3, 4, 5, 6, 7, 8, 9, 10];

const MODELS: Readonly<Record<string, Model>> = {
  'wan2.6-t2v': { kind: 'words', classes: HD, seconds: LONG, audio: true },
  'wan2.5-t2v-preview': { kind: 'words', classes: ALL, seconds: [5, 10], audio: true },
  'wan2.2-t2v-plus': { kind: 'words', classes: ['480P', '1080P'], seconds: [5] },
  'wanx2.1-t2v-turbo': { kind: 'words', classes: ['480P', '720P'], seconds: [5] },
  'wanx2.1-t2v-plus': { kind: 'words', classes: ['720P'], seconds: [5] },
  'wan2.6-i2v': { kind: 'image', classes: HD, seconds: LONG, audio: true },
  'wan2.6-i2v-flash': { kind: 'image', classes: HD, seconds: LONG, audio: true },
  'wan2.5-i2v-preview': { kind: 'image', classes: ALL, seconds: [5, 10], audio: true },
  'wan2.2-i2v-flash': { kind: 'image', classes: ['480P', '720P'], seconds: [5] },
  'wan2.2-i2v-plus': { kind: 'image', classes: ['480P', '1080P'], seconds: [5] },
  'wanx2.1-i2v-turbo': { kind: 'image', classes: ['480P', '720P'], seconds: [3, 4, 5] },
  'wanx2.1-i2v-plus': { kind: 'image', classes: ['720P'], seconds: [5] },
  'wan2.2-kf2v-flash': { kind: 'frames', classes: ALL, seconds: [5] },
  'wanx2.1-kf2v-plus': { kind: 'frames', classes: ['720P'], seconds: [5] },
  'wan2.6-r2v-flash': { kind: 'references', classes: HD, seconds: LONG, audio: true },
  'wan2.6-r2v': { kind: 'references', classes: HD, seconds: LONG, audio: true },
  'wan2.7-t2v': { kind: 'media', classes: HD, seconds: LONG, audio: true },
  'wan2.7-i2v': { kind: 'media', classes: HD, seconds: LONG, audio: true },
  'wan2.7-r2v': { kind: 'media', classes: HD, seconds: LONG, audio: true },
  'wan2.7-videoedit': { kind: 'media', classes: HD, seconds: [0, ...EDITED], audio: true },
  'happyhorse-1.1-t2v': { kind: 'media', classes: ALL, seconds: [3, 'to', 15], audio: true },
  'happyhorse-1.1-i2v': { kind: 'media', classes: ALL, seconds: [3, 'to', 15], audio: true },
  'happyhorse-1.1-r2v': { kind: 'media', classes: ALL, seconds: [3, 'to', 15], audio: true },
  'happyhorse-1.0-t2v': { kind: 'media', classes: HD, seconds: [3, 'to', 15], audio: true },
  'happyhorse-1.0-i2v': { kind: 'media', classes: HD, seconds: [3, 'to', 15], audio: true },
  'happyhorse-1.0-r2v': { kind: 'media', classes: HD, seconds: [3, 'to', 15], audio: true },
  'wan3.0-video': { kind: 'media', classes: ALL, seconds: [2, 'to', 30], audio: true },
  'wan3.0-video-prime': { kind: 'media', classes: ALL, seconds: [2, 'to', 30], audio: true },
};

/** Newer models than those above take what the newest one takes. */
const modelOf = (id: string): Model | undefined =>
  MODELS[id.replace(/^wan2\.1-/, 'wanx2.1-')] ?? (/^wan[3-9]/.test(id) ? MODELS['wan3.0-video'] : undefined);

const SIZES: Readonly<Record<string, readonly string[]>> = {
  '480P': ['832*480', '480*832', '624*624'],
  '720P': ['1280*720', '720*1280', '960*960', '1088*832', '832*1088'],
  '1080P': ['1920*1080', '1080*1920', '1440*1440', '1632*1248', '1248*1632'],
};

type Fields = Readonly<Record<string, unknown>>;
const asFields = (value: unknown): Fields => asObject(value) ?? {};

const isFile = (value: unknown): boolean =>
  typeof value === 'string' && /^(https?|oss):\/\/|^data:image\/[a-z]+;base64,/.test(value);
const MEDIA_TYPES = [
  ...['first_frame', 'last_frame', 'driving_audio', 'first_clip', 'video'],
  ...['reference_image', 'reference_video', 'reference_audio'],
];
/** The vendor fetches videos and audio. */
const isFetched = (value: unknown): boolean => typeof value === 'string' && /^(https?|oss):\/\//.test(value);

const SETS = [
  'first_frame',
  'driving_audio+first_frame',
  'first_frame+last_frame',
  'driving_audio+first_frame+last_frame',
  'first_clip',
  'first_clip+last_frame',
];

/** Wan 3 takes frames or references, and has no type for audio that drives speech. */
function findInvalidMix(types: readonly string[]): string | undefined {
  const count = (pattern: RegExp) => types.filter((type) => pattern.test(type)).length;
  if (count(/^(?:driving_audio|first_clip|video)$/) > 0) return 'input.media has a type that is not supported';
  if (count(/_frame$/) > 0 && count(/^reference_/) > 0) return 'frames and references exclude each other';
  if (count(/^first_frame$/) > 1 || count(/^last_frame$/) > 1) return 'input.media has too many frames';
  const tooMany = count(/_image$/) > 10 || count(/_video$/) > 5 || count(/_audio$/) > 5;
  return tooMany ? 'input.media has too many references' : undefined;
}

function findInvalidMedia(model: string, input: Fields): string | undefined {
  const media = (input.media ?? []) as readonly { type?: unknown; url?: unknown }[];
  if (!Array.isArray(media) || !media.every(({ url }) => isFile(url))) return 'input.media is invalid';
  const isBy = ({ type, url }: { type?: unknown; url?: unknown }): boolean =>
    MEDIA_TYPES.includes(String(type)) && (/image|frame/.test(String(type)) || isFetched(url));
  if (!media.every(isBy)) return 'input.media has a type or an address that is not supported';
  if ('img_url' in input) return 'input.img_url is not supported by this model';
  const types = media.map(({ type }) => (typeof type === 'string' ? type : '')).toSorted((a, b) => (a < b ? -1 : 1));
  if (/^wan[3-9]/.test(model)) return findInvalidMix(types);
  const references = types.filter((type) => type === 'reference_image' || type === 'reference_video').length;
  if (/i2v/.test(model) && !SETS.includes(types.join('+'))) return 'the types of input.media do not go together';
  const videos = types.filter((type) => type === 'video').length;
  if (/video-?edit/.test(model) ? videos !== 1 || references > 4 : videos > 0) return 'input.media is invalid';
  const most = model.startsWith('happyhorse') ? 9 : 5;
  if (/r2v/.test(model) && (references < 1 || references > most)) return `input.media needs 1 to ${most} references`;
  if (types.filter((type) => type === 'reference_video').length > (model.startsWith('happyhorse') ? 0 : 3))
    return 'input.media has too many videos';
  return undefined;
}

/** The error at submission, when the vendor checks only a few fields; undefined if there is none. */
function findErrorAtSubmit(id: string, model: Model, body: Fields): string | undefined {
  const input = asFields(body.input);
  if (model.kind === 'words' && typeof input.prompt !== 'string') return 'input.prompt is required';
  if (model.kind === 'image' && !isFile(input.img_url) && input.template === undefined)
    return 'input.img_url is required';
  if (model.kind === 'frames' && !isFile(input.first_frame_url)) return 'input.first_frame_url is required';
  if (model.kind === 'references' && !Array.isArray(input.reference_urls)) return 'input.reference_urls is required';
  if (input.audio_url !== undefined && !(model.audio === true && isFetched(input.audio_url)))
    return 'input.audio_url is not supported by this model';
  return model.kind === 'media' ? findInvalidMedia(id, input) : undefined;
}

/** The error that fails the task during processing; undefined if there is none. */
function findErrorInTask(model: Model, body: Fields): string | undefined {
  const { size, resolution, duration = 5, seed } = asFields(body.parameters);
  const exact = model.classes.flatMap((name) => SIZES[name] ?? []);
  const takesSize = model.kind === 'words' || model.kind === 'references';
  if (takesSize && size !== undefined && !exact.some((name) => name === size))
    return `size must be in ${exact.join(',')}`;
  if (!takesSize && resolution !== undefined && !model.classes.some((name) => name === resolution)) {
    return `resolution must be in ${model.classes.join(',')}`;
  }
  const [min, to, max] = model.seconds;
  const isOffered =
    to === 'to'
      ? Number.isInteger(duration) && Number(duration) >= Number(min) && Number(duration) <= Number(max)
      : (model.seconds as readonly unknown[]).includes(duration);
  if (!isOffered) return 'duration customization is not supported';
  if (seed !== undefined && !(Number.isInteger(seed) && Number(seed) >= 0 && Number(seed) < 2 ** 31))
    return 'seed is invalid';
  return undefined;
}
