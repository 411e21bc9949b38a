import type { Insertable, Kysely, Selectable, Transaction } from 'kysely';
import { sql } from 'kysely';
import type { Page } from '../../contract/schemas.ts';
import { MOST_REPLIES, type TicketStatus } from '../../contract/tickets.ts';
import type { Tables } from '../tables.ts';
import { pageOf } from './page-store.ts';

type Executor = Kysely<Tables>;
type Trx = Transaction<Tables>;

export type TicketRow = Selectable<Tables['tickets']>;
export type ReplyRow = Selectable<Tables['ticket_replies']>;

export interface TicketFilter {
  readonly userId?: number | undefined;
  readonly status?: TicketStatus | undefined;
  readonly category?: string | undefined;
  readonly unprocessed?: boolean | undefined;
}

export async function addTicket(trx: Trx, row: Insertable<Tables['tickets']>): Promise<number> {
  return (await trx.insertInto('tickets').values(row).returning('id').executeTakeFirstOrThrow()).id;
}

/** @param owner when given, tickets of others are not there */
export const findTicket = (db: Executor, id: number, owner?: number): Promise<TicketRow | undefined> =>
  db
    .selectFrom('tickets')
    .selectAll()
    .where('id', '=', id)
    .$if(owner !== undefined, (query) => query.where('user_id', '=', owner ?? 0))
    .executeTakeFirst();

export function listTickets(db: Executor, filter: TicketFilter, page: Page) {
  const { userId, status, category, unprocessed } = filter;
  let matching = db.selectFrom('tickets');
  if (userId !== undefined) matching = matching.where('user_id', '=', userId);
  if (status !== undefined) matching = matching.where('status', '=', status);
  if (category !== undefined) matching = matching.where('category', '=', category);
  if (unprocessed === true) matching = matching.where('status', '=', 'open').where('awaits_staff', '=', 1);
  return pageOf<'tickets', TicketRow>(db, matching, page);
}

/** Open and not yet answered. */
export async function countUnprocessedTickets(db: Executor): Promise<number> {
  const { count } = await db
    .selectFrom('tickets')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('status', '=', 'open')
    .where('awaits_staff', '=', 1)
    .executeTakeFirstOrThrow();
  return Number(count);
}

/** Oldest first. */
export const listReplies = (db: Executor, ticketId: number, withInternal: boolean): Promise<ReplyRow[]> =>
  db
    .selectFrom('ticket_replies')
    .selectAll()
    .where('ticket_id', '=', ticketId)
    .$if(!withInternal, (query) => query.where('internal', '=', 0))
    .orderBy('id')
    .execute();

export interface Claim {
  readonly id: number;
  readonly owner?: number;
  readonly byStaff: boolean;
  readonly internal: boolean;
  /** Replies the writer has seen; undefined: whatever there is. */
  readonly seenReplies: number | undefined;
  readonly now: number;
}

/**
 * Makes room for one more reply and answers the ticket as it is then; undefined where it is not there, is closed, is full,
 * or has more replies than the writer has seen.
 */
export const claimReply = (trx: Trx, claim: Claim): Promise<TicketRow | undefined> =>
  trx
    .updateTable('tickets')
    .set(({ eb }) => ({ entry_count: eb('entry_count', '+', 1), updated_at: claim.now }))
    .$if(!claim.internal, (query) =>
      query.set(({ eb }) => ({ reply_count: eb('reply_count', '+', 1), awaits_staff: claim.byStaff ? 0 : 1 })),
    )
    // Whoever writes about a resolved ticket does not find it resolved.
    .$if(!claim.byStaff, (query) =>
      query.set({ status: sql<TicketStatus>`case when status = 'resolved' then 'open' else status end` }),
    )
    .where('id', '=', claim.id)
    .where('status', '!=', 'closed')
    .where('entry_count', '<', MOST_REPLIES)
    .$if(claim.owner !== undefined, (query) => query.where('user_id', '=', claim.owner ?? 0))
    .$if(claim.seenReplies !== undefined, (query) => query.where('reply_count', '=', claim.seenReplies ?? 0))
    .returningAll()
    .executeTakeFirst();

export async function addReply(trx: Trx, row: Insertable<Tables['ticket_replies']>): Promise<number> {
  return (await trx.insertInto('ticket_replies').values(row).returning('id').executeTakeFirstOrThrow()).id;
}

/** Answers whether the ticket was in the state `from`, and is in the other now. */
export async function changeStatus(
  trx: Trx,
  { id, status: from }: Pick<TicketRow, 'id' | 'status'>,
  to: TicketStatus,
  now: number,
): Promise<boolean> {
  const result = await trx
    .updateTable('tickets')
    .set({ status: to, updated_at: now })
    .where('id', '=', id)
    .where('status', '=', from)
    .executeTakeFirst();
  return result.numUpdatedRows === 1n;
}

export async function deleteTicket(trx: Trx, id: number): Promise<boolean> {
  const result = await trx.deleteFrom('tickets').where('id', '=', id).executeTakeFirst();
  await trx.deleteFrom('ticket_replies').where('ticket_id', '=', id).execute();
  return result.numDeletedRows === 1n;
}
