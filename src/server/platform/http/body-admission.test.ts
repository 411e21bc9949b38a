import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { BodyAdmission, LARGE_BODY_BYTES } from './body.ts';

const BYTES = 2 * LARGE_BODY_BYTES;
const BOUNDS = { maxBytesPerAccount: BYTES, maxBytesInTotal: 2 * BYTES, graceMs: 20, minBytesPerMs: 1 };

function upload(account: string, bytes = BYTES) {
  const source = Object.assign(new PassThrough(), { socket: { bytesRead: 0 } });
  const response = new EventEmitter();
  const started = Promise.withResolvers<void>();
  const received = Promise.withResolvers<string>();
  return {
    source,
    response,
    started: started.promise,
    receive: received.resolve,
    request: { source, response, budgetKey: account, bytes },
    read: () => {
      started.resolve();
      return received.promise;
    },
  };
}

test('T66: a slow upload is aborted once others wait for its budget, and not before', async () => {
  const admission = new BodyAdmission(BOUNDS);
  const slow = upload('one');
  const outcome = admission.read(slow.request, slow.read).catch((error: unknown) => error);
  await slow.started;
  assert.equal(await Promise.race([outcome, nextTurn('going on')]), 'going on');
  const next = upload('one');
  const second = admission.read(next.request, next.read);
  assert.equal(((await outcome) as { code?: string }).code, 'request_timeout');
  slow.response.emit('finish');
  assert.ok(slow.source.destroyed);
  await next.started;
  next.receive('whole');
  assert.equal(await second, 'whole');
});

test('T66: a sufficiently fast upload continues although others wait', async () => {
  const admission = new BodyAdmission(BOUNDS);
  const fast = upload('one');
  const outcome = admission.read(fast.request, fast.read);
  await fast.started;
  const next = upload('one');
  const second = admission.read(next.request, next.read);
  fast.source.socket.bytesRead = 1e9;
  await new Promise((resolve) => setTimeout(resolve, 5 * BOUNDS.graceMs));
  fast.receive('whole');
  assert.equal(await outcome, 'whole');
  fast.response.emit('close');
  await next.started;
  next.receive('next');
  assert.equal(await second, 'next');
});

test('T61: the bodies of all accounts share a limit, and a finished one makes room', async () => {
  const admission = new BodyAdmission({ ...BOUNDS, graceMs: 60_000 });
  const [first, second, third] = [upload('one'), upload('two'), upload('three')];
  const reads = [first, second, third].map(({ request, read }) => admission.read(request, read));
  await Promise.all([first.started, second.started]);
  let isTaken = false;
  void third.started.then(() => {
    isTaken = true;
  });
  first.receive('one');
  assert.equal(await reads[0], 'one');
  assert.equal(isTaken, false, 'its handler still has what was read');
  first.response.emit('close');
  await third.started;
  second.receive('two');
  third.receive('three');
  assert.deepEqual(await Promise.all(reads), ['one', 'two', 'three']);
});

test('a waiting body is dropped with its connection, and small bodies never wait', async () => {
  const admission = new BodyAdmission({ ...BOUNDS, graceMs: 60_000 });
  const first = upload('one');
  const whole = admission.read(first.request, first.read);
  await first.started;
  const small = upload('one', 100);
  small.receive('small');
  assert.equal(await admission.read(small.request, small.read), 'small');
  const waiting = upload('one');
  const given = admission.read(waiting.request, waiting.read);
  waiting.source.destroy();
  await assert.rejects(given, { code: 'invalid_json' });
  first.receive('whole');
  assert.equal(await whole, 'whole');
});
