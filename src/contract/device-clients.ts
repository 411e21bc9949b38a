import Type from 'typebox';
import { endpoint } from './endpoint.ts';
import { OAUTH_SCOPES } from './oauth.ts';
import { Done, ListOf, Ok, PageQuery, SortBy } from './responses.ts';

/** A `public` client has no secret, since a program in its users' hands could not keep one. */
export const CLIENT_TYPES = ['confidential', 'public'] as const;
export type ClientType = (typeof CLIENT_TYPES)[number];

const ClientIdParam = Type.Object({ id: Type.String({ pattern: '^[A-Za-z0-9._-]{1,64}$' }) });
const ClientName = Type.String({ minLength: 1, maxLength: 100 });
const Changeable = {
  type: Type.Enum([...CLIENT_TYPES], { description: 'public: no secret; only the authorization code grant with PKCE' }),
  redirect_uris: Type.Array(Type.String({ minLength: 1, maxLength: 500 }), {
    maxItems: 20,
    description: 'where codes may be sent; compared character by character, except the port of a loopback address',
  }),
  scopes: Type.Union([Type.Array(Type.Enum([...OAUTH_SCOPES]), { maxItems: OAUTH_SCOPES.length }), Type.Null()], {
    description: 'scopes it may request with the authorization code grant; null: all',
  }),
};
const Client = Type.Object({
  id: Type.String({ description: 'the client_id' }),
  name: Type.String(),
  enabled: Type.Boolean(),
  ...Changeable,
  secrets: Type.Array(Type.Object({ id: Type.Integer(), hint: Type.String(), created_time: Type.Integer() }), {
    description: 'active secrets; the values are never shown again',
  }),
  devices: Type.Integer({ description: 'signed-in devices' }),
  created_time: Type.Integer(),
});

export const CLIENT_SORTS = ['name', 'devices', 'created'] as const;

export const adminListDeviceClients = endpoint({
  method: 'GET',
  path: '/api/admin/device-clients',
  summary: 'Official clients of device authorization',
  tag: 'admin',
  policy: 'admin',
  envelope: 'api',
  query: Type.Object({ ...PageQuery, sort: SortBy(CLIENT_SORTS, 'Default: by client_id.') }),
  response: ListOf(Client),
});

export const adminCreateDeviceClient = endpoint({
  method: 'POST',
  path: '/api/admin/device-clients',
  summary: 'Create an official client; its secret is shown once',
  tag: 'admin',
  policy: 'admin',
  envelope: 'api',
  secret: true,
  body: Type.Object({
    client_id: Type.Optional(Type.String({ pattern: '^[A-Za-z0-9._-]{3,64}$' })),
    name: ClientName,
    ...Type.Partial(Type.Object(Changeable)).properties,
  }),
  response: Ok(
    Type.Object({
      id: Type.String(),
      client_id: Type.String(),
      client_secret: Type.Optional(Type.String({ description: 'of a confidential client' })),
    }),
  ),
});

export const adminGetDeviceClient = endpoint({
  method: 'GET',
  path: '/api/admin/device-clients/:id',
  summary: 'One official client',
  tag: 'admin',
  policy: 'admin',
  envelope: 'api',
  params: ClientIdParam,
  response: Ok(Client),
});

export const adminUpdateDeviceClient = endpoint({
  method: 'PUT',
  path: '/api/admin/device-clients/:id',
  summary:
    'Change a client or disable it: no new codes, polls or refreshes from then on; making it public ends its secrets',
  tag: 'admin',
  policy: 'admin',
  envelope: 'api',
  params: ClientIdParam,
  body: Type.Object({
    name: Type.Optional(ClientName),
    enabled: Type.Optional(Type.Boolean()),
    ...Type.Partial(Type.Object(Changeable)).properties,
  }),
  response: Done,
});

export const adminDeleteDeviceClient = endpoint({
  method: 'DELETE',
  path: '/api/admin/device-clients/:id',
  summary: 'Delete a client and end all its device sign-ins',
  tag: 'admin',
  policy: 'admin',
  envelope: 'api',
  params: ClientIdParam,
  response: Done,
});

export const adminAddClientSecret = endpoint({
  method: 'POST',
  path: '/api/admin/device-clients/:id/secrets',
  summary: 'Add a second active secret, for rotation; shown once',
  tag: 'admin',
  policy: 'admin',
  envelope: 'api',
  secret: true,
  params: ClientIdParam,
  response: Ok(Type.Object({ id: Type.Integer(), client_secret: Type.String() })),
});

export const adminDeleteClientSecret = endpoint({
  method: 'DELETE',
  path: '/api/admin/device-clients/:id/secrets/:secret',
  summary: 'Revoke one of two secrets',
  tag: 'admin',
  policy: 'admin',
  envelope: 'api',
  params: Type.Object({
    id: Type.String({ pattern: '^[A-Za-z0-9._-]{1,64}$' }),
    secret: Type.String({ pattern: '^[1-9][0-9]{0,15}$' }),
  }),
  response: Done,
});
