import assert from 'node:assert/strict';
import { it } from 'node:test';
import { ReceiverConcurrencyLimits } from './dispatcher.ts';

const lanesTo = (host: string | undefined, count: number) =>
  Array.from({ length: count }, (_, index) => ({ lane: `endpoint:${index}`, host }));

/**
 * Starts the allotted deliveries.
 * @returns their number
 */
function begin(limits: ReceiverConcurrencyLimits, host: string | undefined, now: number): number {
  const allotted = limits
    .allot(lanesTo(host, 1_000), now)
    .flatMap(({ lane, count }) => Array<string>(count).fill(lane));
  for (const lane of allotted) limits.begin(lane, host);
  return allotted.length;
}

function endAll(limits: ReceiverConcurrencyLimits, host: string, count: number): void {
  for (let index = 0; index < count; index++) limits.end(`endpoint:${index}`, true, 0, host);
}

it('T101: a host gets at most 64 concurrent deliveries and 50 per second, however many endpoints name it', () => {
  const limits = new ReceiverConcurrencyLimits();
  assert.equal(begin(limits, 'victim.example', 0), 64);
  assert.equal(begin(limits, 'victim.example', 0), 0);
  assert.equal(begin(limits, 'other.example', 0), 64);
  endAll(limits, 'victim.example', 64);
  assert.equal(begin(limits, 'victim.example', 0), 36, 'what is left of a burst of 100');
  endAll(limits, 'victim.example', 36);
  assert.equal(begin(limits, 'victim.example', 0), 0);
  assert.equal(begin(limits, 'victim.example', 1_000), 50);
});

it('a host without limits gets as many as the process can send', () => {
  assert.equal(begin(new ReceiverConcurrencyLimits(), undefined, 0), 512);
});

it('a receiver gets the pause it requested although other deliveries to it end later', () => {
  const limits = new ReceiverConcurrencyLimits();
  assert.equal(limits.allot([{ lane: 'endpoint:1', host: undefined }], 0)[0]?.count, 2);
  limits.begin('endpoint:1');
  limits.begin('endpoint:1');
  limits.end('endpoint:1', false, 1_000);
  limits.end('endpoint:1', true);
  assert.deepEqual(limits.allot([{ lane: 'endpoint:1', host: undefined }], 999), []);
  assert.equal(limits.allot([{ lane: 'endpoint:1', host: undefined }], 1_000).length, 1);
});
