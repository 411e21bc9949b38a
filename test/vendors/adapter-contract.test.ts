import assert from 'node:assert/strict';
import { after, afterEach, before, suite, test } from 'node:test';
import type { TObject } from 'typebox';
import { VENDORS } from '../../src/contract/model-kinds.ts';
import type { FaultKind } from '../../src/sandbox/faults.ts';
import { manualClock } from '../../src/sandbox/jobs.ts';
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts';
import type { ProblemKind } from '../../src/sandbox/simulator.ts';
import { parsePrice } from '../../src/server/channels/model-admin.ts';
import { type BufferedResponse, OutboundError } from '../../src/server/platform/outbound/outbound.ts';
import { type AdapterContext, type ErrorReason, PollFailed } from '../../src/server/upstreams/upstream.ts';
import type { Json, QueryOutcome, SubmitOutcome, VideoRequest } from '../../src/server/vendors/adapter.ts';
import { type ContextOptions, sandboxContext, videoRequest } from './adapter-context.ts';
import type { ExpectedRequest } from './contract-cases.ts';
import { CONTRACT_CASES } from './load-contract-cases.ts';

/** The contract that every vendor's adapter fulfils: one script, run against each simulator. */

/** Default meaning of a refused submit, which determines whether another channel is tried. */
const REASONS: Readonly<Record<Exclude<ProblemKind, 'not_found'>, ErrorReason>> = {
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
const FINAL_REASONS: readonly ErrorReason[] = ['user', 'policy', 'missing', 'other'];

/** Responses to a submit after which a job may exist: they are thrown as lost, never reported as a refusal. */
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

/** Responses to a poll that give no information about the task. */
const UNINFORMATIVE: readonly FaultKind[] = [
  ...(['401', '403', '429', '500', '502', '503', '504', 'rate', 'overloaded'] as const),
  ...(['html', 'empty', 'malformed', 'truncated', 'drop', 'reset', 'hang', 'deep'] as const),
];

const CANARY = 'canary.example';
const UNKNOWN_KEYS = {
  base_url: `https://${CANARY}`,
  api_base: `https://${CANARY}`,
  host: CANARY,
  key: CANARY,
  callback_url: `https://${CANARY}`,
};

/** The value with unknown keys that name a host in every object, at every depth. */
function addUnknownKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(addUnknownKeys);
  if (typeof value !== 'object' || value === null) return value;
  const inner = Object.entries(value).map(([key, child]) => [key, addUnknownKeys(child)] as const);
  return { ...UNKNOWN_KEYS, ...Object.fromEntries(inner), nested: { ...UNKNOWN_KEYS, deeper: [{ ...UNKNOWN_KEYS }] } };
}

/** All texts in the credentials whose key marks them as secret. */
const secretsOf = (value: unknown, name = ''): string[] =>
  typeof value === 'object' && value !== null
    ? Object.entries(value).flatMap(([key, inner]) => secretsOf(inner, key))
    : typeof value === 'string' && /key|secret/.test(name)
      ? [value]
      : [];

const isLost = (error: unknown): boolean => error instanceof OutboundError && error.mayHaveArrived;
const isPollFailure = (error: unknown): boolean => error instanceof PollFailed || error instanceof OutboundError;

type Rewrite = (response: BufferedResponse) => Partial<BufferedResponse>;

/** The context with every response rewritten in transit, as gateways do. */
const rewritten = (context: AdapterContext, rewrite: Rewrite): AdapterContext => ({
  ...context,
  async sendJson(request) {
    const response = await context.sendJson(request);
    // Without a token nothing was started; the adapter's own tests cover token failures.
    if (request.url.endsWith('/token')) return response;
    const changed = { ...response, ...rewrite(response) };
    return { ...changed, text: changed.json === undefined ? changed.text : JSON.stringify(changed.json) };
  },
});

/** Applies `change` to every member at every depth. */
const mapMembers = (value: unknown, change: (key: string, member: unknown) => unknown): unknown =>
  Array.isArray(value)
    ? value.map((item) => mapMembers(item, change))
    : typeof value === 'object' && value !== null
      ? Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, change(key, mapMembers(inner, change))]))
      : value;

const withMembers =
  (change: (key: string, member: unknown) => unknown): Rewrite =>
  ({ json }) => ({ json: mapMembers(json, change) });

const isAddress = (value: unknown): value is string => typeof value === 'string' && /^https?:/.test(value);

