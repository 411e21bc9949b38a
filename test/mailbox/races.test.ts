import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, it } from 'node:test';
import type { MailcowSimulator } from '../../src/sandbox/mail/mailcow.ts';
import { createVault } from '../../src/server/platform/vault.ts';
import { forEachDatabase } from '../for-each-database.ts';
import { type MailboxFixture, startMailboxFixture } from './mailbox-fixture.ts';
import { startMailcow } from './mailcow-fixture.ts';

forEachDatabase((_name, open) => {
  const undo: (() => Promise<void>)[] = [];
  after(async () => {
    for (const action of undo) await action();
  });

  /** Two services, standing for two processes, on one database and one mailcow. */
  const pair = async (): Promise<{ mailcow: MailcowSimulator; one: MailboxFixture; two: MailboxFixture }> => {
    const { mailcow, sandbox, config } = await startMailcow({ latencyMs: 3 });
    const vault = createVault(randomBytes(32));
    const database = await open();
    const one = await startMailboxFixture(database, { config, vault });
    const two = await startMailboxFixture(database, { config, vault });
    undo.push(
      () => one.close(),
      () => two.close(),
      () => sandbox.stop(),
    );
    return { mailcow, one, two };
  };
  const of = ({ id }: { readonly id: number }) => ({ userId: id, actor: { actorId: 1 } });
  const succeeded = <T>(outcomes: readonly PromiseSettledResult<T>[]): T[] =>
    outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));

  it('concurrent applications of one account create one mailbox', async () => {
    const { mailcow, one, two } = await pair();
    const ada = await one.personWithPhone('ada');
    const outcomes = await Promise.allSettled(
      ['ada', 'ada.l', 'lovelace', 'countess'].flatMap((name) =>
        [one, two].map((service) => service.mailbox.mailboxes.apply(of(ada), name)),
      ),
    );
    const emails = new Set(succeeded(outcomes).map((made) => made.email));
    assert.equal(emails.size, 1);
    assert.deepEqual(mailcow.addresses(), [...emails]);
    const own = await one.mailbox.mailboxes.getOwn(of(ada));
    assert.ok(own !== undefined && mailcow.authenticates(own.email, own.password, 'imap'));
  });

  it('accounts that apply for one address concurrently do not share it', async () => {
    const { mailcow, one, two } = await pair();
    const people = await Promise.all(Array.from({ length: 6 }, (_, index) => one.personWithPhone(`person${index}`)));
    const outcomes = await Promise.allSettled(
      people.map((person, index) => (index % 2 === 0 ? one : two).mailbox.mailboxes.apply(of(person), 'ada')),
    );
    assert.equal(succeeded(outcomes).length, 1);
    assert.deepEqual(mailcow.addresses(), ['ada@mail.test']);
  });

  it('concurrent regenerations leave exactly the displayed password', async () => {
    const { mailcow, one, two } = await pair();
    const ada = await one.personWithPhone('ada');
    await one.mailbox.mailboxes.apply(of(ada), 'ada');
    const outcomes = await Promise.allSettled(
      Array.from({ length: 10 }, (_, index) =>
        (index % 2 === 0 ? one : two).mailbox.mailboxes.regenerateAppPassword(of(ada)),
      ),
    );
    assert.ok(succeeded(outcomes).length >= 1);
    one.clock.advance(60_000);
    await one.mailbox.reconciler?.finishPendingMailboxes();
    await one.mailbox.reconciler?.removeUnknownAppPasswords();
    const shown = await two.mailbox.mailboxes.getAppPassword(of(ada));
    assert.equal(shown?.consistent, true);
    assert.equal(mailcow.appNames('ada@mail.test').length, 1);
    const admitted = succeeded(outcomes).filter((made) =>
      mailcow.authenticates(made.email, made.password ?? '', 'imap'),
    );
    assert.ok(admitted.every((made) => made.password === shown?.password));
  });
});
