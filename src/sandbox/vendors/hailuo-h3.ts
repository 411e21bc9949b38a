import type { Job, JobPhase, Route, SimulatorContext, SimulatorResponse } from '../define-simulator.ts';
import { jsonResponse, newDigits, toShape } from '../define-simulator.ts';

/** The second protocol reports errors by HTTP status and ends their text with the first one's number. */
const refuse = (status: number, type: string, message: string): SimulatorResponse =>
  jsonResponse(status, { type: 'error', error: { type, message, http_code: String(status) }, request_id: '05f1c2' });

const MODELS: Readonly<Record<string, { resolutions: readonly string[]; minSeconds: number; references: number }>> = {
  'MiniMax-H3': { resolutions: ['768P', '2K'], minSeconds: 4, references: 9 },
  'MiniMax-H3-Max': { resolutions: ['480P', '768P'], minSeconds: 5, references: 0 },
};
const RATIOS = ['adaptive', '21:9', '16:9', '4:3', '1:1', '3:4', '9:16'];

interface Item {
  readonly type?: unknown;
  readonly text?: unknown;
  readonly role?: unknown;
  readonly image_url?: { readonly url?: unknown };
}

function findInvalidField(body: Readonly<Record<string, unknown>>): string | undefined {
  const { model, content, duration = 5, resolution, ratio } = body;
  const limits = MODELS[String(model)];
  if (limits === undefined) return `model ${model} is not supported`;
  if (!Array.isArray(content) || content.length === 0) return 'content is required';
  const items = content as readonly Item[];
  const pictures = items.filter((item) => item.type === 'image_url');
  if (pictures.some((item) => !/^https?:|^data:image\/|^mm_file:/.test(String(item.image_url?.url))))
    return 'image_url';
  const roles = pictures.map((item) => String(item.role));
  const references = roles.filter((role) => role === 'reference_image').length;
  if (references > 0 && references < roles.length) return 'frames and references exclude each other';
  if (references > limits.references || roles.length - references > 2) return 'too many images';
  if (!Number.isInteger(duration) || Number(duration) < limits.minSeconds || Number(duration) > 15)
    return `duration must be ${limits.minSeconds} to 15`;
  if (resolution !== undefined && !limits.resolutions.some((known) => known === resolution))
    return `resolution must be ${limits.resolutions.join(' or ')}`;
  if (ratio !== undefined && !RATIOS.some((known) => known === ratio)) return 'ratio is not supported';
  if (roles.length === 0 && (ratio === undefined || ratio === 'adaptive')) return 'ratio must not be adaptive';
  return undefined;
}

/** The words of this vendor, by coincidence the same as Seedance's. */
const STATUS_WORDS: Readonly<Record<JobPhase, string>> = {
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
    status: STATUS_WORDS[phase],
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

export const HAILUO_H3_ROUTES: readonly Route[] = [
  {
    method: 'POST',
    path: '/v2/video_generation',
    operation: 'submit',
    handle(request, context) {
      const body = request.json();
      const wrong = body ? findInvalidField(body) : 'body is no JSON object';
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
