import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { forEachDatabase } from '../../../test/for-each-database.ts';
import { DISABLED, ENABLED } from '../../contract/account-fields.ts';
import { manualClock } from '../platform/clock.ts';
import type { Trx } from '../tables.ts';
import { AccountStore, type NewAccount } from './account-store.ts';
import { type AuditEntry, AuditStore } from './audit-log.ts';

const PAGE = { page: 1, offset: 0, pageSize: 50 };

/** Covers which rows each query reads and each conditional write changes. */
describe('account storage', () => {
  forEachDatabase((_name, open) => {
    const start = async () => {
      const database = await open();
      const store = new AccountStore(database);
      const run = <R>(work: (trx: Trx) => Promise<R>) => database.transaction(work);
      const add = async (username: string, more: Partial<NewAccount> = {}): Promise<number> => {
        const names = { username, display_name: '', email: null, login_email: null, email_confirmed_at: null };
        const id = await run((trx) => store.insert(trx, { ...names, role: 'user', created_at: 5, ...more }));
        assert.ok(id !== undefined, username);
        return id;
      };
      return { database, store, run, add };
    };

    it('lists enabled accounts above the role user as administrators, root included', async () => {
      const { store, run, add } = await start();
      const [root, admin, off, gone, offRoot, goneRoot] = [
        await add('root', { role: 'root' }),
        await add('admin', { role: 'admin' }),
        await add('off', { role: 'admin' }),
        await add('gone', { role: 'admin' }),
        await add('off-root', { role: 'root' }),
        await add('gone-root', { role: 'root' }),
      ];
      await add('user');
      await run(async (trx) => {
        for (const id of [off, offRoot]) await store.update(trx, id, { status: DISABLED });
        for (const id of [gone, goneRoot]) await store.remove(trx, id, 9);
      });
      assert.deepEqual(await store.listAdministrators(), [root, admin]);
      assert.deepEqual(await run((trx) => store.lockRoots(trx)), [root]);
      // A removed account is also disabled; this re-enables two, so that the test covers the removal condition alone.
      const enabledAgain = { status: ENABLED };
      await run((trx) => trx.updateTable('accounts').set(enabledAgain).where('id', 'in', [gone, goneRoot]).execute());
      assert.deepEqual(await store.listAdministrators(), [root, admin]);
      assert.deepEqual(await run((trx) => store.lockRoots(trx)), [root]);
    });

    it('sends mails only to the confirmed address of an existing, enabled account', async () => {
      const { store, run, add } = await start();
      const confirmed = (name: string) => ({ login_email: `${name}@example.org`, email_confirmed_at: 7 });
      const [on, off, gone] = [
        await add('on', { ...confirmed('on'), email: 'next@example.org' }),
        await add('off', confirmed('off')),
        await add('gone', confirmed('gone')),
      ];
      const unconfirmed = await add('unconfirmed', { login_email: 'u@example.org' });
      const without = await add('without', { email_confirmed_at: 7 });
      await run(async (trx) => {
        await store.update(trx, off, { status: DISABLED });
        await trx.updateTable('accounts').set({ removed_at: 1 }).where('id', '=', gone).execute();
      });
      assert.deepEqual(await store.findMailRecipient(on), { email: 'on@example.org', timeZone: 'UTC' });
      for (const id of [off, gone, unconfirmed, without, 999])
        assert.equal(await store.findMailRecipient(id), undefined, String(id));
    });

    it('assigns a login e-mail to one account, which keeps it once confirmed', async () => {
      const { store, run, add } = await start();
      const email = 'a@example.org';
      const [first, other] = [await add('first', { email, login_email: email }), await add('other', { email })];
      const b = 'b@example.org';
      const third = 'third@example.org';
      await add('third', { email: third, login_email: third });
      const confirmed = await add('confirmed', { email: b, login_email: b, email_confirmed_at: 7 });
      assert.equal(
        await run((trx) =>
          store.insert(trx, {
            ...{ username: 'second', display_name: '', email, login_email: email },
            ...{ email_confirmed_at: null, role: 'user', created_at: 0 },
          }),
        ),
        undefined,
      );
      const isTaken = (address: string, except?: number) => run((trx) => store.isLoginEmailTaken(trx, address, except));
      assert.deepEqual(
        [await isTaken(email), await isTaken(email, other), await isTaken(email, first), await isTaken('c@x.org')],
        [true, true, false, false],
      );
      assert.equal((await store.findByLogin('A@Example.org'))?.id, first);
      assert.equal((await store.findByLogin('OTHER'))?.id, other);
      const release = (address: string, except: number) =>
        run((trx) => store.releaseUnconfirmedEmail(trx, address, except));
      await release(email, first);
      await release(b, first);
      assert.equal(await isTaken(email), true, 'its own is not taken from it');
      await release(email, other);
      assert.deepEqual([await isTaken(email), await isTaken(b), await isTaken(third)], [false, true, true]);
      assert.deepEqual(await store.findEmail(first), { email, login_email: null, email_confirmed_at: null });
      assert.deepEqual(await store.findEmail(confirmed), { email: b, login_email: b, email_confirmed_at: 7 });
    });

    it('empties a removed account of personal data once, and no query returns it', async () => {
      const { database, store, run, add } = await start();
      const { kysely } = database;
      const [gone, kept] = [await add('gone', { email: 'g@example.org' }), await add('kept')];
      for (const id of [gone, kept]) {
        await run((trx) => store.putPassword(trx, id, `hash-${id}`, 1));
        await kysely
          .insertInto('user_tokens')
          .values({ user_id: id, hash: `t${id}`, created_at: 0 })
          .execute();
      }
      assert.deepEqual(
        [await run((trx) => store.remove(trx, gone, 9)), await run((trx) => store.remove(trx, gone, 10))],
        [true, false],
      );
      for (const table of ['passwords', 'user_tokens'] as const) {
        const rows = await kysely.selectFrom(table).select('user_id').execute();
        assert.deepEqual(
          rows.map(({ user_id }) => user_id),
          [kept],
          table,
        );
      }
      const row = await kysely.selectFrom('accounts').selectAll().where('id', '=', gone).executeTakeFirstOrThrow();
      assert.deepEqual(
        [row.username, row.email, row.display_name, row.status, row.removed_at],
        [null, null, '', DISABLED, 9],
      );
      assert.deepEqual(
        [await store.find(gone), await store.findEmail(gone), await run((trx) => store.lock(trx, gone))],
        [undefined, undefined, undefined],
      );
      assert.equal(await run((trx) => store.update(trx, gone, { display_name: 'x' })), false);
      assert.deepEqual(
        (await store.list({}, PAGE)).rows.map(({ id }) => id),
        [kept],
      );
      assert.equal((await add('gone')) > kept, true, 'its user name is free again');
    });

    it('lists the accounts that match each of its filters, newest first', async () => {
      const { store, run, add } = await start();
      const [ada, bob, cyd] = [
        await add('ada', { email: 'x@example.org' }),
        await add('bob', { role: 'admin', display_name: 'Robert' }),
        await add('cyd'),
      ];
      await run((trx) => store.update(trx, cyd, { status: DISABLED }));
      const ids = async (filter: Parameters<typeof store.list>[0]) => {
        const { rows, total } = await store.list(filter, PAGE);
        assert.equal(total, rows.length);
        return rows.map(({ id }) => id);
      };
      assert.deepEqual(await ids({}), [cyd, bob, ada]);
      assert.deepEqual(await ids({ status: DISABLED }), [cyd]);
      assert.deepEqual(await ids({ status: ENABLED }), [bob, ada]);
      assert.deepEqual(await ids({ role: 'admin' }), [bob]);
      assert.deepEqual(await ids({ ids: [ada, cyd] }), [cyd, ada]);
      assert.deepEqual(await ids({ q: 'EXAMPLE' }), [ada]);
      assert.deepEqual(await ids({ q: 'robert', role: 'user' }), []);
      const second = await store.list({}, { page: 2, offset: 2, pageSize: 2 });
      assert.deepEqual([second.rows.map(({ id }) => id), second.total], [[ada], 3]);
    });

    it('records whether a password was generated, and replaces its hash only if unchanged since the check', async () => {
      const { store, run, add } = await start();
      const [ada, bob] = [await add('ada'), await add('bob')];
      await run(async (trx) => {
        await store.putPassword(trx, ada, 'same', 1, true);
        await store.putPassword(trx, bob, 'same', 1);
      });
      assert.deepEqual(await store.findPassword(ada), { hash: 'same', generated: 1 });
      await store.replacePasswordHash(ada, 'old', 'late');
      assert.equal((await store.findPassword(ada))?.hash, 'same');
      await store.replacePasswordHash(ada, 'same', 'new');
      assert.deepEqual(await store.findPassword(ada), { hash: 'new', generated: 1 });
      assert.deepEqual(await store.findPassword(bob), { hash: 'same', generated: 0 });
      await run((trx) => store.putPassword(trx, ada, 'chosen', 2));
      assert.deepEqual(await store.findPassword(ada), { hash: 'chosen', generated: 0 });
    });

    it('lets the first administrator be claimed once, and stores a time zone per account', async () => {
      const { store, run, add } = await start();
      const [ada, bob] = [await add('ada'), await add('bob')];
      assert.equal(await store.hasFirstAdministrator(), false);
      const claim = () => run((trx) => store.claimFirstAdministrator(trx));
      assert.deepEqual([await claim(), await claim(), await store.hasFirstAdministrator()], [true, false, true]);
      await store.setTimeZone(ada, 'Asia/Shanghai');
      assert.deepEqual(
        [await store.findTimeZone(ada), await store.findTimeZone(bob), await store.findTimeZone(999)],
        ['Asia/Shanghai', 'UTC', 'UTC'],
      );
    });

    it('T88: audit entries omit the parts of a URL that authenticate, and old entries are masked when read', async () => {
      const { database, run } = await start();
      const audit = new AuditStore(database, manualClock(1_000));
      const hook = 'https://api.telegram.org/bot1:TOKEN/sendMessage?chat_id=1';
      const entries: readonly AuditEntry[] = [
        { action: 'webhook.create', target: 'webhook:1', after: { url: hook, events: [] } },
        { action: 'setting.update', target: 'setting:X', before: { X: 'https://sms.example/?token=TOKEN' }, after: {} },
        {
          action: 'channel.update',
          target: 'channel:1',
          after: { base_url: 'https://user:TOKEN@up.example/v1?k=TOKEN' },
        },
      ];
      for (const entry of entries) await run((trx) => audit.record(trx, entry));
      const stored = await database.kysely.selectFrom('audit_log').selectAll().orderBy('id').execute();
      assert.deepEqual(
        stored.map(({ before, after }) => [before, after]),
        [
          [null, '{"url":"https://api.telegram.org","events":[]}'],
          ['{"X":"https://sms.example"}', '{}'],
          [null, '{"base_url":"https://up.example/v1"}'],
        ],
      );
      // In the form the previous release wrote.
      await database.kysely
        .updateTable('audit_log')
        .set({ after: JSON.stringify({ url: hook }) })
        .where('target', '=', 'webhook:1')
        .execute();
      const { rows } = await audit.list({ target: 'webhook:1' }, PAGE);
      assert.equal(rows[0]?.after, '{"url":"https://api.telegram.org"}');
    });

    it('looks up the names of targets of every kind, and names none that is gone', async () => {
      const { database, run } = await start();
      const audit = new AuditStore(database, manualClock(1_000));
      const kinds =
        'announcement beta_application channel device device-client organization package-card redemption-batch redemption-code share ticket token user webhook';
      const entries = kinds
        .split(' ')
        .map((kind): AuditEntry => ({ action: 'share.create', target: `${kind}:999`, after: { task: 'task_gone' } }));
      await run((trx) => audit.recordAll(trx, entries));
      const { rows } = await audit.list({}, { ...PAGE, pageSize: entries.length });
      assert.deepEqual(
        rows.map(({ target_name }) => target_name),
        entries.map(() => ''),
      );
    });

    it('lists audit entries by actor, action and target, and removes the oldest in batches', async () => {
      const { database, run } = await start();
      const clock = manualClock(1_000);
      const audit = new AuditStore(database, clock);
      const entries: readonly AuditEntry[] = [
        { actorId: 1, action: 'user.update', target: 'user:1' },
        { actorId: 2, action: 'user.update', target: 'user:2', before: { a: 1 }, after: null, address: '::1' },
        { action: 'user.delete', target: 'user:1', requestId: 'r' },
        { actorId: 1, action: 'user.update', target: 'user:3' },
      ];
      for (const entry of entries) {
        await run((trx) => audit.record(trx, entry));
        clock.advance(1);
      }
      const targets = async (filter: Parameters<typeof audit.list>[0], page = PAGE) => {
        const { rows, total } = await audit.list(filter, page);
        return [rows.map(({ target }) => target).join(' '), total];
      };
      assert.deepEqual(await targets({}), ['user:3 user:1 user:2 user:1', 4]);
      assert.deepEqual(await targets({ actorId: 1 }), ['user:3 user:1', 2]);
      assert.deepEqual(await targets({ action: 'user.delete' }), ['user:1', 1]);
      assert.deepEqual(await targets({ target: 'user:1', actorId: 1 }), ['user:1', 1]);
      assert.deepEqual(await targets({}, { page: 2, offset: 3, pageSize: 3 }), ['user:1', 4]);
      const [second] = (await audit.list({ actorId: 2 }, PAGE)).rows;
      assert.deepEqual(
        [second?.before, second?.after, second?.address, second?.request_id, second?.created_at],
        ['{"a":1}', 'null', '::1', '', 1_001],
      );
      assert.equal(await audit.deleteBefore(1_000, 10), 0);
      assert.equal(await audit.deleteBefore(1_003, 2), 2);
      assert.deepEqual(await targets({}), ['user:3 user:1', 2]);
      assert.equal(await audit.deleteBefore(1_003, 2), 1);
      assert.deepEqual(await targets({}), ['user:3', 1]);
    });
  });
});
