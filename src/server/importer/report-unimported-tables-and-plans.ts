import { findCalledVideoPaths } from './find-called-video-paths.ts';
import type { ImportSummary } from './import-summary.ts';
import { integerOf, textOf } from './mapping/column-values.ts';
import type { SourceSchema } from './source/detect-program.ts';
import type { SourceDatabase } from './source/source-database.ts';

/** Tables whose rows have no place here, and what they are. */
const WITHOUT_COUNTERPART: Readonly<Record<string, string>> = {
  midjourneys: 'pictures of Midjourney',
  two_fa_backup_codes: 'backup codes of second steps; their owners make new ones',
  passkey_credentials: 'passkeys',
  top_ups: 'the history of payments',
  subscription_plans: 'plans that were sold',
  checkins: 'daily check-ins',
  user_oauth_bindings: 'sign-ins with other services',
  custom_oauth_providers: 'other sign-in services',
  casbin_rule: "administrators' fine permissions",
  prefill_groups: 'groups of prefilled values',
};

/** Reports what has no counterpart here: whole tables, plans that still run. */
export async function reportUnimportedTablesAndPlans(
  source: SourceDatabase,
  schema: SourceSchema,
  found: ImportSummary,
): Promise<void> {
  for (const [table, what] of Object.entries(WITHOUT_COUNTERPART)) {
    if (!source.tables.has(table)) continue;
    const [row] = await source.query(`select count(*) as n from [${table}]`);
    const count = row === undefined ? 0n : integerOf(row, 'n');
    if (count > 0n)
      found.findings.push({ kind: 'table', source: table, result: 'skipped', text: `${count} rows: ${what}` });
  }
  for (const table of schema.unknownTables)
    found.findings.push({
      kind: 'table',
      source: table,
      result: 'skipped',
      text: 'a table this import does not know',
    });
  await findSubscriptions(source, found);
  await findCalledVideoPaths(source, found);
}

async function findSubscriptions(source: SourceDatabase, found: ImportSummary): Promise<void> {
  if (!source.tables.has('user_subscriptions')) return;
  const rows = await source.query(
    "select [id], [user_id], [amount_total], [amount_used] from [user_subscriptions] where [status] = 'active' order by [id]",
  );
  for (const row of rows) {
    const left = integerOf(row, 'amount_total') - integerOf(row, 'amount_used');
    if (left > 0n) found.sums.subscriptions += left;
    found.findings.push({
      kind: 'table',
      source: `user_subscriptions ${textOf(row, 'id')}`,
      result: 'skipped',
      text: `account ${textOf(row, 'user_id')} has a plan that still covers ${left > 0n ? left : 'an open amount'}; assign one here`,
    });
  }
}
