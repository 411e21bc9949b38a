import * as betaApplicationsEndpoints from '../contract/beta-applications.ts';
import type { EndpointPart } from '../contract/endpoint.ts';
import { defined } from '../contract/objects.ts';
import * as endpoints from '../contract/tickets.ts';
import { fetchAllPages, type Transport } from './transport.ts';

export type TicketInfo = EndpointPart<typeof endpoints.listTickets, 'response'>['data'][number];
export type TicketWithReplies = EndpointPart<typeof endpoints.getTicket, 'response'>['data'];
export type NewTicket = EndpointPart<typeof endpoints.openTicket, 'body'>;
export type NewReply = EndpointPart<typeof endpoints.replyToTicket, 'body'>;

/** The account's support tickets. */
export class Tickets {
  readonly #transport: Transport;
  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** All of them, newest first. */
  list(status?: endpoints.TicketStatus): Promise<TicketInfo[]> {
    return fetchAllPages((query) =>
      this.#transport.call(endpoints.listTickets, { query: defined({ ...query, status }) }),
    );
  }

  /** With its replies, oldest first. */
  async get(id: number): Promise<TicketWithReplies> {
    return (await this.#transport.call(endpoints.getTicket, { params: { id: String(id) } })).data;
  }

  /** Returns its id. */
  async open(ticket: NewTicket): Promise<number> {
    return (await this.#transport.call(endpoints.openTicket, { body: ticket })).data.id;
  }

  /** Returns the id of the reply. Reopens a resolved ticket. @throws ReelgateError when the ticket is closed */
  async reply(id: number, reply: NewReply): Promise<number> {
    return (await this.#transport.call(endpoints.replyToTicket, { params: { id: String(id) }, body: reply })).data.id;
  }

  async close(id: number): Promise<void> {
    await this.#transport.call(endpoints.closeTicket, { params: { id: String(id) } });
  }
}

export type BetaApplicationInfo = EndpointPart<
  typeof betaApplicationsEndpoints.listBetaApplications,
  'response'
>['data'][number];

/** The account's applications for beta features. */
export class BetaApplications {
  readonly #transport: Transport;
  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** All of them, newest first. */
  list(): Promise<BetaApplicationInfo[]> {
    return fetchAllPages((query) => this.#transport.call(betaApplicationsEndpoints.listBetaApplications, { query }));
  }

  /** Returns its id. @throws ReelgateError while an application for the feature is pending or approved */
  async apply(feature: string, reason: string): Promise<number> {
    return (await this.#transport.call(betaApplicationsEndpoints.applyForBeta, { body: { feature, reason } })).data.id;
  }
}
