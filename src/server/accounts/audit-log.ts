import type { Selectable } from 'kysely';
import type { LongPage } from '../../contract/responses.ts';
import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/db/database.ts';
import { deleteOldRows, readLargeListPage } from '../platform/db/sql.ts';
import type { RequestOrigin } from '../platform/http/request-context.ts';
import type { Tables, Trx } from '../tables.ts';
import type { AuditTables } from './tables.ts';

/** One change worth keeping: who did what to which object. Secrets are masked before they get here. */
export interface AuditEntry extends Partial<RequestOrigin> {
  /** Account that acted; undefined: the service itself. */
  readonly actorId?: number;
  /** `channel.update`, `mailbox.read`, … */
  readonly action: string;
  /** `channel:7`, `user:12`, … */
  readonly target: string;
  readonly before?: unknown;
  readonly after?: unknown;
}

export interface AuditLog {
  /** Adds an entry in the transaction of the change it describes. */
  record(trx: Trx, entry: AuditEntry): Promise<void>;
}

export interface AuditFilter {
  readonly actorId?: number;
  readonly action?: string;
  readonly target?: string;
}

const toJsonText = (value: unknown, action: string): string | null =>
  value === undefined ? null : JSON.stringify(value, (_, each: unknown) => maskUrl(each, action));

/** Actions on addresses whose path authenticates, such as the incoming webhook of a chat service. */
const HAS_SECRET_PATHS = /^(?:webhook|setting)\./;

/** Every administrator reads the log, so a URL in it has neither credentials nor a query, and some have no path. */
function maskUrl(value: unknown, action: string): unknown {
  if (typeof value !== 'string' || !/^[a-z][a-z0-9+.-]*:\/\//i.test(value)) return value;
  const url = URL.parse(value);
  if (url === null) return '[masked]';
  const { protocol, host, pathname } = url;
  return `${protocol}//${host}${HAS_SECRET_PATHS.test(action) || pathname === '/' ? '' : pathname}`;
}

/** The audit log over its table `audit_log`, to which rows are only ever added. */
export class AuditStore implements AuditLog {
  readonly #database: Database<Tables>;
  readonly #clock: Clock;

  constructor(database: Database<Tables>, clock: Clock) {
    this.#database = database;
    this.#clock = clock;
  }

  async record(trx: Trx, { actorId, action, target, before, after, address, requestId }: AuditEntry): Promise<void> {
    await trx
      .insertInto('audit_log')
      .values({
        actor_id: actorId ?? null,
        action,
        target,
        before: toJsonText(before, action),
        after: toJsonText(after, action),
        address: address ?? '',
        request_id: requestId ?? '',
        created_at: this.#clock.now(),
      })
      .execute();
  }

  /** Deletes at most `limit` of the entries made before a time. @returns how many */
  deleteBefore(before: number, limit: number): Promise<number> {
    const old = { table: 'audit_log', key: 'id', time: 'created_at', keysAscendWithTime: true } as const;
    return deleteOldRows(this.#database.kysely, old, before, limit);
  }

  /** Newest first. */
  async list({ actorId, action, target }: AuditFilter, page: LongPage) {
    const { kysely } = this.#database;
    let filtered = kysely.selectFrom('audit_log');
    if (actorId !== undefined) filtered = filtered.where('actor_id', '=', actorId);
    if (action !== undefined) filtered = filtered.where('action', '=', action);
    if (target !== undefined) filtered = filtered.where('target', '=', target);
    const { rows, ...rest } = await readLargeListPage(kysely, filtered, 'id', page, (each) => each.selectAll());
    return { ...rest, rows: rows.map(withoutOldUrls) };
  }
}

/** Earlier releases recorded whole URLs, which stay in the table until the retention deletes the entries. */
function withoutOldUrls(row: Selectable<AuditTables['audit_log']>): Selectable<AuditTables['audit_log']> {
  const mask = (text: string | null) => (text?.includes('://') ? toJsonText(JSON.parse(text), row.action) : text);
  return { ...row, before: mask(row.before), after: mask(row.after) };
}
