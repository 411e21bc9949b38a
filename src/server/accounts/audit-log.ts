import { type RawBuilder, type Selectable, sql } from 'kysely';
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
    const prompts = await this.#promptsOf(rows.flatMap((row) => sharedVideo(row) ?? []));
    const slugs = await this.#slugsOf([...new Set(rows.flatMap(({ organization_id: id }) => id ?? []))]);
    const entries = rows.map((row) => ({
      ...withoutOldUrls(row),
      target_name: names.get(row.target) ?? prompts.get(sharedVideo(row) ?? '') ?? '',
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
          select ${sql.ref(id)} as id, ${name} as name from ${sql.table(table)}
          where ${sql.ref(id)} in (${sql.join(id === 'id' ? ids.map(Number) : ids)})`.execute(this.#database.kysely);
        return rows.map((row) => [`${kind}:${row.id}`, toHost(row.name ?? '')] as const);
      }),
    );
    return new Map(found.flat());
  }

  /** Starts of prompts by the public id of the video: a share link is named by its video, also after its deletion. */
  async #promptsOf(ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
    if (ids.length === 0) return new Map();
    const { kysely } = this.#database;
    const prompt = sql<string>`substr(prompt, 1, ${sql.lit(MAX_PROMPT_START)})`.as('prompt');
    const rows = await kysely.selectFrom('tasks').select(['public_id', prompt]).where('public_id', 'in', ids).execute();
    return new Map(rows.map((row) => [row.public_id, row.prompt]));
  }
}

const MAX_PROMPT_START = 120;

/** Public id of the video that a share link of an entry shows. */
function sharedVideo({ target, after }: Pick<AuditTables['audit_log'], 'target' | 'after'>): string | undefined {
  if (!target.startsWith('share:') || after === null) return undefined;
  const { task } = JSON.parse(after) as { readonly task?: unknown };
  return typeof task === 'string' ? task : undefined;
}

/** Names a webhook without a description by its host: the path of its URL can authenticate. */
const toHost = (name: string): string => (name.includes('://') ? (URL.parse(name)?.host ?? '') : name);

/** How targets are named, by the kind of target: table, key and name of a row. */
const NAMES: Readonly<Record<string, readonly [table: keyof Tables, id: string, name: RawBuilder<unknown>]>> = {
  announcement: ['notifications', 'id', sql.ref('title_en')],
  beta_application: ['beta_applications', 'id', sql.ref('feature')],
  channel: ['channels', 'id', sql.ref('name')],
  device: ['device_authorizations', 'id', sql.ref('client_name')],
  'device-client': ['device_clients', 'client_id', sql.ref('name')],
  organization: ['organizations', 'id', sql.ref('name')],
  'package-card': ['plans', 'id', sql.ref('name')],
  // One without a note is named by the plan its codes give.
  'redemption-batch': [
    'redemption_batches',
    'id',
    sql`coalesce(nullif(note, ''), (select max(plans.name) from redemption_codes
      join plans on plans.id = redemption_codes.plan_id where redemption_codes.batch_id = redemption_batches.id))`,
  ],
  'redemption-code': ['redemption_codes', 'id', sql.ref('hint')],
  ticket: ['tickets', 'id', sql.ref('title')],
  token: ['tokens', 'id', sql.ref('name')],
  user: ['accounts', 'id', sql.ref('username')],
  webhook: ['webhook_endpoints', 'id', sql`coalesce(nullif(description, ''), url)`],
};

/** Masks whole URLs recorded by earlier releases, which remain in the table until retention deletes them. */
function withoutOldUrls(row: Selectable<AuditTables['audit_log']>): Selectable<AuditTables['audit_log']> {
  const mask = (text: string | null) => (text?.includes('://') ? toJsonText(JSON.parse(text), row.action) : text);
  return { ...row, before: mask(row.before), after: mask(row.after) };
}
