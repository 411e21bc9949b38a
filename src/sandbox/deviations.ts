import { createHash } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import { isObject, type UntrustedObject } from '../contract/objects.ts';
import { RESPONSE_FAULTS, type WireResponse } from './faults.ts';
import type { Job, JobPhase } from './jobs.ts';
import type { Operation, SimulatorRequest } from './simulator.ts';

/**
 * Random choices that depend only on a seed and a name, so that the order of concurrent requests does not affect them.
 */
export class SeededRandom {
  readonly #seed: number;
  constructor(seed: number) {
    this.#seed = seed;
  }

  /** A number from 0 up to, but excluding, 1. */
  next(name: string): number {
    return createHash('sha256').update(`${this.#seed} ${name}`).digest().readUInt32BE(0) / 2 ** 32;
  }

  /** One of `choices`. */
  pick<T>(name: string, choices: readonly T[]): T {
    return choices[Math.floor(this.next(`${name} pick`) * choices.length)] as T;
  }
}

/**
 * Responses as upstreams really send them, instead of the documented ones. A share of the chat calls gets a recorded
 * response of the call's dialect; a share of the vendors' responses is altered by a row of the table below. The choice
 * depends only on the seed and the request: a chat call is identified by its body, a video by its prompt and the number
 * of the poll, a file by its URL and the number of the request.
 */
export interface DeviationOptions {
  readonly seed: number;
  /** Share of the affected requests, 0 to 1. */
  readonly share: number;
  /** Recorded chat responses by dialect; none by default. */
  readonly chat?: Readonly<Partial<Record<ChatDialect, readonly ChatShape[]>>>;
}

type ChatDialect = 'chat' | 'messages' | 'responses' | 'gemini';

/** A complete chat response, or the events of a stream: objects, or text written unchanged. */
export interface ChatShape {
  readonly name: string;
  readonly body?: unknown;
  readonly events?: readonly unknown[];
}

const DIALECT_BY_PATH: readonly (readonly [pattern: RegExp, dialect: ChatDialect])[] = [
  [/\/chat\/completions$/, 'chat'],
  [/\/messages$/, 'messages'],
  [/\/responses$/, 'responses'],
  [/:(?:generateContent|streamGenerateContent)$/, 'gemini'],
];

/**
 * Effect of a vendor's deviation on the caller:
 * - `none`: equivalent to the documented response
 * - `odd`: a poll without a conclusion
 * - `lost`: a submit with an unknown outcome; the job runs
 * - `refused`: a failed submit; there is no job
 */
export type DeviationEffect = 'none' | 'odd' | 'lost' | 'refused';

type Json = UntrustedObject;

interface AlteredAnswer {
  readonly request: SimulatorRequest;
  /** JSON of the documented response; empty for a file. */
  readonly json: Json;
  readonly vendor: string;
  /** Undefined for a submit. */
  readonly phase: JobPhase | undefined;
  /** The vendor's own response for a problem. */
  problem(kind: 'not_found' | 'policy'): WireResponse;
}

/** One way in which a vendor deviates from its documentation. */
export interface VendorDeviation {
  readonly name: string;
  readonly operation: Extract<Operation, 'submit' | 'query' | 'content'>;
  readonly effect: DeviationEffect;
  /** Alters the JSON; undefined if the response contains nothing to alter. */
  alter?(answer: AlteredAnswer): unknown;
  /** Replaces the whole documented response. */
  replace?(wire: WireResponse, answer: AlteredAnswer): WireResponse | undefined;
  /** Writes the response. */
  write?(response: ServerResponse, wire: WireResponse): void;
}

/** A deviation ready to be written. */
export interface AppliedDeviation {
  readonly name: string;
  readonly effect: DeviationEffect;
  readonly wire: WireResponse;
  write(response: ServerResponse, wire: WireResponse): void;
}

