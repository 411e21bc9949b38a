import { queryOptions } from '@tanstack/react-query';
import { listBetaApplications, listBetaFeatures } from '../../contract/beta-applications.ts';
import type { EndpointPart } from '../../contract/endpoint.ts';
import { getTicket, listTickets, type TicketStatus } from '../../contract/tickets.ts';
import { callApi } from './api-client.ts';

/** Tickets or applications per page. */
export const PAGE_SIZE = 20;

/** A ticket as listed. */
export type Ticket = EndpointPart<typeof listTickets, 'response'>['data'][number];
/** A ticket with its replies. */
export type TicketDetail = EndpointPart<typeof getTicket, 'response'>['data'];
/** A beta application of the account. */
export type BetaApplication = EndpointPart<typeof listBetaApplications, 'response'>['data'][number];

/** A feature in beta. */
export type BetaFeature = EndpointPart<typeof listBetaFeatures, 'response'>['data'][number];

/** One page of the account's tickets. @param status undefined: all */
export const ticketsQuery = (page: number, status: TicketStatus | undefined) =>
  queryOptions({
    queryKey: ['tickets', 'list', page, status],
    queryFn: ({ signal }) =>
      callApi(listTickets, { query: { page: String(page), page_size: String(PAGE_SIZE), status } }, { signal }),
  });

/** One ticket with its replies. */
export const ticketQuery = (id: string) =>
  queryOptions({
    queryKey: ['tickets', 'one', id],
    queryFn: async ({ signal }) => (await callApi(getTicket, { params: { id } }, { signal })).data,
  });

/** One page of the account's beta applications. */
export const betaApplicationsQuery = (page: number) =>
  queryOptions({
    queryKey: ['beta', page],
    queryFn: ({ signal }) =>
      callApi(listBetaApplications, { query: { page: String(page), page_size: String(PAGE_SIZE) } }, { signal }),
  });

/** The features that accounts can apply for. */
export const betaFeaturesQuery = queryOptions({
  queryKey: ['beta', 'features'],
  queryFn: async ({ signal }) => (await callApi(listBetaFeatures, {}, { signal })).data,
});
