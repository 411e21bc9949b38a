import { LRUCache } from 'lru-cache';
import type { TOKEN_SORTS } from '../../../contract/api-tokens.ts';
import type { Sort } from '../../../contract/list-sorting.ts';
import type { Page } from '../../../contract/success-bodies-and-pagination.ts';
import { upToEntries } from '../../platform/cache.ts';
import { BatchedLookup } from '../../platform/concurrency.ts';
import type { Database } from '../../platform/db/database.ts';
import { prepareQuery } from '../../platform/db/prepared-query.ts';
import { hasConcurrentWriters, jsonTexts, nullsLast, wasChanged } from '../../platform/db/sql.ts';
import type { Executor, Tables, Trx } from '../../tables.ts';

/** What authenticates a model call. */
export interface TokenRow {
  readonly id: number;
  readonly user_id: number;
  /** JSON list; null = all. */
  readonly models: string | null;
  readonly expires_at: number | null;
  /** JSON list of IP addresses and CIDR ranges; null = any. */
  readonly allowed_addresses: string | null;
  readonly requests_per_minute: number | null;
  readonly tokens_per_minute: number | null;
  readonly concurrent_calls: number | null;
  readonly concurrent_tasks: number | null;
  /** Status of the account. */
  readonly status: number;
}

/** `sk`: created by a user; `llm`: created by a device sign-in. The keys themselves have the same format. */
export type TokenKind = 'sk' | 'llm';

export interface NewToken {
  readonly kind: TokenKind;
  readonly user_id: number;
  readonly name: string;
  readonly hash: string;
  readonly hint: string;
  readonly models: string | null;
  readonly allowed_addresses: string | null;
  readonly requests_per_minute: number | null;
  readonly tokens_per_minute: number | null;
  readonly concurrent_calls: number | null;
  readonly concurrent_tasks: number | null;
  readonly expires_at: number | null;
  readonly created_at: number;
}

/** What the owner of a token may change. */
export type ChangeableColumns = Omit<NewToken, 'kind' | 'user_id' | 'hash' | 'hint' | 'created_at'>;

const RATE_LIMIT_COLUMNS = [
  'requests_per_minute',
  'tokens_per_minute',
  'concurrent_calls',
  'concurrent_tasks',
] as const;

const IDS_PER_UPDATE = 500;
const MAX_KNOWN_TOKENS = 10_000;

const activeWithAccounts = (db: Executor) =>
  db
    .selectFrom('tokens')
    .innerJoin('accounts', 'accounts.id', 'tokens.user_id')
    .select([
      'tokens.id',
      'tokens.user_id',
      'tokens.models',
      'tokens.expires_at',
      'tokens.allowed_addresses',
      'tokens.requests_per_minute',
      'tokens.tokens_per_minute',
      'tokens.concurrent_calls',
      'tokens.concurrent_tasks',
      'accounts.status',
    ])
    .where('tokens.revoked_at', 'is', null);

const tokenByHash = prepareQuery<Tables, { hash: string }>()((db, p) =>
  activeWithAccounts(db).where('tokens.hash', '=', p('hash')),
);
/** A list of any length in one parameter. */
const tokensByHashes = prepareQuery<Tables, { hashes: string }>()((db, p) =>
  activeWithAccounts(db)
    .select('tokens.hash')
    .where('tokens.hash', 'in', jsonTexts(db, p('hashes'))),
);

const activeTokens = (db: Executor, userId: number) =>
  db.selectFrom('tokens').where('user_id', '=', userId).where('kind', '=', 'sk').where('revoked_at', 'is', null);

export type TokenSort = Sort<(typeof TOKEN_SORTS)[number]>;
const NEWEST_FIRST: TokenSort = { key: 'created', descending: true };
const SORT_COLUMNS = { created: 'id', name: 'name', expires: 'expires_at', used: 'last_used_at' } as const;

/** SQL of `tokens`: the keys of the model paths. */
export class TokenStore {
  readonly #database: Database<Tables>;
  readonly #lookup: BatchedLookup<TokenRow>;
  readonly #hasRoundTrips: boolean;
  readonly #changes: (() => number) | undefined;
  readonly #known = new LRUCache<string, TokenRow>(upToEntries(MAX_KNOWN_TOKENS));
  #knownSince = -1;

  constructor(database: Database<Tables>) {
    this.#database = database;
    this.#changes = database.watch?.(['tokens', 'accounts']);
    this.#hasRoundTrips = hasConcurrentWriters(database.kysely);
    this.#lookup = new BatchedLookup((hashes) => this.#findByHashes(hashes));
  }

  /** The only read of a model call's authentication. Revoked tokens are not found. */
  findByHash(hash: string): Promise<TokenRow | undefined> {
    return this.#hasRoundTrips ? this.#lookup.find(hash) : this.#findUnchanged(hash);
  }

