import Type from 'typebox';
import { endpoint } from './endpoint.ts';
import { Done, IdParam, ListOf, Ok, PageQuery, SortBy } from './responses.ts';

/** States of a ticket, spelled identically in database, API, SDK and console. */
export const TICKET_STATUS = ['open', 'in_progress', 'resolved', 'closed'] as const;
/** State of a ticket. */
export type TicketStatus = (typeof TICKET_STATUS)[number];
/** Who has to reply next; `nobody`: the ticket is resolved or closed. */
export const TICKET_WAITING_FOR = ['staff', 'user', 'nobody'] as const;
/** Party whose reply is pending. */
export type TicketWaitingFor = (typeof TICKET_WAITING_FOR)[number];

/** Maximum number of replies and notes per ticket; after that the user has to open a new one. */
export const MAX_REPLIES = 200;

const Id = Type.Integer();
const Time = Type.Integer({ description: 'Unix seconds.' });
/** Requires at least one character that is not white space. */
const Title = Type.String({ minLength: 1, maxLength: 200, pattern: '\\S' });
/** Maximum code points of a ticket's text, a reply or a note. */
export const MAX_TICKET_TEXT = 10_000;
const Content = Type.String({ minLength: 1, maxLength: MAX_TICKET_TEXT, pattern: '\\S' });
const Category = Type.String({ maxLength: 64, description: 'Any word; empty: none.' });
const TaskId = Type.String({ maxLength: 200, description: 'A video of the account it is about; empty: none.' });
const SeenReplies = Type.Integer({
  minimum: 0,
  maximum: MAX_REPLIES,
  description: '`reply_count` as last read: refused when someone has replied since.',
});

const row = {
  id: Id,
  title: Type.String(),
  category: Type.String(),
  status: Type.Enum([...TICKET_STATUS]),
  waiting_for: Type.Enum([...TICKET_WAITING_FOR]),
  task_id: Type.String(),
  reply_count: Type.Integer(),
  created_time: Time,
  updated_time: Time,
};
const reply = {
  id: Id,
  by_staff: Type.Boolean(),
  content: Type.String(),
  task_id: Type.String(),
  created_time: Time,
};
export const Ticket = Type.Object(row);
export const TicketReply = Type.Object(reply);
const WithReplies = Type.Object({
  ...row,
  content: Type.String(),
  replies: Type.Array(TicketReply, { description: 'Oldest first.' }),
});
const Made = Ok(Type.Object({ id: Id }));

const line = { tag: 'tickets', policy: 'account', envelope: 'api' } as const;

export const openTicket = endpoint({
  ...line,
  method: 'POST',
  path: '/api/tickets',
  summary: 'Open a ticket',
  body: Type.Object({
    title: Title,
    content: Content,
    category: Type.Optional(Category),
    task_id: Type.Optional(TaskId),
  }),
  response: Made,
});
export const TICKET_SORTS = ['created', 'updated', 'replies'] as const;
const sort = SortBy(TICKET_SORTS, 'Default -created: the newest first.');

export const listTickets = endpoint({
  ...line,
  method: 'GET',
  path: '/api/tickets',
  summary: 'Tickets of the account',
  query: Type.Object({ ...PageQuery, sort, status: Type.Optional(Type.Enum([...TICKET_STATUS])) }),
  response: ListOf(Ticket),
});
export const getTicket = endpoint({
  ...line,
  method: 'GET',
  path: '/api/tickets/:id',
  summary: 'One ticket of the account with its replies',
  params: IdParam,
  response: Ok(WithReplies),
});
export const replyToTicket = endpoint({
  ...line,
  method: 'POST',
  path: '/api/tickets/:id/replies',
  summary: 'Reply to a ticket of the account; a resolved one opens again',
  params: IdParam,
  body: Type.Object({
    content: Content,
    task_id: Type.Optional(TaskId),
    seen_replies: Type.Optional(SeenReplies),
  }),
  response: Made,
});
export const closeTicket = endpoint({
  ...line,
  method: 'POST',
  path: '/api/tickets/:id/close',
  summary: 'Close a ticket of the account',
  params: IdParam,
  response: Done,
});

const admin = { tag: 'tickets', policy: 'admin', envelope: 'api' } as const;
const adminRow = { ...row, user_id: Id };
export const AdminTicket = Type.Object(adminRow);
const AdminReply = Type.Object({
  ...reply,
  author_id: Id,
  internal: Type.Boolean({ description: 'A note among administrators; the account never sees it.' }),
});

export const adminListTickets = endpoint({
  ...admin,
  method: 'GET',
  path: '/api/admin/tickets',
  summary: 'Tickets of all users; the newest 10,000 that match',
  query: Type.Object({
    ...PageQuery,
    sort,
    status: Type.Optional(Type.Enum([...TICKET_STATUS])),
    user_id: Type.Optional(IdParam.properties.id),
    category: Type.Optional(Category),
    unprocessed: Type.Optional(Type.Literal('true', { description: 'Open, and not yet answered.' })),
  }),
  response: ListOf(AdminTicket),
});
export const adminGetTicket = endpoint({
  ...admin,
  method: 'GET',
  path: '/api/admin/tickets/:id',
  summary: 'One ticket with replies and notes',
  params: IdParam,
  response: Ok(Type.Object({ ...adminRow, content: Type.String(), replies: Type.Array(AdminReply) })),
});
export const adminReplyToTicket = endpoint({
  ...admin,
  method: 'POST',
  path: '/api/admin/tickets/:id/replies',
  summary: 'Reply to a ticket, or leave a note for administrators',
  params: IdParam,
  body: Type.Object({
    content: Content,
    internal: Type.Optional(Type.Boolean()),
    seen_replies: Type.Optional(SeenReplies),
  }),
  response: Made,
});
export const adminUpdateTicket = endpoint({
  ...admin,
  method: 'PUT',
  path: '/api/admin/tickets/:id',
  summary: 'Set the status of a ticket and notify its author',
  params: IdParam,
  body: Type.Object({ status: Type.Enum([...TICKET_STATUS]) }),
  response: Done,
});
export const adminDeleteTicket = endpoint({
  ...admin,
  method: 'DELETE',
  path: '/api/admin/tickets/:id',
  summary: 'Delete a ticket and its replies',
  params: IdParam,
  response: Done,
});
