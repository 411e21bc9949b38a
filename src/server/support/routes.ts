import * as beta from '../../contract/beta-applications.ts';
import { done, list, ok, toPage } from '../../contract/schemas.ts';
import * as lines from '../../contract/tickets.ts';
import type { Routes } from '../platform/http/routes.ts';
import { toApplication, toReply, toTicket } from './presenter.ts';
import type { Support } from './support.ts';

/** Tickets and beta applications, as accounts see them. */
export function addSupportRoutes(routes: Routes, { tickets, applications, admit }: Support): void {
  routes.add(lines.openTicket, async ({ caller, body }) => {
    await admit(caller.userId);
    return ok({ id: await tickets.open(caller.userId, body) });
  });
  routes.add(lines.listTickets, async ({ caller, query }) => {
    const { rows, total } = await tickets.list({ userId: caller.userId, status: query.status }, toPage(query));
    return list(rows.map(toTicket), total);
  });
  routes.add(lines.getTicket, async ({ caller, params }) => {
    const { ticket, replies } = await tickets.get(Number(params.id), caller.userId);
    return ok({ ...toTicket(ticket), content: ticket.content, replies: replies.map(toReply) });
  });
  routes.add(lines.replyToTicket, async ({ caller, params, body }) => {
    await admit(caller.userId);
    return ok({ id: await tickets.reply(caller.userId, Number(params.id), body) });
  });
  routes.add(lines.closeTicket, async ({ caller, params }) => {
    await tickets.close(caller.userId, Number(params.id));
    return done();
  });

  routes.add(beta.applyForBeta, async ({ caller, body }) => {
    await admit(caller.userId);
    return ok({ id: await applications.apply(caller.userId, body) });
  });
  routes.add(beta.listBetaApplications, async ({ caller, query }) => {
    const { rows, total } = await applications.list({ userId: caller.userId, status: query.status }, toPage(query));
    return list(rows.map(toApplication), total);
  });
}