  /** On SQLite a row is read again only once a token or an account may have changed. */
  async #findUnchanged(hash: string): Promise<TokenRow | undefined> {
    const changes = this.#changes?.() ?? 0;
    if (changes !== this.#knownSince) {
      this.#known.clear();
      this.#knownSince = changes;
    }
    const known = this.#known.get(hash);
    if (known !== undefined) return known;
    const row = await tokenByHash.first(this.#database.kysely, { hash });
    if (row !== undefined && changes === this.#changes?.()) this.#known.set(hash, row);
    return row;
  }

  async #findByHashes(hashes: readonly string[]): Promise<ReadonlyMap<string, TokenRow>> {
    const { kysely } = this.#database;
    const [hash, second] = hashes;
    if (hash !== undefined && second === undefined) {
      const row = await tokenByHash.first(kysely, { hash });
      return new Map(row && [[hash, row]]);
    }
    const rows = await tokensByHashes.all(kysely, { hashes: JSON.stringify(hashes) });
    return new Map(rows.map(({ hash: of, ...row }) => [of, row]));
  }

  async insert(trx: Trx, token: NewToken): Promise<number> {
    const row = await trx
      .insertInto('tokens')
      .values({ ...token, last_used_at: null, revoked_at: null })
      .returning('id')
      .executeTakeFirstOrThrow();
    return row.id;
  }

  findById(id: number): Promise<{ readonly name: string; readonly expires_at: number | null } | undefined> {
    return this.#database.kysely
      .selectFrom('tokens')
      .select(['name', 'expires_at'])
      .where('id', '=', id)
      .where('revoked_at', 'is', null)
      .executeTakeFirst();
  }

  /** The account's own `sk-` tokens that were not revoked, newest first unless sorted; those without the value are last. */
  async list(userId: number, page: Page, { key, descending }: TokenSort = NEWEST_FIRST) {
    const { kysely } = this.#database;
    const direction = descending ? 'desc' : 'asc';
    const [rows, count] = await Promise.all([
      activeTokens(kysely, userId)
        .select(['id', 'name', 'hint', 'models', 'allowed_addresses', 'expires_at', 'created_at', 'last_used_at'])
        .select(RATE_LIMIT_COLUMNS)
        .$if(key !== 'created', (query) => query.orderBy(SORT_COLUMNS[key], nullsLast(descending)))
        .orderBy('id', key === 'created' ? direction : 'desc')
        .limit(page.pageSize)
        .offset(page.offset)
        .execute(),
      activeTokens(kysely, userId)
        .select((row) => row.fn.countAll<number>().as('total'))
        .executeTakeFirstOrThrow(),
    ]);
    return { rows, total: Number(count.total) };
  }

  /** Changes an own `sk-` token; false where there is no such token. */
  async update(trx: Trx, userId: number, id: number, columns: Partial<ChangeableColumns>): Promise<boolean> {
    const own = await activeTokens(trx, userId).select('id').where('id', '=', id).executeTakeFirst();
    if (own === undefined) return false;
    if (Object.keys(columns).length === 0) return true;
    return wasChanged(
      await trx
        .updateTable('tokens')
        .set(columns)
        .where('id', '=', id)
        .where('revoked_at', 'is', null)
        .executeTakeFirst(),
    );
  }

  /** False where there is no such token or it was revoked before. */
  async revoke(db: Executor, userId: number, id: number, kind: TokenKind, now: number): Promise<boolean> {
    return wasChanged(
      await db
        .updateTable('tokens')
        .set({ revoked_at: now })
        .where('id', '=', id)
        .where('user_id', '=', userId)
        .where('kind', '=', kind)
        .where('revoked_at', 'is', null)
        .executeTakeFirst(),
    );
  }

  /** Revokes an own `sk-` token outside of a transaction. */
  revokeOwn(userId: number, id: number, now: number): Promise<boolean> {
    return this.revoke(this.#database.kysely, userId, id, 'sk', now);
  }

  async revokeAll(trx: Trx, userId: number, now: number): Promise<void> {
    await trx
      .updateTable('tokens')
      .set({ revoked_at: now })
      .where('user_id', '=', userId)
      .where('revoked_at', 'is', null)
      .execute();
  }

  /** Deletes at most `limit` tokens revoked before a time, with their limits. @returns how many */
  deleteRevokedBefore(before: number, limit: number): Promise<number> {
    return this.#database.transaction(async (trx) => {
      const rows = await trx
        .selectFrom('tokens')
        .select('id')
        .where('revoked_at', 'is not', null)
        .where('revoked_at', '<', before)
        .orderBy('revoked_at')
        .limit(limit)
        .execute();
      if (rows.length === 0) return 0;
      const ids = rows.map(({ id }) => id);
      await trx.deleteFrom('token_limits').where('token_id', 'in', ids).execute();
      await trx.deleteFrom('tokens').where('id', 'in', ids).execute();
      return rows.length;
    });
  }

  async recordUse(ids: readonly number[], now: number): Promise<void> {
    for (let start = 0; start < ids.length; start += IDS_PER_UPDATE) {
      await this.#database.kysely
        .updateTable('tokens')
        .set({ last_used_at: now })
        .where('id', 'in', ids.slice(start, start + IDS_PER_UPDATE))
        .execute();
    }
  }
}
