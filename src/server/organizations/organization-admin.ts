import { CLOSED } from '../../contract/account-fields.ts';
import type { SpendLimit } from '../../contract/amounts.ts';
import { defined } from '../../contract/objects.ts';
import type { Page } from '../../contract/responses.ts';
import type { AccountStore } from '../accounts/account-store.ts';
import type { AuditLog } from '../accounts/audit-log.ts';
import { AppError, invalidRequest } from '../platform/app-error.ts';
import type { Database } from '../platform/db/database.ts';
import type { Actor } from '../platform/http/route-registry.ts';
import type { Ledger, WalletAdjustment } from '../quota/ledger.ts';
import type { Tables } from '../tables.ts';
import type { OrganizationStore } from './organization-store.ts';
import type { OrganizationService } from './organizations.ts';

/** The fields an administrator may change; absent fields stay unchanged. */
interface OrganizationUpdate extends WalletAdjustment {
  /** 1 enabled, 2 disabled: members and keys can then do nothing. */
  readonly status?: number;
  readonly concurrent_tasks?: number | null;
  readonly queued_tasks?: number | null;
  /** Null removes the limit. */
  readonly spend_limit?: SpendLimit | null;
}

/** Code of a plan, and its end in Unix seconds; 0: no end. */
export interface CurrentPlanCode {
  readonly code: string;
  readonly expiresAt: number;
}

interface OrganizationAdminDependencies {
  readonly database: Database<Tables>;
  readonly store: OrganizationStore;
  readonly accounts: Pick<AccountStore, 'lock' | 'update'>;
  readonly ledger: Pick<Ledger, 'adjustWallet' | 'setSpendLimit' | 'spendLimits' | 'wallet'>;
  readonly auditLog: AuditLog;
  readonly organizations: Pick<OrganizationService, 'changeClosed'>;
  readonly findPlan: (id: number) => Promise<CurrentPlanCode>;
}

/** Administration of organizations. */
export class OrganizationAdmin {
  readonly #dependencies: OrganizationAdminDependencies;

  constructor(dependencies: OrganizationAdminDependencies) {
    this.#dependencies = dependencies;
  }

  /** All organizations with their wallets, plans and owners, newest first. */
  async list(filter: { readonly q?: string; readonly ids?: readonly number[] }, page: Page) {
    const { store, ledger, findPlan } = this.#dependencies;
    const { rows, total } = await store.listAll(filter, page);
    const ids = rows.map(({ id }) => id);
    const [owners, limits] = await Promise.all([
      store.ownersOf(ids),
      ledger.spendLimits(ids.map((id) => ({ kind: 'account', id }) as const)),
    ]);
    const withDetails = rows.map(async (row) => ({
      ...row,
      wallet: await ledger.wallet(row.id),
      plan: await findPlan(row.id),
      owners: owners.get(row.id) ?? [],
      spendLimit: limits.get(`account:${row.id}`),
    }));
    return { rows: await Promise.all(withDetails), total };
  }

  /** Closes an organization or restores it. @throws not_exist, account_disabled */
  async setClosed(actor: Actor, id: number, isClosed: boolean): Promise<void> {
    const { database, store, organizations } = this.#dependencies;
    await database.transaction(async (trx) => {
      const found = await store.lockOrganization(trx, id);
      if (found === undefined) throw new AppError('organization_not_found');
      await organizations.changeClosed(trx, found, actor, isClosed);
    });
  }

  /** @throws not_exist, invalid_request, organization_closed, quota_not_enough, idempotency_mismatch */
  async update(actor: Actor, id: number, update: OrganizationUpdate): Promise<void> {
    const { database, accounts, ledger, auditLog } = this.#dependencies;
    if (update.quota !== undefined && update.quota_delta !== undefined)
      throw invalidRequest('Give quota or quota_delta, not both.', 'quota');
    await database.transaction(async (trx) => {
      const account = await accounts.lock(trx, id);
      if (account?.kind !== 'organization') throw new AppError('organization_not_found');
      const { status, concurrent_tasks, queued_tasks } = update;
      if (status !== undefined && account.status === CLOSED) throw new AppError('organization_closed');
      const columns = defined({ status, concurrent_tasks, queued_tasks });
      if (Object.keys(columns).length > 0) await accounts.update(trx, id, columns);
      const delta = await ledger.adjustWallet(trx, id, update);
      if (update.spend_limit !== undefined)
        await ledger.setSpendLimit(trx, { kind: 'account', id }, update.spend_limit ?? undefined);
      await auditLog.record(trx, {
        ...actor,
        ownerId: id,
        action: 'organization.admin-update',
        target: `organization:${id}`,
        before: status === undefined ? {} : { status: account.status },
        after: defined({
          ...columns,
          quota_delta: delta === 0 ? undefined : delta,
          note: update.note,
          spend_limit: update.spend_limit,
        }),
      });
    });
  }
}
