import type { Page } from '../../contract/schemas.ts';
import { MOST_REPLIES, type TicketStatus } from '../../contract/tickets.ts';
import type { Audit, AuditEntry } from '../accounts/audit.ts';
import type { Standing } from '../accounts/standing.ts';
import type { AdminNotifier, Notifier } from '../notifications/notifier.ts';
import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/db/database.ts';
import { AppError, notExist } from '../platform/errors.ts';
import type { Tables } from '../tables.ts';
import { answered, opened, statusSet, writtenOn } from './ticket-notices.ts';
import {
  addReply,
  addTicket,
  changeStatus,
  claimReply,
  deleteTicket,
  findTicket,
  listReplies,
  listTickets,
  type ReplyRow,
  type TicketFilter,
  type TicketRow,
} from './ticket-store.ts';

/** Who changes something, for the audit log. */
export type Actor = Required<Pick<AuditEntry, 'actorId' | 'address' | 'requestId'>>;

/** Whether an account has a task of this name. */
export type OwnsTask = (userId: number, taskId: string) => Promise<boolean>;

export interface NewTicket {
  readonly title: string;
  readonly content: string;
  readonly category?: string | undefined;
  readonly task_id?: string | undefined;
}
export interface NewReply {
  readonly content: string;
  readonly task_id?: string | undefined;
  /** Replies its writer has seen. */
  readonly seen_replies?: number | undefined;
}

export interface TicketWithReplies {
  readonly ticket: TicketRow;
  readonly replies: readonly ReplyRow[];
}

/** Questions of accounts to the operators. */
export interface Tickets {
  list(filter: TicketFilter, page: Page): Promise<{ rows: TicketRow[]; total: number }>;
  /** @param owner whose it must be; undefined: an administrator asks and sees notes too @throws not_exist */
  get(id: number, owner?: number): Promise<TicketWithReplies>;
  /** @throws not_exist (the task) */
  open(userId: number, ticket: NewTicket): Promise<number>;
  /** @throws not_exist (ticket, task), ticket_closed, ticket_full, ticket_moved_on */
  reply(userId: number, id: number, reply: NewReply): Promise<number>;
  /** @throws not_exist, ticket_closed */
  close(userId: number, id: number): Promise<void>;
  /**
   * Whoever asks wants an answer, so the rank of the asker does not matter here.
   *
   * @throws not_exist, ticket_closed, ticket_full, ticket_moved_on
   */
  answer(actor: Actor, id: number, reply: NewReply & { readonly internal?: boolean | undefined }): Promise<number>;
  /** @throws not_exist, rank_too_low, ticket_moved_on */
  setStatus(actor: Actor, id: number, status: TicketStatus): Promise<void>;
  /** @throws not_exist, rank_too_low */
  remove(actor: Actor, id: number): Promise<void>;
}

export interface TicketParts {
  readonly database: Database<Tables>;
  readonly clock: Clock;
  readonly audit: Audit;
  readonly notifier: Notifier & AdminNotifier;
  readonly ownsTask: OwnsTask;
  readonly standing: Pick<Standing, 'assertManages'>;
}