const JSON_TYPE = { 'content-type': 'application/json' };
const page = (status: number): WireResponse => ({
  status,
  headers: { 'content-type': 'text/html; charset=utf-8' },
  body: Buffer.from('<!DOCTYPE html><html><body><h1>Please wait</h1></body></html>'),
});
const text = (body: string): WireResponse => ({ status: 200, headers: JSON_TYPE, body: Buffer.from(body) });

/** Replaces every leaf at every depth with the result of `change`; a leaf is kept if that returns undefined. */
function mapLeaves(value: unknown, change: (leaf: unknown, key: string) => unknown, key = ''): unknown {
  if (Array.isArray(value)) return value.map((entry) => mapLeaves(entry, change, key));
  if (!isObject(value)) return change(value, key) ?? value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, mapLeaves(inner, change, name)]));
}

/** Like `mapLeaves`, but undefined if no leaf was changed. */
function alterLeaves(json: Json, change: (leaf: unknown, key: string) => unknown): unknown {
  let changed = false;
  const altered = mapLeaves(json, (leaf, key) => {
    const next = change(leaf, key);
    changed ||= next !== undefined;
    return next;
  });
  return changed ? altered : undefined;
}

const isUrl = (leaf: unknown): leaf is string => typeof leaf === 'string' && /^https?:\/\//.test(leaf);
/** Keys whose values are states, and below keys whose values are times. */
const STATE_KEY = /^(?:status|state|task_status)$/;
const TIME_KEY = /^(?:created_at|updated_at|completed_at|expires_at|submit_time|end_time|createdAt|created)$/;
const isStateWord = (leaf: unknown, key: string): leaf is string =>
  STATE_KEY.test(key) && typeof leaf === 'string' && leaf !== '';
/** Excludes percentages and codes. */
const isUnixTime = (leaf: unknown): leaf is number => typeof leaf === 'number' && leaf > 1e9;

const toMs = (time: number): number => (time > 1e11 ? time : time * 1_000);
/** The same time in other formats. */
const TIME_FORMS: Readonly<Record<string, (ms: number) => unknown>> = {
  'times as ISO dates': (ms) => new Date(ms).toISOString(),
  'times without a zone': (ms) => new Date(ms).toISOString().slice(0, 19).replace('T', ' '),
  'times in milliseconds as text': (ms) => String(ms),
  'times with fractions': (ms) => ms / 1_000 + 0.25,
  'times of zero': () => 0,
};

/** Replaces every URL by `late`; undefined removes its member. */
function withoutUrls(json: Json, late: null | '' | undefined): unknown {
  return JSON.parse(JSON.stringify(json, (_, value: unknown) => (isUrl(value) ? late : value)));
}

const WORDS_BY_PHASE: Readonly<Partial<Record<JobPhase, readonly string[]>>> = {
  queued: ['QUEUED', 'Pending', 'in queue', 'not_start', 'submitted'],
  running: ['InProgress', 'IN_PROGRESS', 'processing', 'Generating', 'running'],
  succeeded: ['SUCCESS', 'Succeed', 'COMPLETED', 'Done', 'finished', 'success'],
};

const query = (name: string, effect: DeviationEffect, how: Partial<VendorDeviation>): VendorDeviation => ({
  name,
  operation: 'query',
  effect,
  ...how,
});
const submit = (name: string, effect: DeviationEffect, how: Partial<VendorDeviation>): VendorDeviation => ({
  name,
  operation: 'submit',
  effect,
  ...how,
});

/** Writes the response in two pieces, the second one delayed. */
function writeInPieces(response: ServerResponse, { status, headers, body }: WireResponse): void {
  const { 'content-length': _, ...chunked } = headers as Record<string, string>;
  response.writeHead(status, chunked);
  response.write(body.subarray(0, body.length >> 1));
  setTimeout(() => response.end(body.subarray(body.length >> 1)), 20);
}

