import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { calculate, chooseSmallestDeployment, OPERATIONS, perVideo } from '../../bench/capacity-model.ts';
import { type Deployment, type Operation, simulateQueues } from '../../bench/scale/queueing-simulation.ts';
import { SimulatedEventQueue } from '../../bench/scale/simulated-event-queue.ts';
import { seededRandom } from '../seeded-random.ts';

const QUERY: Operation = { name: 'query', perVideo: 1, processUs: 0, databaseUs: 1_000, walBytes: 0 };
const PLANT: Deployment = { processes: 1, databases: 1, coresPerDatabase: 1, flushMs: 2, logMbPerSecond: 100 };
const run = (perSecond: number, operation: Operation, plant = PLANT, seconds = 400) =>
  simulateQueues(perSecond, [operation], plant, { seconds, random: seededRandom(7) });

describe('the model of scale', () => {
  it('hands events out in their order', () => {
    const events = new SimulatedEventQueue<number>();
    const random = seededRandom(1);
    const times = Array.from({ length: 1_000 }, () => Math.floor(random() * 100));
    for (const time of times) events.push(time, time);
    const got = times.map(() => events.pop()?.value);
    assert.deepEqual(
      got,
      times.toSorted((one, other) => one - other),
    );
    assert.equal(events.pop(), undefined);
  });

  it('waits at one core as long as queueing theory says (M/M/1: the median of the time there is ln 2 / (rate left))', () => {
    const { latency, utilization, completedPerSecond } = run(500, QUERY);
    const { p50 = 0, p99 = 0 } = latency.get('query') ?? {};
    assert.ok(Math.abs(p50 / (1_000 * (Math.LN2 / 500)) - 1) < 0.05, `p50 ${p50} ms`);
    assert.ok(Math.abs(p99 / (1_000 * (Math.log(100) / 500)) - 1) < 0.1, `p99 ${p99} ms`);
    assert.ok(Math.abs(completedPerSecond / 500 - 1) < 0.02);
    const [busiest] = utilization;
    assert.equal(busiest?.station, 'database cores');
    assert.ok(Math.abs((busiest?.share ?? 0) - 0.5) < 0.02);
  });

  it('completes no more than the cores can do', () => {
    const { completedPerSecond } = run(3_000, QUERY, PLANT, 60);
    assert.ok(Math.abs(completedPerSecond / 1_000 - 1) < 0.03, `${completedPerSecond} a second`);
  });

  it('lets writes share a flush of the log', () => {
    const write: Operation = { ...QUERY, databaseUs: 1, walBytes: 100 };
    const { completedPerSecond, latency } = run(5_000, write, PLANT, 20);
    assert.ok(Math.abs(completedPerSecond / 5_000 - 1) < 0.02, 'ten times as many writes as flushes');
    const { p50 = 0 } = latency.get('query') ?? {};
    assert.ok(p50 > 2 && p50 < 4.5, `a flush and part of the one before: ${p50} ms`);
  });

  it('dimensions 1, 10 and 100 million videos a day so that nothing is above its capacity', () => {
    for (const millions of [1, 10, 100]) {
      const { videosPerSecond, plant, outcome } = calculate(millions, OPERATIONS, 30_000);
      const perSecond = videosPerSecond * OPERATIONS.reduce((sum, each) => sum + each.perVideo, 0);
      assert.ok(Math.abs(outcome.completedPerSecond / perSecond - 1) < 0.05, `${millions} million`);
      assert.ok((outcome.utilization[0]?.share ?? 1) < 0.9, JSON.stringify(outcome.utilization));
      assert.deepEqual(plant, chooseSmallestDeployment(videosPerSecond, OPERATIONS));
    }
    assert.ok(perVideo(OPERATIONS, 'processUs') > 0 && perVideo(OPERATIONS, 'databaseUs') > 0);
  });
});
