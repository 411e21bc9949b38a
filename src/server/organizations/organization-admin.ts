import { defined } from '../../contract/objects.ts';
import type { Page } from '../../contract/responses.ts';
import type { SpendLimit } from '../../contract/spend-limits.ts';
import type { AccountStore } from '../accounts/account-store.ts';
import type { AuditLog } from '../accounts/audit-log.ts';
import { AppError, invalidRequest } from '../platform/app-error.ts';
import type { Database } from '../platform/db/database.ts';
import type { Actor } from '../platform/http/request-context.ts';
import type { Ledger, WalletAdjustment } from '../quota/ledger.ts';
import type { Tables } from '../tables.ts';
import type { OrganizationStore } from './organization-store.ts';

/** The fields an administrator may change; absent fields stay unchanged. */
interface OrganizationUpdate extends WalletAdjustment {
  /** 1 enabled, 2 disabled: members and keys can then do nothing. */
  readonly status?: number;
  readonly concurrent_tasks?: number | null;
  readonly queued_tasks?: number | null;
  /** Null removes the limit. */
  readonly spend_limit?: SpendLimit | null;
}

interface OrganizationAdminDependencies {
  readonly database: Database<Tables>;
  readonly store: OrganizationStore;
  readonly accounts: Pick<AccountStore, 'lock' | 'update'>;
  readonly ledger: Pick<Ledger, 'adjustWallet' | 'setSpendLimit' | 'wallet'>;
  readonly auditLog: AuditLog;
}

/** Administration of organizations. */
export class OrganizationAdmin {
  readonly #dependencies: OrganizationAdminDependencies;

  constructor(dependencies: OrganizationAdminDependencies) {
    this.#dependencies = dependencies;
  }

  /** All organizations with their wallets, newest first. */
  async list(q: string | undefined, page: Page) {
    const { store, ledger } = this.#dependencies;
    const { rows, total } = await store.listAll(q, page);
    return {
      rows: await Promise.all(rows.map(async (row) => ({ ...row, wallet: await ledger.wallet(row.id) }))),
      total,
    };
  }

  /** @throws not_exist, invalid_request, quota_not_enough */
  async update(actor: Actor, id: number, update: OrganizationUpdate): Promise<void> {
    const { database, accounts, ledger, auditLog } = this.#dependencies;
    if (update.quota !== undefined && update.quota_delta !== undefined)
      throw invalidRequest('Give quota or quota_delta, not both.', 'quota');
    await database.transaction(async (trx) => {
      const account = await accounts.lock(trx, id);
      if (account?.kind !== 'organization') throw new AppError('organization_not_found');
      const { status, concurrent_tasks, queued_tasks } = update;
      const columns = defined({ status, concurrent_tasks, queued_tasks });
      if (Object.keys(columns).length > 0) await accounts.update(trx, id, columns);
      const delta = await ledger.adjustWallet(trx, id, update);
      if (update.spend_limit !== undefined)
        await ledger.setSpendLimit(trx, { kind: 'account', id }, update.spend_limit ?? undefined);
      await auditLog.record(trx, {
        ...actor,
        action: 'organization.admin-update',
        target: `organization:${id}`,
        before: { status: account.status },
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
