import { queryOptions } from '@tanstack/react-query';
import type { EndpointPart } from '../../contract/endpoint.ts';
import * as endpoints from '../../contract/organizations.ts';
import { callApi } from './api-client.ts';

const PAGE = { page: '1', page_size: '50' } as const;

/** An organization with the role of the signed-in person. */
export type Organization = EndpointPart<typeof endpoints.listOrganizations, 'response'>['data'][number];
/** What an account hands over to an organization. */
export type Transfer = EndpointPart<typeof endpoints.createTransfer, 'response'>['data'];
/** A member of an organization. */
export type Member = EndpointPart<typeof endpoints.listMembers, 'response'>['data'][number];

/** Organizations the signed-in person belongs to. */
export const organizationsQuery = queryOptions({
  queryKey: ['organizations'],
  queryFn: async ({ signal }) => (await callApi(endpoints.listOrganizations, { query: PAGE }, { signal })).data,
});

export const organizationQuery = (slug: string) =>
  queryOptions({
    queryKey: ['organizations', slug],
    queryFn: async ({ signal }) => (await callApi(endpoints.getOrganization, { params: { slug } }, { signal })).data,
  });

export const membersQuery = (slug: string) =>
  queryOptions({
    queryKey: ['organizations', slug, 'members'],
    queryFn: async ({ signal }) =>
      (await callApi(endpoints.listMembers, { params: { slug }, query: PAGE }, { signal })).data,
  });

export const invitationsQuery = (slug: string) =>
  queryOptions({
    queryKey: ['organizations', slug, 'invitations'],
    queryFn: async ({ signal }) =>
      (await callApi(endpoints.listInvitations, { params: { slug }, query: PAGE }, { signal })).data,
  });
