import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CircuitBreakers } from './circuit-breaker.ts';
import type { CallOutcome } from './directory.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const ACCOUNT = { id: 1, credentialId: 1 };

function ward() {
  const health = new CircuitBreakers();
  let now = 1_000_000;
  return {
    health,
    pass: (ms: number) => {
      now += ms;
    },
    learn: (outcome: CallOutcome['outcome'], also: Partial<CallOutcome> = {}) =>
      health.record({ channelId: 1, credentialId: 1, model: 'm', outcome, ...also }, now).length > 0,
    fitness: (model = 'm') => health.availability(ACCOUNT, model, now),
    beginTrial: (model = 'm') => health.beginTrial(ACCOUNT, model, now),
    view: () => health.view(ACCOUNT, now),
    condition: () => health.condition(ACCOUNT, now),
  };
}

describe('health of a channel', () => {
  it('ignores errors caused by callers', () => {
    const { learn, fitness } = ward();
    for (let i = 0; i < 100; i++) for (const outcome of ['user', 'policy', 'missing', 'other'] as const) learn(outcome);
    assert.equal(fitness(), 'closed');
  });

  it('is untested before the first call, failing after a failed one, and working after a success', () => {
    const { learn, condition } = ward();
    assert.equal(condition(), 'untested');
    learn('user');
    assert.equal(condition(), 'untested');
    learn('unreachable');
    assert.equal(condition(), 'failing');
    learn('ok');
    assert.equal(condition(), 'working');
  });

  it('is failing while one of its models fails, and resting once the circuit of that model is open', () => {
    const { learn, condition } = ward();
    learn('capacity');
    learn('ok', { model: 'another' });
    assert.equal(condition(), 'failing');
    for (let i = 0; i < 4; i++) learn('capacity');
    assert.equal(condition(), 'resting');
  });

  it('tolerates one error, and opens for the model after several in a row', () => {
    const { learn, fitness } = ward();
    learn('capacity');
    assert.equal(fitness(), 'closed');
    for (let i = 0; i < 4; i++) learn('capacity');
    assert.equal(fitness(), 'open');
    assert.equal(fitness('another'), 'closed');
  });

  it('opens when half of the calls fail although successes come between', () => {
    const { learn, fitness } = ward();
    for (let i = 0; i < 6; i++) {
      learn('capacity');
      if (fitness() === 'closed') learn('ok');
    }
    assert.equal(fitness(), 'open');
  });

  it('does not open while most calls succeed', () => {
    const { learn, fitness } = ward();
    for (let i = 0; i < 100; i++) {
      learn('ok');
      learn('ok');
      learn('ok');
      learn('capacity');
      assert.notEqual(fitness(), 'open');
    }
  });

  it('lets one trial call through after its rest, and closes when that succeeds', () => {
    const { learn, fitness, beginTrial, pass, view } = ward();
    for (let i = 0; i < 5; i++) learn('unreachable');
    assert.equal(fitness('any'), 'open');
    pass(5 * SECOND);
    assert.equal(fitness(), 'halfOpen');
    assert.equal(view()[0]?.state, 'halfOpen');
    beginTrial();
    assert.equal(fitness(), 'open', 'one at a time');
    assert.equal(learn('ok'), true);
    assert.equal(fitness(), 'closed');
    learn('unreachable');
    assert.equal(fitness(), 'closed', 'the past is forgotten');
  });

  it('stays open twice as long after each failed trial, up to a limit', () => {
    const { learn, fitness, pass } = ward();
    for (let i = 0; i < 5; i++) learn('capacity');
    for (const seconds of [5, 10, 20, 40, 80, 160, 300, 300]) {
      pass(seconds * SECOND - 1);
      assert.equal(fitness(), 'open', `${seconds} s`);
      pass(1);
      assert.equal(fitness(), 'halfOpen', `${seconds} s`);
      learn('capacity');
    }
  });

  it('abandons a trial call whose result was never reported', () => {
    const { learn, fitness, beginTrial, pass } = ward();
    for (let i = 0; i < 5; i++) learn('capacity');
    pass(5 * SECOND);
    beginTrial();
    pass(30 * SECOND);
    assert.equal(fitness(), 'halfOpen');
  });

  it('opens at once, longer and for all models when its account is refused', () => {
    for (const outcome of ['auth', 'billing'] as const) {
      const { learn, fitness, pass, view } = ward();
      assert.equal(learn(outcome), true);
      assert.equal(fitness('any'), 'open');
      assert.deepEqual(
        [view()[0]?.model, view()[0]?.reason, view()[0]?.state],
        ['', outcome, 'open'],
        'an administrator sees why',
      );
      pass(MINUTE - 1);
      assert.equal(fitness('any'), 'open');
      pass(1);
      assert.equal(fitness('any'), 'halfOpen');
    }
  });

  it('waits as long as a vendor demands, up to a limit', () => {
    const { learn, fitness, pass } = ward();
    learn('rate', { retryAfterMs: 20 * SECOND });
    pass(19 * SECOND);
    assert.equal(fitness(), 'open');
    pass(SECOND);
    assert.equal(fitness(), 'halfOpen');
    learn('rate', { retryAfterMs: 10 ** 9 });
    pass(5 * MINUTE);
    assert.equal(fitness(), 'halfOpen');
  });

  it('is not opened by polls of a single task while others succeed', () => {
    const { learn, fitness } = ward();
    learn('ok', { operation: 'poll', taskSeq: 1 });
    for (let i = 0; i < 20; i++) learn('auth', { operation: 'poll', taskSeq: 2 });
    assert.equal(fitness(), 'closed');
    learn('auth', { operation: 'poll', taskSeq: 3 });
    assert.equal(fitness(), 'open');
  });

  it('is not opened by a vendor that is too busy for polls, or for counting tokens', () => {
    for (const operation of ['poll', 'count'] as const) {
      const { learn, fitness } = ward();
      for (let i = 0; i < 20; i++)
        for (const outcome of ['capacity', 'rate'] as const) learn(outcome, { operation, retryAfterMs: 30_000 });
      assert.equal(fitness(), 'closed', operation);
    }
  });

  it('does not count a successful poll, or a count of tokens, as a successful submit', () => {
    for (const operation of ['poll', 'count'] as const) {
      const { learn, fitness, pass } = ward();
      for (let i = 0; i < 5; i++) learn('capacity');
      learn('ok', { operation });
      assert.equal(fitness(), 'open', operation);
      learn('auth');
      pass(MINUTE);
      learn('ok', { operation });
      assert.equal(fitness('another'), 'closed', 'but the account is shown to work');
    }
  });

  it('is not closed by calls that cost nothing when the balance is exhausted', () => {
    for (const operation of ['poll', 'count'] as const) {
      const { learn, fitness, pass } = ward();
      learn('billing');
      assert.equal(learn('ok', { operation }), false);
      assert.equal(fitness(), 'open', operation);
      pass(MINUTE);
      learn('ok', { operation });
      assert.equal(fitness(), 'halfOpen', operation);
      assert.equal(learn('ok'), true);
      assert.equal(fitness(), 'closed');
    }
  });

  it('reports the first success after a change that ended a failure', () => {
    const { health, learn } = ward();
    learn('auth');
    health.forget(1);
    assert.equal(learn('ok', { operation: 'poll' }), false);
    assert.equal(learn('ok'), true);
    assert.equal(learn('ok'), false);
    health.forget(1);
    assert.equal(learn('ok'), false);
  });

  it('is not opened by failing requests of a single account', () => {
    for (const outcome of ['auth', 'model', 'capacity', 'unreachable'] as const) {
      const { learn, fitness, condition, pass } = ward();
      for (let i = 0; i < 50; i++) {
        if (i % 10 === 0) learn('ok', { userId: 1 });
        // An account that sends broken requests may also send good ones.
        if (i % 3 === 0) learn('ok', { userId: 2 });
        assert.equal(learn(outcome, { userId: 2 }), false, outcome);
        pass(SECOND);
      }
      assert.equal(fitness(), 'closed', outcome);
      assert.equal(condition(), 'failing', outcome);
    }
  });

  it('opens when calls of a second account fail too, or no other account has succeeded for a minute', () => {
    const ofTwo = ward();
    ofTwo.learn('ok', { userId: 1 });
    assert.equal(ofTwo.learn('auth', { userId: 2 }), false);
    assert.equal(ofTwo.learn('auth', { userId: 1 }), true);

    const quiet = ward();
    quiet.learn('ok', { userId: 1 });
    quiet.pass(MINUTE);
    assert.equal(quiet.learn('auth', { userId: 2 }), true);

    const ofOne = ward();
    ofOne.learn('ok', { userId: 1 });
    assert.equal(ofOne.learn('auth', { userId: 1 }), true);
  });

  it('opens for a vendor’s rate limit, whichever account reaches it', () => {
    const { learn, fitness } = ward();
    learn('ok', { userId: 1 });
    learn('rate', { userId: 2, retryAfterMs: 20 * SECOND });
    assert.equal(fitness(), 'open');
  });
});
