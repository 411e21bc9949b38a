import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { vendorCall, videoRequest } from '../../../test/vendor-call.ts';
import { OutboundError } from '../../server/platform/outbound/outbound.ts';
import { CouldNotAsk, type VideoRequest } from '../../server/video/vendor.ts';
import { wan } from '../../server/video/vendors/wan.ts';
import { handClock } from '../clock.ts';
import { startSandbox } from '../kit.ts';
import { wan as simulator } from './wan.ts';

const clock = handClock();
const speed = { queuedMs: 1_000, runningMs: 1_000 };
const sandbox = await startSandbox({ simulators: [simulator], clock, speed });
after(() => sandbox.stop());
const call = vendorCall(sandbox, 'wan', { timeoutMs: 300 });
const model = 'wan2.5-t2v-preview';

async function begin(request: Partial<VideoRequest>) {
  const outcome = await wan.submit(videoRequest({ model, ...request }), call);
  assert.equal(outcome.kind, 'accepted', JSON.stringify(outcome));
  return outcome.kind === 'accepted' ? outcome.handle : null;
}

test('a task goes from the queue to a playable file', async () => {
  const handle = await begin({ size: '720x1280' });
  assert.equal((await wan.query(handle, call)).state, 'QUEUED');
  clock.advance(1_000);
  assert.equal((await wan.query(handle, call)).state, 'IN_PROGRESS');
  clock.advance(1_000);
  const done = await wan.query(handle, call);
  assert.deepEqual([done.state, done.artifact?.kind], ['SUCCESS', 'url']);
  const source = await wan.content(handle, done.raw, undefined, call);
  assert.ok(source.kind === 'fetch' && /tall\.mp4/.test(source.url) && !source.trusted);
  assert.equal(Buffer.from(await (await fetch(source.url)).arrayBuffer()).toString('latin1', 4, 8), 'ftyp');
});

test('every model works in each of its ways, to the end', async () => {
  for (const { id, images, sizes } of wan.models) {
    for (let count = images.min; count <= images.max; count += 1) {
      for (const size of [undefined, sizes.at(-1)]) {
        const handle = await begin({
          model: id,
          images: Array.from({ length: count }, (_, index) => ({
            kind: 'url',
            url: `https://pictures.example/${index}.png`,
          })),
          ...(size === undefined ? {} : { size }),
        });
        clock.advance(2_000);
        const { state, error } = await wan.query(handle, call);
        assert.equal(state, 'SUCCESS', `${id} with ${count} pictures at ${size}: ${error?.message}`);
      }
    }
  }
});

test('what the vendor does not look at when it accepts, it fails for later', async () => {
  const handle = await begin({ extra: [{ path: 'parameters.duration', value: 7 }] });
  clock.advance(2_000);
  const { state, error } = await wan.query(handle, call);
  assert.deepEqual(
    [state, error?.code, error?.message],
    ['FAILURE', 'InvalidParameter', 'duration customization is not supported'],
  );
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
    assert.equal((await wan.query(handle, call)).state, state);
  });
}

test('a wrong key, an unknown model and a synchronous call are refused in the words of the vendor', async () => {
  const stranger = vendorCall(sandbox, 'wan', { credentials: { api_key: 'other' } });
  const refusals = [
    [await wan.submit(videoRequest({ model }), stranger), 'auth', 'InvalidApiKey'],
    [await wan.submit(videoRequest({ model: 'wan9-t2v', images: [] }), call), 'model', 'ModelNotFound'],
  ] as const;
  for (const [outcome, reason, code] of refusals) {
    assert.ok(outcome.kind === 'refused');
    assert.deepEqual([outcome.error.reason, outcome.error.code], [reason, code]);
  }
  assert.deepEqual([(await wan.probe(call)).ok, (await wan.probe(stranger)).ok], [true, false]);
  const answer = await fetch(`${sandbox.url('wan')}/api/v1/services/aigc/video-generation/video-synthesis`, {
    method: 'POST',
    headers: { authorization: `Bearer ${String(sandbox.credentials('wan').api_key)}` },
    body: '{}',
  });
  assert.deepEqual([answer.status, ((await answer.json()) as { code: string }).code], [403, 'AccessDenied']);
});

test('a lost submit is ambiguous, a poll in the way of trouble is no answer', async () => {
  sandbox.control.fault({ vendor: 'wan', operation: 'submit', kind: 'drop' });
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
    sandbox.control.fault({ vendor: 'wan', operation: 'query', kind });
    const outcome = await wan.query(handle, call).catch((error: unknown) => error);
    const isNothing = outcome instanceof CouldNotAsk || outcome instanceof OutboundError;
    assert.ok(isNothing || (outcome as { state: string }).state === 'UNKNOWN', kind);
  }
  assert.equal((await wan.query(handle, call)).state, 'SUCCESS');
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
    sandbox.control.fault({ vendor: 'wan', operation: 'submit', kind });
    const outcome = await wan.submit(videoRequest({ model }), call);
    assert.ok(outcome.kind === 'refused' && outcome.error.retryable, kind);
  }
  for (const kind of ['policy', 'invalid'] as const) {
    sandbox.control.fault({ vendor: 'wan', operation: 'submit', kind });
    const outcome = await wan.submit(videoRequest({ model }), call);
    assert.ok(outcome.kind === 'refused' && !outcome.error.retryable, kind);
  }
  for (const kind of ['html', 'empty', 'drop', 'hang', 'truncated', 'malformed', 'wrong-types', 'deep'] as const) {
    sandbox.control.fault({ vendor: 'wan', operation: 'submit', kind });
    const outcome = wan.submit(videoRequest({ model }), call);
    await assert.rejects(outcome, (error) => error instanceof OutboundError && error.mayHaveArrived, kind);
  }
});
