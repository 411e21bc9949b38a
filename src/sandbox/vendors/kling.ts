import { createHmac, randomInt, timingSafeEqual } from 'node:crypto';
import { asObject } from '../../contract/objects.ts';
import type { Job, JobPhase, JobSnapshot } from '../jobs.ts';
import {
  defineSimulator,
  jsonResponse,
  type ProblemKind,
  type Route,
  type SimulatorContext,
  type SimulatorRequest,
  type SimulatorResponse,
  toShape,
} from '../simulator.ts';
import { klingUnits } from './billed-units.ts';

/** Kling's newer API for 3.0 Turbo: the model is part of the path, and tasks are queried by ids in the query string. */

interface ResponseBuilders {
  envelope(status: number, code: number, message: string, data?: unknown): SimulatorResponse;
  refusal(problem: ProblemKind, message?: string): SimulatorResponse;
}

type TurboBody = Readonly<Record<string, unknown>>;

const TURBO_WORDS: Readonly<Record<JobPhase, string>> = {
  queued: 'submitted',
  running: 'processing',
  succeeded: 'succeeded',
  failed: 'failed',
  filtered: 'failed',
  expired: 'failed',
  cancelled: 'failed',
  unknown: 'rendering',
};
const REASONS: Readonly<Partial<Record<JobPhase, string>>> = {
  failed: 'Task processing failed, please try again',
  filtered: 'Failure to pass the risk control system',
  expired: 'Task expired',
  cancelled: 'Task cancelled',
};
const SETTINGS: Readonly<Record<string, (value: unknown) => boolean>> = {
  resolution: (value) => value === '720p' || value === '1080p',
  aspect_ratio: (value) => value === '16:9' || value === '9:16' || value === '1:1',
  duration: (value) => Number.isInteger(value) && Number(value) >= 3 && Number(value) <= 15,
};

/** The objection to a body; undefined if the body is valid. */
function check(body: TurboBody, from: 'text' | 'image'): string | undefined {
  const settings = asObject(body.settings ?? {});
  if (!settings) return 'settings must be an object';
  for (const [key, value] of Object.entries(settings))
    if (SETTINGS[key]?.(value) !== true || (from === 'image' && key === 'aspect_ratio'))
      return `settings.${key} is invalid`;
  const contents = Array.isArray(body.contents) ? body.contents.map(asObject) : [];
  const types = contents.map((part) => part?.type).join();
  if (from === 'text') return typeof body.prompt === 'string' && body.prompt !== '' ? undefined : 'prompt is required';
  return types === 'prompt,first_frame' ? undefined : 'contents must be a prompt and a first_frame';
}

const textOf = (body: TurboBody): string => {
  const [first] = Array.isArray(body.contents) ? body.contents.map(asObject) : [];
  const text = body.prompt ?? first?.text;
  return typeof text === 'string' ? text : '';
};

function toTurboTask(job: Job, phase: JobPhase, hasArtifact: boolean, context: SimulatorContext) {
  const task = {
    id: job.id,
    status: TURBO_WORDS[phase],
    message: REASONS[phase] ?? '',
    create_time: job.createdAtMs,
    update_time: context.now(),
    external_id: job.externalId ?? '',
  };
  if (phase !== 'succeeded') return task;
  const { body } = job.input as { readonly body: TurboBody };
  const amount = klingUnits(job.model, body, job.seconds);
  const video = { type: 'video', id: `v-${job.id}`, url: context.artifactUrl(job), duration: `${job.seconds}.1` };
  return {
    ...task,
    outputs: hasArtifact ? [video] : [],
    billing: [{ charge_type: 'unit', amount, package_type: 'video' }],
  };
}

