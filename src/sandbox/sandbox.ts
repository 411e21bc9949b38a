import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ANTHROPIC_SANDBOX_MODELS, anthropicSimulator } from './anthropic.ts';
import { type DeviationOptions, Deviations } from './deviations.ts';
import { type Fault, type FaultChooser, type FaultHandle, FaultQueue } from './faults.ts';
import { GEMINI_SANDBOX_MODELS, geminiSimulator } from './gemini.ts';
import { JOB_TIMINGS, type Job, JobStore, type JobTiming, type SandboxClock, systemClock } from './jobs.ts';
import { isMediaName, loadMedia, type MediaFile } from './media.ts';
import { OPENAI_SANDBOX_MODELS, openaiSimulator } from './openai.ts';
import { handleRequest, type LoggedRequest, RequestLog, type RunningSimulator } from './request-handler.ts';
import { defineSimulator, fileResponse, jsonResponse, type Operation, type Simulator } from './simulator.ts';
import { hailuo } from './vendors/hailuo.ts';
import { jimeng } from './vendors/jimeng.ts';
import { kling } from './vendors/kling.ts';
import { runway } from './vendors/runway.ts';
import { seedance } from './vendors/seedance.ts';
import { sora } from './vendors/sora.ts';
import { veo, veoVertex } from './vendors/veo.ts';
import { veoInteractions } from './vendors/veo-interactions.ts';
import { vidu } from './vendors/vidu.ts';
import { wan } from './vendors/wan.ts';
import { xai } from './vendors/xai.ts';

/** Options of a sandbox. */
export interface SandboxOptions {
  readonly simulators: readonly Simulator[];
  /** Default: the system clock. With a manual clock, jobs only progress when it is advanced. */
  readonly clock?: SandboxClock;
  /** Default: `fast`. Use `JOB_TIMINGS.interactive` manually and `JOB_TIMINGS.instant` for benchmarks. */
  readonly timing?: JobTiming;
  /** Milliseconds added to every response. */
  readonly latencyMs?: number;
  /** Number of requests recorded for assertions; default 1000, 0 for benchmarks. */
  readonly keepRequests?: number;
  /** Lifetime of file URLs, of which every query of a job issues a new one; default: they do not expire. */
  readonly urlLifetimeMs?: number;
  /** Chooses clips by the words of the prompt and by vendor; default: all jobs of a shape have the same. */
  readonly clipsByPrompt?: boolean;
  /** Derives the file of a job from the shared one; default: the shared file itself. */
  readonly fileOf?: (file: MediaFile, jobId: string) => MediaFile;
  /** Sends realistic instead of documented responses to a share of the requests; default: none. */
  readonly deviations?: DeviationOptions;
  /** Default: 0, any free port. */
  readonly port?: (name: string) => number;
}

/** Lets tests control and inspect a running sandbox. Names are those of simulators. */
interface SandboxControl {
  readonly clock: SandboxClock;
  fault(fault: Fault): FaultHandle;
  clearFaults(): void;
  /** Sets the function that chooses faults for requests matching none of the added faults; undefined removes it. */
  chooseFaults(choose: FaultChooser | undefined): void;
  /** Replaces the deviations; undefined: every response is as documented. Requests with a fault never deviate. */
  deviate(options: DeviationOptions | undefined): void;
  /** The latest requests, oldest first. */
  requests(where?: { readonly vendor?: string; readonly operation?: Operation }): readonly LoggedRequest[];
  clearRequests(): void;
  /** Every job started and not deleted; `externalId` and `prompt` identify a job, `polls` counts its queries. */
  jobs(name: string): readonly Job[];
}

/** A running sandbox. */
export interface Sandbox {
  /** A simulator's base URL: `http://127.0.0.1:port`, without a path. */
  url(name: string): string;
  /** Settings of a channel that uses the simulator. */
  credentials(name: string): Readonly<Record<string, unknown>>;
  /** Host and port of the artifact host, `127.0.0.1:port`. */
  readonly artifactHost: string;
  readonly control: SandboxControl;
  /** Aborts requests in progress and closes every socket. */
  stop(): Promise<void>;
}

