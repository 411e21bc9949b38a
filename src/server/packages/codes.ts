import { stringify } from 'csv-stringify/sync';
import { NO_PACKAGE } from '../../contract/packages.ts';
import type { Page } from '../../contract/schemas.ts';
import type { Audit } from '../accounts/audit.ts';
import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/db/database.ts';
import { AppError, invalid, notExist } from '../platform/errors.ts';
import type { Limiter, LimitRule, Limits } from '../platform/limits/limits.ts';
import { hashToken } from '../platform/secrets.ts';
import type { Quota } from '../quota/quota.ts';
import type { Tables } from '../tables.ts';
import { findCardByCode, lockCard } from './card-store.ts';
import {
  batchExists,
  type CodeFilter,
  findByHash,
  findCode,
  insertBatch,
  insertCodes,
  listCodes,
  type ShownCode,
  takeCode,
  voidBatch,
  voidCode,
} from './code-store.ts';
import { makeCode, readCode, toHint, toShownCode } from './code-text.ts';
import type { Actor, Granted, Plans } from './plans.ts';
import { toCodeRow } from './presenter.ts';

export interface BatchWish {
  readonly packageCode?: string | undefined;
  readonly quota?: number | undefined;
  readonly count: number;
  /** Unix milliseconds. */
  readonly expiresAt?: number | undefined;
  readonly note?: string | undefined;
}

export interface Codes {
  /** Answers the codes, which are stored nowhere. @throws invalid_request, not_exist, package_builtin */
  make(actor: Actor, wish: BatchWish): Promise<{ id: number; codes: string[] }>;
  list(filter: CodeFilter, page: Page): Promise<{ rows: ShownCode[]; total: number }>;
  /** @throws not_exist */
  get(id: number): Promise<ShownCode>;
  /** A table for spreadsheets; no cell is a live formula. */
  export(filter: CodeFilter): Promise<string>;
  /** @throws not_exist, code_used, code_expired */
  void(actor: Actor, id: number): Promise<void>;
  /** Answers how many it was in time for. @throws not_exist */
  voidBatch(actor: Actor, batchId: number): Promise<number>;
  /** @throws code_invalid, code_used, code_expired, package_unavailable, rate_limit_exceeded */
  redeem(userId: number, address: string, typed: string): Promise<Granted & { readonly quota: number }>;
}

export interface CodeParts {
  readonly database: Database<Tables>;
  readonly clock: Clock;
  readonly audit: Audit;
  readonly limits: Limits;
  readonly quota: Quota;
  readonly plans: Pick<Plans, 'grant' | 'planOf'>;
}

const EXPORT_ROWS = 10_000;
const HOUR = 3_600;
/** Wrong codes; right ones cost nothing. */
const RULES = {
  account: { name: 'redeem-account', points: 20, durationSeconds: HOUR },
  address: { name: 'redeem-address', points: 60, durationSeconds: HOUR },
} as const satisfies Record<string, LimitRule>;