function klingTurboRoutes({ envelope, refusal }: ResponseBuilders): readonly Route[] {
  const create = (request: SimulatorRequest, context: SimulatorContext): SimulatorResponse => {
    const body = request.json();
    if (!body) return refusal('invalid', 'Request body is not valid JSON');
    const wrong = check(body, request.params.from === 'image' ? 'image' : 'text');
    if (wrong !== undefined) return refusal('invalid', wrong);
    const external = asObject(body.options)?.external_task_id;
    const externalId = typeof external === 'string' && external !== '' ? external : undefined;
    if (externalId !== undefined && context.jobs.findByExternalId(externalId))
      return refusal('invalid', `external_task_id ${externalId} is already used`);
    const settings = asObject(body.settings) ?? {};
    const job = context.createJob({
      id: `${context.now()}${randomInt(10_000, 99_999)}`,
      prompt: textOf(body),
      model: 'kling-v3-turbo',
      input: { family: 'turbo', body: { ...body, mode: settings.resolution === '1080p' ? 'pro' : 'std' } },
      shape: toShape(settings.aspect_ratio),
      audio: true,
      seconds: Number(settings.duration ?? 5),
      externalId,
    });
    return envelope(200, 0, 'SUCCEED', { id: job.id, status: 'submitted', create_time: job.createdAtMs });
  };
  const query = ({ query: asked }: SimulatorRequest, context: SimulatorContext): SimulatorResponse => {
    const id = asked.get('task_ids');
    const job =
      id === null ? context.jobs.findByExternalId(asked.get('external_task_ids') ?? '') : context.jobs.find(id);
    if (!job) return id === null ? envelope(200, 0, 'SUCCEED', []) : refusal('not_found');
    const { phase, hasArtifact } = context.pollJob(job);
    return envelope(200, 0, 'SUCCEED', [toTurboTask(job, phase, hasArtifact, context)]);
  };
  return [
    { method: 'POST', path: /^\/(?<from>text|image)-to-video\/kling-3\.0-turbo$/, operation: 'submit', handle: create },
    { method: 'GET', path: '/tasks', operation: 'query', handle: query },
  ];
}

/**
 * Kling's `/v1/videos/{text2video,image2video}`: signed tokens or an opaque key, and one envelope for every response.
 */

const ACCESS_KEY = 'ak-sandbox-kling';
const SECRET_KEY = 'sk-sandbox-kling-0123456789abcdef';
const API_KEY = 'api-key-kling-sandbox-0123456789';

interface KlingInput {
  readonly family: KlingFamily;
  readonly body: Readonly<Record<string, unknown>>;
}

const PROBLEMS: Readonly<Record<ProblemKind, readonly [status: number, code: number, text: string]>> = {
  unauthorized: [401, 1002, 'Authorization is invalid'],
  forbidden: [403, 1103, 'no permission to access the requested API or model'],
  billing: [429, 1102, 'Account balance not enough'],
  model: [404, 1203, 'the requested resource does not exist'],
  rate: [429, 1302, 'API request too fast'],
  concurrency: [429, 1303, 'parallel task over resource pack limit'],
  overloaded: [503, 5001, 'Server is temporarily unavailable'],
  broken: [500, 5000, 'Internal error'],
  timeout: [504, 5002, 'Internal timeout'],
  policy: [400, 1301, 'Failure to pass the risk control system'],
  invalid: [400, 1201, 'Invalid request parameters'],
  not_found: [404, 1203, 'the requested resource does not exist'],
};

let count = 0;
function requestId(): string {
  count += 1;
  return `Cj${count.toString(36).padStart(12, '0')}`;
}

const envelope = (status: number, code: number, message: string, data: unknown = null): SimulatorResponse =>
  jsonResponse(status, { code, message, request_id: requestId(), data });

const refusal = (problem: ProblemKind, message?: string): SimulatorResponse => {
  const [status, code, text] = PROBLEMS[problem];
  return envelope(status, code, message ?? text);
};

function readPart(part: string | undefined): Readonly<Record<string, unknown>> | undefined {
  try {
    return JSON.parse(Buffer.from(part ?? '', 'base64url').toString());
  } catch {
    return undefined;
  }
}

/** The vendor's error code for a wrong bearer token; undefined if the token is right. */
function checkToken(authorization: string | undefined, nowMs: number): number | undefined {
  if (!authorization) return 1001;
  const token = /^Bearer (\S+)$/.exec(authorization)?.[1];
  if (token === API_KEY) return undefined;
  const [head, claims, signature, ...rest] = token?.split('.') ?? [];
  if (!head || !claims || !signature || rest.length > 0 || readPart(head)?.alg !== 'HS256') return 1002;
  const expected = createHmac('sha256', SECRET_KEY).update(`${head}.${claims}`).digest();
  const given = Buffer.from(signature, 'base64url');
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) return 1002;
  const { iss, exp, nbf } = readPart(claims) ?? {};
  if (iss !== ACCESS_KEY || typeof exp !== 'number' || typeof nbf !== 'number') return 1002;
  if (nbf * 1_000 > nowMs) return 1003;
  return exp * 1_000 <= nowMs ? 1004 : undefined;
}

