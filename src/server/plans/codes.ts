import { stringify } from 'csv-stringify/sync';
import { NO_PACKAGE } from '../../contract/plans.ts';
import type { Page } from '../../contract/responses.ts';
import type { AccountAccess } from '../accounts/account-store.ts';
import type { AuditLog } from '../accounts/audit-log.ts';
import { AppError, invalidRequest, notExistError } from '../platform/app-error.ts';
import { toIpLimitKey } from '../platform/client-ip.ts';
import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/db/database.ts';
import type { AccountCaller, Actor } from '../platform/http/route-registry.ts';
import {
  assertWithinLimit,
  type RateLimiter,
  type RateLimitRule,
  type RateLimits,
} from '../platform/limits/rate-limits.ts';
import { hashToken } from '../platform/tokens.ts';
import type { Ledger } from '../quota/ledger.ts';
import type { Executor, Tables, Trx } from '../tables.ts';
import {
  type CodeFilter,
  type CodeListItem,
  type CodeRow,
  type CodeSort,
  formatCode,
  generateCode,
  maskCode,
  normalizeCode,
  type RedemptionCodeStore,
} from './code-store.ts';
import type { PlanCatalogStore, PlanRow } from './plan-store.ts';
import { toCodeListItem } from './presenter.ts';
import type { GrantResult, Subscriptions } from './subscriptions.ts';

interface CodeRedemptionDependencies {
  readonly database: Database<Tables>;
  readonly codes: RedemptionCodeStore;
  readonly clock: Clock;
  readonly rateLimits: RateLimits;
  readonly ledger: Pick<Ledger, 'grant'>;
  readonly subscriptions: Pick<Subscriptions, 'grant' | 'currentPlan'>;
  readonly access: Pick<AccountAccess, 'assertCanManage'>;
}

/** The account that redeems a code. */
type Redeemer = Pick<AccountCaller, 'userId' | 'role'>;

interface Redemption extends GrantResult {
  /** Quota credited to the wallet. */
  readonly quota: number;
}

const HOUR_SECONDS = 3_600;
/** Limit on wrong codes; valid codes do not count. Codes are too long to guess, so this only stops scripts that try. */
const FAILED_ATTEMPT_LIMITS = {
  account: { name: 'redeem-account', points: 100, durationSeconds: HOUR_SECONDS },
  address: { name: 'redeem-address', points: 300, durationSeconds: HOUR_SECONDS },
} as const satisfies Record<string, RateLimitRule>;

/** Redeems codes for accounts. The code and the plan or quota it grants change in one transaction. */
export class CodeRedemption {
  readonly #dependencies: CodeRedemptionDependencies;
  readonly #accountLimiter: RateLimiter;
  readonly #addressLimiter: RateLimiter;

  constructor(dependencies: CodeRedemptionDependencies) {
    this.#dependencies = dependencies;
    this.#accountLimiter = dependencies.rateLimits.define(FAILED_ATTEMPT_LIMITS.account);
    this.#addressLimiter = dependencies.rateLimits.define(FAILED_ATTEMPT_LIMITS.address);
  }

