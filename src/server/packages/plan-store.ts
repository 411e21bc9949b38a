import { type Insertable, type Kysely, type Selectable, sql, type Transaction } from 'kysely';
import { NO_PACKAGE } from '../../contract/packages.ts';
import { prepare } from '../platform/db/prepared.ts';
import type { Tables } from '../tables.ts';
import type { CardRow } from './card-store.ts';
import type { Holding } from './timeline.ts';
import type { Window } from './windows.ts';

type Executor = Kysely<Tables>;
type Trx = Transaction<Tables>;

/** A holding with its card as it is now. */
export interface HeldCard extends Holding {
  readonly card: CardRow;
}

/** What an account holds, and the card for when it holds nothing. */
export interface Holdings {
  readonly none: CardRow;
  readonly held: readonly HeldCard[];
}

// One query: most accounts hold nothing, and every paid call asks.
const holdings = prepare<Tables, { user: number }>()((db, p) =>
  db
    .selectFrom('package_cards as c')
    .leftJoin('package_holdings as h', (join) =>
      join.onRef('h.card_id', '=', 'c.id').on('h.user_id', '=', p('user')).on('h.state', 'in', ['active', 'waiting']),
    )
    .selectAll('c')
    .select([
      'h.id as holding_id',
      'h.state as holding_state',
      'h.duration_days as holding_days',
      'h.starts_at as holding_starts_at',
      'h.expires_at as holding_expires_at',
    ])
    .where((row) => row.or([row('c.package_code', '=', NO_PACKAGE), row('h.id', 'is not', null)])),
);

export async function findHoldings(db: Executor, user: number): Promise<Holdings> {
  const rows = await holdings.all(db, { user });
  const none = rows.find((row) => row.package_code === NO_PACKAGE);
  if (none === undefined) throw new Error('the no-package card is missing');
  const held = rows.flatMap((row): HeldCard[] =>
    row.holding_id === null
      ? []
      : [
          {
            id: row.holding_id,
            card_id: row.id,
            level: row.level,
            state: row.holding_state === 'active' ? 'active' : 'waiting',
            duration_days: row.holding_days ?? 0,
            starts_at: row.holding_starts_at ?? 0,
            expires_at: row.holding_expires_at ?? 0,
            card: row,
          },
        ],
  );
  return { none, held };
}

export type PackageAccount = Selectable<Tables['package_accounts']>;

const lock = prepare<Tables, { user: number; zone: string }>()((db, p) =>
  db
    .insertInto('package_accounts')
    .values({ user_id: p('user'), zone: p('zone'), held_from: 0 })
    .onConflict((conflict) => conflict.column('user_id').doUpdateSet({ user_id: sql`excluded.user_id` }))
    .returningAll(),
);

/** Locks an account's packages until the commit; answers in which zone its running day began. */
export async function lockAccount(trx: Trx, user: number, zone: string): Promise<PackageAccount> {
  const row = await lock.first(trx, { user, zone });
  if (row === undefined) throw new Error('the account of packages was not locked');
  return row;
}

const findAccountRow = prepare<Tables, { user: number }>()((db, p) =>
  db.selectFrom('package_accounts').selectAll().where('user_id', '=', p('user')),
);
export const findPackageAccount = (db: Executor, user: number): Promise<PackageAccount | undefined> =>
  findAccountRow.first(db, { user });

export const setDayRule = (trx: Trx, user: number, rule: { zone: string; heldFrom: number }): Promise<unknown> =>
  trx
    .updateTable('package_accounts')
    .set({ zone: rule.zone, held_from: rule.heldFrom })
    .where('user_id', '=', user)
    .execute();

interface UseKey {
  readonly user: number;
  readonly holding: number;
  readonly kind: string;
  readonly startsAt: number;
}
const use = prepare<Tables, UseKey>()((db, p) =>
  db
    .selectFrom('allowance_use')
    .select('used')
    .where('user_id', '=', p('user'))
    .where('holding_id', '=', p('holding'))
    .where('kind', '=', p('kind'))
    .where('starts_at', '=', p('startsAt')),
);
// Hits no row when it would go over the limit: the lock keeps that from happening, and this from being missed.
const addUse = prepare<Tables, UseKey & { amount: number; limit: number }>()((db, p) =>
  db
    .insertInto('allowance_use')
    .values({
      user_id: p('user'),
      holding_id: p('holding'),
      kind: p('kind'),
      starts_at: p('startsAt'),
      used: p('amount'),
    })
    .onConflict((conflict) =>
      conflict
        .columns(['user_id', 'holding_id', 'kind', 'starts_at'])
        .doUpdateSet({ used: sql`allowance_use.used + excluded.used` })
        .where(sql<boolean>`allowance_use.used + excluded.used <= ${p('limit')}`),
    ),
);
const takeUseBack = prepare<Tables, UseKey & { amount: number }>()((db, p) =>
  db
    .updateTable('allowance_use')
    .set({ used: sql`used - ${p('amount')}` })
    .where('user_id', '=', p('user'))
    .where('holding_id', '=', p('holding'))
    .where('kind', '=', p('kind'))
    .where('starts_at', '=', p('startsAt'))
    .where('used', '>=', p('amount')),
);