const atOnce = (response: ServerResponse, { status, headers, body }: WireResponse): void => {
  response.writeHead(status, { ...headers, 'content-length': String(body.length) });
  response.end(body);
};

/** Formal differences without a change of meaning, seen at every vendor. */
const FORMS: Readonly<Record<string, Partial<VendorDeviation>>> = {
  'HTTP 201': { replace: (wire) => ({ ...wire, status: 201 }) },
  'HTTP 202': { replace: (wire) => ({ ...wire, status: 202 }) },
  'a byte order mark': {
    replace: (wire) => ({ ...wire, body: Buffer.concat([Buffer.from('\uFEFF'), wire.body]) }),
  },
  'blank lines around the JSON': { replace: (wire) => ({ ...wire, body: Buffer.from(`\n\n ${wire.body}\r\n`) }) },
  'a content type of text': { replace: (wire) => ({ ...wire, headers: { 'content-type': 'text/plain' } }) },
  'no content type': { replace: (wire) => ({ ...wire, headers: {} }) },
  'gzip that was not asked for': {
    replace: (wire) => ({
      ...wire,
      headers: { ...wire.headers, 'content-encoding': 'gzip' },
      body: gzipSync(wire.body),
    }),
  },
  'unknown members': {
    alter: ({ json }) => ({ trace_id: 'f3', _internal: { node: 7, path: [null] }, ...json }),
  },
  'null members': { alter: ({ json }) => ({ error: null, errors: null, message: null, ...json }) },
  'numbers as text': {
    alter: ({ json }) => alterLeaves(json, (leaf) => (typeof leaf === 'number' ? String(leaf) : undefined)),
  },
  'text as numbers': {
    alter: ({ json }) =>
      alterLeaves(json, (leaf) => (typeof leaf === 'string' && /^-?\d{1,15}$/.test(leaf) ? Number(leaf) : undefined)),
  },
  'long ids as numbers': {
    replace: (wire) => {
      const text = wire.body.toString();
      const body = text.replace(/"(\d{16,20})"(?!\s*:)/g, '$1');
      return body === text ? undefined : { ...wire, body: Buffer.from(body) };
    },
  },
  'a slow body': { write: writeInPieces },
};
const forms = (operation: 'query' | 'submit'): VendorDeviation[] =>
  Object.entries(FORMS).map(([name, how]) => ({ name, operation, effect: 'none', ...how }));

/** Bodies that are not a response: odd for a poll, an unknown outcome for a submit. */
const UNREADABLE: Readonly<Record<string, Partial<VendorDeviation>>> = {
  'a page with HTTP 200': { replace: () => page(200) },
  'an empty body': { replace: () => text('') },
  'an empty object': { replace: () => text('{}') },
  'an empty list': { replace: () => text('[]') },
  null: { replace: () => text('null') },
  'half of the JSON': { replace: (wire) => ({ ...wire, body: wire.body.subarray(0, wire.body.length >> 1) }) },
  'a body that breaks off': { write: (response, wire) => RESPONSE_FAULTS.truncated?.(response, wire) },
  'objects in place of all values': {
    alter: ({ json }) => mapLeaves(json, () => ({ unexpected: true })),
  },
};
const unreadable = (operation: 'query' | 'submit', effect: DeviationEffect): VendorDeviation[] =>
  Object.entries(UNREADABLE).map(([name, how]) => ({ name, operation, effect, ...how }));

const changeWord = (word: (phase: JobPhase) => string | undefined) => ({
  alter: ({ json, phase }: AlteredAnswer) =>
    alterLeaves(json, (leaf, key) => (phase !== undefined && isStateWord(leaf, key) ? word(phase) : undefined)),
});

