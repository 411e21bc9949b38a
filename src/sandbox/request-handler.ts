import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { asObject } from '../contract/objects.ts';
import type { AppliedDeviation, Deviations } from './deviations.ts';
import {
  type Fault,
  type FaultKind,
  type FaultQueue,
  findMarker,
  PROBLEM_BY_STATUS,
  REPLACEMENT_RESPONSES,
  RESPONSE_FAULTS,
  type WireResponse,
} from './faults.ts';
import { findSentImage, withFirstFrame } from './first-frame.ts';
import type { Job, JobOutcome, JobSnapshot, JobStore } from './jobs.ts';
import { clip, loadMedia, type MediaFile, poster, sameClip, serveFile, toMediaFile } from './media.ts';
import {
  type Operation,
  PROBLEM_KINDS,
  type ProblemKind,
  type Route,
  type Simulator,
  type SimulatorContext,
  type SimulatorRequest,
  type SimulatorResponse,
  StreamInterrupted,
} from './simulator.ts';

/** A running simulator and the state shared by all of them. */
export interface RunningSimulator {
  readonly simulator: Simulator;
  readonly url: string;
  readonly jobs: JobStore;
  readonly faults: FaultQueue;
  readonly log: RequestLog;
  readonly latencyMs: number;
  now(): number;
  artifactUrl(path: string): string;
  /** Whether file URLs contain their time of issue, so that the artifact host can expire them. */
  readonly urlsExpire: boolean;
  /** Chooses clips by the words of the prompt and by vendor; otherwise all jobs of a shape have the same. */
  readonly clipsByPrompt: boolean;
  /** Derives a job's file from the clip or image shared by all jobs of that shape. */
  fileOf(file: MediaFile, jobId: string): MediaFile;
  /** The last response per operation, for the fault `duplicate`. */
  readonly lastResponses: Map<string, WireResponse>;
  /** Shared by all simulators, so that a test can replace the deviations. */
  readonly deviating: { deviations: Deviations | undefined };
}

/** The job a request created or queried. */
interface TouchedJob {
  job?: Job;
  snapshot?: JobSnapshot;
}

const PROBLEMS: ReadonlySet<string> = new Set(PROBLEM_KINDS);
const isProblem = (kind: string): kind is ProblemKind => PROBLEMS.has(kind);

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
        return asObject(JSON.parse(body.toString('utf8')));
      } catch {
        return undefined;
      }
    },
    form: () =>
      new Response(new Uint8Array(body), { headers: { 'content-type': headers['content-type'] ?? '' } }).formData(),
  };
}

const PREVIOUS_STATE: Readonly<Partial<Record<JobSnapshot['phase'], JobSnapshot>>> = {
  running: { phase: 'queued', progress: 0, hasArtifact: false },
  succeeded: { phase: 'running', progress: 10, hasArtifact: false },
  failed: { phase: 'running', progress: 10, hasArtifact: false },
  filtered: { phase: 'running', progress: 10, hasArtifact: false },
};

function sharedFile(
  job: Job,
  { simulator: { name, vendor = name }, clipsByPrompt }: RunningSimulator,
  kind: 'video' | 'thumbnail' = 'video',
): MediaFile {
  if (!clipsByPrompt) return kind === 'thumbnail' ? loadMedia('sea-1.webp') : sameClip(job);
  return kind === 'thumbnail' ? poster(job, vendor) : clip(job, vendor);
}

/** The clip of a job that was sent an image begins with it. */
function withImage(file: MediaFile, job: Job | undefined): MediaFile {
  if (job?.image === undefined || file.mimeType !== 'video/mp4') return file;
  job.film ??= toMediaFile(file.name, withFirstFrame(file.bytes, job.image));
  return job.film;
}

interface ContextOptions {
  readonly request: SimulatorRequest;
  readonly fault: Fault | undefined;
  readonly touched: TouchedJob;
}

