import * as betaEndpoints from '../../contract/beta-applications.ts';
import { parseSort } from '../../contract/list-sorting.ts';
import { done, list, ok, toPage } from '../../contract/success-bodies-and-pagination.ts';
import * as ticketEndpoints from '../../contract/tickets.ts';
import type { RouteRegistry } from '../platform/http/route-registry.ts';
import type { Support } from './make.ts';
import { toBetaApplication, toReply, toTicket } from './presenter.ts';

/** Tickets and beta applications, as accounts see them. */
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
  routes.add(betaEndpoints.listBetaApplications, async ({ caller, query }) => {
    const { rows, total } = await betaApplications.list(
      { userId: caller.userId, status: query.status },
      toPage(query),
      parseSort(query.sort),
    );
    return list(rows.map(toBetaApplication), total);
  });
}
