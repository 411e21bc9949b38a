import type { Static } from 'typebox';
import * as betaEndpoints from '../../contract/beta-applications.ts';
import { done, list, ok, parseSort, toPage } from '../../contract/responses.ts';
import type { TicketWaitingFor } from '../../contract/tickets.ts';
import * as ticketEndpoints from '../../contract/tickets.ts';
import { toSeconds } from '../../contract/time-units.ts';
import { type RouteRegistry, toActor } from '../platform/http/route-registry.ts';
import type { BetaApplicationRow } from './beta-applications.ts';
import type { Support } from './module.ts';
import type { ReplyRow, TicketRow } from './tickets.ts';

/** Registers the accounts' endpoints of tickets and beta applications. */
export function addSupportRoutes(routes: RouteRegistry, { tickets, betaApplications, assertMayWrite }: Support): void {
  routes.add(ticketEndpoints.openTicket, async ({ caller, body }) => {
    await assertMayWrite(caller.userId);
    return ok({ id: await tickets.open(caller.userId, body) });
  });
  routes.add(ticketEndpoints.listTickets, async ({ caller, query }) => {
    const { rows, total } = await tickets.list(
      { userId: caller.userId, status: query.status },
      toPage(query),
      parseSort(query.sort),
    );
    return list(rows.map(toTicket), total);
  });
  routes.add(ticketEndpoints.getTicket, async ({ caller, params }) => {
    const { ticket, replies } = await tickets.get(Number(params.id), caller.userId);
    return ok({ ...toTicket(ticket), content: ticket.content, replies: replies.map(toReply) });
  });
  routes.add(ticketEndpoints.replyToTicket, async ({ caller, params, body }) => {
    await assertMayWrite(caller.userId);
    return ok({ id: await tickets.reply(caller.userId, Number(params.id), body) });
  });
  routes.add(ticketEndpoints.closeTicket, async ({ caller, params }) => {
    await tickets.close(caller.userId, Number(params.id));
    return done();
  });

  routes.add(betaEndpoints.applyForBeta, async ({ caller, body }) => {
    await assertMayWrite(caller.userId);
    return ok({ id: await betaApplications.apply(caller.userId, body) });
  });
  routes.add(betaEndpoints.listBetaFeatures, async () => ok(betaApplications.features()));
  routes.add(betaEndpoints.listBetaApplications, async ({ caller, query }) => {
    const { rows, total } = await betaApplications.list(
      { userId: caller.userId, status: query.status },
      toPage(query),
      parseSort(query.sort),
    );
    return list(rows.map(toBetaApplication), total);
  });
}

type SupportServices = Pick<Support, 'tickets' | 'betaApplications'>;

/** Registers the administrators' endpoints of all tickets and beta applications. */
export function addSupportAdminRoutes(routes: RouteRegistry, { tickets, betaApplications }: SupportServices): void {
  routes.add(ticketEndpoints.adminListTickets, async ({ query }) => {
    const { status, user_id, category, unprocessed } = query;
    const filter = { status, category, userId: toId(user_id), unprocessed: unprocessed === 'true' };
    const { rows, total } = await tickets.list(filter, toPage(query), parseSort(query.sort));
    return list(rows.map(toTicket), total);
  });
  routes.add(ticketEndpoints.adminGetTicket, async ({ params }) => {
    const { ticket, replies } = await tickets.get(Number(params.id));
    const shown = replies.map((row) => ({ ...toReply(row), author_id: row.author_id, internal: row.internal === 1 }));
    return ok({ ...toTicket(ticket), content: ticket.content, replies: shown });
  });
  routes.add(ticketEndpoints.adminReplyToTicket, async ({ caller, params, body, request }) =>
    ok({ id: await tickets.replyAsStaff(toActor(caller, request), Number(params.id), body) }),
  );
  routes.add(ticketEndpoints.adminUpdateTicket, async ({ caller, params, body, request }) => {
    await tickets.setStatus(toActor(caller, request), Number(params.id), body.status);
    return done();
  });
  routes.add(ticketEndpoints.adminDeleteTicket, async ({ caller, params, request }) => {
    await tickets.remove(toActor(caller, request), Number(params.id));
    return done();
  });

  routes.add(betaEndpoints.adminListBetaApplications, async ({ query }) => {
    const { status, feature, user_id } = query;
    const { rows, total } = await betaApplications.list(
      { status, feature, userId: toId(user_id) },
      toPage(query),
      parseSort(query.sort),
    );
    return list(rows.map(toBetaApplication), total);
  });
  routes.add(betaEndpoints.adminGetBetaApplication, async ({ params }) =>
    ok(toBetaApplication(await betaApplications.get(Number(params.id)))),
  );
  routes.add(betaEndpoints.adminApproveBetaApplication, async ({ caller, params, body, request }) => {
    await betaApplications.decide(toActor(caller, request), Number(params.id), 'approved', body.note);
    return done();
  });
  routes.add(betaEndpoints.adminRejectBetaApplication, async ({ caller, params, body, request }) => {
    await betaApplications.decide(toActor(caller, request), Number(params.id), 'rejected', body.note);
    return done();
  });
  routes.add(betaEndpoints.adminDeleteBetaApplication, async ({ caller, params, request }) => {
    await betaApplications.remove(toActor(caller, request), Number(params.id));
    return done();
  });
}

const toId = (text: string | undefined): number | undefined => (text === undefined ? undefined : Number(text));

function waitingFor({ status, awaits_staff }: TicketRow): TicketWaitingFor {
  if (status === 'resolved' || status === 'closed') return 'nobody';
  return awaits_staff === 1 ? 'staff' : 'user';
}

/** A ticket; fields for administrators are dropped by response schemas that do not name them. */
const toTicket = (row: TicketRow): Static<typeof ticketEndpoints.AdminTicket> => ({
  id: row.id,
  user_id: row.user_id,
  title: row.title,
  category: row.category,
  status: row.status,
  waiting_for: waitingFor(row),
  task_id: row.task_id,
  reply_count: row.reply_count,
  created_time: toSeconds(row.created_at),
  updated_time: toSeconds(row.updated_at),
});

const toReply = (row: ReplyRow): Static<typeof ticketEndpoints.TicketReply> => ({
  id: row.id,
  by_staff: row.by_staff === 1,
  content: row.content,
  task_id: row.task_id,
  created_time: toSeconds(row.created_at),
});

const toBetaApplication = (row: BetaApplicationRow): Static<typeof betaEndpoints.AdminBetaApplication> => ({
  id: row.id,
  user_id: row.user_id,
  feature: row.feature,
  reason: row.reason,
  status: row.status,
  note: row.note,
  decided_by: row.decided_by,
  created_time: toSeconds(row.created_at),
  decided_time: row.decided_at === null ? null : toSeconds(row.decided_at),
});
