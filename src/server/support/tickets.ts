import { type Insertable, type Selectable, sql } from 'kysely';
import type { Page, Sort } from '../../contract/responses.ts';
import { MAX_REPLIES, type TICKET_SORTS, type TicketStatus } from '../../contract/tickets.ts';
import type { AccountAccess } from '../accounts/account-store.ts';
import type { AuditLog } from '../accounts/audit-log.ts';
import type { AdminNotice, AdminNotifier, Bilingual, Notice, Notifier } from '../notifications/notifier.ts';
import { AppError, notExistError } from '../platform/app-error.ts';
import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/db/database.ts';
import { wasChanged } from '../platform/db/sql.ts';
import type { Actor } from '../platform/http/route-registry.ts';
import { truncateCodePoints } from '../platform/text.ts';
import type { Executor, Tables, Trx } from '../tables.ts';
import { listMatching, toMatchOrder } from './paged-list.ts';

interface NewTicket {
  readonly title: string;
  readonly content: string;
  readonly category?: string;
  readonly task_id?: string;
}
interface NewReply {
  readonly content: string;
  readonly task_id?: string;
  /** Number of replies the writer has seen. */
  readonly seen_replies?: number;
}
interface StaffReply extends NewReply {
  /** A note among administrators, never shown to the owner. */
  readonly internal?: boolean;
}

interface TicketWithReplies {
  readonly ticket: TicketRow;
  readonly replies: readonly ReplyRow[];
}

/** Dependencies of {@link TicketService}. */
export interface TicketServiceDependencies {
  readonly database: Database<Tables>;
  readonly tickets: TicketStore;
  readonly clock: Clock;
  readonly auditLog: AuditLog;
  readonly notifier: Notifier & AdminNotifier;
  readonly access: Pick<AccountAccess, 'assertCanManage'>;
  /** Whether an account has a task with this id. */
  readonly ownsTask: (userId: number, taskId: string) => Promise<boolean>;
}

/** Accounts' questions to the operators. */
export class TicketService {
  readonly #dependencies: TicketServiceDependencies;
  constructor(dependencies: TicketServiceDependencies) {
    this.#dependencies = dependencies;
  }

  /** Newest first. */
  list(filter: TicketFilter, page: Page, sort?: TicketSort): Promise<{ rows: TicketRow[]; total: number }> {
    return this.#dependencies.tickets.list(filter, page, sort);
  }

