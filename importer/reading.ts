import { compareSync } from 'bcryptjs';
import { DAY_MS } from '../src/contract/time-units.ts';
import { hashToken } from '../src/server/platform/tokens.ts';
import type { ImportedUsage } from './import-store.ts';
import {
  type ImportedKey,
  type ImportedUser,
  isPrivileged,
  mapKey,
  mapUser,
  sourceRoleOf,
} from './mapping/accounts.ts';
import { type ImportedChannel, mapChannel } from './mapping/channels.ts';
import { modelsToImport } from './mapping/models.ts';
import {
  DEFAULT_GROUP,
  describeKeyGroup,
  describeOtherGroups,
  type GroupedChannel,
  mapGroupsToPlans,
  mapRedemptionCode,
} from './mapping/plans.ts';
import { mapEndedTask, mapUnfinishedTask, TASK_COLUMNS, type TaskMapping } from './mapping/tasks.ts';
import {
  flagOf,
  integerOf,
  isDeleted,
  readOptions,
  skipped,
  smallIntegerOf,
  splitList,
  textOf,
  toPlainText,
} from './mapping/values.ts';
import { withReplacementRemark } from './row-remarks.ts';
import { countRows, type SourceDatabase, type SourceRow, type TablePart } from './source.ts';
import { ImportSummary } from './summary.ts';
import type { ImportVisitor, MappedRow, ReadContext } from './visitor.ts';

/** The password both programs give their first account. */
const FIRST_PASSWORD = '123456';

/** Reads a whole source: maps its rows, passes them to the visitor, and returns the data of the report. */
export async function readAndMapSource(context: ReadContext, visitor: ImportVisitor): Promise<ImportSummary> {
  const found = new ImportSummary();
  const { grouped, byId } = await readChannels(context, visitor, found);
  await readGroups(context, visitor, found, grouped);
  const imported = await readUsers(context, visitor, found);
  await readKeys(context, visitor, found, imported);
  await readCodes(context, visitor, found);
  await readTasks(context, visitor, found, { channels: byId, users: imported, ...context.target });
  return found;
}

interface ReadChannels {
  /** The imported channels, with their groups. */
  readonly grouped: readonly GroupedChannel[];
  /** The channels each row becomes. */
  readonly byId: ReadonlyMap<number, readonly ImportedChannel[]>;
}

async function readChannels(context: ReadContext, visitor: ImportVisitor, found: ImportSummary): Promise<ReadChannels> {
  const { schema, target } = context;
  const channels: ImportedChannel[] = [];
  const grouped: GroupedChannel[] = [];
  const byId = new Map<number, readonly ImportedChannel[]>();
  for await (const page of pagesOf(context, 'channels')) {
    const rows = page.map(
      (row): MappedRow<readonly ImportedChannel[]> => ({
        sourceId: smallIntegerOf(row, 'id'),
        outcome: target.checkChannels(mapChannel(row, schema.program, target.hasVendor)),
      }),
    );
    for (const [index, { sourceId, outcome }] of rows.entries()) {
      found.add('channel', String(sourceId), outcome);
      if (outcome.kind === 'skipped') continue;
      channels.push(...outcome.value);
      byId.set(sourceId, outcome.value);
      grouped.push({ sourceId, groups: splitList(textOf(page[index] as SourceRow, 'group') || DEFAULT_GROUP) });
    }
    await visitor.channels(rows);
  }
  const options = await readOptions(context.source);
  const models = await modelsToImport(context.source, options, schema.program, channels, target);
  const replaced = await visitor.models(models);
  for (const [name, outcome] of models) found.add('model', name, withReplacementRemark(outcome, replaced.get(name)));
  return { grouped, byId };
}

async function readGroups(
  { source }: ReadContext,
  visitor: ImportVisitor,
  found: ImportSummary,
  channels: readonly GroupedChannel[],
): Promise<void> {
  const rows = source.tables.get('users')?.includes('group')
    ? await source.query(`select distinct ${source.exactly('[group]')} as [group] from [users] order by 1`)
    : [];
  const names = [...new Set(rows.map((row) => textOf(row, 'group') || DEFAULT_GROUP))];
  const options = await readOptions(source);
  const groups = mapGroupsToPlans(names, options, channels);
  for (const [name, outcome] of groups) found.add('group', name, outcome);
  const use = { ofAccounts: names, keys: await countKeysByGroup(source) };
  for (const [name, text] of describeOtherGroups(use, options, channels))
    found.findings.push({ kind: 'group', source: toPlainText(name, 60), result: 'different', text });
  await visitor.groups(groups);
}

