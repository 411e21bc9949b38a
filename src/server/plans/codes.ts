import { stringify } from 'csv-stringify/sync';
import { type Selectable, sql } from 'kysely';
import type { Static } from 'typebox';
import { defined } from '../../contract/objects.ts';
import {
  type CODE_SORTS,
  type CodeStatus,
  type getOwnPackage,
  NO_PACKAGE,
  type PackageCard,
} from '../../contract/plans.ts';
import type { Page, Sort } from '../../contract/responses.ts';
import { toSeconds } from '../../contract/time-units.ts';
import type { AccountAccess } from '../accounts/account-store.ts';
import type { AuditLog } from '../accounts/audit-log.ts';
import { AppError, invalidRequest, notExistError } from '../platform/app-error.ts';
import { toIpLimitKey } from '../platform/client-ip.ts';
import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/db/database.ts';
import { nullsLast, wasChanged } from '../platform/db/sql.ts';
import type { AccountCaller, Actor } from '../platform/http/route-registry.ts';
import {
  assertWithinLimit,
  type RateLimiter,
  type RateLimitRule,
  type RateLimits,
} from '../platform/limits/rate-limits.ts';
import { hashToken, randomText } from '../platform/tokens.ts';
import type { Ledger } from '../quota/ledger.ts';
import type { Executor, Tables, Trx } from '../tables.ts';
import { usagePace, type WindowUsage } from './allowances.ts';
import { allowedModels, type CurrentPlan, type PlanCatalogStore, type PlanRow, spendLimitOf } from './plan-store.ts';
import type { GrantResult, Subscriptions } from './subscriptions.ts';

/** A stored redemption code. */
type CodeRow = Selectable<Tables['redemption_codes']>;
/** A code with the columns of its plan and batch that lists show. */
type CodeListItem = CodeRow & { readonly package_code: string | null; readonly note: string };

/** Which codes to list; absent fields match everything. */
export interface CodeFilter {
  readonly status?: CodeStatus;
  readonly batchId?: number;
  readonly packageCode?: string;
}

/** Sort order of a list of codes. */
type CodeSort = Sort<(typeof CODE_SORTS)[number]>;

const SORT_COLUMNS = { batch: 'r.batch_id', expires: 'r.expires_at', used: 'r.used_at' } as const;

/** Both databases limit the number of parameters per statement. */
const INSERT_BATCH_SIZE = 100;

/** Stores redemption codes as hashes, with the batches they were created in. */
export class RedemptionCodeStore {
  readonly #database: Database<Tables>;
  constructor(database: Database<Tables>) {
    this.#database = database;
  }

  async insertBatch(trx: Trx, note: string, createdBy: number, now: number): Promise<number> {
    const row = await trx
      .insertInto('redemption_batches')
      .values({ note, created_by: createdBy, created_at: now })
      .returning('id')
      .executeTakeFirstOrThrow();
    return row.id;
  }

  async insertCodes(
    trx: Trx,
    codes: readonly Pick<CodeRow, 'batch_id' | 'hash' | 'hint' | 'plan_id' | 'quota' | 'expires_at' | 'created_at'>[],
  ): Promise<void> {
    for (let from = 0; from < codes.length; from += INSERT_BATCH_SIZE) {
      const rows = codes
        .slice(from, from + INSERT_BATCH_SIZE)
        .map((code) => ({ ...code, state: 'unused' as const, used_by: null, used_at: null }));
      await trx.insertInto('redemption_codes').values(rows).execute();
    }
  }

  /**
   * Redeems a code atomically: exactly one of several concurrent attempts succeeds.
   * @returns the code; undefined when there is none to redeem
   */
  redeem(trx: Trx, hash: string, userId: number, now: number): Promise<CodeRow | undefined> {
    return trx
      .updateTable('redemption_codes')
      .set({ state: 'used', used_by: userId, used_at: now })
      .where('hash', '=', hash)
      .where('state', '=', 'unused')
      .where((row) => row.or([row('expires_at', 'is', null), row('expires_at', '>', now)]))
      .returningAll()
      .executeTakeFirst();
  }

  findByHash(hash: string): Promise<CodeRow | undefined> {
    return this.#database.kysely.selectFrom('redemption_codes').selectAll().where('hash', '=', hash).executeTakeFirst();
  }

  /** Id of the account that created a batch. */
  async findCreator(trx: Trx, batchId: number): Promise<number> {
    const batch = await trx
      .selectFrom('redemption_batches')
      .select('created_by')
      .where('id', '=', batchId)
      .executeTakeFirstOrThrow();
    return batch.created_by;
  }

