import { setTimeout as pause } from 'node:timers/promises';
import { type Selectable, sql } from 'kysely';
import { DAY_MS } from '../../contract/time-units.ts';
import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/db/database.ts';
import type { Tables } from '../tables.ts';

interface LedgerCompactionDependencies {
  readonly store: LedgerCompactionStore;
  readonly clock: Clock;
  /** Age in days at which entries are combined, in whole months, read from the current settings; 0: never. */
  readonly retentionDays: () => number;
}

type OpenEntry = Parameters<Parameters<LedgerCompactionStore['replace']>[2]>[0][number];

/** An entry of one of these kinds closes its reference: no later entry has that reference. */
const CLOSING_KINDS: ReadonlySet<string> = new Set(['settle', 'refund', 'grant', 'expire']);
/** Entries read per step, and references combined per transaction. */
const READ_AT_ONCE = 2_000;
const COMBINED_AT_ONCE = 200;
const PAUSE_MS = 5;

/**
 * Combines old entries into one closing entry per account and month. Sums stay exact: a closing entry takes the id of
 * one of the entries it replaces, in the transaction that deletes them. Open reservations and entries the audit has not
 * read yet are kept.
 */
export class LedgerCompaction {
  readonly #store: LedgerCompactionStore;
  readonly #clock: Clock;
  readonly #retentionDays: () => number;

  constructor({ store, clock, retentionDays }: LedgerCompactionDependencies) {
    this.#store = store;
    this.#clock = clock;
    this.#retentionDays = retentionDays;
  }

  /**
   * Must not run concurrently with an audit of the same database.
   * @returns the number of combined entries
   */
  async compact(signal?: AbortSignal): Promise<number> {
    const days = this.#retentionDays();
    if (days === 0) return 0;
    const before = startOfMonth(this.#clock.now() - days * DAY_MS);
    let combined = 0;
    const isAborted = (): boolean => signal?.aborted === true;
    for (let last = 0; !isAborted(); ) {
      const entries = await this.#store.listAfter(last, READ_AT_ONCE);
      const old = entries.filter(({ created_at }) => created_at < before);
      if (old.length === 0) break;
      last = entries.at(-1)?.id ?? last;
      const refs = old.filter(({ kind }) => CLOSING_KINDS.has(kind)).map(({ ref }) => ref);
      for (let from = 0; from < refs.length && !isAborted(); from += COMBINED_AT_ONCE) {
        combined += await this.#store.replace(refs.slice(from, from + COMBINED_AT_ONCE), before, closeMonths);
        await pause(PAUSE_MS);
      }
      await pause(PAUSE_MS);
    }
    return combined;
  }
}

/** Start of the UTC month of a time, in Unix milliseconds. */
function startOfMonth(unixMs: number): number {
  const date = new Date(unixMs);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth());
}

/**
 * Whether the closing entry of a time's month takes the last id of its entries instead of the first. An entry left in a
 * deleted range keeps its index page, which PostgreSQL never merges with another; the last id of one month is next to
 * the first id of the following month, so their closing entries share a page.
 */
const takesLastId = (unixMs: number): boolean => new Date(unixMs).getUTCMonth() % 2 === 0;

const monthOf = (unixMs: number): string => new Date(unixMs).toISOString().slice(0, 7);

/** One closing entry for each account and UTC month in the entries. */
function closeMonths(entries: readonly OpenEntry[]): ClosingEntry[] {
  const months = Map.groupBy(entries, ({ user_id, created_at }) => `closing:${user_id}:${monthOf(created_at)}`);
  return [...months].map(([ref, same]) => {
    const sum = (value: (entry: OpenEntry) => number) => same.reduce((total, entry) => total + value(entry), 0);
    const ids = same.map(({ id }) => id);
    return {
      id: takesLastId(same[0]?.created_at ?? 0) ? Math.max(...ids) : Math.min(...ids),
      user_id: same[0]?.user_id ?? 0,
      ref,
      amount: sum((entry) => entry.amount),
      plan_amount: sum((entry) => entry.plan_amount),
      charged: sum((entry) => entry.charged),
      settlements: sum((entry) => (entry.kind === 'settle' ? 1 : 0)),
      created_at: Math.max(...same.map((entry) => entry.created_at)),
    };
  });
}

type Entry = Selectable<Tables['ledger']>;

/** Sums of the combined entries of one account and month. */
interface ClosingEntry {
  readonly id: number;
  readonly user_id: number;
  readonly ref: string;
  readonly amount: number;
  readonly plan_amount: number;
  readonly charged: number;
  readonly settlements: number;
  readonly created_at: number;
}

/** SQL of the compaction. */
export class LedgerCompactionStore {
  readonly #database: Database<Tables>;
  constructor(database: Database<Tables>) {
    this.#database = database;
  }

  /** Audited entries with an id above `id`, oldest first. */
  listAfter(id: number, limit: number): Promise<Pick<Entry, 'id' | 'kind' | 'ref' | 'created_at'>[]> {
    const passed = this.#database.kysely
      .selectFrom('ledger_generations')
      .select('position')
      .where('is_current', '=', 1);
    return this.#database.kysely
      .selectFrom('ledger')
      .select(['id', 'kind', 'ref', 'created_at'])
      .where('id', '>', id)
      .where('id', '<=', passed)
      .orderBy('id')
      .limit(limit)
      .execute();
  }

  /**
   * Deletes the audited entries of these references and inserts the closing entries that `close` computes from exactly
   * those, in one transaction.
   * @returns the number of deleted entries
   */
  replace(
    refs: readonly string[],
    before: number,
    close: (entries: readonly Entry[]) => ClosingEntry[],
  ): Promise<number> {
    return this.#database.transaction(async (trx) => {
      const entries = await trx
        .deleteFrom('ledger')
        .where('ref', 'in', refs)
        .where('kind', '<>', 'closing')
        .where('created_at', '<', before)
        .where('id', '<=', trx.selectFrom('ledger_generations').select('position').where('is_current', '=', 1))
        .returningAll()
        .execute();
      for (const closing of close(entries))
        await trx
          .insertInto('ledger')
          .values({ ...closing, kind: 'closing', token_id: null, model: null, note: null })
          .onConflict((conflict) =>
            conflict.columns(['ref', 'kind']).doUpdateSet({
              ...(takesLastId(closing.created_at) && { id: closing.id }),
              amount: sql`ledger.amount + excluded.amount`,
              plan_amount: sql`ledger.plan_amount + excluded.plan_amount`,
              charged: sql`ledger.charged + excluded.charged`,
              settlements: sql`ledger.settlements + excluded.settlements`,
              created_at: sql`case when excluded.created_at > ledger.created_at then excluded.created_at else ledger.created_at end`,
            }),
          )
          .execute();
      return entries.length;
    });
  }
}
