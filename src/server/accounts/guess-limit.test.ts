import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { GuessLimit, toGuessSource } from './guess-limit.ts';
import type { AttemptLimit } from './rate-limits.ts';

/** A limit that logs the calls made to it. */
const limitNamed = (name: string, log: string[]): AttemptLimit => {
  const note = (verb: string) => async (key: string | number) => void log.push(`${verb} ${name} ${key}`);
  return {
    consume: note('consume'),
    assertNotExhausted: note('check'),
    refund: note('refund'),
    reset: note('reset'),
  } as unknown as AttemptLimit;
};

const open = (resetsWrongGuesses: boolean, withNetwork = true) => {
  const log: string[] = [];
  const limit = new GuessLimit({
    byAccount: limitNamed('account', log),
    byKnownSource: limitNamed('source', log),
    ...(withNetwork && { byNetwork: limitNamed('network', log) }),
    resetsWrongGuesses,
  });
  return { limit, log };
};

const UNKNOWN_SOURCE = { network: '192.0.2.1', knownSourceKey: undefined };
const KNOWN = { network: '192.0.2.1', knownSourceKey: 'device:x' };
const LOGGED_IN = { network: undefined, knownSourceKey: 'session:5' };

describe('guess limits', () => {
  it('count against the network and the account, or against the known source alone', async () => {
    const { limit, log } = open(true);
    await limit.consume('ada', UNKNOWN_SOURCE);
    await limit.consume('ada', KNOWN);
    await limit.assertNotExhausted('ada', LOGGED_IN);
    await limit.assertNotExhausted('ada', UNKNOWN_SOURCE);
    await limit.succeed('ada', UNKNOWN_SOURCE);
    assert.deepEqual(log, [
      'consume network 192.0.2.1',
      'consume account ada',
      'consume network 192.0.2.1',
      'consume source ada:device:x',
      'check source ada:session:5',
      'check network 192.0.2.1',
      'check account ada',
      'refund network 192.0.2.1',
      'reset account ada',
    ]);
  });

  it('skip the account for an unguessable secret', async () => {
    const { limit, log } = open(true);
    await limit.consume('ada', UNKNOWN_SOURCE, true);
    await limit.assertNotExhausted('ada', UNKNOWN_SOURCE, true);
    await limit.succeed('ada', UNKNOWN_SOURCE, true);
    await limit.consume('ada', KNOWN, true);
    assert.deepEqual(log, [
      'consume network 192.0.2.1',
      'check network 192.0.2.1',
      'refund network 192.0.2.1',
      'consume network 192.0.2.1',
      'consume source ada:device:x',
    ]);
  });

  it('refund wrong guesses after a correct one if configured, but never those of the network', async () => {
    const forgiving = open(true);
    await forgiving.limit.succeed('ada', UNKNOWN_SOURCE);
    assert.deepEqual(forgiving.log, ['refund network 192.0.2.1', 'reset account ada']);
    const strict = open(false);
    await strict.limit.succeed('ada', KNOWN);
    assert.deepEqual(strict.log, ['refund network 192.0.2.1', 'refund source ada:device:x']);
  });

  it('skip the network for an authenticated caller', async () => {
    const { limit, log } = open(true, false);
    await limit.succeed('ada', UNKNOWN_SOURCE);
    assert.deepEqual(log, ['reset account ada']);
  });
});

it('identify a caller who proves the password again by the credential', () => {
  const of = (caller: object) => toGuessSource({ userId: 1, role: 'user', ...caller } as never);
  assert.deepEqual(of({ kind: 'session', sessionId: 5 }), { network: undefined, knownSourceKey: 'session:5' });
  assert.deepEqual(of({ kind: 'user-token', tokenHash: 'h' }), { network: undefined, knownSourceKey: 'user-token' });
});
