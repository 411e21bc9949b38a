import type { ExpressionBuilder, Insertable, Selectable } from 'kysely';
import type { Static } from 'typebox';
import type { TOKEN_SORTS, updateToken } from '../../contract/api-tokens.ts';
import { defined } from '../../contract/objects.ts';
import type { Page, Sort } from '../../contract/responses.ts';
import { AppError, invalidRequest, notExistError } from '../platform/app-error.ts';
import { toIpRange } from '../platform/client-ip.ts';
import type { Clock } from '../platform/clock.ts';
import { BatchedLookup } from '../platform/concurrency.ts';
import type { Database } from '../platform/db/database.ts';
import { jsonTexts, nullsLast, prepareQuery, statementParts, wasChanged } from '../platform/db/sql.ts';
import { CREDENTIAL_PREFIX, hashToken, randomToken } from '../platform/tokens.ts';
import type { Ledger } from '../quota/ledger.ts';
import type { SpendLimitState } from '../quota/spend-limits.ts';
import type { Executor, Tables, Trx } from '../tables.ts';
import type { Memberships } from './memberships.ts';

/** Token settings its owner may change. Undefined keeps a setting, null removes the limit. Times are Unix seconds. */
type TokenSettings = Static<(typeof updateToken)['body']>;

/** A token in a list, without the key. Times are Unix milliseconds. */
export interface TokenListItem {
  readonly id: number;
  readonly name: string;
  readonly hint: string;
  readonly models: readonly string[];
  readonly allowedAddresses: readonly string[];
  readonly expiresAt: number | null;
  readonly createdAt: number;
  readonly lastUsedAt: number | null;
  readonly quotaLimit: number | null;
  readonly quotaUsed: number;
  readonly spendLimit: SpendLimitState | undefined;
  /** Null = unlimited. */
  readonly requestsPerMinute: number | null;
  readonly tokensPerMinute: number | null;
  readonly concurrentCalls: number | null;
  readonly concurrentTasks: number | null;
  readonly queuedTasks: number | null;
  /** Secrets that a rotation replaced and that still work. */
  readonly oldSecrets: readonly OldSecret[];
  /** The member who created it, of an organization. */
  readonly createdBy: string | null;
}

/**
 * Whose tokens: those of an account, or of an organization. `actorId`: the member who creates one; in all other calls
 * the member whose tokens alone are meant.
 */
export interface TokenOwner {
  readonly userId: number;
  readonly actorId?: number;
}

/** A secret that a rotation replaced and that still works. Times are Unix milliseconds. */
export interface OldSecret {
  readonly hint: string;
  readonly expires_at: number;
  readonly last_used_at: number | null;
}

/** A newly created token. `key` is stored only as a hash. */
interface IssuedToken {
  readonly id: number;
  readonly key: string;
}

interface TokenServiceDependencies {
  readonly database: Database<Tables>;
  readonly store: TokenStore;
  readonly clock: Clock;
  readonly ledger: Ledger;
  readonly rotation: { listOf(tokenIds: readonly number[]): Promise<ReadonlyMap<number, readonly OldSecret[]>> };
  readonly memberships: Pick<Memberships, 'lock'>;
}

/** The keys of the model paths: `sk-` tokens that users create, and the llm_token of each device sign-in. */
export class TokenService {
  readonly #dependencies: TokenServiceDependencies;

  constructor(dependencies: TokenServiceDependencies) {
    this.#dependencies = dependencies;
  }

  /** @throws invalid_request for an expiry in the past or an invalid address */
  create(owner: TokenOwner, settings: TokenSettings & { readonly name: string }): Promise<IssuedToken> {
    const { database } = this.#dependencies;
    return database.transaction(async (trx) => {
      const issued = await this.#issue(trx, 'sk', owner, settings);
      await this.#setLimits(trx, issued.id, settings);
      return issued;
    });
  }

