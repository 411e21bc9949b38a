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

/** Runway's developer API: three endpoints start tasks, one returns them. Errors are a text under `error`. */

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

type Body = Readonly<Record<string, unknown>>;
type Check = (value: unknown) => boolean;

/** Data URLs hold at most five megabytes. */
const MAX_DATA_URL = Math.ceil(5_000_000 / 3) * 4 + 100;
const UPLOAD_LIFETIME_MS = 24 * 60 * 60 * 1_000;

/** Uploaded files by URI; a place without bytes was only asked for. */
const uploads = new Map<string, { readonly expiresAtMs: number; bytes: number }>();
/** Forgets every upload, as the vendor does after a day. */
export const forgetUploads = (): void => uploads.clear();
/** Number of files uploaded since the last `forgetUploads`. */
export const countUploads = (): number => [...uploads.values()].filter(({ bytes }) => bytes > 0).length;

const isUri =
  (kind: 'image' | 'video' | 'audio'): Check =>
  (value) => {
    if (typeof value !== 'string') return false;
    if (value.startsWith('runway://')) return (uploads.get(value)?.bytes ?? 0) > 0;
    return /^https:\/\//.test(value) || (value.startsWith(`data:${kind}/`) && value.length <= MAX_DATA_URL);
  };
const list =
  (most: number, check: Check): Check =>
  (value) =>
    Array.isArray(value) && value.length > 0 && value.length <= most && value.every(check);
const withUri =
  (kind: 'image' | 'video' | 'audio'): Check =>
  (entry) =>
    isUri(kind)((entry as Body | null)?.uri);
const oneOf =
  (...values: readonly unknown[]): Check =>
  (value) =>
    values.includes(value);
const whole =
  (min: number, max: number): Check =>
  (value) =>
    Number.isInteger(value) && Number(value) >= min && Number(value) <= max;
const flag: Check = (value) => typeof value === 'boolean';
const text: Check = (value) => typeof value === 'string' && value.length >= 1 && value.length <= 5_000;
const seed = whole(0, 4_294_967_295);
const moderation: Check = (value) => typeof value === 'object';
const positioned =
  (most: number): Check =>
  (value) =>
    isUri('image')(value) ||
    list(
      most,
      (entry) => withUri('image')(entry) && ['first', 'last'].includes(String((entry as Body).position)),
    )(value);

interface Endpoint {
  readonly fields: Readonly<Record<string, Check>>;
  readonly required: readonly string[];
}
interface Rules {
  readonly text?: Endpoint;
  readonly image?: Endpoint;
  readonly video?: Endpoint;
}

const endpoint = (required: readonly string[], fields: Readonly<Record<string, Check>>): Endpoint => ({
  required,
  fields: { model: (value) => typeof value === 'string', promptText: text, ...fields },
});
const HD = oneOf('1280:720', '720:1280');
const SIX = oneOf('1280:720', '720:1280', '1104:832', '832:1104', '960:960', '1584:672');
const FULL_HD = oneOf('1280:720', '720:1280', '1920:1080', '1080:1920');
const own = { seed, contentModeration: moderation, duration: whole(2, 10) };
const google = { duration: oneOf(4, 6, 8), audio: flag, negativePrompt: text, seed };
const ALEPH = endpoint(['videoUri'], {
  videoUri: isUri('video'),
  keyframes: list(5, (entry) => withUri('image')(entry) && Number((entry as Body).seconds) >= 0),
  seed,
  contentModeration: moderation,
});

const frames = (names: string): Check => oneOf(...names.split(' '));
const SEEDANCE_SD =
  '992:432 864:496 752:560 640:640 560:752 496:864 1470:630 1280:720 1112:834 960:960 834:1112 720:1280';
