import { createHash, createHmac } from 'node:crypto';
import type { Job, JobPhase } from '../jobs.ts';
import {
  defineSimulator,
  jsonResponse,
  newDigits,
  type ProblemKind,
  type SimulatorContext,
  type SimulatorRequest,
  type SimulatorResponse,
  toShape,
} from '../simulator.ts';

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

/** Envelope of the front gateway, for requests that never reach the service. */
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
  if (isImageKey(job.model)) {
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

/** Simulated Jimeng. */
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

type Body = Readonly<Record<string, unknown>>;

/** Minimum and maximum number of images for each key. The 1080p text key ends in `1080p`, the image keys in `1080`. */
const KEYS: Readonly<Record<string, readonly [min: number, max: number]>> = {
  jimeng_t2v_v30: [0, 0],
  jimeng_i2v_first_v30: [1, 1],
  jimeng_i2v_first_tail_v30: [2, 2],
  jimeng_i2v_recamera_v30: [1, 1],
  jimeng_t2v_v30_1080p: [0, 0],
  jimeng_i2v_first_v30_1080: [1, 1],
  jimeng_i2v_first_tail_v30_1080: [2, 2],
  jimeng_ti2v_v30_pro: [0, 1],
  jimeng_vgfm_t2v_l20: [0, 0],
  jimeng_vgfm_i2v_l20: [1, 1],
};
/** Image keys, which accept a different set of fields. */
const IMAGE_KEYS: Readonly<Record<string, readonly [min: number, max: number]>> = {
  jimeng_t2i_v30: [0, 0],
  jimeng_t2i_v31: [0, 0],
  jimeng_t2i_v40: [0, 10],
  jimeng_seedream46_cvtob: [0, 14],
  jimeng_i2i_v30: [1, 1],
};
const isImageKey = (key: unknown): boolean => typeof key === 'string' && Object.hasOwn(IMAGE_KEYS, key);

const RATIOS = ['16:9', '4:3', '1:1', '3:4', '9:16', '21:9'];
const STRENGTHS = ['weak', 'medium', 'strong'];
const MAX_BASE64 = Math.ceil((4.7e6 * 4) / 3) + 4;

const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
const isInt = (value: unknown): boolean => typeof value === 'number' && Number.isInteger(value);

/** Keys of newer models than those above, with text, a first frame, or both frames. */
const NEWER_KEY = /^jimeng_(?:v|ti2v_v)[4-9]\d/;
const NEWER_RANGE = [0, 2] as const;

/** The vendor's objection to a submit's body; undefined if the body is valid. */
function checkJimengBody(body: Body): string | undefined {
  const known = isImageKey(body.req_key) ? IMAGE_KEYS : KEYS;
  const key = typeof body.req_key === 'string' ? body.req_key : '';
  const range = Object.hasOwn(known, key) ? known[key] : NEWER_KEY.test(key) ? NEWER_RANGE : undefined;
  if (!range) return 'req_key is not known';
  const urls = list(body.image_urls);
  const inline = list(body.binary_data_base64);
  if (urls.length > 0 && inline.length > 0) return 'image_urls and binary_data_base64 exclude one another';
  const images = [...urls, ...inline];
  const [min, max] = range;
  if (images.length < min || images.length > max) return `${body.req_key as string} takes ${min} to ${max} images`;
  if (!urls.every((url) => typeof url === 'string' && /^https?:\/\//.test(url)))
    return 'image_urls must hold addresses';
  if (!inline.every((data) => typeof data === 'string' && !data.startsWith('data:') && data.length <= MAX_BASE64)) {
    return 'binary_data_base64 must hold Base64 of at most 4.7 MB';
  }
  const { prompt, seed = -1, frames = 121, aspect_ratio: ratio = '16:9' } = body;
  if (prompt !== undefined && (typeof prompt !== 'string' || [...prompt].length > 800)) return 'prompt is too long';
  if (images.length === 0 && !prompt) return 'prompt is required';
  if (!isInt(seed)) return 'seed must be an integer';
  if (known === IMAGE_KEYS) {
    const both = isInt(body.width) === isInt(body.height);
    return both ? undefined : 'width and height go together';
  }
  if (frames !== 121 && frames !== 241) return 'frames must be 121 or 241';
  if (typeof ratio !== 'string' || !RATIOS.includes(ratio)) return 'aspect_ratio is not supported';
  if (body.req_key !== 'jimeng_i2v_recamera_v30') return undefined;
  if (typeof body.template_id !== 'string') return 'template_id is required';
  return STRENGTHS.includes(String(body.camera_strength))
    ? undefined
    : 'camera_strength must be weak, medium or strong';
}

interface SignatureProblem {
  readonly status: number;
  readonly codeN: number;
  readonly code: string;
  readonly message: string;
}

interface Expected {
  readonly accessKey: string;
  readonly secretKey: string;
  /** `region/service/request` */
  readonly scope: string;
  readonly nowMs: number;
}

const MAX_SKEW_MS = 15 * 60_000;
const mismatch = (message: string): SignatureProblem => ({
  status: 401,
  codeN: 100_010,
  code: 'SignatureDoesNotMatch',
  message,
});

const sha256 = (text: string | Buffer): string => createHash('sha256').update(text).digest('hex');
const hmac = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest();
const encode = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);

/** Parses `20260102T030405Z` to Unix milliseconds. */
function readStamp(stamp: string): number {
  const parts = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(stamp)?.slice(1).map(Number);
  const [year = Number.NaN, month = 1, day, hour, minute, second] = parts ?? [];
  return Date.UTC(year, month - 1, day, hour, minute, second);
}

/**
 * Recomputes a Volcengine signature from the headers the request declares as signed, as the service does, because
 * clients sign different headers. Undefined if the signature is right.
 */
function verifyVolcengineSignature(request: SimulatorRequest, expected: Expected): SignatureProblem | undefined {
  const header = request.headers.authorization ?? '';
  const match =
    /^HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^,]+), SignedHeaders=([a-z0-9;-]+), Signature=([0-9a-f]{64})$/.exec(
      header,
    );
  if (!match) {
    return {
      status: 401,
      codeN: 100_009,
      code: 'MissingAuthenticationToken',
      message: 'The request carries no signature.',
    };
  }
  const [, accessKey, date = '', scope = '', names = '', signature] = match;
  if (accessKey !== expected.accessKey) {
    return { status: 401, codeN: 100_009, code: 'InvalidAccessKey', message: 'The access key does not exist.' };
  }
  const stamp = request.headers['x-date'] ?? '';
  const signed = names.split(';');
  if (scope !== expected.scope || !stamp.startsWith(date)) return mismatch('The credential scope is wrong.');
  if (!signed.includes('x-date')) return mismatch('x-date must be signed.');
  if (!(Math.abs(readStamp(stamp) - expected.nowMs) <= MAX_SKEW_MS)) {
    return {
      status: 401,
      codeN: 100_024,
      code: 'InvalidTimestamp',
      message: 'The signature has expired or is not yet valid.',
    };
  }
  const bodyHash = sha256(request.body);
  if ((request.headers['x-content-sha256'] ?? bodyHash) !== bodyHash)
    return mismatch('X-Content-Sha256 is not that of the body.');
  const query = [...request.query]
    .map(([name, value]) => `${encode(name)}=${encode(value)}`)
    .sort()
    .join('&');
  const lines = signed.map((name) => `${name}:${(request.headers[name] ?? '').trim().replace(/ +/g, ' ')}\n`).join('');
  const canonical = [request.method, request.path, query, lines, names, bodyHash].join('\n');
  const key = [date, ...scope.split('/')].reduce<string | Buffer>(hmac, expected.secretKey);
  const toSign = ['HMAC-SHA256', stamp, `${date}/${scope}`, sha256(canonical)].join('\n');
  return hmac(key, toSign).toString('hex') === signature
    ? undefined
    : mismatch('The request signature we calculated does not match the signature you provided.');
}
