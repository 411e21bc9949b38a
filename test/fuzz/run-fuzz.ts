import { setImmediate as nextTurn } from 'node:timers/promises';
import fc from 'fast-check';
import { Pool } from 'undici';
import type { Endpoint } from '../../src/contract/endpoint.ts';
import { SeededRandom } from '../../src/sandbox/deviations.ts';
import type { ManualClock } from '../../src/server/platform/clock.ts';
import { ROOT_LOGIN } from '../admin-client.ts';
import { assertErrorResponse } from '../invalid-input/assert-error-response.ts';
import type { SandboxService } from '../service-with-sandbox.ts';
import { watchEventLoop } from './event-loop-stalls.ts';
import { type MadeUpRequest, requestsTo } from './made-up-requests.ts';

/** The result of a number of generated requests. */
export interface FuzzReport {
  requests: number;
  /** Number of responses by status. */
  readonly statuses: Record<number, number>;
  /** Failures of the service: statuses from 500 that blame no one else, wrong envelopes, lost connections. */
  readonly failures: string[];
  /** Statuses from 500 that report a missing upstream, named by a generated channel. */
  upstreamFailures: number;
  /** Turns of the event loop that took more CPU time than `STALL_MS`, with the requests in flight. */
  readonly stalls: string[];
  longestTurnMs: number;
  longestWaitMs: number;
}

const STALL_MS = 250;
const CONCURRENCY = 8;
const SAMPLE_SIZE = 16;
/** Wrong logins among the requests use up the attempts of an IP address, so the service's clock is advanced. */
const REQUESTS_PER_CLOCK_STEP = 400;
const CLOCK_STEP_MS = 15 * 60_000;
const MAX_KEPT = 50;
const MAX_IDS = 2_000;
/** Streams that stay open as long as the client is connected. */
const ENDLESS = new Set(['/api/notifications/stream', '/api/requests/stream', '/api/admin/requests/stream']);
const UPSTREAM_CODES = /upstream|unreachable|content_unavailable|messaging_unavailable|phone_unavailable|mailbox_/;

/**
 * Sends generated requests to all endpoints of a running service, a few at a time. The same seed generates the same
 * requests.
 */
export async function runFuzz(
  service: SandboxService,
  options: { readonly requests: number; readonly seed: number; readonly clock: ManualClock },
): Promise<FuzzReport> {
  const run = new FuzzRun(service, options.clock, options.seed);
  await run.send(options.requests);
  return run.report;
}

interface EndpointSamples {
  /** Created once: for a schema with many fields this takes longer than generating a request. */
  readonly arbitrary: fc.Arbitrary<MadeUpRequest>;
  readonly queue: MadeUpRequest[];
  round: number;
}

class FuzzRun {
  readonly report: FuzzReport = {
    requests: 0,
    statuses: {},
    failures: [],
    upstreamFailures: 0,
    stalls: [],
    longestTurnMs: 0,
    longestWaitMs: 0,
  };
  readonly #clock: ManualClock;
  readonly #random: SeededRandom;
  readonly #seed: number;
  readonly #pool: Pool;
  readonly #endpoints: readonly Endpoint[];
  readonly #samples = new Map<Endpoint, EndpointSamples>();
  readonly #ids: string[] = ['1'];
  #made = 0;
  readonly #underWay = new Set<string>();
  #root: Record<string, string> = {};
  #user: Record<string, string> = {};
  #key = '';
  #userKey = '';

  constructor(service: SandboxService, clock: ManualClock, seed: number) {
    this.#clock = clock;
    this.#seed = seed;
    this.#random = new SeededRandom(seed);
    this.#endpoints = service.app.http.routes.endpoints.filter(({ path }) => !ENDLESS.has(path));
    this.#pool = new Pool(service.baseUrl, { connections: CONCURRENCY, pipelining: 1, headersTimeout: 60_000 });
  }

  async send(requests: number): Promise<void> {
    await this.#signIn();
    const stalls = watchEventLoop(STALL_MS, (ms) => {
      if (this.report.stalls.length < MAX_KEPT)
        this.report.stalls.push(`${Math.round(ms)} ms; ${[...this.#underWay].join(' | ').slice(0, 3_000)}`);
    });
    let left = requests;
    const work = async (): Promise<void> => {
      while (left-- > 0) {
        if (left % REQUESTS_PER_CLOCK_STEP === 0) this.#clock.advance(CLOCK_STEP_MS);
        await this.#sendOne(this.#nextRequest());
      }
    };
    await Promise.all(Array.from({ length: CONCURRENCY }, work));
    await nextTurn();
    stalls.stop();
    this.report.longestTurnMs = Math.round(stalls.longestCpuMs);
    this.report.longestWaitMs = Math.round(stalls.longestWallMs);
    await this.#pool.close();
  }

  #nextRequest(): MadeUpRequest {
    const endpoint = this.#random.pick(String(this.#made++), this.#endpoints);
    const sample = this.#samples.get(endpoint) ?? { arbitrary: requestsTo(endpoint), queue: [], round: 0 };
    this.#samples.set(endpoint, sample);
    if (sample.queue.length === 0) {
      const seed = (this.#seed * 1_000_003 + this.#endpoints.indexOf(endpoint) * 8_191 + sample.round++) % 2 ** 31;
      sample.queue.push(...fc.sample(sample.arbitrary, { numRuns: SAMPLE_SIZE, seed }));
    }
    return sample.queue.shift() as MadeUpRequest;
  }