function toContext(running: RunningSimulator, { request, fault, touched }: ContextOptions): SimulatorContext {
  const { simulator, jobs } = running;
  const forced = fault?.kind.startsWith('job-') ? fault.kind.slice('job-'.length) : undefined;
  return {
    now: running.now,
    url: running.url,
    jobs,
    createJob(job) {
      const outcome = forced && forced !== 'slow' ? (forced as JobOutcome) : 'succeed';
      const made = jobs.create(job, outcome, forced === 'slow' ? 10 : 1);
      touched.job = made;
      // Tests compare the bytes of clips.
      if (running.clipsByPrompt)
        void findSentImage(request).then((image) => {
          if (image !== undefined) made.image = image;
        });
      return made;
    },
    pollJob(job) {
      job.polls += 1;
      const snapshot = jobs.snapshot(job);
      touched.job = job;
      touched.snapshot = snapshot;
      return fault?.kind === 'reordered' ? (PREVIOUS_STATE[snapshot.phase] ?? snapshot) : snapshot;
    },
    media: (job, kind) => running.fileOf(withImage(sharedFile(job, running, kind), job), job.id),
    artifactUrl(job, kind) {
      const issued = running.urlsExpire ? `${Date.now()}/` : '';
      const { name } = sharedFile(job, running, kind);
      return running.artifactUrl(`/${simulator.name}/${encodeURIComponent(job.id)}/${issued}${name}`);
    },
    fileOf: (file, jobId) => running.fileOf(withImage(file, jobs.find(jobId)), jobId),
  };
}

/** Computes the vendor's response when no fault replaces it. */
async function serveRoute(
  running: RunningSimulator,
  request: SimulatorRequest,
  route: Route | undefined,
  fault: Fault | undefined,
  touched: TouchedJob,
): Promise<SimulatorResponse> {
  const { simulator } = running;
  const context = toContext(running, { request, fault, touched });
  if (!route?.open) {
    const refusal = await simulator.authorize(request, context);
    if (refusal) return refusal;
  }
  if (!route) return simulator.problem('not_found');
  return route.handle(request, context);
}

function toWireResponse(
  request: SimulatorRequest,
  reply: Exclude<SimulatorResponse, { kind: 'stream' }>,
): WireResponse {
  return reply.kind === 'media' ? serveFile(request, reply.file) : reply;
}

async function sendStream(
  response: ServerResponse,
  reply: Extract<SimulatorResponse, { kind: 'stream' }>,
): Promise<void> {
  response.writeHead(reply.status, reply.headers);
  response.flushHeaders();
  try {
    for await (const piece of reply.pieces) {
      if (response.destroyed) return;
      if (!response.write(piece)) await waitForDrain(response);
    }
  } catch (error) {
    if (!(error instanceof StreamInterrupted)) throw error;
    if (error.clean) return void response.end();
    // The callback runs after all earlier writes were sent.
    response.write('', () => response.socket?.destroy());
    return;
  }
  response.end();
}

/** Resolves when more may be written or the client has disconnected. */
async function waitForDrain(response: ServerResponse): Promise<void> {
  const either = new AbortController();
  const events = ['drain', 'close'].map((event) => once(response, event, { signal: either.signal }).catch(() => {}));
  await Promise.race(events);
  either.abort();
}

function faultReply(simulator: Simulator, fault: Fault): SimulatorResponse | undefined {
  const { kind } = fault;
  const instead = REPLACEMENT_RESPONSES[kind];
  if (instead) return { kind: 'body', ...instead };
  const byStatus = PROBLEM_BY_STATUS[kind];
  const problem = byStatus ?? (isProblem(kind) ? kind : undefined);
  if (problem === undefined) return undefined;
  const reply = simulator.problem(problem, fault.message);
  if (reply.kind !== 'body') return reply;
  const retryAfter: Record<string, string> = fault.retryAfter === undefined ? {} : { 'retry-after': fault.retryAfter };
  return { ...reply, status: byStatus ? Number(kind) : reply.status, headers: { ...reply.headers, ...retryAfter } };
}