export function makeCodes({ database, clock, audit, limits, quota, plans }: CodeParts): Codes {
  const { kysely } = database;
  const postgres = database.dialect === 'postgres';
  const ofAccount = limits.define(RULES.account);
  const ofAddress = limits.define(RULES.address);

  const spend = async (limiter: Limiter, key: string): Promise<void> => {
    const { allowed, retryAfterMs } = await limiter.consume(key);
    if (allowed) return;
    const seconds = Math.max(1, Math.ceil(retryAfterMs / 1000));
    throw new AppError('rate_limit_exceeded', { params: { seconds }, retryAfterSeconds: seconds });
  };

  /** Why a code cannot be used. A used or withdrawn one was known, not guessed. */
  const refusal = async (hash: string): Promise<AppError> => {
    const row = await findByHash(kysely, hash);
    if (row === undefined) return new AppError('code_invalid');
    return new AppError(row.state === 'used' ? 'code_used' : 'code_expired');
  };

  const use = async (userId: number, hash: string) =>
    database.transaction(async (trx) => {
      const code = await takeCode(trx, hash, userId, clock.now());
      if (code === undefined) return undefined;
      if (code.card_id !== null)
        return { ...(await plans.grant(trx, userId, code.card_id, `code:${code.id}`)), quota: 0 };
      await quota.grant(trx, { userId, amount: code.quota, ref: `code:${code.id}`, note: code.hint });
      return { outcome: 'credited' as const, packageCode: '', expiresAt: 0, quota: code.quota };
    });

  return {
    make: (actor, { packageCode, quota: amount, count, expiresAt, note = '' }) =>
      database.transaction(async (trx) => {
        if ((packageCode === undefined) === (amount === undefined))
          throw invalid('Name either package_code or quota.', 'package_code');
        if (expiresAt !== undefined && expiresAt <= clock.now())
          throw invalid('expires_at must be in the future.', 'expires_at');
        if (packageCode === NO_PACKAGE) throw new AppError('package_builtin');
        const named = packageCode === undefined ? undefined : await findCardByCode(trx, packageCode);
        // Locked, so that it is not removed before its codes are there to be seen.
        const card = named && (await lockCard(trx, postgres, named.id));
        if (packageCode !== undefined && card === undefined) throw notExist('package card');
        const now = clock.now();
        const id = await insertBatch(trx, note, actor.actorId, now);
        const codes = Array.from({ length: count }, makeCode);
        await insertCodes(
          trx,
          codes.map((code) => ({
            batch_id: id,
            hash: hashToken(code),
            hint: toHint(code),
            card_id: card?.id ?? null,
            quota: amount ?? 0,
            expires_at: expiresAt ?? null,
            created_at: now,
          })),
        );
        await audit.record(trx, {
          ...actor,
          action: 'redemption-codes.create',
          target: `redemption-batch:${id}`,
          after: { package_code: packageCode, quota: amount, count, expires_at: expiresAt },
        });
        return { id, codes: codes.map(toShownCode) };
      }),
    list: (filter, { pageSize, offset }) => listCodes(kysely, filter, clock.now(), pageSize, offset),
    async get(id) {
      const row = await findCode(kysely, id);
      if (row === undefined) throw notExist('redemption code');
      return row;
    },
    async export(filter) {
      const now = clock.now();
      const { rows } = await listCodes(kysely, filter, now, EXPORT_ROWS, 0);
      return stringify(
        rows.map((row) => toCodeRow(row, now)),
        { header: true, escape_formulas: true, bom: true, record_delimiter: '\r\n' },
      );
    },
    void: (actor, id) =>
      database.transaction(async (trx) => {
        const row = await findCode(trx, id);
        if (row === undefined) throw notExist('redemption code');
        if (!(await voidCode(trx, id))) throw new AppError(row.state === 'used' ? 'code_used' : 'code_expired');
        await audit.record(trx, { ...actor, action: 'redemption-code.void', target: `redemption-code:${id}` });
      }),
    voidBatch: (actor, batchId) =>
      database.transaction(async (trx) => {
        if (!(await batchExists(trx, batchId))) throw notExist('batch');
        const voided = await voidBatch(trx, batchId);
        const target = `redemption-batch:${batchId}`;
        await audit.record(trx, { ...actor, action: 'redemption-codes.void', target, after: { voided } });
        return voided;
      }),
    async redeem(userId, address, typed) {
      await spend(ofAccount, String(userId));
      await spend(ofAddress, address);
      const hash = hashToken(readCode(typed));
      const granted = (await use(userId, hash)) ?? (await refusal(hash));
      if (!('code' in granted) || granted.code !== 'code_invalid')
        await Promise.all([ofAccount.giveBack(String(userId)), ofAddress.giveBack(address)]);
      if (granted instanceof AppError) throw granted;
      if (granted.packageCode !== '') return granted;
      return { ...granted, expiresAt: (await plans.planOf(userId)).expiresAt * 1000 };
    },
  };
}
