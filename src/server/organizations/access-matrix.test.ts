import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { TestUser } from '../../../test/accounts/test-user-client.ts';
import { forEachDatabase } from '../../../test/for-each-database.ts';
import { startTestService, type TestService } from '../../../test/test-service.ts';
import { type Endpoint, isModelPolicy } from '../../contract/endpoint.ts';
import { includesRole, type OrganizationRole } from '../../contract/organization-roles.ts';

const SLUG = 'matrix';
const ROLES: readonly OrganizationRole[] = ['owner', 'admin', 'member'];
/** Would end the organization that the other calls need; organizations.test.ts calls it. */
const NOT_CALLED = new Set(['DELETE /api/organizations/:slug owner']);
/** Endless responses, which HEAD ends after the headers. */
const STREAMS = new Set(['/api/requests/stream']);

const nameOf = ({ method, path }: Endpoint): string => `${method} ${path}`;
const isOfPeople = ({ policy }: Endpoint): boolean =>
  policy !== 'public' && policy !== 'self' && !isModelPolicy(policy);

describe('every endpoint in the context of an organization', () => {
  forEachDatabase((_name, _open, freshUrl) => {
    let service: TestService;
    const people = {} as Record<OrganizationRole | 'former' | 'stranger', TestUser>;
    let formerKey: string;

    before(async () => {
      service = await startTestService(await freshUrl());
      for (const name of [...ROLES, 'former', 'stranger'] as const) people[name] = await service.signUp(`m-${name}`);
      await people.owner.ok('POST', '/api/organizations', { slug: SLUG, name: 'Matrix' });
      for (const [name, role] of [
        ['admin', 'admin'],
        ['member', 'member'],
        ['former', 'admin'],
      ] as const) {
        const invited = await people.owner.ok('POST', `/api/organizations/${SLUG}/invitations`, { role });
        await people[name].ok('POST', '/api/organizations/accept', { token: invited['token'] });
      }
      const made = await people.former.ok('POST', '/api/tokens', { name: 'k' }, { 'x-organization': SLUG });
      formerKey = String(made['key']);
      await people.owner.ok('DELETE', `/api/organizations/${SLUG}/members/${people.former.id}`);
    });
    after(() => service.stop());

    const endpoints = (): readonly Endpoint[] => service.app.http.routes.endpoints.filter(isOfPeople);

    /** Some responses are files, so the body is read as text. */
    async function call(person: TestUser, { method, path }: Endpoint, slug = SLUG) {
      const { statusCode: status, body } = await service.app.http.fastify.inject({
        method: STREAMS.has(path) ? 'HEAD' : method,
        url: path.replace(':slug', slug).replace(/:\w+/g, '1'),
        headers: {
          cookie: `session=${person.cookies.get('session')}`,
          'service-api-user': String(person.id),
          'content-type': 'application/json',
          'x-organization': slug,
        },
        ...(method === 'GET' ? {} : { payload: '{}' }),
      });
      return { status, body };
    }

    it('answers former members and strangers as if there were no such organization', async () => {
      for (const endpoint of endpoints()) {
        if (STREAMS.has(endpoint.path)) continue;
        for (const who of ['former', 'stranger'] as const) {
          const refused = await call(people[who], endpoint);
          const unknown = await call(people[who], endpoint, 'no-such-one');
          const told = `${who} ${nameOf(endpoint)} ${refused.body}`;
          assert.equal(refused.status, 404, told);
          assert.deepEqual(refused.body, unknown.body, told);
        }
      }
    });

    for (const role of ROLES) {
      it(`lets an ${role} do what the endpoint declares, and nothing of the account's own`, async () => {
        for (const endpoint of endpoints()) {
          if (NOT_CALLED.has(`${nameOf(endpoint)} ${role}`)) continue;
          const { status, body } = await call(people[role], endpoint);
          const told = `${role} ${nameOf(endpoint)}: ${status} ${body.slice(0, 300)}`;
          assert.notEqual(status, 401, told);
          assert.ok(status < 500 || status === 503, told);
          if (endpoint.organization === undefined) assert.match(`${status} ${body}`, /^400 .*X-Organization/, told);
          else if (!includesRole(role, endpoint.organization)) assert.equal(status, 403, told);
          else assert.ok(!body.includes('No such organization.'), told);
        }
      });
    }

    it('ends the key of a former member on every path of the model APIs', async () => {
      for (const endpoint of service.app.http.routes.endpoints) {
        if (!isModelPolicy(endpoint.policy)) continue;
        const { statusCode } = await service.app.http.fastify.inject({
          method: endpoint.method,
          url: endpoint.path.replace(/:\w+/g, '1').replace('*', 'x'),
          headers: { authorization: `Bearer ${formerKey}`, 'content-type': 'application/json' },
          ...(endpoint.method === 'GET' ? {} : { payload: '{}' }),
        });
        assert.ok([401, 404].includes(statusCode), `${nameOf(endpoint)}: ${statusCode}`);
      }
    });
  });
});
