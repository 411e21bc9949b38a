import type { Job, JobPhase, ProblemKind, Route, SimulatorContext, SimulatorResponse } from '../define-simulator.ts';
import { defineSimulator, jsonResponse, toShape } from '../define-simulator.ts';
import { findInvalidField, modelOf } from './seedance-validation.ts';

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

/** Billed tokens follow from the pixels of a 16:9 clip. */
const PIXELS: Readonly<Record<string, number>> = { '480p': 864 * 480, '720p': 1280 * 720, '1080p': 1920 * 1080 };

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

/** Volcengine Ark's video generation. Fault `concurrency` with a `message` shows the other meanings of QuotaExceeded. */
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
