import { randomUUID } from 'node:crypto';
import { asObject } from '../../contract/objects.ts';
import {
  defineSimulator,
  type Job,
  jsonResponse,
  type SimulatorContext,
  type SimulatorRequest,
  type SimulatorResponse,
  toShape,
} from '../simulator.ts';
import { fileDownload, geminiApi, listOfModels } from './veo.ts';

/** Interactions of the Gemini API, for videos of the Omni models (github.com/googleapis/js-genai, `Interaction`). */

const MODELS = ['gemini-omni-1.2-flash', 'gemini-omni-1.1-flash'];
/** Names of newer models, which have the rules of the newest. */
const NEWER_MODEL = /^gemini-omni-(?:1\.[3-9]|[2-9])/;
/** Tokens per second of video by resolution, as reported in the usage. */
const TOKENS_PER_SECOND: Readonly<Record<string, number>> = {
  '360p': 1_931,
  '720p': 5_792,
  '1080p': 8_688,
  '4k': 17_376,
};

const problem = geminiApi.problem;
const formatOf = (input: unknown) => asObject(asObject(input)?.response_format) ?? {};

function create(request: SimulatorRequest, context: SimulatorContext): SimulatorResponse {
  const body = request.json();
  const model = typeof body?.model === 'string' ? body.model : '';
  if (!MODELS.includes(model) && !NEWER_MODEL.test(model))
    return problem('model', `models/${model} is not found for Interactions.`);
  const wrong = checkInteraction(model, body);
  if (wrong !== undefined) return problem('invalid', wrong);
  const format = formatOf(body);
  const job = context.createJob({
    id: `v1_${randomUUID().replaceAll('-', '')}`,
    prompt: textOf(body?.input),
    model,
    input: body,
    shape: toShape(format.aspect_ratio),
    audio: format.aspect_ratio !== '9:16',
    seconds: secondsOf(format.duration),
  });
  return jsonResponse(200, resource(job, 'in_progress'));
}

const resource = (job: Job, status: string, more: object = {}) => ({
  id: job.id,
  object: 'interaction',
  model: job.model,
  status,
  created: new Date(job.createdAtMs).toISOString(),
  ...more,
});

const output = (content: readonly object[], more: object = {}) => ({
  steps: [{ type: 'user_input', content: [] }, { type: 'thought' }, { type: 'model_output', content, ...more }],
});

function finished(job: Job, context: SimulatorContext): object {
  const { resolution = '720p' } = formatOf(job.input);
  const tokens = job.seconds * (TOKENS_PER_SECOND[String(resolution)] ?? 0);
  return {
    ...output([{ type: 'video', mime_type: 'video/mp4', uri: `${context.url}/v1beta/files/${job.id}` }]),
    usage: { total_output_tokens: tokens, output_tokens_by_modality: [{ modality: 'video', tokens }] },
  };
}

function read(job: Job | undefined, context: SimulatorContext): SimulatorResponse {
  const snapshot = job && context.pollJob(job);
  if (!job || !snapshot || snapshot.phase === 'expired') return problem('not_found');
  switch (snapshot.phase) {
    case 'queued':
      return jsonResponse(200, resource(job, 'queued'));
    case 'running':
      return jsonResponse(200, resource(job, 'in_progress'));
    case 'unknown':
      return jsonResponse(200, resource(job, 'rethinking'));
    case 'cancelled':
      return jsonResponse(200, resource(job, 'cancelled'));
    case 'failed': {
      const error = { code: 13, message: 'Video generation failed due to an internal server issue.' };
      return jsonResponse(200, resource(job, 'failed', output([], { error })));
    }
    case 'filtered': {
      const text = 'Request blocked due to safety violations (harmful content), by the safety filters.';
      return jsonResponse(200, resource(job, 'completed', output([{ type: 'text', text }])));
    }
    case 'succeeded':
      return jsonResponse(200, resource(job, 'completed', snapshot.hasArtifact ? finished(job, context) : output([])));
  }
}

const BY_ID = /^\/v1beta\/interactions\/(?<id>[^/]+)$/;

/** Simulated Gemini Interactions. */
export const veoInteractions = defineSimulator({
  name: 'veo-omni',
  vendor: 'veo',
  models: /^gemini-omni-/,
  ...geminiApi,
  routes: [
    { method: 'POST', path: '/v1beta/interactions', operation: 'submit', handle: create },
    {
      method: 'GET',
      path: BY_ID,
      operation: 'query',
      handle: ({ params: { id = '' } }, context) => read(context.jobs.find(id), context),
    },
    {
      // Only a running interaction can be cancelled.
      method: 'POST',
      path: /^\/v1beta\/interactions\/(?<id>[^/]+)\/cancel$/,
      operation: 'other',
      handle({ params: { id = '' } }, context) {
        const job = context.jobs.find(id);
        if (!job) return problem('not_found');
        const { phase } = context.jobs.snapshot(job);
        if (phase !== 'queued' && phase !== 'running') return problem('invalid', 'The interaction has ended.');
        job.outcome = 'cancel';
        return jsonResponse(200, resource(job, 'cancelled'));
      },
    },
    {
      method: 'DELETE',
      path: BY_ID,
      operation: 'other',
      handle: ({ params: { id = '' } }, context) =>
        context.jobs.remove(id) ? jsonResponse(200, {}) : problem('not_found'),
    },
    {
      method: 'GET',
      path: /^\/v1beta\/files\/(?<id>[^/:]+)$/,
      operation: 'other',
      handle({ params: { id = '' } }, context) {
        const job = context.jobs.find(id);
        if (!job) return problem('forbidden', 'You do not have permission to access the file or it may not exist.');
        return jsonResponse(200, { name: `files/${id}`, mimeType: 'video/mp4', state: 'ACTIVE' });
      },
    },
    fileDownload,
    listOfModels(MODELS),
  ],
});