/** Numbers of keys by the group they name. */
async function countKeysByGroup(source: SourceDatabase): Promise<ReadonlyMap<string, number>> {
  if (source.tables.get('tokens')?.includes('group') !== true) return new Map();
  const group = source.exactly('[group]');
  const rows = await source.query(`select ${group} as [group], count(*) as [keys] from [tokens] group by ${group}`);
  return new Map(
    rows.flatMap((row) => {
      const group = textOf(row, 'group');
      return group === '' ? [] : [[group, smallIntegerOf(row, 'keys')] as const];
    }),
  );
}

/** @returns groups of the imported accounts, by their source ids */
async function readUsers(
  context: ReadContext,
  visitor: ImportVisitor,
  found: ImportSummary,
): Promise<ReadonlyMap<number, string>> {
  const imported = new Map<number, string>();
  let privileged = 0;
  const { sums } = found;
  for await (const page of pagesOf(context, 'users')) {
    const balances = new Map(
      page.map((row) => [smallIntegerOf(row, 'id'), integerOf(row, 'quota') + integerOf(row, 'aff_quota')]),
    );
    const ranks = ranksOf(page);
    const mappedRows = page.map((row) => ({
      sourceId: smallIntegerOf(row, 'id'),
      outcome: mapUser(row, context.keepRoles),
    }));
    const rows = withSecondSteps(
      withoutFirstPassword(mappedRows, page, found),
      await secondStepsOf(context.source, page),
    );
    const usage = await usageOf(context.source, page);
    for (const { sourceId, outcome } of await visitor.users(rows, usage)) {
      found.add('user', String(sourceId), outcome);
      const rank = ranks.get(sourceId);
      if (rank !== undefined) privileged++;
      if (outcome.kind === 'skipped') {
        if (rank !== undefined)
          found.findings.push({ kind: 'user', source: String(sourceId), result: 'skipped', text: rank });
        sums.leftBehind += balances.get(sourceId) ?? 0n;
        continue;
      }
      imported.set(sourceId, outcome.value.group);
      sums.balance += outcome.value.balance;
      sums.granted += BigInt(outcome.value.grant);
      if (outcome.value.balance < 0n) sums.debts -= outcome.value.balance;
    }
  }
  if (privileged > 0)
    found.warnings.push(
      `Accounts that are administrators or root there: ${privileged}; each is listed with its rank there and here.`,
    );
  return imported;
}

/** Accounts of a page with a role in the source, described for the case that they are not imported. */
function ranksOf(page: readonly SourceRow[]): ReadonlyMap<number, string> {
  const ranked = page.filter((row) => isPrivileged(sourceRoleOf(row)));
  return new Map(
    ranked.map((row) => [
      smallIntegerOf(row, 'id'),
      `${toPlainText(textOf(row, 'username'), 60)} is ${sourceRoleOf(row)} there and does not come over`,
    ]),
  );
}

/** Drops the password of a first account that still has the published default. */
function withoutFirstPassword(
  rows: readonly MappedRow<ImportedUser>[],
  page: readonly SourceRow[],
  found: ImportSummary,
): MappedRow<ImportedUser>[] {
  return rows.map((row, index) => {
    const { outcome } = row;
    if (outcome.kind === 'skipped' || outcome.value.sourceRole !== 'root' || outcome.value.passwordHash === undefined)
      return row;
    if (!compareSync(FIRST_PASSWORD, outcome.value.passwordHash)) return row;
    const name = textOf(page[index] as SourceRow, 'username');
    found.warnings.push(
      `${name} still has the password ${FIRST_PASSWORD}; it does not come over. Set one with "reelgate admin reset-password".`,
    );
    return { ...row, outcome: { ...outcome, value: { ...outcome.value, passwordHash: undefined } } };
  });
}

const TOTP_SECRET = /^[A-Z2-7]{16,128}$/;

/** TOTP secrets of the accounts of a page with an enabled second step; the source stores them as Base32 in clear. */
async function secondStepsOf(source: SourceDatabase, page: readonly SourceRow[]): Promise<ReadonlyMap<number, string>> {
  const [first, last] = [page[0], page.at(-1)];
  if (first === undefined || last === undefined || !source.tables.has('two_fas')) return new Map();
  const rows = await source.query('select * from [two_fas] where [user_id] >= ? and [user_id] <= ?', [
    integerOf(first, 'id'),
    integerOf(last, 'id'),
  ]);
  const enabled = rows.filter((row) => flagOf(row, 'is_enabled') && !isDeleted(row));
  return new Map(enabled.map((row) => [smallIntegerOf(row, 'user_id'), textOf(row, 'secret').replace(/=+$/, '')]));
}

