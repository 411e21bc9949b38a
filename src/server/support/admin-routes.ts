import * as beta from '../../contract/beta-applications.ts';
import { done, list, ok, toPage } from '../../contract/schemas.ts';
import * as lines from '../../contract/tickets.ts';
import type { AccountCaller } from '../platform/http/caller.ts';
import type { RequestContext } from '../platform/http/request-context.ts';
import type { Routes } from '../platform/http/routes.ts';
import { toApplication, toReply, toTicket } from './presenter.ts';
import type { Support } from './support.ts';
import type { Actor } from './tickets.ts';

type Served = Pick<Support, 'tickets' | 'applications'>;

/** Tickets and beta applications of everybody, for administrators. */
export function addSupportAdminRoutes(routes: Routes, { tickets, applications }: Served): void {
  routes.add(lines.adminListTickets, async ({ query }) => {
    const { status, user_id, category, unprocessed } = query;
    const filter = { status, category, userId: toId(user_id), unprocessed: unprocessed === 'true' };
    const { rows, total } = await tickets.list(filter, toPage(query));
    return list(rows.map(toTicket), total);
  });
  routes.add(lines.adminGetTicket, async ({ params }) => {
    const { ticket, replies } = await tickets.get(Number(params.id));
    const shown = replies.map((row) => ({ ...toReply(row), author_id: row.author_id, internal: row.internal === 1 }));
    return ok({ ...toTicket(ticket), content: ticket.content, replies: shown });
  });
  routes.add(lines.adminReplyToTicket, async ({ caller, params, body, request }) =>
    ok({ id: await tickets.answer(actorOf(caller, request), Number(params.id), body) }),
  );
  routes.add(lines.adminChangeTicket, async ({ caller, params, body, request }) => {
    await tickets.setStatus(actorOf(caller, request), Number(params.id), body.status);
    return done();
  });
  routes.add(lines.adminDeleteTicket, async ({ caller, params, request }) => {
    await tickets.remove(actorOf(caller, request), Number(params.id));
    return done();
  });

  routes.add(beta.adminListBetaApplications, async ({ query }) => {
    const { status, feature, user_id } = query;
    const { rows, total } = await applications.list({ status, feature, userId: toId(user_id) }, toPage(query));
    return list(rows.map(toApplication), total);
  });
  routes.add(beta.adminGetBetaApplication, async ({ params }) =>
    ok(toApplication(await applications.get(Number(params.id)))),
  );
  routes.add(beta.adminApproveBeta, async ({ caller, params, body, request }) => {
    await applications.decide(actorOf(caller, request), Number(params.id), 'approved', body.note);
    return done();
  });
  routes.add(beta.adminRejectBeta, async ({ caller, params, body, request }) => {
    await applications.decide(actorOf(caller, request), Number(params.id), 'rejected', body.note);
    return done();
  });
  routes.add(beta.adminDeleteBetaApplication, async ({ caller, params, request }) => {
    await applications.remove(actorOf(caller, request), Number(params.id));
    return done();
  });
}

const toId = (text: string | undefined): number | undefined => (text === undefined ? undefined : Number(text));

const actorOf = (caller: AccountCaller, { address, id }: RequestContext): Actor => ({
  actorId: caller.userId,
  address,
  requestId: id,
});
