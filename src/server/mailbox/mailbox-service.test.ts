import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { forEachDatabase } from '../../../test/for-each-database.ts';
import { manualClock } from '../platform/clock.ts';
import { openLog } from '../platform/log.ts';
import type { MailBackend } from './mail-backend.ts';
import {
  adoptLegacyMailbox,
  candidateLocalParts,
  isLocalPart,
  isReserved,
  type MailboxService,
  Reconciler,
  withoutSeparators,
} from './mailbox-service.ts';
import { MailboxStore } from './mailbox-store.ts';

/** The rule of the contract, implemented independently for comparison. */
const CONTRACT = (text: string) =>
  [...text].length >= 3 && [...text].length <= 30 && /^[a-z0-9._-]*$/.test(text) && !/^[.-]|[.-]$/.test(text);

describe('local parts', () => {
  it('follow the contract, but never contain two dots in a row', () => {
    for (const text of ['___', '_.-_', 'a_b']) assert.ok(isLocalPart(text), text);
    const near = fc.string({ unit: fc.constantFrom(...'ab9._-+@A é\0\r\n"/%*'), maxLength: 34 });
    fc.assert(
      fc.property(fc.oneof(near, fc.string({ unit: 'binary', maxLength: 40 })), (text) => {
        assert.equal(isLocalPart(text), CONTRACT(text) && !text.includes('..'));
      }),
      { numRuns: 5_000 },
    );
  });

  it('are derived from any user name, valid and not reserved', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 40 }), fc.nat(), (username, id) => {
        const names = candidateLocalParts(username, id).take(30).toArray();
        assert.equal(new Set(names).size, 30);
        for (const name of names) assert.ok(isLocalPart(name) && !isReserved(name), name);
      }),
    );
  });

  it('keep the user name if it is valid', () => {
    const first = (username: string) => candidateLocalParts(username, 7).take(2).toArray();
    assert.deepEqual(first('ada'), ['ada', 'ada2']);
    assert.deepEqual(first('-ada-'), ['ada', 'ada2']);
    assert.deepEqual(first('___'), ['user7', 'user72']);
    assert.deepEqual(first('admin'), ['admin2', 'admin3']);
    assert.deepEqual(first('x'.repeat(30)), ['x'.repeat(30), `${'x'.repeat(29)}2`]);
  });

  it('are found immediately for user names of which every variant is reserved', () => {
    for (const username of ['owner-1', 'owner_x', 'OWNER.me'])
      assert.deepEqual(candidateLocalParts(username, 7).take(2).toArray(), ['user7', 'user72']);
    assert.ok(candidateLocalParts('ada', 7).toArray().length < 1_000);
  });

  it('are reserved together with similar-looking names', () => {
    for (const name of ['postmaster', 'post.master', 'p-o-s-t-m-a-s-t-e-r', 'abuse', 'admin', 'ssladmin', 'no_reply'])
      assert.ok(isReserved(name), name);
    for (const name of ['news-request', 'list-owner', 'sales']) assert.ok(isReserved(name), name);
    for (const name of ['ada', 'administer', 'infobox']) assert.ok(!isReserved(name), name);
    assert.equal(withoutSeparators('a.d_a-1'), 'ada1');
    assert.notEqual(withoutSeparators('___'), withoutSeparators('____'));
  });
});

forEachDatabase((_name, open) => {
  it('gives the mail server the latest access, also when two processes give theirs at once', async () => {
    const database = await open();
    const { kysely } = database;
    const person = { username: 'eve', display_name: 'Eve', role: 'user', status: 1, created_at: 1 } as const;
    const { id: userId } = await kysely.insertInto('accounts').values(person).returning('id').executeTakeFirstOrThrow();
    const clock = manualClock();
    await adoptLegacyMailbox({ database, clock, domain: 'mail.test' }, userId, 'eve');
    const store = new MailboxStore(database);
    let isActive = true;
    const reconcilerOf = (ensureMailbox: MailBackend['ensureMailbox']) =>
      new Reconciler({
        store,
        clock,
        backend: { ensureMailbox, endSessions: async () => {} } as unknown as MailBackend,
        mailboxes: undefined as unknown as MailboxService,
        log: openLog('silent'),
      });
    const isReading = Promise.withResolvers<void>();
    const isDisabled = Promise.withResolvers<void>();
    // Reads the account before it is disabled, but the mail server receives this last.
    const early = reconcilerOf(async ({ active }) => {
      isReading.resolve();
      await isDisabled.promise;
      isActive = active;
    }).syncAccess();
    await isReading.promise;
    await kysely.updateTable('accounts').set({ status: 2 }).where('id', '=', userId).execute();
    await reconcilerOf(async ({ active }) => {
      isActive = active;
      isDisabled.resolve();
      await early;
    }).syncAccess();
    assert.equal(isActive, true);
    await reconcilerOf(async ({ active }) => {
      isActive = active;
    }).syncAccess();
    assert.equal(isActive, false);
  });
});