  /**
   * @param owner the required owner of the ticket; undefined: an administrator reads, who also sees internal notes
   * @throws AppError `not_exist`
   */
  async get(id: number, owner?: number): Promise<TicketWithReplies> {
    const ticket = await this.#get(id, owner);
    return { ticket, replies: await this.#dependencies.tickets.listReplies(id, owner === undefined) };
  }

  /**
   * @returns the new id
   * @throws AppError `not_exist` for a task that is not the account's
   */
  async open(userId: number, { title, content, category = '', task_id }: NewTicket): Promise<number> {
    const { database, tickets, notifier, clock } = this.#dependencies;
    const taskId = await this.#assertOwnTask(userId, task_id);
    return database.transaction(async (trx) => {
      const now = clock.now();
      const id = await tickets.insert(trx, {
        user_id: userId,
        title,
        content,
        category,
        task_id: taskId,
        status: 'open',
        awaits_staff: 1,
        reply_count: 0,
        entry_count: 0,
        created_at: now,
        updated_at: now,
      });
      await notifier.notifyAdministrators(trx, newTicketNotice({ id, user_id: userId, title, content }));
      return id;
    });
  }

  /**
   * Adds a reply of the owner.
   * @returns the id of the reply
   * @throws AppError `not_exist` (ticket or task), `ticket_closed`, `ticket_full`, `ticket_moved_on`
   */
  async reply(userId: number, id: number, { content, task_id, seen_replies }: NewReply): Promise<number> {
    const { database, tickets, notifier, clock } = this.#dependencies;
    const taskId = await this.#assertOwnTask(userId, task_id);
    return database.transaction(async (trx) => {
      const now = clock.now();
      const claim = { id, owner: userId, byStaff: false, internal: false, seenReplies: seen_replies, now };
      const ticket = await this.#claimReply(trx, claim);
      const entry = { ticket_id: id, author_id: userId, content, task_id: taskId, created_at: now };
      const replyId = await tickets.insertReply(trx, { ...entry, by_staff: 0, internal: 0 });
      await notifier.notifyAdministrators(trx, ownerReplyNotice(ticket, content));
      return replyId;
    });
  }

  /** @throws AppError `not_exist`, `ticket_closed`, `ticket_moved_on` */
  close(userId: number, id: number): Promise<void> {
    const { database, tickets, clock } = this.#dependencies;
    return database.transaction(async (trx) => {
      const ticket = await this.#get(id, userId, trx);
      if (ticket.status === 'closed') throw new AppError('ticket_closed');
      // An administrator may have changed the ticket since it was read.
      if (!(await tickets.changeStatus(trx, ticket, 'closed', clock.now()))) throw new AppError('ticket_moved_on');
    });
  }

  /**
   * Adds an administrator's reply or internal note. Administrators may reply to any owner, whatever their role.
   * @returns the id of the reply
   * @throws AppError `not_exist`, `ticket_closed`, `ticket_full`, `ticket_moved_on`
   */
  replyAsStaff(actor: Actor, id: number, { content, internal = false, seen_replies }: StaffReply): Promise<number> {
    const { database, tickets, notifier, auditLog, clock } = this.#dependencies;
    return database.transaction(async (trx) => {
      const now = clock.now();
      const ticket = await this.#claimReply(trx, { id, byStaff: true, internal, seenReplies: seen_replies, now });
      const entry = { ticket_id: id, author_id: actor.actorId, content, task_id: '', created_at: now };
      const replyId = await tickets.insertReply(trx, { ...entry, by_staff: 1, internal: internal ? 1 : 0 });
      await auditLog.record(trx, {
        ...actor,
        action: 'ticket.reply',
        target: `ticket:${id}`,
        after: { reply: replyId, content, internal },
      });
      if (!internal) await notifier.notify(trx, staffReplyNotice(ticket, content));
      return replyId;
    });
  }

  /** @throws AppError `not_exist`, `rank_too_low`, `ticket_moved_on` */
  setStatus(actor: Actor, id: number, status: TicketStatus): Promise<void> {
    const { database, tickets, access, notifier, auditLog, clock } = this.#dependencies;
    return database.transaction(async (trx) => {
      const ticket = await this.#get(id, undefined, trx);
      await access.assertCanManage(trx, actor.actorId, ticket.user_id);
      if (ticket.status === status) return;
      if (!(await tickets.changeStatus(trx, ticket, status, clock.now()))) throw new AppError('ticket_moved_on');
      await auditLog.record(trx, {
        ...actor,
        action: 'ticket.update',
        target: `ticket:${id}`,
        before: { status: ticket.status },
        after: { status },
      });
      await notifier.notify(trx, statusChangeNotice(ticket, status));
    });
  }

  /** @throws AppError `not_exist`, `rank_too_low` */
  remove(actor: Actor, id: number): Promise<void> {
    const { database, tickets, access, auditLog } = this.#dependencies;
    return database.transaction(async (trx) => {
      const before = await this.#get(id, undefined, trx);
      await access.assertCanManage(trx, actor.actorId, before.user_id);
      if (!(await tickets.delete(trx, id))) throw notExistError('ticket');
      await auditLog.record(trx, { ...actor, action: 'ticket.delete', target: `ticket:${id}`, before });
    });
  }

  async #get(id: number, owner?: number, db?: Executor): Promise<TicketRow> {
    const row = await this.#dependencies.tickets.find(id, owner, db);
    if (row === undefined) throw notExistError('ticket');
    return row;
  }

  async #assertOwnTask(userId: number, taskId = ''): Promise<string> {
    if (taskId !== '' && !(await this.#dependencies.ownsTask(userId, taskId))) throw notExistError('task');
    return taskId;
  }

  /** The conditional write decides; the ticket is read afterwards only to report why it failed. */
  async #claimReply(trx: Trx, claim: ReplyClaim): Promise<TicketRow> {
    const row = await this.#dependencies.tickets.claimReply(trx, claim);
    if (row !== undefined) return row;
    const { status, entry_count } = await this.#get(claim.id, claim.owner, trx);
    if (status === 'closed') throw new AppError('ticket_closed');
    if (entry_count >= MAX_REPLIES) throw new AppError('ticket_full', { params: { most: MAX_REPLIES } });
    throw new AppError('ticket_moved_on');
  }
}

/** A ticket with its counters. */
export type TicketRow = Selectable<Tables['tickets']>;
/** A reply or an internal note. */
export type ReplyRow = Selectable<Tables['ticket_replies']>;

interface TicketFilter {
  readonly userId?: number;
  readonly status?: TicketStatus;
  readonly category?: string;
  /** Limits the list to open tickets whose owner wrote last. */
  readonly unprocessed?: boolean;
}

interface ReplyClaim {
  readonly id: number;
  /** The required owner of the ticket; undefined: any. */
  readonly owner?: number;
  readonly byStaff: boolean;
  /** Whether this is a note among administrators. */
  readonly internal: boolean;
  /** Number of replies the writer has seen; undefined: not checked. */
  readonly seenReplies: number | undefined;
  /** Unix milliseconds. */
  readonly now: number;
}

