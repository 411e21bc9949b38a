import { type Insertable, type Selectable, sql } from 'kysely';
import type { Sort } from '../../contract/list-sorting.ts';
import type { Page } from '../../contract/success-bodies-and-pagination.ts';
import { MAX_REPLIES, type TICKET_SORTS, type TicketStatus } from '../../contract/tickets.ts';
import type { Database } from '../platform/db/database.ts';
import { wasChanged } from '../platform/db/sql.ts';
import type { Executor, Tables, Trx } from '../tables.ts';
import { listMatching, toMatchOrder } from './paged-list-store.ts';

export type TicketRow = Selectable<Tables['tickets']>;
export type ReplyRow = Selectable<Tables['ticket_replies']>;

export interface TicketFilter {
  readonly userId?: number | undefined;
  readonly status?: TicketStatus | undefined;
  readonly category?: string | undefined;
  /** Open, and the owner wrote last. */
  readonly unprocessed?: boolean | undefined;
}

export interface ReplyClaim {
  readonly id: number;
  /** Whose the ticket must be; undefined: anybody's. */
  readonly owner?: number | undefined;
  readonly byStaff: boolean;
  /** A note among administrators. */
  readonly internal: boolean;
  /** How many replies the writer has seen; undefined: not checked. */
  readonly seenReplies: number | undefined;
  /** Unix milliseconds. */
  readonly now: number;
}

export type TicketSort = Sort<(typeof TICKET_SORTS)[number]>;
const SORT_COLUMNS = { created: 'id', updated: 'updated_at', replies: 'reply_count' } as const;

export class TicketStore {
  readonly #database: Database<Tables>;
  constructor(database: Database<Tables>) {
    this.#database = database;
  }

  async insert(trx: Trx, row: Insertable<Tables['tickets']>): Promise<number> {
    return (await trx.insertInto('tickets').values(row).returning('id').executeTakeFirstOrThrow()).id;
  }

  /** @param owner when given, a ticket of somebody else is not found */
  find(id: number, owner?: number, db: Executor = this.#database.kysely): Promise<TicketRow | undefined> {
    return db
      .selectFrom('tickets')
      .selectAll()
      .where('id', '=', id)
      .$if(owner !== undefined, (query) => query.where('user_id', '=', owner ?? 0))
      .executeTakeFirst();
  }

  /** Newest first unless sorted. */
  list(filter: TicketFilter, page: Page, sort?: TicketSort): Promise<{ rows: TicketRow[]; total: number }> {
    const { kysely } = this.#database;
    const { userId, status, category, unprocessed } = filter;
    let matching = kysely.selectFrom('tickets');
    if (userId !== undefined) matching = matching.where('user_id', '=', userId);
    if (status !== undefined) matching = matching.where('status', '=', status);
    if (category !== undefined) matching = matching.where('category', '=', category);
    if (unprocessed === true) matching = matching.where('status', '=', 'open').where('awaits_staff', '=', 1);
    return listMatching<'tickets', TicketRow>(kysely, matching, page, toMatchOrder(SORT_COLUMNS, sort));
  }

  /** Tickets that are open and whose owner wrote last. */
  async countUnprocessed(): Promise<number> {
    const { count } = await this.#database.kysely
      .selectFrom('tickets')
      .select(({ fn }) => fn.countAll<number>().as('count'))
      .where('status', '=', 'open')
      .where('awaits_staff', '=', 1)
      .executeTakeFirstOrThrow();
    return Number(count);
  }

  /** Oldest first. */
  listReplies(ticketId: number, withInternal: boolean): Promise<ReplyRow[]> {
    return this.#database.kysely
      .selectFrom('ticket_replies')
      .selectAll()
      .where('ticket_id', '=', ticketId)
      .$if(!withInternal, (query) => query.where('internal', '=', 0))
      .orderBy('id')
      .execute();
  }

  /**
   * Counts one more reply, and reopens a resolved ticket when its owner writes.
   * @returns the ticket afterwards; undefined when it does not exist, is closed, has as many replies as it may, or has more
   *   replies than the writer has seen
   */
  claimReply(trx: Trx, claim: ReplyClaim): Promise<TicketRow | undefined> {
    return trx
      .updateTable('tickets')
      .set(({ eb }) => ({ entry_count: eb('entry_count', '+', 1), updated_at: claim.now }))
      .$if(!claim.internal, (query) =>
        query.set(({ eb }) => ({ reply_count: eb('reply_count', '+', 1), awaits_staff: claim.byStaff ? 0 : 1 })),
      )
      .$if(!claim.byStaff, (query) =>
        query.set({ status: sql<TicketStatus>`case when status = 'resolved' then 'open' else status end` }),
      )
      .where('id', '=', claim.id)
      .where('status', '!=', 'closed')
      .where('entry_count', '<', MAX_REPLIES)
      .$if(claim.owner !== undefined, (query) => query.where('user_id', '=', claim.owner ?? 0))
      .$if(claim.seenReplies !== undefined, (query) => query.where('reply_count', '=', claim.seenReplies ?? 0))
      .returningAll()
      .executeTakeFirst();
  }

  async insertReply(trx: Trx, row: Insertable<Tables['ticket_replies']>): Promise<number> {
    return (await trx.insertInto('ticket_replies').values(row).returning('id').executeTakeFirstOrThrow()).id;
  }

  /** @returns whether the ticket still had the status of the row that was read, and has the new one now */
  async changeStatus(
    trx: Trx,
    { id, status: from }: Pick<TicketRow, 'id' | 'status'>,
    to: TicketStatus,
    now: number,
  ): Promise<boolean> {
    return wasChanged(
      await trx
        .updateTable('tickets')
        .set({ status: to, updated_at: now })
        .where('id', '=', id)
        .where('status', '=', from)
        .executeTakeFirst(),
    );
  }

  /** Deletes a ticket with its replies. @returns whether it existed */
  async delete(trx: Trx, id: number): Promise<boolean> {
    const deleted = wasChanged(await trx.deleteFrom('tickets').where('id', '=', id).executeTakeFirst());
    await trx.deleteFrom('ticket_replies').where('ticket_id', '=', id).execute();
    return deleted;
  }
}