/** Changes that gateways make to valid responses; each must be parsed as if unchanged. */
const REWRITES: Readonly<Record<string, Rewrite>> = {
  'HTTP 202 for 200': ({ status }) => ({ status: status === 200 ? 202 : status }),
  'words of states in capitals': withMembers((key, value) =>
    /^(task_)?(status|state)$/.test(key) && typeof value === 'string' ? value.toUpperCase() : value,
  ),
  'words of states in lower case': withMembers((key, value) =>
    /^(task_)?(status|state)$/.test(key) && typeof value === 'string' ? value.toLowerCase() : value,
  ),
  'codes as text': withMembers((key, value) =>
    /^(status_)?code$/.test(key) && typeof value === 'number' ? String(value) : value,
  ),
  'null beside the result': ({ json }) => ({ json: { error: null, message: null, ...(json as object) } }),
  'blanks around addresses': withMembers((_, value) => (isAddress(value) ? ` ${value}\r\n` : value)),
  'ids that are numbers': withMembers((key, value) =>
    /^(task_)?id$/.test(key) && typeof value === 'string' && /^[1-9]\d{0,14}$/.test(value) ? Number(value) : value,
  ),
};

/** Responses that gateways send instead of the vendor. */
const page =
  (status: number): Rewrite =>
  () => ({ status, text: '<html>Blocked</html>', json: undefined });

test('every vendor has a row', () => {
  assert.deepEqual(new Set(CONTRACT_CASES.map(({ vendor }) => vendor.name)), new Set(VENDORS));
});

test('the rows of a vendor send every key of its metadata', () => {
  for (const [{ name, metadata }, rows] of Map.groupBy(CONTRACT_CASES, ({ vendor }) => vendor)) {
    const keys = Object.keys((metadata as TObject).properties);
    const sent = rows.flatMap((row) => [row.metadata, ...(row.moreMetadata ?? [])]);
    const named = [
      ...sent.flatMap(({ request }) => Object.keys(request.metadata ?? {})),
      ...rows.flatMap(({ metadataElsewhere = [] }) => metadataElsewhere),
    ];
    const file = `test/vendors/adapter-contract-cases/${name}.ts`;
    assert.deepEqual(
      keys.filter((key) => !named.includes(key)),
      [],
      `${file}: add these keys, and the body the vendor must receive, to \`metadata\` or \`moreMetadata\``,
    );
    assert.deepEqual(
      named.filter((key) => !keys.includes(key)),
      [],
      `${file}: the vendor's metadata schema has no such keys`,
    );
  }
});

let taskCount = 0;