  /** Newest first unless sorted; codes without the sorted value come last. */
  async list(
    filter: CodeFilter,
    now: number,
    { pageSize, offset }: Pick<Page, 'pageSize' | 'offset'>,
    sort?: CodeSort,
  ) {
    const { kysely } = this.#database;
    const [rows, count] = await Promise.all([
      selectListItems(kysely, filter, now)
        .selectAll('r')
        .select(['p.package_code', 'b.note'])
        .$if(sort !== undefined, (query) =>
          query.orderBy(SORT_COLUMNS[sort?.key ?? 'batch'], nullsLast(sort?.descending === true)),
        )
        .orderBy('r.id', 'desc')
        .limit(pageSize)
        .offset(offset)
        .execute(),
      selectListItems(kysely, filter, now)
        .select((row) => row.fn.countAll<number>().as('total'))
        .executeTakeFirstOrThrow(),
    ]);
    return { rows: rows as CodeListItem[], total: Number(count.total) };
  }

  find(id: number, db: Executor = this.#database.kysely): Promise<CodeListItem | undefined> {
    return selectListItems(db, {}, 0)
      .selectAll('r')
      .select(['p.package_code', 'b.note'])
      .where('r.id', '=', id)
      .executeTakeFirst();
  }

  /** @returns whether the code was unused and therefore changed */
  async setExpiry(trx: Trx, id: number, expiresAt: number | null): Promise<boolean> {
    const update = trx.updateTable('redemption_codes').set({ expires_at: expiresAt });
    const result = await update.where('id', '=', id).where('state', '=', 'unused').executeTakeFirst();
    return wasChanged(result);
  }

  /** @returns whether the code was unused and therefore voided */
  async void(trx: Trx, id: number): Promise<boolean> {
    return wasChanged(await voidUnused(trx).where('id', '=', id).executeTakeFirst());
  }

  /** @returns the number of codes that were unused */
  async voidBatch(trx: Trx, batchId: number): Promise<number> {
    return Number((await voidUnused(trx).where('batch_id', '=', batchId).executeTakeFirst()).numUpdatedRows);
  }

  /** Newest first. All codes of a batch give the same. */
  async listBatches({ pageSize, offset }: Pick<Page, 'pageSize' | 'offset'>) {
    const { kysely } = this.#database;
    const [rows, count] = await Promise.all([
      kysely
        .selectFrom('redemption_batches as b')
        .innerJoin('redemption_codes as r', 'r.batch_id', 'b.id')
        .leftJoin('plans as p', 'p.id', 'r.plan_id')
        .select(({ fn }) => [
          'b.id',
          'b.note',
          'b.created_at',
          fn.max('p.package_code').as('package_code'),
          fn.max('r.quota').as('quota'),
          fn.countAll<number>().as('count'),
        ])
        .groupBy(['b.id', 'b.note', 'b.created_at'])
        .orderBy('b.id', 'desc')
        .limit(pageSize)
        .offset(offset)
        .execute(),
      kysely
        .selectFrom('redemption_batches')
        .select(({ fn }) => fn.countAll<number>().as('total'))
        .executeTakeFirstOrThrow(),
    ]);
    return { rows, total: Number(count.total) };
  }

  async batchExists(trx: Trx, id: number): Promise<boolean> {
    const row = await trx
      .selectFrom('redemption_batches')
      .select(sql<number>`1`.as('one'))
      .where('id', '=', id)
      .executeTakeFirst();
    return row !== undefined;
  }
}

const voidUnused = (trx: Trx) =>
  trx.updateTable('redemption_codes').set({ state: 'voided' }).where('state', '=', 'unused');

function selectListItems(db: Executor, { status, batchId, packageCode }: CodeFilter, now: number) {
  let query = db
    .selectFrom('redemption_codes as r')
    .innerJoin('redemption_batches as b', 'b.id', 'r.batch_id')
    .leftJoin('plans as p', 'p.id', 'r.plan_id');
  if (batchId !== undefined) query = query.where('r.batch_id', '=', batchId);
  if (packageCode !== undefined) query = query.where('p.package_code', '=', packageCode);
  if (status === 'used' || status === 'voided') query = query.where('r.state', '=', status);
  if (status === 'unused')
    query = query
      .where('r.state', '=', 'unused')
      .where((row) => row.or([row('r.expires_at', 'is', null), row('r.expires_at', '>', now)]));
  if (status === 'expired') query = query.where('r.state', '=', 'unused').where('r.expires_at', '<=', now);
  return query;
}

/**
 * Crockford's base 32 (https://www.crockford.com/base32.html) lacks the easily confused I, L, O and U; 20 characters
 * carry 100 bits.
 */
const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const LENGTH = 20;

/** A new code, without dashes. */
const generateCode = (): string => randomText(LENGTH, ALPHABET);

/** Formats a code for display: `XXXXX-XXXXX-XXXXX-XXXXX`. */
const formatCode = (code: string): string => code.match(/.{5}/g)?.join('-') ?? code;

/** Keeps the first and last characters, by which a code can be recognized in a list. */
export const maskCode = (code: string): string => `${code.slice(0, 5)}-…-${code.slice(-4)}`;

