import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { insertAccounts } from '../../../test/accounts/insert-accounts.ts';
import { forEachDatabase } from '../../../test/for-each-database.ts';
import type { Role } from '../../contract/account-fields.ts';
import { manualClock } from '../platform/clock.ts';
import type { Database } from '../platform/db/database.ts';
import type { Caller } from '../platform/http/route-registry.ts';
import type { Log } from '../platform/log.ts';
import type { Tables } from '../tables.ts';
import { CredentialRevocationWatch } from './credential-watch.ts';

const NOW = 1_000_000;
const HASH = 'ab'.repeat(32);
const SESSION = { kind: 'session', userId: 1, role: 'user', sessionId: 11 } as const;
const DEVICE = { kind: 'device', userId: 1, role: 'user', authorizationId: 12 } as const;
const MODEL = { kind: 'model', userId: 1, tokenId: 13, models: [] } as const;
const TOKEN = { kind: 'user-token', userId: 1, role: 'user', tokenHash: HASH } as const;
const ALL: readonly Caller[] = [SESSION, DEVICE, MODEL, TOKEN];

describe('credential revocation watch', () => {
  forEachDatabase((_name, open) => {
    /** Two accounts; the first has one credential of each kind, all but the management token valid for one second. */
    const start = async () => {
      const database = await open();
      const { kysely } = database;
      const expires_at = NOW + 1_000;
      await insertAccounts(database, [1, 2]);
      await kysely
        .insertInto('sessions')
        .values({
          id: 11,
          user_id: 1,
          hash: 's',
          address: '',
          user_agent: '',
          created_at: 0,
          last_used_at: 0,
          expires_at,
        })
        .execute();
      await insertDevice(database, expires_at);
      const key = { id: 13, user_id: 1, kind: 'sk', name: '', hash: 'k', hint: '', models: null } as const;
      await kysely
        .insertInto('tokens')
        .values({ ...key, created_at: 0, expires_at })
        .execute();
      await kysely.insertInto('user_tokens').values({ user_id: 1, hash: HASH, created_at: 0 }).execute();
      const clock = manualClock(NOW);
      const warnings: unknown[] = [];
      const log = { warn: (...line: unknown[]) => void warnings.push(line) } as unknown as Log;
      return { database, clock, warnings, watch: new CredentialRevocationWatch({ database, clock, log }) };
    };

    const insertDevice = async (database: Database<Tables>, access_expires_at: number) => {
      const row = {
        ...{ id: 12, user_id: 1, client_id: 'c', client_name: '', device_id: '', address: '', user_agent: '' },
        ...{ access_hash: 'a', access_expires_at, refresh_expires_at: access_expires_at, llm_token_id: 0 },
        ...{ created_at: 0, last_used_at: 0, last_address: '' },
      };
      await database.kysely.insertInto('device_authorizations').values(row).execute();
    };

    /** The credential kinds whose responses a check ends. */
    const endedOf = async (watch: CredentialRevocationWatch, callers: readonly Caller[]) => {
      const ended: string[] = [];
      const undo = callers.map((caller) => watch.watch(caller, () => ended.push(caller.kind)));
      await watch.check();
      for (const each of undo) each();
      watch.close();
      return ended.sort();
    };

    it('keeps responses open while the credential works', async () => {
      const { watch } = await start();
      assert.deepEqual(await endedOf(watch, ALL), []);
    });

    it('ends responses when their credential expires', async () => {
      const { watch, clock } = await start();
      clock.advance(999);
      assert.deepEqual(await endedOf(watch, ALL), []);
      clock.advance(1);
      assert.deepEqual(await endedOf(watch, ALL), ['device', 'model', 'session']);
    });

    it('ends responses of a banned account and of no other', async () => {
      const { watch, database } = await start();
      const ban = (id: number) =>
        database.kysely.updateTable('accounts').set({ status: 2 }).where('id', '=', id).execute();
      await ban(2);
      assert.deepEqual(await endedOf(watch, ALL), []);
      await ban(1);
      assert.deepEqual(await endedOf(watch, ALL), ['device', 'model', 'session', 'user-token']);
    });

    it('ends responses when the role they were opened with changes', async () => {
      const { watch, database } = await start();
      await database.kysely.updateTable('accounts').set({ role: 'admin' }).where('id', '=', 1).execute();
      assert.deepEqual(await endedOf(watch, ALL), ['device', 'session', 'user-token']);
      const asAdmin = ALL.map((caller) => (caller.kind === 'model' ? caller : { ...caller, role: 'admin' as Role }));
      assert.deepEqual(await endedOf(watch, asAdmin), []);
    });

    it('ends responses of a revoked key, and keeps those of a key without expiry', async () => {
      const { watch, database } = await start();
      const change = (values: { revoked_at?: number; expires_at?: null }) =>
        database.kysely.updateTable('tokens').set(values).where('id', '=', 13).execute();
      await change({ expires_at: null });
      assert.deepEqual(await endedOf(watch, [MODEL]), []);
      await change({ revoked_at: 5 });
      assert.deepEqual(await endedOf(watch, [MODEL]), ['model']);
    });

    it('ends every response of a credential once, but not completed ones', async () => {
      const { watch, database } = await start();
      const ended: string[] = [];
      const undo = ['first', 'second', 'complete'].map((name) => watch.watch(SESSION, () => ended.push(name)));
      undo[2]?.();
      undo[2]?.();
      watch.watch(DEVICE, () => ended.push('device'));
      await database.kysely.deleteFrom('sessions').execute();
      await Promise.all([watch.check(), watch.check()]);
      assert.deepEqual(ended, ['first', 'second']);
      await watch.check();
      assert.deepEqual(ended, ['first', 'second']);
      const again = watch.watch(SESSION, () => ended.push('again'));
      undo[0]?.();
      await watch.check();
      assert.deepEqual(ended, ['first', 'second', 'again'], 'the end of an old response leaves a new one watched');
      again();
      watch.close();
    });

    it('watches a response that is opened again while a check is in flight', async () => {
      const { watch, database } = await start();
      const ended: string[] = [];
      const first = watch.watch(SESSION, () => ended.push('first'));
      await database.kysely.deleteFrom('sessions').execute();
      const check = watch.check();
      first();
      watch.watch(SESSION, () => ended.push('second'));
      await check;
      assert.deepEqual(ended, [], 'the first is complete, and the second was not part of the check');
      await watch.check();
      assert.deepEqual(ended, ['second']);
      watch.close();
    });

    it('checks periodically while any response is open', async () => {
      const { watch, database } = await start();
      const ended: string[] = [];
      const first = watch.watch(SESSION, () => ended.push('complete'));
      const other = watch.watch(DEVICE, () => ended.push('device'));
      const end = new Promise<void>((resolve) => watch.watch(SESSION, resolve));
      first();
      other();
      await database.kysely.deleteFrom('sessions').execute();
      await end;
      assert.deepEqual(ended, []);
      watch.close();
    });

    it('keeps responses open while the database is unreachable', async () => {
      const { watch, database, warnings } = await start();
      const ended: string[] = [];
      watch.watch(SESSION, () => ended.push('session'));
      await database.kysely.schema.dropTable('sessions').execute();
      await watch.check();
      await watch.check();
      watch.close();
      assert.deepEqual(ended, []);
      assert.equal(warnings.length, 2, 'each check asks anew');
    });

    it('finds a caller again by a reference that does not reveal the credential', async () => {
      const { watch, clock } = await start();
      for (const caller of ALL) {
        const reference = watch.referenceOf(caller);
        assert.deepEqual(await watch.resolve(reference, 1), caller);
        assert.equal(await watch.resolve(reference, 2), undefined, 'of another account');
      }
      assert.equal(watch.referenceOf(TOKEN), `t${HASH.slice(0, 22)}`);
      for (const junk of [
        '',
        's',
        's0',
        's-1',
        's1.5',
        's12',
        'd11',
        'x11',
        'x12',
        'm13',
        `t${HASH.slice(0, 21)}`,
        `t${HASH.slice(0, 23)}`,
        `t${'0'.repeat(22)}`,
      ])
        assert.equal(await watch.resolve(junk, 1), undefined, junk);
      clock.advance(1_000);
      for (const caller of [SESSION, DEVICE, MODEL])
        assert.equal(await watch.resolve(watch.referenceOf(caller), 1), undefined, 'ended');
    });

    it("resolves a reference only to the account's own management token", async () => {
      const { watch, database } = await start();
      const other = 'cd'.repeat(32);
      await database.kysely.insertInto('user_tokens').values({ user_id: 2, hash: other, created_at: 0 }).execute();
      const second = { ...TOKEN, userId: 2, tokenHash: other };
      assert.deepEqual(await watch.resolve(watch.referenceOf(TOKEN), 1), TOKEN);
      assert.deepEqual(await watch.resolve(watch.referenceOf(second), 2), second);
      assert.equal(await watch.resolve(watch.referenceOf(second), 1), undefined);
    });

    it('checks more credentials than fit into one query', async () => {
      const { watch } = await start();
      const many = Array.from({ length: 1_001 }, (_, index) => ({ ...SESSION, sessionId: 100 + index }));
      assert.equal((await endedOf(watch, [...many, SESSION])).length, 1_001);
    });
  });
});
