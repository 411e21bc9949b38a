import { randomUUID } from 'node:crypto';
import type {
  Job,
  JobPhase,
  ProblemKind,
  Route,
  SimulatorContext,
  SimulatorRequest,
  SimulatorResponse,
} from '../define-simulator.ts';
import { defineSimulator, jsonResponse, toShape } from '../define-simulator.ts';
import { asFields, findErrorAtSubmit, findErrorInTask, modelOf } from './wan-validation.ts';

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

/** Nothing is loaded here: every video that is edited has this length. */
const EDITED_SECONDS = 5;

/** Why an accepted task fails when the vendor works on it. */
const complaints = new WeakMap<Job, string>();

/** `YYYY-MM-DD HH:mm:ss.SSS` in Beijing time, without the time zone. */
const toTime = (ms: number): string => new Date(ms + 8 * 3_600_000).toISOString().replace('T', ' ').replace('Z', '');

/** Three shapes: older models, newer ones, and references, whose numbers have a decimal point. */
function toUsage(job: Job): Readonly<Record<string, unknown>> {
  if (/2\.[12]-/.test(job.model)) return { video_duration: job.seconds, video_count: 1, SR: 720 };
  if (job.model === 'wan2.7-videoedit') {
    const seconds = { input_video_duration: EDITED_SECONDS, output_video_duration: job.seconds };
    return { duration: EDITED_SECONDS + job.seconds, ...seconds, video_count: 1, SR: 720 };
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