const WORDS: Readonly<Record<JobPhase, string>> = {
  queued: 'submitted',
  running: 'processing',
  succeeded: 'succeed',
  failed: 'failed',
  filtered: 'failed',
  expired: 'failed',
  cancelled: 'failed',
  unknown: 'rendering',
};

const toTask = (job: Job, snapshot: JobSnapshot, context: SimulatorContext) => ({
  task_id: job.id,
  task_status: WORDS[snapshot.phase],
  task_status_msg: REASONS[snapshot.phase] ?? '',
  task_info: job.externalId === undefined ? {} : { external_task_id: job.externalId },
  watermark_info: { enabled: false },
  created_at: job.createdAtMs,
  updated_at: context.now(),
  ...(snapshot.phase !== 'succeeded'
    ? {}
    : {
        final_unit_deduction: klingUnits(job.model, (job.input as KlingInput).body, job.seconds),
        task_result: {
          videos: snapshot.hasArtifact
            ? [{ id: `v-${job.id}`, url: context.artifactUrl(job), duration: `${job.seconds}.1` }]
            : [],
        },
      }),
});

function submit(request: SimulatorRequest, context: SimulatorContext): SimulatorResponse {
  const family = request.params.family as KlingFamily;
  const body = request.json();
  if (!body) return refusal('invalid', 'Request body is not valid JSON');
  const wrong = checkKlingBody(family, body);
  if (wrong === 'model') return refusal('model');
  if (wrong !== undefined) return refusal('invalid', wrong);
  const externalId = typeof body.external_task_id === 'string' ? body.external_task_id : undefined;
  if (externalId !== undefined && context.jobs.findByExternalId(externalId)) {
    return refusal('invalid', `external_task_id ${externalId} is already used`);
  }
  const input: KlingInput = { family, body };
  const job = context.createJob({
    id: `${requestId()}${context.now().toString(36)}`,
    prompt: typeof body.prompt === 'string' ? body.prompt : '',
    model: typeof body.model_name === 'string' ? body.model_name : 'kling-v1',
    input,
    shape: toShape(body.aspect_ratio),
    audio: body.sound === 'on',
    seconds: Number(body.duration ?? 5),
    externalId,
  });
  const { task_status_msg: _, watermark_info: __, ...task } = toTask(job, context.jobs.snapshot(job), context);
  return envelope(200, 0, 'SUCCEED', { ...task, task_status: 'submitted' });
}

function query({ params }: SimulatorRequest, context: SimulatorContext): SimulatorResponse {
  const job = context.jobs.find(params.id ?? '') ?? context.jobs.findByExternalId(params.id ?? '');
  if (!job || (job.input as KlingInput).family !== params.family) return refusal('not_found');
  return envelope(200, 0, 'SUCCEED', toTask(job, context.pollJob(job), context));
}

function list({ params, query: asked }: SimulatorRequest, context: SimulatorContext): SimulatorResponse {
  const size = Number(asked.get('pageSize') ?? 30);
  const start = (Number(asked.get('pageNum') ?? 1) - 1) * size;
  const jobs = context.jobs.all().filter((job) => (job.input as KlingInput).family === params.family);
  const page = jobs.reverse().slice(start, start + size);
  return envelope(
    200,
    0,
    'SUCCEED',
    page.map((job) => toTask(job, context.jobs.snapshot(job), context)),
  );
}

const PACK_UNITS = 100_000;

/** A single resource pack, from which the units of all succeeded jobs are deducted. */
function costs(_request: SimulatorRequest, context: SimulatorContext): SimulatorResponse {
  const used = context.jobs
    .all()
    .filter((job) => context.jobs.snapshot(job).phase === 'succeeded')
    .reduce((sum, job) => sum + Number(klingUnits(job.model, (job.input as KlingInput).body, job.seconds)), 0);
  const pack = {
    resource_pack_name: 'Video Generation - 100,000 units',
    resource_pack_id: 'pack-sandbox',
    resource_pack_type: 'decreasing_total',
    total_quantity: PACK_UNITS,
    remaining_quantity: PACK_UNITS - Math.round(used * 1_000) / 1_000,
    status: 'online',
  };
  return envelope(200, 0, 'SUCCEED', { code: 0, msg: 'success', resource_pack_subscribe_infos: [pack] });
}

