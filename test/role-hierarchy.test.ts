import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { formatMessage } from '../src/contract/messages/format-message.ts';
import type { TestUser } from './accounts/test-user-client.ts';
import { forEachDatabase } from './for-each-database.ts';
import { startTestService, type TestService } from './test-service.ts';

/** Everything an account has that administrators can act on. */
interface AccountResources {
  readonly id: number;
  readonly ticket: number;
  readonly application: number;
  readonly session: number;
}
type Call = readonly ['POST' | 'PUT' | 'DELETE', string, object?];
interface AdminAction {
  /** The endpoint as the contract lists it. */
  readonly endpoint: string;
  readonly what: string;
  readonly call: (whose: AccountResources) => Call;
}

const user = '/api/admin/users/:id';
const ticket = '/api/admin/tickets/:id';
const beta = '/api/admin/beta-applications/:id';
const change = (body: object): AdminAction => ({
  endpoint: `PUT ${user}`,
  what: `sets ${JSON.stringify(body)}`,
  call: ({ id }) => ['PUT', `/api/admin/users/${id}`, body],
});
const activate = (package_code: string): AdminAction => ({
  endpoint: 'POST /api/user/package/activate',
  what: `gives the package ${package_code}`,
  call: ({ id }) => ['POST', '/api/user/package/activate', { user_id: id, package_code }],
});
const decide = (verdict: 'approve' | 'reject'): AdminAction => ({
  endpoint: `POST ${beta}/${verdict}`,
  what: `${verdict}s an application`,
  call: ({ application }) => ['POST', `/api/admin/beta-applications/${application}/${verdict}`, { note: 'so be it' }],
});

/** Every action that changes an account's resources; removing the account itself comes last. */
const ACTIONS_ON_ACCOUNTS: readonly AdminAction[] = [
  ...[{ quota_delta: 5 }, { quota: 7 }, { status: 2 }, { display_name: 'Other' }, { password: 'set-by-another-1' }].map(
    change,
  ),
  change({ role: 'user' }),
  activate('gold'),
  activate('none'),
  {
    endpoint: `PUT ${ticket}`,
    what: 'closes a ticket',
    call: (whose) => ['PUT', `/api/admin/tickets/${whose.ticket}`, { status: 'closed' }],
  },
  {
    endpoint: `DELETE ${ticket}`,
    what: 'removes a ticket',
    call: (whose) => ['DELETE', `/api/admin/tickets/${whose.ticket}`],
  },
  {
    endpoint: `DELETE ${user}/sessions/:session`,
    what: 'ends a session',
    call: (whose) => ['DELETE', `/api/admin/users/${whose.id}/sessions/${whose.session}`],
  },
  {
    endpoint: `POST ${user}/password-reset`,
    what: 'makes a link for a new password',
    call: ({ id }) => ['POST', `/api/admin/users/${id}/password-reset`],
  },
  {
    endpoint: `DELETE ${user}/second-factors`,
    what: 'resets the second factors',
    call: ({ id }) => ['DELETE', `/api/admin/users/${id}/second-factors`],
  },
  decide('approve'),
  decide('reject'),
  {
    endpoint: `DELETE ${beta}`,
    what: 'removes an application',
    call: ({ application }) => ['DELETE', `/api/admin/beta-applications/${application}`],
  },
  {
    endpoint: `DELETE ${user}`,
    what: 'removes the account',
    call: ({ id }) => ['DELETE', `/api/admin/users/${id}`],
  },
];

/** Administrative changes that affect no account. A reply to a ticket is sent to its author but changes no account. */
const ACTIONS_ON_NO_ACCOUNT: readonly string[] = [
  'POST /api/admin/users',
  'POST /api/admin/tickets/:id/replies',
  ...['package-cards', 'announcements', 'channels'].flatMap((name) => [
    `POST /api/admin/${name}`,
    `PUT /api/admin/${name}/:id`,
    `DELETE /api/admin/${name}/:id`,
  ]),
  'POST /api/admin/channels/:id/test',
  'POST /api/admin/channels/:id/models',
  'POST /api/admin/channels/:id/reconcile',
  'PUT /api/admin/settings/:name',
  // Its route declares root itself, and asks for a second proof.
  'PUT /api/admin/settings/CLAUDE_CODE_MANAGED_SETTINGS',
  'POST /api/admin/models',
  'PUT /api/admin/models/:id',
  'DELETE /api/admin/models/:id',
  'POST /api/admin/redemption-codes',
  'PUT /api/admin/redemption-codes/:id',
  'DELETE /api/admin/redemption-codes/:id',
  'POST /api/admin/redemption-codes/void',
  'POST /api/admin/identity-providers/test',
  'POST /api/admin/mail/test',
  'PUT /api/admin/organizations/:id',
  'POST /api/admin/organizations/:id/close',
  'POST /api/admin/organizations/:id/restore',
  'POST /api/admin/device-clients',
  'PUT /api/admin/device-clients/:id',
  'DELETE /api/admin/device-clients/:id',
  'POST /api/admin/device-clients/:id/secrets',
  'DELETE /api/admin/device-clients/:id/secrets/:secret',
];

