import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import cookie from '@fastify/cookie';
import Fastify, { type FastifyReply } from 'fastify';
import { createLoginCookies, renewSessionCookies, sessionCookieOf } from './login-cookies.ts';
import type { Caller } from './route-registry.ts';

const SESSION = { kind: 'session', userId: 1, role: 'user', sessionId: 2 } as const;

/** The cookies set by a server whose handler makes one change. */
async function setCookies(
  secure: boolean,
  does: (reply: FastifyReply, cookies: ReturnType<typeof createLoginCookies>) => void,
  request: { readonly caller?: Caller; readonly headers?: Record<string, string> } = {},
) {
  const fastify = Fastify();
  await fastify.register(cookie);
  fastify.decorateRequest('caller', undefined);
  const cookies = createLoginCookies({ secure, sessionSeconds: 100, pendingSeconds: 50 });
  renewSessionCookies(fastify, cookies);
  fastify.get('/', async (incoming, reply) => {
    incoming.caller = request.caller;
    does(reply, cookies);
    return {};
  });
  const response = await fastify.inject({ url: '/', headers: request.headers ?? {} });
  await fastify.close();
  return response.cookies.map((each) => ({ ...each }));
}

describe('login cookies', () => {
  it('are hidden from scripts and other sites, and expire with the credential they hold', async () => {
    const shared = { httpOnly: true, sameSite: 'Lax', path: '/' };
    assert.deepEqual(await setCookies(false, (reply, cookies) => cookies.setSession(reply, 's')), [
      { name: 'session', value: 's', maxAge: 100, ...shared },
    ]);
    assert.deepEqual(await setCookies(true, (reply, cookies) => cookies.setPending(reply, 'p')), [
      { name: 'pending_login', value: 'p', maxAge: 50, ...shared, secure: true },
    ]);
    const login = (reply: FastifyReply, cookies: ReturnType<typeof createLoginCookies>) =>
      cookies.setLogin(reply, { session: 's', knownDevice: 'd' });
    assert.deepEqual(await setCookies(true, login), [
      { name: 'session', value: 's', maxAge: 100, ...shared, secure: true },
      { name: 'known_device', value: 'd', maxAge: 31_536_000, ...shared, secure: true },
    ]);
  });

  it('are told from those of another service on a parent domain, in either order', async () => {
    const fastify = Fastify();
    await fastify.register(cookie);
    fastify.get('/', async (request) => ({ session: sessionCookieOf(request) ?? null }));
    const own = `rgs_${'a'.repeat(43)}`;
    for (const [header, session] of [
      [`session=${own}`, own],
      [`session=eyJfcGVybWFuZW50Ijp0cnVlfQ; a=b; session=${own}`, own],
      [`session=${own}; session=eyJfcGVybWFuZW50Ijp0cnVlfQ`, own],
      [`session=other; my_session=${own}`, 'other'],
      ['session=other', 'other'],
      ['a=b', null],
    ] as const) {
      const response = await fastify.inject({ url: '/', headers: { cookie: header } });
      assert.deepEqual(response.json(), { session }, header);
    }
    await fastify.close();
  });

  it('are cleared with the attributes they were set with', async () => {
    const cleared = await setCookies(true, (reply, cookies) => {
      cookies.clearSession(reply);
      cookies.clearPending(reply);
    });
    for (const [index, name] of ['session', 'pending_login'].entries()) {
      assert.equal(cleared[index]?.name, name);
      assert.equal(cleared[index]?.value, '');
      assert.equal(cleared[index]?.expires?.valueOf(), 0);
      assert.deepEqual([cleared[index]?.path, cleared[index]?.secure], ['/', true]);
    }
  });

  it('are read back', async () => {
    let read: unknown[] = [];
    await setCookies(
      false,
      (reply, cookies) => {
        read = [cookies.knownDeviceOf(reply), cookies.pendingOf(reply)];
      },
      { headers: { cookie: 'known_device=d; pending_login=p' } },
    );
    assert.deepEqual(read, ['d', 'p']);
  });
});

describe('renewal of a session', () => {
  const namesSet = async (caller: Caller | undefined, headers: Record<string, string>) =>
    (await setCookies(false, () => {}, { headers, ...(caller !== undefined && { caller }) })).map(
      ({ name, value }) => `${name}=${value}`,
    );

  it('extends the cookie', async () => {
    assert.deepEqual(await namesSet({ ...SESSION, renewed: true }, { cookie: 'session=s' }), ['session=s']);
  });

  it('leaves the cookie unchanged without a renewal, or when another credential was used', async () => {
    const cookieHeader = { cookie: 'session=s' };
    assert.deepEqual(await namesSet(undefined, cookieHeader), []);
    assert.deepEqual(await namesSet(SESSION, cookieHeader), []);
    assert.deepEqual(await namesSet({ ...SESSION, renewed: false }, cookieHeader), []);
    assert.deepEqual(await namesSet({ ...SESSION, renewed: true }, { ...cookieHeader, authorization: 'Bearer x' }), []);
    assert.deepEqual(await namesSet({ ...SESSION, renewed: true }, {}), []);
    const device = { kind: 'device', userId: 1, role: 'user', authorizationId: 3, renewed: true } as const;
    assert.deepEqual(await namesSet(device, cookieHeader), []);
  });

  it('leaves a cookie set by the handler itself', async () => {
    const set = await setCookies(false, (reply, cookies) => cookies.clearSession(reply), {
      caller: { ...SESSION, renewed: true },
      headers: { cookie: 'session=s' },
    });
    assert.deepEqual(
      set.map(({ name, value }) => [name, value]),
      [['session', '']],
    );
  });
});
