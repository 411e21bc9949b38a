import type { Page } from '../../contract/success-bodies-and-pagination.ts';
import { MAX_REPLIES, type TicketStatus } from '../../contract/tickets.ts';
import type { AccountAccess } from '../accounts/account-store.ts';
import type { AuditLog } from '../accounts/audit-log.ts';
import type { AdminNotifier, Notifier } from '../notifications/notifier-types.ts';
import { AppError, notExistError } from '../platform/app-error.ts';
import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/db/database.ts';
import type { Actor } from '../platform/http/request-context.ts';
import type { Executor, Tables, Trx } from '../tables.ts';
import { newTicketNotice, ownerReplyNotice, staffReplyNotice, statusChangeNotice } from './build-ticket-notices.ts';
import type { ReplyClaim, ReplyRow, TicketFilter, TicketRow, TicketSort, TicketStore } from './ticket-store.ts';

export interface NewTicket {
  readonly title: string;
  readonly content: string;
  readonly category?: string | undefined;
  readonly task_id?: string | undefined;
}
export interface NewReply {
  readonly content: string;
  readonly task_id?: string | undefined;
  /** How many replies its writer has seen. */
  readonly seen_replies?: number | undefined;
}
export interface StaffReply extends NewReply {
  /** A note among administrators, which the owner never sees. */
  readonly internal?: boolean | undefined;
}

export interface TicketWithReplies {
  readonly ticket: TicketRow;
  readonly replies: readonly ReplyRow[];
}

export interface TicketServiceDependencies {
  readonly database: Database<Tables>;
  readonly tickets: TicketStore;
  readonly clock: Clock;
  readonly auditLog: AuditLog;
  readonly notifier: Notifier & AdminNotifier;
  readonly access: Pick<AccountAccess, 'assertCanManage'>;
  /** Whether an account has a task of this id. */
  readonly ownsTask: (userId: number, taskId: string) => Promise<boolean>;
}

/** Questions of accounts to the operators. */
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
   * @param owner whose the ticket must be; undefined: an administrator reads it, who sees internal notes too
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
   * A reply of the owner.
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
      // An administrator may have changed it since it was read.
      if (!(await tickets.changeStatus(trx, ticket, 'closed', clock.now()))) throw new AppError('ticket_moved_on');
    });
  }

  /**
   * A reply or internal note of an administrator. Administrators may reply to anybody, whatever the owner's role.
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
