import type { Selectable } from 'kysely';
import type { Database } from '../platform/db/database.ts';
import { wasChanged } from '../platform/db/sql.ts';
import type { Executor, Tables, Trx } from '../tables.ts';

export type OutgoingMail = Selectable<Tables['outgoing_mails']>;

/** SQL of `outgoing_mails`. */
export class MailStore {
  readonly #database: Database<Tables>;
  constructor(database: Database<Tables>) {
    this.#database = database;
  }

  async insert(trx: Trx, mail: OutgoingMail): Promise<void> {
    await trx.insertInto('outgoing_mails').values(mail).execute();
  }

  /** Mails that wait but for their time, counted no further than `most`. */
  async countDue(now: number, most: number, db: Executor = this.#database.kysely): Promise<number> {
    const waiting = db
      .selectFrom('outgoing_mails')
      .select('id')
      .where(({ or, eb }) => or([eb('next_try_at', '<=', now), eb('tries', '>', 0)]))
      .limit(most)
      .as('waiting');
    const row = await db
      .selectFrom(waiting)
      .select(({ fn }) => fn.countAll<number>().as('count'))
      .executeTakeFirstOrThrow();
    return Number(row.count);
  }

  /** Locks a mail that is to be sent at `sendAt`. @returns false when it is gone or being sent */
  async lockScheduled(trx: Trx, id: string, sendAt: number): Promise<boolean> {
    const result = await trx
      .updateTable('outgoing_mails')
      .set({ next_try_at: sendAt })
      .where('id', '=', id)
      .where('next_try_at', '=', sendAt)
      .where('tries', '=', 0)
      .executeTakeFirst();
    return wasChanged(result);
  }

  /** Claims due mails for this process until `now + leaseMs`; each is claimed by one process. */
  claimDue(now: number, leaseMs: number, limit: number): Promise<OutgoingMail[]> {
    return this.#database.transaction((trx) =>
      trx
        .updateTable('outgoing_mails')
        .set({ next_try_at: now + leaseMs })
        .where('id', 'in', (from) =>
          from
            .selectFrom('outgoing_mails')
            .select('id')
            .where('next_try_at', '<=', now)
            .orderBy('next_try_at')
            .limit(limit)
            .forUpdate()
            .skipLocked(),
        )
        .returningAll()
        .execute(),
    );
  }

  async delete(id: string): Promise<void> {
    await this.#database.kysely.deleteFrom('outgoing_mails').where('id', '=', id).execute();
  }

  async reschedule(id: string, tries: number, at: number): Promise<void> {
    await this.#database.kysely
      .updateTable('outgoing_mails')
      .set({ tries, next_try_at: at })
      .where('id', '=', id)
      .execute();
  }
}
