import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { manualClock } from '../../src/sandbox/jobs.ts';
import { startSandbox } from '../../src/sandbox/sandbox.ts';
import type { Simulator } from '../../src/sandbox/simulator.ts';
import { OutboundError } from '../../src/server/platform/outbound/outbound.ts';
import { PollFailed } from '../../src/server/upstreams/upstream.ts';
import type { Json, QueryOutcome, VendorAdapter, VideoRequest } from '../../src/server/vendors/adapter.ts';
import { sandboxContext, videoRequest } from './adapter-context.ts';

interface SimulatorCase {
  readonly vendor: VendorAdapter;
  readonly simulator: Simulator;
  /** One model per protocol that the simulator speaks. */
  readonly models: readonly [string, ...string[]];
  /** A portrait frame in the vendor's notation, if the file then has that shape. */
  readonly portrait?: string;
}

const OUTCOMES = [
  ['[fail]', 'FAILURE'],
  ['[filtered]', 'FAILURE'],
  ['[cancel]', 'FAILURE'],
  ['[expire]', 'FAILURE'],
  ['[vanish]', 'FAILURE'],
  ['[empty]', 'FAILURE'],
  ['[strange]', 'UNKNOWN'],
  ['[stuck]', 'IN_PROGRESS'],
] as const;

const RETRYABLE = ['429', '500', '502', '503', 'rate', 'concurrency', 'overloaded', 'billing', 'unauthorized'] as const;
const FINAL = ['policy', 'invalid'] as const;
const AMBIGUOUS = ['html', 'empty', 'drop', 'hang', 'truncated', 'malformed', 'wrong-types', 'deep'] as const;
const UNINFORMATIVE = [
  ...(['html', 'empty', '429', '502', 'unauthorized', 'rate', 'malformed', 'wrong-types', 'deep'] as const),
];
const mayHaveArrived = (error: unknown): boolean => error instanceof OutboundError && error.mayHaveArrived;

/**
 * The script that every simulator runs with its adapter: a task from submit to file, each way a task can end, and each
 * fault at submit and poll. Registers the tests and returns the fixtures for further tests of the vendor.
 */
export async function testSimulator({ vendor, simulator, models, portrait }: SimulatorCase) {
  const { name } = simulator;
  const [model] = models;
  const clock = manualClock();
  const timing = { queuedMs: 1_000, runningMs: 1_000 };
  const sandbox = await startSandbox({ simulators: [simulator], clock, timing });
  after(() => sandbox.stop());
  const context = sandboxContext(sandbox, name, { timeoutMs: 20_000 });
  /** For the single fault that only ends by timing out. */
  const impatient = sandboxContext(sandbox, name, { timeoutMs: 300 });

  async function submit(request: Partial<VideoRequest> = {}): Promise<Json> {
    const outcome = await vendor.submit(videoRequest({ model, ...request }), context);
    assert.ok(outcome.kind === 'accepted', JSON.stringify(outcome));
    return outcome.handle;
  }
  const query = (handle: Json): Promise<QueryOutcome> => vendor.query(handle, context);

  for (const each of models) {
    test(`${each} goes from queued to a playable file`, async () => {
      const handle = await submit(portrait === undefined ? { model: each } : { model: each, size: portrait });
      assert.equal((await query(handle)).state, 'QUEUED');
      clock.advance(1_000);
      assert.equal((await query(handle)).state, 'IN_PROGRESS');
      clock.advance(1_000);
      const done = await query(handle);
      assert.deepEqual([done.state, done.artifact?.kind], ['SUCCESS', 'url']);
      const source = await vendor.content(done.handle ?? handle, done.raw, undefined, context);
      assert.ok(source.kind === 'fetch' && !source.trusted);
      if (portrait !== undefined) assert.match(source.url, /-tall/);
      const bytes = Buffer.from(await (await fetch(source.url)).arrayBuffer());
      assert.equal(bytes.toString('latin1', 4, 8), 'ftyp');
    });
  }

  for (const [marker, state] of OUTCOMES) {
    test(`a task that ends as ${marker} is ${state}`, async () => {
      for (const each of models) {
        const handle = await submit({ model: each, prompt: `a boat ${marker}` });
        clock.advance(10_000);
        assert.equal((await query(handle)).state, state, each);
      }
    });
  }

  test('a lost submit is ambiguous, and a failed poll says nothing about the task', async () => {
    sandbox.control.fault({ vendor: name, operation: 'submit', kind: 'drop' });
    await assert.rejects(submit(), mayHaveArrived);
    const handle = await submit();
    clock.advance(5_000);
    for (const kind of UNINFORMATIVE) {
      sandbox.control.fault({ vendor: name, operation: 'query', kind });
      const outcome = await query(handle).catch((error: unknown) => error);
      const isFailure = outcome instanceof PollFailed || outcome instanceof OutboundError;
      assert.ok(isFailure || (outcome as QueryOutcome).state === 'UNKNOWN', kind);
    }
    assert.equal((await query(handle)).state, 'SUCCESS');
  });

  test('a failed submit is retried elsewhere, refused for good, or ambiguous', async () => {
    const submitFaulty = (kind: (typeof RETRYABLE | typeof FINAL | typeof AMBIGUOUS)[number]) => {
      sandbox.control.fault({ vendor: name, operation: 'submit', kind });
      return vendor.submit(videoRequest({ model }), kind === 'hang' ? impatient : context);
    };
    for (const kind of [...RETRYABLE, ...FINAL]) {
      const outcome = await submitFaulty(kind);
      const isRetryable = (RETRYABLE as readonly string[]).includes(kind);
      assert.ok(outcome.kind === 'refused' && outcome.error.retryable === isRetryable, kind);
    }
    for (const kind of AMBIGUOUS) await assert.rejects(submitFaulty(kind), mayHaveArrived, kind);
  });

  return { clock, sandbox, context, submit, query };
}

/** This many images by URL, all different. */
export const imagesByUrl = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ url: `https://images.example/${index}.png` }) as const);