const FAMILY = /^\/v1\/videos\/(?<family>text2video|image2video|omni-video)$/;

/** Simulated Kling. */
export const kling = defineSimulator({
  name: 'kling',
  credentials: () => ({ access_key: ACCESS_KEY, secret_key: SECRET_KEY }),
  authorize({ headers }, context) {
    const code = checkToken(headers.authorization, context.now());
    if (code === undefined) return undefined;
    const date = new Date(context.now()).toUTCString();
    return jsonResponse(401, { code, message: 'Authorization failed', request_id: requestId(), data: null }, { date });
  },
  problem: refusal,
  routes: [
    { method: 'GET', path: '/account/costs', operation: 'other', handle: costs },
    { method: 'POST', path: FAMILY, operation: 'submit', handle: submit },
    { method: 'GET', path: FAMILY, operation: 'other', handle: list },
    {
      method: 'GET',
      path: /^\/v1\/videos\/(?<family>text2video|image2video|omni-video)\/(?<id>[^/]+)$/,
      operation: 'query',
      handle: query,
    },
    ...klingTurboRoutes({ envelope, refusal }),
  ],
});

type KlingFamily = 'text2video' | 'image2video' | 'omni-video';

type Body = Readonly<Record<string, unknown>>;

const MODELS_OF_BOTH_FAMILIES = [
  'kling-v1',
  'kling-v1-6',
  'kling-v2-master',
  'kling-v2-1-master',
  'kling-v2-5-turbo',
  'kling-v2-6',
  'kling-v3',
];
const MODELS: Readonly<Record<KlingFamily, readonly string[]>> = {
  text2video: MODELS_OF_BOTH_FAMILIES,
  image2video: [...MODELS_OF_BOTH_FAMILIES, 'kling-v1-5', 'kling-v2-1'],
  'omni-video': ['kling-v3-omni', 'kling-video-o1'],
};
/** A newer model than those above has the rules of the newest. */
function knownAs(model: string): string {
  const isListed = Object.values(MODELS).some((names) => names.includes(model));
  return !isListed && /^kling-v\d/.test(model) ? NEWEST : model;
}
const NEWEST = 'kling-v3';
const SOUND_MODELS = ['kling-v2-6', 'kling-v3', 'kling-v3-omni'];
const WITH_4K = ['kling-v3', 'kling-v3-omni'];
const FREE_LENGTH: Readonly<Record<string, number>> = { 'kling-v3': 15, 'kling-v3-omni': 15, 'kling-video-o1': 10 };
const TEXT_MAX = 2_500;
const MOVES = ['horizontal', 'vertical', 'pan', 'tilt', 'roll', 'zoom'];
const CAMERA_TYPES = ['simple', 'down_back', 'forward_up', 'right_turn_forward', 'left_turn_forward'];

const has = (body: Body, key: string): boolean => body[key] !== undefined && body[key] !== '';
const isText = (value: unknown, max: number): boolean =>
  value === undefined || (typeof value === 'string' && value.length <= max);
const isOneOf = (value: unknown, values: readonly string[]): boolean =>
  value === undefined || (typeof value === 'string' && values.includes(value));

