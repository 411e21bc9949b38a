import { invalidRequest, notExistError } from '../platform/app-error.ts';
import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/db/database.ts';
import type { Actor, RequestOrigin } from '../platform/http/route-registry.ts';
import { hashToken } from '../platform/tokens.ts';
import type { Tables, Trx } from '../tables.ts';
import type { AuditLog } from './audit-log.ts';
import type { SecurityNotices } from './security-notices.ts';
import { activeTokens, newModelKey, type OldSecret, type TokenOwner } from './tokens.ts';

interface KeyRotationDependencies {
  readonly database: Database<Tables>;
  readonly clock: Clock;
  readonly auditLog: AuditLog;
  readonly notices: SecurityNotices;
}

interface RotatedKey {
  readonly id: number;
  readonly key: string;
  /** Unix milliseconds; null: the old secret ended at once. */
  readonly oldKeyExpiresAt: number | null;
}

/** Old secrets of one key that may work at the same time. */
const MAX_OLD_SECRETS = 10;

/**
 * Replaces the secret of a key, which keeps its id, limits and usage. The old secret works for a while, so that programs
 * can change over one after the other. Every request looks its secret up in the database, so that all processes know.
 */
export class KeyRotation {
  readonly #dependencies: KeyRotationDependencies;
  constructor(dependencies: KeyRotationDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Members rotate only their own keys: a secret acts as the member who created the key.
   *
   * @param overlapSeconds how long the old secret still works; 0: it ends at once
   * @throws AppError `not_exist`, `invalid_request`
   */
  rotate(owner: TokenOwner, id: number, overlapSeconds: number, origin: RequestOrigin): Promise<RotatedKey> {
    const { database, clock, auditLog, notices } = this.#dependencies;
    const { userId, actorId = userId } = owner;
    const key = newModelKey();
    return database.transaction(async (trx) => {
      const now = clock.now();
      const old = await lockKey(trx, owner, id);
      const oldKeyExpiresAt = overlapSeconds === 0 ? null : now + overlapSeconds * 1_000;
      if (oldKeyExpiresAt !== null) await this.#keep(trx, { ...old, expires_at: oldKeyExpiresAt }, now);
      await trx
        .updateTable('tokens')
        .set({ hash: hashToken(key.secret), hint: key.hint })
        .where('id', '=', id)
        .execute();
      await auditLog.record(trx, {
        actorId,
        ownerId: userId,
        action: 'token.rotate',
        target: `token:${id}`,
        before: { key_hint: old.hint },
        after: { key_hint: key.hint, overlap_seconds: overlapSeconds },
        ...origin,
      });
      await notices.notify(trx, actorId, 'key-rotated');
      return { id, key: key.secret, oldKeyExpiresAt };
    });
  }

  /**
   * Ends the old secrets of a key before their time.
   * @throws AppError `not_exist` for an unknown key, or one without old secrets
   */
  async endOverlap(owner: TokenOwner, id: number, actor: Actor): Promise<void> {
    const { database, clock, auditLog } = this.#dependencies;
    await database.transaction(async (trx) => {
      await lockKey(trx, owner, id);
      const ended = await trx
        .updateTable('old_key_secrets')
        .set({ expires_at: clock.now() })
        .where('token_id', '=', id)
        .where('expires_at', '>', clock.now())
        .executeTakeFirst();
      if (ended.numUpdatedRows === 0n) throw notExistError('rotation');
      await auditLog.record(trx, { ...actor, action: 'token.end-rotation', target: `token:${id}` });
    });
  }

  /** Old secrets that still work, the first to end first, by key. */
  async listOf(tokenIds: readonly number[]): Promise<ReadonlyMap<number, readonly OldSecret[]>> {
    const { database, clock } = this.#dependencies;
    if (tokenIds.length === 0) return new Map();
    const rows = await database.kysely
      .selectFrom('old_key_secrets')
      .select(['token_id', 'hint', 'expires_at', 'last_used_at'])
      .where('token_id', 'in', tokenIds)
      .where('expires_at', '>', clock.now())
      .orderBy('expires_at')
      .execute();
    return Map.groupBy(rows, (row) => row.token_id);
  }

  async recordUse(secretIds: readonly number[]): Promise<void> {
    const { database, clock } = this.#dependencies;
    await database.kysely
      .updateTable('old_key_secrets')
      .set({ last_used_at: clock.now() })
      .where('id', 'in', secretIds)
      .execute();
  }

  /** Deletes secrets that no longer work. */
  async deleteEnded(): Promise<void> {
    const { database, clock } = this.#dependencies;
    await database.kysely.deleteFrom('old_key_secrets').where('expires_at', '<=', clock.now()).execute();
  }

  async #keep(trx: Trx, old: LockedKey & { readonly expires_at: number }, now: number): Promise<void> {
    const { count } = await trx
      .selectFrom('old_key_secrets')
      .select(({ fn }) => fn.countAll<number>().as('count'))
      .where('token_id', '=', old.id)
      .where('expires_at', '>', now)
      .executeTakeFirstOrThrow();
    if (Number(count) >= MAX_OLD_SECRETS)
      throw invalidRequest(`A key has at most ${MAX_OLD_SECRETS} old secrets that still work; end them first.`);
    const { id, hash, hint, expires_at, last_used_at } = old;
    await trx.insertInto('old_key_secrets').values({ token_id: id, hash, hint, expires_at, last_used_at }).execute();
  }
}

interface LockedKey {
  readonly id: number;
  readonly hash: string;
  readonly hint: string;
  readonly last_used_at: number | null;
}

/** Locks a key of the owner until the commit. */
async function lockKey(trx: Trx, owner: TokenOwner, id: number): Promise<LockedKey> {
  const key = await activeTokens(trx, owner)
    .select(['id', 'hash', 'hint', 'last_used_at'])
    .where('id', '=', id)
    .forUpdate()
    .executeTakeFirst();
  if (key === undefined) throw notExistError('token');
  return key;
}
