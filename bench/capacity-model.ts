import { seededRandom } from '../test/seeded-random.ts';
import { type Deployment, type Operation, type SimulationResult, simulateQueues } from './scale/queueing-simulation.ts';

/**
 * `node bench/capacity-model.ts` (a minute): computes the smallest deployment for 1, 10 and 100 million videos a day
 * that stays below two thirds of every capacity at the peak, and simulates it, using the costs measured by
 * `bench/costs-per-step.ts`.
 *
 * A video is submitted, polled every 15 s for 90 s, queried by its caller every 10 s, and settled once.
 */
export const OPERATIONS: readonly Operation[] = [
  { name: 'submit', perVideo: 1, processUs: 877, databaseUs: 810, walBytes: 3_751 },
  { name: 'poll', perVideo: 6, processUs: 267, databaseUs: 334, walBytes: 2_470 },
  { name: 'query', perVideo: 9, processUs: 111, databaseUs: 59, walBytes: 159 },
  { name: 'end', perVideo: 1, processUs: 607, databaseUs: 1_031, walBytes: 4_866 },
];

/** Peak rate relative to the daily average. */
const PEAK = 3;
const DAY_SECONDS = 86_400;
const TARGET = 2 / 3;
/** One database: 16 cores, a disk that flushes in one millisecond and writes 400 MB/s. */
const DATABASE = { coresPerDatabase: 16, flushMs: 1, logMbPerSecond: 400 };
/** Number of simulated operations, at any rate. */
const OPERATIONS_SIMULATED = 600_000;

/** CPU time of one video in a process or a database, in seconds. */
export const perVideo = (operations: readonly Operation[], of: 'processUs' | 'databaseUs'): number =>
  operations.reduce((sum, operation) => sum + operation.perVideo * operation[of], 0) * 1e-6;

/** The fewest processes and databases whose cores and logs stay below two thirds of their capacity. */
export function smallestDeployment(videosPerSecond: number, operations: readonly Operation[]): Deployment {
  const bytes = operations.reduce((sum, { perVideo: count, walBytes }) => sum + count * walBytes, 0);
  const byCores = (perVideo(operations, 'databaseUs') * videosPerSecond) / (DATABASE.coresPerDatabase * TARGET);
  const byLog = (bytes * videosPerSecond) / (DATABASE.logMbPerSecond * 1e6 * TARGET);
  return {
    processes: Math.max(2, Math.ceil((perVideo(operations, 'processUs') * videosPerSecond) / TARGET)),
    databases: Math.max(1, Math.ceil(Math.max(byCores, byLog))),
    ...DATABASE,
  };
}

/** Computes and simulates the deployment. @param millions videos per day */
export function calculate(millions: number, operations = OPERATIONS, count = OPERATIONS_SIMULATED) {
  const videosPerSecond = (millions * 1e6 * PEAK) / DAY_SECONDS;
  const plant = smallestDeployment(videosPerSecond, operations);
  const seconds = count / (videosPerSecond * operations.reduce((sum, operation) => sum + operation.perVideo, 0));
  const outcome = simulateQueues(videosPerSecond, operations, plant, { seconds, random: seededRandom(millions) });
  return { videosPerSecond, plant, outcome };
}

const latencyOf = ({ latency }: SimulationResult, name: string): string => {
  const { p50 = 0, p99 = 0 } = latency.get(name) ?? {};
  return `${p50.toFixed(1)} / ${p99.toFixed(1)}`;
};

if (import.meta.main) {
  console.log(
    `One process carries ${(1 / perVideo(OPERATIONS, 'processUs')).toFixed(0)} videos a second, one database core ` +
      `${(1 / perVideo(OPERATIONS, 'databaseUs')).toFixed(0)}.`,
  );
  console.log(
    '| videos a day | at the peak | processes | databases of 16 cores | operations/s | submit p50 / p99 ms | query p50 / p99 ms | busiest |',
  );
  console.log('|---|---|---|---|---|---|---|---|');
  for (const millions of [1, 10, 100]) {
    const { videosPerSecond, plant, outcome } = calculate(millions);
    const [first] = outcome.utilization;
    console.log(
      `| ${millions} million | ${videosPerSecond.toFixed(0)}/s | ${plant.processes} | ${plant.databases} | ${outcome.completedPerSecond.toFixed(0)} | ` +
        `${latencyOf(outcome, 'submit')} | ${latencyOf(outcome, 'query')} | ${first?.station} ${(100 * (first?.share ?? 0)).toFixed(0)} % |`,
    );
  }
}
