import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ChannelNews } from './channels.ts';
import { Health } from './health.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;

function ward() {
  const health = new Health();
  let now = 1_000_000;
  return {
    health,
    pass: (ms: number) => {
      now += ms;
    },
    learn: (outcome: ChannelNews['outcome'], also: Partial<ChannelNews> = {}) =>
      health.learn({ channelId: 1, model: 'm', outcome, ...also }, now),
    fitness: (model = 'm') => health.fitness(1, model, now),
    beginTrial: (model = 'm') => health.beginTrial(1, model, now),
    view: () => health.view(1, now),
  };
}

describe('health of a channel', () => {
  it('is not touched by faults of callers', () => {
    const { learn, fitness } = ward();
    for (let i = 0; i < 100; i++) for (const outcome of ['user', 'policy', 'missing', 'other'] as const) learn(outcome);
    assert.equal(fitness(), 'fit');
  });

  it('survives one error, and rests after a row of them, for that model only', () => {
    const { learn, fitness } = ward();
    learn('capacity');
    assert.equal(fitness(), 'fit');
    for (let i = 0; i < 4; i++) learn('capacity');
    assert.equal(fitness(), 'resting');
    assert.equal(fitness('another'), 'fit');
  });

  it('rests by a failing half although successes come between', () => {
    const { learn, fitness } = ward();
    for (let i = 0; i < 6; i++) {
      learn('capacity');
      if (fitness() === 'fit') learn('ok');
    }
    assert.equal(fitness(), 'resting');
  });

  it('does not rest while most calls go through', () => {
    const { learn, fitness } = ward();
    for (let i = 0; i < 100; i++) {
      learn('ok');
      learn('ok');
      learn('ok');
      learn('capacity');
      assert.notEqual(fitness(), 'resting');
    }
  });

  it('lets one trial through after its rest, and comes back by it', () => {
    const { learn, fitness, beginTrial, pass, view } = ward();
    for (let i = 0; i < 5; i++) learn('unreachable');
    assert.equal(fitness('any'), 'resting');
    pass(5 * SECOND);
    assert.equal(fitness(), 'trial');
    assert.equal(view()[0]?.state, 'trying');
    beginTrial();
    assert.equal(fitness(), 'resting', 'one at a time');
    assert.equal(learn('ok'), true);
    assert.equal(fitness(), 'fit');
    learn('unreachable');
    assert.equal(fitness(), 'fit', 'the past is forgotten');
  });

  it('rests twice as long after each failed trial, up to a bound', () => {
    const { learn, fitness, pass } = ward();
    for (let i = 0; i < 5; i++) learn('capacity');
    for (const seconds of [5, 10, 20, 40, 80, 160, 300, 300]) {
      pass(seconds * SECOND - 1);
      assert.equal(fitness(), 'resting', `${seconds} s`);
      pass(1);
      assert.equal(fitness(), 'trial', `${seconds} s`);
      learn('capacity');
    }
  });

  it('gives up a trial nobody reported on', () => {
    const { learn, fitness, beginTrial, pass } = ward();
    for (let i = 0; i < 5; i++) learn('capacity');
    pass(5 * SECOND);
    beginTrial();
    pass(30 * SECOND);
    assert.equal(fitness(), 'trial');
  });

  it('rests at once and longer, whole, when its account is refused', () => {
    for (const outcome of ['auth', 'billing'] as const) {
      const { learn, fitness, pass, view } = ward();
      assert.equal(learn(outcome), true);
      assert.equal(fitness('any'), 'resting');
      assert.deepEqual(
        [view()[0]?.model, view()[0]?.reason, view()[0]?.state],
        ['', outcome, 'resting'],
        'an administrator sees why',
      );
      pass(MINUTE - 1);
      assert.equal(fitness('any'), 'resting');
      pass(1);
      assert.equal(fitness('any'), 'trial');
    }
  });

  it('waits as long as a vendor says, within a bound', () => {
    const { learn, fitness, pass } = ward();
    learn('rate', { retryAfterMs: 20 * SECOND });
    pass(19 * SECOND);
    assert.equal(fitness(), 'resting');
    pass(SECOND);
    assert.equal(fitness(), 'trial');
    learn('rate', { retryAfterMs: 10 ** 9 });
    pass(5 * MINUTE);
    assert.equal(fitness(), 'trial');
  });

  it('does not take a successful look for a successful submit', () => {
    const { learn, fitness, pass } = ward();
    for (let i = 0; i < 5; i++) learn('capacity');
    learn('ok', { during: 'look' });
    assert.equal(fitness(), 'resting');
    learn('auth');
    pass(MINUTE);
    learn('ok', { during: 'look' });
    assert.equal(fitness('another'), 'fit', 'but the account is shown to work');
  });
});