  async list(owner: TokenOwner, page: Page, sort?: TokenSort): Promise<{ rows: TokenListItem[]; total: number }> {
    const { store } = this.#dependencies;
    const { rows, total } = await store.list(owner, page, sort);
    return { rows: await this.#toListItems(rows), total };
  }

  /**
   * One token of the caller.
   *
   * @throws AppError `not_exist` if the owner has no such token
   */
  async get(owner: TokenOwner, id: number): Promise<TokenListItem> {
    const row = await this.#dependencies.store.findOwn(owner, id);
    const [item] = await this.#toListItems(row === undefined ? [] : [row]);
    if (item === undefined) throw notExistError('token');
    return item;
  }

  async #toListItems(rows: Awaited<ReturnType<TokenStore['list']>>['rows']): Promise<TokenListItem[]> {
    const { ledger, rotation } = this.#dependencies;
    const [oldSecrets, limits, spending] = await Promise.all([
      rotation.listOf(rows.map((row) => row.id)),
      ledger.tokenLimits(rows.map((row) => row.id)),
      ledger.spendLimits(rows.map(({ id }) => ({ kind: 'token', id }))),
    ]);
    return rows.map((row) => ({
      id: row.id,
      name: row.name,
      hint: row.hint,
      models: parseList(row.models),
      allowedAddresses: parseList(row.allowed_addresses),
      expiresAt: row.expires_at,
      createdAt: row.created_at,
      lastUsedAt: row.last_used_at,
      quotaLimit: limits.get(row.id)?.limit ?? null,
      quotaUsed: limits.get(row.id)?.used ?? 0,
      spendLimit: spending.get(`token:${row.id}`),
      requestsPerMinute: row.requests_per_minute,
      tokensPerMinute: row.tokens_per_minute,
      concurrentCalls: row.concurrent_calls,
      concurrentTasks: row.concurrent_tasks,
      queuedTasks: row.queued_tasks,
      oldSecrets: oldSecrets.get(row.id) ?? [],
      createdBy: row.created_by,
    }));
  }

  /** Name and expiry (Unix milliseconds) of an unrevoked token. */
  async describe(id: number): Promise<{ readonly name: string; readonly expiresAt: number | null } | undefined> {
    const row = await this.#dependencies.store.findById(id);
    return row && { name: row.name, expiresAt: row.expires_at };
  }

