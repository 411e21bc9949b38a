import { isObject } from '../src/contract/objects.ts';
import { PRICE_OPTIONS } from './mapping/built-in-prices.ts';
import { integerOf, objectOf, readOptions, textOf, toPlainText } from './mapping/values.ts';
import { countRows, type SourceDatabase, type SourceSchema } from './source.ts';
import type { ImportSummary } from './summary.ts';

interface UnimportedTable {
  /** A description of one row. */
  readonly row: string;
  /** Columns that identify a row; none of them contains a secret. */
  readonly columns: readonly string[];
}

/** Tables whose rows have no counterpart here. */
const UNIMPORTED: Readonly<Record<string, UnimportedTable>> = {
  midjourneys: {
    row: 'an image of Midjourney',
    columns: ['user_id', 'action', 'mj_id', 'status', 'quota'],
  },
  two_fa_backup_codes: {
    row: 'a backup code of a second step; its owner makes new ones',
    columns: ['user_id', 'is_used'],
  },
  passkey_credentials: { row: 'a passkey; its owner registers it again', columns: ['user_id', 'last_used_at'] },
  top_ups: {
    row: 'a payment',
    columns: ['user_id', 'amount', 'money', 'trade_no', 'payment_method', 'status', 'create_time'],
  },
  subscription_plans: {
    row: 'a plan that was sold; create it here',
    columns: ['title', 'price_amount', 'currency', 'duration_unit', 'duration_value', 'total_amount', 'enabled'],
  },
  subscription_orders: { row: 'an order of a plan', columns: ['user_id', 'plan_id', 'money', 'trade_no', 'status'] },
  subscription_pre_consume_records: {
    row: 'a hold on a plan; one still consumed may be due a refund',
    columns: ['user_id', 'request_id', 'pre_consumed', 'status'],
  },
  checkins: { row: 'a daily check-in', columns: ['user_id', 'checkin_date', 'quota_awarded'] },
  user_oauth_bindings: { row: 'a sign-in with another service', columns: ['user_id', 'provider_id'] },
  external_identity_claims: { row: 'a sign-in with another service', columns: ['user_id', 'provider'] },
  custom_oauth_providers: { row: 'another sign-in service; configure it here', columns: ['name', 'slug'] },
  casbin_rule: { row: "a rule of administrators' permissions", columns: ['ptype', 'v0', 'v1', 'v2', 'v3'] },
  authz_roles: { row: "a role of administrators' permissions", columns: ['name', 'key'] },
  prefill_groups: { row: 'a group of prefilled values', columns: ['name', 'type'] },
  models: { row: 'the description of a model', columns: ['model_name', 'description', 'status'] },
  vendors: { row: 'the description of a vendor', columns: ['name', 'description'] },
  task_plugins: { row: 'a plugin for tasks; its program is never run here', columns: ['key', 'version', 'enabled'] },
};

/**
 * Tables without data to import: derived from others, specific to one run of the program, or history that stays
 * readable in the source.
 */
const LEFT_BEHIND: Readonly<Record<string, string>> = {
  abilities: 'derived from the channels, which come over',
  logs: 'the log of requests; it stays in the old database',
  perf_metrics: 'measurements of the old program',
  system_instances: 'running instances of the old program',
  system_tasks: 'background work of the old program',
  system_task_locks: 'background work of the old program',
  setups: 'the record of its first start',
  user_sessions: 'sign-ins; people sign in again',
  auth_flows: 'sign-ins in progress when it stopped',
  login_encryption_keys: 'its own keys, which are not read',
};

/** Options an import reads. */
const IMPORTED_OPTIONS: ReadonlySet<string> = new Set([
  ...PRICE_OPTIONS,
  'QuotaPerUnit',
  'GroupRatio',
  'GroupGroupRatio',
  'SelfUseModeEnabled',
  'billing_setting.billing_mode',
]);

