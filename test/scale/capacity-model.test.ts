import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { calculate, OPERATIONS, perVideo, smallestDeployment } from '../../bench/capacity-model.ts';
import { type Deployment, EventQueue, type Operation, simulateQueues } from '../../bench/scale/queueing-simulation.ts';
import { seededRandom } from '../seeded-random.ts';

const QUERY: Operation = { name: 'query', perVideo: 1, processUs: 0, databaseUs: 1_000, walBytes: 0 };
const PLANT: Deployment = { processes: 1, databases: 1, coresPerDatabase: 1, flushMs: 2, logMbPerSecond: 100 };
const run = (perSecond: number, operation: Operation, plant = PLANT, seconds = 400) =>
  simulateQueues(perSecond, [operation], plant, { seconds, random: seededRandom(7) });

describe('capacity model', () => {
  it('returns events in chronological order', () => {
    const events = new EventQueue();
    const random = seededRandom(1);
    const times = Array.from({ length: 1_000 }, () => Math.floor(random() * 100));
    for (const time of times) events.push(time, () => {});
    const got = times.map(() => events.pop()?.time);
    assert.deepEqual(
      got,
      times.toSorted((one, other) => one - other),
    );
    assert.equal(events.pop(), undefined);
  });

  it('matches queueing theory for one core (M/M/1: median sojourn time ln 2 / (service rate - arrival rate))', () => {
    const { latency, utilization, completedPerSecond } = run(500, QUERY);
    const { p50 = 0, p99 = 0 } = latency.get('query') ?? {};
    assert.ok(Math.abs(p50 / (1_000 * (Math.LN2 / 500)) - 1) < 0.05, `p50 ${p50} ms`);
    assert.ok(Math.abs(p99 / (1_000 * (Math.log(100) / 500)) - 1) < 0.1, `p99 ${p99} ms`);
    assert.ok(Math.abs(completedPerSecond / 500 - 1) < 0.02);
    const [busiest] = utilization;
    assert.equal(busiest?.station, 'database cores');
    assert.ok(Math.abs((busiest?.share ?? 0) - 0.5) < 0.02);
  });

  it('completes no more than the capacity of the cores', () => {
    const { completedPerSecond } = run(3_000, QUERY, PLANT, 60);
    assert.ok(Math.abs(completedPerSecond / 1_000 - 1) < 0.03, `${completedPerSecond} a second`);
  });

  it('shares one log flush among concurrent writes', () => {
    const write: Operation = { ...QUERY, databaseUs: 1, walBytes: 100 };
    const { completedPerSecond, latency } = run(5_000, write, PLANT, 20);
    assert.ok(Math.abs(completedPerSecond / 5_000 - 1) < 0.02, 'ten writes per flush');
    const { p50 = 0 } = latency.get('query') ?? {};
    assert.ok(p50 > 2 && p50 < 4.5, `one flush and part of the previous one: ${p50} ms`);
  });

  it('sizes deployments for 1, 10 and 100 million videos a day below every capacity', () => {
    for (const millions of [1, 10, 100]) {
      const { videosPerSecond, plant, outcome } = calculate(millions, OPERATIONS, 30_000);
      const perSecond = videosPerSecond * OPERATIONS.reduce((sum, each) => sum + each.perVideo, 0);
      assert.ok(Math.abs(outcome.completedPerSecond / perSecond - 1) < 0.05, `${millions} million`);
      assert.ok((outcome.utilization[0]?.share ?? 1) < 0.9, JSON.stringify(outcome.utilization));
      assert.deepEqual(plant, smallestDeployment(videosPerSecond, OPERATIONS));
    }
    assert.ok(perVideo(OPERATIONS, 'processUs') > 0 && perVideo(OPERATIONS, 'databaseUs') > 0);
  });
});
