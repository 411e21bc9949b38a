import type { Insertable, Kysely, Selectable, Transaction } from 'kysely';
import { sql } from 'kysely';
import type { Database } from '../platform/db/database.ts';
import { prepare } from '../platform/db/prepared.ts';
import type { Tables } from '../tables.ts';
import type { TokenUse } from './quota.ts';

type Trx = Transaction<Tables>;
type Hold = Selectable<Tables['holds']>;
type Entry = Omit<Insertable<Tables['ledger']>, 'id'>;

const sub = prepare<Tables, { user: number; amount: number }>();
const takeExactly = sub((db, p) =>
  db
    .updateTable('wallets')
    .set({ balance: sql`balance - ${p('amount')}` })
    .where('user_id', '=', p('user'))
    .where('balance', '>=', p('amount'))
    .returning('balance'),
);
const giveBack = sub((db, p) =>
  db
    .updateTable('wallets')
    .set({ balance: sql`balance + ${p('amount')}` })
    .where('user_id', '=', p('user')),
);
const addUse = prepare<Tables, { user: number; back: number; charged: number }>()((db, p) =>
  db
    .updateTable('wallets')
    .set({ balance: sql`balance + ${p('back')}`, used: sql`used + ${p('charged')}`, requests: sql`requests + 1` })
    .where('user_id', '=', p('user')),
);
const wallet = prepare<Tables, { user: number }>()((db, p) =>
  db.selectFrom('wallets').select(['balance', 'used', 'requests']).where('user_id', '=', p('user')),
);
const addHold = prepare<Tables, Hold>()((db, p) =>
  db.insertInto('holds').values({
    ref: p('ref'),
    user_id: p('user_id'),
    token_id: p('token_id'),
    model: p('model'),
    amount: p('amount'),
    plan_amount: p('plan_amount'),
    plan_slot: p('plan_slot'),
    created_at: p('created_at'),
  }),
);
const takeHold = prepare<Tables, { ref: string }>()((db, p) =>
  db.deleteFrom('holds').where('ref', '=', p('ref')).returningAll(),
);
const addEntry = prepare<Tables, Required<Entry>>()((db, p) =>
  db.insertInto('ledger').values({
    user_id: p('user_id'),
    kind: p('kind'),
    amount: p('amount'),
    plan_amount: p('plan_amount'),
    charged: p('charged'),
    ref: p('ref'),
    token_id: p('token_id'),
    model: p('model'),
    note: p('note'),
    created_at: p('created_at'),
  }),
);
const limitOf = prepare<Tables, { token: number }>()((db, p) =>
  db.selectFrom('token_limits').select('quota_limit').where('token_id', '=', p('token')),
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
interface Use {
  readonly user: number;
  readonly day: number;
  readonly token: number;
  readonly model: string;
  readonly charged: number;
  readonly prompt: number;
  readonly completion: number;
}
const addUsage = prepare<Tables, { [K in keyof Use]: Use[K] }>()((db, p) =>
  db
    .insertInto('usage_daily')
    .values({
      user_id: p('user'),
      day: p('day'),
      token_id: p('token'),
      model: p('model'),
      requests: 1,
      quota: p('charged'),
      prompt_tokens: p('prompt'),
      completion_tokens: p('completion'),
    })
    .onConflict((conflict) =>
      conflict.columns(['user_id', 'day', 'token_id', 'model']).doUpdateSet({
        requests: sql`usage_daily.requests + 1`,
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

  async giveBack(trx: Trx, user: number, amount: number): Promise<void> {
    if ((await giveBack.changes(trx, { user, amount })) !== 1) throw new Error(`account ${user} has no wallet`);
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

  async addUse(
    trx: Trx,
    use: Pick<Hold, 'user_id' | 'token_id' | 'model'> & TokenUse & { day: number; charged: number; back: number },
  ): Promise<void> {
    await addUse.changes(trx, { user: use.user_id, back: use.back, charged: use.charged });
    await addUsage.changes(trx, {
      user: use.user_id,
      day: use.day,
      token: use.token_id ?? 0,
      model: use.model,
      charged: use.charged,
      prompt: use.promptTokens,
      completion: use.completionTokens,
    });
  }

  async addHold(trx: Trx, hold: Hold): Promise<void> {
    await addHold.changes(trx, hold);
  }

  /** The hold, removed: whoever gets it closes it, everybody later gets undefined. */
  takeHold(trx: Trx, ref: string): Promise<Hold | undefined> {
    return takeHold.first(trx, { ref });
  }

  async addEntry(trx: Trx, entry: Required<Entry>): Promise<void> {
    await addEntry.changes(trx, entry);
  }

  /** False, having changed nothing, when this cause has its entry already. */
  async addEntryOnce(trx: Trx, entry: Required<Entry>): Promise<boolean> {
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
    if ((await limitOf.first(trx, { token })) === undefined) return true;
    return (await takeFromToken.changes(trx, { token, amount })) === 1;
  }

  async changeTokenUse(trx: Trx, token: number, amount: number): Promise<void> {
    await changeTokenUse.changes(trx, { token, amount });
  }

  async limitToken(trx: Trx, token: number, limit: number | undefined): Promise<void> {
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