/** Deviations of every vendor. */
const COMMON: readonly VendorDeviation[] = [
  ...forms('submit'),
  ...forms('query'),
  ...unreadable('submit', 'lost'),
  ...unreadable('query', 'odd'),
  submit('a page with HTTP 504 behind which the job runs', 'lost', { replace: () => page(504) }),
  submit('a refusal of the content with HTTP 200', 'refused', {
    replace: (_, { problem }) => ({ ...problem('policy'), status: 200 }),
  }),
  submit('blanks around the id', 'none', {
    alter: ({ json }) =>
      alterLeaves(json, (leaf, key) => (/^(?:task_)?id$/.test(key) && leaf !== '' ? ` ${leaf}\n` : undefined)),
  }),
  query('a task that is not found', 'odd', { replace: (_, { problem }) => problem('not_found') }),
  query(
    'a word that nobody knows',
    'odd',
    changeWord(() => 'dreaming'),
  ),
  query('blanks around an address', 'none', {
    alter: ({ json }) => alterLeaves(json, (leaf) => (isUrl(leaf) ? ` ${leaf}\n` : undefined)),
  }),
  query('times in another unit', 'none', {
    alter: ({ json }) =>
      alterLeaves(json, (leaf, key) =>
        TIME_KEY.test(key) && isUnixTime(leaf) ? (leaf > 1e11 ? Math.floor(leaf / 1_000) : leaf * 1_000) : undefined,
      ),
  }),
  ...Object.entries(TIME_FORMS).map(([name, write]) =>
    query(name, 'none', {
      alter: ({ json }) =>
        alterLeaves(json, (leaf, key) => (TIME_KEY.test(key) && isUnixTime(leaf) ? write(toMs(leaf)) : undefined)),
    }),
  ),
  ...([null, '', undefined] as const).map((late) =>
    query(`a success before its address (${late})`, 'odd', {
      alter: ({ json, phase }) =>
        phase === 'succeeded' && alterLeaves(json, (leaf) => (isUrl(leaf) ? '' : undefined)) !== undefined
          ? withoutUrls(json, late)
          : undefined,
    }),
  ),
  query('times that are none', 'none', {
    alter: ({ json }) => alterLeaves(json, (leaf, key) => (TIME_KEY.test(key) && leaf !== null ? 'soon' : undefined)),
  }),
  ...[0, 1, 2, 3, 4, 5].map((n) =>
    query(
      `a state in a neighbour's words (${n})`,
      'none',
      changeWord((phase) => {
        const words = WORDS_BY_PHASE[phase];
        return words?.[n % words.length];
      }),
    ),
  ),
];

const file = (name: string, effect: DeviationEffect, how: Partial<VendorDeviation>): VendorDeviation => ({
  name,
  operation: 'content',
  effect,
  ...how,
});
const withHeaders = (headers: Readonly<Record<string, string>>): Partial<VendorDeviation> => ({
  replace: (wire) => ({ ...wire, headers: { ...wire.headers, ...headers } }),
});
const MOVED = 'moved=1';
const redirect = (isAbsolute: boolean): Partial<VendorDeviation> => ({
  replace(_, { request: { path, query: parameters, headers } }) {
    if (parameters.has('moved')) return undefined;
    const given = parameters.size === 0 ? '' : `${parameters}&`;
    const location = `${isAbsolute ? `http://${headers.host}` : ''}${path}?${given}${MOVED}`;
    return { status: 302, headers: { location }, body: Buffer.alloc(0) };
  },
});

