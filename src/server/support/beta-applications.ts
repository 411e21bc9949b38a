import type { Selectable } from 'kysely';
import type { Static } from 'typebox';
import type {
  APPLICATION_SORTS,
  ApplicationStatus,
  BetaFeature as BetaFeatureSchema,
} from '../../contract/beta-applications.ts';
import type { Page, Sort } from '../../contract/responses.ts';
import type { AccountAccess } from '../accounts/account-store.ts';
import type { AuditLog } from '../accounts/audit-log.ts';
import type { AdminNotice, AdminNotifier, Notice, Notifier } from '../notifications/notifier.ts';
import { AppError, notExistError } from '../platform/app-error.ts';
import type { Clock } from '../platform/clock.ts';
import type { Live } from '../platform/config.ts';
import type { Database } from '../platform/db/database.ts';
import { wasChanged } from '../platform/db/sql.ts';
import type { Actor } from '../platform/http/route-registry.ts';
import type { Executor, Tables, Trx } from '../tables.ts';
import { listMatching, toMatchOrder } from './paged-list.ts';

/** Dependencies of {@link BetaApplicationService}. */
export interface BetaApplicationServiceDependencies {
  readonly database: Database<Tables>;
  readonly betaApplications: BetaApplicationStore;
  readonly clock: Clock;
  readonly auditLog: AuditLog;
  readonly notifier: Notifier & AdminNotifier;
  readonly access: Pick<AccountAccess, 'assertCanManage'>;
  readonly site: Live<{ readonly betaFeatures: string | undefined }>;
}

type BetaFeature = Static<typeof BetaFeatureSchema>;

/** Reads the setting `BETA_FEATURES`: `Name: description`, one feature per line; of repeated names the first counts. */
function parseBetaFeatures(text: string): BetaFeature[] {
  const features = new Map<string, BetaFeature>();
  for (const line of text.split('\n')) {
    const [, name = '', description = ''] = /^([^:：]*)(?:[:：](.*))?$/.exec(line.trim()) ?? [];
    const feature = { name: name.trim(), description: description.trim() };
    if (feature.name !== '' && !features.has(feature.name)) features.set(feature.name, feature);
  }
  return [...features.values()];
}

/** Accounts' applications for beta features. */
export class BetaApplicationService {
  readonly #dependencies: BetaApplicationServiceDependencies;
  constructor(dependencies: BetaApplicationServiceDependencies) {
    this.#dependencies = dependencies;
  }

  /** The features open for applications. */
  features(): BetaFeature[] {
    return parseBetaFeatures(this.#dependencies.site.current().betaFeatures ?? '');
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

  /**
   * Decides an application; the first decision is final. @throws AppError `not_exist`, `rank_too_low`,
   * `application_decided`
   */
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

/** A beta application with its decision. */
export type BetaApplicationRow = Selectable<Tables['beta_applications']>;

interface BetaApplicationFilter {
  readonly userId?: number;
  readonly status?: ApplicationStatus;
  readonly feature?: string;
}

type Decision = Required<Pick<BetaApplicationRow, 'status' | 'note' | 'decided_by' | 'decided_at'>>;

type BetaApplicationSort = Sort<(typeof APPLICATION_SORTS)[number]>;
const SORT_COLUMNS = { created: 'id', feature: 'feature' } as const;

/** SQL of `beta_applications`. */
export class BetaApplicationStore {
  readonly #database: Database<Tables>;
  constructor(database: Database<Tables>) {
    this.#database = database;
  }

  /** @returns the new id; undefined while an application of this account for this feature is pending or approved */
  async insert(
    trx: Trx,
    row: Pick<BetaApplicationRow, 'user_id' | 'feature' | 'reason' | 'created_at'>,
  ): Promise<number | undefined> {
    const inserted = await trx
      .insertInto('beta_applications')
      .values({ ...row, status: 'pending', note: '', decided_by: null, decided_at: null })
      .onConflict((conflict) => conflict.doNothing())
      .returning('id')
      .executeTakeFirst();
    return inserted?.id;
  }

  find(id: number, db: Executor = this.#database.kysely): Promise<BetaApplicationRow | undefined> {
    return db.selectFrom('beta_applications').selectAll().where('id', '=', id).executeTakeFirst();
  }

  /** Newest first unless sorted. */
  list(
    { userId, status, feature }: BetaApplicationFilter,
    page: Page,
    sort?: BetaApplicationSort,
  ): Promise<{ rows: BetaApplicationRow[]; total: number }> {
    const { kysely } = this.#database;
    let matching = kysely.selectFrom('beta_applications');
    if (userId !== undefined) matching = matching.where('user_id', '=', userId);
    if (status !== undefined) matching = matching.where('status', '=', status);
    if (feature !== undefined) matching = matching.where('feature', '=', feature);
    return listMatching<'beta_applications', BetaApplicationRow>(
      kysely,
      matching,
      page,
      toMatchOrder(SORT_COLUMNS, sort),
    );
  }

  async countPending(): Promise<number> {
    const { count } = await this.#database.kysely
      .selectFrom('beta_applications')
      .select(({ fn }) => fn.countAll<number>().as('count'))
      .where('status', '=', 'pending')
      .executeTakeFirstOrThrow();
    return Number(count);
  }

  /** @returns the decided application; undefined if it does not exist or was already decided */
  decide(trx: Trx, id: number, decision: Decision): Promise<BetaApplicationRow | undefined> {
    return trx
      .updateTable('beta_applications')
      .set(decision)
      .where('id', '=', id)
      .where('status', '=', 'pending')
      .returningAll()
      .executeTakeFirst();
  }

  /** @returns whether the application existed */
  async delete(trx: Trx, id: number): Promise<boolean> {
    return wasChanged(await trx.deleteFrom('beta_applications').where('id', '=', id).executeTakeFirst());
  }
}

/** Notifies administrators of a new application. */
const newApplicationNotice = (
  id: number,
  row: Pick<BetaApplicationRow, 'user_id' | 'feature' | 'reason'>,
): AdminNotice => ({
  type: 'admin_beta',
  topic: 'beta',
  exceptUserId: row.user_id,
  title: { en: `Beta application: ${row.feature}`, 'zh-CN': `内测申请：${row.feature}` },
  content: { en: row.reason, 'zh-CN': row.reason },
  targetUrl: `/admin/beta-applications/${id}`,
  relatedId: id,
});

const RESULT_TEXT = {
  approved: { en: 'Your application was approved.', 'zh-CN': '您的申请已通过。' },
  rejected: { en: 'Your application was not approved.', 'zh-CN': '您的申请未通过。' },
} as const;

/** Notifies the applicant of the decision, with the administrator's note. */
function decisionNotice({ id, user_id, feature, status, note }: BetaApplicationRow): Notice {
  const text = RESULT_TEXT[status === 'approved' ? 'approved' : 'rejected'];
  const noted = note === '' ? '' : `\n${note}`;
  return {
    userId: user_id,
    type: 'beta_result',
    topic: 'beta',
    title: { en: `Beta access to ${feature}`, 'zh-CN': `内测申请结果：${feature}` },
    content: { en: `${text.en}${noted}`, 'zh-CN': `${text['zh-CN']}${noted}` },
    targetUrl: '/beta-applications',
    relatedId: id,
  };
}