  /** @throws not_exist, invalid_request for an expiry in the past or an invalid address */
  async update(owner: TokenOwner, id: number, settings: TokenSettings): Promise<void> {
    const { database, store } = this.#dependencies;
    await database.transaction(async (trx) => {
      if (!(await store.update(trx, owner, id, this.#toColumns(settings)))) throw notExistError('token');
      await this.#setLimits(trx, id, settings);
    });
  }

  async #setLimits(trx: Trx, id: number, { quota_limit: total, spend_limit: periodic }: TokenSettings): Promise<void> {
    const { ledger } = this.#dependencies;
    if (total !== undefined) await ledger.setTokenLimit(trx, id, total ?? undefined);
    if (periodic !== undefined) await ledger.setSpendLimit(trx, { kind: 'token', id }, periodic ?? undefined);
  }

  /** @throws not_exist */
  async revoke(owner: TokenOwner, id: number): Promise<void> {
    const { store, clock } = this.#dependencies;
    if (!(await store.revoke(owner, id, clock.now()))) throw notExistError('token');
  }

  /**
   * Creates the token of a device sign-in or grant, without limits of its own. `endsAt`: Unix milliseconds; null: never.
   */
  issueLlm(trx: Trx, owner: TokenOwner, name: string, endsAt: number | null = null): Promise<IssuedToken> {
    return this.#issue(trx, 'llm', owner, { name }, { expires_at: endsAt });
  }

  /** The id of an unrevoked token, by the hash of its key. */
  async findIdByHash(hash: string): Promise<number | undefined> {
    return (await this.#dependencies.store.findByHash(hash))?.id;
  }

  async #issue(
    trx: Trx,
    kind: TokenKind,
    { userId, actorId }: TokenOwner,
    settings: TokenSettings,
    columns: Pick<Partial<NewToken>, 'expires_at'> = {},
  ): Promise<IssuedToken> {
    const { store, clock, memberships } = this.#dependencies;
    // The member may have been removed since the request was authenticated.
    if (actorId !== undefined && !(await memberships.lock(trx, userId, actorId))) throw new AppError('unauthorized');
    const key = newModelKey();
    const id = await store.insert(trx, {
      name: '',
      ...this.#toColumns(settings),
      ...columns,
      kind,
      user_id: userId,
      actor_id: actorId ?? null,
      hash: hashToken(key.secret),
      hint: key.hint,
      created_at: clock.now(),
    });
    return { id, key: key.secret };
  }

  /** Settings without a case of their own go into the column of the same name. */
  #toColumns({
    expires_at,
    models,
    allowed_addresses: addresses,
    quota_limit: _quota,
    spend_limit: _spend,
    ...columns
  }: TokenSettings): Partial<ChangeableColumns> {
    if (typeof expires_at === 'number' && expires_at * 1000 <= this.#dependencies.clock.now())
      throw invalidRequest('expires_at must be in the future.', 'expires_at');
    return defined({
      ...columns,
      expires_at: typeof expires_at === 'number' ? expires_at * 1000 : expires_at,
      models: models === undefined ? undefined : toListColumn(models),
      allowed_addresses: addresses === undefined ? undefined : toListColumn(toIpRanges(addresses)),
    });
  }
}

const toListColumn = (values: readonly string[]): string | null =>
  values.length === 0 ? null : JSON.stringify([...new Set(values)]);

const parseList = (column: string | null): string[] => (column === null ? [] : (JSON.parse(column) as string[]));

function toIpRanges(texts: readonly string[]): string[] {
  return texts.map((text) => {
    const range = toIpRange(text);
    if (range === undefined)
      throw invalidRequest(`"${text}" is neither an address nor a CIDR range`, 'allowed_addresses');
    return range;
  });
}

const RATE_LIMIT_COLUMNS = [
  'requests_per_minute',
  'tokens_per_minute',
  'concurrent_calls',
  'concurrent_tasks',
  'queued_tasks',
] as const;
/** Columns that every model call reads. */
const CALL_COLUMNS = [
  'id',
  'user_id',
  'actor_id',
  'models',
  'expires_at',
  'allowed_addresses',
  ...RATE_LIMIT_COLUMNS,
] as const;

/** The columns that authenticate a model call. */
export interface TokenRow extends Pick<Selectable<Tables['tokens']>, (typeof CALL_COLUMNS)[number]> {
  /** Status of the account. */
  readonly status: number;
  /** Set if the key was given with a secret that a rotation replaced. */
  readonly oldSecret?: { readonly id: number; readonly expiresAt: number };
}

/** `sk`: created by a user; `llm`: created by a device sign-in. Both kinds of key have the same format. */
type TokenKind = 'sk' | 'llm';
type NewToken = Insertable<Tables['tokens']>;
/** The columns a token's owner may change. */
type ChangeableColumns = Pick<NewToken, Extract<keyof TokenSettings, keyof NewToken>>;

const activeWithAccounts = (db: Executor) =>
  db
    .selectFrom('tokens')
    .innerJoin('accounts', 'accounts.id', 'tokens.user_id')
    .select(CALL_COLUMNS.map((column) => `tokens.${column}` as const))
    .select('accounts.status')
    .where('tokens.revoked_at', 'is', null);

const tokenByHash = prepareQuery<Tables, { hash: string }>()((db, p) =>
  activeWithAccounts(db).where('tokens.hash', '=', p('hash')),
);
const tokenById = prepareQuery<Tables, { id: number }>()((db, p) =>
  activeWithAccounts(db).where('tokens.id', '=', p('id')),
);
/** Passes a list of any length in one parameter. */
const tokensByHashes = prepareQuery<Tables, { hashes: string }>()((db, p) =>
  activeWithAccounts(db)
    .select('tokens.hash')
    .where('tokens.hash', 'in', jsonTexts(db, p('hashes'))),
);

const tokensByOldHashes = prepareQuery<Tables, { hashes: string }>()((db, p) =>
  activeWithAccounts(db)
    .innerJoin('old_key_secrets', 'old_key_secrets.token_id', 'tokens.id')
    .select([
      'old_key_secrets.hash',
      'old_key_secrets.id as secret_id',
      'old_key_secrets.expires_at as secret_expires_at',
    ])
    .where('old_key_secrets.hash', 'in', jsonTexts(db, p('hashes'))),
);

/** A new key of the model paths, and the part of it that lists show. */
export function newModelKey(): { readonly secret: string; readonly hint: string } {
  const secret = randomToken(CREDENTIAL_PREFIX.model, 42, { checksum: true });
  return { secret, hint: secret.slice(0, CREDENTIAL_PREFIX.model.length + 4) };
}

/** Columns of a token visible to its owner. */
const LISTED_COLUMNS = [
  'id',
  'name',
  'hint',
  'models',
  'allowed_addresses',
  'expires_at',
  'created_at',
  'last_used_at',
  ...RATE_LIMIT_COLUMNS,
] as const;

/** The keys of an owner that are not revoked. */
export const activeTokens = (db: Executor, { userId, actorId }: TokenOwner) =>
  db
    .selectFrom('tokens')
    .where('user_id', '=', userId)
    .where('kind', '=', 'sk')
    .where('revoked_at', 'is', null)
    .$if(actorId !== undefined, (query) => query.where('actor_id', '=', actorId ?? 0));

/** User name of the member who created a token. */
const creatorName = (eb: ExpressionBuilder<Tables, 'tokens'>) =>
  eb.selectFrom('accounts').select('username').whereRef('accounts.id', '=', 'tokens.actor_id').as('created_by');

type TokenSort = Sort<(typeof TOKEN_SORTS)[number]>;
const NEWEST_FIRST: TokenSort = { key: 'created', descending: true };
const SORT_COLUMNS = { created: 'id', name: 'name', expires: 'expires_at', used: 'last_used_at' } as const;

/** SQL of `tokens`: the keys of the model paths. */
export class TokenStore {
  readonly #database: Database<Tables>;
  readonly #lookup: BatchedLookup<TokenRow>;

