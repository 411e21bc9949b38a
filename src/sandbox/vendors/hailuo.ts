import {
  defineSimulator,
  type Job,
  type JobPhase,
  jsonResponse,
  newDigits,
  type ProblemKind,
  type Route,
  type SimulatorContext,
  type SimulatorRequest,
  type SimulatorResponse,
  toShape,
} from '../simulator.ts';

/** The second protocol reports errors by HTTP status and appends the first protocol's number to their text. */
const refuse = (status: number, type: string, message: string): SimulatorResponse =>
  jsonResponse(status, { type: 'error', error: { type, message, http_code: String(status) }, request_id: '05f1c2' });

const H3_MODELS: Readonly<Record<string, { resolutions: readonly string[]; minSeconds: number; references: number }>> =
  {
    'MiniMax-H3': { resolutions: ['768P', '2K'], minSeconds: 4, references: 9 },
    'MiniMax-H3-Max': { resolutions: ['480P', '768P'], minSeconds: 5, references: 0 },
  };
const RATIOS = ['adaptive', '21:9', '16:9', '4:3', '1:1', '3:4', '9:16'];

interface Item {
  readonly type?: unknown;
  readonly text?: unknown;
  readonly role?: unknown;
  readonly image_url?: { readonly url?: unknown };
  readonly video_url?: { readonly url?: unknown };
  readonly audio_url?: { readonly url?: unknown };
}

const MAX_CLIPS = 3;
/** Uploaded files by id. */
const files = new Map<string, number>();
/** Forgets every uploaded file, as the vendor does after a week. */
export const forgetFiles = (): void => files.clear();
/** Number of files uploaded since the last `forgetFiles`. */
export const countFiles = (): number => files.size;

function isMedia(kind: string, url: unknown): boolean {
  const text = String(url);
  if (text.startsWith('mm_file://')) return files.has(text.slice('mm_file://'.length));
  return new RegExp(`^https?:|^data:${kind}/`).test(text);
}

async function uploadFile(request: SimulatorRequest, context: SimulatorContext): Promise<SimulatorResponse> {
  const form = await request.form();
  const file = form.get('file');
  if (!(file instanceof Blob) || form.get('purpose') !== 'video_generation_input')
    return refusal(2013, 'invalid params, purpose or file');
  const id = newDigits(context.now());
  files.set(id, file.size);
  const entry = { file_id: Number(id), bytes: file.size, filename: 'input', purpose: 'video_generation_input' };
  return refusal(0, 'success', { file: entry });
}

/** References exclude frames, audio needs an image or a video beside it, and a base video stands alone. */
function findInvalidClip(
  items: readonly Item[],
  imageRoles: readonly string[],
  references: number,
): string | undefined {
  const videos = items.filter((item) => item.type === 'video_url');
  const audios = items.filter((item) => item.type === 'audio_url');
  if (videos.length + audios.length === 0) return undefined;
  if (references === 0) return 'videos and audio are not supported by this model';
  const lost = videos.find(
    ({ video_url: { url = '' } = {} }) => /^mm_file:/.test(String(url)) && !isMedia('video', url),
  );
  if (lost) return 'mm_file does not exist';
  if (!videos.every(({ video_url }) => isMedia('video', video_url?.url))) return 'video_url';
  if (!audios.every(({ audio_url, role }) => isMedia('audio', audio_url?.url) && role === 'reference_audio'))
    return 'audio_url';
  const bases = videos.filter(({ role }) => role === 'base_video').length;
  if (bases > 0)
    return bases + imageRoles.length + audios.length === 1 && videos.length === 1 ? undefined : 'base_video';
  if (!videos.every(({ role }) => role === 'reference_video')) return 'role of a video';
  if (Math.max(videos.length, audios.length) > MAX_CLIPS) return 'too many videos or audio files';
  if (imageRoles.some((role) => role !== 'reference_image')) return 'frames and references exclude each other';
  return videos.length + imageRoles.length === 0 ? 'audio needs an image or a video' : undefined;
}