/** The subject of options without a counterpart, and where it is configured here. */
const OPTION_SUBJECTS: readonly (readonly [names: RegExp, subject: string])[] = [
  [/^billing_setting\./, 'price expressions; models that have one are listed'],
  [/^SMTP/, 'outgoing mail; set SMTP_URL'],
  [/^(?:Epay|Stripe|Creem|Waffo|Pay|Price$|USDExchangeRate|MinTopUp|TopupGroupRatio|payment_setting)/i, 'payments'],
  [
    /^(?:GitHub|oidc\.|discord\.|LinuxDO|Telegram|WeChat|Lark|Google|Turnstile)/i,
    'other sign-ins and checks at sign-in',
  ],
  [/^passkey\./, 'passkeys'],
  [/^(?:.*Register|PasswordLogin|Email)/, 'registration and sign-in'],
  [/^ModelRequestRateLimit/, 'rate limits'],
  [/^(?:Automatic|ChannelDisable|RetryTimes|monitor_setting)/, 'health and retries of channels'],
  [/^(?:Check)?Sensitive/, 'the word filter'],
  [/^(?:Quota|PreConsumedQuota|checkin_setting|quota_setting)/, 'credits given to accounts, and warnings about them'],
  [
    /^(?:UserUsableGroups|AutoGroups|DefaultUseAutoGroup|MaxTokenAutoGroups|group_ratio_setting)/,
    'groups that keys may choose; here each key uses the plan of its owner',
  ],
  [
    /^(?:ServerAddress|SystemName|Logo|Footer|Notice|About|HomePageContent|console_setting|theme|Chat|TopUpLink)/,
    'the site',
  ],
];

/** Maximum number of rows of a table to list individually; a line states the number of further rows. */
const MAX_LISTED = 100_000;
/** Names that can be quoted in every engine. */
const PLAIN_NAME = /^\w+$/;

/** Reports data without a counterpart here: options, tables by their rows, active plans. */
export async function reportUnimported(
  source: SourceDatabase,
  schema: SourceSchema,
  found: ImportSummary,
): Promise<void> {
  await findOptions(source, found);
  for (const [table, { row, columns }] of Object.entries(UNIMPORTED))
    await listRows(source, found, table, row, columns);
  for (const [table, what] of Object.entries(LEFT_BEHIND)) {
    const count = await countRows(source, table);
    if (count > 0) skip(found, table, `${count} rows: ${what}`);
  }
  for (const table of schema.unknownTables) {
    const columns = (source.tables.get(table) ?? []).map((column) => toPlainText(column, 60));
    skip(found, toPlainText(table, 100), `a table this import does not know, with ${columns.join(', ')}`);
    // Values are not read, because an unknown table may contain secrets.
    if (PLAIN_NAME.test(table)) await listRows(source, found, table, 'a row of a table this import does not know', []);
  }
  for (const column of schema.unknownColumns)
    skip(found, toPlainText(column, 100), 'a column this import does not know, which may be of a fork; it is not read');
  await findSubscriptions(source, found);
  await findCalledVideoPaths(source, found);
}

const skip = (found: ImportSummary, source: string, text: string): void => {
  found.findings.push({ kind: 'table', source, result: 'skipped', text });
};

/** Reports the name of each option that is not read, but not its value: many are secrets. */
async function findOptions(source: SourceDatabase, found: ImportSummary): Promise<void> {
  const names = [...(await readOptions(source)).keys()].filter((name) => !IMPORTED_OPTIONS.has(name)).sort();
  for (const name of names) {
    const subject = OPTION_SUBJECTS.find(([pattern]) => pattern.test(name))?.[1];
    const text = subject === undefined ? 'a setting without a counterpart here' : `not carried over: ${subject}`;
    found.findings.push({ kind: 'option', source: toPlainText(name, 200), result: 'skipped', text });
  }
}

async function listRows(
  source: SourceDatabase,
  found: ImportSummary,
  table: string,
  what: string,
  columns: readonly string[],
): Promise<void> {
  const there = source.tables.get(table);
  if (there === undefined) return;
  const shown = columns.filter((column) => there.includes(column));
  const key = there.includes('id') ? ['id'] : [];
  const selected = [...key, ...shown].map((column) => `[${column}]`);
  // Ids of unknown tables may be of a type that has no order.
  const order = key.length === 0 || columns.length === 0 ? '' : 'order by [id]';
  const rows = await source.query(
    `select ${selected.length === 0 ? "'' as [none]" : selected.join(', ')} from [${table}] ${order} limit ${MAX_LISTED}`,
  );
  for (const [index, row] of rows.entries()) {
    const values = shown
      .map((column) => [column, toPlainText(textOf(row, column), 100)])
      .filter(([, value]) => value !== '')
      .map(([column, value]) => `${column} ${value}`);
    const number = key.length === 0 ? `row ${index + 1}` : toPlainText(textOf(row, 'id'), 60);
    skip(found, `${table} ${number}`, values.length === 0 ? what : `${what}: ${values.join(', ')}`);
  }
  const more = rows.length < MAX_LISTED ? 0 : (await countRows(source, table)) - rows.length;
  if (more > 0) skip(found, table, `${more} more rows that are not listed one by one: ${what}`);
}

