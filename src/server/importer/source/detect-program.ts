import type { SourceDatabase } from './source-database.ts';

export type ProgramName = 'new-api' | 'one-api';

/** Steps of the two schemas that change what can be read, oldest first. Columns are only ever added, so the newest one counts. */
export type Generation =
  | 'one-api, first'
  | 'one-api'
  | 'new-api 2024'
  | 'new-api with several keys'
  | 'new-api with task ids'
  | 'new-api with task plugins';

export interface SourceSchema {
  readonly program: ProgramName;
  readonly generation: Generation;
  /** Tables that are there and have no meaning here. */
  readonly unknownTables: readonly string[];
}

/** Tables this importer reads, or knows and leaves. */
const KNOWN_TABLES: ReadonlySet<string> = new Set(
  `users tokens channels abilities options redemptions logs midjourneys top_ups quota_data tasks models vendors
   prefill_groups setups two_fas two_fa_backup_codes passkey_credentials checkins subscription_plans subscription_orders
   user_subscriptions subscription_pre_consume_records custom_oauth_providers user_oauth_bindings user_sessions auth_flows
   external_identity_claims perf_metrics system_instances system_tasks system_task_locks casbin_rule authz_roles task_plugins
   login_encryption_keys`.split(/\s+/),
);

/** Which program a database belongs to, by the columns it has. @throws Error where it is neither's */
export function detectProgram({ tables }: Pick<SourceDatabase, 'tables'>): SourceSchema {
  const has = (table: string, column: string): boolean => tables.get(table)?.includes(column) === true;
  for (const table of ['users', 'tokens', 'channels', 'options'])
    if (!tables.has(table))
      throw new Error(`The source has no table ${table}: it is no database of new-api or one-api.`);
  for (const column of ['username', 'password', 'quota'])
    if (!has('users', column)) throw new Error(`The source's table users has no column ${column}.`);
  const unknownTables = [...tables.keys()].filter((table) => !KNOWN_TABLES.has(table)).sort();
  if (!has('users', 'aff_quota'))
    return {
      program: 'one-api',
      generation: has('channels', 'config') || has('tokens', 'subnet') ? 'one-api' : 'one-api, first',
      unknownTables,
    };
  const generation: Generation = tables.has('task_plugins')
    ? 'new-api with task plugins'
    : has('tasks', 'private_data')
      ? 'new-api with task ids'
      : has('channels', 'channel_info')
        ? 'new-api with several keys'
        : 'new-api 2024';
  return { program: 'new-api', generation, unknownTables };
}
