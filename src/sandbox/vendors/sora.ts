import type { Job, JobPhase } from '../jobs.ts';
import { loadMedia } from '../media.ts';
import {
  defineSimulator,
  fileResponse,
  jsonResponse,
  type ProblemKind,
  type SimulatorContext,
  type SimulatorRequest,
  type SimulatorResponse,
  toShape,
} from '../simulator.ts';

/** OpenAI's `/v1/videos` as it was until September 2026, and as compatible services still implement it. */

const API_KEY = 'sk-sandbox-sora';
const SECONDS = ['4', '8', '12'];
const SIZES = ['720x1280', '1280x720'];
const PRO_SIZES = [...SIZES, '1024x1792', '1792x1024'];
const KEPT_SECONDS = 3_600;

interface SoraInput {
  readonly size: string;
  readonly seconds: string;
  readonly remixedFrom: string | null;
  /** Type of the file part, `image_url` or `file_id`; null without an image. */
  readonly reference: string | null;
}

const PROBLEMS: Readonly<
  Record<ProblemKind, readonly [status: number, type: string, code: string | null, text: string]>
> = {
  unauthorized: [401, 'invalid_request_error', 'invalid_api_key', 'Incorrect API key provided.'],
  forbidden: [403, 'invalid_request_error', 'unsupported_country_region_territory', 'Country not supported.'],
  billing: [429, 'insufficient_quota', 'insufficient_quota', 'You exceeded your current quota, check your plan.'],
  model: [404, 'invalid_request_error', 'model_not_found', 'The model does not exist or you do not have access to it.'],
  rate: [429, 'requests', 'rate_limit_exceeded', 'Rate limit reached for requests.'],
  concurrency: [429, 'requests', 'rate_limit_exceeded', 'Too many videos are being made at once.'],
  overloaded: [503, 'server_error', 'server_error', 'The server is overloaded, please try again later.'],
  broken: [500, 'server_error', 'server_error', 'The server had an error while processing your request.'],
  timeout: [504, 'server_error', 'server_error', 'The request timed out.'],
  policy: [400, 'invalid_request_error', 'moderation_blocked', 'Your request was blocked by our moderation system.'],
  invalid: [400, 'invalid_request_error', 'invalid_value', 'Invalid value.'],
  not_found: [404, 'invalid_request_error', null, 'Video not found.'],
};

function refusal(
  problem: ProblemKind,
  message?: string,
  param: string | null = null,
  code?: string,
): SimulatorResponse {
  const [status, type, usual, text] = PROBLEMS[problem];
  return jsonResponse(status, { error: { message: message ?? text, type, param, code: code ?? usual } });
}

const invalid = (param: string, message: string, code = 'invalid_value') => refusal('invalid', message, param, code);

const WORDS: Readonly<Record<JobPhase, string>> = {
  queued: 'queued',
  running: 'in_progress',
  succeeded: 'completed',
  failed: 'failed',
  filtered: 'failed',
  expired: 'failed',
  cancelled: 'cancelled',
  unknown: 'preparing_dreams',
};

function failure(phase: JobPhase): { code: string; message: string } | null {
  if (phase === 'filtered') return { code: 'moderation_blocked', message: PROBLEMS.policy[3] };
  if (phase === 'failed') return { code: 'video_generation_failed', message: 'The video could not be generated.' };
  return phase === 'expired' ? { code: 'expired', message: 'The job expired.' } : null;
}

function toVideo(job: Job, context: SimulatorContext, snapshot = context.jobs.snapshot(job)) {
  const input = job.input as SoraInput;
  const finishedAt = snapshot.phase === 'succeeded' ? Math.floor(context.jobs.finishedAtMs(job) / 1_000) : null;
  return {
    id: job.id,
    object: 'video',
    model: job.model,
    status: WORDS[snapshot.phase],
    progress: snapshot.progress,
    created_at: Math.floor(job.createdAtMs / 1_000),
    completed_at: finishedAt,
    expires_at: finishedAt === null ? null : finishedAt + KEPT_SECONDS,
    prompt: job.prompt,
    size: input.size,
    seconds: input.seconds,
    remixed_from_video_id: input.remixedFrom,
    error: failure(snapshot.phase),
  };
}