/**
 * Normalizes a typed or pasted code: ignores case, spaces and dashes, and maps similar characters to the intended ones.
 */
export const normalizeCode = (typed: string): string =>
  typed
    .normalize('NFKC')
    .toUpperCase()
    .replace(/[^0-9A-Z]/g, '')
    .replaceAll('O', '0')
    .replace(/[IL]/g, '1');

/** A plan as shown publicly. */
export const toPackageCard = (plan: PlanRow): Static<typeof PackageCard> => ({
  id: plan.id,
  package_code: plan.package_code,
  name: plan.name,
  description: plan.description,
  level: plan.level,
  price_amount: plan.price_amount,
  purchasable: plan.purchasable === 1,
  daily_quota: plan.daily_quota,
  duration_days: plan.duration_days,
  refresh_interval_seconds: plan.refresh_interval_seconds,
  system_builtin: plan.system_builtin === 1,
  interval_quota: plan.interval_quota,
  weekly_quota_limit: plan.weekly_quota_limit,
  status: plan.status,
  created_time: toSeconds(plan.created_at),
  // Not in the contract, whose clients may expect its keys exactly.
  ...defined({
    monthly_quota_limit: plan.monthly_quota_limit || undefined,
    order_url: plan.order_url || undefined,
  }),
});

/** A plan as shown to administrators. */
export const toAdminPackageCard = (plan: PlanRow) => ({
  ...toPackageCard(plan),
  monthly_quota_limit: plan.monthly_quota_limit,
  order_url: plan.order_url,
  models: allowedModels(plan),
  price_factor: plan.price_factor,
  channels: JSON.parse(plan.channels) as number[],
  storage_days: plan.storage_days,
  storage_gb: plan.storage_gb,
  concurrent_tasks: plan.concurrent_tasks,
  queued_tasks: plan.queued_tasks,
  spend_limit: spendLimitOf(plan) ?? null,
});

const statusOf = ({ state, expires_at }: CodeListItem, now: number): CodeStatus =>
  state === 'unused' && expires_at !== null && expires_at <= now ? 'expired' : state;

/** A redemption code as listed for administrators. */
export const toCodeListItem = (row: CodeListItem, now: number) => ({
  id: row.id,
  batch_id: row.batch_id,
  code: row.hint,
  package_code: row.package_code ?? '',
  quota: row.quota,
  status: statusOf(row, now),
  note: row.note,
  used_by: row.used_by ?? 0,
  used_time: toSeconds(row.used_at ?? 0),
  expires_at: toSeconds(row.expires_at ?? 0),
  created_time: toSeconds(row.created_at),
});

/** The response to a granted or ended plan. */
export const toGrantResponse = ({ outcome, packageCode, expiresAt }: GrantResult, quota = 0) => ({
  outcome,
  package_code: packageCode,
  quota,
  package_expires_at: toSeconds(expiresAt),
});

type OwnPackage = Static<(typeof getOwnPackage)['response']>['data'];

/** The account's own plan with its remaining allowance. */
export function toOwnPackage(
  { current: { plan, timeline }, windows }: { readonly current: CurrentPlan; readonly windows: readonly WindowUsage[] },
  { wallet, zone, now }: { readonly wallet: number; readonly zone: string; readonly now: number },
): OwnPackage {
  return {
    package_code: plan.package_code,
    name: plan.name,
    description: plan.description,
    level: plan.level,
    started_at: toSeconds(timeline.current?.starts_at ?? 0),
    expires_at: toSeconds(timeline.current?.expires_at ?? 0),
    models: allowedModels(plan),
    price_factor: plan.price_factor,
    allowance_left: Math.min(...windows.map(remaining)),
    // A plan without an allowance has windows of 0, which would only confuse the owner.
    windows: windows.filter(({ limit }) => limit > 0).map((window) => toWindow(window, now)),
    wallet,
    time_zone: zone,
    waiting: timeline.waiting.map((subscription) => ({
      package_code: subscription.plan.package_code,
      name: subscription.plan.name,
      level: subscription.level,
      duration_days: subscription.duration_days,
      starts_at: toSeconds(subscription.starts_at),
    })),
  };
}

function toWindow(window: WindowUsage, now: number): OwnPackage['windows'][number] {
  const pace = usagePace(window, window.used, now);
  return {
    kind: window.kind,
    limit: window.limit,
    used: window.used,
    left: remaining(window),
    starts_at: toSeconds(window.startsAt),
    refreshes_at: toSeconds(window.endsAt),
    used_per_hour: pace.usedPerHour,
    runs_out_at: toSeconds(pace.runsOutAt),
  };
}

const remaining = ({ limit, used }: WindowUsage): number => Math.max(0, limit - used);

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

  /** Newest first. */
  listBatches(page: Page): ReturnType<RedemptionCodeStore['listBatches']> {
    return this.#dependencies.codes.listBatches(page);
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