function findInvalidH3Field(body: Readonly<Record<string, unknown>>): string | undefined {
  const { model, content, duration = 5, resolution, ratio } = body;
  const limits = H3_MODELS[String(model)];
  if (limits === undefined) return `model ${model} is not supported`;
  if (!Array.isArray(content) || content.length === 0) return 'content is required';
  const items = content as readonly Item[];
  const images = items.filter((item) => item.type === 'image_url');
  if (images.some((item) => !/^https?:|^data:image\/|^mm_file:/.test(String(item.image_url?.url)))) return 'image_url';
  const roles = images.map((item) => String(item.role));
  const references = roles.filter((role) => role === 'reference_image').length;
  if (references > 0 && references < roles.length) return 'frames and references exclude each other';
  if (references > limits.references || roles.length - references > 2) return 'too many images';
  if (!Number.isInteger(duration) || Number(duration) < limits.minSeconds || Number(duration) > 15)
    return `duration must be ${limits.minSeconds} to 15`;
  if (resolution !== undefined && !limits.resolutions.some((known) => known === resolution))
    return `resolution must be ${limits.resolutions.join(' or ')}`;
  if (ratio !== undefined && !RATIOS.some((known) => known === ratio)) return 'ratio is not supported';
  const hasVideo = items.some((item) => item.type === 'video_url');
  if (roles.length === 0 && !hasVideo && (ratio === undefined || ratio === 'adaptive'))
    return 'ratio must not be adaptive';
  return findInvalidClip(items, roles, limits.references);
}

/** State names of this vendor, by coincidence the same as Seedance's. */
const H3_STATUS_WORDS: Readonly<Record<JobPhase, string>> = {
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
  failed: { code: '1000', message: 'unknown error' },
  filtered: { code: '1027', message: 'output new_sensitive' },
};

function toTask(job: Job, context: SimulatorContext) {
  const { phase, hasArtifact } = context.pollJob(job);
  const input = job.input as Readonly<Record<string, unknown>>;
  return {
    id: job.id,
    model: job.model,
    status: H3_STATUS_WORDS[phase],
    error: ERRORS[phase],
    created_at: Math.floor(job.createdAtMs / 1000),
    updated_at: Math.floor(context.now() / 1000),
    content: hasArtifact ? { url: `${context.artifactUrl(job)}?sig=sandbox` } : undefined,
    resolution: input.resolution ?? '2K',
    duration: job.seconds,
    ratio: input.ratio === 'adaptive' ? '16:9' : input.ratio,
    task_type: 'generation',
    modality: 'video',
  };
}

const BY_ID = /^\/v2\/query\/video_generation\/(?<id>[^/]+)$/;

const HAILUO_H3_ROUTES: readonly Route[] = [
  {
    method: 'POST',
    path: '/v2/video_generation',
    operation: 'submit',
    handle(request, context) {
      const body = request.json();
      const wrong = body ? findInvalidH3Field(body) : 'body is no JSON object';
      if (!body || wrong) return refuse(400, 'bad_request_error', `invalid params, ${wrong} (2013)`);
      const prompt = (body.content as readonly Item[]).find((item) => item.type === 'text')?.text ?? '';
      const job = context.createJob({
        id: newDigits(context.now()),
        model: String(body.model),
        prompt: typeof prompt === 'string' ? prompt : '',
        seconds: Number(body.duration ?? 5),
        shape: toShape(body.ratio),
        audio: body.ratio === '16:9',
        input: body,
      });
      return jsonResponse(200, { task_id: job.id });
    },
  },
  {
    method: 'GET',
    path: BY_ID,
    operation: 'query',
    handle({ params }, context) {
      const job = context.jobs.find(params.id ?? '');
      return job
        ? jsonResponse(200, { task: toTask(job, context) })
        : refuse(404, 'bad_request_error', 'task not found (2013)');
    },
  },
  {
    method: 'DELETE',
    path: /^\/v2\/video_generation\/(?<id>[^/]+)$/,
    operation: 'other',
    handle({ params }, context) {
      const job = context.jobs.find(params.id ?? '');
      if (!job) return refuse(404, 'bad_request_error', 'task not found (2013)');
      const { phase } = context.jobs.snapshot(job);
      if (phase === 'running' || phase === 'cancelled')
        return refuse(400, 'bad_request_error', `task is ${phase} (2013)`);
      if (phase === 'queued') job.outcome = 'cancel';
      else context.jobs.remove(job.id);
      return jsonResponse(200, {});
    },
  },
];

const KEY = 'sk-api-sandbox-hailuo';

/** Nearly every error of the first protocol is HTTP 200 with a code in the body. */
const refusal = (code: number, text: string, rest: Readonly<Record<string, unknown>> = {}): SimulatorResponse =>
  jsonResponse(200, { ...rest, base_resp: { status_code: code, status_msg: text } });

