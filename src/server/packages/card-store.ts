import type { Insertable, Kysely, Selectable, Transaction, Updateable } from 'kysely';
import { NO_PACKAGE } from '../../contract/packages.ts';
import type { Page } from '../../contract/schemas.ts';
import type { Tables } from '../tables.ts';

export type Executor = Kysely<Tables>;
type Trx = Transaction<Tables>;
export type CardRow = Selectable<Tables['package_cards']>;

export const ENABLED = 1;

export const findCard = (db: Executor, id: number): Promise<CardRow | undefined> =>
  db.selectFrom('package_cards').selectAll().where('id', '=', id).executeTakeFirst();

export const findCardByCode = (db: Executor, code: string): Promise<CardRow | undefined> =>
  db.selectFrom('package_cards').selectAll().where('package_code', '=', code).executeTakeFirst();

/** Reads and, on PostgreSQL, locks a card against being removed under a new holding. */
export const lockCard = (trx: Trx, postgres: boolean, id: number): Promise<CardRow | undefined> =>
  trx
    .selectFrom('package_cards')
    .selectAll()
    .where('id', '=', id)
    .$if(postgres, (query) => query.forUpdate())
    .executeTakeFirst();

export const listOffered = (db: Executor): Promise<CardRow[]> =>
  db
    .selectFrom('package_cards')
    .selectAll()
    .where('status', '=', ENABLED)
    .where('purchasable', '=', 1)
    .where('package_code', '<>', NO_PACKAGE)
    .orderBy('level')
    .orderBy('id')
    .execute();

export async function listCards(db: Executor, { pageSize, offset }: Page) {
  const [rows, count] = await Promise.all([
    db.selectFrom('package_cards').selectAll().orderBy('level').orderBy('id').limit(pageSize).offset(offset).execute(),
    db
      .selectFrom('package_cards')
      .select((row) => row.fn.countAll<number>().as('total'))
      .executeTakeFirstOrThrow(),
  ]);
  return { rows, total: Number(count.total) };
}

/** Undefined when the code is taken. */
export async function insertCard(trx: Trx, card: Insertable<Tables['package_cards']>): Promise<number | undefined> {
  const row = await trx
    .insertInto('package_cards')
    .values(card)
    .onConflict((conflict) => conflict.column('package_code').doNothing())
    .returning('id')
    .executeTakeFirst();
  return row?.id;
}

export const updateCard = (trx: Trx, id: number, change: Updateable<Tables['package_cards']>): Promise<unknown> =>
  trx.updateTable('package_cards').set(change).where('id', '=', id).execute();

export const deleteCard = (trx: Trx, id: number): Promise<unknown> =>
  trx.deleteFrom('package_cards').where('id', '=', id).execute();

/** Whether somebody holds the card, or an unused code names it. */
export async function isCardInUse(trx: Trx, id: number): Promise<boolean> {
  const held = await trx
    .selectFrom('package_holdings')
    .select('id')
    .where('card_id', '=', id)
    .where('state', '<>', 'ended')
    .limit(1)
    .executeTakeFirst();
  if (held !== undefined) return true;
  const promised = await trx
    .selectFrom('redemption_codes')
    .select('id')
    .where('card_id', '=', id)
    .where('state', '=', 'unused')
    .limit(1)
    .executeTakeFirst();
  return promised !== undefined;
}
