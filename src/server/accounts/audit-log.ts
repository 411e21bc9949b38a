import { type Selectable, sql } from 'kysely';
import type { AuditAction } from '../../contract/audit-actions.ts';
import type { LongPage } from '../../contract/responses.ts';
import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/db/database.ts';
import { deleteOldRows, readLargeListPage, statementParts } from '../platform/db/sql.ts';
import type { RequestOrigin } from '../platform/http/route-registry.ts';
import type { Tables, Trx } from '../tables.ts';
import type { AuditTables } from './tables.ts';

/** One audited change: who changed which object, and how. Callers mask secrets before recording it. */
export interface AuditEntry extends Partial<RequestOrigin> {
  /** The acting account; undefined for the service itself. */
  readonly actorId?: number;
  /** The account or organization whose things changed; recorded if it is not the acting account. */
  readonly ownerId?: number;
  readonly action: AuditAction;
  /** `channel:7`, `user:12`, … */
  readonly target: string;
  readonly before?: unknown;
  readonly after?: unknown;
}

/** Where services record audited changes. */
export interface AuditLog {
  /** Adds an entry in the transaction of the change it describes. */
  record(trx: Trx, entry: AuditEntry): Promise<void>;
  /** Adds any number of entries. */
  recordAll(trx: Trx, entries: readonly AuditEntry[]): Promise<void>;
}

/** Filters of the audit log. */
export interface AuditFilter {
  readonly actorId?: number;
  /** Changes of this organization, and those made for it. */
  readonly organizationId?: number;
  readonly action?: string;
  readonly target?: string;
}

const toJsonText = (value: unknown, action: string): string | null =>
  value === undefined ? null : JSON.stringify(value, (_, each: unknown) => maskUrl(each, action));

/** Actions whose URLs authenticate by their path, such as a chat service's incoming webhook. */
const HAS_SECRET_PATHS = /^(?:webhook|setting)\./;

/**
 * Masks a URL for the audit log, which every administrator can read: credentials and query are always removed, the path
 * for actions whose path authenticates.
 */
function maskUrl(value: unknown, action: string): unknown {
  if (typeof value !== 'string' || !/^[a-z][a-z0-9+.-]*:\/\//i.test(value)) return value;
  const url = URL.parse(value);
  if (url === null) return '[masked]';
  const { protocol, host, pathname } = url;
  return `${protocol}//${host}${HAS_SECRET_PATHS.test(action) || pathname === '/' ? '' : pathname}`;
}

const COLUMNS = 9;

const toRow = ({ actorId, ownerId, action, target, before, after, address, requestId }: AuditEntry) => ({
  actor_id: actorId ?? null,
  organization_id: ownerId === undefined || ownerId === actorId ? null : ownerId,
  action,
  target,
  before: toJsonText(before, action),
  after: toJsonText(after, action),
  address: address ?? '',
  request_id: requestId ?? '',
});

/** The audit log over its append-only table `audit_log`. */
export class AuditStore implements AuditLog {
  readonly #database: Database<Tables>;
  readonly #clock: Clock;

  constructor(database: Database<Tables>, clock: Clock) {
    this.#database = database;
    this.#clock = clock;
  }

  record(trx: Trx, entry: AuditEntry): Promise<void> {
    return this.recordAll(trx, [entry]);
  }

  async recordAll(trx: Trx, entries: readonly AuditEntry[]): Promise<void> {
    const now = this.#clock.now();
    for (const part of statementParts(entries, COLUMNS))
      await trx
        .insertInto('audit_log')
        .values(part.map((entry) => ({ ...toRow(entry), created_at: now })))
        .execute();
  }

  /** Deletes at most `limit` entries made before a time. @returns the number of deleted entries */
  deleteBefore(before: number, limit: number): Promise<number> {
    const old = { table: 'audit_log', key: 'id', time: 'created_at', keysAscendWithTime: true } as const;
    return deleteOldRows(this.#database.kysely, old, before, limit);
  }

  /** Newest first. */
  async list({ actorId, organizationId, action, target }: AuditFilter, page: LongPage) {
    const { kysely } = this.#database;
    let filtered = kysely.selectFrom('audit_log');
    if (actorId !== undefined) filtered = filtered.where('actor_id', '=', actorId);
    if (organizationId !== undefined) filtered = filtered.where('organization_id', '=', organizationId);
    if (action !== undefined) filtered = filtered.where('action', '=', action);
    if (target !== undefined) filtered = filtered.where('target', '=', target);
    const { rows, ...rest } = await readLargeListPage(kysely, filtered, 'id', page, (each) => each.selectAll());
    const names = await this.#namesOf([...new Set(rows.map((row) => row.target))]);
    const slugs = await this.#slugsOf([...new Set(rows.flatMap(({ organization_id: id }) => id ?? []))]);
    const entries = rows.map((row) => ({
      ...withoutOldUrls(row),
      target_name: names.get(row.target) ?? '',
      organization: slugs.get(row.organization_id ?? 0) ?? '',
    }));
    return { ...rest, rows: entries };
  }

  async #slugsOf(ids: readonly number[]): Promise<ReadonlyMap<number, string>> {
    if (ids.length === 0) return new Map();
    const { kysely } = this.#database;
    const rows = await kysely.selectFrom('organizations').select(['id', 'slug']).where('id', 'in', ids).execute();
    return new Map(rows.map(({ id, slug }) => [id, slug]));
  }

  /** Current names of targets such as `channel:7`; those deleted since have none. */
  async #namesOf(targets: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const byKind = Map.groupBy(targets, (target) => target.slice(0, Math.max(0, target.indexOf(':'))));
    const found = await Promise.all(
      [...byKind].map(async ([kind, ofKind]) => {
        const source = NAMES[kind];
        if (source === undefined) return [];
        const [table, id, name] = source;
        const ids = ofKind.map((target) => target.slice(kind.length + 1));
        const { rows } = await sql<{ id: string | number; name: string | null }>`
          select ${sql.ref(id)} as id, ${sql.ref(name)} as name from ${sql.table(table)}
          where ${sql.ref(id)} in (${sql.join(id === 'id' ? ids.map(Number) : ids)})`.execute(this.#database.kysely);
        return rows.map((row) => [`${kind}:${row.id}`, row.name ?? ''] as const);
      }),
    );
    return new Map(found.flat());
  }
}

/** Where the name of a target is stored, by the kind of target. */
const NAMES: Readonly<Record<string, readonly [table: keyof Tables, id: string, name: string]>> = {
  announcement: ['notifications', 'id', 'title_en'],
  beta_application: ['beta_applications', 'id', 'feature'],
  channel: ['channels', 'id', 'name'],
  device: ['device_authorizations', 'id', 'client_name'],
  'device-client': ['device_clients', 'client_id', 'name'],
  organization: ['organizations', 'id', 'name'],
  'package-card': ['plans', 'id', 'name'],
  'redemption-batch': ['redemption_batches', 'id', 'note'],
  'redemption-code': ['redemption_codes', 'id', 'hint'],
  ticket: ['tickets', 'id', 'title'],
  token: ['tokens', 'id', 'name'],
  user: ['accounts', 'id', 'username'],
};

/** Masks whole URLs recorded by earlier releases, which remain in the table until retention deletes them. */
function withoutOldUrls(row: Selectable<AuditTables['audit_log']>): Selectable<AuditTables['audit_log']> {
  const mask = (text: string | null) => (text?.includes('://') ? toJsonText(JSON.parse(text), row.action) : text);
  return { ...row, before: mask(row.before), after: mask(row.after) };
}