/**
 * Adds the second steps. An account whose secret is unusable loses its password too, so that it does not open without a
 * second step.
 */
function withSecondSteps(
  rows: readonly MappedRow<ImportedUser>[],
  secrets: ReadonlyMap<number, string>,
): MappedRow<ImportedUser>[] {
  return rows.map(({ sourceId, outcome }) => {
    const secret = secrets.get(sourceId);
    if (secret === undefined || outcome.kind === 'skipped') return { sourceId, outcome };
    const isUsable = TOTP_SECRET.test(secret);
    const value = isUsable ? { ...outcome.value, totpSecret: secret } : { ...outcome.value, passwordHash: undefined };
    const remark = isUsable
      ? NEW_BACKUP_CODES
      : 'the secret of its second step cannot be read; an administrator sets a password';
    return { sourceId, outcome: { ...outcome, value, remarks: [...outcome.remarks, remark] } };
  });
}

const NEW_BACKUP_CODES = 'its second step comes over, its backup codes do not: make new ones';

/** Daily usage of the accounts of a page, from the hourly rows the source stores. */
async function usageOf(source: SourceDatabase, page: readonly SourceRow[]): Promise<ImportedUsage[]> {
  const [first, last] = [page[0], page.at(-1)];
  if (first === undefined || last === undefined || !source.tables.has('quota_data')) return [];
  const model = source.exactly("coalesce(trim([model_name]), '')");
  const rows = await source.query(
    `select [user_id], ${model} as [model_name], [created_at] - [created_at] % 86400 as [day_start],
       sum([count]) as [requests], sum([quota]) as [quota], sum([token_used]) as [tokens]
     from [quota_data] where [user_id] >= ? and [user_id] <= ?
     group by [user_id], ${model}, [created_at] - [created_at] % 86400`,
    [integerOf(first, 'id'), integerOf(last, 'id')],
  );
  return rows.map((row) => ({
    sourceUserId: smallIntegerOf(row, 'user_id'),
    day: Math.floor((smallIntegerOf(row, 'day_start') * 1000) / DAY_MS),
    model: textOf(row, 'model_name').slice(0, 200),
    requests: Math.max(0, smallIntegerOf(row, 'requests')),
    quota: Math.max(0, smallIntegerOf(row, 'quota')),
    tokens: Math.max(0, smallIntegerOf(row, 'tokens')),
  }));
}

async function readKeys(
  context: ReadContext,
  visitor: ImportVisitor,
  found: ImportSummary,
  imported: ReadonlyMap<number, string>,
): Promise<void> {
  const repeated = await repeatedKeysOf(context.source);
  const options = await readOptions(context.source);
  const seen = new Set<string>();
  for await (const page of pagesOf(context, 'tokens')) {
    // Blanks that only SQL tells apart.
    const ofPage = new Set<string>();
    const rows = page.map((row): MappedRow<ImportedKey> => {
      const outcome = mapKey(row);
      const sourceId = smallIntegerOf(row, 'id');
      if (outcome.kind === 'skipped') return { sourceId, outcome };
      const { hash, group, userId } = outcome.value;
      const accountGroup = imported.get(userId);
      if (accountGroup === undefined) return { sourceId, outcome: skipped('its account did not come over') };
      if (seen.has(hash) || ofPage.has(hash))
        return { sourceId, outcome: skipped('another key there has the same value') };
      ofPage.add(hash);
      if (repeated.has(hash)) seen.add(hash);
      const remark = describeKeyGroup(group, accountGroup, options);
      if (remark === undefined) return { sourceId, outcome };
      return { sourceId, outcome: { ...outcome, remarks: [...outcome.remarks, remark] } };
    });
    for (const { sourceId, outcome } of await visitor.keys(rows)) {
      found.add('key', String(sourceId), outcome);
      if (outcome.kind === 'mapped' && outcome.value.limit !== undefined)
        found.sums.keyLimits += BigInt(outcome.value.limit.quota - outcome.value.limit.used);
    }
  }
}

