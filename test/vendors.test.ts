import assert from 'node:assert/strict';
import { after, afterEach, before, suite, test } from 'node:test';
import { VENDORS } from '../src/contract/states.ts';
import { handClock } from '../src/sandbox/clock.ts';
import type { FaultKind } from '../src/sandbox/faults.ts';
import { type Sandbox, startSandbox } from '../src/sandbox/kit.ts';
import type { Problem } from '../src/sandbox/simulator.ts';
import { OutboundError } from '../src/server/platform/outbound/outbound.ts';
import {
  CouldNotAsk,
  type ErrorReason,
  type Json,
  type QueryOutcome,
  type SubmitOutcome,
  type VideoRequest,
} from '../src/server/video/vendor.ts';
import { type CallOptions, vendorCall, videoRequest } from './vendor-call.ts';
import { hailuoRow } from './vendors/hailuo.ts';
import { jimengRow } from './vendors/jimeng.ts';
import { klingRow } from './vendors/kling.ts';
import type { Sent, VendorRow } from './vendors/row.ts';
import { seedanceRow } from './vendors/seedance.ts';
import { soraRow } from './vendors/sora.ts';
import { veoRow, veoVertexRow } from './vendors/veo.ts';
import { viduRow } from './vendors/vidu.ts';
import { wanRow } from './vendors/wan.ts';

/** One contract that every vendor passes: the same script, line by line, against its simulator. */
const ROWS: readonly VendorRow[] = [
  klingRow,
  jimengRow,
  hailuoRow,
  seedanceRow,
  wanRow,
  veoRow,
  veoVertexRow,
  viduRow,
  soraRow,
];

/** What a refused submit means, and whether another channel is asked, unless the row says otherwise. */
const REASONS: Readonly<Record<Exclude<Problem, 'not_found'>, ErrorReason>> = {
  unauthorized: 'auth',
  forbidden: 'auth',
  billing: 'billing',
  model: 'model',
  rate: 'rate',
  concurrency: 'rate',
  overloaded: 'capacity',
  broken: 'capacity',
  timeout: 'capacity',
  policy: 'policy',
  invalid: 'user',
};
const ENDS_HERE: readonly ErrorReason[] = ['user', 'policy', 'missing', 'other'];

/** Answers to a submit after which a job may exist: they are thrown as lost, never told as a refusal. */
const AMBIGUOUS: readonly FaultKind[] = [
  'html',
  'empty',
  'malformed',
  'truncated',
  'drop',
  'hang',
  'hang-after',
  'wrong-types',
  'deep',
];

/** Answers to a poll that say nothing about the task. */
const SILENT: readonly FaultKind[] = [
  ...(['401', '403', '429', '500', '502', '503', '504', 'rate', 'overloaded'] as const),
  ...(['html', 'empty', 'malformed', 'truncated', 'drop', 'reset', 'hang', 'deep'] as const),
];

const CANARY = 'canary.example';
const SMUGGLED = {
  base_url: `https://${CANARY}`,
  api_base: `https://${CANARY}`,
  host: CANARY,
  key: CANARY,
  callback_url: `https://${CANARY}`,
};

/** The value with unknown keys that name a host in every object, at every depth. */
function smuggle(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(smuggle);
  if (typeof value !== 'object' || value === null) return value;
  const inner = Object.entries(value).map(([key, child]) => [key, smuggle(child)] as const);
  return { ...SMUGGLED, ...Object.fromEntries(inner), nested: { ...SMUGGLED, deeper: [{ ...SMUGGLED }] } };
}

/** Every text of the credentials whose name says that it is a secret. */
const secretsOf = (value: unknown, name = ''): string[] =>
  typeof value === 'object' && value !== null
    ? Object.entries(value).flatMap(([key, inner]) => secretsOf(inner, key))
    : typeof value === 'string' && /key|secret/.test(name)
      ? [value]
      : [];

const isLost = (error: unknown): boolean => error instanceof OutboundError && error.mayHaveArrived;
const isSilence = (error: unknown): boolean => error instanceof CouldNotAsk || error instanceof OutboundError;

test('every vendor has a row', () => {
  assert.deepEqual(new Set(ROWS.map(({ vendor }) => vendor.name)), new Set(VENDORS));
});

let taskCount = 0;

