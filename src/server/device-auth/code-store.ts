import { type Insertable, type Selectable, sql } from 'kysely';
import type { ClientType } from '../../contract/device-clients.ts';
import { DAY_MS } from '../../contract/time-units.ts';
import type { Database } from '../platform/db/database.ts';
import { prepareQuery, statementParts, wasChanged } from '../platform/db/sql.ts';
import type { Executor, Tables, Trx } from '../tables.ts';

/** A device code with its current state. */
export type DeviceCodeRow = Selectable<Tables['device_codes']>;

type NewDeviceCode = Pick<
  DeviceCodeRow,
  | 'device_code_hash'
  | 'user_code'
  | 'client_id'
  | 'client_name'
  | 'device_id'
  | 'address'
  | 'network'
  | 'user_agent'
  | 'created_at'
  | 'expires_at'
  | 'interval_seconds'
  | 'sweep_at'
  | 'scopes'
  | 'audience'
>;

interface Decision {
  readonly status: 'approved' | 'denied';
  readonly user_id: number;
  /** The organization that the sign-in acts for. */
  readonly organization_id: number | null;
  readonly decided_at: number;
  readonly access_expires_at: number | null;
  readonly refresh_expires_at: number | null;
  readonly sweep_at: number;
}

/** A device of an account, in one context. */
interface DeviceContext {
  readonly userId: number;
  readonly deviceId: string;
  readonly organizationId: number | null;
}

/** A client with one of its active secrets, and the record of the device_code if it exists. */
interface PollRow extends Omit<DeviceCodeRow, 'id' | 'client_id'> {
  readonly name: string;
  readonly enabled: 0 | 1;
  readonly type: ClientType;
  readonly secret_hash: string | null;
  /** Null, like all columns of the code, if there is no such code. */
  readonly id: number | null;
  readonly client_id: string | null;
}

/** Retention of ended codes and uncollected approvals, during which their outcome can still be reported. */
export const ENDED_CODE_RETENTION_MS = DAY_MS;

/** Tolerance for early polls, because clocks and networks are imprecise. */
const JITTER_MS = 1_000;
const MAX_INTERVAL_SECONDS = 60;

const byUserCode = prepareQuery<Tables, { code: string; now: number }>()((db, p) =>
  db.selectFrom('device_codes').selectAll().where('user_code', '=', p('code')).where('sweep_at', '>', p('now')),
);

const insertCode = prepareQuery<Tables, NewDeviceCode>()((db, p) =>
  db
    .insertInto('device_codes')
    .values({
      device_code_hash: p('device_code_hash'),
      user_code: p('user_code'),
      client_id: p('client_id'),
      client_name: p('client_name'),
      device_id: p('device_id'),
      address: p('address'),
      network: p('network'),
      user_agent: p('user_agent'),
      status: 'pending',
      created_at: p('created_at'),
      expires_at: p('expires_at'),
      interval_seconds: p('interval_seconds'),
      sweep_at: p('sweep_at'),
      scopes: p('scopes'),
      audience: p('audience'),
    })
    .onConflict((conflict) => conflict.doNothing()),
);

const deletePending = prepareQuery<Tables, { device: string; now: number }>()((db, p) =>
  db
    .deleteFrom('device_codes')
    .where('device_id', '=', p('device'))
    // Repeated here because the partial index holds only these rows.
    .where('device_id', '!=', '')
    .where('status', '=', 'pending')
    .where('expires_at', '>', p('now')),
);

/** Raises the count of a network unless it has reached the maximum, as one conditional write. */
const raiseCount = prepareQuery<Tables, { network: string; ends_at: number; max: number }>()((db, p) =>
  db
    .insertInto('device_code_counts')
    .values({ network: p('network'), codes: 1, ends_at: p('ends_at') })
    .onConflict((conflict) =>
      conflict
        .column('network')
        .doUpdateSet({
          codes: sql<number>`device_code_counts.codes + 1`,
          ends_at: sql<number>`case when excluded.ends_at > device_code_counts.ends_at
            then excluded.ends_at else device_code_counts.ends_at end`,
        })
        .where('device_code_counts.codes', '<', p('max')),
    ),
);

const replaceCount = prepareQuery<Tables, { network: string; codes: number }>()((db, p) =>
  db
    .updateTable('device_code_counts')
    .set({ codes: p('codes') })
    .where('network', '=', p('network')),
);

const livePending = prepareQuery<Tables, { network: string; now: number }>()((db, p) =>
  db
    .selectFrom('device_codes')
    .select((row) => [row.fn.countAll<number>().as('count'), row.fn.min<number | null>('expires_at').as('first_end')])
    .where('network', '=', p('network'))
    .where('status', '=', 'pending')
    .where('expires_at', '>', p('now')),
);

