import * as betaEndpoints from '../../contract/beta-applications.ts';
import { parseSort } from '../../contract/list-sorting.ts';
import { done, list, ok, toPage } from '../../contract/success-bodies-and-pagination.ts';
import * as ticketEndpoints from '../../contract/tickets.ts';
import { toActor } from '../platform/http/request-context.ts';
import type { RouteRegistry } from '../platform/http/route-registry.ts';
import type { Support } from './make.ts';
import { toBetaApplication, toReply, toTicket } from './presenter.ts';

type SupportServices = Pick<Support, 'tickets' | 'betaApplications'>;

/** Tickets and beta applications of everybody, for administrators. */
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
