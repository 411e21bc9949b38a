import * as betaEndpoints from '../contract/beta-applications.ts';
import type { EndpointPart } from '../contract/endpoint.ts';
import * as endpoints from '../contract/tickets.ts';
import { fetchAllPages, type Transport } from './transport.ts';

/** A ticket in a list. */
export type TicketInfo = EndpointPart<typeof endpoints.listTickets, 'response'>['data'][number];
/** A ticket with its replies. */
export type TicketWithReplies = EndpointPart<typeof endpoints.getTicket, 'response'>['data'];
/** A ticket to open. */
export type NewTicket = EndpointPart<typeof endpoints.openTicket, 'body'>;
/** A reply to a ticket. */
export type NewReply = EndpointPart<typeof endpoints.replyToTicket, 'body'>;

/** The account's support tickets. */
export class Tickets {
  readonly #transport: Transport;
  /** @internal */
  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** All tickets, newest first. @throws ReelgateError `unauthorized` */
  list(status?: endpoints.TicketStatus): Promise<TicketInfo[]> {
    return fetchAllPages((query) => this.#transport.call(endpoints.listTickets, { query: { ...query, status } }));
  }

  /** One ticket with its replies, oldest first. @throws ReelgateError `refused` (not_exist) */
  async get(id: number): Promise<TicketWithReplies> {
    return (await this.#transport.call(endpoints.getTicket, { params: { id: String(id) } })).data;
  }

  /** Opens a ticket and returns its id. @throws ReelgateError `refused` (ticket_full) */
  async open(ticket: NewTicket): Promise<number> {
    return (await this.#transport.call(endpoints.openTicket, { body: ticket })).data.id;
  }

  /** Adds a reply and returns its id; reopens a resolved ticket. @throws ReelgateError if the ticket is closed */
  async reply(id: number, reply: NewReply): Promise<number> {
    return (await this.#transport.call(endpoints.replyToTicket, { params: { id: String(id) }, body: reply })).data.id;
  }

  /** Closes a ticket. @throws ReelgateError `refused` (ticket_closed, not_exist) */
  async close(id: number): Promise<void> {
    await this.#transport.call(endpoints.closeTicket, { params: { id: String(id) } });
  }
}

/** An application for a beta feature. */
export type BetaApplicationInfo = EndpointPart<typeof betaEndpoints.listBetaApplications, 'response'>['data'][number];

/** A feature in beta with its description. */
export type BetaFeatureInfo = EndpointPart<typeof betaEndpoints.listBetaFeatures, 'response'>['data'][number];

/** The account's applications for beta features. */
export class BetaApplications {
  readonly #transport: Transport;
  /** @internal */
  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Features that the account can apply for. @throws ReelgateError `unauthorized` */
  async features(): Promise<BetaFeatureInfo[]> {
    return (await this.#transport.call(betaEndpoints.listBetaFeatures, {})).data;
  }

  /** All applications, newest first. @throws ReelgateError `unauthorized` */
  list(): Promise<BetaApplicationInfo[]> {
    return fetchAllPages((query) => this.#transport.call(betaEndpoints.listBetaApplications, { query }));
  }

  /**
   * Applies for a feature and returns the application's id.
   *
   * @throws ReelgateError while an application for the feature is pending or approved
   */
  async apply(feature: string, reason: string): Promise<number> {
    return (await this.#transport.call(betaEndpoints.applyForBeta, { body: { feature, reason } })).data.id;
  }
}