type TicketSort = Sort<(typeof TICKET_SORTS)[number]>;
const SORT_COLUMNS = { created: 'id', updated: 'updated_at', replies: 'reply_count' } as const;

/** SQL of `tickets` and `ticket_replies`. */
export class TicketStore {
  readonly #database: Database<Tables>;
  constructor(database: Database<Tables>) {
    this.#database = database;
  }

  async insert(trx: Trx, row: Insertable<Tables['tickets']>): Promise<number> {
    return (await trx.insertInto('tickets').values(row).returning('id').executeTakeFirstOrThrow()).id;
  }

  /** @param owner if given, tickets of other accounts are not found */
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

  /** Number of open tickets whose owner wrote last. */
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
   * Counts one more reply, and reopens a resolved ticket if its owner writes.
   * @returns the updated ticket; undefined if it does not exist, is closed, has the maximum number of replies, or has
   *   more replies than the writer has seen
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

  /** @returns false if the ticket no longer had the status of the row that was read */
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

  /** Deletes a ticket with its replies. @returns whether the ticket existed */
  async delete(trx: Trx, id: number): Promise<boolean> {
    const deleted = wasChanged(await trx.deleteFrom('tickets').where('id', '=', id).executeTakeFirst());
    await trx.deleteFrom('ticket_replies').where('ticket_id', '=', id).execute();
    return deleted;
  }
}

/** Keeps a payload below 20 KB, as Standard Webhooks recommends. */
const MAX_EVENT_TEXT = 2_000;

const inBothLanguages = (text: string): Bilingual => ({ en: text, 'zh-CN': text });

const STATUS_TEXT: Readonly<Record<TicketStatus, Bilingual>> = {
  open: { en: 'open', 'zh-CN': '待处理' },
  in_progress: { en: 'in progress', 'zh-CN': '处理中' },
  resolved: { en: 'resolved', 'zh-CN': '已解决' },
  closed: { en: 'closed', 'zh-CN': '已关闭' },
};

const forOwner = ({ id, user_id }: Pick<TicketRow, 'id' | 'user_id'>) =>
  ({ userId: user_id, topic: 'ticket', targetUrl: `/tickets/${id}`, relatedId: id }) as const;

/** Notifies the owner of an administrator's reply. */
const staffReplyNotice = (ticket: TicketRow, content: string): Notice => ({
  ...forOwner(ticket),
  type: 'ticket_reply',
  title: { en: `Reply to “${ticket.title}”`, 'zh-CN': `“${ticket.title}”有新回复` },
  content: inBothLanguages(content),
  event: {
    type: 'ticket.replied',
    subject: `ticket:${ticket.id}`,
    data: { id: ticket.id, title: ticket.title, content: truncateCodePoints(content, MAX_EVENT_TEXT) },
  },
});

/** Notifies the owner of a status change by an administrator. */
const statusChangeNotice = (ticket: TicketRow, to: TicketStatus): Notice => {
  const [before, after] = [STATUS_TEXT[ticket.status], STATUS_TEXT[to]];
  return {
    ...forOwner(ticket),
    type: 'ticket_status',
    title: { en: `“${ticket.title}” is ${after.en}`, 'zh-CN': `“${ticket.title}”${after['zh-CN']}` },
    content: {
      en: `Ticket ${ticket.id} was ${before.en} and is ${after.en} now.`,
      'zh-CN': `工单 ${ticket.id} 的状态由“${before['zh-CN']}”变为“${after['zh-CN']}”。`,
    },
  };
};

const forStaff = ({ id, user_id }: Pick<TicketRow, 'id' | 'user_id'>) =>
  ({
    type: 'admin_ticket',
    topic: 'ticket',
    exceptUserId: user_id,
    targetUrl: `/admin/tickets/${id}`,
    relatedId: id,
  }) as const;

/** Notifies administrators of a new ticket. */
const newTicketNotice = (ticket: Pick<TicketRow, 'id' | 'user_id' | 'title' | 'content'>): AdminNotice => ({
  ...forStaff(ticket),
  title: { en: `New ticket: ${ticket.title}`, 'zh-CN': `新工单：${ticket.title}` },
  content: inBothLanguages(ticket.content),
});

/** Notifies administrators of the owner's reply. */
const ownerReplyNotice = (ticket: TicketRow, content: string): AdminNotice => ({
  ...forStaff(ticket),
  title: {
    en: `New reply in ticket ${ticket.id}: ${ticket.title}`,
    'zh-CN': `工单 ${ticket.id} 有补充：${ticket.title}`,
  },
  content: inBothLanguages(content),
});