const SEEDANCE_HD = '2206:946 1920:1080 1664:1248 1440:1440 1248:1664 1080:1920';
const SEEDANCE_4K = '3840:1646 3840:2160 3840:2880 3840:3840 2880:3840 2160:3840';
const SEEDANCE_25 = SEEDANCE_SD.replace('864:496', '854:480').replace('496:864', '480:854');
const references = (images: number, videos: number, audios: number) => ({
  references: list(images, withUri('image')),
  referenceVideos: list(videos, withUri('video')),
  referenceAudio: list(audios, withUri('audio')),
});
const seedance = (ratio: Check, seconds: Check, refs: Readonly<Record<string, Check>>): Rules => {
  const common = { ratio, duration: seconds, audio: flag, seed };
  return {
    text: endpoint(['promptText'], { ...common, ...refs }),
    image: endpoint(['promptImage'], { ...common, promptImage: positioned(2) }),
  };
};
const WAN = '832:480 720:544 624:624 544:720 480:832 1280:720 1104:832 960:960 832:1104 720:1280';
const WAN_FRAMES = frames(`${WAN} 1920:1080 1648:1248 1440:1440 1248:1648 1080:1920`);
const wan: Rules = {
  text: endpoint(['promptText'], { ratio: WAN_FRAMES, duration: whole(2, 30), audio: flag, ...references(10, 5, 5) }),
  image: endpoint(['promptImage'], {
    promptImage: positioned(2),
    ratio: oneOf('auto_480p', 'auto_720p', 'auto_1080p'),
    duration: whole(2, 30),
    audio: flag,
  }),
};
const H3_RATIOS = ['21:9', '16:9', '4:3', '1:1', '3:4', '9:16'];
const hailuo = { duration: whole(4, 15), resolution: oneOf('768p', '2k') };
const h3Max = { duration: whole(5, 15), resolution: oneOf('480p', '768p'), seed };
const grok = { duration: whole(1, 15), resolution: oneOf('480p', '720p', '1080p') };
const OMNI_FRAMES = frames('640:360 360:640 1280:720 720:1280 1920:1080 1080:1920 3840:2160 2160:3840');
const omni = { ratio: OMNI_FRAMES, duration: whole(3, 10) };
const changes = (field: string, more: Readonly<Record<string, Check>>): Endpoint =>
  endpoint([field], { [field]: isUri('video'), references: list(30, withUri('image')), ...more });

/** The types of the vendor's SDK; other fields are refused. */
const MODELS: Readonly<Record<string, Rules>> = {
  'gen4.5': {
    text: endpoint(['promptText', 'ratio', 'duration'], { ...own, ratio: HD }),
    image: endpoint(['promptImage', 'ratio', 'duration'], { ...own, ratio: SIX, promptImage: positioned(1) }),
  },
  gen4_turbo: { image: endpoint(['promptImage', 'ratio'], { ...own, ratio: SIX, promptImage: positioned(1) }) },
  'veo3.1': {
    text: endpoint(['promptText', 'ratio'], { ...google, ratio: FULL_HD }),
    image: endpoint(['promptImage', 'ratio'], { ...google, ratio: FULL_HD, promptImage: positioned(2) }),
  },
  aleph2: { video: ALEPH },
  seedance2: seedance(frames(`${SEEDANCE_SD} ${SEEDANCE_HD} ${SEEDANCE_4K}`), whole(4, 15), references(9, 3, 3)),
  seedance2_fast: seedance(frames(SEEDANCE_SD), whole(4, 15), references(9, 3, 3)),
  seedance2_mini: seedance(frames(SEEDANCE_SD), whole(4, 15), references(9, 3, 3)),
  seedance2_5: {
    ...seedance(frames(`${SEEDANCE_25} ${SEEDANCE_HD}`), whole(4, 30), references(30, 10, 10)),
    video: changes('promptVideo', {
      mode: oneOf('reference', 'extend', 'edit'),
      duration: whole(4, 30),
      audio: flag,
      seed,
    }),
  },
  hailuo3: {
    text: endpoint(['promptText', 'ratio'], {
      ...hailuo,
      ratio: oneOf('adaptive', ...H3_RATIOS),
      ...references(9, 3, 3),
    }),
    image: endpoint(['promptImage'], { ...hailuo, ratio: oneOf('adaptive'), promptImage: positioned(2) }),
  },
  h3_max: {
    text: endpoint(['promptText'], h3Max),
    image: endpoint(['promptImage'], { ...h3Max, promptImage: positioned(2) }),
  },
  wan3: wan,
  wan3_prime: wan,
  happyhorse_1_0: {
    text: endpoint(['promptText'], {
      duration: whole(3, 15),
      ratio: frames('1280:720 720:1280 960:960 1108:832 832:1108 1920:1080 1080:1920 1440:1440 1662:1248 1248:1662'),
    }),
    image: endpoint(['promptImage'], {
      duration: whole(3, 15),
      resolution: oneOf('720p', '1080p'),
      promptImage: positioned(1),
    }),
  },
  grok_imagine_1_5: {
    text: endpoint(['promptText'], {
      ...grok,
      ratio: oneOf('1:1', '16:9', '9:16', '4:3', '3:4', '3:2', '2:3'),
      references: list(7, withUri('image')),
      referenceAudio: list(3, withUri('audio')),
    }),
    image: endpoint(['promptImage'], { ...grok, promptImage: positioned(1) }),
  },
  gemini_omni_flash: {
    text: endpoint(['promptText'], { ratio: HD, duration: whole(3, 10) }),
    image: endpoint(['promptImage'], { ratio: HD, duration: whole(3, 10), promptImage: positioned(1) }),
    video: changes('videoUri', {}),
  },
  'gemini_omni_flash_1.1': {
    text: endpoint(['promptText'], {
      ...omni,
      references: list(6, withUri('image')),
      referenceVideos: list(3, withUri('video')),
    }),
    image: endpoint(['promptImage'], { ...omni, promptImage: positioned(2) }),
    video: changes('videoUri', { mode: oneOf('reference', 'extend', 'edit'), duration: whole(3, 10) }),
  },
};
/** Newer models of the vendor than those above take what any of them takes. */
const NEWER: Rules = {
  text: endpoint(['promptText', 'ratio', 'duration'], { ...own, ratio: HD, ...references(30, 10, 10) }),
  image: endpoint(['promptImage', 'ratio', 'duration'], { ...own, ratio: SIX, promptImage: positioned(2) }),
  video: changes('videoUri', {}),
};
const rulesOf = (model: string): Rules | undefined =>
  MODELS[model === 'veo3.1_fast' ? 'veo3.1' : model] ?? (/^gen[5-9]/.test(model) ? NEWER : undefined);