/** Deviations of the hosts that serve the files. */
const FILES: readonly VendorDeviation[] = [
  file('a redirect', 'none', redirect(true)),
  file('a redirect without a host', 'none', redirect(false)),
  file('a type of bytes', 'none', withHeaders({ 'content-type': 'application/octet-stream' })),
  file('a type of text', 'none', withHeaders({ 'content-type': 'text/plain; charset=utf-8' })),
  file('a type with quotes', 'none', withHeaders({ 'content-type': '"video/mp4"' })),
  file('an empty type', 'none', withHeaders({ 'content-type': '' })),
  file('a coding that is none', 'none', withHeaders({ 'content-encoding': 'utf-8' })),
  file('no length', 'none', { write: writeInPieces }),
  file('a page with HTTP 200', 'odd', { replace: () => page(200) }),
  file('an error in JSON with HTTP 200', 'odd', { replace: () => text('{"error":{"message":"expired"}}') }),
  file('an empty body', 'odd', { replace: (wire) => ({ ...wire, body: Buffer.alloc(0) }) }),
  file('a body that breaks off', 'odd', { write: (response, wire) => RESPONSE_FAULTS.truncated?.(response, wire) }),
  file('a body shorter than the file', 'odd', {
    replace: (wire) => ({ ...wire, body: wire.body.subarray(0, wire.body.length >> 1) }),
  }),
  file('an expired link', 'odd', { replace: () => page(403) }),
  file('HTTP 503', 'odd', { replace: () => page(503) }),
];

/** Applies `change` to the object at a dotted path of the response. */
function changeAt(json: Json, path: string, change: (held: Json) => Json): Json | undefined {
  const [name = '', ...rest] = path.split('.').filter((part) => part !== '');
  if (name === '') return change(json);
  const held = json[name];
  const changed = isObject(held) ? changeAt(held, rest.join('.'), change) : undefined;
  return changed && { ...json, [name]: changed };
}
const at =
  (path: string, change: (held: Json) => Json): NonNullable<VendorDeviation['alter']> =>
  ({ json }) =>
    changeAt(json, path, change);
const whenDone =
  (alter: NonNullable<VendorDeviation['alter']>): NonNullable<VendorDeviation['alter']> =>
  (answer) =>
    answer.phase === 'succeeded' ? alter(answer) : undefined;
/** Prepends an entry to the list at `path`. */
const withFirst = (path: string, name: string, entry: unknown) =>
  whenDone(
    at(path, (held) => (Array.isArray(held[name]) ? { ...held, [name]: [entry, ...(held[name] as unknown[])] } : held)),
  );
const omit = (held: Json, ...names: readonly string[]): Json =>
  Object.fromEntries(Object.entries(held).filter(([name]) => !names.includes(name)));

/** Relays wrap responses into their own envelopes. */
const ENVELOPES: readonly VendorDeviation[] = (['submit', 'query'] as const).flatMap((operation) => [
  {
    name: 'an envelope with the code "success"',
    operation,
    effect: 'none',
    alter: ({ json }) => ({ code: 'success', message: '', data: json }),
  },
  { name: 'an envelope with the code 0', operation, effect: 'none', alter: ({ json }) => ({ code: 0, data: json }) },
]);
const foreign = (path: string, name: string) =>
  query('an answer about another task', 'odd', {
    alter: at(path, (held) => ({ ...held, [name]: `${String(held[name])}9` })),
  });
const RELAYED_REFUSAL = submit('an error of a relay with HTTP 200', 'refused', {
  replace: () => text('{"error":{"message":"no available channel","code":"upstream_error"}}'),
});
const RELAYED_ERROR = query('an error with HTTP 200', 'odd', {
  replace: () => text('{"error":{"message":"the upstream is busy","code":"upstream_error"}}'),
});

