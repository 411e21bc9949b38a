import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Dispatcher, errors } from 'undici';
import { BlockedIpError, HostNotFoundError } from './guard.ts';
import { Exchange, type OutboundError, type OutboundRequest } from './outbound.ts';

const TARGET = { origin: 'https://a.example', path: '/x?y=1' };

/** An exchange over an inert dispatcher; the test plays the role of undici. */
function start(more: Partial<OutboundRequest> = {}, maxBytes?: number) {
  const log: unknown[] = [];
  let failure: OutboundError | undefined;
  const failed = Promise.withResolvers<OutboundError>();
  const exchange = new Exchange(
    { method: 'POST', url: '', ...more },
    {
      head: (status, headers) => void log.push(['head', status, headers]),
      chunk: (bytes) => void log.push(['chunk', String(bytes)]),
      end: () => void log.push('end'),
      fail(error) {
        failure = error;
        log.push(['fail', error.phase, error.mayHaveArrived]);
        failed.resolve(error);
      },
    },
    ...(maxBytes === undefined ? [] : [maxBytes]),
  );
  const dispatched: Dispatcher.DispatchOptions[] = [];
  const dispatcher = { dispatch: (options: Dispatcher.DispatchOptions) => dispatched.push(options) > 0 };
  const aborts: unknown[] = [];
  const control = {
    aborted: false,
    pause: () => void log.push('pause'),
    resume: () => void log.push('resume'),
    abort(reason: unknown) {
      this.aborted = true;
      aborts.push(reason);
    },
  };
  exchange.begin(dispatcher as unknown as Dispatcher, TARGET, { a: 'b' });
  const undici = control as unknown as Dispatcher.DispatchController;
  return {
    exchange,
    log,
    dispatched,
    aborts,
    control: undici,
    failure: () => failure,
    failed: failed.promise,
    /** Up to the named point. */
    reach(point: 'sent' | 'head') {
      exchange.onRequestStart(undici);
      if (point === 'sent') return;
      exchange.onRequestSent();
      exchange.onResponseStart(undici, 200, {});
    },
  };
}

describe('exchange', () => {
  it('sends the request, with default limits when none are given', () => {
    const { dispatched } = start({ body: 'b' });
    assert.deepEqual(dispatched, [
      { ...TARGET, method: 'POST', headers: { a: 'b' }, body: 'b', headersTimeout: 30_000, bodyTimeout: 60_000 },
    ]);
    const [given] = start({ headersTimeoutMs: 5, idleTimeoutMs: 6 }).dispatched;
    assert.deepEqual([given?.body, given?.headersTimeout, given?.bodyTimeout], [null, 5, 6]);
  });

  it('passes on one head, chunks and one end', () => {
    const { exchange, control, log, reach } = start();
    reach('sent');
    exchange.onResponseStart(control, 103, {});
    exchange.onResponseStart(control, 199, {});
    exchange.onResponseStart(control, 200, { a: ['1', '2'], b: 'x', c: undefined });
    exchange.onResponseData(control, Buffer.from('one'));
    exchange.pause();
    exchange.resume();
    exchange.onResponseEnd();
    exchange.onResponseEnd();
    exchange.onResponseData(control, Buffer.from('late'));
    exchange.onResponseStart(control, 200, {});
    exchange.onResponseError(control, new Error('late'));
    exchange.abort();
    assert.deepEqual(log, [['head', 200, { a: '1, 2', b: 'x', c: '' }], ['chunk', 'one'], 'pause', 'resume', 'end']);
  });

  it('accepts exactly the maximum number of bytes, and not one more', () => {
    for (const started of [start({ maxBytes: 4 }), start({}, 4)]) {
      const { exchange, control, log, aborts, reach } = started;
      reach('head');
      exchange.onResponseData(control, Buffer.from('1234'));
      assert.deepEqual(log.at(-1), ['chunk', '1234']);
      exchange.onResponseData(control, Buffer.from('5'));
      assert.deepEqual(log.at(-1), ['fail', 'body', true]);
      assert.equal(aborts.length, 1);
    }
    const unbounded = start();
    unbounded.reach('head');
    unbounded.exchange.onResponseData(unbounded.control, Buffer.alloc(5_000_000));
    assert.equal(unbounded.failure(), undefined);
    unbounded.exchange.abort();
  });

  for (const [name, error, point, expected] of [
    ['blocked', new BlockedIpError('x'), undefined, ['blocked', false]],
    ['blocked', new errors.InvalidArgumentError('x'), undefined, ['blocked', false]],
    ['resolve', new HostNotFoundError('x'), undefined, ['resolve', false]],
    ['connect', new Error('x'), undefined, ['connect', false]],
    ['sent', new HostNotFoundError('x'), 'sent', ['sent', true]],
    ['body', new Error('x'), 'head', ['body', true]],
  ] as const)
    it(`fails in the phase ${name}: ${error.constructor.name} ${point ?? 'before it is sent'}`, () => {
      const { exchange, log, failure, reach } = start();
      if (point !== undefined) reach(point);
      exchange.onResponseError(null, error);
      exchange.onResponseError(null, error);
      assert.deepEqual(
        log.filter((line) => Array.isArray(line) && line[0] === 'fail'),
        [['fail', ...expected]],
      );
      assert.equal(failure()?.cause, error);
    });

  it('is never written after an abort, nor twice', () => {
    const given = start();
    given.exchange.abort();
    given.exchange.onRequestStart(given.control);
    assert.equal(given.aborts.length, 1);
    assert.deepEqual(given.log, [['fail', 'aborted', false]]);
    const twice = start();
    twice.reach('sent');
    assert.equal(twice.aborts.length, 0);
    twice.exchange.onRequestStart(twice.control);
    assert.equal(twice.aborts.length, 1);
    twice.exchange.abort();
  });

  it('is aborted by its signal, and removes its listener at the end', () => {
    const before = start({ signal: AbortSignal.abort() });
    assert.deepEqual([before.log, before.dispatched], [[['fail', 'aborted', false]], []]);
    const controller = new AbortController();
    const during = start({ signal: controller.signal });
    during.reach('sent');
    controller.abort();
    assert.deepEqual(during.log, [['fail', 'aborted', true]]);
    const other = new AbortController();
    let listeners = 0;
    const { addEventListener, removeEventListener } = other.signal;
    other.signal.addEventListener = (...args: Parameters<typeof addEventListener>) => {
      listeners++;
      addEventListener.apply(other.signal, args);
    };
    other.signal.removeEventListener = (...args: Parameters<typeof removeEventListener>) => {
      listeners--;
      removeEventListener.apply(other.signal, args);
    };
    const ended = start({ signal: other.signal });
    assert.equal(listeners, 1);
    ended.reach('head');
    ended.exchange.onResponseEnd();
    assert.equal(listeners, 0);
  });

  it('does not abort again after undici has aborted', () => {
    const { exchange, control, aborts, reach } = start();
    reach('head');
    control.abort(new Error('undici'));
    exchange.abort();
    assert.equal(aborts.length, 1);
  });
});

