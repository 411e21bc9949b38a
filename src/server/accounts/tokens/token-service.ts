import { defined } from '../../../contract/omit-undefined.ts';
import type { Page } from '../../../contract/success-bodies-and-pagination.ts';
import { invalidRequest, notExistError } from '../../platform/app-error.ts';
import { toIpRange } from '../../platform/client-ip.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Database } from '../../platform/db/database.ts';
import { hashToken, randomToken } from '../../platform/tokens.ts';
import type { Ledger } from '../../quota/ledger.ts';
import type { Tables, Trx } from '../../tables.ts';
import { CREDENTIAL_PREFIX } from '../credential-prefixes.ts';
import type { ChangeableColumns, TokenKind, TokenSort, TokenStore } from './token-store.ts';

/** What a token's owner may set. Undefined leaves it, null removes the limit. Times are Unix seconds. */
export interface TokenSettings {
  readonly name?: string | undefined;
  readonly expires_at?: number | null | undefined;
  readonly quota_limit?: number | null | undefined;
  /** Empty = all. */
  readonly models?: readonly string[] | undefined;
  /** IP addresses and CIDR ranges; empty = any. */
  readonly allowed_addresses?: readonly string[] | undefined;
  readonly requests_per_minute?: number | null | undefined;
  readonly tokens_per_minute?: number | null | undefined;
  readonly concurrent_calls?: number | null | undefined;
  readonly concurrent_tasks?: number | null | undefined;
}

/** A token in a list: everything but the key. Times are Unix milliseconds. */
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
  /** Null = any number. */
  readonly requestsPerMinute: number | null;
  readonly tokensPerMinute: number | null;
  readonly concurrentCalls: number | null;
  readonly concurrentTasks: number | null;
}

/** A token just made. `key` is stored nowhere. */
export interface IssuedToken {
  readonly id: number;
  readonly key: string;
}

export interface TokenServiceDependencies {
  readonly database: Database<Tables>;
  readonly store: TokenStore;
  readonly clock: Clock;
  readonly ledger: Ledger;
}

/** The keys of the model paths: `sk-` tokens that users create, and the llm_token of each device sign-in. */
export class TokenService {
  readonly #dependencies: TokenServiceDependencies;

  constructor(dependencies: TokenServiceDependencies) {
    this.#dependencies = dependencies;
  }

  /** @throws invalid_request for an end in the past, or what is no address */
  create(userId: number, settings: TokenSettings & { readonly name: string }): Promise<IssuedToken> {
    const { database, ledger } = this.#dependencies;
    return database.transaction(async (trx) => {
      const issued = await this.#issue(trx, 'sk', userId, settings);
      if (typeof settings.quota_limit === 'number') await ledger.setTokenLimit(trx, issued.id, settings.quota_limit);
      return issued;
    });
  }

  async list(userId: number, page: Page, sort?: TokenSort): Promise<{ rows: TokenListItem[]; total: number }> {
    const { store, ledger } = this.#dependencies;
    const { rows, total } = await store.list(userId, page, sort);
    const limits = await ledger.tokenLimits(rows.map((row) => row.id));
    const items = rows.map((row) => ({
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
      requestsPerMinute: row.requests_per_minute,
      tokensPerMinute: row.tokens_per_minute,
      concurrentCalls: row.concurrent_calls,
      concurrentTasks: row.concurrent_tasks,
    }));
    return { rows: items, total };
  }

  /** Name and end (Unix milliseconds) of a token that was not revoked. */
  async describe(id: number): Promise<{ readonly name: string; readonly expiresAt: number | null } | undefined> {
    const row = await this.#dependencies.store.findById(id);
    return row && { name: row.name, expiresAt: row.expires_at };
  }

  /** @throws not_exist, invalid_request for an end in the past, or what is no address */
  async update(userId: number, id: number, settings: TokenSettings): Promise<void> {
    const { database, store, ledger } = this.#dependencies;
    await database.transaction(async (trx) => {
      if (!(await store.update(trx, userId, id, this.#toColumns(settings)))) throw notExistError('token');
      if (settings.quota_limit !== undefined) await ledger.setTokenLimit(trx, id, settings.quota_limit ?? undefined);
    });
  }

  /** @throws not_exist */
  async revoke(userId: number, id: number): Promise<void> {
    const { store, clock } = this.#dependencies;
    if (!(await store.revokeOwn(userId, id, clock.now()))) throw notExistError('token');
  }

  /** The llm_token of a device sign-in: no end, no limits of its own. */
  issueLlm(trx: Trx, userId: number, name: string): Promise<IssuedToken> {
    return this.#issue(trx, 'llm', userId, { name });
  }

  /** The id of a token that was not revoked, by the hash of its key. */
  async findIdByHash(hash: string): Promise<number | undefined> {
    return (await this.#dependencies.store.findByHash(hash))?.id;
  }

  async #issue(trx: Trx, kind: TokenKind, userId: number, settings: TokenSettings): Promise<IssuedToken> {
    const { store, clock } = this.#dependencies;
    const key = randomToken(CREDENTIAL_PREFIX.model, 42, { checksum: true });
    const id = await store.insert(trx, {
      name: '',
      models: null,
      allowed_addresses: null,
      requests_per_minute: null,
      tokens_per_minute: null,
      concurrent_calls: null,
      concurrent_tasks: null,
      expires_at: null,
      ...this.#toColumns(settings),
      kind,
      user_id: userId,
      hash: hashToken(key),
      hint: key.slice(0, CREDENTIAL_PREFIX.model.length + 4),
      created_at: clock.now(),
    });
    return { id, key };
  }

  #toColumns({
    expires_at,
    models,
    allowed_addresses: addresses,
    ...settings
  }: TokenSettings): Partial<ChangeableColumns> {
    if (typeof expires_at === 'number' && expires_at * 1000 <= this.#dependencies.clock.now())
      throw invalidRequest('expires_at must be in the future.', 'expires_at');
    return defined({
      name: settings.name,
      requests_per_minute: settings.requests_per_minute,
      tokens_per_minute: settings.tokens_per_minute,
      concurrent_calls: settings.concurrent_calls,
      concurrent_tasks: settings.concurrent_tasks,
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
