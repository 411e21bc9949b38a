import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import type { EndpointPart } from '../../contract/endpoint.ts';
import * as endpoints from '../../contract/organizations.ts';
import { callApi } from './api-client.ts';

/** Rows per page; also the most the service returns at once. */
export const ORGANIZATION_PAGE_SIZE = 50;
const toPageQuery = (page: number) => ({ page: String(page), page_size: String(ORGANIZATION_PAGE_SIZE) });

/** An organization with the role of the signed-in person. */
export type Organization = EndpointPart<typeof endpoints.listOrganizations, 'response'>['data'][number];
/** What an account hands over to an organization. */
export type Transfer = EndpointPart<typeof endpoints.createTransfer, 'response'>['data'];
/** A member of an organization. */
export type Member = EndpointPart<typeof endpoints.listMembers, 'response'>['data'][number];

/** An open invitation. */
export type Invitation = EndpointPart<typeof endpoints.listInvitations, 'response'>['data'][number];

/** Organizations the signed-in person belongs to. */
export const organizationsQuery = queryOptions({
  queryKey: ['organizations'],
  queryFn: async ({ signal }) =>
    (await callApi(endpoints.listOrganizations, { query: toPageQuery(1) }, { signal })).data,
});

export const organizationQuery = (slug: string) =>
  queryOptions({
    queryKey: ['organizations', slug],
    queryFn: async ({ signal }) => (await callApi(endpoints.getOrganization, { params: { slug } }, { signal })).data,
  });

export const membersQuery = (slug: string, page: number) =>
  queryOptions({
    queryKey: ['organizations', slug, 'members', page],
    queryFn: ({ signal }) => callApi(endpoints.listMembers, { params: { slug }, query: toPageQuery(page) }, { signal }),
    placeholderData: keepPreviousData,
  });

export const invitationsQuery = (slug: string, page: number) =>
  queryOptions({
    queryKey: ['organizations', slug, 'invitations', page],
    queryFn: ({ signal }) =>
      callApi(endpoints.listInvitations, { params: { slug }, query: toPageQuery(page) }, { signal }),
    placeholderData: keepPreviousData,
  });
