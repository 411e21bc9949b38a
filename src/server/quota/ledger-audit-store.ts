import { type RawBuilder, sql } from 'kysely';
import { IMPORTED_USAGE_TOKEN } from '../../contract/ledger-and-usage.ts';
import type { Database } from '../platform/db/database.ts';
import { readOneState } from '../platform/db/sql.ts';
import type { Executor, Tables } from '../tables.ts';

/** An inconsistency in the ledger. */
export interface LedgerAuditFinding {
  /** Which rule is broken. */
  readonly rule: string;
  /** The account, the token or the reference it is broken for. */
  readonly at: string;
  readonly expected: number;
  readonly found: number;
}

/** Which accounts are audited: those with an id above `after` and at most `upTo`, or the named ones. */
export type AccountScope = { readonly after: number; readonly upTo: number } | { readonly ids: readonly number[] };

const MAX_FINDINGS = 1000;
const EVERYBODY: AccountScope = { after: -1, upTo: Number.MAX_SAFE_INTEGER };

/**
 * Audits the whole ledger in one state of the database: every balance is the sum of its entries and not below zero, every
 * usage total the sum of what was charged, every reservation open or closed once. Returns at most a thousand findings per rule;
 * none if it is consistent. For tools and tests: on PostgreSQL it needs a limit on statements that fits the size of the ledger,
 * on SQLite writers wait. The service uses `LedgerAuditService`, which applies the same rules step by step.
 */
export async function auditLedger(database: Database<Tables>): Promise<LedgerAuditFinding[]> {
  return database.transaction(async (trx) => {
    await readOneState(trx);
    return [
      ...(await auditWallets(trx, EVERYBODY, undefined)),
      ...(await auditStrayEntries(trx, EVERYBODY, undefined)),
      ...(await auditEntries(trx, 0, Number.MAX_SAFE_INTEGER)),
      ...(await auditReservations(trx)),
    ];
  });
}

/** What of an entry counts, by the sum of an account it is part of. */
const ENTRY_VALUES = {
  amount: sql<number>`l.amount`,
  charged: sql<number>`l.charged`,
  settled: sql<number>`case when l.kind = 'settle' then 1 else l.settlements end`,
} as const;

/** The sum of all entries of the account `w`; with a generation, its checkpoint and the entries after it. */
function sumOfEntries(what: keyof typeof ENTRY_VALUES, generation: number | undefined): RawBuilder<number> {
  const own = sql`select sum(${ENTRY_VALUES[what]}) from ledger l where l.user_id = w.user_id`;
  if (generation === undefined) return sql<number>`cast(coalesce((${own}), 0) as bigint)`;
  return sql<number>`cast(
    coalesce((select c.${sql.ref(what)} from ledger_checkpoints c
      where c.generation = ${generation} and c.user_id = w.user_id), 0)
    + coalesce((${own} and l.id > (select position from ledger_generations where generation = ${generation})), 0)
    as bigint)`;
}

const within = (scope: AccountScope, column: RawBuilder<unknown>): RawBuilder<boolean> =>
  'ids' in scope
    ? sql<boolean>`${column} in (${sql.join(scope.ids)})`
    : sql<boolean>`${column} > ${scope.after} and ${column} <= ${scope.upTo}`;

interface WalletFigures {
  readonly user_id: number;
  readonly balance: number;
  readonly used: number;
  readonly requests: number;
  readonly amount: number;
  readonly charged: number;
  readonly settled: number;
  readonly daily: number;
}

/** Each rule of a wallet: what it should be and what it is. */
const WALLET_RULES: readonly { rule: string; expected(w: WalletFigures): number; found(w: WalletFigures): number }[] = [
  { rule: 'balance is the sum of its entries', expected: ({ amount }) => amount, found: ({ balance }) => balance },
  {
    rule: 'balance is not below zero',
    expected: ({ balance }) => Math.max(0, balance),
    found: ({ balance }) => balance,
  },
  { rule: 'used is the sum of what was charged', expected: ({ charged }) => charged, found: ({ used }) => used },
  {
    rule: 'requests is the number of settlements',
    expected: ({ settled }) => settled,
    found: ({ requests }) => requests,
  },
  { rule: 'daily use is the sum of what was charged', expected: ({ used }) => used, found: ({ daily }) => daily },
];

