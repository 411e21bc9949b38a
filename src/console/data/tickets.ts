import { queryOptions } from '@tanstack/react-query';
import { listBetaApplications } from '../../contract/beta-applications.ts';
import type { EndpointPart } from '../../contract/endpoint.ts';
import { getTicket, listTickets, type TicketStatus } from '../../contract/tickets.ts';
import { callApi } from './api-client.ts';

export const PAGE_SIZE = 20;

export type Ticket = EndpointPart<typeof listTickets, 'response'>['data'][number];
export type TicketDetail = EndpointPart<typeof getTicket, 'response'>['data'];
export type BetaApplication = EndpointPart<typeof listBetaApplications, 'response'>['data'][number];

export const ticketsQuery = (page: number, status: TicketStatus | undefined) =>
  queryOptions({
    queryKey: ['tickets', 'list', page, status],
    queryFn: ({ signal }) =>
      callApi(listTickets, { query: { page: String(page), page_size: String(PAGE_SIZE), status } }, { signal }),
  });

export const ticketQuery = (id: string) =>
  queryOptions({
    queryKey: ['tickets', 'one', id],
    queryFn: async ({ signal }) => (await callApi(getTicket, { params: { id } }, { signal })).data,
  });

export const betaApplicationsQuery = (page: number) =>
  queryOptions({
    queryKey: ['beta', page],
    queryFn: ({ signal }) =>
      callApi(listBetaApplications, { query: { page: String(page), page_size: String(PAGE_SIZE) } }, { signal }),
  });