/** A URL or bare Base64; a `data:` prefix is not accepted. */
function isImage(value: unknown): boolean {
  if (value === undefined || value === '') return true;
  return typeof value === 'string' && (/^https?:\/\//.test(value) || /^[A-Za-z0-9+/]+={0,2}$/.test(value));
}

function checkCamera(camera: unknown): string | undefined {
  if (camera === undefined) return undefined;
  const { type, config } = (camera ?? {}) as { type?: unknown; config?: unknown };
  if (!isOneOf(type, CAMERA_TYPES)) return 'camera_control.type is invalid';
  if (type !== 'simple') return config === undefined ? undefined : 'camera_control.config must be empty';
  if (typeof config !== 'object' || config === null) return 'camera_control.config is required';
  const moves = Object.entries(config).filter((entry) => entry[1] !== 0);
  const [move] = moves;
  const isRight = moves.length === 1 && move && MOVES.includes(move[0]) && Math.abs(Number(move[1])) <= 10;
  return isRight ? undefined : 'camera_control.config needs exactly one non-zero value in [-10, 10]';
}

const MAX_IMAGES = 7;

/** An image with a type is the first or last frame; a last frame requires a first one. */
function isImageList(list: unknown): boolean {
  if (list === undefined) return true;
  if (!Array.isArray(list) || list.length === 0 || list.length > MAX_IMAGES) return false;
  const types = list.map((each: { type?: unknown }) => each.type);
  if (types.includes('end_frame') && !types.includes('first_frame')) return false;
  return list.every(
    (each: { image_url?: unknown; type?: unknown }) =>
      typeof each.image_url === 'string' && isImage(each.image_url) && isOneOf(each.type, ['first_frame', 'end_frame']),
  );
}

interface ListedImage {
  readonly image_url?: unknown;
  readonly type?: unknown;
}
interface ListedVideo {
  readonly video_url?: unknown;
  readonly refer_type?: unknown;
  readonly keep_original_sound?: unknown;
}
const MAX_IMAGES_BESIDE_VIDEO = 4;

/** One video, by URL only; a video to edit excludes frames, and a last frame more than two images. */
function checkOmniMedia({ image_list: images = [], video_list: videos = [] }: Body): string | undefined {
  if (!Array.isArray(images) || !Array.isArray(videos)) return 'image_list and video_list must be lists';
  const types = (images as readonly ListedImage[]).map(({ type }) => type);
  if (types.includes('end_frame') && images.length > 2) return 'end_frame is not supported with more than two images';
  if (videos.length === 0) return undefined;
  const [video] = videos as readonly ListedVideo[];
  if (videos.length > 1 || !/^https?:\/\//.test(String(video?.video_url))) return 'video_list is invalid';
  if (!isOneOf(video?.refer_type, ['feature', 'base'])) return 'video_list.refer_type is invalid';
  if (images.length > MAX_IMAGES_BESIDE_VIDEO) return 'image_list is too long beside a video';
  const isEdit = video?.refer_type !== 'feature';
  return isEdit && types.some((type) => type !== undefined)
    ? 'frames are not supported with a video to edit'
    : undefined;
}

/** The vendor's objection to a submit: `model` for a model missing from this family, otherwise its message. */
function checkKlingBody(family: KlingFamily, body: Body): string | undefined {
  const { model_name: name = 'kling-v1' } = body;
  const model = typeof name === 'string' ? knownAs(name) : '';
  if (!MODELS[family].includes(model)) return 'model';
  if (family === 'text2video' && !has(body, 'prompt')) return 'prompt is required';
  for (const key of ['prompt', 'negative_prompt']) if (!isText(body[key], TEXT_MAX)) return `${key} is too long`;
  for (const key of ['image', 'image_tail', 'static_mask']) if (!isImage(body[key])) return `${key} is not an image`;
  if (family === 'image2video' && !has(body, 'image') && !has(body, 'image_tail')) return 'image is required';
  const longest = FREE_LENGTH[model];
  if (family === 'omni-video' && !isImageList(body.image_list)) return 'image_list is invalid';
  const media = family === 'omni-video' ? checkOmniMedia(body) : undefined;
  if (media !== undefined) return media;
  const durations =
    longest === undefined ? ['5', '10'] : Array.from({ length: longest - 2 }, (_, index) => String(index + 3));
  if (!isOneOf(body.duration, durations)) return `duration must be one of ${durations.join(', ')}, as a string`;
  if (!isOneOf(body.mode, WITH_4K.includes(model) ? ['std', 'pro', '4k'] : ['std', 'pro']))
    return 'mode must be std or pro';
  if (!isOneOf(body.aspect_ratio, ['16:9', '9:16', '1:1'])) return 'aspect_ratio must be 16:9, 9:16 or 1:1';
  if (!isOneOf(body.sound, ['on', 'off'])) return 'sound must be on or off';
  if (body.sound !== undefined && !SOUND_MODELS.includes(model)) return 'sound is not supported by this model';
  if (body.sound === 'on' && model === 'kling-v2-6' && body.mode !== 'pro') return 'sound needs mode pro';
  const scale = body.cfg_scale ?? 0.5;
  if (typeof scale !== 'number' || scale < 0 || scale > 1) return 'cfg_scale must be in [0, 1]';
  const exclusive = [
    has(body, 'image_tail'),
    has(body, 'static_mask') || has(body, 'dynamic_masks'),
    has(body, 'camera_control'),
  ];
  if (exclusive.filter(Boolean).length > 1) return 'image_tail, masks and camera_control exclude one another';
  return checkCamera(body.camera_control);
}