/** Hashes of keys that occur in several rows: only these are kept in memory, not all keys of a large source. */
async function repeatedKeysOf(source: SourceDatabase): Promise<ReadonlySet<string>> {
  const value = source.exactly("(case when trim([key]) like 'sk-%' then substr(trim([key]), 4) else trim([key]) end)");
  const rows = await source.query(`select ${value} as [value] from [tokens] group by ${value} having count(*) > 1`);
  return new Set(rows.map((row) => hashToken(`sk-${textOf(row, 'value')}`)));
}

async function readCodes(context: ReadContext, visitor: ImportVisitor, found: ImportSummary): Promise<void> {
  for await (const page of pagesOf(context, 'redemptions')) {
    const rows = page.map((row) => ({
      sourceId: smallIntegerOf(row, 'id'),
      outcome: mapRedemptionCode(row, context.now),
    }));
    for (const { sourceId, outcome } of await visitor.codes(rows)) {
      found.add('code', String(sourceId), outcome);
      if (outcome.kind === 'mapped') found.sums.codes += BigInt(outcome.value.quota);
    }
  }
}

/** Reads only these columns, because others are large. */
const ENDED = { columns: TASK_COLUMNS, where: "[status] in ('SUCCESS', 'FAILURE')" };
const UNFINISHED = { columns: TASK_COLUMNS, where: "coalesce([status], '') not in ('SUCCESS', 'FAILURE')" };

/**
 * Reads videos. Ended ones become history. Unfinished ones are imported with the amount paid for them if the database
 * contains enough to poll them.
 */
async function readTasks(
  reading: ReadContext,
  visitor: ImportVisitor,
  found: ImportSummary,
  context: Omit<TaskMapping, 'repeatedIds'>,
): Promise<void> {
  const { source } = reading;
  if (!source.tables.has('tasks')) return;
  const mapping = { ...context, repeatedIds: await repeatedIdsOf(source) };
  const { sums } = found;
  const report = await progressOf(reading, 'tasks');
  for await (const page of readPages(source, 'tasks', report, ENDED)) {
    const rows = page.map((row) => ({ sourceId: smallIntegerOf(row, 'id'), outcome: mapEndedTask(row, mapping) }));
    for (const { sourceId, outcome } of await visitor.endedTasks(rows)) {
      found.add('ended-task', String(sourceId), outcome);
      if (outcome.kind === 'mapped') sums.endedTasks += BigInt(outcome.value.paid);
    }
  }
  for await (const page of readPages(source, 'tasks', report, UNFINISHED)) {
    const rows = page.map((row) => ({ sourceId: smallIntegerOf(row, 'id'), outcome: mapUnfinishedTask(row, mapping) }));
    for (const row of page) sums.unfinishedTasks += integerOf(row, 'quota');
    for (const { sourceId, outcome } of await visitor.tasks(rows)) {
      found.add('task', String(sourceId), outcome);
      if (outcome.kind === 'mapped') sums.heldTasks += BigInt(outcome.value.paid);
    }
  }
}

async function repeatedIdsOf(source: SourceDatabase): Promise<ReadonlyMap<string, number>> {
  const id = source.exactly('trim([task_id])');
  const rows = await source.query(
    `select ${id} as [task_id], min([id]) as [first_id] from [tasks] group by ${id} having count(*) > 1`,
  );
  return new Map(rows.map((row) => [textOf(row, 'task_id'), smallIntegerOf(row, 'first_id')]));
}

const PAGE = 500;
type Reading = Pick<ReadContext, 'source' | 'onProgress'>;

/**
 * Reads a table, or a part of it, by ascending ids; `report` is called with the number of rows after each page was
 * handled.
 */
async function* readPages(
  source: SourceDatabase,
  table: string,
  report: (rows: number) => void,
  part: TablePart = {},
): AsyncGenerator<SourceRow[]> {
  for (let after = -1n; ; ) {
    const rows = await source.page(table, after, PAGE, part);
    if (rows.length === 0) return;
    after = integerOf(rows.at(-1) as SourceRow, 'id');
    yield rows;
    report(rows.length);
  }
}

/** Reports a running total of the rows read from a table, and the table's size. */
async function progressOf({ source, onProgress }: Reading, table: string): Promise<(rows: number) => void> {
  const total = await countRows(source, table);
  let read = 0;
  return (rows) => {
    read += rows;
    onProgress(table, read, total);
  };
}

/** All rows of a table. */
async function* pagesOf(reading: Reading, table: string): AsyncGenerator<SourceRow[]> {
  yield* readPages(reading.source, table, await progressOf(reading, table));
}