export function makeTickets({ database, clock, audit, notifier, ownsTask, standing }: TicketParts): Tickets {
  type Trx = Parameters<typeof addTicket>[0];

  const existing = async (db: Parameters<typeof findTicket>[0], id: number, owner?: number): Promise<TicketRow> => {
    const row = await findTicket(db, id, owner);
    if (row === undefined) throw notExist('ticket');
    return row;
  };

  const assertTask = async (userId: number, taskId = ''): Promise<string> => {
    if (taskId !== '' && !(await ownsTask(userId, taskId))) throw notExist('task');
    return taskId;
  };

  /** The ticket with room for the reply; the conditional write decided, reading only finds out why not. */
  const claimed = async (trx: Trx, claim: Parameters<typeof claimReply>[1]): Promise<TicketRow> => {
    const row = await claimReply(trx, claim);
    if (row !== undefined) return row;
    const { status, entry_count } = await existing(trx, claim.id, claim.owner);
    if (status === 'closed') throw new AppError('ticket_closed');
    if (entry_count >= MOST_REPLIES) throw new AppError('ticket_full', { params: { most: MOST_REPLIES } });
    throw new AppError('ticket_moved_on');
  };

  return {
    list: (filter, page) => listTickets(database.kysely, filter, page),
    async get(id, owner) {
      const ticket = await existing(database.kysely, id, owner);
      return { ticket, replies: await listReplies(database.kysely, id, owner === undefined) };
    },
    async open(userId, { title, content, category = '', task_id }) {
      const taskId = await assertTask(userId, task_id);
      return database.transaction(async (trx) => {
        const now = clock.now();
        const row = { user_id: userId, title, content, category, task_id: taskId, created_at: now, updated_at: now };
        const begun = { status: 'open', awaits_staff: 1, reply_count: 0, entry_count: 0 } as const;
        const id = await addTicket(trx, { ...row, ...begun });
        await notifier.notifyAdministrators(trx, opened({ id, user_id: userId, title, content }));
        return id;
      });
    },
    async reply(userId, id, { content, task_id, seen_replies }) {
      const taskId = await assertTask(userId, task_id);
      return database.transaction(async (trx) => {
        const now = clock.now();
        const claim = { id, owner: userId, byStaff: false, internal: false, seenReplies: seen_replies, now };
        const ticket = await claimed(trx, claim);
        const entry = { ticket_id: id, author_id: userId, content, task_id: taskId, created_at: now };
        const replyId = await addReply(trx, { ...entry, by_staff: 0, internal: 0 });
        await notifier.notifyAdministrators(trx, writtenOn(ticket, content));
        return replyId;
      });
    },
    close: (userId, id) =>
      database.transaction(async (trx) => {
        const ticket = await existing(trx, id, userId);
        if (ticket.status === 'closed') throw new AppError('ticket_closed');
        // Between reading and writing an administrator may have changed it.
        if (!(await changeStatus(trx, ticket, 'closed', clock.now()))) throw new AppError('ticket_moved_on');
      }),
    answer: (actor, id, { content, internal = false, seen_replies }) =>
      database.transaction(async (trx) => {
        const now = clock.now();
        const ticket = await claimed(trx, { id, byStaff: true, internal, seenReplies: seen_replies, now });
        const entry = { ticket_id: id, author_id: actor.actorId, content, task_id: '', created_at: now };
        const replyId = await addReply(trx, { ...entry, by_staff: 1, internal: internal ? 1 : 0 });
        const after = { reply: replyId, content, internal };
        await audit.record(trx, { ...actor, action: 'ticket.reply', target: `ticket:${id}`, after });
        if (!internal) await notifier.notify(trx, answered(ticket, content));
        return replyId;
      }),
    setStatus: (actor, id, status) =>
      database.transaction(async (trx) => {
        const ticket = await existing(trx, id);
        await standing.assertManages(trx, actor.actorId, ticket.user_id);
        if (ticket.status === status) return;
        if (!(await changeStatus(trx, ticket, status, clock.now()))) throw new AppError('ticket_moved_on');
        const told = { action: 'ticket.update', target: `ticket:${id}` };
        await audit.record(trx, { ...actor, ...told, before: { status: ticket.status }, after: { status } });
        await notifier.notify(trx, statusSet(ticket, status));
      }),
    remove: (actor, id) =>
      database.transaction(async (trx) => {
        const before = await existing(trx, id);
        await standing.assertManages(trx, actor.actorId, before.user_id);
        if (!(await deleteTicket(trx, id))) throw notExist('ticket');
        await audit.record(trx, { ...actor, action: 'ticket.delete', target: `ticket:${id}`, before });
      }),
  };
}