/** Conditions between fields. */
function findConflict(body: Body): string | undefined {
  if (body.model === 'grok_imagine_1_5' && body.referenceAudio !== undefined && body.references === undefined)
    return 'referenceAudio: needs references';
  if (body.model === 'grok_imagine_1_5' && body.references !== undefined && body.resolution === '1080p')
    return 'resolution: at most 720p with references';
  if (body.mode === 'extend' && body.promptText === undefined) return 'promptText: Required';
  return undefined;
}

function submit(request: SimulatorRequest, context: SimulatorContext): SimulatorResponse {
  const body = request.json();
  if (!body) return refusal('invalid');
  const kind = /\/(text|image|video)_to_video$/.exec(request.path)?.[1] as keyof Rules;
  const rules = rulesOf(String(body.model));
  if (!rules) return refusal('model', `Model variant ${String(body.model)} is not available.`);
  const found = rules[kind];
  if (!found) return refusal('invalid', `Validation of body failed: model: has no ${kind}_to_video`);
  const missing = found.required.find((name) => body[name] === undefined);
  const wrong = Object.keys(body).find((name) => !found.fields[name]?.(body[name]));
  const problem = missing === undefined ? (wrong ?? findConflict(body)) : missing;
  if (problem !== undefined) return refusal('invalid', `Validation of body failed: ${problem}: Invalid input`);
  const job = context.createJob({
    id: randomUUID(),
    prompt: typeof body.promptText === 'string' ? body.promptText : '',
    model: String(body.model),
    input: body,
    shape: toShape(body.ratio),
    audio: found.fields.audio !== undefined && body.audio !== false,
    seconds: Number(body.duration ?? 8),
  });
  return jsonResponse(200, { id: job.id });
}

/** A place for a file, which is sent there as a form. */
function askForPlace(request: SimulatorRequest, context: SimulatorContext): SimulatorResponse {
  const body = request.json();
  if (typeof body?.filename !== 'string' || body.type !== 'ephemeral') return refusal('invalid');
  const id = randomUUID();
  uploads.set(`runway://${id}`, { expiresAtMs: context.now() + UPLOAD_LIFETIME_MS, bytes: 0 });
  return jsonResponse(200, {
    uploadUrl: `${context.url}/storage`,
    fields: { key: id, policy: 'sandbox' },
    runwayUri: `runway://${id}`,
  });
}

async function storeFile(request: SimulatorRequest): Promise<SimulatorResponse> {
  const form = await request.form();
  const file = form.get('file');
  const key = form.get('key');
  const place = typeof key === 'string' ? uploads.get(`runway://${key}`) : undefined;
  if (place === undefined || !(file instanceof Blob)) return refusal('invalid');
  place.bytes = file.size;
  return { kind: 'body', status: 204, headers: {}, body: Buffer.alloc(0) };
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
    { method: 'POST', path: '/v1/video_to_video', operation: 'submit', handle: submit },
    { method: 'POST', path: '/v1/uploads', operation: 'other', handle: askForPlace },
    { method: 'POST', path: '/storage', operation: 'other', open: true, handle: storeFile },
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
