import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Answer, INSTEAD, PLAYS, STATUS_PROBLEM } from './fault-play.ts';
import type { Fault, FaultBook } from './faults.ts';
import type { Fate, JobStore, Look } from './jobs.ts';
import { readMarker } from './markers.ts';
import { clip, loadMedia, serveFile } from './media.ts';
import type { RequestLog } from './request-log.ts';
import {
  CutOff,
  type Problem,
  type Reply,
  type Route,
  type Simulator,
  type SimulatorRequest,
  type Stage,
} from './simulator.ts';

/** One running simulator and what all of them share. */
export interface Station {
  readonly simulator: Simulator;
  readonly url: string;
  readonly jobs: JobStore;
  readonly faults: FaultBook;
  readonly log: RequestLog;
  readonly latencyMs: number;
  now(): number;
  artifactUrl(path: string): string;
  /** The last answer given per operation, for `duplicate`. */
  readonly answered: Map<string, Answer>;
}

const PROBLEMS: ReadonlySet<string> = new Set<Problem>([
  'unauthorized',
  'forbidden',
  'billing',
  'model',
  'rate',
  'concurrency',
  'overloaded',
  'broken',
  'timeout',
  'policy',
  'invalid',
  'not_found',
]);
const isProblem = (kind: string): kind is Problem => PROBLEMS.has(kind);

function matchRoute(simulator: Simulator, method: string, path: string, query: URLSearchParams) {
  for (const route of simulator.routes) {
    if (route.method !== method && !(route.method === 'GET' && method === 'HEAD')) continue;
    if (route.query && !Object.entries(route.query).every(([name, value]) => query.get(name) === value)) continue;
    if (typeof route.path === 'string') {
      if (route.path === path) return { route, params: {} };
      continue;
    }
    const match = route.path.exec(path);
    if (!match) continue;
    const named = Object.entries(match.groups ?? {}).filter((entry) => entry[1] !== undefined);
    return { route, params: Object.fromEntries(named.map(([name, value]) => [name, decodeURIComponent(value)])) };
  }
  return undefined;
}

async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  return chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks);
}

function toRequest(incoming: IncomingMessage, body: Buffer): Omit<SimulatorRequest, 'params'> {
  const target = incoming.url ?? '/';
  const cut = target.indexOf('?');
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(incoming.headers)) {
    if (value !== undefined) headers[name] = Array.isArray(value) ? value.join(', ') : value;
  }
  return {
    method: incoming.method ?? 'GET',
    path: cut < 0 ? target : target.slice(0, cut),
    query: new URLSearchParams(cut < 0 ? '' : target.slice(cut + 1)),
    headers,
    body,
    json() {
      try {
        const value: unknown = JSON.parse(body.toString('utf8'));
        return typeof value === 'object' && value !== null && !Array.isArray(value)
          ? (value as Readonly<Record<string, unknown>>)
          : undefined;
      } catch {
        return undefined;
      }
    },
    form: () =>
      new Response(new Uint8Array(body), { headers: { 'content-type': headers['content-type'] ?? '' } }).formData(),
  };
}

const EARLIER: Readonly<Partial<Record<Look['phase'], Look>>> = {
  running: { phase: 'queued', progress: 0, hasArtifact: false },
  succeeded: { phase: 'running', progress: 10, hasArtifact: false },
  failed: { phase: 'running', progress: 10, hasArtifact: false },
  filtered: { phase: 'running', progress: 10, hasArtifact: false },
};

function toStage(station: Station, fault: Fault | undefined): Stage {
  const { simulator, jobs } = station;
  const bent = fault?.kind.startsWith('job-') ? fault.kind.slice('job-'.length) : undefined;
  return {
    now: station.now,
    url: station.url,
    jobs,
    begin: (job) => jobs.begin(job, bent && bent !== 'slow' ? (bent as Fate) : 'succeed', bent === 'slow' ? 10 : 1),
    look(job) {
      job.polls += 1;
      const look = jobs.look(job);
      return fault?.kind === 'reordered' ? (EARLIER[look.phase] ?? look) : look;
    },
    media: (job, kind) => (kind === 'thumbnail' ? loadMedia('thumbnail.webp') : clip(job.shape, job.audio)),
    artifactUrl(job, kind) {
      const media = kind === 'thumbnail' ? loadMedia('thumbnail.webp') : clip(job.shape, job.audio);
      return station.artifactUrl(`/${simulator.name}/${encodeURIComponent(job.id)}/${media.name}`);
    },
  };
}