const pollQuery = prepareQuery<Tables, { client: string; hash: string; now: number }>()((db, p) =>
  db
    .selectFrom('device_clients')
    .leftJoin('device_client_secrets', 'device_client_secrets.client_id', 'device_clients.client_id')
    .leftJoin('device_codes', (join) =>
      join.on('device_codes.device_code_hash', '=', p('hash')).on('device_codes.sweep_at', '>', p('now')),
    )
    .selectAll('device_codes')
    .select([
      'device_clients.name',
      'device_clients.enabled',
      'device_clients.type',
      'device_client_secrets.hash as secret_hash',
    ])
    .where('device_clients.client_id', '=', p('client')),
);

/** A pending code this account may still decide: the condition of claim, approve and deny. */
const decidableBy = (db: Executor, userCode: string, userId: number, now: number) =>
  db
    .updateTable('device_codes')
    .where('user_code', '=', userCode)
    .where('status', '=', 'pending')
    .where('expires_at', '>', now)
    .where((row) => row.or([row('claimed_by', 'is', null), row('claimed_by', '=', userId)]));

/** SQL of `device_codes`. */
export class DeviceCodeStore {
  readonly #database: Database<Tables>;

  constructor(database: Database<Tables>) {
    this.#database = database;
  }

  /** The record of a user_code. */
  findByUserCode(
    userCode: string,
    now: number,
    db: Executor = this.#database.kysely,
  ): Promise<DeviceCodeRow | undefined> {
    return byUserCode.first(db, { code: userCode, now });
  }

