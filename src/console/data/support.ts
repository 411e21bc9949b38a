import { queryOptions } from '@tanstack/react-query';
import { listBetaApplications } from '../../contract/beta-applications.ts';
import type { PartOf } from '../../contract/endpoint.ts';
import { getTicket, listTickets, type TicketStatus } from '../../contract/tickets.ts';
import { call } from './client.ts';

export const PAGE_SIZE = 20;

export type TicketRow = PartOf<typeof listTickets, 'answer'>['data'][number];
export type TicketDetail = PartOf<typeof getTicket, 'answer'>['data'];
export type BetaRow = PartOf<typeof listBetaApplications, 'answer'>['data'][number];

export const ticketsQuery = (page: number, status: TicketStatus | undefined) =>
  queryOptions({
    queryKey: ['tickets', 'list', page, status],
    queryFn: ({ signal }) =>
      call(
        listTickets,
        { query: { page: String(page), page_size: String(PAGE_SIZE), ...(status === undefined ? {} : { status }) } },
        { signal },
      ),
  });

export const ticketQuery = (id: string) =>
  queryOptions({
    queryKey: ['tickets', 'one', id],
    queryFn: async ({ signal }) => (await call(getTicket, { params: { id } }, { signal })).data,
  });

export const betaQuery = (page: number) =>
  queryOptions({
    queryKey: ['beta', page],
    queryFn: ({ signal }) =>
      call(listBetaApplications, { query: { page: String(page), page_size: String(PAGE_SIZE) } }, { signal }),
  });