const PROBLEMS: Readonly<Record<ProblemKind, readonly [number, string]>> = {
  unauthorized: [1004, 'login fail: Please carry the API secret key in the Authorization field'],
  forbidden: [2049, 'invalid api key'],
  billing: [1008, 'insufficient balance'],
  model: [2061, 'your current plan does not support this model'],
  rate: [1002, 'rate limit'],
  concurrency: [1041, 'connection limit'],
  overloaded: [1033, 'system error'],
  broken: [1000, 'unknown error'],
  timeout: [1001, 'request timeout'],
  policy: [1026, 'input new_sensitive'],
  invalid: [2013, 'invalid params'],
  not_found: [2013, 'invalid params, task not found'],
};

type Table = Readonly<Record<string, readonly number[]>>;
const HD: Table = { '768P': [6, 10], '1080P': [6] };
const OLD: Table = { '720P': [6] };
/** Modes supported by each model: text, first frame, last frame, face. */
const MODELS: Readonly<Record<string, { text?: Table; first?: Table; last?: Table; subject?: Table }>> = {
  'MiniMax-Hailuo-2.3': { text: HD, first: HD },
  'MiniMax-Hailuo-2.3-Fast': { first: HD },
  'MiniMax-Hailuo-02': { text: HD, first: { ...HD, '512P': [6, 10] }, last: HD },
  'T2V-01': { text: OLD },
  'T2V-01-Director': { text: OLD },
  'I2V-01': { first: OLD },
  'I2V-01-Director': { first: OLD },
  'I2V-01-live': { first: OLD },
  'S2V-01': { subject: OLD },
};

/** Newer models than those above have the rules of the one with the most modes. */
const NEWER_MODEL = /^MiniMax-(?:Hailuo-[3-9]|H[4-9])/;
const NEWEST_MODEL = 'MiniMax-Hailuo-02';

const IMAGE = /^https?:\/\/|^data:image\/[a-z]+;base64,[A-Za-z0-9+/]+=*$/;
const FLAGS = ['prompt_optimizer', 'fast_pretreatment', 'aigc_watermark'] as const;

/** The vendor's objection to a submit's body; undefined if the body is valid. */
function findInvalidField(body: Readonly<Record<string, unknown>>): string | undefined {
  const name = String(body.model);
  const model = MODELS[name] ?? (NEWER_MODEL.test(name) ? MODELS[NEWEST_MODEL] : undefined);
  if (!model) return `model ${body.model} is not supported`;
  if (typeof body.prompt === 'string' && body.prompt.length > 2_000) return 'prompt is longer than 2000 characters';
  for (const name of FLAGS) {
    if (body[name] !== undefined && typeof body[name] !== 'boolean') return `${name} must be a bool`;
  }
  for (const name of ['first_frame_image', 'last_frame_image']) {
    const image = body[name];
    if (image !== undefined && (typeof image !== 'string' || !IMAGE.test(image))) return `${name} is no image`;
  }
  const table = pickTable(model, body);
  if (typeof table === 'string') return table;
  const [preferred = ''] = Object.keys(table);
  const { resolution = preferred, duration = 6 } = body;
  const lengths = table[String(resolution)];
  if (!lengths) return `resolution ${resolution} is not supported by ${body.model}`;
  if (typeof duration !== 'number' || !lengths.includes(duration)) {
    return `duration ${duration} is not supported for resolution ${resolution}`;
  }
  return undefined;
}

function pickTable(model: (typeof MODELS)[string], body: Readonly<Record<string, unknown>>): Table | string {
  if (body.subject_reference !== undefined) {
    const [reference, more] = Array.isArray(body.subject_reference) ? body.subject_reference : [];
    const isFace = reference?.type === 'character' && Array.isArray(reference.image) && reference.image.length === 1;
    if (!isFace || more !== undefined || !IMAGE.test(String(reference.image[0]))) return 'subject_reference is wrong';
    return model.subject ?? 'subject_reference is not supported by this model';
  }
  if (body.last_frame_image !== undefined) return model.last ?? 'last_frame_image is not supported by this model';
  if (body.first_frame_image !== undefined) return model.first ?? 'first_frame_image is not supported by this model';
  if (!model.text) return model.subject ? 'subject_reference is required' : 'first_frame_image is required';
  return typeof body.prompt === 'string' && body.prompt !== '' ? model.text : 'prompt is required';
}