async function listen(port: number): Promise<{ server: Server; url: string }> {
  const server = createServer({ keepAliveTimeout: 30_000, requestTimeout: 0 });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

/** Attaches simulators to a server. A defect of a simulator breaks the connection and is written to stderr. */
function serveSimulators(server: Server, pick: (path: string) => RunningSimulator | undefined): void {
  server.on('request', (request, response) => {
    const station = pick(request.url ?? '/');
    if (!station) return void response.writeHead(404).end();
    handleRequest(station, request, response).catch((error: unknown) => {
      if (!request.destroyed || request.complete) console.error(`sandbox ${station.simulator.name}:`, error);
      response.destroy();
    });
  });
}

/** Starts simulators on loopback, each on its own port, and one artifact host for all of them. */
export async function startSandbox(options: SandboxOptions): Promise<Sandbox> {
  const {
    clock = systemClock,
    timing = JOB_TIMINGS.fast,
    latencyMs = 0,
    keepRequests = 1_000,
    urlLifetimeMs,
    fileOf = (file) => file,
    port = () => 0,
    deviations,
  } = options;
  const faults = new FaultQueue();
  const log = new RequestLog(keepRequests);
  const now = () => clock.now();
  const toDeviations = (chosen: DeviationOptions | undefined) => chosen && new Deviations(chosen);
  const deviating = { deviations: toDeviations(deviations) };
  const artifacts = await listen(port('artifacts'));
  const servers = [artifacts.server];
  const shared = {
    faults,
    log,
    latencyMs,
    now,
    artifactUrl: (path: string) => `${artifacts.url}${path}`,
    urlsExpire: urlLifetimeMs !== undefined,
    clipsByPrompt: options.clipsByPrompt === true,
    fileOf,
    deviating,
  };
  const stations = new Map<string, RunningSimulator>();
  const hosts = new Map<string, RunningSimulator>();
  for (const simulator of options.simulators) {
    const { server, url } = await listen(port(simulator.name));
    servers.push(server);
    const jobs = new JobStore(clock, timing);
    const station: RunningSimulator = { ...shared, simulator, url, jobs, lastResponses: new Map() };
    stations.set(simulator.name, station);
    serveSimulators(server, () => station);
    hosts.set(simulator.name, {
      ...station,
      simulator: artifactHost(simulator.name, urlLifetimeMs ?? Number.POSITIVE_INFINITY),
      url: artifacts.url,
    });
  }
  serveSimulators(artifacts.server, (path) => hosts.get(path.split('/')[1] ?? ''));

  const named = (name: string): RunningSimulator => {
    const station = stations.get(name);
    if (!station) throw new Error(`the sandbox runs no simulator named ${name}`);
    return station;
  };
  return {
    url: (name) => named(name).url,
    credentials: (name) => named(name).simulator.credentials({ url: named(name).url }),
    artifactHost: artifacts.url.slice('http://'.length),
    control: {
      clock,
      fault: (fault) => faults.add(fault),
      clearFaults: () => faults.clear(),
      chooseFaults: (choose) => {
        faults.chooser = choose;
      },
      deviate: (chosen) => {
        deviating.deviations = toDeviations(chosen);
      },
      requests: (where = {}) => log.find(where),
      clearRequests: () => log.clear(),
      jobs: (name) => named(name).jobs.all(),
    },
    async stop() {
      await Promise.all(
        servers.map(async (server) => {
          server.closeAllConnections();
          await new Promise((resolve) => server.close(resolve));
        }),
      );
    },
  };
}

/**
 * A content network as used by vendors: public URLs without credentials. Named per vendor so that faults can target it.
 *
 * @param urlLifetimeMs lifetime of a URL that contains its time of issue, in real time: a test that advances the clock
 * would expire the URL before fetching it
 */
const artifactHost = (vendor: string, urlLifetimeMs: number): Simulator =>
  defineSimulator({
    name: vendor,
    credentials: () => ({}),
    authorize: () => undefined,
    problem: (problem) => jsonResponse(problem === 'not_found' ? 404 : 503, { error: problem }),
    routes: [
      {
        method: 'GET',
        path: /^\/[^/]+\/(?<job>[^/]+)(?:\/(?<issued>\d+))?\/(?<name>[^/]+)$/,
        operation: 'content',
        handle({ params: { job = '', issued, name = '' } }, { fileOf }) {
          if (!isMediaName(name)) return jsonResponse(404, { error: 'not_found' });
          if (issued !== undefined && Date.now() - Number(issued) > urlLifetimeMs)
            return jsonResponse(403, { error: 'expired' });
          return fileResponse(fileOf(loadMedia(name), job));
        },
      },
    ],
  });

interface NamedModel {
  readonly id: string;
  readonly vendor: string;
}

/** Starts all simulators for `SANDBOX=1`, slowly enough to watch in the console. */
export async function startAllSimulators() {
  const sandbox = await startSandbox({
    simulators: ALL_SIMULATORS,
    timing: JOB_TIMINGS.interactive,
    keepRequests: 0,
    clipsByPrompt: true,
  });
  return {
    /** One channel per simulator, with those of the given models it serves. */
    channels: (models: readonly NamedModel[]) =>
      ALL_SIMULATORS.map(({ name, vendor = name, models: served = /^/ }) => ({
        name,
        vendor,
        baseUrl: sandbox.url(name),
        credentials: sandbox.credentials(name),
        models: models.filter((model) => model.vendor === vendor && served.test(model.id)).map(({ id }) => id),
      })),
    stop: sandbox.stop,
  };
}

/** Models of the simulators that no adapter defines. */
export const CHAT_SANDBOX_MODELS = [
  ...OPENAI_SANDBOX_MODELS.map((model) => ({ ...model, vendor: 'openai' }) as const),
  ...ANTHROPIC_SANDBOX_MODELS.map((model) => ({ ...model, vendor: 'anthropic' }) as const),
  ...GEMINI_SANDBOX_MODELS.map((model) => ({ ...model, vendor: 'gemini' }) as const),
];

/** Imported on demand, because its libraries are development packages. */
export const importMailServer = () => import('./mail/mail-server.ts');

/** Every simulator started by `SANDBOX=1`, each with its own channel. */
export const ALL_SIMULATORS: readonly Simulator[] = [
  kling,
  jimeng,
  hailuo,
  seedance,
  wan,
  veo,
  veoVertex,
  veoInteractions,
  vidu,
  sora,
  runway,
  xai,
  openaiSimulator,
  anthropicSimulator,
  geminiSimulator,
];