/** Error that Interactions returns for an invalid interaction of an Omni model; undefined if it is valid. */

type Fields = Readonly<Record<string, unknown>>;
type Check = (value: unknown) => boolean;

const isOneOf =
  (...words: string[]): Check =>
  (value) =>
    typeof value === 'string' && words.includes(value);

const isText: Check = (value) => typeof value === 'string' && value !== '';

const BLOCKS: Readonly<Record<string, Readonly<Record<string, Check>>>> = {
  text: { type: isText, text: isText },
  image: {
    type: isText,
    data: (value) => typeof value === 'string' && /^[A-Za-z0-9+/]+={0,2}$/.test(value),
    mime_type: isOneOf('image/png', 'image/jpeg', 'image/webp'),
  },
  video: {
    type: isText,
    data: (value) => typeof value === 'string' && /^[A-Za-z0-9+/]+={0,2}$/.test(value),
    mime_type: isOneOf('video/mp4', 'video/quicktime', 'video/webm'),
  },
};
const FORMAT: Readonly<Record<string, Check>> = {
  type: isOneOf('video'),
  aspect_ratio: isOneOf('16:9', '9:16'),
  resolution: isOneOf('360p', '720p', '1080p', '4k'),
  duration: (value) => typeof value === 'string' && /^\d{1,2}s$/.test(value),
  delivery: isOneOf('inline', 'uri'),
};
const TASK = isOneOf('text_to_video', 'image_to_video', 'reference_to_video', 'edit', 'extend');
const KEYS = new Set(['model', 'input', 'background', 'response_format', 'generation_config', 'store', 'labels']);

function checkFields(value: unknown, known: Readonly<Record<string, Check>>, where: string): string | undefined {
  const fields = asObject(value);
  if (!fields) return `Invalid value at '${where}'.`;
  for (const [key, inner] of Object.entries(fields)) {
    if (!Object.hasOwn(known, key)) return `Unknown name "${key}" at '${where}': Cannot find field.`;
    if (!known[key]?.(inner)) return `Invalid value at '${where}.${key}'.`;
  }
  return undefined;
}

const blocksOf = (input: unknown): readonly Fields[] =>
  (Array.isArray(input) ? input : []).map((block) => asObject(block) ?? {});

/** Text of an input: its text blocks, or the input itself if it is a text. */
const textOf = (input: unknown): string =>
  typeof input === 'string'
    ? input
    : blocksOf(input)
        .map(({ text }) => (typeof text === 'string' ? text : ''))
        .join(' ');

function checkInput(input: unknown): string | undefined {
  if (typeof input === 'string') return undefined;
  const blocks = blocksOf(input);
  if (blocks.length === 0) return 'An input is required.';
  if (blocks.filter(({ type }) => type === 'image').length > 6) return 'At most 6 images are supported.';
  for (const [index, block] of blocks.entries()) {
    const wrong = checkFields(block, BLOCKS[String(block.type)] ?? {}, `input[${index}]`);
    if (wrong !== undefined) return wrong;
  }
  return undefined;
}

const MAX_VIDEOS = 3;

/** Edits and extensions need one video, and two frames a length of at most ten seconds. */
function checkTask(task: unknown, input: unknown, seconds: number): string | undefined {
  const types = blocksOf(input).map(({ type }) => type);
  const videos = types.filter((type) => type === 'video').length;
  const images = types.filter((type) => type === 'image').length;
  if (task === 'edit' || task === 'extend') return videos === 1 ? undefined : `The task ${task} needs one video.`;
  if (videos > MAX_VIDEOS) return `At most ${MAX_VIDEOS} videos are supported.`;
  if (videos > 0 && task !== 'reference_to_video') return 'Videos are references, or belong to a task edit or extend.';
  const isBetweenFrames = task === undefined && images === 2;
  return isBetweenFrames && seconds > 10 ? 'The duration must be at most 10s between two frames.' : undefined;
}

/** Ten seconds if the interaction names no length. */
const secondsOf = (duration: unknown): number =>
  typeof duration === 'string' ? Number(/^(\d{1,2})s$/.exec(duration)?.[1] ?? Number.NaN) : 10;

function checkInteraction(model: string, body: Fields | undefined): string | undefined {
  if (!body) return 'Invalid JSON payload received.';
  const extra = Object.keys(body).find((key) => !KEYS.has(key));
  if (extra !== undefined) return `Unknown name "${extra}": Cannot find field.`;
  const format = asObject(body.response_format) ?? {};
  const seconds = secondsOf(format.duration);
  const most = model.startsWith('gemini-omni-1.1') ? 10 : 15;
  if (!(seconds >= 3 && seconds <= most)) return `The duration must be between 3s and ${most}s.`;
  const { video_config: config, ...others } = asObject(body.generation_config ?? {}) ?? {};
  const [other] = Object.keys(others);
  if (other !== undefined) return `\`generation_config.${other}\` is not supported by this model.`;
  return (
    checkInput(body.input) ??
    checkFields(format, FORMAT, 'response_format') ??
    (config === undefined ? undefined : checkFields(config, { task: TASK }, 'generation_config.video_config')) ??
    checkTask(asObject(config)?.task, body.input, seconds)
  );
}
