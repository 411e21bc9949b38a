import {
  defineSimulator,
  jsonResponse,
  newDigits,
  type ProblemKind,
  type SimulatorContext,
  type SimulatorRequest,
  type SimulatorResponse,
  toShape,
} from '../define-simulator.ts';
import type { Job, JobPhase } from '../jobs.ts';
import { checkJimengBody, isPictureKey } from './jimeng-validation.ts';
import { verifyVolcengineSignature } from './verify-volcengine-signature.ts';

/** Jimeng on Volcengine's visual service: one path, the operation in the query, the model in the body. */

const ACCESS_KEY = 'AKLTsandboxjimeng';
const SECRET_KEY = 'c2FuZGJveC1qaW1lbmctc2VjcmV0';
const OK = 10_000;

const PROBLEMS: Readonly<
  Record<Exclude<ProblemKind, 'unauthorized'>, readonly [status: number, code: number, text: string]>
> = {
  forbidden: [403, 50400, 'Access Denied: the service is not opened'],
  billing: [403, 50400, 'Access Denied: the account is overdue'],
  model: [403, 50400, 'Access Denied: req_key is not opened for this account'],
  rate: [429, 50429, 'Request Has Reached API Limit, Please Try Later'],
  concurrency: [429, 50430, 'Request Has Reached API Concurrent Limit, Please Try Later'],
  overloaded: [500, 50501, 'Internal RPC Error'],
  broken: [500, 50500, 'Internal Error'],
  timeout: [500, 50501, 'Internal RPC Error'],
  policy: [400, 50413, 'Post Text Risk Not Pass'],
  invalid: [400, 50200, 'Invalid Input Parameters'],
  not_found: [404, 50200, 'Invalid Input Parameters'],
};

let count = 0;
function requestId(stamp: string): string {
  count += 1;
  return `${stamp}${count.toString(16).toUpperCase().padStart(18, '0')}`;
}

const envelope = (status: number, code: number, message: string, data: unknown): SimulatorResponse =>
  jsonResponse(status, {
    code,
    data,
    message,
    request_id: requestId('20260102030405'),
    status: code,
    time_elapsed: '21.4ms',
  });

/** The front gateway's own envelope, for requests that never reach the service. */
function gateway(status: number, codeN: number, code: string, message: string): SimulatorResponse {
  const error = { CodeN: codeN, Code: code, Message: message };
  const metadata = { RequestId: requestId('20260102030407'), Action: 'CVSync2AsyncSubmitTask', Version: '2022-08-31' };
  return jsonResponse(status, { ResponseMetadata: { ...metadata, Service: 'cv', Region: 'cn-north-1', Error: error } });
}

function problem(kind: ProblemKind, message?: string): SimulatorResponse {
  if (kind === 'unauthorized') {
    const text = 'The request signature we calculated does not match the signature you provided.';
    return gateway(401, 100_010, 'SignatureDoesNotMatch', message ?? text);
  }
  const [status, code, text] = PROBLEMS[kind];
  return envelope(status, code, message ?? text, null);
}

const VIDEO_ACTIONS = { submit: 'CVSync2AsyncSubmitTask', query: 'CVSync2AsyncGetResult' };

function submit(request: SimulatorRequest, context: SimulatorContext): SimulatorResponse {
  const body = request.json();
  const wrong = body ? checkJimengBody(body) : 'the body is no JSON';
  if (!body || wrong !== undefined) return problem('invalid', wrong);
  const frames = typeof body.frames === 'number' ? body.frames : 121;
  const job = context.createJob({
    id: `7591${newDigits(context.now())}`,
    prompt: typeof body.prompt === 'string' ? body.prompt : '',
    model: String(body.req_key),
    input: body,
    shape: toShape(body.aspect_ratio),
    seconds: (frames - 1) / 24,
  });
  return envelope(200, OK, 'Success', { task_id: job.id });
}

const WORDS: Readonly<Partial<Record<JobPhase, string>>> = {
  queued: 'in_queue',
  running: 'generating',
  succeeded: 'done',
  expired: 'expired',
  cancelled: 'expired',
  unknown: 'dreaming',
};

function toResult(job: Job, context: SimulatorContext): SimulatorResponse {
  const { phase, hasArtifact } = context.pollJob(job);
  if (phase === 'filtered') return envelope(400, 50516, 'Post Video Risk Not Pass', null);
  if (phase === 'failed') return envelope(500, 50500, 'Internal Error', { status: 'done', video_url: '' });
  if (isPictureKey(job.model)) {
    const image_urls = hasArtifact ? [context.artifactUrl(job, 'thumbnail')] : null;
    return envelope(200, OK, 'Success', { status: WORDS[phase], image_urls, binary_data_base64: [] });
  }
  const video_url = hasArtifact ? context.artifactUrl(job) : '';
  return envelope(200, OK, 'Success', {
    status: WORDS[phase],
    video_url,
    aigc_meta_tagged: hasArtifact ? false : undefined,
  });
}

function query(request: SimulatorRequest, context: SimulatorContext): SimulatorResponse {
  const body = request.json();
  if (typeof body?.req_key !== 'string' || typeof body.task_id !== 'string') return problem('invalid');
  const job = context.jobs.find(body.task_id);
  if (!job || job.model !== body.req_key) return envelope(200, OK, 'Success', { status: 'not_found', video_url: '' });
  return toResult(job, context);
}

export const jimeng = defineSimulator({
  name: 'jimeng',
  credentials: () => ({ access_key: ACCESS_KEY, secret_key: SECRET_KEY }),
  authorize(request, context) {
    const wrong = verifyVolcengineSignature(request, {
      accessKey: ACCESS_KEY,
      secretKey: SECRET_KEY,
      scope: 'cn-north-1/cv/request',
      nowMs: context.now(),
    });
    return wrong && gateway(wrong.status, wrong.codeN, wrong.code, wrong.message);
  },
  problem,
  routes: [
    {
      method: 'POST',
      path: '/',
      query: { Action: VIDEO_ACTIONS.submit, Version: '2022-08-31' },
      operation: 'submit',
      handle: submit,
    },
    {
      method: 'POST',
      path: '/',
      query: { Action: VIDEO_ACTIONS.query, Version: '2022-08-31' },
      operation: 'query',
      handle: query,
    },
  ],
});
