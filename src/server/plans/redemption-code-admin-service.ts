import { stringify } from 'csv-stringify/sync';
import { NO_PACKAGE } from '../../contract/plans-and-redemption-codes.ts';
import type { Page } from '../../contract/success-bodies-and-pagination.ts';
import type { AuditLog } from '../accounts/audit/audit-log-types.ts';
import { AppError, invalidRequest, notExistError } from '../platform/app-error.ts';
import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/db/database.ts';
import type { Actor } from '../platform/http/request-context.ts';
import { hashToken } from '../platform/tokens.ts';
import type { Executor, Tables, Trx } from '../tables.ts';
import type { PlanCatalogStore, PlanRow } from './plan-catalog-store.ts';
import { toCodeListItem } from './presenter.ts';
import { formatCode, generateCode, maskCode } from './redemption-code-format.ts';
import type { CodeFilter, CodeListItem, CodeSort, RedemptionCodeStore } from './redemption-code-store.ts';

/** Exactly one of `packageCode` and `quota` is given. */
export interface NewCodeBatch {
  readonly packageCode?: string | undefined;
  readonly quota?: number | undefined;
  readonly count: number;
  /** Unix milliseconds. */
  readonly expiresAt?: number | undefined;
  readonly note?: string | undefined;
}

export interface RedemptionCodeAdminDependencies {
  readonly database: Database<Tables>;
  readonly codes: RedemptionCodeStore;
  readonly plans: PlanCatalogStore;
  readonly clock: Clock;
  readonly auditLog: AuditLog;
}

const MAX_EXPORT_ROWS = 10_000;

/** Redemption codes as administrators make, list and void them. */
export class RedemptionCodeAdminService {
  readonly #dependencies: RedemptionCodeAdminDependencies;
  constructor(dependencies: RedemptionCodeAdminDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * @returns the id of the batch and its codes, which are stored as hashes only and cannot be shown again
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

  /** CSV of at most 10,000 masked codes; cells that a spreadsheet would run as a formula are escaped. */
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
   * Changes until when an unused code can be redeemed, also after it expired.
   * @param expiresAt Unix milliseconds; null: no end; undefined: unchanged
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
   * @returns how many codes of the batch were still unused
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

  /** Locked until the commit, so that the plan cannot be removed before its codes are visible. */
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

  /** Takes no lock: the row is read for the audit log, and the conditional write that follows decides. */
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
