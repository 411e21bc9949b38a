import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { vendorCall, videoRequest } from '../../../test/vendor-call.ts';
import { OutboundError } from '../../server/platform/outbound/outbound.ts';
import { CouldNotAsk, type VideoRequest } from '../../server/video/vendor.ts';
import { seedance } from '../../server/video/vendors/seedance.ts';
import { handClock } from '../clock.ts';
import { startSandbox } from '../kit.ts';
import { seedance as simulator } from './seedance.ts';

const clock = handClock();
const speed = { queuedMs: 1_000, runningMs: 1_000 };
const sandbox = await startSandbox({ simulators: [simulator], clock, speed });
after(() => sandbox.stop());
const call = vendorCall(sandbox, 'seedance', { timeoutMs: 300 });
const model = 'doubao-seedance-1-5-pro-251215';

async function begin(request: Partial<VideoRequest>) {
  const outcome = await seedance.submit(videoRequest({ model, ...request }), call);
  assert.equal(outcome.kind, 'accepted', JSON.stringify(outcome));
  return outcome.kind === 'accepted' ? outcome.handle : null;
}

test('a task goes from the queue to a playable file', async () => {
  const handle = await begin({ size: '720x1280' });
  assert.equal((await seedance.query(handle, call)).state, 'QUEUED');
  clock.advance(1_000);
  assert.equal((await seedance.query(handle, call)).state, 'IN_PROGRESS');
  clock.advance(1_000);
  const done = await seedance.query(handle, call);
  assert.deepEqual([done.state, done.artifact?.kind], ['SUCCESS', 'url']);
  const source = await seedance.content(handle, done.raw, undefined, call);
  assert.ok(source.kind === 'fetch' && /tall\.mp4/.test(source.url) && !source.trusted);
  assert.equal(Buffer.from(await (await fetch(source.url)).arrayBuffer()).toString('latin1', 4, 8), 'ftyp');
});

test('every model works in each of its ways', async () => {
  for (const { id, images } of seedance.models) {
    for (let count = images.min; count <= images.max; count += 1) {
      const pictures = Array.from({ length: count }, (_, index) => index);
      await begin({
        model: id,
        images: pictures.map((index) => ({ kind: 'url', url: `https://pictures.example/${index}.png` })),
      });
    }
  }
});

for (const [marker, state] of [
  ['[fail]', 'FAILURE'],
  ['[filtered]', 'FAILURE'],
  ['[cancel]', 'FAILURE'],
  ['[expire]', 'FAILURE'],
  ['[vanish]', 'FAILURE'],
  ['[empty]', 'FAILURE'],
  ['[strange]', 'UNKNOWN'],
  ['[stuck]', 'IN_PROGRESS'],
] as const) {
  test(`a task that ends as ${marker} is ${state}`, async () => {
    const handle = await begin({ prompt: `a boat ${marker}` });
    clock.advance(10_000);
    assert.equal((await seedance.query(handle, call)).state, state);
  });
}

test('a wrong key, an unknown model and a wrong field are refused in the words of the vendor', async () => {
  const stranger = vendorCall(sandbox, 'seedance', { credentials: { api_key: 'other' } });
  const refusals = [
    [await seedance.submit(videoRequest({ model }), stranger), 'auth', 'AuthenticationError'],
    [await seedance.submit(videoRequest({ model: 'seedance-9' }), call), 'model', 'InvalidEndpointOrModel.NotFound'],
    [await seedance.submit(videoRequest({ model, metadata: { frames: 30 } }), call), 'user', 'InvalidParameter'],
  ] as const;
  for (const [outcome, reason, code] of refusals) {
    assert.ok(outcome.kind === 'refused');
    assert.deepEqual([outcome.error.reason, outcome.error.code], [reason, code]);
    assert.match(outcome.error.message, /Request id/);
  }
  assert.deepEqual([(await seedance.probe(call)).ok, (await seedance.probe(stranger)).ok], [true, false]);
});

test('a lost submit is ambiguous, a poll in the way of trouble is no answer', async () => {
  sandbox.control.fault({ vendor: 'seedance', operation: 'submit', kind: 'drop' });
  await assert.rejects(begin({}), (error) => error instanceof OutboundError && error.mayHaveArrived);
  const handle = await begin({});
  clock.advance(5_000);
  for (const kind of [
    'html',
    'empty',
    '429',
    '502',
    'unauthorized',
    'rate',
    'malformed',
    'wrong-types',
    'deep',
  ] as const) {
    sandbox.control.fault({ vendor: 'seedance', operation: 'query', kind });
    const outcome = await seedance.query(handle, call).catch((error: unknown) => error);
    assert.ok(outcome instanceof CouldNotAsk || outcome instanceof OutboundError, kind);
  }
  assert.equal((await seedance.query(handle, call)).state, 'SUCCESS');
});

test('a finished task is deleted', async () => {
  const handle = await begin({});
  clock.advance(5_000);
  await seedance.remove?.(handle, call);
  assert.equal((await seedance.query(handle, call)).error?.reason, 'missing');
});

test('what happens to a submit: refused to be asked elsewhere, refused for good, or ambiguous', async () => {
  for (const kind of [
    '429',
    '500',
    '502',
    '503',
    'rate',
    'concurrency',
    'overloaded',
    'billing',
    'unauthorized',
  ] as const) {
    sandbox.control.fault({ vendor: 'seedance', operation: 'submit', kind });
    const outcome = await seedance.submit(videoRequest({ model }), call);
    assert.ok(outcome.kind === 'refused' && outcome.error.retryable, kind);
  }
  for (const kind of ['policy', 'invalid'] as const) {
    sandbox.control.fault({ vendor: 'seedance', operation: 'submit', kind });
    const outcome = await seedance.submit(videoRequest({ model }), call);
    assert.ok(outcome.kind === 'refused' && !outcome.error.retryable, kind);
  }
  for (const kind of ['html', 'empty', 'drop', 'hang', 'truncated', 'malformed', 'wrong-types', 'deep'] as const) {
    sandbox.control.fault({ vendor: 'seedance', operation: 'submit', kind });
    const outcome = seedance.submit(videoRequest({ model }), call);
    await assert.rejects(outcome, (error) => error instanceof OutboundError && error.mayHaveArrived, kind);
  }
});
