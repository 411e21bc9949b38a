import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { seededRandom } from '../../../test/seeded-random.ts';
import { forecastStarts } from './task-queue.ts';

/** Starts of waiting videos in a lane whose durations are drawn from `draw`, in milliseconds. */
function simulate(slots: number, ages: readonly number[], waiting: number, draw: () => number): number[] {
  const ends = ages.map((age) => {
    let duration = draw();
    while (duration <= age) duration = draw();
    return duration - age;
  });
  while (ends.length < slots) ends.push(0);
  return Array.from({ length: waiting }, () => {
    ends.sort((one, other) => one - other);
    const start = ends[0] ?? 0;
    ends[0] = start + draw();
    return start;
  });
}

describe('forecast of starts', () => {
  it('nine in ten videos start within p90, half within p50, whatever the durations', () => {
    const random = seededRandom(20261128);
    const normal = (): number => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
    const kinds: Readonly<Record<string, () => number>> = {
      even: () => 60_000 + 60_000 * random(),
      skewed: () => Math.exp(Math.log(90_000) + 0.5 * normal()),
      twofold: () => (random() < 0.8 ? 40_000 : 300_000) * (0.8 + 0.4 * random()),
    };
    for (const [name, draw] of Object.entries(kinds)) {
      let [within50, within90, all] = [0, 0, 0];
      for (let run = 0; run < 60; run++) {
        const slots = 1 + Math.floor(random() * 8);
        const waiting = 1 + Math.floor(random() * 60);
        const ages = Array.from({ length: slots }, () => 30_000 * random());
        const durations = Array.from({ length: 100 }, draw);
        const forecasts = forecastStarts({ slots, ages, durations, waiting }, random);
        for (const [index, start] of simulate(slots, ages, waiting, draw).entries()) {
          all += 1;
          if (start <= (forecasts[index]?.p50 ?? 0)) within50 += 1;
          if (start <= (forecasts[index]?.p90 ?? 0)) within90 += 1;
        }
      }
      const [half, most] = [within50 / all, within90 / all];
      assert.ok(most >= 0.85 && most <= 0.95, `${name}: ${most} within p90`);
      assert.ok(half >= 0.35 && half <= 0.65, `${name}: ${half} within p50`);
    }
  });

  it('is one for each waiting video, in order, also beyond the simulated ones', () => {
    const durations = [60_000, 90_000, 120_000];
    const forecasts = forecastStarts({ slots: 2, ages: [0, 0], durations, waiting: 1_000 }, seededRandom(1));
    assert.equal(forecasts.length, 1_000);
    for (const [index, { p50, p90 }] of forecasts.entries()) {
      assert.ok(p90 >= p50);
      assert.ok(index === 0 || p50 >= (forecasts[index - 1]?.p50 ?? 0), String(index));
    }
    // 1,000 videos of 90 s on two slots.
    assert.ok(Math.abs((forecasts[999]?.p50 ?? 0) / 45_000_000 - 1) < 0.1);
  });

  it('exists without any finished video, and is immediate where slots are free', () => {
    const [first] = forecastStarts({ slots: 1, ages: [5_000], durations: [], waiting: 1 }, seededRandom(2));
    assert.ok(first !== undefined && first.p50 > 0);
    const free = forecastStarts({ slots: 2, ages: [], durations: [60_000], waiting: 2 }, seededRandom(3));
    assert.deepEqual(free, [
      { p50: 0, p90: 0 },
      { p50: 0, p90: 0 },
    ]);
  });
});
