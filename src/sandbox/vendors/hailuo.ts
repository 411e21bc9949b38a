import type { Job, Phase, Problem, Reply, Route, SimulatorRequest } from '../simulator.ts';
import { defineSimulator, json, newDigits } from '../simulator.ts';
import { HAILUO_V2_ROUTES } from './hailuo-v2.ts';

const KEY = 'sk-api-sandbox-hailuo';

/** Nearly every error of the first protocol is HTTP 200 with a number inside. */
const refusal = (code: number, text: string, rest: Readonly<Record<string, unknown>> = {}): Reply =>
  json(200, { ...rest, base_resp: { status_code: code, status_msg: text } });

const PROBLEMS: Readonly<Record<Problem, readonly [number, string]>> = {
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
/** Per model: what it makes of words, of a first frame, of a last frame, of a face. */
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

const PICTURE = /^https?:\/\/|^data:image\/[a-z]+;base64,[A-Za-z0-9+/]+=*$/;
const FLAGS = ['prompt_optimizer', 'fast_pretreatment', 'aigc_watermark'] as const;

/** What is wrong with a submit's body, as the vendor would say it; undefined when nothing is. */
function complain(body: Readonly<Record<string, unknown>>): string | undefined {
  const model = MODELS[String(body.model)];
  if (!model) return `model ${body.model} is not supported`;
  if (typeof body.prompt === 'string' && body.prompt.length > 2_000) return 'prompt is longer than 2000 characters';
  for (const name of FLAGS) {
    if (body[name] !== undefined && typeof body[name] !== 'boolean') return `${name} must be a bool`;
  }
  for (const name of ['first_frame_image', 'last_frame_image']) {
    const picture = body[name];
    if (picture !== undefined && (typeof picture !== 'string' || !PICTURE.test(picture))) return `${name} is no image`;
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
    if (!isFace || more !== undefined || !PICTURE.test(String(reference.image[0]))) return 'subject_reference is wrong';
    return model.subject ?? 'subject_reference is not supported by this model';
  }
  if (body.last_frame_image !== undefined) return model.last ?? 'last_frame_image is not supported by this model';
  if (body.first_frame_image !== undefined) return model.first ?? 'first_frame_image is not supported by this model';
  if (!model.text) return model.subject ? 'subject_reference is required' : 'first_frame_image is required';
  return typeof body.prompt === 'string' && body.prompt !== '' ? model.text : 'prompt is required';
}

/** How a phase looks in the first protocol, which has no word for cancelled and expired jobs. */
const WORDS: Readonly<Record<Phase, readonly [string, number, string]>> = {
  queued: ['Queueing', 0, 'success'],
  running: ['Processing', 0, 'success'],
  succeeded: ['Success', 0, 'success'],
  failed: ['Fail', 1000, 'unknown error'],
  filtered: ['Fail', 1027, 'output new_sensitive'],
  expired: ['Fail', 1001, 'request timeout'],
  // The trap of this protocol: a failed task whose envelope says that all is well.
  cancelled: ['Fail', 0, 'success'],
  unknown: ['Unknown', 0, 'success'],
};

/** 18 digits, past what a JSON number can hold: the query gives it as text, the file as a number. */
const toFileId = (job: Job) => `271${job.id}`;

const V1_ROUTES: readonly Route[] = [
  {
    method: 'POST',
    path: '/v1/video_generation',
    operation: 'submit',
    handle(request, stage) {
      const body = request.json();
      const wrong = body ? complain(body) : 'body is no JSON object';
      if (!body || wrong) return refusal(2013, `invalid params, ${wrong}`, { task_id: '' });
      const { model, prompt = '', duration = 6 } = body;
      const job = stage.begin({
        id: newDigits(stage.now()),
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
    handle({ query }, stage) {
      const job = stage.jobs.find(query.get('task_id') ?? '');
      if (!job) return refusal(...PROBLEMS.not_found);
      const look = stage.look(job);
      const [status, code, text] = WORDS[look.phase];
      const [width, height] = look.hasArtifact ? [1366, 768] : [0, 0];
      const file_id = look.hasArtifact ? toFileId(job) : '';
      return refusal(code, text, { task_id: job.id, status, file_id, video_width: width, video_height: height });
    },
  },
  {
    method: 'GET',
    path: '/v1/files/retrieve',
    operation: 'other',
    handle({ query }, stage) {
      const fileId = query.get('file_id') ?? '';
      const job = fileId.startsWith('271') ? stage.jobs.find(fileId.slice(3)) : undefined;
      if (!job || !stage.jobs.look(job).hasArtifact) return refusal(2013, 'invalid params, file not found');
      const url = `${stage.artifactUrl(job)}?Expires=${Math.floor(stage.now() / 1000) + 3600}&Signature=sandbox`;
      const rest = JSON.stringify({
        bytes: stage.media(job).bytes.length,
        created_at: Math.floor(stage.jobs.finishedAtMs(job) / 1000),
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

/** Keys begin with `sk-`; one that does not is told apart from a wrong one. */
function authorize(request: SimulatorRequest): Reply | undefined {
  const given = /^Bearer (\S+)$/.exec(request.headers.authorization ?? '')?.[1];
  if (given === KEY) return undefined;
  if (request.path.startsWith('/v2/')) {
    const message = 'login fail: Please carry the API secret key in the Authorization field (1004)';
    return json(401, {
      type: 'error',
      error: { type: 'authorized_error', message, http_code: '401' },
      request_id: '05',
    });
  }
  return refusal(...PROBLEMS[given?.startsWith('sk-') ? 'forbidden' : 'unauthorized']);
}

/** MiniMax video generation: Hailuo by the first protocol, MiniMax-H3 by the second. */
export const hailuo = defineSimulator({
  name: 'hailuo',
  credentials: () => ({ api_key: KEY }),
  authorize,
  problem(problem, message) {
    const [code, text] = PROBLEMS[problem];
    return refusal(code, message ?? text);
  },
  routes: [...V1_ROUTES, ...HAILUO_V2_ROUTES],
});