/** Fields of a JSON or multipart body; a file part is represented by its type. */
async function readFields(request: SimulatorRequest): Promise<Readonly<Record<string, unknown>> | undefined> {
  if (!request.headers['content-type']?.startsWith('multipart/form-data')) return request.json();
  const form = await request.form().catch(() => undefined);
  if (!form) return undefined;
  const fields: Record<string, unknown> = {};
  for (const [name, value] of form) {
    if (typeof value !== 'string') fields[name] = { file: value.type };
    else if (name.startsWith('input_reference[')) fields.input_reference = { [name.slice(16, -1)]: value };
    else fields[name] = value;
  }
  return fields;
}

function readReference(value: unknown): string | null | SimulatorResponse {
  if (value === undefined || value === null) return null;
  const param = 'input_reference';
  if (typeof value !== 'object') return invalid(param, 'Expected a file, but got a string instead.', 'invalid_type');
  const { file: type, image_url: url, file_id: id } = value as Readonly<Record<string, unknown>>;
  if (typeof type === 'string') {
    return /^(image\/(jpeg|png|webp)|video\/mp4)$/.test(type) ? type : invalid(param, `Unsupported mimetype: ${type}.`);
  }
  if ((url === undefined) === (id === undefined)) return invalid(param, 'Give either image_url or file_id.');
  return url === undefined ? 'file_id' : 'image_url';
}

let count = 0;
/** Contains the time, so that ids differ from those of an earlier run. */
function newId(context: SimulatorContext): string {
  count += 1;
  return `video_${context.now().toString(16)}${count.toString(16).padStart(6, '0')}`;
}

async function create(request: SimulatorRequest, context: SimulatorContext): Promise<SimulatorResponse> {
  const fields = await readFields(request);
  if (!fields) return invalid('body', 'We could not parse the body of your request.');
  const { prompt, model = 'sora-2', seconds = '4', size = '720x1280' } = fields;
  if (typeof prompt !== 'string')
    return invalid('prompt', "Missing parameter: 'prompt'.", 'missing_required_parameter');
  if (prompt === '' || prompt.length > 32_000) return invalid('prompt', 'The prompt must have 1 to 32000 characters.');
  if (typeof model !== 'string' || !/^sora-[2-9]/.test(model)) return refusal('model');
  if (typeof seconds !== 'string' || !SECONDS.includes(seconds)) {
    return invalid('seconds', `Invalid value: '${seconds}'. Supported values are: '4', '8', and '12'.`);
  }
  if (typeof size !== 'string' || !(model.startsWith('sora-2-pro') ? PRO_SIZES : SIZES).includes(size)) {
    return invalid('size', `Invalid value: '${size}'.`);
  }
  const reference = readReference(fields.input_reference);
  if (typeof reference === 'object' && reference !== null) return reference;
  const input: SoraInput = { size, seconds, remixedFrom: null, reference };
  const job = context.createJob({
    id: newId(context),
    prompt,
    model,
    input,
    shape: toShape(size),
    seconds: Number(seconds),
  });
  return jsonResponse(200, toVideo(job, context));
}

function remix(request: SimulatorRequest, context: SimulatorContext): SimulatorResponse {
  const origin = context.jobs.find(request.params.id ?? '');
  if (!origin) return refusal('not_found');
  const prompt = request.json()?.prompt;
  if (typeof prompt !== 'string' || prompt === '') {
    return invalid('prompt', "Missing parameter: 'prompt'.", 'missing_required_parameter');
  }
  if (context.jobs.snapshot(origin).phase !== 'succeeded')
    return invalid('video', 'Only completed videos can be remixed.');
  const input: SoraInput = { ...(origin.input as SoraInput), remixedFrom: origin.id, reference: null };
  const { model, shape, seconds } = origin;
  return jsonResponse(
    200,
    toVideo(context.createJob({ id: newId(context), prompt, model, input, shape, seconds }), context),
  );
}

