import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { handClock } from '../platform/clock.ts';
import { MAIL_PROTOCOLS, type MailBackend, type MailProtocol, type Verdict } from './backend.ts';
import { Consistency } from './consistency.ts';

const password = { ref: 'r1', secret: 's', protocols: MAIL_PROTOCOLS };

/** A backend that only answers checks. */
function checking(check: MailBackend['check']): MailBackend {
  const unused = () => Promise.reject(new Error('not asked for'));
  return {
    id: 'dovecot',
    revokeLagSeconds: 0,
    check,
    ensureMailbox: unused,
    setAppPassword: unused,
    removeAppPassword: unused,
    endSessions: unused,
    removeMailbox: unused,
    list: unused,
  };
}
const says = (imap: Verdict, smtp: Verdict, pop3: Verdict) =>
  new Map<MailProtocol, Verdict>([
    ['imap', imap],
    ['smtp', smtp],
    ['pop3', pop3],
  ]);

describe('the consistency check', () => {
  it('needs every protocol to accept, one to refuse, and knows when it does not know', async () => {
    const cases: [Map<MailProtocol, Verdict>, Verdict][] = [
      [says('accepted', 'accepted', 'accepted'), 'accepted'],
      [says('accepted', 'refused', 'accepted'), 'refused'],
      [says('unknown', 'refused', 'unknown'), 'refused'],
      [says('accepted', 'unknown', 'accepted'), 'unknown'],
      [new Map(), 'unknown'],
    ];
    for (const [answers, expected] of cases) {
      const consistency = new Consistency(
        checking(async () => answers),
        handClock(),
      );
      assert.equal(await consistency.ask('a@b', password), expected);
    }
  });

  it('is one question for all who ask at once, and its answer serves for a while', async () => {
    let asked = 0;
    let answer = says('refused', 'refused', 'refused');
    const clock = handClock();
    const backend = checking(async () => {
      asked++;
      return answer;
    });
    const consistency = new Consistency(backend, clock);
    const verdicts = await Promise.all(Array.from({ length: 50 }, () => consistency.ask('a@b', password)));
    assert.deepEqual([new Set(verdicts), asked], [new Set(['refused']), 1]);
    clock.advance(14_000);
    await consistency.ask('a@b', password);
    assert.equal(asked, 1);
    answer = says('accepted', 'accepted', 'accepted');
    clock.advance(2_000);
    assert.equal(await consistency.ask('a@b', password), 'accepted');
    await consistency.ask('a@b', { ...password, ref: 'r2' });
    assert.equal(asked, 3);
  });

  it('does not remember that it does not know', async () => {
    let asked = 0;
    const consistency = new Consistency(
      checking(async () => {
        asked++;
        return new Map();
      }),
      handClock(),
    );
    await consistency.ask('a@b', password);
    await consistency.ask('a@b', password);
    assert.equal(asked, 2);
  });

  it('ends after three seconds, even with a backend that heeds nothing', async () => {
    const consistency = new Consistency(
      checking(() => new Promise(() => {})),
      handClock(),
    );
    // The timer of the check alone keeps no process alive.
    const awake = setInterval(() => {}, 1_000);
    const started = performance.now();
    assert.equal(await consistency.ask('a@b', password), 'unknown');
    assert.ok(performance.now() - started < 5_000);
    clearInterval(awake);
  });
});