const keyOf = (user: number, holding: number, { kind, startsAt }: Pick<Window, 'kind' | 'startsAt'>): UseKey => ({
  user,
  holding,
  kind,
  startsAt,
});

export const usedIn = async (db: Executor, user: number, holding: number, window: Window): Promise<number> =>
  (await use.first(db, keyOf(user, holding, window)))?.used ?? 0;

/** @throws when the window has no room: the caller looked under the lock, so this is our fault and undoes everything. */
export async function addToUse(trx: Trx, user: number, holding: number, window: Window, amount: number): Promise<void> {
  const key = keyOf(user, holding, window);
  if ((await addUse.changes(trx, { ...key, amount, limit: window.limit })) !== 1)
    throw new Error(`the ${window.kind} of account ${user} has no room for ${amount}`);
}

/** Answers whether as much had been used. */
export const takeFromUse = async (trx: Trx, user: number, holding: number, window: Window, amount: number) =>
  (await takeUseBack.changes(trx, { ...keyOf(user, holding, window), amount })) === 1;

export async function insertHolding(trx: Trx, holding: Insertable<Tables['package_holdings']>): Promise<void> {
  await trx.insertInto('package_holdings').values(holding).execute();
}

export const endHolding = (trx: Trx, id: number, at: number): Promise<unknown> =>
  trx
    .updateTable('package_holdings')
    .set({
      state: 'ended',
      expires_at: sql`case when expires_at > ${at} or expires_at = 0 then ${at} else expires_at end`,
    })
    .where('id', '=', id)
    .execute();

export const startHolding = (trx: Trx, { id, starts_at, expires_at }: Holding): Promise<unknown> =>
  trx
    .updateTable('package_holdings')
    .set({ state: 'active', starts_at, expires_at, warned: 0 })
    .where('id', '=', id)
    .execute();

/** Adds days; `expiresAt` is the end afterwards, 0 for one that waits. */
export const extendHolding = (trx: Trx, id: number, days: number, expiresAt: number): Promise<unknown> =>
  trx
    .updateTable('package_holdings')
    .set({ duration_days: sql`duration_days + ${days}`, expires_at: expiresAt, warned: 0 })
    .where('id', '=', id)
    .execute();

/** Accounts whose package ended by a time and is not yet written down as ended. */
export async function usersWithEnded(db: Executor, at: number, limit: number): Promise<number[]> {
  const rows = await db
    .selectFrom('package_holdings')
    .select('user_id')
    .where('state', '=', 'active')
    .where('expires_at', '<=', at)
    .orderBy('expires_at')
    .limit(limit)
    .execute();
  return rows.map((row) => row.user_id);
}

export interface EndingSoon {
  readonly id: number;
  readonly user_id: number;
  readonly expires_at: number;
  readonly name: string;
}

/** Running packages in the second half of their time that end within `withinMs`, and whose owner was not told. */
export const listEndingSoon = (db: Executor, now: number, withinMs: number, limit: number): Promise<EndingSoon[]> =>
  db
    .selectFrom('package_holdings as h')
    .innerJoin('package_cards as c', 'c.id', 'h.card_id')
    .select(['h.id', 'h.user_id', 'h.expires_at', 'c.name'])
    .where('h.state', '=', 'active')
    .where('h.expires_at', '<', now + withinMs)
    .where(sql<boolean>`h.expires_at - ${now} <= ${now} - h.starts_at`)
    .where('h.warned', '=', 0)
    .orderBy('h.expires_at')
    .limit(limit)
    .execute();

/** Answers whether this call was the first. */
export async function markWarned(trx: Trx, id: number, expiresAt: number): Promise<boolean> {
  const result = await trx
    .updateTable('package_holdings')
    .set({ warned: 1 })
    .where('id', '=', id)
    .where('warned', '=', 0)
    .where('state', '=', 'active')
    .where('expires_at', '=', expiresAt)
    .executeTakeFirst();
  return result.numUpdatedRows === 1n;
}

/** Use of windows that ended long ago. */
export const dropOldUse = (db: Executor, before: number): Promise<unknown> =>
  db.deleteFrom('allowance_use').where('starts_at', '<', before).execute();
