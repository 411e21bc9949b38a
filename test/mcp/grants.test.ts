import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { Client as NewClient, StreamableHTTPClientTransport as NewTransport } from '@modelcontextprotocol/client';
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as OldTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { type DeviceAuthFixture, freePort, startDeviceService } from '../device-auth/device-auth-fixture.ts';
import { ScriptlessBrowser } from '../device-auth/scriptless-browser.ts';
import { postMcp, toolCall } from './mcp-fixture.ts';

const CALLBACK = 'http://127.0.0.1/callback';
const ABOUT = { name: 'reelgate-test', version: '1.0.0' };

/** What both generations of the client ask a program for when they sign in. */
class SignIn {
  readonly redirectUrl = CALLBACK;
  readonly clientMetadata = { client_name: 'Assistant', redirect_uris: [CALLBACK] };
  saved: { access_token: string } | undefined;
  opened: URL | undefined;
  #verifier = '';
  clientInformation = () => ({ client_id: 'assistant' });
  tokens = () => this.saved as never;
  saveTokens = (tokens: { access_token: string }): void => {
    this.saved = tokens;
  };
  redirectToAuthorization = (url: URL): void => {
    this.opened = url;
  };
  saveCodeVerifier = (verifier: string): void => {
    this.#verifier = verifier;
  };
  codeVerifier = () => this.#verifier;
}

describe('a client without a key', () => {
  let service: DeviceAuthFixture;
  let issuer: string;
  before(async () => {
    const port = String(await freePort());
    issuer = `http://127.0.0.1:${port}`;
    service = await startDeviceService('sqlite::memory:', { env: { PORT: port, BASE_URL: issuer } });
    await service.newUser('ada');
    const root = await service.root();
    const client = { client_id: 'assistant', name: 'Assistant', type: 'public', redirect_uris: [CALLBACK] };
    await root.ok('POST', '/api/admin/device-clients', client);
  });
  after(() => service.app.close());

  /** Approves what the client opened in the browser. */
  async function approve({ opened }: SignIn): Promise<URLSearchParams> {
    assert.ok(opened);
    assert.deepEqual([opened.searchParams.get('scope'), opened.searchParams.get('resource')], ['mcp', `${issuer}/mcp`]);
    const tab = new ScriptlessBrowser(service);
    await tab.go('GET', opened.pathname + opened.search);
    await tab.logIn('ada');
    await tab.submit('approve', { spend_limit_amount: '2', spend_limit_period: 'day' });
    assert.ok(tab.leftTo, tab.html);
    return tab.leftTo.searchParams;
  }
  const address = () => new URL(`${issuer}/mcp`);

  it('client 2.4: signs in and calls a tool', async () => {
    const signIn = new SignIn();
    const transport = new NewTransport(address(), { authProvider: signIn as never });
    await assert.rejects(new NewClient(ABOUT).connect(transport), /Unauthorized/i);
    await transport.finishAuth(await approve(signIn));
    const client = new NewClient(ABOUT, { versionNegotiation: { mode: 'auto' } });
    await client.connect(new NewTransport(address(), { authProvider: signIn as never }));
    const { structuredContent } = await client.callTool({ name: 'balance', arguments: {} });
    assert.ok('balance' in (structuredContent as object));
    await client.close();
  });

  it('sdk 1.32: signs in and calls a tool', async () => {
    const signIn = new SignIn();
    const transport = new OldTransport(address(), { authProvider: signIn as never });
    await assert.rejects(new OldClient(ABOUT).connect(transport as never), /Unauthorized/i);
    await transport.finishAuth((await approve(signIn)).get('code') ?? '');
    const client = new OldClient(ABOUT);
    await client.connect(new OldTransport(address(), { authProvider: signIn as never }) as never);
    const { structuredContent } = await client.callTool({ name: 'balance', arguments: {} });
    const { spend_limits: limits } = structuredContent as { spend_limits: { period: string; left: number }[] };
    assert.deepEqual(
      limits.map(({ period, left }) => [period, left]),
      [['day', 1_000_000]],
    );
    await client.close();
    // The token opens nothing but /mcp, and nothing else opens /mcp.
    const { access_token: token } = signIn.saved ?? { access_token: '' };
    assert.equal(await service.acceptsModelKey(token), false);
    const wrong = await postMcp(
      issuer,
      `${token.slice(0, -1)}${token.endsWith('x') ? 'y' : 'x'}`,
      toolCall('balance', {}),
    );
    assert.equal(wrong.status, 401);
    assert.match(wrong.headers.get('www-authenticate') ?? '', /error="invalid_token"/);
  });
});
