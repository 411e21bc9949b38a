import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { CLI_OAUTH_CLIENT } from '../src/contract/device-auth.ts';
import type { Endpoint } from '../src/contract/endpoint.ts';
import { TestUser } from './accounts/test-user-client.ts';
import { callModelApi } from './call-model-api.ts';
import { forEachDatabase } from './for-each-database.ts';
import { type SandboxService, startSandboxService } from './service-with-sandbox.ts';

/** Endpoints that would end the caller's own session; other tests cover their effect on other accounts. */
const ENDS_OWN_SESSION = /logout$|\/api\/user\/token$|^\/api\/user\/login|register$/;

/**
 * One user fills every kind of account data with unique words; another user then calls every endpoint with the
 * identifiers of these records. No response may contain one of the words, and none of the records may change.
 */
describe("an account's data", () => {
  forEachDatabase((_name, _open, freshUrl) => {
    let service: SandboxService;
    let ada: TestUser;
    let adaKey: string;
    let eve: TestUser;
    let eveKey: string;
    let eveOwn: ReadonlySet<string>;
    let task: string;
    let code: string;
    let file: string;
    let batch: string;
    let folder: string;
    const secrets = new Map<string, string>();
    const word = (what: string): string => {
      const text = `zq${randomBytes(6).toString('hex')}`;
      secrets.set(what, text);
      return text;
    };

    before(async () => {
      folder = await mkdtemp(join(tmpdir(), 'rg-accounts-'));
      const artifacts = { ARTIFACTS: 'disk', ARTIFACTS_DIR: folder, ARTIFACTS_MIN_FREE_GB: '0' };
      service = await startSandboxService(await freshUrl(), {
        env: { MAIL_BACKEND: 'sandbox', SYNC_PERIOD_SECONDS: '3600', ...artifacts },
      });
      const { operator, app } = service;
      await service.addChannel('sora', ['sora-2']);
      const joinAs = async (username: string): Promise<TestUser> => {
        const person = new TestUser(app.http.fastify, '127.0.0.1');
        await person.register(username);
        await person.logIn(username);
        await operator.grantQuota(1_000_000_000, person.id);
        const row = { user_id: person.id, kind: 'phone' as const, value: `+1555000${person.id}`, created_at: 0 };
        await app.database.kysely.insertInto('bindings').values(row).execute();
        return person;
      };
      ada = await joinAs('ada');
      eve = await joinAs('eve');
      await fill();
      const made = await eve.ok<{ id: number; key: string }>('POST', '/api/tokens', { name: 'eve' });
      eveKey = made.key;
      const sessions = await eve.ok<{ id: number | string }[]>('GET', '/api/user/sessions');
      eveOwn = new Set([...sessions.map(({ id }) => `session ${id}`), `token ${made.id}`]);
    });
    after(async () => {
      await service.stop();
      await rm(folder, { recursive: true, force: true });
    });

    /** Creates one record of every kind that an account can have. */
    async function fill(): Promise<void> {
      const { operator } = service;
      await ada.ok('PUT', '/api/user/self', { display_name: word('display name') });
      const token = await ada.ok<{ key: string }>('POST', '/api/tokens', { name: word('token name') });
      adaKey = token.key;
      secrets.set('key', adaKey);
      secrets.set('session', ada.cookies.get('session') ?? '');
      const device = await ada.ok<{ device_code: string; user_code: string }>('POST', '/api/auth/device/code', {
        client_id: CLI_OAUTH_CLIENT.id,
        client_name: word('device name'),
      });
      await ada.ok('POST', '/api/auth/device/approve', { user_code: device.user_code });
      const tokens = await ada.ok<Record<string, string>>('POST', '/api/auth/device/token', {
        device_code: device.device_code,
        client_id: CLI_OAUTH_CLIENT.id,
        client_secret: CLI_OAUTH_CLIENT.secret,
      });
      for (const name of ['access_token', 'refresh_token', 'llm_token']) secrets.set(name, tokens[name] ?? '');
      const mailbox = await ada.ok<{ email: string; password: string }>('POST', '/api/user/mailbox/apply');
      const app = await ada.ok<{ app_password: string }>('POST', '/api/user/mailbox/app-password');
      secrets.set('mailbox', mailbox.email).set('mailbox password', mailbox.password);
      secrets.set('application password', app.app_password);
      const body = { model: 'sora-2', prompt: word('prompt') };
      task = String((await callModelApi(service.baseUrl, adaKey, 'POST', '/v1/videos', body)).body.id);
      secrets.set('task', task);
      await ada.ok('PUT', `/api/videos/${task}/favourite`);
      const collection = await ada.ok<{ id: number }>('POST', '/api/collections', { name: word('collection') });
      await ada.ok('POST', `/api/collections/${collection.id}/videos`, { task_ids: [task] });
      const form = new FormData();
      form.set('purpose', 'batch');
      form.set('file', new Blob([JSON.stringify({ text: word('file content') })]), word('file name'));
      const authorization = `Bearer ${adaKey}`;
      const upload = await fetch(`${service.baseUrl}/v1/files`, {
        method: 'POST',
        headers: { authorization },
        body: form,
      });
      file = ((await upload.json()) as { id: string }).id;
      secrets.set('file', file);
      batch = await fillBatch(authorization);
      const ticket = { title: word('ticket'), content: word('ticket text'), task_id: task };
      const { id } = await ada.ok<{ id: number }>('POST', '/api/tickets', ticket);
      await operator.requestData('POST', `/api/admin/tickets/${id}/replies`, { content: word('answer') });
      await ada.ok('POST', '/api/beta-applications', { feature: word('feature'), reason: word('reason') });
      const card = { package_code: 'gold', name: 'Gold', level: 3, duration_days: 30 };
      await operator.requestData('POST', '/api/admin/package-cards', card);
      const cards = await operator.requestData<{ codes: string[] }>('POST', '/api/admin/redemption-codes', {
        package_code: 'gold',
        count: 1,
      });
      code = cards.codes[0] ?? '';
      await ada.ok('POST', '/api/user/redeem', { code });
    }

    /** A batch that has ended before it sent anything, so that nothing of it changes later. */
    async function fillBatch(authorization: string): Promise<string> {
      const form = new FormData();
      form.set('purpose', 'batch');
      form.set('file', new Blob([JSON.stringify({ custom_id: 'a' })]), 'lines.jsonl');
      const send = async <T>(path: string, init: RequestInit): Promise<T> =>
        (await (await fetch(service.baseUrl + path, init)).json()) as T;
      const input = await send<{ id: string }>('/v1/files', { method: 'POST', headers: { authorization }, body: form });
      const { id } = await send<{ id: string }>('/v1/batches', {
        method: 'POST',
        headers: { authorization, 'content-type': 'application/json' },
        body: JSON.stringify({
          input_file_id: input.id,
          endpoint: '/v1/videos',
          metadata: { name: word('batch name') },
        }),
      });
      for (;;) {
        const { status } = await send<{ status: string }>(`/v1/batches/${id}`, { headers: { authorization } });
        if (status === 'failed') return id;
        await pause(50);
      }
    }

    /** Everything the owner can read, without times of last use. */
    async function snapshot(): Promise<string> {
      const paths = [
        '/api/user/self',
        '/api/tokens',
        '/api/user/devices',
        '/api/user/sessions',
        '/api/user/mailbox',
        '/api/user/mailbox/app-password',
        '/api/user/package',
        '/api/videos',
        `/api/videos/${task}`,
        '/api/videos/favourites',
        '/api/collections',
        '/api/videos?collection=1',
        '/api/tickets',
        '/api/tickets/1',
        '/api/beta-applications',
        '/api/notifications',
        '/api/usage',
        '/api/files',
        '/api/batches',
        `/api/batches/${batch}`,
      ];
      const seen = [];
      for (const path of paths) seen.push([path, (await ada.send('GET', path)).body]);
      seen.push((await callModelApi(service.baseUrl, adaKey, 'GET', '/v1/videos')).body);
      return JSON.stringify(seen, (key, value: unknown) =>
        /last_used|play_url|^url$|remaining|_in$|forecast|^expires_at$/.test(key) ? undefined : value,
      );
    }

    /** Bodies that pass schema validation, by path; `{}` for all other paths. */
    const bodyOf = (path: string): unknown => {
      const bodies: readonly [RegExp, object][] = [
        [/replies$/, { content: 'mine now' }],
        [/^\/api\/tickets$/, { title: 'mine', content: 'mine', task_id: task }],
        [/remix$/, { prompt: 'mine now' }],
        [/^\/jimeng/, { req_key: 'jimeng_v30', task_id: task }],
        [/^\/api\/tokens\/:id$/, { name: 'mine now' }],
        [/redeem$/, { code }],
        [/devices\/:id$/, { name: 'mine now' }],
        [/collections\/:id$/, { name: 'mine now' }],
        [/collections\/:id\/videos/, { task_ids: [task] }],
        [/^\/api\/user\/self$/, { display_name: 'Eve' }],
      ];
      return bodies.find(([pattern]) => pattern.test(path))?.[1] ?? {};
    };

    /**
     * The endpoint's URLs with each of the first account's identifiers as path parameter, and in the query where it
     * takes one.
     */
    function addressesOf({ path, method }: Endpoint): string[] {
      if (path.startsWith('/jimeng')) return [`${path}?Action=CVSync2AsyncGetResult&Version=2022-08-31`];
      const names = [task, file, batch, 'ada', code, ...Array.from({ length: 8 }, (_, index) => String(index + 1))];
      const kind = /sessions/.test(path) ? 'session' : /tokens/.test(path) ? 'token' : '';
      const filled = /:\w+/.test(path)
        ? names.filter((name) => !eveOwn.has(`${kind} ${name}`)).map((name) => path.replace(/:\w+/g, name))
        : [path];
      if (method !== 'GET') return filled;
      return filled.flatMap((each) => [each, `${each}?user_id=${ada.id}&username=ada&task_id=${task}&after=${task}`]);
    }

    it('T40: is neither shown to nor changed by another account', async () => {
      const before = await snapshot();
      for (const what of [
        'display name',
        'token name',
        'device name',
        'mailbox',
        'ticket',
        'answer',
        'prompt',
        'collection',
        'file name',
        'batch name',
      ])
        assert.ok(before.includes(secrets.get(what) ?? '?'), `its owner sees the ${what}`);
      const cookie = [...eve.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
      const asPerson = { cookie, 'service-api-user': String(eve.id) };
      const asKey = { authorization: `Bearer ${eveKey}` };
      let answered = 0;
      for (const endpoint of service.app.http.routes.endpoints) {
        if (ENDS_OWN_SESSION.test(endpoint.path)) continue;
        for (const path of addressesOf(endpoint)) {
          const bodied = endpoint.method !== 'GET' && endpoint.method !== 'DELETE';
          const response = await fetch(`${service.baseUrl}${path}`, {
            method: endpoint.method,
            redirect: 'manual',
            headers: {
              ...(endpoint.policy === 'model' ? asKey : asPerson),
              ...(bodied
                ? {
                    'content-type':
                      endpoint.accepts === 'form' ? 'application/x-www-form-urlencoded' : 'application/json',
                  }
                : {}),
            },
            ...(bodied ? { body: endpoint.accepts === 'form' ? '' : JSON.stringify(bodyOf(endpoint.path)) } : {}),
            // A stream never ends by itself; its first events are enough.
            signal: AbortSignal.timeout(endpoint.path.endsWith('/stream') ? 300 : 20_000),
          });
          const text = await response.text().catch(() => '');
          answered += 1;
          // The response may repeat what the caller put into the URL.
          for (const [what, secret] of secrets)
            if (!path.includes(secret) && JSON.stringify(bodyOf(endpoint.path)).includes(secret) === false)
              assert.ok(!text.includes(secret), `${endpoint.method} ${path} tells the ${what}: ${text.slice(0, 300)}`);
          assert.ok(response.status < 500, `${endpoint.method} ${path}: ${response.status} ${text.slice(0, 200)}`);
        }
      }
      assert.ok(answered > 300, String(answered));
      assert.equal(
        (await eve.send('GET', '/api/user/self')).status,
        200,
        'the other account was authenticated throughout',
      );
      assert.equal((await callModelApi(service.baseUrl, eveKey, 'GET', '/v1/videos')).status, 200);
      assert.equal(await snapshot(), before);
    });
  });
});
