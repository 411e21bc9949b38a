import {
  defineSimulator,
  type Job,
  type JobPhase,
  jsonResponse,
  newDigits,
  type ProblemKind,
  type SimulatorContext,
  type SimulatorResponse,
} from '../define-simulator.ts';
import { viduCredits } from './kling-and-vidu-billed-units.ts';
import { checkViduBody, type ViduTask } from './vidu-validation.ts';

/**
 * Vidu's enterprise API `/ent/v2` (platform.vidu.com/docs): four submit paths by what is given, one poll, one list.
 */

const API_KEY = 'vda_sandbox_9c1f6c0e5a';

/** Kratos-style error bodies; `reason` is the decisive code, and lack of credits is a plain 400. */
const PROBLEMS: Readonly<Record<ProblemKind, readonly [status: number, reason: string, message: string]>> = {
  unauthorized: [401, 'Unauthorized', 'invalid api key'],
  forbidden: [403, 'Forbidden', 'this key may not use the service'],
  billing: [400, 'CreditInsufficient', 'credits are not enough'],
  model: [400, 'ModelUnavailable', 'the model is not available'],
  rate: [429, 'TooManyRequests', 'too many requests'],
  concurrency: [429, 'QuotaExceeded', 'too many running tasks'],
  overloaded: [503, 'InternalServiceFailure', 'the system is busy'],
  broken: [500, 'InternalServiceFailure', 'internal service failure'],
  timeout: [504, 'InternalServiceFailure', 'upstream timed out'],
  policy: [400, 'TaskPromptPolicyViolation', 'the prompt breaks the content policy'],
  invalid: [400, 'FieldInvalid', 'a field is invalid'],
  not_found: [404, 'TaskNotFound', 'task not found'],
};

const failure = (status: number, reason: string, message: string): SimulatorResponse =>
  jsonResponse(status, { code: status, reason, message, metadata: {} });

const STATE: Readonly<Record<JobPhase, string>> = {
  queued: 'queueing',
  running: 'processing',
  succeeded: 'success',
  failed: 'failed',
  filtered: 'failed',
  expired: 'failed',
  cancelled: 'failed',
  unknown: 'hibernating',
};
const ERR_CODE: Readonly<Partial<Record<JobPhase, string>>> = {
  failed: 'InternalServiceFailure',
  filtered: 'CreationPolicyViolation',
  expired: 'Canceled',
  cancelled: 'UserCancelled',
};

const PACKAGE_CREDITS = 1_000_000;

function creditsOf(job: Job): number {
  const { resolution, images } = job.input as { readonly resolution?: unknown; readonly images?: unknown };
  const count = Array.isArray(images) ? images.length : 0;
  return viduCredits(job.model, typeof resolution === 'string' ? resolution : '720p', job.seconds, count > 2);
}

function submit(
  task: ViduTask,
  request: { json(): Readonly<Record<string, unknown>> | undefined },
  context: SimulatorContext,
) {
  const body = request.json();
  if (!body) return failure(400, 'CODEC', 'body is not a JSON object');
  const refusal = checkViduBody(task, body);
  if (refusal) return failure(400, refusal.reason, refusal.message);
  const job = context.createJob({
    id: `899${newDigits(context.now())}`,
    prompt: typeof body.prompt === 'string' ? body.prompt : '',
    model: typeof body.model === 'string' ? body.model : '',
    input: body,
    externalId: typeof body.payload === 'string' ? body.payload : undefined,
    shape: body.aspect_ratio === '9:16' || body.aspect_ratio === '1:1' ? body.aspect_ratio : '16:9',
    audio: body.audio === true || body.bgm === true,
    seconds: Number(body.duration ?? 5),
  });
  return jsonResponse(200, {
    task_id: job.id,
    type: task,
    state: 'created',
    ...body,
    seed: body.seed ?? 1_746_093_211,
    credits: creditsOf(job),
    created_at: new Date(job.createdAtMs).toISOString().replace('Z', '123Z'),
  });
}

function toCreations(job: Job, context: SimulatorContext) {
  const snapshot = context.pollJob(job);
  const payload = job.externalId ?? '';
  const creation = {
    id: `${job.id}0`,
    url: context.artifactUrl(job),
    cover_url: context.artifactUrl(job, 'thumbnail'),
    watermarked_url: '',
  };
  return {
    id: job.id,
    state: STATE[snapshot.phase],
    err_code: ERR_CODE[snapshot.phase] ?? '',
    credits: ERR_CODE[snapshot.phase] ? 0 : creditsOf(job),
    payload,
    bgm: false,
    off_peak: false,
    creations: snapshot.hasArtifact ? [creation] : [],
  };
}

const submitRoute = (task: ViduTask) => ({
  method: 'POST' as const,
  path: `/ent/v2/${task}`,
  operation: 'submit' as const,
  handle: (request: Parameters<typeof submit>[1], context: SimulatorContext) => submit(task, request, context),
});

export const vidu = defineSimulator({
  name: 'vidu',
  credentials: () => ({ api_key: API_KEY }),
  authorize(request) {
    // The id is parsed before the key is verified.
    const id = /^\/ent\/v2\/tasks\/([^/]+)\/creations$/.exec(request.path)?.[1];
    if (id !== undefined && !/^\d{1,19}$/.test(id)) return failure(400, 'CODEC', `parsing field "id": ${id}`);
    return request.headers.authorization === `Token ${API_KEY}` ? undefined : this.problem('unauthorized');
  },
  problem(problem, message) {
    const [status, reason, usual] = PROBLEMS[problem];
    return failure(status, reason, message ?? usual);
  },
  routes: [
    submitRoute('text2video'),
    submitRoute('img2video'),
    submitRoute('start-end2video'),
    submitRoute('reference2video'),
    {
      method: 'GET',
      path: /^\/ent\/v2\/tasks\/(?<id>\d+)\/creations$/,
      operation: 'query',
      handle({ params }, context) {
        const job = context.jobs.find(params.id ?? '');
        return job ? jsonResponse(200, toCreations(job, context)) : failure(404, 'TaskNotFound', 'task not found');
      },
    },
    {
      method: 'GET',
      path: '/ent/v2/credits',
      operation: 'other',
      handle(_request, context) {
        const used = context.jobs
          .all()
          .filter((job) => context.jobs.snapshot(job).phase === 'succeeded')
          .reduce((sum, job) => sum + creditsOf(job), 0);
        return jsonResponse(200, { remains: [{ type: 'metered', credit_remain: PACKAGE_CREDITS - used }] });
      },
    },
    {
      method: 'GET',
      path: '/ent/v2/tasks',
      operation: 'other',
      handle({ query }, context) {
        const size = Math.min(Number(query.get('pager.pagesz') ?? 10), 100);
        const newest = context.jobs.all().toReversed().slice(0, size);
        const tasks = newest.map((job) => ({ ...toCreations(job, context), model: job.model, prompt: job.prompt }));
        return jsonResponse(200, { tasks, next_page_token: '' });
      },
    },
  ],
});