  constructor(database: Database<Tables>) {
    this.#database = database;
    this.#lookup = new BatchedLookup((hashes) => this.#findByHashes(hashes), database.snapshot);
  }

  /** Does not return revoked tokens. */
  findByHash(hash: string): Promise<TokenRow | undefined> {
    return this.#lookup.find(hash);
  }

  /** The token of a device sign-in or grant. Does not return revoked tokens. */
  findActive(id: number): Promise<TokenRow | undefined> {
    return tokenById.first(this.#database.kysely, { id });
  }

  async #findByHashes(hashes: readonly string[]): Promise<ReadonlyMap<string, TokenRow>> {
    const found = await this.#findCurrent(hashes);
    const missing = hashes.filter((hash) => !found.has(hash));
    if (missing.length === 0) return found;
    const rows = await tokensByOldHashes.all(this.#database.kysely, { hashes: JSON.stringify(missing) });
    for (const { hash, secret_id: id, secret_expires_at: expiresAt, ...row } of rows)
      found.set(hash, { ...row, oldSecret: { id, expiresAt } });
    return found;
  }

  async #findCurrent(hashes: readonly string[]): Promise<Map<string, TokenRow>> {
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
    const row = await trx.insertInto('tokens').values(token).returning('id').executeTakeFirstOrThrow();
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

  /** The account's unrevoked `sk-` tokens, newest first by default; tokens without the sorted value come last. */
  async list(owner: TokenOwner, page: Page, { key, descending }: TokenSort = NEWEST_FIRST) {
    const { kysely } = this.#database;
    const direction = descending ? 'desc' : 'asc';
    const [rows, count] = await Promise.all([
      activeTokens(kysely, owner)
        .select(LISTED_COLUMNS)
        .select(creatorName)
        .$if(key !== 'created', (query) => query.orderBy(SORT_COLUMNS[key], nullsLast(descending)))
        .orderBy('id', key === 'created' ? direction : 'desc')
        .limit(page.pageSize)
        .offset(page.offset)
        .execute(),
      activeTokens(kysely, owner)
        .select((row) => row.fn.countAll<number>().as('total'))
        .executeTakeFirstOrThrow(),
    ]);
    return { rows, total: Number(count.total) };
  }

  /** An unrevoked token of the account. */
  findOwn(owner: TokenOwner, id: number) {
    return activeTokens(this.#database.kysely, owner)
      .select(LISTED_COLUMNS)
      .select(creatorName)
      .where('id', '=', id)
      .executeTakeFirst();
  }

  /** Changes an `sk-` token of the account; returns false if there is no such token. */
  async update(trx: Trx, owner: TokenOwner, id: number, columns: Partial<ChangeableColumns>): Promise<boolean> {
    const own = await activeTokens(trx, owner).select('id').where('id', '=', id).executeTakeFirst();
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

  /** Revokes an `sk-` token of the account; returns false if there is none or it was already revoked. */
  async revoke({ userId, actorId }: TokenOwner, id: number, now: number): Promise<boolean> {
    return wasChanged(
      await this.#database.kysely
        .updateTable('tokens')
        .set({ revoked_at: now })
        .where('id', '=', id)
        .where('user_id', '=', userId)
        .$if(actorId !== undefined, (query) => query.where('actor_id', '=', actorId ?? 0))
        .where('kind', '=', 'sk')
        .where('revoked_at', 'is', null)
        .executeTakeFirst(),
    );
  }

  /** Revokes the tokens of device sign-ins, of any number. */
  async revokeLlm(trx: Trx, ids: readonly number[], now: number): Promise<void> {
    for (const part of statementParts(ids))
      await trx
        .updateTable('tokens')
        .set({ revoked_at: now })
        .where('id', 'in', part)
        .where('kind', '=', 'llm')
        .where('revoked_at', 'is', null)
        .execute();
  }

  /** Revokes the tokens a member created, of one organization or of all. */
  async revokeOfActor(trx: Trx, actorId: number, now: number, organizationId?: number): Promise<void> {
    await trx
      .updateTable('tokens')
      .set({ revoked_at: now })
      .where('actor_id', '=', actorId)
      .where('revoked_at', 'is', null)
      .$if(organizationId !== undefined, (query) => query.where('user_id', '=', organizationId ?? 0))
      .execute();
  }

  async revokeAll(trx: Trx, userId: number, now: number): Promise<void> {
    await trx
      .updateTable('tokens')
      .set({ revoked_at: now })
      .where('user_id', '=', userId)
      .where('revoked_at', 'is', null)
      .execute();
  }

  /**
   * Deletes at most `limit` tokens revoked before a time, along with their limits and budgets. @returns the number of
   * deleted tokens
   */
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
      const subjects = ids.map((id) => `token:${id}` as const);
      await trx.deleteFrom('spend_limits').where('subject', 'in', subjects).execute();
      await trx.deleteFrom('budgets').where('token_id', 'in', ids).execute();
      await trx.deleteFrom('old_key_secrets').where('token_id', 'in', ids).execute();
      await trx.deleteFrom('tokens').where('id', 'in', ids).execute();
      return rows.length;
    });
  }

  /** @param ids as many as a `PeriodicWriter` writes at once */
  async recordUse(ids: readonly number[], now: number): Promise<void> {
    await this.#database.kysely.updateTable('tokens').set({ last_used_at: now }).where('id', 'in', ids).execute();
  }
}
