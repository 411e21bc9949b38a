import type { Insertable, Kysely, Selectable, Transaction } from 'kysely';
import { sql } from 'kysely';
import type { Database } from '../platform/db/database.ts';
import { prepare, prepareInsert } from '../platform/db/prepared.ts';
import type { Tables } from '../tables.ts';
import type { TokenUse } from './quota.ts';

type Trx = Transaction<Tables>;
export type Hold = Selectable<Tables['holds']>;
export type Entry = Required<Omit<Insertable<Tables['ledger']>, 'id'>>;

const sub = prepare<Tables, { user: number; amount: number }>();
const takeExactly = sub((db, p) =>
  db
    .updateTable('wallets')
    .set({ balance: sql`balance - ${p('amount')}` })
    .where('user_id', '=', p('user'))
    .where('balance', '>=', p('amount'))
    .returning('balance'),
);
const addUse = prepare<Tables, { user: number; back: number; charged: number; requests: number }>()((db, p) =>
  db
    .updateTable('wallets')
    .set({
      balance: sql`balance + ${p('back')}`,
      used: sql`used + ${p('charged')}`,
      requests: sql`requests + ${p('requests')}`,
    })
    .where('user_id', '=', p('user')),
);
const wallet = prepare<Tables, { user: number }>()((db, p) =>
  db.selectFrom('wallets').select(['balance', 'used', 'requests']).where('user_id', '=', p('user')),
);
const addHolds = prepareInsert<Tables, Hold>('holds', [
  'ref',
  'user_id',
  'token_id',
  'model',
  'amount',
  'plan_amount',
  'plan_slot',
  'created_at',
]);
const takeHold = prepare<Tables, { ref: string }>()((db, p) =>
  db.deleteFrom('holds').where('ref', '=', p('ref')).returningAll(),
);
/** A list of changing length in one parameter, so that one query serves them all. */
const takeHolds = prepare<Tables, { refs: string }>()((db, p, dialect) =>
  db
    .deleteFrom('holds')
    .where(
      'ref',
      'in',
      dialect === 'sqlite'
        ? sql<string>`(select value from json_each(${p('refs')}))`
        : sql<string>`(select json_array_elements_text(${p('refs')}::json))`,
    )
    .returningAll(),
);
const addEntries = prepareInsert<Tables, Entry>('ledger', [
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
/** A limit is set alone and heeded together: between this and the commit nobody sets the limit of that token. */
const limitOf = prepare<Tables, { token: number }>()((db, p, dialect) =>
  dialect === 'sqlite'
    ? db.selectFrom('token_limits').select('quota_limit').where('token_id', '=', p('token'))
    : db.selectNoFrom(sql<number | null>`token_limit_in_turn(${p('token')}, false)`.as('quota_limit')),
);
const setAlone = prepare<Tables, { token: number }>()((db, p) =>
  db.selectNoFrom(sql<number | null>`token_limit_in_turn(${p('token')}, true)`.as('quota_limit')),
);
const takeFromToken = prepare<Tables, { token: number; amount: number }>()((db, p) =>
  db
    .updateTable('token_limits')
    .set({ used: sql`used + ${p('amount')}` })
    .where('token_id', '=', p('token'))
    .where(sql<boolean>`used + ${p('amount')} <= quota_limit`),
);
const changeTokenUse = prepare<Tables, { token: number; amount: number }>()((db, p) =>
  db
    .updateTable('token_limits')
    .set({ used: sql`used + ${p('amount')}` })
    .where('token_id', '=', p('token')),
);
/** Figures of one account, day, token and model. */
export interface DailyUse extends TokenUse {
  readonly userId: number;
  /** Days since 1970 UTC. */
  readonly day: number;
  /** 0: none. */
  readonly tokenId: number;
  readonly model: string;
  readonly requests: number;
  readonly charged: number;
}
const addUsage = prepare<Tables, { [K in keyof DailyUse]: DailyUse[K] }>()((db, p) =>
  db
    .insertInto('usage_daily')
    .values({
      user_id: p('userId'),
      day: p('day'),
      token_id: p('tokenId'),
      model: p('model'),
      requests: p('requests'),
      quota: p('charged'),
      prompt_tokens: p('promptTokens'),
      completion_tokens: p('completionTokens'),
    })
    .onConflict((conflict) =>
      conflict.columns(['user_id', 'day', 'token_id', 'model']).doUpdateSet({
        requests: sql`usage_daily.requests + excluded.requests`,
        quota: sql`usage_daily.quota + excluded.quota`,
        prompt_tokens: sql`usage_daily.prompt_tokens + excluded.prompt_tokens`,
        completion_tokens: sql`usage_daily.completion_tokens + excluded.completion_tokens`,
      }),
    ),
);

/** SQL of the ledger; every conditional write answers whether it hit its row. */
export class QuotaStore {
  readonly #database: Database<Tables>;
  constructor(database: Database<Tables>) {
    this.#database = database;
  }

  /** What is left, or undefined where the wallet does not reach. */
  async takeExactly(trx: Trx, user: number, amount: number): Promise<number | undefined> {
    return (await takeExactly.first(trx, { user, amount }))?.balance;
  }

  /** Takes the amount, or all there is; answers what it took. */
  async takeUpTo(trx: Trx, user: number, amount: number): Promise<number> {
    if ((await this.takeExactly(trx, user, amount)) !== undefined) return amount;
    // Locked between the read and the write, or somebody else could take it meanwhile.
    const row = await trx
      .selectFrom('wallets')
      .select('balance')
      .where('user_id', '=', user)
      .$if(this.#database.dialect === 'postgres', (query) => query.forUpdate())
      .executeTakeFirst();
    const rest = Math.min(amount, row?.balance ?? 0);
    return rest > 0 && (await this.takeExactly(trx, user, rest)) !== undefined ? rest : 0;
  }

  async balanceIn(trx: Kysely<Tables>, user: number): Promise<number> {
    return (await wallet.first(trx, { user }))?.balance ?? 0;
  }

  async wallet(user: number): Promise<{ balance: number; used: number; requests: number }> {
    return (await wallet.first(this.#database.kysely, { user })) ?? { balance: 0, used: 0, requests: 0 };
  }

  async addWallet(trx: Trx, user: number): Promise<void> {
    await trx.insertInto('wallets').values({ user_id: user, balance: 0, used: 0, requests: 0 }).execute();
  }

  /** What came back into a wallet, and what was used and how often. */
  async addUse(
    trx: Trx,
    change: { readonly user: number; readonly back: number; readonly charged: number; readonly requests: number },
  ): Promise<void> {
    if ((await addUse.changes(trx, change)) !== 1) throw new Error(`account ${change.user} has no wallet`);
  }

  async addUsage(trx: Trx, use: DailyUse): Promise<void> {
    await addUsage.changes(trx, use);
  }

  addHolds(trx: Trx, holds: readonly Hold[]): Promise<void> {
    return addHolds(trx, holds);
  }

  /** The holds there are, removed: whoever gets one closes it, everybody later does not find it. */
  takeHolds(trx: Trx, refs: readonly string[]): Promise<Hold[]> {
    const [ref, second] = refs;
    // A lone one costs half of what it would cost as a list.
    if (ref !== undefined && second === undefined) return takeHold.all(trx, { ref });
    return takeHolds.all(trx, { refs: JSON.stringify(refs) });
  }

  addEntries(trx: Trx, entries: readonly Entry[]): Promise<void> {
    return addEntries(trx, entries);
  }

  /** False, having changed nothing, when this cause has its entry already. */
  async addEntryOnce(trx: Trx, entry: Entry): Promise<boolean> {
    const { numInsertedOrUpdatedRows } = await trx
      .insertInto('ledger')
      .values(entry)
      .onConflict((conflict) => conflict.columns(['ref', 'kind']).doNothing())
      .executeTakeFirst();
    return numInsertedOrUpdatedRows === 1n;
  }

  /** Adds to a wallet as long as it stays a number that can be read back; false otherwise. */
  async giveWithin(trx: Trx, user: number, amount: number, most: number): Promise<boolean> {
    const { numUpdatedRows } = await trx
      .updateTable('wallets')
      .set({ balance: sql`balance + ${amount}` })
      .where('user_id', '=', user)
      .where('balance', '<=', most - amount)
      .executeTakeFirst();
    return numUpdatedRows === 1n;
  }

  /** True when the token has no limit, or room for the amount, which is then taken. */
  async takeFromToken(trx: Trx, token: number, amount: number): Promise<boolean> {
    if (!(await this.#isLimited(trx, token))) return true;
    return (await takeFromToken.changes(trx, { token, amount })) === 1;
  }

  async changeTokenUse(trx: Trx, token: number, amount: number): Promise<void> {
    // An update alone would overlook a limit being set, which counts the reservation that is ending as open.
    if (this.#database.dialect === 'postgres' && !(await this.#isLimited(trx, token))) return;
    await changeTokenUse.changes(trx, { token, amount });
  }

  async #isLimited(trx: Trx, token: number): Promise<boolean> {
    return ((await limitOf.first(trx, { token }))?.quota_limit ?? null) !== null;
  }

  async limitToken(trx: Trx, token: number, limit: number | undefined): Promise<void> {
    // Whoever reserved or ended without regard to this limit is done before the open reservations are counted.
    if (this.#database.dialect === 'postgres') await setAlone.first(trx, { token });
    if (limit === undefined) {
      await trx.deleteFrom('token_limits').where('token_id', '=', token).execute();
      return;
    }
    // Reservations made before there was a limit are taken off it when they end, so they count from the start.
    const open = trx
      .selectFrom('holds')
      .select(({ fn }) => sql<number>`cast(coalesce(${fn.sum('amount')}, 0) as bigint)`.as('open'))
      .where('token_id', '=', token);
    await trx
      .insertInto('token_limits')
      .values({ token_id: token, quota_limit: limit, used: open })
      .onConflict((conflict) => conflict.column('token_id').doUpdateSet({ quota_limit: limit }))
      .execute();
  }

  async tokenLimits(tokens: readonly number[]): Promise<ReadonlyMap<number, { limit: number; used: number }>> {
    if (tokens.length === 0) return new Map();
    const rows = await this.#database.kysely
      .selectFrom('token_limits')
      .selectAll()
      .where('token_id', 'in', tokens)
      .execute();
    return new Map(rows.map((row) => [row.token_id, { limit: row.quota_limit, used: row.used }]));
  }

  /** References of reservations made before a time and still open, oldest first; for the sweep after a crash. */
  async openRefs(before: number, prefix: string, limit: number): Promise<string[]> {
    const rows = await this.#database.kysely
      .selectFrom('holds')
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