async function findSubscriptions(source: SourceDatabase, found: ImportSummary): Promise<void> {
  if (!source.tables.has('user_subscriptions')) return;
  const rows = await source.query(
    'select [id], [user_id], [amount_total], [amount_used], [status] from [user_subscriptions] order by [id]',
  );
  for (const row of rows) {
    const account = textOf(row, 'user_id');
    const status = textOf(row, 'status');
    const left = integerOf(row, 'amount_total') - integerOf(row, 'amount_used');
    if (status === 'active' && left > 0n) found.sums.subscriptions += left;
    skip(
      found,
      `user_subscriptions ${textOf(row, 'id')}`,
      status === 'active'
        ? `account ${account} has a plan that still covers ${left > 0n ? left : 'an open amount'}; assign one here`
        : `account ${account} had a plan, which is ${toPlainText(status, 40) || 'over'}`,
    );
  }
}

/** Number of the newest videos to read: enough to show current calls, but not those of past years. */
const NEWEST = 2_000;
const MAX_PATHS = 50;

/** Reports the calls that created videos, which the newest generation of the source records in `tasks.private_data`. */
async function findCalledVideoPaths({ query, tables }: SourceDatabase, found: ImportSummary): Promise<void> {
  if (tables.get('tasks')?.includes('private_data') !== true) return;
  const rows = await query(`select [private_data] from [tasks] order by [id] desc limit ${NEWEST}`);
  const calls = new Map<string, number>();
  for (const row of rows) {
    const execution = objectOf(row, 'private_data')?.execution;
    if (!isObject(execution) || typeof execution.request_path !== 'string') continue;
    const path = toPattern(execution.request_path);
    if (calls.has(path) || calls.size < MAX_PATHS) calls.set(path, (calls.get(path) ?? 0) + 1);
  }
  for (const [path, count] of [...calls].sort(([one], [other]) => (one < other ? -1 : 1))) {
    const here = describeNewApiPathSupport(path);
    found.findings.push({
      kind: 'path',
      source: path,
      result: here.startsWith('served') ? 'different' : 'skipped',
      text: `${count} of the newest ${rows.length} videos were begun by it: ${here}`,
    });
  }
}

/** Removes the query, which may contain a key, and replaces the variable part by `{id}`. */
const toPattern = (path: string): string =>
  (path.split(/[?#]/, 1)[0] ?? '')
    .slice(0, 200)
    .split('/')
    .map((part) => (/^\d+$|^[A-Za-z0-9_.~-]{20,}$/.test(part) ? '{id}' : part))
    .join('/');

/** Paths of the other program, and their equivalents here. */
const SERVED: readonly (readonly [path: RegExp, here: string])[] = [
  [/^\/v1\/videos?(\/|$)/, 'served here under the same path'],
  [/^\/kling\/v1\/videos\/(text2video|image2video|omni-video)(\/|$)/, 'served here under the same path'],
  [/^\/jimeng\/?$/, 'served here under the same path'],
  [/^\/v1\/(chat\/completions|responses|embeddings|images\/generations|messages)$/, 'served here under the same path'],
  [/^\/v1beta\/models\//, 'served here under the same path'],
  [/^\/pg\//, 'not served: it belongs to the playground there, and the console here has its own'],
  [/^\/(suno|mj|mj-[a-z]+)\//, 'not served: there are no such vendors here'],
];
const UNKNOWN = 'not served here: look for its counterpart in the API reference at /docs';

/** Describes the equivalent of a path of the other program; starts with `served` if there is one. */
const describeNewApiPathSupport = (path: string): string =>
  SERVED.find(([pattern]) => pattern.test(path))?.[1] ?? UNKNOWN;
