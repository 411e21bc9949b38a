import type { Page } from '../../contract/schemas.ts';
import type { Audit } from '../accounts/audit.ts';
import type { Standing } from '../accounts/standing.ts';
import type { AdminNotice, AdminNotifier, Notice, Notifier } from '../notifications/notifier.ts';
import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/db/database.ts';
import { AppError, notExist } from '../platform/errors.ts';
import type { Tables } from '../tables.ts';
import {
  type ApplicationFilter,
  type ApplicationRow,
  addApplication,
  decide,
  deleteApplication,
  findApplication,
  listApplications,
} from './application-store.ts';
import type { Actor } from './tickets.ts';

/** Requests of accounts for features in beta. */
export interface Applications {
  list(filter: ApplicationFilter, page: Page): Promise<{ rows: ApplicationRow[]; total: number }>;
  /** @throws not_exist */
  get(id: number): Promise<ApplicationRow>;
  /** @throws already_exists while one for the feature waits or was granted */
  apply(userId: number, application: { readonly feature: string; readonly reason: string }): Promise<number>;
  /** @throws not_exist, rank_too_low, application_decided */
  decide(actor: Actor, id: number, verdict: 'approved' | 'rejected', note?: string): Promise<void>;
  /** @throws not_exist, rank_too_low */
  remove(actor: Actor, id: number): Promise<void>;
}

export interface ApplicationParts {
  readonly database: Database<Tables>;
  readonly clock: Clock;
  readonly audit: Audit;
  readonly notifier: Notifier & AdminNotifier;
  readonly standing: Pick<Standing, 'assertManages'>;
}

export function makeApplications({ database, clock, audit, notifier, standing }: ApplicationParts): Applications {
  const existing = async (db: Parameters<typeof findApplication>[0], id: number): Promise<ApplicationRow> => {
    const row = await findApplication(db, id);
    if (row === undefined) throw notExist('application');
    return row;
  };
  return {
    list: (filter, page) => listApplications(database.kysely, filter, page),
    get: (id) => existing(database.kysely, id),
    apply: (userId, { feature, reason }) =>
      database.transaction(async (trx) => {
        const row = { user_id: userId, feature: feature.trim(), reason, created_at: clock.now() };
        const id = await addApplication(trx, row);
        if (id === undefined) throw new AppError('already_exists', { params: { what: 'application' } });
        await notifier.notifyAdministrators(trx, toDo(id, row));
        return id;
      }),
    decide: (actor, id, verdict, note = '') =>
      database.transaction(async (trx) => {
        const { user_id } = await existing(trx, id);
        await standing.assertManages(trx, actor.actorId, user_id);
        const decision = { status: verdict, note, decided_by: actor.actorId, decided_at: clock.now() };
        const row = await decide(trx, id, decision);
        if (row === undefined) {
          await existing(trx, id);
          throw new AppError('application_decided');
        }
        const told = { action: `beta_application.${verdict}`, target: `beta_application:${id}` };
        await audit.record(trx, { ...actor, ...told, before: { status: 'pending' }, after: { status: verdict, note } });
        await notifier.notify(trx, result(row));
      }),
    remove: (actor, id) =>
      database.transaction(async (trx) => {
        const before = await existing(trx, id);
        await standing.assertManages(trx, actor.actorId, before.user_id);
        if (!(await deleteApplication(trx, id))) throw notExist('application');
        const told = { action: 'beta_application.delete', target: `beta_application:${id}` };
        await audit.record(trx, { ...actor, ...told, before });
      }),
  };
}

const toDo = (id: number, row: Pick<ApplicationRow, 'user_id' | 'feature' | 'reason'>): AdminNotice => ({
  type: 'admin_beta',
  topic: 'beta',
  causedBy: row.user_id,
  title: { en: `Beta application: ${row.feature}`, 'zh-CN': `内测申请：${row.feature}` },
  content: { en: row.reason, 'zh-CN': row.reason },
  targetUrl: `/admin/beta-applications/${id}`,
  relatedId: id,
});

const RESULT = {
  approved: { en: 'Your application was approved.', 'zh-CN': '您的申请已通过。' },
  rejected: { en: 'Your application was not approved.', 'zh-CN': '您的申请未通过。' },
} as const;

function result({ id, user_id, feature, status, note }: ApplicationRow): Notice {
  const text = RESULT[status === 'approved' ? 'approved' : 'rejected'];
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
