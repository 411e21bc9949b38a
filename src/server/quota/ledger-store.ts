import { type Insertable, type Selectable, sql } from 'kysely';
import { afterCommit, type Database } from '../platform/db/database.ts';
import { prepareInsert, prepareQuery } from '../platform/db/prepared-query.ts';
import { hasConcurrentWriters, jsonTexts, wasChanged } from '../platform/db/sql.ts';
import type { Executor, Tables, Trx } from '../tables.ts';
import type { TokenUsage } from './ledger.ts';

/** An open reservation. */
export type ReservationRow = Selectable<Tables['reservations']>;
/** A ledger entry to be inserted. */
export type NewLedgerEntry = Required<Omit<Insertable<Tables['ledger']>, 'id' | 'settlements'>>;

const takeExactly = prepareQuery<Tables, { user: number; amount: number }>()((db, p) =>
  db
    .updateTable('wallets')
    .set({ balance: sql`balance - ${p('amount')}` })
    .where('user_id', '=', p('user'))
    .where('balance', '>=', p('amount'))
    .returning('balance'),
);
const addUse = prepareQuery<Tables, { user: number; back: number; charged: number; requests: number }>()((db, p) =>
  db
    .updateTable('wallets')
    .set({
      balance: sql`balance + ${p('back')}`,
      used: sql`used + ${p('charged')}`,
      requests: sql`requests + ${p('requests')}`,
    })
    .where('user_id', '=', p('user')),
);
const wallet = prepareQuery<Tables, { user: number }>()((db, p) =>
  db.selectFrom('wallets').select(['balance', 'used', 'requests']).where('user_id', '=', p('user')),
);
const insertReservations = prepareInsert<Tables, ReservationRow>('reservations', [
  'ref',
  'user_id',
  'token_id',
  'model',
  'amount',
  'plan_amount',
  'plan_slot',
  'created_at',
]);
const deleteReservation = prepareQuery<Tables, { ref: string }>()((db, p) =>
  db.deleteFrom('reservations').where('ref', '=', p('ref')).returningAll(),
);
/** One parameter holds a list of any length, so that one prepared query serves every length. */
const deleteReservations = prepareQuery<Tables, { refs: string }>()((db, p) =>
  db.deleteFrom('reservations').where('ref', 'in', jsonTexts(db, p('refs'))),
);
const takeReservations = prepareQuery<Tables, { refs: string }>()((db, p) =>
  db
    .deleteFrom('reservations')
    .where('ref', 'in', jsonTexts(db, p('refs')))
    .returningAll(),
);
const addEntries = prepareInsert<Tables, NewLedgerEntry>('ledger', [
  'user_id',
  'kind',
  'amount',
  'plan_amount',
  'charged',
  'ref',
  'token_id',
  'model',
  'note',
  'created_at',
]);
/**
 * Reads under a shared lock where writers are concurrent: until the commit, no other transaction can set that token's
 * limit.
 */
const limitOf = prepareQuery<Tables, { token: number }>()((db, p) =>
  hasConcurrentWriters(db)
    ? db.selectNoFrom(sql<number | null>`locked_token_limit(${p('token')}, false)`.as('quota_limit'))
    : db.selectFrom('token_limits').select('quota_limit').where('token_id', '=', p('token')),
);
const lockTokenLimit = prepareQuery<Tables, { token: number }>()((db, p) =>
  db.selectNoFrom(sql<number | null>`locked_token_limit(${p('token')}, true)`.as('quota_limit')),
);
const takeFromToken = prepareQuery<Tables, { token: number; amount: number }>()((db, p) =>
  db
    .updateTable('token_limits')
    .set({ used: sql`used + ${p('amount')}` })
    .where('token_id', '=', p('token'))
    .where(sql<boolean>`used + ${p('amount')} <= quota_limit`),
);
const changeTokenUse = prepareQuery<Tables, { token: number; amount: number }>()((db, p) =>
  db
    .updateTable('token_limits')
    .set({ used: sql`used + ${p('amount')}` })
    .where('token_id', '=', p('token')),
);
/** Usage figures of one account, day, token, model and channel. */
interface DailyUsage extends TokenUsage {
  readonly userId: number;
  /** Days since 1970-01-01 UTC. */
  readonly day: number;
  /** 0: none. */
  readonly tokenId: number;
  readonly model: string;
  /** 0: no channel was reached, or it is no longer known. */
  readonly channelId: number;
  readonly requests: number;
  readonly charged: number;
}
const addUsage = prepareQuery<Tables, { [K in keyof DailyUsage]: DailyUsage[K] }>()((db, p) =>
  db
    .insertInto('usage_daily')
    .values({
      user_id: p('userId'),
      day: p('day'),
      token_id: p('tokenId'),
      model: p('model'),
      channel_id: p('channelId'),
      requests: p('requests'),
      quota: p('charged'),
      prompt_tokens: p('promptTokens'),
      completion_tokens: p('completionTokens'),
    })
    .onConflict((conflict) =>
      conflict.columns(['user_id', 'day', 'token_id', 'model', 'channel_id']).doUpdateSet({
        requests: sql`usage_daily.requests + excluded.requests`,
        quota: sql`usage_daily.quota + excluded.quota`,
        prompt_tokens: sql`usage_daily.prompt_tokens + excluded.prompt_tokens`,
        completion_tokens: sql`usage_daily.completion_tokens + excluded.completion_tokens`,
      }),
    ),
);