/** Wallets against their entries, in one statement and so in one state. */
export async function auditWallets(
  executor: Executor,
  scope: AccountScope,
  generation: number | undefined,
): Promise<LedgerAuditFinding[]> {
  const { rows } = await sql<WalletFigures>`
    select * from (
      select w.user_id, w.balance, w.used, w.requests,
        ${sumOfEntries('amount', generation)} as amount,
        ${sumOfEntries('charged', generation)} as charged,
        ${sumOfEntries('settled', generation)} as settled,
        cast(coalesce((select sum(d.quota) from usage_daily d
          where d.user_id = w.user_id and d.token_id <> ${sql.lit(IMPORTED_USAGE_TOKEN)}), 0) as bigint) as daily
      from wallets w where ${within(scope, sql`w.user_id`)}) figures
    where balance <> amount or balance < 0 or used <> charged or requests <> settled or daily <> used
    order by user_id limit ${sql.lit(MAX_FINDINGS)}`.execute(executor);
  return WALLET_RULES.flatMap(({ rule, expected, found }) =>
    rows
      .filter((row) => expected(row) !== found(row))
      .map((row) => ({ rule, at: String(row.user_id), expected: expected(row), found: found(row) })),
  );
}

/** Accounts with entries and without a wallet. */
export function auditStrayEntries(
  executor: Executor,
  scope: AccountScope,
  generation: number | undefined,
): Promise<LedgerAuditFinding[]> {
  const accounts =
    generation === undefined
      ? sql`select distinct user_id from ledger`
      : sql`select user_id from ledger_checkpoints where generation = ${generation}`;
  return findingsOf(
    executor,
    'entries belong to a wallet',
    sql`select e.user_id as at, 1 as expected, 0 as found from (${accounts}) e
      where ${within(scope, sql`e.user_id`)} and not exists (select 1 from wallets w where w.user_id = e.user_id)`,
  );
}

/** Reservations and their ends, by the entries with an id above `after` and at most `upTo`. */
export async function auditEntries(executor: Executor, after: number, upTo: number): Promise<LedgerAuditFinding[]> {
  const ends = sql`
    (select count(*) from reservations h where h.ref = r.ref)
    + (select count(*) from ledger e where e.ref = r.ref and e.kind in ('settle', 'refund'))`;
  return [
    ...(await findingsOf(
      executor,
      'a reservation is open or ended once',
      sql`select r.ref as at, 1 as expected, ${ends} as found from ledger r
        where r.id > ${after} and r.id <= ${upTo} and r.kind = 'reserve' and 1 <> ${ends}`,
    )),
    ...(await findingsOf(
      executor,
      'what was taken is charged or given back',
      sql`select e.ref as at, -(r.amount + r.plan_amount) as expected, e.charged + e.amount + e.plan_amount as found
        from ledger e join ledger r on r.ref = e.ref and r.kind = 'reserve'
        where e.id > ${after} and e.id <= ${upTo} and e.kind in ('settle', 'refund')
          and -(r.amount + r.plan_amount) <> e.charged + e.amount + e.plan_amount`,
    )),
  ];
}

/** Open reservations, of which there are few at any time. */
export async function auditReservations(executor: Executor): Promise<LedgerAuditFinding[]> {
  return [
    ...(await findingsOf(
      executor,
      'an open reservation holds what was taken',
      sql`select h.ref as at, h.amount as expected, cast(coalesce(-(l.amount + l.plan_amount), 0) as bigint) as found
        from reservations h left join ledger l on l.ref = h.ref and l.kind = 'reserve'
        where l.id is null or h.amount <> -(l.amount + l.plan_amount) or h.plan_amount <> -l.plan_amount`,
    )),
    ...(await findingsOf(
      executor,
      'a token counts its open reservations',
      sql`select t.token_id as at, cast(coalesce(h.total, 0) as bigint) as expected, t.used as found
        from token_limits t left join (select token_id, sum(amount) as total from reservations group by token_id) h
          on h.token_id = t.token_id
        where t.used < coalesce(h.total, 0)`,
    )),
  ];
}

async function findingsOf(executor: Executor, rule: string, query: RawBuilder<unknown>): Promise<LedgerAuditFinding[]> {
  interface Row {
    readonly at: string | number;
    readonly expected: number;
    readonly found: number;
  }
  const { rows } = await sql<Row>`${query} limit ${sql.lit(MAX_FINDINGS)}`.execute(executor);
  return rows.map((row) => ({ rule, at: String(row.at), expected: Number(row.expected), found: Number(row.found) }));
}