/** State name of a phase in the first protocol, which lacks cancelled and expired jobs. */
const STATUS_WORDS: Readonly<Record<JobPhase, readonly [string, number, string]>> = {
  queued: ['Queueing', 0, 'success'],
  running: ['Processing', 0, 'success'],
  succeeded: ['Success', 0, 'success'],
  failed: ['Fail', 1000, 'unknown error'],
  filtered: ['Fail', 1027, 'output new_sensitive'],
  expired: ['Fail', 1001, 'request timeout'],
  // A peculiarity of this protocol: a failed task inside an envelope that reports success.
  cancelled: ['Fail', 0, 'success'],
  unknown: ['Unknown', 0, 'success'],
};

/** 18 digits, more than a JSON number can represent: the query returns it as text, the file as a number. */
const toFileId = (job: Job) => `271${job.id}`;

const V1_ROUTES: readonly Route[] = [
  { method: 'POST', path: '/v1/files/upload', operation: 'other', handle: uploadFile },
  {
    method: 'POST',
    path: '/v1/video_generation',
    operation: 'submit',
    handle(request, context) {
      const body = request.json();
      const wrong = body ? findInvalidField(body) : 'body is no JSON object';
      if (!body || wrong) return refusal(2013, `invalid params, ${wrong}`, { task_id: '' });
      const { model, prompt = '', duration = 6 } = body;
      const job = context.createJob({
        id: newDigits(context.now()),
        model: String(model),
        prompt: String(prompt),
        seconds: Number(duration),
        input: body,
      });
      return refusal(0, 'success', { task_id: job.id });
    },
  },
  {
    method: 'GET',
    path: '/v1/query/video_generation',
    operation: 'query',
    handle({ query }, context) {
      const job = context.jobs.find(query.get('task_id') ?? '');
      if (!job) return refusal(...PROBLEMS.not_found);
      const snapshot = context.pollJob(job);
      const [status, code, text] = STATUS_WORDS[snapshot.phase];
      const [width, height] = snapshot.hasArtifact ? [1366, 768] : [0, 0];
      const file_id = snapshot.hasArtifact ? toFileId(job) : '';
      return refusal(code, text, { task_id: job.id, status, file_id, video_width: width, video_height: height });
    },
  },
  {
    method: 'GET',
    path: '/v1/files/retrieve',
    operation: 'other',
    handle({ query }, context) {
      const fileId = query.get('file_id') ?? '';
      const job = fileId.startsWith('271') ? context.jobs.find(fileId.slice(3)) : undefined;
      if (!job || !context.jobs.snapshot(job).hasArtifact) return refusal(2013, 'invalid params, file not found');
      const url = `${context.artifactUrl(job)}?Expires=${Math.floor(context.now() / 1000) + 3600}&Signature=sandbox`;
      const rest = JSON.stringify({
        bytes: context.media(job).bytes.length,
        created_at: Math.floor(context.jobs.finishedAtMs(job) / 1000),
        filename: 'output_aigc.mp4',
        purpose: 'video_generation',
        download_url: url,
      });
      const text = `{"file":{"file_id":${fileId},${rest.slice(1)},"base_resp":{"status_code":0,"status_msg":"success"}}`;
      return {
        kind: 'body',
        status: 200,
        headers: { 'content-type': 'application/json' },
        body: Buffer.from(text),
      };
    },
  },
];

/** Keys start with `sk-`; any other text gets a different error than a wrong key. */
function authorize(request: SimulatorRequest): SimulatorResponse | undefined {
  const given = /^Bearer (\S+)$/.exec(request.headers.authorization ?? '')?.[1];
  if (given === KEY) return undefined;
  if (request.path.startsWith('/v2/')) {
    const message = 'login fail: Please carry the API secret key in the Authorization field (1004)';
    return jsonResponse(401, {
      type: 'error',
      error: { type: 'authorized_error', message, http_code: '401' },
      request_id: '05',
    });
  }
  return refusal(...PROBLEMS[given?.startsWith('sk-') ? 'forbidden' : 'unauthorized']);
}

/** MiniMax video generation: Hailuo through the first protocol, the H3 models through the second. */
export const hailuo = defineSimulator({
  name: 'hailuo',
  credentials: () => ({ api_key: KEY }),
  authorize,
  problem(problem, message) {
    const [code, text] = PROBLEMS[problem];
    return refusal(code, message ?? text);
  },
  routes: [...V1_ROUTES, ...HAILUO_H3_ROUTES],
});
