import { createHmac, timingSafeEqual } from 'node:crypto';
import {
  defineSimulator,
  jsonResponse,
  type ProblemKind,
  type SimulatorContext,
  type SimulatorRequest,
  type SimulatorResponse,
  toShape,
} from '../define-simulator.ts';
import type { Job, JobPhase, JobSnapshot } from '../jobs.ts';
import { klingUnits } from './kling-and-vidu-billed-units.ts';
import { klingTurboRoutes } from './kling-turbo.ts';
import { checkKlingBody, type KlingFamily } from './kling-validation.ts';

/** Kling's `/v1/videos/{text2video,image2video}`: signed tokens or an opaque key, one envelope for everything. */

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

/** The vendor's error code for a wrong bearer token; undefined when the token is right. */
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
const REASONS: Readonly<Partial<Record<JobPhase, string>>> = {
  failed: 'Task processing failed, please try again',
  filtered: 'Failure to pass the risk control system',
  expired: 'Task expired',
  cancelled: 'Task cancelled',
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

/** One resource pack, from which all that succeeded was taken. */
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