for (const row of ROWS) {
  suite(`${row.vendor.title} by ${row.simulator.name}`, () => {
    const { vendor } = row;
    const { name } = row.simulator;
    const clock = handClock();
    let sandbox: Sandbox;
    before(async () => {
      sandbox = await startSandbox({
        simulators: [row.simulator],
        clock,
        speed: { queuedMs: 1_000, runningMs: 1_000 },
      });
    });
    after(() => sandbox.stop());
    afterEach(() => {
      sandbox.control.clearFaults();
      sandbox.control.clearRequests();
    });

    const call = (options: CallOptions = {}) => vendorCall(sandbox, name, options);
    const toRequest = (request: Partial<VideoRequest> = {}): VideoRequest => {
      taskCount += 1;
      return videoRequest({ model: row.model, taskId: `task_${String(taskCount).padStart(32, '0')}`, ...request });
    };
    const submit = (request: Partial<VideoRequest> = {}, options: CallOptions = {}) =>
      vendor.submit(toRequest(request), call(options));
    const accepted = (outcome: SubmitOutcome) => {
      assert.ok(outcome.kind === 'accepted', JSON.stringify(outcome));
      return outcome;
    };
    const begin = async (prompt: string): Promise<Json> => accepted(await submit({ prompt })).handle;
    const look = (handle: Json) => vendor.query(handle, call());
    const sentBody = (): unknown =>
      JSON.parse(sandbox.control.requests({ vendor: name, operation: 'submit' }).at(-1)?.body.toString() ?? '');

    /** Looks until the task has ended, a minute apart; gives up where it does not. */
    async function lookToTheEnd(first: Json): Promise<QueryOutcome> {
      let handle = first;
      for (let looks = 0; looks < 6; looks += 1) {
        clock.advance(60_000);
        const outcome = await look(handle);
        if (outcome.state === 'SUCCESS' || outcome.state === 'FAILURE') return outcome;
        handle = outcome.handle ?? handle;
      }
      return assert.fail('the task did not end');
    }

    async function sends(sent: Sent): Promise<void> {
      const request = toRequest(sent.request);
      accepted(await vendor.submit(request, call()));
      assert.deepEqual(sentBody(), sent.body(request.taskId));
    }

    test('text becomes the vendor’s own body', () => sends(row.text));
    test('pictures become the vendor’s own body', () => sends(row.image));

    test('known metadata passes, unknown keys never do, at any depth', async () => {
      const metadata = smuggle(row.metadata.request.metadata) as VideoRequest['metadata'];
      await sends({ ...row.metadata, request: { ...row.metadata.request, metadata } });
      for (const { path, headers, body } of sandbox.control.requests()) {
        assert.ok(!`${path}${JSON.stringify(headers)}${body.toString()}`.includes(CANARY));
      }
    });

    test('arguments of the media schema arrive at their dotted paths', async () => {
      await submit({ extra: [{ path: 'contract.depth', value: 7 }] }).catch(() => undefined);
      assert.equal((sentBody() as { contract?: { depth?: number } }).contract?.depth, 7);
    });

    test('a job waits, runs and succeeds, and its video can be played', async () => {
      const { handle, upstreamId } = accepted(await submit(row.text.request));
      assert.match(upstreamId, /^[\x21-\x7e]{1,255}$/);
      assert.equal((await look(handle)).state, row.waits);
      clock.advance(1_500);
      assert.equal((await look(handle)).state, 'IN_PROGRESS');
      clock.advance(1_000);
      const done = await look(handle);
      assert.equal(done.state, 'SUCCESS');
      const kept = done.handle ?? handle;
      const source = await vendor.content(kept, done.raw, undefined, call());
      const bytes =
        source.kind === 'bytes'
          ? source.bytes
          : Buffer.from(await (await fetch(source.url, { headers: source.headers })).arrayBuffer());
      assert.equal(bytes.toString('latin1', 4, 8), 'ftyp');
    });

    test('nothing that is stored holds a secret', async () => {
      const secrets = secretsOf(sandbox.credentials(name));
      const outcome = accepted(await submit());
      clock.advance(5_000);
      const stored = JSON.stringify([outcome, await look(outcome.handle)]);
      assert.ok(secrets.length > 0);
      for (const secret of secrets) assert.ok(!stored.includes(secret), secret.slice(0, 4));
    });

    for (const end of ['fail', 'filtered', 'expire', 'cancel', 'vanish', 'empty'] as const) {
      if (end === 'empty' && row.filesAreUnseen) continue;
      test(`a job that ends by "${end}" is a failure with a reason`, async () => {
        const { state, error } = await lookToTheEnd(await begin(`[${end}]`));
        assert.equal(state, 'FAILURE');
        assert.ok(error && error.message.length > 3, JSON.stringify(error));
        assert.equal(error.retryable, false);
      });
    }

    test('an unknown word of the vendor is UNKNOWN', async () => {
      const handle = await begin('[strange]');
      clock.advance(5_000);
      assert.equal((await look(handle)).state, 'UNKNOWN');
    });

    for (const [problem, usual] of Object.entries(REASONS) as [keyof typeof REASONS, ErrorReason][]) {
      const reason = row.reasons?.[problem] ?? usual;
      test(`a submit refused for "${problem}" is ${reason}`, async () => {
        sandbox.control.fault({ vendor: name, operation: 'submit', kind: problem, times: Infinity });
        const outcome = await submit();
        assert.ok(outcome.kind === 'refused', JSON.stringify(outcome));
        assert.equal(outcome.error.reason, reason);
        assert.equal(outcome.error.retryable, !ENDS_HERE.includes(reason));
        assert.ok(outcome.error.message.length > 3);
      });
    }

    for (const kind of ['429', '500', '502', '503', '504'] as const) {
      test(`HTTP ${kind} at a submit sends it to another channel`, async () => {
        sandbox.control.fault({ vendor: name, operation: 'submit', kind, retryAfter: '7' });
        const outcome = await submit();
        assert.ok(outcome.kind === 'refused' && outcome.error.retryable, JSON.stringify(outcome));
      });
    }

    for (const kind of AMBIGUOUS) {
      test(`a submit answered by "${kind}" is ambiguous`, async () => {
        sandbox.control.fault({ vendor: name, operation: 'submit', kind });
        const timeoutMs = kind.startsWith('hang') ? 250 : 2_000;
        await assert.rejects(submit({}, { timeoutMs }), isLost);
        assert.equal(sandbox.control.requests({ operation: 'submit' }).length, 1, 'it is sent once');
      });
    }

    test('a poll that says nothing is thrown, and the job lives on', async () => {
      const handle = await begin('A lighthouse');
      for (const kind of SILENT) {
        const fault = sandbox.control.fault({ vendor: name, operation: 'query', kind, times: Infinity });
        const polled = vendor.query(handle, call({ timeoutMs: kind === 'hang' ? 250 : 2_000 }));
        await assert.rejects(polled, isSilence, kind);
        fault.remove();
      }
      clock.advance(5_000);
      assert.equal((await look(handle)).state, 'SUCCESS');
    });

    test('a poll of wrong types ends nothing', async () => {
      const handle = await begin('A lighthouse');
      sandbox.control.fault({ vendor: name, operation: 'query', kind: 'wrong-types' });
      const outcome = await look(handle).catch((error: unknown) => error);
      assert.ok(isSilence(outcome) || (outcome as QueryOutcome).state === 'UNKNOWN', JSON.stringify(outcome));
    });

    test('wrong credentials are the channel’s fault, at every question', async () => {
      const handle = await begin('A lighthouse');
      const wrong = { credentials: row.wrongCredentials };
      const refused = await submit({}, wrong);
      assert.ok(refused.kind === 'refused' && refused.error.reason === 'auth' && refused.error.retryable);
      await assert.rejects(vendor.query(handle, call(wrong)), CouldNotAsk);
      const probed = await vendor.probe(call(wrong));
      assert.ok(!probed.ok && probed.error.reason === 'auth', JSON.stringify(probed));
      assert.deepEqual(await vendor.probe(call()), { ok: true });
    });

    test('a lost submit is found again where the vendor offers that, and nothing else is', async () => {
      if (!vendor.lookup) return;
      const request = toRequest();
      sandbox.control.fault({ vendor: name, operation: 'submit', kind: 'drop' });
      await assert.rejects(vendor.submit(request, call()), isLost);
      const hint = vendor.lookupHint?.(request) ?? null;
      assert.equal(await vendor.lookup({ taskId: 'task_of_nobody', hint }, call()), undefined);
      const handle = await vendor.lookup({ taskId: request.taskId, hint }, call());
      assert.ok(handle !== undefined);
      clock.advance(5_000);
      assert.equal((await look(handle)).state, 'SUCCESS');
    });

    test('every request has a price, and every model one to begin with', () => {
      for (const sent of [row.text, row.image, row.metadata]) {
        const { seconds, factors } = vendor.meter(toRequest(sent.request));
        assert.ok(Number.isInteger(seconds) && seconds > 0 && seconds <= 3_600);
        for (const value of Object.values(factors)) assert.equal(typeof value, 'string');
      }
      assert.ok(vendor.models.length > 0);
      assert.equal(new Set(vendor.models.map(({ id }) => id)).size, vendor.models.length);
      for (const { id, price, seconds, images } of vendor.models) {
        assert.ok(Number.isSafeInteger(price.per_call) && Number.isSafeInteger(price.per_second), id);
        assert.ok(price.per_call + price.per_second > 0, id);
        const { default: usual } = seconds;
        assert.ok(
          'values' in seconds ? seconds.values.includes(usual) : usual >= seconds.min && usual <= seconds.max,
          id,
        );
        assert.ok(images.min <= images.max, id);
      }
    });
  });
}