/** Additional deviations of a vendor and of relays in front of it, by the simulator's name. */
const OWN: Readonly<Record<string, readonly VendorDeviation[]>> = {
  kling: [
    ...ENVELOPES,
    RELAYED_REFUSAL,
    query('an error code with HTTP 200', 'odd', {
      replace: () => text('{"code":5000,"message":"server internal error","request_id":"r"}'),
    }),
    query('a first video without an address', 'none', {
      alter: withFirst('data.task_result', 'videos', { id: 'v-0', url: '', duration: '5' }),
    }),
    query('no message beside the state', 'none', { alter: at('data', (held) => omit(held, 'task_status_msg')) }),
  ],
  jimeng: [
    ...ENVELOPES,
    RELAYED_REFUSAL,
    query('an error code with HTTP 200', 'odd', {
      replace: () => text('{"code":50500,"message":"Internal Error","data":null,"request_id":"r","status":50500}'),
    }),
    query('no second code', 'none', { alter: at('', (held) => omit(held, 'status')) }),
  ],
  hailuo: [
    ...ENVELOPES,
    RELAYED_REFUSAL,
    query('an error code with HTTP 200', 'odd', {
      replace: () => text('{"base_resp":{"status_code":1000,"status_msg":"unknown error"}}'),
    }),
    foreign('', 'task_id'),
    query('no size of the video', 'none', { alter: at('', (held) => omit(held, 'video_width', 'video_height')) }),
  ],
  seedance: [
    ...ENVELOPES,
    RELAYED_ERROR,
    foreign('', 'id'),
    query('the address beside the content', 'none', {
      alter: whenDone(at('', (held) => ({ ...omit(held, 'content'), ...(held.content as Json | undefined) }))),
    }),
  ],
  wan: [
    ...ENVELOPES,
    RELAYED_ERROR,
    foreign('output', 'task_id'),
    query('the address inside results', 'none', {
      alter: whenDone(
        at('output', ({ video_url, ...held }) => (video_url ? { ...held, results: { video_url } } : held)),
      ),
    }),
  ],
  veo: [
    ...ENVELOPES,
    RELAYED_ERROR,
    foreign('', 'name'),
    query('false for an operation that runs', 'none', {
      alter: ({ json }) => (json.done === undefined ? { ...json, done: false, response: null } : undefined),
    }),
    query('an empty sample before the video', 'none', {
      alter: withFirst('response.generateVideoResponse', 'generatedSamples', {}),
    }),
  ],
  'veo-vertex': [foreign('', 'name')],
  'veo-omni': [...ENVELOPES, RELAYED_ERROR, foreign('', 'id')],
  vidu: [
    ...ENVELOPES,
    RELAYED_REFUSAL,
    query('an error with HTTP 200', 'odd', {
      replace: () => text('{"code":500,"reason":"Internal","message":"internal error","metadata":{}}'),
    }),
    query('a first creation without an address', 'none', {
      alter: withFirst('', 'creations', { id: '0', url: null, cover_url: '' }),
    }),
    query('null in place of empty texts', 'none', {
      alter: ({ json }) => alterLeaves(json, (leaf) => (leaf === '' ? null : undefined)),
    }),
  ],
  sora: [
    ...ENVELOPES,
    RELAYED_ERROR,
    foreign('', 'id'),
    ...['45%', 0.45, null, 105, -1].map((progress) =>
      query(`a progress of ${JSON.stringify(progress)}`, 'none', { alter: at('', (held) => ({ ...held, progress })) }),
    ),
    submit("the number of a row beside the task's id", 'none', {
      alter: ({ json }) => ({ ...json, id: 4_711, task_id: json.id }),
    }),
  ],
  runway: [
    ...ENVELOPES,
    RELAYED_ERROR,
    foreign('', 'id'),
    query('an empty address before the video', 'none', { alter: withFirst('', 'output', '') }),
  ],
};

/** Every deviation of a vendor's simulator. */
export const vendorDeviations = (vendor: string): readonly VendorDeviation[] => [
  ...COMMON,
  ...FILES,
  ...(OWN[vendor] ?? []),
];

/** The subject of a request: the chat call's text, or the job it created or queried. */
export interface DeviatingRequest {
  readonly vendor: string;
  readonly request: SimulatorRequest;
  readonly operation: Operation;
  readonly job: Job | undefined;
  readonly phase: JobPhase | undefined;
  problem(kind: 'not_found' | 'policy'): WireResponse;
}

/** Chooses and applies deviations. */
export class Deviations {
  readonly #options: DeviationOptions;
  readonly #random: SeededRandom;
  /** How often each file was requested. */
  readonly #reads = new Map<string, number>();