/** SQL of the ledger. Conditional writes return whether they changed their row. */
export class LedgerStore {
  readonly #database: Database<Tables>;
  readonly #written = new WrittenReservations<ReservationRow>();
  constructor(database: Database<Tables>) {
    this.#database = database;
  }

  /**
   * Takes the full amount.
   * @returns the remaining balance; undefined when the wallet holds less
   */
  async takeExactly(trx: Trx, user: number, amount: number): Promise<number | undefined> {
    return (await takeExactly.first(trx, { user, amount }))?.balance;
  }

  /**
   * Takes the amount, or the entire balance if smaller.
   * @returns the amount taken
   */
  async takeUpTo(trx: Trx, user: number, amount: number): Promise<number> {
    if ((await this.takeExactly(trx, user, amount)) !== undefined) return amount;
    const rest = Math.min(amount, await this.lockBalance(trx, user));
    return rest > 0 && (await this.takeExactly(trx, user, rest)) !== undefined ? rest : 0;
  }

  /** The balance, locked against other changes until the transaction ends. */
  async lockBalance(trx: Trx, user: number): Promise<number> {
    const row = await trx
      .selectFrom('wallets')
      .select('balance')
      .where('user_id', '=', user)
      .forUpdate()
      .executeTakeFirst();
    return row?.balance ?? 0;
  }

  async balanceIn(trx: Executor, user: number): Promise<number> {
    return (await wallet.first(trx, { user }))?.balance ?? 0;
  }

