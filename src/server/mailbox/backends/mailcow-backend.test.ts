import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { forEachDatabase } from '../../../../test/for-each-database.ts';
import {
  APP_PASSWORD,
  APPLY,
  type AppPasswordRecord,
  MAILBOX,
  type MailboxFixture,
  type MailboxRecord,
  startMailboxFixture,
} from '../../../../test/mailbox/mailbox-fixture.ts';
import { startMailcow } from '../../../../test/mailbox/mailcow-fixture.ts';
import type { FaultKind } from '../../../sandbox/faults.ts';
import type { MailcowSimulator } from '../../../sandbox/mail/mailcow.ts';
import type { Sandbox } from '../../../sandbox/sandbox.ts';

/** Faults that the simulator injects, before it handles a request or after it has applied the request. */
const FAULTS: readonly FaultKind[] = [
  'reset',
  '500',
  '503',
  'html',
  'empty',
  'drop',
  'truncated',
  'malformed',
  'wrong-types',
];

forEachDatabase((_name, open) => {
  describe('mailcow', () => {
    let mailcow: MailcowSimulator;
    let sandbox: Sandbox;
    let service: MailboxFixture;
    const start = async (keyOf: (state: MailcowSimulator) => string) => {
      const fixture = await startMailcow({ keyOf });
      ({ mailcow, sandbox } = fixture);
      service = await startMailboxFixture(await open(), fixture);
    };
    const stop = async () => {
      await service.close();
      await sandbox.stop();
    };

    describe('with the right key', () => {
      before(() => start((state) => state.readWriteKey));
      after(stop);

      it('never assigns a mailbox that was created by hand', async () => {
        mailcow.addMailboxManually('grace@mail.test');
        const grace = await service.personWithPhone('grace');
        assert.match(await grace.fails(200, 'POST', APPLY, { local_part: 'grace' }), /taken/);
        assert.ok(mailcow.authenticates('grace@mail.test', 'by hand', 'imap'));
        assert.equal((await grace.ok<{ email: string }>('POST', APPLY)).email, 'grace2@mail.test');
        assert.ok(mailcow.authenticates('grace@mail.test', 'by hand', 'imap'));
      });

      it('receives the account password of a legacy mailbox', async () => {
        mailcow.addMailboxManually('old@mail.test');
        const person = await service.personWithPhone('heidi');
        await service.adoptLegacy(person, 'old');
        await service.mailbox.reconciler?.syncAccess();
        const { hash } = await service.database.kysely
          .selectFrom('passwords')
          .select('hash')
          .where('user_id', '=', person.id)
          .executeTakeFirstOrThrow();
        assert.equal(mailcow.passwordOf('old@mail.test'), `{ARGON2ID}${hash}`);
      });

      it('removes our application passwords that have no record', async () => {
        const person = await service.personWithPhone('ivan');
        const { email } = await person.ok<{ email: string }>('POST', APPLY);
        const app = await person.ok<AppPasswordRecord>('POST', APP_PASSWORD);
        mailcow.addAppPasswordManually(email, 'reelgate-0123456789abcdef0123');
        mailcow.addAppPasswordManually(email, 'my phone');
        await service.mailbox.reconciler?.removeUnknownAppPasswords();
        const names = mailcow.appNames(email);
        assert.equal(names.length, 2);
        assert.ok(names.includes('my phone'));
        assert.ok(mailcow.authenticates(email, app.app_password, 'pop3'));
      });

      for (const kind of FAULTS) {
        for (const [operation, after] of [
          ['query', 0],
          ['submit', 0],
          ['submit', 1],
        ] as const) {
          it(`${kind} at ${operation} ${after}: fails clearly or succeeds, and the next call completes the change`, async () => {
            const name = `${kind}-${operation}${after}`.replace('wrong-types', 'wrong');
            const person = await service.personWithPhone(name);
            const attempt = async (url: string, body?: unknown) => {
              const fault = sandbox.control.fault({ kind, operation, after });
              const answer = await person.send('POST', url, body);
              fault.remove();
              assert.equal(answer.status, 200, JSON.stringify(answer.body));
              if (answer.body.success === false)
                assert.match(String(answer.body.message), /cannot be reached|did not confirm/);
              return answer.body.success === true;
            };
            const email = `${name}@mail.test`;
            await attempt(APPLY, { local_part: name });
            await person.ok('POST', APPLY, { local_part: name });
            const own = await person.ok<MailboxRecord>('GET', MAILBOX);
            assert.equal(own.email, email);
            assert.ok(mailcow.authenticates(email, own.password, 'imap'));

            const first = await person.ok<AppPasswordRecord>('POST', APP_PASSWORD);
            await attempt(APP_PASSWORD);
            const record = await person.ok<AppPasswordRecord>('GET', APP_PASSWORD);
            assert.equal(record.consistent, true);
            assert.ok(mailcow.authenticates(email, record.app_password, 'smtp'));
            if (record.app_password !== first.app_password)
              assert.ok(!mailcow.authenticates(email, first.app_password, 'smtp'));
            assert.equal(mailcow.appNames(email).length, 1);
          });
        }
      }

      it('delays a request by at most three seconds when it does not answer', async () => {
        const person = await service.personWithPhone('judy');
        await person.ok('POST', APPLY);
        await person.ok('POST', APP_PASSWORD);
        sandbox.control.fault({ kind: 'hang', operation: 'query', times: Number.POSITIVE_INFINITY });
        const started = performance.now();
        assert.match(await person.fails(200, 'GET', APP_PASSWORD), /could not be asked/);
        assert.ok(performance.now() - started < 5_000);
        sandbox.control.clearFaults();
      });
    });

    it('is not called again after refusing our key, so that it does not ban our IP', async () => {
      await start(() => 'WRONG0-WRONG0-WRONG0-WRONG0-WRONG0');
      const person = await service.personWithPhone('kim');
      for (let count = 0; count < 3; count++) assert.match(await person.fails(200, 'POST', APPLY), /cannot be reached/);
      assert.equal(sandbox.control.requests().length, 1);
      assert.equal((await person.ok<MailboxRecord>('GET', MAILBOX)).has_mailbox, false);
      await stop();
    });

    it('fails clearly with a read-only key', async () => {
      await start((state) => state.readOnlyKey);
      const person = await service.personWithPhone('lea');
      assert.match(await person.fails(200, 'POST', APPLY), /cannot be reached/);
      assert.deepEqual(mailcow.addresses(), []);
      assert.equal((await person.ok<MailboxRecord>('GET', MAILBOX)).has_mailbox, false);
      await stop();
    });
  });
});