/** Changes to sign-ins of accounts, whose ranks are tested in src/server/claude-code/sign-in.test.ts. */
const ACTIONS_ON_SIGN_INS: readonly string[] = ['DELETE /api/admin/claude-code/:id'];

describe('an administrator who is not root', () => {
  forEachDatabase((_name, _open, freshUrl) => {
    let service: TestService;
    let root: TestUser;
    let actor: TestUser;
    let count = 0;

    before(async () => {
      service = await startTestService(await freshUrl());
      root = service.root;
      actor = await staff();
      const card = { package_code: 'gold', name: 'Gold', level: 3, duration_days: 30 };
      await root.ok('POST', '/api/admin/package-cards', card);
    });
    after(() => service.stop());

    async function staff(): Promise<TestUser> {
      const name = `staff-${count++}`;
      const person = await service.signUp(name);
      await root.ok('PUT', `/api/admin/users/${person.id}`, { role: 'admin' });
      await person.logIn(name);
      return person;
    }

    async function fill(person: TestUser): Promise<AccountResources> {
      const asked = await person.ok<{ id: number }>('POST', '/api/tickets', { title: 'Stuck', content: 'It hangs.' });
      const application = { feature: `beta-${count++}`, reason: 'Films.' };
      const applied = await person.ok<{ id: number }>('POST', '/api/beta-applications', application);
      const [session] = await person.ok<{ id: number }[]>('GET', '/api/user/sessions');
      assert.ok(session);
      return { id: person.id, ticket: asked.id, application: applied.id, session: session.id };
    }

    const paths = ['/api/user/self', '/api/user/package', '/api/tickets', '/api/beta-applications', '/api/tokens'];
    const snapshot = async (person: TestUser): Promise<unknown[]> => {
      const seen = [];
      for (const path of paths) seen.push((await person.send('GET', path)).body);
      return seen;
    };

    const refused = async (whose: AccountResources): Promise<void> => {
      for (const { what, call } of ACTIONS_ON_ACCOUNTS)
        assert.equal(await actor.fails(403, ...call(whose)), formatMessage('rank_too_low', 'en'), what);
    };

    it('T43: changes nothing that belongs to a colleague, to root or to himself', async () => {
      for (const person of [await staff(), root, actor]) {
        const whose = await fill(person);
        await root.ok('POST', '/api/user/package/activate', { user_id: person.id, package_code: 'gold' });
        const before = await snapshot(person);
        await refused(whose);
        assert.deepEqual(await snapshot(person), before);
      }
    });

    it('keeps respecting the rank of a disabled colleague', async () => {
      const colleague = await staff();
      const whose = await fill(colleague);
      await root.ok('PUT', `/api/admin/users/${colleague.id}`, { status: 2 });
      for (const { what, call, endpoint } of ACTIONS_ON_ACCOUNTS) {
        const { body } = await actor.send(...call(whose));
        assert.equal(body.success, false, what);
        // A disabled account cannot receive a plan, not even from root.
        if (!endpoint.endsWith('/activate')) assert.equal(body.message, formatMessage('rank_too_low', 'en'), what);
      }
    });

    it('can perform every action on ordinary accounts', async () => {
      for (const { what, call } of ACTIONS_ON_ACCOUNTS) {
        const { status, body } = await actor.send(...call(await fill(await service.signUp(`person-${count++}`))));
        assert.deepEqual([status, body.success], [200, true], `${what}: ${JSON.stringify(body)}`);
      }
    });

    it('can be overruled by root everywhere', async () => {
      for (const { what, call } of ACTIONS_ON_ACCOUNTS) {
        const { status, body } = await root.send(...call(await fill(await staff())));
        assert.deepEqual([status, body.success], [200, true], `${what}: ${JSON.stringify(body)}`);
      }
    });

    it('answers the tickets of every account', async () => {
      for (const person of [await staff(), root]) {
        const whose = await fill(person);
        await actor.ok('POST', `/api/admin/tickets/${whose.ticket}/replies`, { content: 'Look here.' });
      }
    });

    it('T43: creates no account of his own rank or above', async () => {
      for (const role of ['admin', 'root'])
        await actor.fails(403, 'POST', '/api/admin/users', {
          username: `new-${role}`,
          password: 'long-enough-1',
          role,
        });
    });

    it('can manage the resources of a removed colleague', async () => {
      const colleague = await staff();
      const whose = await fill(colleague);
      await root.ok('DELETE', `/api/admin/users/${colleague.id}`);
      await actor.ok('PUT', `/api/admin/tickets/${whose.ticket}`, { status: 'closed' });
    });

    it("every mutating endpoint checks the administrator's rank, or is listed with a reason", () => {
      const changing = service.app.http.routes.endpoints
        .filter(({ policy, method }) => (policy === 'admin' || policy === 'root') && method !== 'GET')
        .map(({ method, path }) => `${method} ${path}`);
      const onAccounts = new Set(ACTIONS_ON_ACCOUNTS.map(({ endpoint }) => endpoint));
      const known = [...onAccounts, ...ACTIONS_ON_SIGN_INS, ...ACTIONS_ON_NO_ACCOUNT];
      assert.deepEqual(changing.sort(), known.sort());
    });
  });
});
