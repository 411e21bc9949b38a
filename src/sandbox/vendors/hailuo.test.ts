import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { vendorCall, videoRequest } from '../../../test/vendor-call.ts';
import { OutboundError } from '../../server/platform/outbound/outbound.ts';
import { CouldNotAsk, type VideoRequest } from '../../server/video/vendor.ts';
import { hailuo } from '../../server/video/vendors/hailuo.ts';
import { handClock } from '../clock.ts';
import { startSandbox } from '../kit.ts';
import { hailuo as simulator } from './hailuo.ts';

const clock = handClock();
const sandbox = await startSandbox({
  simulators: [simulator],
  clock,
  speed: { queuedMs: 1_000, runningMs: 1_000 },
});
after(() => sandbox.stop());
const call = vendorCall(sandbox, 'hailuo', { timeoutMs: 300 });

async function begin(request: Partial<VideoRequest>) {
  const outcome = await hailuo.submit(videoRequest({ model: 'MiniMax-Hailuo-02', ...request }), call);
  assert.equal(outcome.kind, 'accepted', JSON.stringify(outcome));
  return outcome.kind === 'accepted' ? outcome.handle : null;
}

for (const model of ['MiniMax-Hailuo-2.3', 'MiniMax-H3']) {
  test(`${model} goes from the queue to a playable file`, async () => {
    const handle = await begin({ model });
    assert.equal((await hailuo.query(handle, call)).state, 'QUEUED');
    clock.advance(1_000);
    assert.equal((await hailuo.query(handle, call)).state, 'IN_PROGRESS');
    clock.advance(1_000);
    const done = await hailuo.query(handle, call);
    assert.deepEqual([done.state, done.artifact?.kind], ['SUCCESS', 'url']);
    const source = await hailuo.content(done.handle ?? handle, done.raw, undefined, call);
    assert.ok(source.kind === 'fetch' && !source.trusted);
    const bytes = Buffer.from(await (await fetch(source.url)).arrayBuffer());
    assert.equal(bytes.toString('latin1', 4, 8), 'ftyp');
  });
}

test('every model works in each of its ways', async () => {
  const picture = { kind: 'url', url: 'https://pictures.example/a.png' } as const;
  for (const model of hailuo.models) {
    for (let count = model.images.min; count <= Math.min(2, model.images.max); count += 1) {
      const images = Array.from({ length: count }, () => picture);
      await begin({ model: model.id, images });
      if (model.resolutions.length > 1) await begin({ model: model.id, images, size: model.resolutions[1] ?? '' });
    }
  }
});

for (const [marker, state, code] of [
  ['[fail]', 'FAILURE', '1000'],
  ['[filtered]', 'FAILURE', '1027'],
  ['[cancel]', 'FAILURE', ''],
  ['[expire]', 'FAILURE', '1001'],
  ['[vanish]', 'FAILURE', '2013'],
  ['[empty]', 'FAILURE', ''],
  ['[strange]', 'UNKNOWN', undefined],
  ['[stuck]', 'IN_PROGRESS', undefined],
] as const) {
  test(`a job that ends as ${marker} is ${state}`, async () => {
    for (const model of ['MiniMax-Hailuo-02', 'MiniMax-H3']) {
      const handle = await begin({ model, prompt: `a boat ${marker}` });
      clock.advance(10_000);
      const outcome = await hailuo.query(handle, call);
      assert.equal(outcome.state, state, model);
      if (model !== 'MiniMax-H3') assert.equal(outcome.error?.code, code);
    }
  });
}

test('a wrong key is told by its number, with HTTP 200, or by 401 in the second protocol', async () => {
  for (const [api_key, model, code] of [
    ['nonsense', 'MiniMax-Hailuo-02', '1004'],
    ['sk-other', 'MiniMax-Hailuo-02', '2049'],
    ['sk-other', 'MiniMax-H3', '1004'],
  ] as const) {
    const stranger = vendorCall(sandbox, 'hailuo', { credentials: { api_key } });
    const outcome = await hailuo.submit(videoRequest({ model }), stranger);
    assert.ok(outcome.kind === 'refused');
    assert.deepEqual([outcome.error.reason, outcome.error.code], ['auth', code]);
    assert.equal((await hailuo.probe(stranger)).ok, false);
  }
  assert.deepEqual(await hailuo.probe(call), { ok: true });
});

test('the limits of the vendor are refused in its words', async () => {
  for (const metadata of [{ resolution: '4K' }, { first_frame_image: 'no picture' }]) {
    const outcome = await hailuo.submit(videoRequest({ model: 'MiniMax-Hailuo-02', metadata }), call);
    assert.ok(outcome.kind === 'refused' && /^invalid params/.test(outcome.error.message));
    assert.equal(outcome.error.retryable, false);
  }
});

test('a lost submit is ambiguous, a poll in the way of trouble is no answer, the file is asked for again', async () => {
  sandbox.control.fault({ vendor: 'hailuo', operation: 'submit', kind: 'drop' });
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
    sandbox.control.fault({ vendor: 'hailuo', operation: 'query', kind });
    const outcome = await hailuo.query(handle, call).catch((error: unknown) => error);
    const isNothing = outcome instanceof CouldNotAsk || outcome instanceof OutboundError;
    assert.ok(isNothing || (outcome as { state: string }).state === 'UNKNOWN', kind);
  }
  sandbox.control.fault({ vendor: 'hailuo', operation: 'other', kind: '503' });
  await assert.rejects(hailuo.query(handle, call), CouldNotAsk);
  assert.equal((await hailuo.query(handle, call)).state, 'SUCCESS');
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
    sandbox.control.fault({ vendor: 'hailuo', operation: 'submit', kind });
    const outcome = await hailuo.submit(videoRequest({ model: 'MiniMax-Hailuo-02' }), call);
    assert.ok(outcome.kind === 'refused' && outcome.error.retryable, kind);
  }
  for (const kind of ['policy', 'invalid'] as const) {
    sandbox.control.fault({ vendor: 'hailuo', operation: 'submit', kind });
    const outcome = await hailuo.submit(videoRequest({ model: 'MiniMax-Hailuo-02' }), call);
    assert.ok(outcome.kind === 'refused' && !outcome.error.retryable, kind);
  }
  for (const kind of ['html', 'empty', 'drop', 'hang', 'truncated', 'malformed', 'wrong-types', 'deep'] as const) {
    sandbox.control.fault({ vendor: 'hailuo', operation: 'submit', kind });
    const outcome = hailuo.submit(videoRequest({ model: 'MiniMax-Hailuo-02' }), call);
    await assert.rejects(outcome, (error) => error instanceof OutboundError && error.mayHaveArrived, kind);
  }
});
