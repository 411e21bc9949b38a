import { quantile } from '../support/quantile.ts';

/** One kind of operation with its average cost. */
export interface Operation {
  readonly name: string;
  /** Operations per video. */
  readonly perVideo: number;
  readonly processUs: number;
  readonly databaseUs: number;
  /** Bytes of write-ahead log; 0 for operations that write nothing. */
  readonly walBytes: number;
}

/** Processes and databases to simulate. */
export interface Deployment {
  /** Processes of the service, with one core each. */
  readonly processes: number;
  /** Databases across which accounts are sharded. */
  readonly databases: number;
  readonly coresPerDatabase: number;
  readonly flushMs: number;
  readonly logMbPerSecond: number;
}

/** Latencies and utilization of a simulated deployment. */
export interface SimulationResult {
  readonly completedPerSecond: number;
  /** Latency in milliseconds by operation. */
  readonly latency: ReadonlyMap<string, { readonly p50: number; readonly p99: number }>;
  /** Highest utilization of each kind of station, descending. */
  readonly utilization: readonly { readonly station: string; readonly share: number }[];
}

/**
 * Simulates a deployment under steady load, event by event. Operations arrive as a Poisson process; half of their
 * process time precedes the database and half follows it; service times are exponential. A write waits for its
 * database's log.
 *
 * @param videosPerSecond on average
 */
export function simulateQueues(
  videosPerSecond: number,
  operations: readonly Operation[],
  plant: Deployment,
  { seconds, random }: { readonly seconds: number; readonly random: () => number },
): SimulationResult {
  const events = new EventQueue();
  const exponential = (mean: number): number => -mean * Math.log(1 - random());
  const processes = Array.from({ length: plant.processes }, () => new Cores('processes', 1, events));
  const shards = Array.from({ length: plant.databases }, () => ({
    cores: new Cores('database cores', plant.coresPerDatabase, events),
    log: new Log('database log', plant.flushMs / 1e3, plant.logMbPerSecond * 1e6, events),
  }));
  const pick = <T>(all: readonly T[]): T => all[Math.floor(random() * all.length)] as T;
  const latencies = new Map<string, number[]>(operations.map(({ name }) => [name, []]));

  const arrive = (operation: Operation) => (arrivedAt: number) => {
    events.push(arrivedAt + exponential(1 / (videosPerSecond * operation.perVideo)), arrive(operation));
    const process = pick(processes);
    const { cores, log } = pick(shards);
    const half = (operation.processUs / 2) * 1e-6;
    const visits: (readonly [Station, number])[] = [
      [process, exponential(half)],
      [cores, exponential(operation.databaseUs * 1e-6)],
      ...(operation.walBytes > 0 ? [[log, 0] as const] : []),
      [process, exponential(half)],
    ];
    const enter = (index: number) => (time: number) => {
      const visit = visits[index];
      if (visit === undefined) {
        latencies.get(operation.name)?.push((time - arrivedAt) * 1e3);
        return;
      }
      visit[0].enter(time, { seconds: visit[1], bytes: operation.walBytes, leave: enter(index + 1) });
    };
    enter(0)(arrivedAt);
  };
  for (const operation of operations)
    events.push(exponential(1 / (videosPerSecond * operation.perVideo)), arrive(operation));
  for (let next = events.pop(); next !== undefined && next.time <= seconds; next = events.pop()) next.run(next.time);

  const stations: readonly Station[] = [...processes, ...shards.flatMap(({ cores, log }) => [cores, log])];
  return {
    completedPerSecond: [...latencies.values()].flat().length / seconds,
    latency: new Map(
      [...latencies].map(([name, values]) => [name, { p50: quantile(values, 0.5), p99: quantile(values, 0.99) }]),
    ),
    utilization: [...Map.groupBy(stations, ({ name }) => name)]
      .map(([station, all]) => ({ station, share: Math.max(...all.map((each) => each.utilization(seconds))) }))
      .toSorted((one, other) => other.share - one.share),
  };
}

type Run = (time: number) => void;

interface Work {
  readonly seconds: number;
  readonly bytes: number;
  readonly leave: Run;
}