  constructor(options: DeviationOptions) {
    this.#options = options;
    this.#random = new SeededRandom(options.seed);
  }

  /** Recorded response to a chat call; undefined for other calls and for unaffected ones. */
  chatResponse({ path, body }: SimulatorRequest): AppliedDeviation | undefined {
    const dialect = DIALECT_BY_PATH.find(([pattern]) => pattern.test(path))?.[1];
    const shapes = (dialect && this.#options.chat?.[dialect]) ?? [];
    const name = `${path} ${body}`;
    if (shapes.length === 0 || !this.#isAffected(name)) return undefined;
    const shape = this.#random.pick(name, shapes);
    const at = this.#random.next(`${name} cut`);
    return {
      name: shape.name,
      effect: 'none',
      wire: toWire(shape),
      write: (response, wire) => writeCut(response, wire, at),
    };
  }

  /** Alters a vendor's response. @param wire the documented response */
  alter(
    { vendor, request, operation, job, phase, problem }: DeviatingRequest,
    wire: WireResponse,
  ): AppliedDeviation | undefined {
    const isFile = operation === 'content' && (wire.status === 200 || wire.status === 206);
    if (!isFile && (job === undefined || wire.status !== 200)) return undefined;
    const name = `${vendor} ${operation} ${isFile ? this.#countRead(request) : `${job?.prompt} ${job?.polls}`}`;
    if (!this.#isAffected(name)) return undefined;
    const json: unknown = isFile ? {} : JSON.parse(wire.body.toString());
    if (!isObject(json)) return undefined;
    const answer: AlteredAnswer = { request, json, vendor, phase: operation === 'query' ? phase : undefined, problem };
    const applied = vendorDeviations(vendor)
      .filter((deviation) => deviation.operation === operation)
      .map((deviation) => ({ deviation, altered: apply(deviation, wire, answer) }))
      .filter((each) => each.altered !== undefined);
    const chosen = applied.length === 0 ? undefined : this.#random.pick(name, applied);
    if (chosen?.altered === undefined) return undefined;
    const { deviation, altered } = chosen;
    return { name: deviation.name, effect: deviation.effect, wire: altered, write: deviation.write ?? atOnce };
  }

  /** Numbers the requests for a file, each of which may be affected in another way. */
  #countRead({ path, query: parameters }: SimulatorRequest): string {
    const file = `${path}?${parameters}`;
    const reads = (this.#reads.get(file) ?? 0) + 1;
    this.#reads.set(file, reads);
    return `${file} ${reads}`;
  }

  #isAffected(name: string): boolean {
    return this.#random.next(`${name} affected`) < this.#options.share;
  }
}

function apply(deviation: VendorDeviation, wire: WireResponse, answer: AlteredAnswer): WireResponse | undefined {
  if (deviation.replace !== undefined) return deviation.replace(wire, answer);
  if (deviation.alter === undefined) return wire;
  const altered = deviation.alter(answer);
  return altered === undefined ? undefined : { ...wire, body: Buffer.from(JSON.stringify(altered)) };
}

function toWire({ body, events }: ChatShape): WireResponse {
  if (events === undefined)
    return {
      status: 200,
      headers: JSON_TYPE,
      body: Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)),
    };
  const texts = events.map((event) => (typeof event === 'string' ? event : `data: ${JSON.stringify(event)}\n\n`));
  return { status: 200, headers: { 'content-type': 'text/event-stream' }, body: Buffer.from(texts.join('')) };
}

/** Writes the response in two pieces, cut at `share` of its length. */
function writeCut(response: ServerResponse, { status, headers, body }: WireResponse, share: number): void {
  const cut = Math.floor(share * body.length);
  response.writeHead(status, headers);
  response.write(body.subarray(0, cut));
  setImmediate(() => response.end(body.subarray(cut)));
}