/** Edits or extends a video of this account, by its id, or an upload. */
async function change(
  request: SimulatorRequest,
  context: SimulatorContext,
  operation: 'edits' | 'extensions',
): Promise<SimulatorResponse> {
  const fields = await readFields(request);
  if (!fields) return refusal('invalid');
  const { prompt, video, seconds = '4', ...others } = fields;
  const [stray] = Object.keys(others);
  if (stray !== undefined) return invalid(stray, `Unknown parameter: '${stray}'.`, 'unknown_parameter');
  if (typeof prompt !== 'string' || prompt === '')
    return invalid('prompt', "Missing parameter: 'prompt'.", 'missing_required_parameter');
  const { id, file } = (typeof video === 'object' ? (video ?? {}) : {}) as Readonly<Record<string, unknown>>;
  const origin = typeof id === 'string' ? context.jobs.find(id) : undefined;
  if (typeof file !== 'string' && !origin)
    return id === undefined ? invalid('video', 'A video is required.') : refusal('not_found');
  if (typeof file === 'string' && !file.startsWith('video/')) return invalid('video', `Unsupported mimetype: ${file}.`);
  if (operation === 'edits' && fields.seconds !== undefined) return invalid('seconds', "Unknown parameter: 'seconds'.");
  if (!['4', '8', '12', '16', '20'].includes(String(seconds))) return invalid('seconds', 'Invalid value.');
  const length = operation === 'edits' ? (origin?.seconds ?? 4) : Number(seconds);
  const input: SoraInput = {
    size: (origin?.input as SoraInput | undefined)?.size ?? '720x1280',
    seconds: String(length),
    remixedFrom: origin?.id ?? null,
    reference: null,
  };
  const { model = 'sora-2', shape = '9:16' } = origin ?? {};
  const job = context.createJob({ id: newId(context), prompt, model, input, seconds: length, shape });
  return jsonResponse(200, toVideo(job, context));
}

function list(request: SimulatorRequest, context: SimulatorContext): SimulatorResponse {
  const jobs = context.jobs.all().toSorted((a, b) => b.createdAtMs - a.createdAtMs);
  if (request.query.get('order') === 'asc') jobs.reverse();
  const start = jobs.findIndex((job) => job.id === request.query.get('after')) + 1;
  const limit = Number(request.query.get('limit') ?? 20);
  const data = jobs.slice(start, start + limit).map((job) => toVideo(job, context));
  const has_more = start + limit < jobs.length;
  return jsonResponse(200, {
    object: 'list',
    data,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
    has_more,
  });
}

function content(request: SimulatorRequest, context: SimulatorContext): SimulatorResponse {
  const job = context.jobs.find(request.params.id ?? '');
  if (!job) return refusal('not_found');
  if (!context.jobs.snapshot(job).hasArtifact)
    return refusal('not_found', 'Video is not ready yet, use GET to see its status.');
  const variant = request.query.get('variant') ?? 'video';
  if (variant === 'video') return fileResponse(context.media(job));
  if (variant === 'thumbnail') return fileResponse(context.media(job, 'thumbnail'));
  return variant === 'spritesheet'
    ? fileResponse(loadMedia('spritesheet.jpg'))
    : invalid('variant', `Invalid value: '${variant}'.`);
}

const ONE = /^\/v1\/videos\/(?<id>[^/]+)$/;

/** Simulated Sora. */
export const sora = defineSimulator({
  name: 'sora',
  credentials: () => ({ api_key: API_KEY }),
  authorize: ({ headers }) => (headers.authorization === `Bearer ${API_KEY}` ? undefined : refusal('unauthorized')),
  problem: (problem, message) => refusal(problem, message),
  routes: [
    { method: 'POST', path: '/v1/videos', operation: 'submit', handle: create },
    {
      method: 'POST',
      path: '/v1/videos/edits',
      operation: 'submit',
      handle: (request, context) => change(request, context, 'edits'),
    },
    {
      method: 'POST',
      path: '/v1/videos/extensions',
      operation: 'submit',
      handle: (request, context) => change(request, context, 'extensions'),
    },
    { method: 'POST', path: /^\/v1\/videos\/(?<id>[^/]+)\/remix$/, operation: 'submit', handle: remix },
    { method: 'GET', path: '/v1/videos', operation: 'other', handle: list },
    { method: 'GET', path: /^\/v1\/videos\/(?<id>[^/]+)\/content$/, operation: 'content', handle: content },
    {
      method: 'GET',
      path: ONE,
      operation: 'query',
      handle({ params: { id = '' } }, context) {
        const job = context.jobs.find(id);
        return job ? jsonResponse(200, toVideo(job, context, context.pollJob(job))) : refusal('not_found');
      },
    },
    {
      method: 'DELETE',
      path: ONE,
      operation: 'other',
      handle({ params: { id = '' } }, context) {
        return context.jobs.remove(id)
          ? jsonResponse(200, { id, object: 'video.deleted', deleted: true })
          : refusal('not_found');
      },
    },
  ],
});