  async wallet(user: number): Promise<{ balance: number; used: number; requests: number }> {
    return (await wallet.first(this.#database.kysely, { user })) ?? { balance: 0, used: 0, requests: 0 };
  }

  async addWallet(trx: Trx, user: number): Promise<void> {
    await trx.insertInto('wallets').values({ user_id: user, balance: 0, used: 0, requests: 0 }).execute();
  }

  /** Returns an amount to a wallet, and adds to its usage and request totals. */
  async addUse(
    trx: Trx,
    change: { readonly user: number; readonly back: number; readonly charged: number; readonly requests: number },
  ): Promise<void> {
    if ((await addUse.changes(trx, change)) !== 1) throw new Error(`account ${change.user} has no wallet`);
  }

  async addUsage(trx: Trx, use: DailyUsage): Promise<void> {
    await addUsage.changes(trx, use);
  }

  addReservations(trx: Trx, rows: readonly ReservationRow[]): Promise<void> {
    afterCommit(trx, () => this.#written.remember(rows));
    return insertReservations(trx, rows);
  }

  /**
   * Deletes and returns those of the references that are open: each row is returned to one transaction only.
   * @throws Error when another process has closed a reservation this process had written; a retry reads the rows of all
   * of them
   */
  async takeReservations(trx: Trx, refs: readonly string[]): Promise<ReservationRow[]> {
    const [ref, second] = refs;
    const written = this.#written.recall(refs);
    // The query for a single reference costs half as much as the one for a list.
    if (ref !== undefined && second === undefined) return deleteReservation.all(trx, { ref });
    const list = { refs: JSON.stringify(refs) };
    if (written === undefined) return takeReservations.all(trx, list);
    if ((await deleteReservations.changes(trx, list)) === written.length) return written;
    throw new Error('a reservation was closed by another process meanwhile');
  }

  addEntries(trx: Trx, entries: readonly NewLedgerEntry[]): Promise<void> {
    return addEntries(trx, entries);
  }

  /**
   * Inserts an entry unless its cause already has one.
   * @returns false when nothing was inserted
   */
  async addEntryOnce(trx: Trx, entry: NewLedgerEntry): Promise<boolean> {
    return wasChanged(
      await trx
        .insertInto('ledger')
        .values(entry)
        .onConflict((conflict) => conflict.columns(['ref', 'kind']).doNothing())
        .executeTakeFirst(),
    );
  }

  /**
   * Adds to a wallet unless that exceeds `most`, the largest number that can be read back.
   * @returns false when nothing was added
   */
  async giveWithin(trx: Trx, user: number, amount: number, most: number): Promise<boolean> {
    return wasChanged(
      await trx
        .updateTable('wallets')
        .set({ balance: sql`balance + ${amount}` })
        .where('user_id', '=', user)
        .where('balance', '<=', most - amount)
        .executeTakeFirst(),
    );
  }

  /**
   * Deducts the amount from the token's limit.
   * @returns true when the token has no limit, or the limit had room
   */
  async takeFromToken(trx: Trx, token: number, amount: number): Promise<boolean> {
    if (!(await this.#isLimited(trx, token))) return true;
    return (await takeFromToken.changes(trx, { token, amount })) === 1;
  }

  async adjustTokenUse(trx: Trx, token: number, amount: number): Promise<void> {
    // An update alone would miss a limit that is being set concurrently and already includes this reservation.
    if (hasConcurrentWriters(trx) && !(await this.#isLimited(trx, token))) return;
    await changeTokenUse.changes(trx, { token, amount });
  }

  async #isLimited(trx: Trx, token: number): Promise<boolean> {
    return ((await limitOf.first(trx, { token }))?.quota_limit ?? null) !== null;
  }

  async setTokenLimit(trx: Trx, token: number, limit: number | undefined): Promise<void> {
    // Waits for transactions that reserved or settled without seeing this limit, then counts open reservations.
    if (hasConcurrentWriters(trx)) await lockTokenLimit.first(trx, { token });
    if (limit === undefined) {
      await trx.deleteFrom('token_limits').where('token_id', '=', token).execute();
      return;
    }
    // Reservations older than the limit are deducted on settlement, so they must count from the start.
    const open = trx
      .selectFrom('reservations')
      .select(({ fn }) => sql<number>`cast(coalesce(${fn.sum('amount')}, 0) as bigint)`.as('open'))
      .where('token_id', '=', token);
    await trx
      .insertInto('token_limits')
      .values({ token_id: token, quota_limit: limit, used: open })
      .onConflict((conflict) => conflict.column('token_id').doUpdateSet({ quota_limit: limit }))
      .execute();
  }

  async tokenLimits(
    tokens: readonly number[],
    executor: Executor = this.#database.kysely,
  ): Promise<ReadonlyMap<number, { limit: number; used: number }>> {
    if (tokens.length === 0) return new Map();
    const rows = await executor.selectFrom('token_limits').selectAll().where('token_id', 'in', tokens).execute();
    return new Map(rows.map((row) => [row.token_id, { limit: row.quota_limit, used: row.used }]));
  }

  /** References of open reservations made before a time, oldest first; for the sweep after a crash. */
  async openRefs(before: number, prefix: string, limit: number): Promise<string[]> {
    const rows = await this.#database.kysely
      .selectFrom('reservations')
      .select('ref')
      .where('created_at', '<', before)
      .where('ref', '>=', prefix)
      .where('ref', '<', `${prefix}\uffff`)
      .orderBy('created_at')
      .limit(limit)
      .execute();
    return rows.map((row) => row.ref);
  }
}

const MAX_ROWS = 20_000;

/**
 * Reservations that this process has committed. Rows never change, so a delete of a full list need not read them back,
 * which would be most of its cost. The oldest are evicted first.
 */
export class WrittenReservations<Row extends { readonly ref: string }> {
  readonly #rows = new Map<string, Row>();

  remember(rows: readonly Row[]): void {
    for (const row of rows) this.#rows.set(row.ref, row);
    for (const ref of this.#rows.keys()) {
      if (this.#rows.size <= MAX_ROWS) break;
      this.#rows.delete(ref);
    }
  }

  /**
   * Removes the references from memory, because each is deleted only once.
   * @returns their rows in that order; undefined unless all are known
   */
  recall(refs: readonly string[]): Row[] | undefined {
    const known: Row[] = [];
    for (const ref of refs) {
      const row = this.#rows.get(ref);
      if (row !== undefined && this.#rows.delete(ref)) known.push(row);
    }
    return known.length === refs.length ? known : undefined;
  }
}
