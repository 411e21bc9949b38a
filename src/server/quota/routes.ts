import type { Static } from 'typebox';
import { list, ok, toPage } from '../../contract/schemas.ts';
import * as lines from '../../contract/usage.ts';
import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/db/database.ts';
import type { Routes } from '../platform/http/routes.ts';
import type { Tables } from '../tables.ts';
import { checkBooks } from './books-store.ts';
import { dayOf } from './rules.ts';
import type { LedgerEntry, UsageColumn, UsageFilter, UsageRow, UsageStore } from './usage-store.ts';

/** The two names of a video: ours, which the ledger refers to, and the one callers know. */
export interface TaskNames {
  /** Ours for a name a caller knows; undefined when there is no such task. */
  idOf(publicId: string): Promise<string | undefined>;
  /** Public names by ours; those that are the same may be left out. */
  publicIds(ids: readonly string[]): Promise<ReadonlyMap<string, string>>;
}

export interface QuotaRouteParts {
  readonly database: Database<Tables>;
  readonly usage: UsageStore;
  readonly clock: Clock;
  readonly tasks: TaskNames;
}

/** What was spent on what, for owners and administrators. */
export function addQuotaRoutes(routes: Routes, { database, usage, clock, tasks }: QuotaRouteParts): void {
  routes.add(lines.listLedger, async ({ query }) => {
    const { offset, pageSize } = toPage(query);
    const { user_id, task_id, kind } = query;
    const { rows, total } = await usage.entries(
      {
        ...(user_id === undefined ? {} : { userId: Number(user_id) }),
        ...(task_id === undefined ? {} : { ref: (await tasks.idOf(task_id)) ?? task_id }),
        ...(kind === undefined ? {} : { kind }),
      },
      offset,
      pageSize,
    );
    const names = await tasks.publicIds(rows.map(({ ref }) => ref).filter(isTask));
    return list(
      rows.map((row) => toLedgerRow(row, names)),
      total,
    );
  });

  routes.add(lines.checkLedger, async () => {
    const errors = await checkBooks(database);
    return ok({ ok: errors.length === 0, errors });
  });

  routes.add(lines.getUsage, async ({ query, caller }) => {
    const filter = { ...toFilter(query, clock.now()), userId: caller.userId };
    const rows = await usage.usage(filter, toColumns(query.by ?? 'day,model,token'));
    return ok({ rows: rows.map(toUsageRow), total: await totalOf(filter) });
  });

  routes.add(lines.getAllUsage, async ({ query }) => {
    const { user_id } = query;
    const filter = {
      ...toFilter(query, clock.now()),
      ...(user_id === undefined ? {} : { userId: Number(user_id) }),
    };
    const rows = await usage.usage(filter, toColumns(query.by ?? 'day,model'));
    return ok({ rows: rows.map(toUsageRow), total: await totalOf(filter) });
  });

  const totalOf = async (filter: UsageFilter) => {
    const [all] = await usage.usage(filter, []);
    return all ?? { requests: 0, quota: 0, prompt_tokens: 0, completion_tokens: 0 };
  };
}

const isTask = (ref: string): boolean => ref.startsWith('task_');

function toLedgerRow(entry: LedgerEntry, names: ReadonlyMap<string, string>): Static<typeof lines.LedgerRow> {
  const { id, user_id, kind, amount, ref, created_at } = entry;
  return {
    id,
    user_id,
    kind,
    amount,
    task_id: isTask(ref) ? (names.get(ref) ?? ref) : '',
    request_id: isTask(ref) ? '' : ref,
    created_time: Math.floor(created_at / 1000),
  };
}

const COLUMNS = { day: 'day', model: 'model', token: 'token_id', user: 'user_id' } as const;

/** Names were checked by the contract. */
const toColumns = (by: string): UsageColumn[] =>
  [...new Set(by.split(','))].map((name) => COLUMNS[name as keyof typeof COLUMNS]);

const DEFAULT_DAYS = 30;
const MOST_DAYS = 366;

function toFilter(
  query: { readonly from?: string; readonly to?: string; readonly model?: string; readonly token_id?: string },
  now: number,
): UsageFilter {
  // Nothing was used tomorrow; a far end would push the year that is shown past today.
  const toDay = Math.min(dayOf(now), query.to === undefined ? dayOf(now) : dayOf(Number(query.to) * 1000));
  const fromDay = query.from === undefined ? toDay - DEFAULT_DAYS + 1 : dayOf(Number(query.from) * 1000);
  return {
    fromDay: Math.max(fromDay, toDay - MOST_DAYS + 1),
    toDay,
    ...(query.model === undefined ? {} : { model: query.model }),
    ...(query.token_id === undefined ? {} : { tokenId: Number(query.token_id) }),
  };
}

function toUsageRow({ day, ...row }: UsageRow) {
  return { ...row, ...(day === undefined ? {} : { day: new Date(day * 86_400_000).toISOString().slice(0, 10) }) };
}
