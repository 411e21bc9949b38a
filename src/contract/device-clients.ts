import Type from 'typebox';
import { endpoint } from './endpoint.ts';
import { Done, ListOf, Ok, PageQuery, SortBy } from './responses.ts';

const ClientIdParam = Type.Object({ id: Type.String({ pattern: '^[A-Za-z0-9._-]{1,64}$' }) });
const ClientName = Type.String({ minLength: 1, maxLength: 100 });
const Client = Type.Object({
  id: Type.String({ description: 'the client_id' }),
  name: Type.String(),
  enabled: Type.Boolean(),
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
  summary: 'Make an official client; its secret is shown once',
  tag: 'admin',
  policy: 'admin',
  envelope: 'api',
  secret: true,
  body: Type.Object({
    client_id: Type.Optional(Type.String({ pattern: '^[A-Za-z0-9._-]{3,64}$' })),
    name: ClientName,
  }),
  response: Ok(Type.Object({ id: Type.String(), client_id: Type.String(), client_secret: Type.String() })),
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
  summary: 'Rename a client or switch it off: no new codes, polls or refreshes from then on',
  tag: 'admin',
  policy: 'admin',
  envelope: 'api',
  params: ClientIdParam,
  body: Type.Object({ name: Type.Optional(ClientName), enabled: Type.Optional(Type.Boolean()) }),
  response: Done,
});

export const adminDeleteDeviceClient = endpoint({
  method: 'DELETE',
  path: '/api/admin/device-clients/:id',
  summary: 'Remove a client and end all its device sign-ins',
  tag: 'admin',
  policy: 'admin',
  envelope: 'api',
  params: ClientIdParam,
  response: Done,
});

export const adminAddDeviceClientSecret = endpoint({
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

export const adminDeleteDeviceClientSecret = endpoint({
  method: 'DELETE',
  path: '/api/admin/device-clients/:id/secrets/:secret',
  summary: 'Retire one of two secrets',
  tag: 'admin',
  policy: 'admin',
  envelope: 'api',
  params: Type.Object({
    id: Type.String({ pattern: '^[A-Za-z0-9._-]{1,64}$' }),
    secret: Type.String({ pattern: '^[1-9][0-9]{0,15}$' }),
  }),
  response: Done,
});
