import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { artifactHost } from './artifact-host.ts';
import { realClock, type SandboxClock } from './clock.ts';
import { exchange, type Station } from './exchange.ts';
import { type Fault, FaultBook, type FaultHandle, type Weather } from './faults.ts';
import { type Job, JobStore, SPEEDS, type Speed } from './jobs.ts';
import { type LoggedRequest, RequestLog } from './request-log.ts';
import type { Operation, Simulator } from './simulator.ts';

export interface SandboxOptions {
  readonly simulators: readonly Simulator[];
  /** The real one by default; with `handClock()` jobs move only when it is advanced. */
  readonly clock?: SandboxClock;
  /** `fast` by default. `SPEEDS.people` for people, `SPEEDS.instant` for benchmarks. */
  readonly speed?: Speed;
  /** Added to every answer. */
  readonly latencyMs?: number;
  /** How many requests are remembered for assertions; default 1000, 0 for benchmarks. */
  readonly keepRequests?: number;
  /** 0, a free one, by default. */
  readonly port?: (name: string) => number;
}

/** What tests do to a running sandbox and ask of it. Names are those of simulators. */
export interface SandboxControl {
  readonly clock: SandboxClock;
  fault(fault: Fault): FaultHandle;
  clearFaults(): void;
  /** What befalls requests from now on that no fault of the above does; undefined for calm. */
  weather(choose: Weather | undefined): void;
  /** The newest requests, oldest first. */
  requests(where?: { readonly vendor?: string; readonly operation?: Operation }): readonly LoggedRequest[];
  clearRequests(): void;
  /** Every job ever begun and not deleted; `externalId` and `prompt` tell whose it is, `polls` how often it was asked for. */
  jobs(name: string): readonly Job[];
}

export interface Sandbox {
  /** A simulator's address: `http://127.0.0.1:port`, without a path. */
  url(name: string): string;
  /** What a channel to it must be given. */
  credentials(name: string): Readonly<Record<string, unknown>>;
  /** The artifact host, `127.0.0.1:port`. */
  readonly artifactHost: string;
  readonly control: SandboxControl;
  /** Breaks what is under way and closes every socket. */
  stop(): Promise<void>;
}

async function listen(port: number): Promise<{ server: Server; url: string }> {
  const server = createServer({ keepAliveTimeout: 30_000, requestTimeout: 0 });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

/** Lets a server answer for a station; a simulator's own defect breaks the connection and shows on stderr. */
function attach(server: Server, pick: (path: string) => Station | undefined): void {
  server.on('request', (request, response) => {
    const station = pick(request.url ?? '/');
    if (!station) return void response.writeHead(404).end();
    exchange(station, request, response).catch((error: unknown) => {
      if (!request.destroyed || request.complete) console.error(`sandbox ${station.simulator.name}:`, error);
      response.destroy();
    });
  });
}

/** Starts simulators on loopback, each on a port of its own, and one artifact host for all of them. */
export async function startSandbox(options: SandboxOptions): Promise<Sandbox> {
  const { clock = realClock, speed = SPEEDS.fast, latencyMs = 0, keepRequests = 1_000, port = () => 0 } = options;
  const faults = new FaultBook();
  const log = new RequestLog(keepRequests);
  const now = () => clock.now();
  const artifacts = await listen(port('artifacts'));
  const servers = [artifacts.server];
  const shared = { faults, log, latencyMs, now, artifactUrl: (path: string) => `${artifacts.url}${path}` };
  const stations = new Map<string, Station>();
  const hosts = new Map<string, Station>();
  for (const simulator of options.simulators) {
    const { server, url } = await listen(port(simulator.name));
    servers.push(server);
    const jobs = new JobStore(clock, speed);
    const station: Station = { ...shared, simulator, url, jobs, answered: new Map() };
    stations.set(simulator.name, station);
    attach(server, () => station);
    const host = { ...station, simulator: artifactHost(simulator.name), url: artifacts.url, answered: new Map() };
    hosts.set(simulator.name, host);
  }
  attach(artifacts.server, (path) => hosts.get(path.split('/')[1] ?? ''));

  const named = (name: string): Station => {
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
      weather: (choose) => {
        faults.weather = choose;
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
