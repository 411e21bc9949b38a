import type { Transaction } from 'kysely';
import type { Page } from '../../contract/schemas.ts';
import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/db/database.ts';
import { invalid, notExist } from '../platform/errors.ts';
import { hashToken, randomToken } from '../platform/secrets.ts';
import type { Quota } from '../quota/quota.ts';
import type { Tables } from '../tables.ts';
import { PREFIX } from './authenticator.ts';
import { findToken, insertToken, listTokens, revokeToken, updateToken } from './token-store.ts';

type Trx = Transaction<Tables>;

/** What a token's owner may set. Undefined leaves it, null takes the limit away. Times are Unix seconds. */
export interface TokenSettings {
  readonly name?: string | undefined;
  readonly expires_at?: number | null | undefined;
  readonly quota_limit?: number | null | undefined;
  /** Empty = all. */
  readonly models?: readonly string[] | undefined;
}

/** A token in a list: everything but the key. Times are Unix milliseconds. */
export interface ShownToken {
  readonly id: number;
  readonly name: string;
  readonly hint: string;
  readonly models: readonly string[];
  readonly expiresAt: number | null;
  readonly createdAt: number;
  readonly lastUsedAt: number | null;
  readonly quotaLimit: number | null;
  readonly quotaUsed: number;
}

export interface Tokens {
  /** Answers the key, which is stored nowhere. @throws invalid_request for an end in the past */
  make(userId: number, settings: TokenSettings & { readonly name: string }): Promise<{ id: number; key: string }>;
  list(userId: number, page: Page): Promise<{ rows: ShownToken[]; total: number }>;
  /** @throws not_exist */
  change(userId: number, id: number, settings: TokenSettings): Promise<void>;
  /** @throws not_exist */
  revoke(userId: number, id: number): Promise<void>;
  /** The llm_token of a device sign-in: no end, no limits of its own. */
  issueLlm(trx: Trx, userId: number, name: string): Promise<{ id: number; key: string }>;
  /** The id of a token that was not revoked, by the hash of its key. */
  idOf(hash: string): Promise<number | undefined>;
  revokeLlm(trx: Trx, userId: number, id: number): Promise<boolean>;
}

export function makeTokens(database: Database<Tables>, clock: Clock, quota: Quota): Tokens {
  const toColumns = ({ name, expires_at, models }: TokenSettings) => {
    if (typeof expires_at === 'number' && expires_at * 1000 <= clock.now()) {
      throw invalid('expires_at must be in the future.', 'expires_at');
    }
    return {
      ...(name === undefined ? {} : { name }),
      ...(expires_at === undefined ? {} : { expires_at: expires_at === null ? null : expires_at * 1000 }),
      ...(models === undefined ? {} : { models: models.length === 0 ? null : JSON.stringify([...new Set(models)]) }),
    };
  };
  /** Both kinds look alike: whoever is handed one treats it as any other key. */
  const mint = async (trx: Trx, kind: 'sk' | 'llm', userId: number, settings: TokenSettings) => {
    const key = randomToken(PREFIX.sk, 42, { checksum: true });
    const id = await insertToken(trx, {
      name: '',
      models: null,
      expires_at: null,
      ...toColumns(settings),
      kind,
      user_id: userId,
      hash: hashToken(key),
      hint: key.slice(0, PREFIX.sk.length + 4),
      created_at: clock.now(),
    });
    return { id, key };
  };
  return {
    make: (userId, settings) =>
      database.transaction(async (trx) => {
        const made = await mint(trx, 'sk', userId, settings);
        if (typeof settings.quota_limit === 'number') await quota.limitToken(trx, made.id, settings.quota_limit);
        return made;
      }),
    async list(userId, page) {
      const { rows, total } = await listTokens(database.kysely, userId, page);
      const limits = await quota.tokenLimits(rows.map((row) => row.id));
      const shown = rows.map((row) => ({
        id: row.id,
        name: row.name,
        hint: row.hint,
        models: row.models === null ? [] : (JSON.parse(row.models) as string[]),
        expiresAt: row.expires_at,
        createdAt: row.created_at,
        lastUsedAt: row.last_used_at,
        quotaLimit: limits.get(row.id)?.limit ?? null,
        quotaUsed: limits.get(row.id)?.used ?? 0,
      }));
      return { rows: shown, total };
    },
    change: (userId, id, settings) =>
      database.transaction(async (trx) => {
        if (!(await updateToken(trx, userId, id, toColumns(settings)))) throw notExist('token');
        if (settings.quota_limit !== undefined) await quota.limitToken(trx, id, settings.quota_limit ?? undefined);
      }),
    async revoke(userId, id) {
      if (!(await revokeToken(database.kysely, userId, id, 'sk', clock.now()))) throw notExist('token');
    },
    issueLlm: (trx, userId, name) => mint(trx, 'llm', userId, { name }),
    idOf: async (hash) => (await findToken(database.kysely, hash))?.id,
    revokeLlm: (trx, userId, id) => revokeToken(trx, userId, id, 'llm', clock.now()),
  };
}