  async #sendOne(request: MadeUpRequest): Promise<void> {
    const { endpoint, contentType, body } = request;
    const path = this.#pathOf(request);
    const credential = this.#credentialOf(request);
    const told = `${endpoint.method} ${path} (${request.credential}) ${String(body ?? '').slice(0, 400)}`;
    this.#underWay.add(told);
    try {
      const response = await this.#pool.request({
        method: endpoint.method,
        path,
        headers: { ...credential, ...(contentType === undefined ? {} : { 'content-type': contentType }) },
        body: body ?? null,
      });
      const text = await response.body.text();
      await this.#judge(request, response.statusCode, text, told);
    } catch (error) {
      this.#fail(`${told}: ${error instanceof Error ? `${error.name} ${error.message}` : String(error)}`);
    } finally {
      this.#underWay.delete(told);
      this.report.requests++;
    }
  }

  async #judge({ endpoint, credential }: MadeUpRequest, status: number, text: string, told: string): Promise<void> {
    this.report.statuses[status] = (this.report.statuses[status] ?? 0) + 1;
    if (status > 500 && UPSTREAM_CODES.test(text)) this.report.upstreamFailures++;
    else assertErrorResponse(endpoint, status, text, told);
    if (status < 300) this.#keepIds(text);
    const { policy } = endpoint;
    const wasSignedIn = (credential === 'right' || credential === 'user') && policy !== 'self' && policy !== 'public';
    if (status === 401 && wasSignedIn) await this.#signInAgain();
  }

  #pathOf({ endpoint, ids, query }: MadeUpRequest): string {
    let index = 0;
    const path = endpoint.path.replace(/:\w+/g, () => {
      const id = ids[index++] ?? '1';
      const chosen = typeof id === 'string' ? id : (this.#ids[id % this.#ids.length] ?? '1');
      // Root may legitimately change its own password or delete itself, and so may the ordinary user.
      return endpoint.path.startsWith('/api/admin/users') && (chosen === '1' || chosen === '2') ? '3' : chosen;
    });
    return path.replace(/\/\*$/, '/x') + query;
  }

  #credentialOf({ endpoint: { policy }, credential }: MadeUpRequest): Record<string, string> {
    if (credential === 'none') return {};
    const isModel = policy === 'model';
    if (credential === 'wrong') return isModel ? this.#root : { authorization: `Bearer ${this.#key}` };
    if (isModel) return { authorization: `Bearer ${credential === 'user' ? this.#userKey : this.#key}` };
    return credential === 'user' ? this.#user : this.#root;
  }

  /** Remembers created ids and requests them later, so that not only errors are found. */
  #keepIds(text: string): void {
    for (const [, id] of text
      .slice(0, 5_000)
      .matchAll(/"(?:id|task_id|client_id|user_code|code)":\s*"?([\w.-]{1,60})/g))
      if (id !== undefined && this.#ids.length < MAX_IDS) this.#ids.push(id);
      else if (id !== undefined) this.#ids[this.report.requests % MAX_IDS] = id;
  }

  #fail(text: string): void {
    if (this.report.failures.length < MAX_KEPT) this.report.failures.push(text.slice(0, 3_000));
  }

  #pending: Promise<void> | undefined;

  /** Signs in again, because some requests end the session or revoke the key. */
  #signInAgain(): Promise<void> {
    this.#pending ??= this.#checkCredentials().finally(() => {
      this.#pending = undefined;
    });
    return this.#pending;
  }

  async #checkCredentials(): Promise<void> {
    const isIn = async (path: string, headers: Record<string, string>): Promise<boolean> => {
      const response = await this.#pool.request({ method: 'GET', path, headers });
      await response.body.dump();
      return response.statusCode === 200;
    };
    const checks = await Promise.all([
      isIn('/api/user/self', this.#root),
      isIn('/v1/models', { authorization: `Bearer ${this.#key}` }),
      isIn('/api/user/self', this.#user),
      isIn('/v1/models', { authorization: `Bearer ${this.#userKey}` }),
    ]);
    if (checks.includes(false)) await this.#signIn();
  }

  async #signIn(): Promise<void> {
    const { username, password } = ROOT_LOGIN;
    this.#root = await this.#logIn(username, password);
    const call = async (method: 'POST' | 'PUT', path: string, headers: object, body: object): Promise<unknown> => {
      const response = await this.#pool.request({
        method,
        path,
        headers: { ...headers, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
      return ((await response.body.json()) as { data?: unknown }).data;
    };
    const person = { username: 'fuzzuser', password: 'fuzz-user-password-1' };
    await call('POST', '/api/admin/users', this.#root, { ...person, quota: 1_000_000 });
    this.#user = await this.#logIn(person.username, person.password);
    const keyOf = async (headers: object): Promise<string> =>
      ((await call('POST', '/api/tokens', headers, { name: 'fuzz' })) as { key?: string } | undefined)?.key ?? '';
    this.#key = await keyOf(this.#root);
    this.#userKey = await keyOf(this.#user);
    await call('PUT', '/api/admin/users/1', this.#root, { quota_delta: 100_000_000, note: 'fuzz' });
  }

  async #logIn(username: string, password: string): Promise<Record<string, string>> {
    this.#clock.advance(CLOCK_STEP_MS);
    const response = await this.#pool.request({
      method: 'POST',
      path: '/api/user/login',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ username, password }),
    });
    const { data } = (await response.body.json()) as { data?: { id?: number } };
    const [cookie] = [response.headers['set-cookie'] ?? ''].flat();
    return { cookie: (cookie ?? '').split(';', 1)[0] ?? '', 'service-api-user': String(data?.id ?? '') };
  }
}
