import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { manualClock } from '../platform/clock.ts';
import { type CheckResult, MAIL_PROTOCOLS, type MailBackend, type MailProtocol } from './mail-backend.ts';
import { AppPasswordCheck } from './mailbox-service.ts';

const password = { ref: 'r1', secret: 's', protocols: MAIL_PROTOCOLS };

/** A backend that only implements `check`. */
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
const says = (imap: CheckResult, smtp: CheckResult, pop3: CheckResult) =>
  new Map<MailProtocol, CheckResult>([
    ['imap', imap],
    ['smtp', smtp],
    ['pop3', pop3],
  ]);

describe('the consistency check', () => {
  it('requires every protocol to accept, one to refuse, and is unknown otherwise', async () => {
    const cases: [Map<MailProtocol, CheckResult>, CheckResult][] = [
      [says('accepted', 'accepted', 'accepted'), 'accepted'],
      [says('accepted', 'refused', 'accepted'), 'refused'],
      [says('unknown', 'refused', 'unknown'), 'refused'],
      [says('accepted', 'unknown', 'accepted'), 'unknown'],
      [new Map(), 'unknown'],
    ];
    for (const [answers, expected] of cases) {
      const consistency = new AppPasswordCheck(
        checking(async () => answers),
        manualClock(),
      );
      assert.equal(await consistency.check('a@b', password), expected);
    }
  });

  it('shares one request among concurrent callers, and caches its result for a while', async () => {
    let asked = 0;
    let answer = says('refused', 'refused', 'refused');
    const clock = manualClock();
    const backend = checking(async () => {
      asked++;
      return answer;
    });
    const consistency = new AppPasswordCheck(backend, clock);
    const verdicts = await Promise.all(Array.from({ length: 50 }, () => consistency.check('a@b', password)));
    assert.deepEqual([new Set(verdicts), asked], [new Set(['refused']), 1]);
    clock.advance(14_000);
    await consistency.check('a@b', password);
    assert.equal(asked, 1);
    answer = says('accepted', 'accepted', 'accepted');
    clock.advance(2_000);
    assert.equal(await consistency.check('a@b', password), 'accepted');
    await consistency.check('a@b', { ...password, ref: 'r2' });
    assert.equal(asked, 3);
  });

  it('does not cache a failed lookup', async () => {
    let asked = 0;
    const consistency = new AppPasswordCheck(
      checking(async () => {
        asked++;
        return new Map();
      }),
      manualClock(),
    );
    await consistency.check('a@b', password);
    await consistency.check('a@b', password);
    assert.equal(asked, 2);
  });

  it('times out after three seconds, even if the backend ignores the signal', async () => {
    const consistency = new AppPasswordCheck(
      checking(() => new Promise(() => {})),
      manualClock(),
    );
    // The timer of the check does not keep the process alive, so another timer must.
    const awake = setInterval(() => {}, 1_000);
    const started = performance.now();
    assert.equal(await consistency.check('a@b', password), 'unknown');
    assert.ok(performance.now() - started < 5_000);
    clearInterval(awake);
  });
});
