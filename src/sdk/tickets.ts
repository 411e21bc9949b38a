import type { PartOf } from '../contract/endpoint.ts';
import * as lines from '../contract/tickets.ts';
import { allPages } from './pages.ts';
import type { Transport } from './transport.ts';

export type TicketInfo = PartOf<typeof lines.listTickets, 'answer'>['data'][number];
export type TicketWithReplies = PartOf<typeof lines.getTicket, 'answer'>['data'];
export type NewTicket = PartOf<typeof lines.openTicket, 'body'>;
export type NewReply = PartOf<typeof lines.replyToTicket, 'body'>;

/** Questions of the account to the people who run the service. */
export class Tickets {
  readonly #transport: Transport;
  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** All of them, newest first. */
  list(status?: lines.TicketStatus): Promise<TicketInfo[]> {
    const filter = status === undefined ? {} : { status };
    return allPages((query) => this.#transport.call(lines.listTickets, { query: { ...query, ...filter } }));
  }

  /** With its replies, oldest first. */
  async get(id: number): Promise<TicketWithReplies> {
    return (await this.#transport.call(lines.getTicket, { params: { id: String(id) } })).data;
  }

  /** Answers its id. */
  async open(ticket: NewTicket): Promise<number> {
    return (await this.#transport.call(lines.openTicket, { body: ticket })).data.id;
  }

  /** Answers the id of the reply. A resolved ticket is open again. @throws ReelgateError once it is closed */
  async reply(id: number, reply: NewReply): Promise<number> {
    return (await this.#transport.call(lines.replyToTicket, { params: { id: String(id) }, body: reply })).data.id;
  }

  async close(id: number): Promise<void> {
    await this.#transport.call(lines.closeTicket, { params: { id: String(id) } });
  }
}