  /**
   * @param typed the code as typed by a person
   * @throws AppError `code_invalid`, `code_used`, `code_expired`, `rank_too_low`, `package_unavailable`,
   * `rate_limit_exceeded`
   */
  async redeem(caller: Redeemer, clientIp: string, typed: string): Promise<Redemption> {
    const { userId } = caller;
    const network = toIpLimitKey(clientIp);
    await consumeAttempt(this.#accountLimiter, String(userId));
    await consumeAttempt(this.#addressLimiter, network);
    const hash = hashToken(normalizeCode(typed));
    const result = (await this.#redeem(caller, hash)) ?? (await this.#toRefusal(hash));
    // Used and voided codes do not count: the caller knew them and did not guess.
    if (!(result instanceof AppError && result.code === 'code_invalid'))
      await Promise.all([this.#accountLimiter.refund(String(userId)), this.#addressLimiter.refund(network)]);
    if (result instanceof AppError) throw result;
    if (result.packageCode !== '') return result;
    const { expiresAt } = await this.#dependencies.subscriptions.currentPlan(userId);
    return { ...result, expiresAt: expiresAt * 1000 };
  }

  #redeem(caller: Redeemer, hash: string): Promise<Redemption | undefined> {
    const { database, codes, clock, subscriptions, ledger } = this.#dependencies;
    const { userId } = caller;
    return database.transaction(async (trx) => {
      const code = await codes.redeem(trx, hash, userId, clock.now());
      if (code === undefined) return undefined;
      await this.#assertMayRedeem(trx, code, caller);
      const source = `code:${code.id}`;
      if (code.plan_id !== null) return { ...(await subscriptions.grant(trx, userId, code.plan_id, source)), quota: 0 };
      await ledger.grant(trx, { userId, amount: code.quota, ref: source, note: code.hint });
      return { outcome: 'credited' as const, packageCode: '', expiresAt: 0, quota: code.quota };
    });
  }

  /**
   * Administrators may not credit themselves, not even with a code from another administrator: an `admin` redeems only
   * codes created by an account that can manage them.
   * @throws AppError `rank_too_low`
   */
  async #assertMayRedeem(trx: Trx, code: CodeRow, { userId, role }: Redeemer): Promise<void> {
    if (role !== 'admin') return;
    const { codes, access } = this.#dependencies;
    await access.assertCanManage(trx, await codes.findCreator(trx, code.batch_id), userId);
  }

  async #toRefusal(hash: string): Promise<AppError> {
    const row = await this.#dependencies.codes.findByHash(hash);
    if (row === undefined) return new AppError('code_invalid');
    return new AppError(row.state === 'used' ? 'code_used' : 'code_expired');
  }
}

/**
 * A refused attempt does not count, so that many concurrent attempts with one valid code do not lock out the account.
 */
async function consumeAttempt(limiter: RateLimiter, key: string): Promise<void> {
  const verdict = await limiter.consume(key);
  if (!verdict.allowed) await limiter.refund(key);
  assertWithinLimit(verdict);
}

/** A batch of codes to create. Exactly one of `packageCode` and `quota` is set. */
interface NewCodeBatch {
  readonly packageCode?: string;
  readonly quota?: number;
  readonly count: number;
  /** Unix milliseconds. */
  readonly expiresAt?: number;
  readonly note?: string;
}

interface RedemptionCodeAdminDependencies {
  readonly database: Database<Tables>;
  readonly codes: RedemptionCodeStore;
  readonly plans: PlanCatalogStore;
  readonly clock: Clock;
  readonly auditLog: AuditLog;
}

const MAX_EXPORT_ROWS = 10_000;

/** Lets administrators create, list and void redemption codes. */
export class RedemptionCodeAdminService {
  readonly #dependencies: RedemptionCodeAdminDependencies;
  constructor(dependencies: RedemptionCodeAdminDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * @returns the id of the batch and its codes, which are stored only as hashes and cannot be shown again
   * @throws AppError `invalid_request`, `not_exist` (the plan), `package_builtin`
   */
  create(actor: Actor, batch: NewCodeBatch): Promise<{ id: number; codes: string[] }> {
    const { database, codes: store, clock, auditLog } = this.#dependencies;
    const { packageCode, quota, count, expiresAt, note = '' } = batch;
    return database.transaction(async (trx) => {
      if ((packageCode === undefined) === (quota === undefined))
        throw invalidRequest('Name either package_code or quota.', 'package_code');
      this.#assertFuture(expiresAt);
      const plan = packageCode === undefined ? undefined : await this.#lockPlan(trx, packageCode);
      const now = clock.now();
      const id = await store.insertBatch(trx, note, actor.actorId, now);
      const codes = Array.from({ length: count }, generateCode);
      const common = {
        batch_id: id,
        plan_id: plan?.id ?? null,
        quota: quota ?? 0,
        expires_at: expiresAt ?? null,
        created_at: now,
      };
      await store.insertCodes(
        trx,
        codes.map((code) => ({ ...common, hash: hashToken(code), hint: maskCode(code) })),
      );
      await auditLog.record(trx, {
        ...actor,
        action: 'redemption-codes.create',
        target: `redemption-batch:${id}`,
        after: { package_code: packageCode, quota, count, expires_at: expiresAt },
      });
      return { id, codes: codes.map(formatCode) };
    });
  }

  /** Newest first. */
  list(filter: CodeFilter, page: Page, sort?: CodeSort): Promise<{ rows: CodeListItem[]; total: number }> {
    return this.#dependencies.codes.list(filter, this.#dependencies.clock.now(), page, sort);
  }

  /** @throws AppError `not_exist` */
  get(id: number): Promise<CodeListItem> {
    return this.#get(id);
  }

  /** CSV of at most 10,000 masked codes. Cells that a spreadsheet would run as a formula are escaped. */
  async export(filter: CodeFilter): Promise<string> {
    const { codes, clock } = this.#dependencies;
    const now = clock.now();
    const { rows } = await codes.list(filter, now, { pageSize: MAX_EXPORT_ROWS, offset: 0 });
    return stringify(
      rows.map((row) => toCodeListItem(row, now)),
      { header: true, escape_formulas: true, bom: true, record_delimiter: '\r\n' },
    );
  }

  /**
   * Changes the expiry of an unused code, even after it expired.
   * @param expiresAt Unix milliseconds; null: no expiry; undefined: unchanged
   * @throws AppError `invalid_request`, `not_exist`, `code_used`, `code_expired` (voided)
   */
  setExpiry(actor: Actor, id: number, expiresAt: number | null | undefined): Promise<void> {
    const { database, codes, auditLog } = this.#dependencies;
    return database.transaction(async (trx) => {
      this.#assertFuture(expiresAt);
      const row = await this.#get(id, trx);
      if (expiresAt === undefined) return;
      if (!(await codes.setExpiry(trx, id, expiresAt))) throw await this.#toUnusableError(trx, row);
      await auditLog.record(trx, {
        ...actor,
        action: 'redemption-code.update',
        target: `redemption-code:${id}`,
        before: { expires_at: row.expires_at },
        after: { expires_at: expiresAt },
      });
    });
  }

  /** @throws AppError `not_exist`, `code_used`, `code_expired` (voided already) */
  void(actor: Actor, id: number): Promise<void> {
    const { database, codes, auditLog } = this.#dependencies;
    return database.transaction(async (trx) => {
      const row = await this.#get(id, trx);
      if (!(await codes.void(trx, id))) throw await this.#toUnusableError(trx, row);
      await auditLog.record(trx, {
        ...actor,
        action: 'redemption-code.void',
        target: `redemption-code:${id}`,
        before: { state: row.state },
        after: { state: 'voided' },
      });
    });
  }

  /**
   * @returns the number of codes in the batch that were unused
   * @throws AppError `not_exist`
   */
  voidBatch(actor: Actor, batchId: number): Promise<number> {
    const { database, codes, auditLog } = this.#dependencies;
    return database.transaction(async (trx) => {
      if (!(await codes.batchExists(trx, batchId))) throw notExistError('batch');
      const voided = await codes.voidBatch(trx, batchId);
      await auditLog.record(trx, {
        ...actor,
        action: 'redemption-codes.void',
        target: `redemption-batch:${batchId}`,
        after: { voided },
      });
      return voided;
    });
  }

  /** Locks the plan until the commit, so that it cannot be removed before its codes are visible. */
  async #lockPlan(trx: Trx, packageCode: string): Promise<PlanRow> {
    if (packageCode === NO_PACKAGE) throw new AppError('package_builtin');
    const { plans } = this.#dependencies;
    const named = await plans.findByCode(packageCode, trx);
    const plan = named && (await plans.lock(trx, named.id));
    if (plan === undefined) throw notExistError('package card');
    return plan;
  }

  #assertFuture(expiresAt: number | null | undefined): void {
    if (expiresAt != null && expiresAt <= this.#dependencies.clock.now())
      throw invalidRequest('expires_at must be in the future.', 'expires_at');
  }

  /** Takes no lock: the row is only read for the audit log, and the conditional write that follows decides. */
  async #get(id: number, db?: Executor): Promise<CodeListItem> {
    const row = await this.#dependencies.codes.find(id, db);
    if (row === undefined) throw notExistError('redemption code');
    return row;
  }

  async #toUnusableError(trx: Trx, before: CodeListItem): Promise<AppError> {
    const { state } = (await this.#dependencies.codes.find(before.id, trx)) ?? before;
    return new AppError(state === 'used' ? 'code_used' : 'code_expired');
  }
}