/** Handles a request from its first byte to the last byte of its response. */
export async function handleRequest(
  running: RunningSimulator,
  incoming: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { simulator } = running;
  const bare = toRequest(incoming, await readBody(incoming));
  const matched = matchRoute(simulator, bare.method, bare.path, bare.query);
  const request: SimulatorRequest = { ...bare, params: matched?.params ?? {} };
  const operation = matched?.route.operation;
  const contains = (text: string) => (incoming.url ?? '').includes(text) || bare.body.includes(text);
  let fault = running.faults.take(simulator.name, operation ?? 'other', contains);
  if (!fault && operation) {
    const text = () => `${incoming.url} ${bare.body}`;
    const kind = running.faults.chooser?.(simulator.name, operation, text);
    if (kind) fault = { kind };
  }
  if (!fault && operation === 'submit') {
    const kind = findMarker(bare.body);
    if (kind) fault = { kind };
  }
  const logged: LoggedRequest = { ...bare, vendor: simulator.name, operation, fault: fault?.kind };
  running.log.add(logged);
  if (running.latencyMs > 0) await sleep(running.latencyMs);

  if (fault?.kind === 'hang') return;
  if (fault?.kind === 'reset') return void incoming.socket.resetAndDestroy();
  const recorded = fault ? undefined : running.deviating.deviations?.chatResponse(request);
  if (recorded) return sendDeviation(response, recorded, logged);
  const touched: TouchedJob = {};
  const reply =
    (fault && faultReply(simulator, fault)) ?? (await serveRoute(running, request, matched?.route, fault, touched));
  if (reply.kind === 'stream') return sendStream(response, reply);

  const answer = toWireResponse(request, reply);
  const deviation = fault || !operation ? undefined : deviate(running, { request, operation, touched }, answer);
  if (deviation) return sendDeviation(response, deviation, logged);
  const play = fault && RESPONSE_FAULTS[fault.kind];
  if (play) return play(response, answer);
  const key = operation ?? '';
  const sent = fault?.kind === 'duplicate' ? (running.lastResponses.get(key) ?? answer) : answer;
  running.lastResponses.set(key, answer);
  response.writeHead(sent.status, { ...sent.headers, 'content-length': String(sent.body.length) });
  response.end(bare.method === 'HEAD' ? undefined : sent.body);
}

function sendDeviation(response: ServerResponse, deviation: AppliedDeviation, logged: LoggedRequest): void {
  logged.deviation = deviation.name;
  deviation.write(response, deviation.wire);
}

/** Applies a deviation to a vendor's response. A refused submit leaves no job behind. */
function deviate(
  { simulator, jobs, deviating }: RunningSimulator,
  {
    request,
    operation,
    touched: { job, snapshot },
  }: { readonly request: SimulatorRequest; readonly operation: Operation; readonly touched: TouchedJob },
  answer: WireResponse,
): AppliedDeviation | undefined {
  const problem = (kind: ProblemKind) => {
    const reply = simulator.problem(kind);
    if (reply.kind !== 'body') throw new Error(`${simulator.name} answers a problem without a body`);
    return reply;
  };
  const asked = { vendor: simulator.name, request, operation, job, phase: snapshot?.phase, problem };
  const deviation = deviating.deviations?.alter(asked, answer);
  if (job && deviation?.effect === 'refused') jobs.remove(job.id);
  return deviation;
}

/** A recorded request, for assertions. */
export interface LoggedRequest {
  readonly vendor: string;
  /** Undefined for a path unknown to the simulator. */
  readonly operation: Operation | undefined;
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  readonly fault: FaultKind | undefined;
  /** Name of the deviation that was applied. */
  deviation?: string;
}

/** The latest requests; bounded, so that a long-lived sandbox does not fill the memory. */
export class RequestLog {
  readonly #keep: number;
  #entries: LoggedRequest[] = [];

  constructor(keep: number) {
    this.#keep = keep;
  }

  add(entry: LoggedRequest): void {
    if (this.#keep === 0) return;
    this.#entries.push(entry);
    if (this.#entries.length > 2 * this.#keep) this.#entries = this.#entries.slice(-this.#keep);
  }

  find(where: { readonly vendor?: string; readonly operation?: Operation }): readonly LoggedRequest[] {
    return this.#entries.filter(
      (entry) =>
        (where.vendor === undefined || entry.vendor === where.vendor) &&
        (where.operation === undefined || entry.operation === where.operation),
    );
  }

  clear(): void {
    this.#entries = [];
  }
}
