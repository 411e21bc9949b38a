import { type Kysely, type Selectable, sql } from 'kysely';
import { prepare } from '../platform/db/prepared.ts';
import type { Tables } from '../tables.ts';

type Executor = Kysely<Tables>;

export type CodeRow = Selectable<Tables['device_codes']>;

const byUserCode = prepare<Tables, { code: string; now: number }>()((db, p) =>
  db.selectFrom('device_codes').selectAll().where('user_code', '=', p('code')).where('sweep_at', '>', p('now')),
);

/** The record a person names. */
export const findByUserCode = (db: Executor, code: string, now: number): Promise<CodeRow | undefined> =>
  byUserCode.first(db, { code, now });

export type NewCode = Pick<
  CodeRow,
  | 'device_code_hash'
  | 'user_code'
  | 'client_id'
  | 'client_name'
  | 'device_id'
  | 'address'
  | 'user_agent'
  | 'created_at'
  | 'expires_at'
  | 'interval_seconds'
  | 'sweep_at'
>;

const insert = prepare<Tables, NewCode>()((db, p) =>
  db
    .insertInto('device_codes')
    .values({
      device_code_hash: p('device_code_hash'),
      user_code: p('user_code'),
      client_id: p('client_id'),
      client_name: p('client_name'),
      device_id: p('device_id'),
      address: p('address'),
      user_agent: p('user_agent'),
      status: 'pending',
      created_at: p('created_at'),
      expires_at: p('expires_at'),
      interval_seconds: p('interval_seconds'),
      sweep_at: p('sweep_at'),
    })
    .onConflict((conflict) => conflict.doNothing()),
);

/** Answers false when one of the two codes is taken. */
export const insertCode = async (db: Executor, code: NewCode): Promise<boolean> =>
  (await insert.changes(db, code)) === 1;

const dropPending = prepare<Tables, { device: string; now: number }>()((db, p) =>
  db
    .deleteFrom('device_codes')
    .where('device_id', '=', p('device'))
    // Said again because the index holds these rows only.
    .where('device_id', '!=', '')
    .where('status', '=', 'pending')
    .where('expires_at', '>', p('now')),
);

/** Drops what the same device waits on; what has come to an end stays as a tombstone. */
export const dropPendingOf = (db: Executor, device: string, now: number): Promise<number> =>
  dropPending.changes(db, { device, now });

/** A pending code this account may still decide: the condition of claim, approve and deny. */
const decidable = (db: Executor, code: string, userId: number, now: number) =>
  db
    .updateTable('device_codes')
    .where('user_code', '=', code)
    .where('status', '=', 'pending')
    .where('expires_at', '>', now)
    .where((row) => row.or([row('claimed_by', 'is', null), row('claimed_by', '=', userId)]));

/** Makes the code this account's; answers false when it is no longer pending or another's. */
export async function claimCode(db: Executor, code: string, userId: number, now: number): Promise<boolean> {
  const result = await decidable(db, code, userId, now).set({ claimed_by: userId }).executeTakeFirst();
  return result.numUpdatedRows === 1n;
}

export interface Decision {
  readonly status: 'approved' | 'denied';
  readonly user_id: number;
  readonly decided_at: number;
  readonly access_expires_at: number | null;
  readonly refresh_expires_at: number | null;
  readonly sweep_at: number;
}

/** Decides a pending code, once; answers the record, or undefined to whoever came too late. */
export const decideCode = (db: Executor, code: string, decision: Decision): Promise<CodeRow | undefined> =>
  decidable(db, code, decision.user_id, decision.decided_at)
    .set({ ...decision, claimed_by: decision.user_id })
    .returningAll()
    .executeTakeFirst();

/** Collects an approval, once; answers how the device is called by now, or undefined to whoever came too late. */
export const takeApproved = (
  db: Executor,
  id: number,
  sweepAt: number,
): Promise<Pick<CodeRow, 'client_name'> | undefined> =>
  db
    .updateTable('device_codes')
    .set({ status: 'used', sweep_at: sweepAt })
    .where('id', '=', id)
    .where('status', '=', 'approved')
    .returning('client_name')
    .executeTakeFirst();

/** Names the device of a code that this account approved; answers whether there is one. */
export async function nameDecided(db: Executor, id: number, userId: number, name: string): Promise<boolean> {
  const result = await db
    .updateTable('device_codes')
    .set({ client_name: name })
    .where('id', '=', id)
    .where('user_id', '=', userId)
    .where('status', 'in', ['approved', 'used'])
    .executeTakeFirst();
  return result.numUpdatedRows === 1n;
}

/** Approvals of an account that nobody has collected; of one device where it is named. */
export const dropApprovedOf = (
  db: Executor,
  userId: number,
  of?: { readonly deviceId: string; readonly butId: number },
): Promise<unknown> =>
  db
    .deleteFrom('device_codes')
    .where('user_id', '=', userId)
    .where('status', '=', 'approved')
    .$if(of !== undefined, (query) =>
      query.where('device_id', '=', of?.deviceId ?? '').where('id', '!=', of?.butId ?? 0),
    )
    .execute();

export const dropCodes = async (db: Executor, ids: readonly number[]): Promise<void> => {
  if (ids.length > 0)
    await db
      .deleteFrom('device_codes')
      .where('id', 'in', [...ids])
      .execute();
};

export const dropCodesOfClient = (db: Executor, clientId: string): Promise<unknown> =>
  db.deleteFrom('device_codes').where('client_id', '=', clientId).execute();

/** Early by up to this much is in time: clocks and networks are not exact. */
const JITTER_MS = 1_000;
const LONGEST_INTERVAL_SECONDS = 60;

/** Notes a poll of the standard face that kept its interval; answers false when it came too early. */
export async function keepPace(db: Executor, id: number, now: number): Promise<boolean> {
  const result = await db
    .updateTable('device_codes')
    .set({ polled_at: now })
    .where('id', '=', id)
    .where((row) =>
      row.or([
        row('polled_at', 'is', null),
        row('polled_at', '<=', sql<number>`${now + JITTER_MS} - interval_seconds * 1000`),
      ]),
    )
    .executeTakeFirst();
  return result.numUpdatedRows === 1n;
}

/** Widens the interval by five seconds, for this and all later polls (RFC 8628 section 3.5). */
export const widenPace = (db: Executor, id: number, now: number): Promise<unknown> =>
  db
    .updateTable('device_codes')
    .set({ polled_at: now, interval_seconds: sql<number>`interval_seconds + 5` })
    .where('id', '=', id)
    .where('interval_seconds', '<', LONGEST_INTERVAL_SECONDS)
    .execute();

/** Removes some of what has had its time; answers how many. */
export async function sweepCodes(db: Executor, now: number, most: number): Promise<number> {
  const ended = db.selectFrom('device_codes').select('id').where('sweep_at', '<=', now).limit(most);
  const result = await db.deleteFrom('device_codes').where('id', 'in', ended).executeTakeFirst();
  return Number(result.numDeletedRows);
}
