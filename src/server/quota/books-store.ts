import { sql } from 'kysely';
import type { Database } from '../platform/db/database.ts';
import type { Tables } from '../tables.ts';

/** A place where the books do not add up. */
export interface BookError {
  /** Which rule is broken. */
  readonly rule: (typeof RULES)[number]['rule'];
  /** The account, the token or the reference it is broken for. */
  readonly at: string;
  readonly expected: number;
  readonly found: number;
}

/**
 * Proves the books: every balance is the sum of its entries and not below zero, every figure of use the sum of what was
 * charged, every reservation open or ended once. Answers what is wrong, at most a thousand findings a rule; empty is well.
 *
 * Reads one state of the database. On SQLite writers wait meanwhile, about a second per million entries.
 */
export async function checkBooks(database: Database<Tables>): Promise<BookError[]> {
  return database.transaction(async (trx) => {
    // PostgreSQL: every statement of this transaction sees the same state.
    if (database.dialect === 'postgres') await sql`set transaction isolation level repeatable read`.execute(trx);
    const found: BookError[] = [];
    for (const { rule, query } of RULES) {
      const { rows } = await query.execute(trx);
      for (const row of rows)
        found.push({ rule, at: String(row.at), expected: Number(row.expected), found: Number(row.found) });
    }
    return found;
  });
}

interface Finding {
  readonly at: string | number;
  readonly expected: number;
  readonly found: number;
}

const RULES = [
  {
    rule: 'balance is the sum of its entries',
    query: sql<Finding>`
      select w.user_id as at, cast(coalesce(l.total, 0) as bigint) as expected, w.balance as found
      from wallets w left join (select user_id, sum(amount) as total from ledger group by user_id) l
        on l.user_id = w.user_id
      where coalesce(l.total, 0) <> w.balance limit 1000`,
  },
  {
    rule: 'balance is not below zero',
    query: sql<Finding>`select user_id as at, 0 as expected, balance as found from wallets where balance < 0 limit 1000`,
  },
  {
    rule: 'entries belong to a wallet',
    query: sql<Finding>`
      select l.user_id as at, 1 as expected, 0 as found from ledger l
      where not exists (select 1 from wallets w where w.user_id = l.user_id) limit 1000`,
  },
  {
    rule: 'used is the sum of what was charged',
    query: sql<Finding>`
      select w.user_id as at, cast(coalesce(l.total, 0) as bigint) as expected, w.used as found
      from wallets w left join (select user_id, sum(charged) as total from ledger group by user_id) l
        on l.user_id = w.user_id
      where coalesce(l.total, 0) <> w.used limit 1000`,
  },
  {
    rule: 'requests is the number of settlements',
    query: sql<Finding>`
      select w.user_id as at, coalesce(l.total, 0) as expected, w.requests as found
      from wallets w left join (select user_id, count(*) as total from ledger where kind = 'settle' group by user_id) l
        on l.user_id = w.user_id
      where coalesce(l.total, 0) <> w.requests limit 1000`,
  },
  {
    rule: 'daily use is the sum of what was charged',
    query: sql<Finding>`
      select w.user_id as at, w.used as expected, cast(coalesce(d.total, 0) as bigint) as found
      from wallets w left join (select user_id, sum(quota) as total from usage_daily group by user_id) d
        on d.user_id = w.user_id
      where coalesce(d.total, 0) <> w.used limit 1000`,
  },
  {
    rule: 'a reservation is open or ended once',
    query: sql<Finding>`
      select r.ref as at, 1 as expected,
        (select count(*) from holds h where h.ref = r.ref)
        + (select count(*) from ledger e where e.ref = r.ref and e.kind in ('settle', 'refund')) as found
      from ledger r
      where r.kind = 'reserve' and 1 <>
        (select count(*) from holds h where h.ref = r.ref)
        + (select count(*) from ledger e where e.ref = r.ref and e.kind in ('settle', 'refund'))
      limit 1000`,
  },
  {
    rule: 'an open reservation holds what was taken',
    query: sql<Finding>`
      select h.ref as at, h.amount as expected, cast(coalesce(-(l.amount + l.plan_amount), 0) as bigint) as found
      from holds h left join ledger l on l.ref = h.ref and l.kind = 'reserve'
      where l.id is null or h.amount <> -(l.amount + l.plan_amount) or h.plan_amount <> -l.plan_amount limit 1000`,
  },
  {
    rule: 'what was taken is charged or given back',
    query: sql<Finding>`
      select e.ref as at, -(r.amount + r.plan_amount) as expected, e.charged + e.amount + e.plan_amount as found
      from ledger e join ledger r on r.ref = e.ref and r.kind = 'reserve'
      where e.kind in ('settle', 'refund') and -(r.amount + r.plan_amount) <> e.charged + e.amount + e.plan_amount
      limit 1000`,
  },
  {
    rule: 'a token counts its open reservations',
    query: sql<Finding>`
      select t.token_id as at, cast(coalesce(h.total, 0) as bigint) as expected, t.used as found
      from token_limits t left join (select token_id, sum(amount) as total from holds group by token_id) h
        on h.token_id = t.token_id
      where t.used < coalesce(h.total, 0) limit 1000`,
  },
] as const;