  /**
   * All data needed to evaluate a poll, in one query, because polls are the most frequent request. Returns one row per
   * active secret of the client, and none for an unknown client.
   */
  findForPoll(clientId: string, deviceCodeHash: string, now: number): Promise<PollRow[]> {
    const parameters = { client: clientId, hash: deviceCodeHash, now };
    return pollQuery.all(this.#database.kysely, parameters) as Promise<PollRow[]>;
  }

  /**
   * Counts a code that is about to be inserted against the limit of its network. The stored count is an upper bound:
   * a code that is decided, replaced or expired stays counted. At the limit, the actual number replaces the count, so
   * only codes near the limit cost more than one write, and a wrong count corrects itself.
   *
   * @returns false, and when the first pending code expires, if the network has `max` pending codes
   */
  async reserve(
    trx: Trx,
    { network, created_at: now, expires_at: endsAt }: Pick<NewDeviceCode, 'network' | 'created_at' | 'expires_at'>,
    max: number,
  ): Promise<{ readonly allowed: boolean; readonly retryAfterMs: number }> {
    if ((await raiseCount.changes(trx, { network, ends_at: endsAt, max })) === 1)
      return { allowed: true, retryAfterMs: 0 };
    // The refused write has locked the row, so no other process adds a code to this network before the commit.
    const row = await livePending.first(trx, { network, now });
    const count = Number(row?.count ?? 0);
    if (count >= max) return { allowed: false, retryAfterMs: Number(row?.first_end ?? now) - now };
    await replaceCount.changes(trx, { network, codes: count + 1 });
    return { allowed: true, retryAfterMs: 0 };
  }

  /** Returns false if the device_code or the user_code already exists. */
  async insert(code: NewDeviceCode, db: Executor = this.#database.kysely): Promise<boolean> {
    return (await insertCode.changes(db, code)) === 1;
  }

  /** Inserts an authorization code; returns its id. */
  async insertApproved(trx: Trx, code: Omit<Insertable<Tables['device_codes']>, 'id' | 'status'>): Promise<number> {
    const row = await trx
      .insertInto('device_codes')
      .values({ ...code, status: 'approved' })
      .returning('id')
      .executeTakeFirstOrThrow();
    return row.id;
  }

  /** An authorization code, by the hash of its own kind. */
  findByHash(hash: string, now: number): Promise<DeviceCodeRow | undefined> {
    return this.#database.kysely
      .selectFrom('device_codes')
      .selectAll()
      .where('device_code_hash', '=', hash)
      .where('sweep_at', '>', now)
      .executeTakeFirst();
  }

  /** Deletes pending codes of a device; ended codes stay until their retention is over. */
  async deletePendingOfDevice(trx: Trx, deviceId: string, now: number): Promise<void> {
    await deletePending.changes(trx, { device: deviceId, now });
  }

  /**
   * Reserves the code for this account; returns false if the code is no longer pending or belongs to another account.
   */
  async claim(trx: Trx, userCode: string, userId: number, now: number): Promise<boolean> {
    return wasChanged(await decidableBy(trx, userCode, userId, now).set({ claimed_by: userId }).executeTakeFirst());
  }

  /** Lets other accounts decide a pending code that this one has reserved. */
  async release(userCode: string, userId: number): Promise<void> {
    await this.#database.kysely
      .updateTable('device_codes')
      .set({ claimed_by: null })
      .where('user_code', '=', userCode)
      .where('status', '=', 'pending')
      .where('claimed_by', '=', userId)
      .execute();
  }

  /** Decides a pending code; returns its record to exactly one of several concurrent callers. */
  decide(trx: Trx, userCode: string, decision: Decision): Promise<DeviceCodeRow | undefined> {
    return decidableBy(trx, userCode, decision.user_id, decision.decided_at)
      .set({ ...decision, claimed_by: decision.user_id })
      .returningAll()
      .executeTakeFirst();
  }

  /**
   * Marks an approved code as used; returns the device's current name to exactly one of several concurrent callers. The
   * approval of a device does not expire, an authorization code does.
   */
  consumeApproved(trx: Trx, id: number, now: number): Promise<Pick<DeviceCodeRow, 'client_name'> | undefined> {
    return trx
      .updateTable('device_codes')
      .set({ status: 'used', sweep_at: now + ENDED_CODE_RETENTION_MS })
      .where('id', '=', id)
      .where('status', '=', 'approved')
      .where((row) => row.or([row('redirect_uri', 'is', null), row('expires_at', '>', now)]))
      .returning('client_name')
      .executeTakeFirst();
  }

  /** Renames the device of a code that this account approved; returns false if there is none. */
  async renameApprovedDevice(trx: Trx, id: number, userId: number, name: string): Promise<boolean> {
    return wasChanged(
      await trx
        .updateTable('device_codes')
        .set({ client_name: name })
        .where('id', '=', id)
        .where('user_id', '=', userId)
        .where('status', 'in', ['approved', 'used'])
        .executeTakeFirst(),
    );
  }

  /** Deletes an account's approvals that no device has collected. */
  async deleteApprovedOfUser(trx: Trx, userId: number): Promise<void> {
    await trx.deleteFrom('device_codes').where('user_id', '=', userId).where('status', '=', 'approved').execute();
  }

  /** Deletes uncollected approvals of one device of an account, except the one with `exceptId`. */
  async deleteApprovedOfDevice(
    trx: Trx,
    { userId, deviceId, organizationId }: DeviceContext,
    exceptId: number,
  ): Promise<void> {
    await trx
      .deleteFrom('device_codes')
      .where('user_id', '=', userId)
      .where('status', '=', 'approved')
      .where('device_id', '=', deviceId)
      .where('organization_id', organizationId === null ? 'is' : '=', organizationId)
      .where('id', '!=', exceptId)
      .execute();
  }

  async delete(trx: Trx, ids: readonly number[]): Promise<void> {
    for (const part of statementParts(ids)) await trx.deleteFrom('device_codes').where('id', 'in', part).execute();
  }

  async deleteOfClient(trx: Trx, clientId: string): Promise<void> {
    await trx.deleteFrom('device_codes').where('client_id', '=', clientId).execute();
  }

  /** Records a poll that respected the interval; returns false if it came too early. */
  async recordPoll(id: number, now: number): Promise<boolean> {
    return wasChanged(
      await this.#database.kysely
        .updateTable('device_codes')
        .set({ polled_at: now })
        .where('id', '=', id)
        .where((row) =>
          row.or([
            row('polled_at', 'is', null),
            row('polled_at', '<=', sql<number>`${now + JITTER_MS} - interval_seconds * 1000`),
          ]),
        )
        .executeTakeFirst(),
    );
  }

  /** Widens the interval by five seconds, for this and all later polls (RFC 8628 section 3.5). */
  async widenPollInterval(id: number, now: number): Promise<void> {
    await this.#database.kysely
      .updateTable('device_codes')
      .set({ polled_at: now, interval_seconds: sql<number>`interval_seconds + 5` })
      .where('id', '=', id)
      .where('interval_seconds', '<', MAX_INTERVAL_SECONDS)
      .execute();
  }

  /** Deletes a batch of the codes whose retention is over; returns the number of deleted codes. */
  async deleteExpired(now: number, limit: number): Promise<number> {
    const { kysely } = this.#database;
    const expired = kysely.selectFrom('device_codes').select('id').where('sweep_at', '<=', now).limit(limit);
    const result = await kysely.deleteFrom('device_codes').where('id', 'in', expired).executeTakeFirst();
    return Number(result.numDeletedRows);
  }

  /** Deletes the counts of networks whose codes have all expired. */
  async deleteEndedCounts(now: number): Promise<void> {
    await this.#database.kysely.deleteFrom('device_code_counts').where('ends_at', '<=', now).execute();
  }
}

/** The code in a row, or undefined if the code is unknown. */
export const toDeviceCode = (row: PollRow | undefined): DeviceCodeRow | undefined =>
  row === undefined || row.id === null ? undefined : (row as DeviceCodeRow);