for (const row of CONTRACT_CASES) {
  suite(`${row.vendor.title} by ${row.simulator.name}`, () => {
    const { vendor } = row;
    const { name } = row.simulator;
    const clock = manualClock();
    let sandbox: Sandbox;
    before(async () => {
      sandbox = await startSandbox({
        simulators: [row.simulator],
        clock,
        timing: { queuedMs: 1_000, runningMs: 1_000 },
      });
    });
    after(() => sandbox.stop());
    afterEach(() => {
      sandbox.control.clearFaults();
      sandbox.control.clearRequests();
    });

    const call = (options: ContextOptions = {}) => sandboxContext(sandbox, name, options);
    const toRequest = (request: Partial<VideoRequest> = {}): VideoRequest => {
      taskCount += 1;
      return videoRequest({ model: row.model, taskId: `task_${String(taskCount).padStart(32, '0')}`, ...request });
    };
    const submit = (request: Partial<VideoRequest> = {}, options: ContextOptions = {}) =>
      vendor.submit(toRequest(request), call(options));
    const accepted = (outcome: SubmitOutcome) => {
      assert.ok(outcome.kind === 'accepted', JSON.stringify(outcome));
      return outcome;
    };
    const begin = async (prompt: string): Promise<Json> => accepted(await submit({ prompt })).handle;
    const poll = (handle: Json) => vendor.query(handle, call());
    const sentBody = (): unknown =>
      JSON.parse(sandbox.control.requests({ vendor: name, operation: 'submit' }).at(-1)?.body.toString() ?? '');

    /** Polls once a minute until the task has ended; gives up after a few attempts. */
    async function lookToTheEnd(first: Json): Promise<QueryOutcome> {
      let handle = first;
      for (let polls = 0; polls < 6; polls += 1) {
        clock.advance(60_000);
        const outcome = await poll(handle);
        if (outcome.state === 'SUCCESS' || outcome.state === 'FAILURE') return outcome;
        handle = outcome.handle ?? handle;
      }
      return assert.fail('the task did not end');
    }

    async function sends(sent: ExpectedRequest): Promise<void> {
      const request = toRequest(sent.request);
      accepted(await vendor.submit(request, call()));
      assert.deepEqual(sentBody(), sent.body(request.taskId));
    }

    test('sends text as the vendor’s own body', () => sends(row.text));
    test('sends images as the vendor’s own body', () => sends(row.image));

    test('forwards known metadata, and unknown keys never, at any depth', async () => {
      for (const sent of [row.metadata, ...(row.moreMetadata ?? [])]) {
        const metadata = addUnknownKeys(sent.request.metadata) as VideoRequest['metadata'];
        await sends({ ...sent, request: { ...sent.request, metadata } });
      }
      for (const { path, headers, body } of sandbox.control.requests()) {
        assert.ok(!`${path}${JSON.stringify(headers)}${body.toString()}`.includes(CANARY));
      }
    });

    test('puts media schema parameters at their dotted paths', async () => {
      await submit({ extraFields: [{ path: 'contract.depth', value: 7 }] }).catch(() => undefined);
      assert.equal((sentBody() as { contract?: { depth?: number } }).contract?.depth, 7);
    });

    test('a job waits, runs and succeeds, and its video is playable', async () => {
      const { handle, upstreamId } = accepted(await submit(row.text.request));
      assert.match(upstreamId, /^[\x21-\x7e]{1,255}$/);
      assert.equal((await poll(handle)).state, row.waitingState);
      clock.advance(1_500);
      assert.equal((await poll(handle)).state, 'IN_PROGRESS');
      clock.advance(1_000);
      const done = await poll(handle);
      assert.equal(done.state, 'SUCCESS');
      const kept = done.handle ?? handle;
      const source = await vendor.content(kept, done.raw, undefined, call());
      const bytes =
        source.kind === 'bytes'
          ? source.bytes
          : Buffer.from(await (await fetch(source.url, { headers: source.headers })).arrayBuffer());
      assert.equal(bytes.toString('latin1', 4, 8), 'ftyp');
    });

    test('stores no secrets', async () => {
      const secrets = secretsOf(sandbox.credentials(name));
      const outcome = accepted(await submit());
      clock.advance(5_000);
      const stored = JSON.stringify([outcome, await poll(outcome.handle)]);
      assert.ok(secrets.length > 0);
      for (const secret of secrets) assert.ok(!stored.includes(secret), secret.slice(0, 4));
    });

    for (const end of ['fail', 'filtered', 'expire', 'cancel', 'vanish', 'empty'] as const) {
      if (end === 'empty' && row.missingFileIsUnknown) continue;
      test(`a job that ends by "${end}" is a failure with a reason`, async () => {
        const { state, error } = await lookToTheEnd(await begin(`[${end}]`));
        assert.equal(state, 'FAILURE');
        assert.ok(error && error.message.length > 3, JSON.stringify(error));
        assert.equal(error.retryable, false);
      });
    }

    test('an unknown state of the vendor is UNKNOWN', async () => {
      const handle = await begin('[strange]');
      clock.advance(5_000);
      assert.equal((await poll(handle)).state, 'UNKNOWN');
    });

    for (const [problem, usual] of Object.entries(REASONS) as [keyof typeof REASONS, ErrorReason][]) {
      const reason = row.reasons?.[problem] ?? usual;
      test(`a submit refused for "${problem}" is ${reason}`, async () => {
        sandbox.control.fault({ vendor: name, operation: 'submit', kind: problem, times: Infinity });
        const outcome = await submit();
        assert.ok(outcome.kind === 'refused', JSON.stringify(outcome));
        assert.equal(outcome.error.reason, reason);
        assert.equal(outcome.error.retryable, !FINAL_REASONS.includes(reason));
        assert.ok(outcome.error.message.length > 3);
      });
    }

    for (const kind of ['429', '500', '502', '503', '504'] as const) {
      test(`HTTP ${kind} for a submit tries another channel`, async () => {
        sandbox.control.fault({ vendor: name, operation: 'submit', kind, retryAfter: '7' });
        const outcome = await submit();
        assert.ok(outcome.kind === 'refused' && outcome.error.retryable, JSON.stringify(outcome));
      });
    }

    for (const [what, rewrite] of Object.entries(REWRITES)) {
      test(`a gateway that writes ${what} changes nothing`, async () => {
        const through = () => rewritten(call(), rewrite);
        const { handle } = accepted(await vendor.submit(toRequest(row.text.request), through()));
        clock.advance(5_000);
        assert.equal((await vendor.query(handle, through())).state, 'SUCCESS');
        const failing = accepted(await vendor.submit(toRequest({ prompt: '[filtered]' }), through())).handle;
        clock.advance(5_000);
        assert.equal((await vendor.query(failing, through())).state, 'FAILURE');
      });
    }

    for (const status of [400, 403, 404, 405, 406, 451]) {
      const title = `a page with HTTP ${status} at a submit sends it to another channel, and is odd at a poll`;
      test(title, async () => {
        const through = rewritten(call(), page(status));
        const outcome = await vendor.submit(toRequest(), through);
        assert.ok(outcome.kind === 'refused' && outcome.error.retryable, JSON.stringify(outcome));
        assert.equal(outcome.error.reason, 'capacity');
        const handle = await begin('A lighthouse');
        await assert.rejects(vendor.query(handle, through), (error) => error instanceof PollFailed && error.isOdd);
      });
    }

    for (const status of [504, 524]) {
      const title = `a gateway that gave up waiting with HTTP ${status} may have begun the job`;
      test(title, async () => {
        await assert.rejects(vendor.submit(toRequest(), rewritten(call(), page(status))), isLost);
      });
    }

    for (const kind of AMBIGUOUS) {
      test(`T78: a submit answered by "${kind}" is ambiguous`, async () => {
        sandbox.control.fault({ vendor: name, operation: 'submit', kind });
        const timeoutMs = kind.startsWith('hang') ? 250 : 2_000;
        await assert.rejects(submit({}, { timeoutMs }), isLost);
        assert.equal(sandbox.control.requests({ operation: 'submit' }).length, 1, 'it is sent once');
      });
    }

    test('an unreadable poll is thrown, and the job continues', async () => {
      const handle = await begin('A lighthouse');
      for (const kind of UNINFORMATIVE) {
        const fault = sandbox.control.fault({ vendor: name, operation: 'query', kind, times: Infinity });
        const polled = vendor.query(handle, call({ timeoutMs: kind === 'hang' ? 250 : 2_000 }));
        await assert.rejects(polled, isPollFailure, kind);
        fault.remove();
      }
      clock.advance(5_000);
      assert.equal((await poll(handle)).state, 'SUCCESS');
    });

    if (!row.pollNamesNoJob)
      test('a response about another job ends nothing', async () => {
        const other = await begin('A harbour');
        const handle = await begin('[filtered]');
        clock.advance(5_000);
        assert.equal((await poll(other)).state, 'SUCCESS');
        sandbox.control.fault({ vendor: name, operation: 'query', kind: 'duplicate' });
        await assert.rejects(poll(handle), isPollFailure);
        assert.equal((await lookToTheEnd(handle)).state, 'FAILURE');
      });

    test('a poll response with wrong types ends nothing', async () => {
      const handle = await begin('A lighthouse');
      sandbox.control.fault({ vendor: name, operation: 'query', kind: 'wrong-types' });
      const outcome = await poll(handle).catch((error: unknown) => error);
      assert.ok(isPollFailure(outcome) || (outcome as QueryOutcome).state === 'UNKNOWN', JSON.stringify(outcome));
    });

    test('wrong credentials are the channel’s fault in every operation', async () => {
      const handle = await begin('A lighthouse');
      const wrong = { credentials: row.wrongCredentials };
      const refused = await submit({}, wrong);
      assert.ok(refused.kind === 'refused' && refused.error.reason === 'auth' && refused.error.retryable);
      await assert.rejects(vendor.query(handle, call(wrong)), PollFailed);
      const probed = await vendor.checkCredentials(call(wrong));
      assert.ok(!probed.ok && probed.error.reason === 'auth', JSON.stringify(probed));
      assert.equal((await vendor.checkCredentials(call())).ok, true);
    });

    test('finds a lost submit again if the vendor supports lookup, and only that one', async () => {
      if (!vendor.findTask) return;
      const request = toRequest();
      sandbox.control.fault({ vendor: name, operation: 'submit', kind: 'drop' });
      await assert.rejects(vendor.submit(request, call()), isLost);
      const hint = vendor.findTaskHint?.(request) ?? null;
      assert.equal(await vendor.findTask({ taskId: 'task_of_nobody', hint, sentAtMs: clock.now() }, call()), undefined);
      const handle = await vendor.findTask({ taskId: request.taskId, hint, sentAtMs: clock.now() }, call());
      assert.ok(handle !== undefined);
      clock.advance(5_000);
      assert.equal((await poll(handle)).state, 'SUCCESS');
    });

    test('every request has a price, and every model a default price', () => {
      for (const sent of [row.text, row.image, row.metadata]) {
        const { seconds, factors } = vendor.billingFactors(toRequest(sent.request));
        assert.ok(Number.isInteger(seconds) && seconds > 0 && seconds <= 3_600);
        for (const value of Object.values(factors)) assert.equal(typeof value, 'string');
      }
      assert.ok(vendor.models.length > 0);
      assert.equal(new Set(vendor.models.map(({ id }) => id)).size, vendor.models.length);
      for (const { id, price, seconds, images } of vendor.models) {
        assert.doesNotThrow(() => parsePrice(price, 'video'), id);
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