/** A resource with a queue. Times are in seconds. */
interface Station {
  readonly name: string;
  enter(now: number, work: Work): void;
  /** Share of the capacity used until the given time. */
  utilization(until: number): number;
}

/** Several cores behind one FIFO queue. */
class Cores implements Station {
  readonly name: string;
  readonly #count: number;
  readonly #events: EventQueue;
  #waiting: Work[] = [];
  #head = 0;
  #running = 0;
  #busySeconds = 0;

  constructor(name: string, count: number, events: EventQueue) {
    this.name = name;
    this.#count = count;
    this.#events = events;
  }

  enter(now: number, work: Work): void {
    if (this.#running < this.#count) this.#start(now, work);
    else this.#waiting.push(work);
  }

  utilization(until: number): number {
    return this.#busySeconds / (this.#count * until);
  }

  #start(now: number, work: Work): void {
    this.#running++;
    this.#busySeconds += work.seconds;
    this.#events.push(now + work.seconds, (time) => {
      this.#running--;
      const next = this.#dequeue();
      if (next !== undefined) this.#start(time, next);
      work.leave(time);
    });
  }

  /** Trims the array in batches: `shift` copies a long one each time. */
  #dequeue(): Work | undefined {
    const next = this.#waiting[this.#head];
    if (next !== undefined) this.#head++;
    if (this.#head >= 10_000) this.#waiting = this.#waiting.slice(this.#head);
    this.#head %= 10_000;
    return next;
  }
}

/** A write-ahead log: all pending writes share the next flush. */
class Log implements Station {
  readonly name: string;
  readonly #flushSeconds: number;
  readonly #bytesPerSecond: number;
  readonly #events: EventQueue;
  #waiting: Work[] = [];
  #isFlushing = false;
  #bytes = 0;

  constructor(name: string, flushSeconds: number, bytesPerSecond: number, events: EventQueue) {
    this.name = name;
    this.#flushSeconds = flushSeconds;
    this.#bytesPerSecond = bytesPerSecond;
    this.#events = events;
  }

  enter(now: number, work: Work): void {
    this.#waiting.push(work);
    if (!this.#isFlushing) this.#flush(now);
  }

  /** Relative to the bandwidth, because under load a log flushes continuously, with more bytes in each flush. */
  utilization(until: number): number {
    return this.#bytes / (this.#bytesPerSecond * until);
  }

  #flush(now: number): void {
    const batch = this.#waiting;
    this.#waiting = [];
    this.#isFlushing = true;
    const bytes = batch.reduce((sum, work) => sum + work.bytes, 0);
    this.#bytes += bytes;
    this.#events.push(now + this.#flushSeconds + bytes / this.#bytesPerSecond, (time) => {
      this.#isFlushing = false;
      if (this.#waiting.length > 0) this.#flush(time);
      for (const { leave } of batch) leave(time);
    });
  }
}

/** Pending events in a binary heap, ordered by time. Simultaneous events run in any order. */
export class EventQueue {
  readonly #heap: { readonly time: number; readonly run: Run }[] = [];

  push(time: number, run: Run): void {
    let index = this.#heap.push({ time, run }) - 1;
    for (let parent = (index - 1) >> 1; index > 0 && this.#timeAt(parent) > time; parent = (index - 1) >> 1) {
      this.#swap(index, parent);
      index = parent;
    }
  }

  pop(): { readonly time: number; readonly run: Run } | undefined {
    this.#swap(0, this.#heap.length - 1);
    const first = this.#heap.pop();
    for (let index = 0, least = 0; ; index = least) {
      for (const child of [2 * index + 1, 2 * index + 2]) if (this.#timeAt(child) < this.#timeAt(least)) least = child;
      if (least === index) return first;
      this.#swap(index, least);
    }
  }

  #timeAt(index: number): number {
    return this.#heap[index]?.time ?? Number.POSITIVE_INFINITY;
  }

  #swap(one: number, other: number): void {
    const [first, second] = [this.#heap[one], this.#heap[other]];
    if (first === undefined || second === undefined) return;
    this.#heap[one] = second;
    this.#heap[other] = first;
  }
}