/** The vendor's answer when nothing stands in its way. */
async function serve(
  station: Station,
  request: SimulatorRequest,
  route: Route | undefined,
  fault: Fault | undefined,
): Promise<Reply> {
  const { simulator } = station;
  const stage = toStage(station, fault);
  if (!route?.open) {
    const refusal = await simulator.authorize(request, stage);
    if (refusal) return refusal;
  }
  if (!route) return simulator.problem('not_found');
  return route.handle(request, stage);
}

function toAnswer(request: SimulatorRequest, reply: Exclude<Reply, { kind: 'stream' }>): Answer {
  return reply.kind === 'media' ? serveFile(request, reply.file) : reply;
}

async function stream(response: ServerResponse, reply: Extract<Reply, { kind: 'stream' }>): Promise<void> {
  response.writeHead(reply.status, reply.headers);
  response.flushHeaders();
  try {
    for await (const piece of reply.pieces) {
      if (response.destroyed) return;
      if (!response.write(piece)) await drained(response);
    }
  } catch (error) {
    if (!(error instanceof CutOff)) throw error;
    if (error.clean) return void response.end();
    // What was said before has left by then.
    response.write('', () => response.socket?.destroy());
    return;
  }
  response.end();
}

/** Resolves when more may be written, or nobody listens any more. */
async function drained(response: ServerResponse): Promise<void> {
  const either = new AbortController();
  const events = ['drain', 'close'].map((event) => once(response, event, { signal: either.signal }).catch(() => {}));
  await Promise.race(events);
  either.abort();
}

function forced(simulator: Simulator, fault: Fault): Reply | undefined {
  const { kind } = fault;
  const instead = INSTEAD[kind];
  if (instead) return { kind: 'body', ...instead };
  const byStatus = STATUS_PROBLEM[kind];
  const problem = byStatus ?? (isProblem(kind) ? kind : undefined);
  if (problem === undefined) return undefined;
  const reply = simulator.problem(problem, fault.message);
  if (reply.kind !== 'body') return reply;
  const retryAfter: Record<string, string> = fault.retryAfter === undefined ? {} : { 'retry-after': fault.retryAfter };
  return { ...reply, status: byStatus ? Number(kind) : reply.status, headers: { ...reply.headers, ...retryAfter } };
}

/** One request from its first byte to the last of its answer. */
export async function exchange(station: Station, incoming: IncomingMessage, response: ServerResponse): Promise<void> {
  const { simulator } = station;
  const bare = toRequest(incoming, await readBody(incoming));
  const matched = matchRoute(simulator, bare.method, bare.path, bare.query);
  const request: SimulatorRequest = { ...bare, params: matched?.params ?? {} };
  const operation = matched?.route.operation;
  const contains = (text: string) => (incoming.url ?? '').includes(text) || bare.body.includes(text);
  let fault = station.faults.take(simulator.name, operation ?? 'other', contains);
  if (!fault && operation) {
    const text = () => `${incoming.url} ${bare.body}`;
    const kind = station.faults.weather?.(simulator.name, operation, text);
    if (kind) fault = { kind };
  }
  if (!fault && operation === 'submit') {
    const kind = readMarker(bare.body);
    if (kind) fault = { kind };
  }
  station.log.add({ ...bare, vendor: simulator.name, operation, fault: fault?.kind });
  if (station.latencyMs > 0) await sleep(station.latencyMs);

  if (fault?.kind === 'hang') return;
  if (fault?.kind === 'reset') return void incoming.socket.resetAndDestroy();
  const reply = (fault && forced(simulator, fault)) ?? (await serve(station, request, matched?.route, fault));
  if (reply.kind === 'stream') return stream(response, reply);

  const answer = toAnswer(request, reply);
  const play = fault && PLAYS[fault.kind];
  if (play) return play(response, answer);
  const key = operation ?? '';
  const sent = fault?.kind === 'duplicate' ? (station.answered.get(key) ?? answer) : answer;
  station.answered.set(key, answer);
  response.writeHead(sent.status, { ...sent.headers, 'content-length': String(sent.body.length) });
  response.end(bare.method === 'HEAD' ? undefined : sent.body);
}
