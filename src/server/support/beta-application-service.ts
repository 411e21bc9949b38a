import type { Page } from '../../contract/success-bodies-and-pagination.ts';
import type { AccountAccess } from '../accounts/account-store.ts';
import type { AuditLog } from '../accounts/audit-log.ts';
import type { AdminNotifier, Notifier } from '../notifications/notifier-types.ts';
import { AppError, notExistError } from '../platform/app-error.ts';
import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/db/database.ts';
import type { Actor } from '../platform/http/request-context.ts';
import type { Executor, Tables } from '../tables.ts';
import type {
  BetaApplicationFilter,
  BetaApplicationRow,
  BetaApplicationSort,
  BetaApplicationStore,
} from './beta-application-store.ts';
import { decisionNotice, newApplicationNotice } from './build-beta-application-notices.ts';

export interface BetaApplicationServiceDependencies {
  readonly database: Database<Tables>;
  readonly betaApplications: BetaApplicationStore;
  readonly clock: Clock;
  readonly auditLog: AuditLog;
  readonly notifier: Notifier & AdminNotifier;
  readonly access: Pick<AccountAccess, 'assertCanManage'>;
}

/** Requests of accounts for features in beta. */
export class BetaApplicationService {
  readonly #dependencies: BetaApplicationServiceDependencies;
  constructor(dependencies: BetaApplicationServiceDependencies) {
    this.#dependencies = dependencies;
  }

  /** Newest first. */
  list(
    filter: BetaApplicationFilter,
    page: Page,
    sort?: BetaApplicationSort,
  ): Promise<{ rows: BetaApplicationRow[]; total: number }> {
    return this.#dependencies.betaApplications.list(filter, page, sort);
  }

  /** @throws AppError `not_exist` */
  get(id: number): Promise<BetaApplicationRow> {
    return this.#get(id);
  }

  /**
   * @returns the new id
   * @throws AppError `already_exists` while an application for this feature is pending or approved
   */
  apply(userId: number, { feature, reason }: { readonly feature: string; readonly reason: string }): Promise<number> {
    const { database, betaApplications, notifier, clock } = this.#dependencies;
    return database.transaction(async (trx) => {
      const row = { user_id: userId, feature: feature.trim(), reason, created_at: clock.now() };
      const id = await betaApplications.insert(trx, row);
      if (id === undefined) throw new AppError('already_exists', { params: { what: 'application' } });
      await notifier.notifyAdministrators(trx, newApplicationNotice(id, row));
      return id;
    });
  }

  /** The first decision holds. @throws AppError `not_exist`, `rank_too_low`, `application_decided` */
  decide(actor: Actor, id: number, status: 'approved' | 'rejected', note = ''): Promise<void> {
    const { database, betaApplications, access, notifier, auditLog, clock } = this.#dependencies;
    return database.transaction(async (trx) => {
      const { user_id } = await this.#get(id, trx);
      await access.assertCanManage(trx, actor.actorId, user_id);
      const decision = { status, note, decided_by: actor.actorId, decided_at: clock.now() };
      const row = await betaApplications.decide(trx, id, decision);
      if (row === undefined) {
        await this.#get(id, trx);
        throw new AppError('application_decided');
      }
      await auditLog.record(trx, {
        ...actor,
        action: `beta_application.${status}`,
        target: `beta_application:${id}`,
        before: { status: 'pending' },
        after: { status, note },
      });
      await notifier.notify(trx, decisionNotice(row));
    });
  }

  /** @throws AppError `not_exist`, `rank_too_low` */
  remove(actor: Actor, id: number): Promise<void> {
    const { database, betaApplications, access, auditLog } = this.#dependencies;
    return database.transaction(async (trx) => {
      const before = await this.#get(id, trx);
      await access.assertCanManage(trx, actor.actorId, before.user_id);
      if (!(await betaApplications.delete(trx, id))) throw notExistError('application');
      const action = 'beta_application.delete';
      await auditLog.record(trx, { ...actor, action, target: `beta_application:${id}`, before });
    });
  }

  async #get(id: number, db?: Executor): Promise<BetaApplicationRow> {
    const row = await this.#dependencies.betaApplications.find(id, db);
    if (row === undefined) throw notExistError('application');
    return row;
  }
}
