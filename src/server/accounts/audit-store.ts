import type { Kysely } from 'kysely';
import type { Page } from '../../contract/schemas.ts';
import type { Clock } from '../platform/clock.ts';
import type { Tables } from '../tables.ts';
import type { Audit } from './audit.ts';

const toText = (value: unknown): string | null => (value === undefined ? null : JSON.stringify(value));

/** The log over its table: rows are only ever added. */
export function makeAudit(clock: Clock): Audit {
  return {
    async record(trx, { actorId, action, target, before, after, address, requestId }) {
      await trx
        .insertInto('audit_log')
        .values({
          actor_id: actorId ?? null,
          action,
          target,
          before: toText(before),
          after: toText(after),
          address: address ?? '',
          request_id: requestId ?? '',
          created_at: clock.now(),
        })
        .execute();
    },
  };
}

export interface AuditFilter {
  readonly actorId?: number;
  readonly action?: string;
  readonly target?: string;
}

/** Newest first. */
export async function listAudit(db: Kysely<Tables>, filter: AuditFilter, page: Page) {
  let matching = db.selectFrom('audit_log');
  if (filter.actorId !== undefined) matching = matching.where('actor_id', '=', filter.actorId);
  if (filter.action !== undefined) matching = matching.where('action', '=', filter.action);
  if (filter.target !== undefined) matching = matching.where('target', '=', filter.target);
  const [rows, count] = await Promise.all([
    matching.selectAll().orderBy('id', 'desc').limit(page.pageSize).offset(page.offset).execute(),
    matching.select((row) => row.fn.countAll<number>().as('total')).executeTakeFirstOrThrow(),
  ]);
  return { rows, total: Number(count.total) };
}
