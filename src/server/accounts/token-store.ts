import type { Kysely } from 'kysely';
import type { Page } from '../../contract/schemas.ts';
import { prepare } from '../platform/db/prepared.ts';
import type { Tables } from '../tables.ts';

type Executor = Kysely<Tables>;

export interface TokenRow {
  readonly id: number;
  readonly user_id: number;
  /** JSON list; null = all. */
  readonly models: string | null;
  readonly expires_at: number | null;
  readonly status: number;
}

/** The one read of a model call's authentication; revoked tokens do not exist for it. */
const byHash = prepare<Tables, { hash: string }>()((db, p) =>
  db
    .selectFrom('tokens')
    .innerJoin('accounts', 'accounts.id', 'tokens.user_id')
    .select(['tokens.id', 'tokens.user_id', 'tokens.models', 'tokens.expires_at', 'accounts.status'])
    .where('tokens.hash', '=', p('hash'))
    .where('tokens.revoked_at', 'is', null),
);

export const findToken = (db: Executor, hash: string): Promise<TokenRow | undefined> => byHash.first(db, { hash });

export interface NewToken {
  readonly kind: 'sk' | 'llm';
  readonly user_id: number;
  readonly name: string;
  readonly hash: string;
  readonly hint: string;
  readonly models: string | null;
  readonly expires_at: number | null;
  readonly created_at: number;
}

export async function insertToken(db: Executor, token: NewToken): Promise<number> {
  const row = await db
    .insertInto('tokens')
    .values({ ...token, last_used_at: null, revoked_at: null })
    .returning('id')
    .executeTakeFirstOrThrow();
  return row.id;
}

const live = (db: Executor, userId: number) =>
  db.selectFrom('tokens').where('user_id', '=', userId).where('kind', '=', 'sk').where('revoked_at', 'is', null);

/** Own `sk-` tokens that were not revoked, newest first. */
export async function listTokens(db: Executor, userId: number, page: Page) {
  const [rows, count] = await Promise.all([
    live(db, userId)
      .select(['id', 'name', 'hint', 'models', 'expires_at', 'created_at', 'last_used_at'])
      .orderBy('id', 'desc')
      .limit(page.pageSize)
      .offset(page.offset)
      .execute(),
    live(db, userId)
      .select((row) => row.fn.countAll<number>().as('total'))
      .executeTakeFirstOrThrow(),
  ]);
  return { rows, total: Number(count.total) };
}

/** Changes an own `sk-` token; answers whether there is one. */
export async function updateToken(
  db: Executor,
  userId: number,
  id: number,
  change: Partial<Pick<NewToken, 'name' | 'models' | 'expires_at'>>,
): Promise<boolean> {
  const own = await live(db, userId).select('id').where('id', '=', id).executeTakeFirst();
  if (own === undefined) return false;
  if (Object.keys(change).length === 0) return true;
  const result = await db
    .updateTable('tokens')
    .set(change)
    .where('id', '=', id)
    .where('revoked_at', 'is', null)
    .executeTakeFirst();
  return result.numUpdatedRows === 1n;
}

/** Answers whether this call revoked it. */
export async function revokeToken(
  db: Executor,
  userId: number,
  id: number,
  kind: NewToken['kind'],
  now: number,
): Promise<boolean> {
  const result = await db
    .updateTable('tokens')
    .set({ revoked_at: now })
    .where('id', '=', id)
    .where('user_id', '=', userId)
    .where('kind', '=', kind)
    .where('revoked_at', 'is', null)
    .executeTakeFirst();
  return result.numUpdatedRows === 1n;
}

export const revokeTokensOf = (db: Executor, userId: number, now: number): Promise<unknown> =>
  db
    .updateTable('tokens')
    .set({ revoked_at: now })
    .where('user_id', '=', userId)
    .where('revoked_at', 'is', null)
    .execute();

export const noteUse = (db: Executor, ids: readonly number[], at: number): Promise<unknown> =>
  db
    .updateTable('tokens')
    .set({ last_used_at: at })
    .where('id', 'in', [...ids])
    .execute();
