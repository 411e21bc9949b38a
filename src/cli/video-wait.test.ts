import assert from 'node:assert/strict';
import { test } from 'node:test';
import { render } from './output.ts';
import { formatProgressLine } from './video-wait.ts';

test('the progress line shows measured times, and a percentage only if the vendor measured it', () => {
  const typical = { model: 'm', p50_seconds: 60, p90_seconds: 120, samples: 20 };
  const video = { id: 'v', status: 'in_progress', progress: 30, model: 'm', created_at: 0 } as const;
  const plain = (elapsed: number, known: typeof typical | undefined, progress = 30) =>
    render(formatProgressLine({ ...video, progress }, elapsed, known), { isTerminal: true, hasColor: false });
  assert.equal(plain(30, typical), 'in progress  █████░░░░░░░░░░░░░░░  0:30  about 30 seconds left');
  assert.match(plain(90, typical), /1:30 {2}almost done$/);
  assert.match(plain(180, typical), /█{19}░ {2}3:00 {2}slower than usual$/);
  assert.equal(plain(65, undefined), 'in progress  1:05');
  assert.equal(plain(5, undefined, 50), 'in progress 50%  ██████████░░░░░░░░░░  0:05');
});
