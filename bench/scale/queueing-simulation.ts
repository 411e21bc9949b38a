import { quantile } from '../support/quantile.ts';
import { Cores, Log, type Station, type Work } from './queueing-stations.ts';
import { SimulatedEventQueue } from './simulated-event-queue.ts';

/** One kind of operation, by what it costs on average. */
export interface Operation {
  readonly name: string;
  /** How often one video needs it. */
  readonly perVideo: number;
  readonly processUs: number;
  readonly databaseUs: number;
  /** 0: it writes nothing. */
  readonly walBytes: number;
}

/** What there is to do the work with. */
export interface Deployment {
  /** Processes of the service, a core each. */
  readonly processes: number;
  /** Accounts are spread over so many databases. */
  readonly databases: number;
  readonly coresPerDatabase: number;
  readonly flushMs: number;
  readonly logMbPerSecond: number;
}

export interface SimulationResult {
  readonly completedPerSecond: number;
  /** Latency in milliseconds by operation. */
  readonly latency: ReadonlyMap<string, { readonly p50: number; readonly p99: number }>;
  /** Highest utilization of each kind of station, the busiest first. */
  readonly utilization: readonly { readonly station: string; readonly share: number }[];
}

/**
 * Simulates a plant under a steady load, event by event. Operations arrive at random (a Poisson process); half of their work in
 * a process comes before the database and half after it; each piece of work varies exponentially around its average. A write
 * waits for its database's log.
 *
 * @param videosPerSecond on average
 */
export function simulateQueues(
  videosPerSecond: number,
  operations: readonly Operation[],
  plant: Deployment,
  { seconds, random }: { readonly seconds: number; readonly random: () => number },
): SimulationResult {
  const events = new SimulatedEventQueue<(time: number) => void>();
  const schedule = (time: number, run: (time: number) => void): void => events.push(time, run);
  const exponential = (mean: number): number => -mean * Math.log(1 - random());
  const processes = Array.from({ length: plant.processes }, () => new Cores('processes', 1, schedule));
  const shards = Array.from({ length: plant.databases }, () => ({
    cores: new Cores('database cores', plant.coresPerDatabase, schedule),
    log: new Log('database log', plant.flushMs / 1e3, plant.logMbPerSecond * 1e6, schedule),
  }));
  const pick = <T>(all: readonly T[]): T => all[Math.floor(random() * all.length)] as T;
  const latencies = new Map<string, number[]>(operations.map(({ name }) => [name, []]));
  let completed = 0;

  const arrive = (operation: Operation) => (arrivedAt: number) => {
    schedule(arrivedAt + exponential(1 / (videosPerSecond * operation.perVideo)), arrive(operation));
    const process = pick(processes);
    const { cores, log } = pick(shards);
    const half = (operation.processUs / 2) * 1e-6;
    const visits: (readonly [Station, number])[] = [
      [process, exponential(half)],
      [cores, exponential(operation.databaseUs * 1e-6)],
      ...(operation.walBytes > 0 ? [[log, 0] as const] : []),
      [process, exponential(half)],
    ];
    const goOn = (place: number) => (time: number) => {
      const visit = visits[place];
      if (visit === undefined) {
        completed++;
        latencies.get(operation.name)?.push((time - arrivedAt) * 1e3);
        return;
      }
      const work: Work = { seconds: visit[1], bytes: operation.walBytes, leave: goOn(place + 1) };
      visit[0].enter(time, work);
    };
    goOn(0)(arrivedAt);
  };
  for (const operation of operations)
    schedule(exponential(1 / (videosPerSecond * operation.perVideo)), arrive(operation));
  for (let next = events.pop(); next !== undefined && next.time <= seconds; next = events.pop()) next.value(next.time);

  const stations: readonly Station[] = [...processes, ...shards.flatMap(({ cores, log }) => [cores, log])];
  const names = [...new Set(stations.map(({ name }) => name))];
  return {
    completedPerSecond: completed / seconds,
    latency: new Map([...latencies].map(([name, values]) => [name, percentiles(values)])),
    utilization: names
      .map((station) => ({
        station,
        share: Math.max(...stations.filter(({ name }) => name === station).map((each) => each.utilization(seconds))),
      }))
      .toSorted((one, other) => other.share - one.share),
  };
}

function percentiles(values: readonly number[]): { p50: number; p99: number } {
  return { p50: quantile(values, 0.5), p99: quantile(values, 0.99) };
}
