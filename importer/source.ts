/** The engines a source may use. */
export type EngineName = 'sqlite' | 'postgres' | 'mysql';

/**
 * A row of the source: every value as text, numbers in full, booleans as `1` and `0`; null and missing columns are
 * null.
 */
export type SourceRow = Readonly<Record<string, string | null>>;

/** Some columns and rows of a table; by default all of them. */
export interface TablePart {
  /** Missing columns are omitted. */
  readonly columns?: readonly string[];
  /** A condition on a row, with `[name]` for a quoted name. */
  readonly where?: string;
}

/**
 * The source program's database, as one consistent read-only snapshot.
 *
 * Clients of the engines convert values differently, so values arrive as text and share one mapping.
 */
export interface SourceDatabase {
  readonly engine: EngineName;
  /** Columns by table. */
  readonly tables: ReadonlyMap<string, readonly string[]>;
  /** Rows after an id, in order of id; none if there is no such table. */
  page(table: string, after: bigint, limit: number, part?: TablePart): Promise<SourceRow[]>;
  /** The rows of a query; `?` stands for each parameter and `[name]` for a quoted name. */
  query(text: string, parameters?: readonly (string | bigint)[]): Promise<SourceRow[]>;
  /**
   * An expression whose values are compared character by character, as the old programs compare them. The usual
   * collations of MySQL take letters that differ only in case or accents for equal.
   */
  exactly(expression: string): string;
  close(): Promise<void>;
}

/** Number of rows; 0 if there is no such table. */
export async function countRows({ tables, query }: SourceDatabase, table: string): Promise<number> {
  if (!tables.has(table)) return 0;
  const [row] = await query(`select count(*) as [n] from [${table}]`);
  return Number(row?.n ?? 0);
}

/** The engine-specific part of a source. */
interface SourceConnection {
  readonly engine: EngineName;
  readonly quote: (name: string) => string;
  /** Table and name of every column. */
  columns(): Promise<readonly (readonly [table: string, column: string])[]>;
  run(text: string, parameters: readonly (string | bigint)[]): Promise<SourceRow[]>;
  close(): Promise<void>;
}

/** Adds the engine-independent part to a connection. Closes the connection if its tables cannot be read. */
export async function openSourceDatabase(connection: SourceConnection): Promise<SourceDatabase> {
  const { engine, quote } = connection;
  const columns = await connection.columns().catch(async (error: unknown) => {
    await connection.close();
    throw error;
  });
  const tables = new Map(
    [...Map.groupBy(columns, ([table]) => table)].map(([table, rows]) => [table, rows.map(([, column]) => column)]),
  );
  const query: SourceDatabase['query'] = (text, parameters = []) =>
    connection.run(
      text.replace(/\[(\w+)\]/g, (_, name: string) => quote(name)),
      parameters,
    );
  return {
    engine,
    tables,
    query,
    exactly: (expression) =>
      engine === 'mysql' ? `convert(${expression} using utf8mb4) collate utf8mb4_bin` : expression,
    async page(table, after, limit, { columns, where }: TablePart = {}) {
      const there = tables.get(table);
      if (there === undefined) return [];
      const wanted = columns?.filter((column) => there.includes(column)).map((column) => `[${column}]`) ?? ['*'];
      const rows = where === undefined ? '' : `${where} and `;
      return query(`select ${wanted.join(', ')} from [${table}] where ${rows}[id] > ? order by [id] limit ${limit}`, [
        after,
      ]);
    },
    close: () => connection.close(),
  };
}

/** The programs an import supports. */
export type ProgramName = 'new-api' | 'one-api';

/**
 * Versions of the two schemas that differ in readable data, oldest first. Columns are only ever added, so the newest
 * column present decides.
 */
export type Generation =
  | 'one-api, first'
  | 'one-api'
  | 'new-api 2024'
  | 'new-api with several keys'
  | 'new-api with task ids'
  | 'new-api with task plugins';