describe('exchange timeouts', () => {
  it('end an exchange in each phase', async () => {
    const connecting = start({ connectTimeoutMs: 1 });
    assert.deepEqual(
      [(await connecting.failed).phase, (await connecting.failed).message],
      ['connect', 'no connection in time'],
    );
    const total = start({ totalTimeoutMs: 1, connectTimeoutMs: 50 });
    assert.deepEqual(
      [(await total.failed).phase, (await total.failed).message],
      ['connect', 'not finished within 1 ms'],
    );
    const body = start({ totalTimeoutMs: 20, connectTimeoutMs: 10 });
    body.reach('head');
    assert.equal((await body.failed).phase, 'body');
    const sent = start({ totalTimeoutMs: 20, connectTimeoutMs: 10 });
    sent.reach('sent');
    assert.deepEqual([(await sent.failed).phase, (await sent.failed).mayHaveArrived], ['sent', true]);
  });

  it('are extended while bytes arrive at the required rate', async () => {
    const { exchange, control, failed, reach } = start({ totalTimeoutMs: 5, minBytesPerSecond: 1_000 });
    reach('head');
    exchange.onResponseData(control, Buffer.alloc(40));
    const begunAt = performance.now();
    assert.match((await failed).message, /within 45 ms/);
    assert.ok(performance.now() - begunAt >= 30);
    const long = start({ totalTimeoutMs: -9_980, minBytesPerSecond: 1_000 });
    long.reach('head');
    long.exchange.onResponseData(long.control, Buffer.alloc(10_000));
    assert.match((await long.failed).message, /within 20 ms/);
  });

  it('never end a response without a limit', async () => {
    const { failure, reach, exchange } = start({ connectTimeoutMs: 1, headersTimeoutMs: 1 });
    reach('head');
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    assert.equal(failure(), undefined);
    exchange.onResponseEnd();
  });

  it('give undici a second to report an overdue response', async () => {
    const begunAt = performance.now();
    const { failed, reach, exchange } = start({ headersTimeoutMs: 200, connectTimeoutMs: 1 });
    reach('sent');
    exchange.onRequestSent();
    const { message } = await failed;
    assert.equal(message, 'no answer in time');
    assert.ok(performance.now() - begunAt >= 1_150);
  });
});
