import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, it } from 'node:test';
import { startSandbox } from '../../src/sandbox/kit.ts';
import { type MailcowState, makeMailcow } from '../../src/sandbox/mailcow.ts';
import { makeVault } from '../../src/server/platform/secrets.ts';
import { forEachDatabase } from '../databases.ts';
import { type MailService, mailConfig, startMailService } from './service.ts';

forEachDatabase((_name, open) => {
  const undo: (() => Promise<void>)[] = [];
  after(async () => {
    for (const action of undo) await action();
  });

  /** Two processes' worth of services on one database and one mailcow. */
  const pair = async (): Promise<{ mailcow: MailcowState; one: MailService; two: MailService }> => {
    const mailcow = makeMailcow('mail.test');
    const sandbox = await startSandbox({ simulators: [mailcow.simulator], latencyMs: 3 });
    const config = mailConfig({
      mailBackend: 'mailcow',
      mailMailcowUrl: sandbox.url('mailcow'),
      mailMailcowKey: mailcow.readWriteKey,
    });
    const vault = makeVault(randomBytes(32));
    const database = await open();
    const one = await startMailService(database, { config, vault });
    const two = await startMailService(database, { config, vault });
    undo.push(
      () => one.close(),
      () => two.close(),
      () => sandbox.stop(),
    );
    return { mailcow, one, two };
  };
  const trace = { actorId: 1 };
  const succeeded = <T>(outcomes: readonly PromiseSettledResult<T>[]): T[] =>
    outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));

  it('many applications of one account at once make one mailbox', async () => {
    const { mailcow, one, two } = await pair();
    const ada = await one.bound('ada');
    const outcomes = await Promise.allSettled(
      ['ada', 'ada.l', 'lovelace', 'countess'].flatMap((name) =>
        [one, two].map((service) => service.mailbox.mailboxes.apply(ada.id, name, trace)),
      ),
    );
    const emails = new Set(succeeded(outcomes).map((made) => made.email));
    assert.equal(emails.size, 1);
    assert.deepEqual(mailcow.addresses(), [...emails]);
    const own = await one.mailbox.mailboxes.own(ada.id, trace);
    assert.ok(own !== undefined && mailcow.admits(own.email, own.password, 'imap'));
  });

  it('accounts that want one name at once do not share it', async () => {
    const { mailcow, one, two } = await pair();
    const people = await Promise.all(Array.from({ length: 6 }, (_, index) => one.bound(`person${index}`)));
    const outcomes = await Promise.allSettled(
      people.map(({ id }, index) => (index % 2 === 0 ? one : two).mailbox.mailboxes.apply(id, 'ada', trace)),
    );
    assert.equal(succeeded(outcomes).length, 1);
    assert.deepEqual(mailcow.addresses(), ['ada@mail.test']);
  });

  it('regenerations at once leave the one password that is shown', async () => {
    const { mailcow, one, two } = await pair();
    const ada = await one.bound('ada');
    await one.mailbox.mailboxes.apply(ada.id, 'ada', trace);
    const outcomes = await Promise.allSettled(
      Array.from({ length: 10 }, (_, index) =>
        (index % 2 === 0 ? one : two).mailbox.mailboxes.regenerate(ada.id, trace),
      ),
    );
    assert.ok(succeeded(outcomes).length >= 1);
    one.clock.advance(60_000);
    await one.mailbox.reconciler?.finishAll();
    await one.mailbox.reconciler?.sweep();
    const shown = await two.mailbox.mailboxes.appPassword(ada.id, trace);
    assert.equal(shown?.consistent, true);
    assert.equal(mailcow.appNames('ada@mail.test').length, 1);
    const admitted = succeeded(outcomes).filter((made) => mailcow.admits(made.email, made.password ?? '', 'imap'));
    assert.ok(admitted.every((made) => made.password === shown?.password));
  });
});