/** The program and schema version of a source. */
export interface SourceSchema {
  readonly program: ProgramName;
  readonly generation: Generation;
  /** Existing tables that have no meaning here. */
  readonly unknownTables: readonly string[];
  /** Columns that imported tables have and neither program has, as `table.column`. */
  readonly unknownColumns: readonly string[];
}

/** Tables this importer reads, or knows and ignores. */
const KNOWN_TABLES: ReadonlySet<string> = new Set(
  `users tokens channels abilities options redemptions logs midjourneys top_ups quota_data tasks models vendors
   prefill_groups setups two_fas two_fa_backup_codes passkey_credentials checkins subscription_plans subscription_orders
   user_subscriptions subscription_pre_consume_records custom_oauth_providers user_oauth_bindings user_sessions auth_flows
   external_identity_claims perf_metrics system_instances system_tasks system_task_locks casbin_rule authz_roles task_plugins
   login_encryption_keys`.split(/\s+/),
);

/**
 * Columns of both programs, in the tables whose rows are imported. Those of forks are listed in the report, because they
 * may limit a key or give a code another meaning.
 */
const KNOWN_COLUMNS: Readonly<Record<string, string>> = {
  users: `id username password display_name role status email github_id wechat_id oidc_id lark_id discord_id telegram_id
    linux_do_id access_token quota used_quota request_count group aff_code aff_count aff_quota aff_history inviter_id
    deleted_at setting remark stripe_customer created_at last_login_at auth_version`,
  tokens: `id user_id key status name created_time accessed_time expired_time remain_quota unlimited_quota used_quota
    model_limits_enabled model_limits models allow_ips subnet group cross_group_retry auto_groups deleted_at`,
  channels: `id type key status name weight priority created_time test_time response_time base_url other other_info balance
    balance_updated_time models group used_quota model_mapping model_prefix status_code_mapping auto_ban tag remark
    test_model open_ai_organization setting settings param_override header_override channel_info config system_prompt
    deleted_at`,
  redemptions: `id user_id key status name quota created_time redeemed_time used_user_id expired_time valid_from
    valid_until is_gift max_uses used_count deleted_at`,
};

function unknownColumnsOf(tables: SourceDatabase['tables']): string[] {
  return Object.entries(KNOWN_COLUMNS).flatMap(([table, text]) => {
    const known = new Set(text.split(/\s+/));
    return (tables.get(table) ?? []).filter((column) => !known.has(column)).map((column) => `${table}.${column}`);
  });
}

/** Detects the program of a database by its columns. @throws Error if it is neither program's */
export function detectProgram({ tables }: Pick<SourceDatabase, 'tables'>): SourceSchema {
  const has = (table: string, column: string): boolean => tables.get(table)?.includes(column) === true;
  for (const table of ['users', 'tokens', 'channels', 'options'])
    if (!tables.has(table))
      throw new Error(`The source has no table ${table}: it is no database of new-api or one-api.`);
  for (const column of ['username', 'password', 'quota'])
    if (!has('users', column)) throw new Error(`The source's table users has no column ${column}.`);
  // Its types of channels have other numbers, and its prices, limits of keys and groups are elsewhere.
  if (has('prices', 'channel_type'))
    throw new Error('The source is a database of one-hub or done-hub, whose data differs: it cannot be imported.');
  const unknownTables = [...tables.keys()].filter((table) => !KNOWN_TABLES.has(table)).sort();
  const unknownColumns = unknownColumnsOf(tables);
  if (!has('users', 'aff_quota'))
    return {
      program: 'one-api',
      generation: has('channels', 'config') || has('tokens', 'subnet') ? 'one-api' : 'one-api, first',
      unknownTables,
      unknownColumns,
    };
  const generation: Generation = tables.has('task_plugins')
    ? 'new-api with task plugins'
    : has('tasks', 'private_data')
      ? 'new-api with task ids'
      : has('channels', 'channel_info')
        ? 'new-api with several keys'
        : 'new-api 2024';
  return { program: 'new-api', generation, unknownTables, unknownColumns };
}
