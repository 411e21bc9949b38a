import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import Type from 'typebox';
import { endpoint } from '../../../contract/endpoint.ts';
import { AppError } from '../app-error.ts';
import { plain, startHttp } from './start-http-server.fixture.ts';

describe('route registry', () => {
  const Ok = Type.Object({ ok: Type.Boolean() });

  describe('routes', () => {
    let http: Awaited<ReturnType<typeof startHttp>>;
    /** Keys passed to the authenticator, by the header each was in. */
    let given: (string | string[] | undefined)[] = [];
    before(async () => {
      http = await startHttp({
        authenticator: {
          account: async () => {
            throw new AppError('unauthorized');
          },
          model: async ({ headers }) => {
            given = [headers.authorization, headers['x-goog-api-key']];
            return { kind: 'model', userId: 7, tokenId: 3, models: [] };
          },
        },
      });
      const { routes } = http;
      const model = { ...plain, policy: 'model', method: 'GET', response: Ok } as const;
      routes.add(endpoint({ ...model, envelope: 'gemini', path: '/v1beta/one' }), async () => ({ ok: true }));
      routes.add(endpoint({ ...model, envelope: 'model', path: '/v1/one' }), async () => ({ ok: true }));
      routes.add(endpoint({ ...plain, method: 'GET', path: '/api/headers', response: Ok }), async ({ request }) => {
        request.setResponseHeaders({ 'x-own': 'set' });
        return { ok: true };
      });
      routes.add(endpoint({ ...plain, method: 'GET', path: '/api/sent' }), async ({ request, reply }) => {
        request.setResponseHeaders({ 'x-own': 'too late' });
        return reply.send('sent');
      });
      routes.add(endpoint({ ...plain, method: 'GET', path: '/api/plain', response: Ok }), async () => ({ ok: true }));
      await http.start();
    });
    after(() => http.close(0));

    it("accept a key in the query only for Google's clients, and only without a key in a header", async () => {
      const keysOf = async (path: string, headers: Record<string, string> = {}) => {
        given = [];
        assert.equal((await http.send('GET', path, '', headers)).status, 200, path);
        return given;
      };
      assert.deepEqual(await keysOf('/v1beta/one?key=k'), [undefined, 'k']);
      assert.deepEqual(await keysOf('/v1beta/one'), [undefined, undefined]);
      assert.deepEqual(await keysOf('/v1beta/one?key=k', { authorization: 'Bearer h' }), ['Bearer h', undefined]);
      assert.deepEqual(await keysOf('/v1beta/one?key=k', { 'x-goog-api-key': 'g' }), [undefined, 'g']);
      assert.deepEqual(await keysOf('/v1beta/one?key=k&key=l'), [undefined, undefined], 'which of them is not clear');
      assert.deepEqual(await keysOf('/v1/one?key=k'), [undefined, undefined]);
    });

    it('send the headers a handler adds to its returned body', async () => {
      const headerOf = async (path: string) => (await http.send('GET', path)).headers['x-own'];
      assert.equal(await headerOf('/api/headers'), 'set');
      assert.equal(await headerOf('/api/plain'), undefined);
      const sent = await http.send('GET', '/api/sent');
      assert.deepEqual([sent.status, sent.body, sent.headers['x-own']], [200, 'sent', undefined]);
    });

    it('answer HEAD wherever they answer GET', async () => {
      const { status, body } = await http.send('HEAD', '/api/plain');
      assert.deepEqual([status, body], [200, '']);
    });
  });
});
