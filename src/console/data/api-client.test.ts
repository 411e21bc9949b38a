import assert from 'node:assert/strict';
import { registerHooks } from 'node:module';
import { describe, it, type TestContext } from 'node:test';
import { getOrganization } from '../../contract/organizations.ts';
import { listOwnVideos } from '../../contract/video.ts';

const KEY = 'reelgate.organization';

// The texts are loaded by the bundler.
registerHooks({
  load: (url, context, next) =>
    url.endsWith('/strings/language.ts')
      ? { format: 'module', source: "export const currentLanguage = () => 'en';", shortCircuit: true }
      : next(url, context),
});

/** The globals of a page that works for the organization `acme`, until the end of the test. */
function openPage(test: TestContext) {
  const stored = new Map([[KEY, 'acme']]);
  const visited: string[] = [];
  const sent: (string | null)[] = [];
  const response = { status: 200, code: undefined as string | undefined };
  const page = {
    localStorage: {
      getItem: (name: string) => stored.get(name) ?? null,
      setItem: (name: string, value: string) => stored.set(name, value),
      removeItem: (name: string) => stored.delete(name),
    },
    document: { querySelector: () => null },
    location: { assign: (path: string) => visited.push(path) },
    fetch: async (_: unknown, init: RequestInit) => {
      sent.push(new Headers(init.headers).get('x-organization'));
      return Response.json({ success: false, message: 'x', code: response.code }, response);
    },
  };
  for (const [name, value] of Object.entries(page)) {
    const before = Object.getOwnPropertyDescriptor(globalThis, name);
    Object.defineProperty(globalThis, name, { value, configurable: true, writable: true });
    test.after(() => {
      if (before === undefined) Reflect.deleteProperty(globalThis, name);
      else Object.defineProperty(globalThis, name, before);
    });
  }
  return { stored, visited, sent, response };
}

describe('the API client of the console', () => {
  it('keeps to the organization of the page, until it is gone', async (test) => {
    const { stored, visited, sent, response } = openPage(test);
    const { callApi, queryClient } = await import('./api-client.ts');
    const ask = (status: number, code?: string) => {
      Object.assign(response, { status, code });
      const queryFn = () => callApi(listOwnVideos, { query: {} });
      return queryClient.fetchQuery({ queryKey: [sent.length], queryFn }).catch(() => undefined);
    };
    await ask(200);
    stored.set(KEY, 'entered-in-another-tab');
    await ask(200);
    assert.deepEqual([sent.at(-1), visited], ['acme', []]);
    await callApi(getOrganization, { params: { slug: 'other' } }).catch(() => undefined);
    assert.equal(sent.at(-1), null, 'the path names the organization');
    await ask(404, 'not_exist');
    assert.deepEqual(visited, [], 'something else is missing');
    await ask(403, 'organization_closed');
    assert.deepEqual([stored.get(KEY), visited], [undefined, ['/studio']]);
    await ask(404, 'organization_not_found');
    assert.deepEqual([sent.at(-1), visited], [null, ['/studio']]);
  });
});
