import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import { getEmail, listSessions } from '../../contract/accounts.ts';
import { listBetaApplications, listBetaFeatures } from '../../contract/beta-applications.ts';
import { listDevices } from '../../contract/device-auth.ts';
import type { EndpointPart } from '../../contract/endpoint.ts';
import * as organizationEndpoints from '../../contract/organizations.ts';
import { getTicket, listTickets, type TicketStatus } from '../../contract/tickets.ts';
import * as webhookEndpoints from '../../contract/webhooks.ts';
import { callApi } from './api-client.ts';

/** Sessions or devices per page; the default of both endpoints. */
export const SESSIONS_PAGE_SIZE = 20;

/** One page of the account's browser sessions. */
export const sessionsQuery = (page: number) =>
  queryOptions({
    queryKey: ['sessions', page],
    queryFn: ({ signal }) => callApi(listSessions, { query: { page: String(page) } }, { signal }),
  });

/** Ends each session or device of the first page until none is left. */
export async function endEach<Row>(list: () => Promise<readonly Row[]>, end: (row: Row) => unknown): Promise<void> {
  for (let rows = await list(); rows.length > 0; rows = await list()) for (const row of rows) await end(row);
}

/** E-mail address of the account and its confirmation. */
export const emailQuery = queryOptions({
  queryKey: ['email'],
  queryFn: async ({ signal }) => (await callApi(getEmail, {}, { signal })).data,
});

/** A device signed in by code. */
export type Device = EndpointPart<typeof listDevices, 'response'>['data'][number];

/** One page of the account's devices. */
export const devicesQuery = (page: number) =>
  queryOptions({
    queryKey: ['devices', page],
    queryFn: ({ signal }) => callApi(listDevices, { query: { page: String(page) } }, { signal }),
  });

/** Rows per page; also the most the service returns at once. */
export const ORGANIZATION_PAGE_SIZE = 50;
const toPageQuery = (page: number) => ({ page: String(page), page_size: String(ORGANIZATION_PAGE_SIZE) });

/** An organization with the role of the signed-in person. */
export type Organization = EndpointPart<typeof organizationEndpoints.listOrganizations, 'response'>['data'][number];
/** What an account hands over to an organization. */
export type Transfer = EndpointPart<typeof organizationEndpoints.createTransfer, 'response'>['data'];
/** A member of an organization. */
export type Member = EndpointPart<typeof organizationEndpoints.listMembers, 'response'>['data'][number];

/** An open invitation. */
export type Invitation = EndpointPart<typeof organizationEndpoints.listInvitations, 'response'>['data'][number];

/** Organizations the signed-in person belongs to. */
export const organizationsQuery = queryOptions({
  queryKey: ['organizations'],
  queryFn: async ({ signal }) =>
    (await callApi(organizationEndpoints.listOrganizations, { query: toPageQuery(1) }, { signal })).data,
});

export const organizationQuery = (slug: string) =>
  queryOptions({
    queryKey: ['organizations', slug],
    queryFn: async ({ signal }) =>
      (await callApi(organizationEndpoints.getOrganization, { params: { slug } }, { signal })).data,
  });

export const membersQuery = (slug: string, page: number) =>
  queryOptions({
    queryKey: ['organizations', slug, 'members', page],
    queryFn: ({ signal }) =>
      callApi(organizationEndpoints.listMembers, { params: { slug }, query: toPageQuery(page) }, { signal }),
    placeholderData: keepPreviousData,
  });

export const invitationsQuery = (slug: string, page: number) =>
  queryOptions({
    queryKey: ['organizations', slug, 'invitations', page],
    queryFn: ({ signal }) =>
      callApi(organizationEndpoints.listInvitations, { params: { slug }, query: toPageQuery(page) }, { signal }),
    placeholderData: keepPreviousData,
  });

/** A webhook of the account. */
export type Webhook = EndpointPart<typeof webhookEndpoints.getWebhook, 'response'>['data'];
/** One delivery of an event to a webhook. */
export type WebhookDelivery = EndpointPart<
  typeof webhookEndpoints.listDeliveries,
  'response'
>['data']['deliveries'][number];

/** An account has at most ten webhooks, so one page lists all of them. */
export const webhooksQuery = queryOptions({
  queryKey: ['webhooks'],
  queryFn: ({ signal }) => callApi(webhookEndpoints.listWebhooks, { query: {} }, { signal }),
});

/** One webhook of the account. */
export const webhookQuery = (id: string) =>
  queryOptions({
    queryKey: ['webhooks', id],
    queryFn: async ({ signal }) => (await callApi(webhookEndpoints.getWebhook, { params: { id } }, { signal })).data,
  });

/** Deliveries of a webhook, newest first. @param after `next` of the previous page */
export const deliveriesQuery = (
  id: string,
  status: webhookEndpoints.DeliveryStatus | undefined,
  after: string | undefined,
) =>
  queryOptions({
    queryKey: ['webhooks', id, 'deliveries', status ?? '', after ?? ''],
    queryFn: async ({ signal }) =>
      (await callApi(webhookEndpoints.listDeliveries, { params: { id }, query: { status, after } }, { signal })).data,
    refetchInterval: 5_000,
  });

/** Tickets or applications per page. */
export const TICKETS_PAGE_SIZE = 20;

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
      callApi(listTickets, { query: { page: String(page), page_size: String(TICKETS_PAGE_SIZE), status } }, { signal }),
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
      callApi(
        listBetaApplications,
        { query: { page: String(page), page_size: String(TICKETS_PAGE_SIZE) } },
        { signal },
      ),
  });

/** The features that accounts can apply for. */
export const betaFeaturesQuery = queryOptions({
  queryKey: ['beta', 'features'],
  queryFn: async ({ signal }) => (await callApi(listBetaFeatures, {}, { signal })).data,
});
