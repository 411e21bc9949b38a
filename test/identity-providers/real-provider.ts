import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { IdentityProvider } from '../../src/contract/identity-providers.ts';

/** The parts of `oidc-provider` used here; it has no types. */
interface OidcProvider {
  callback(): RequestListener;
  interactionFinished(request: IncomingMessage, response: ServerResponse, result: object): Promise<void>;
}
interface GrantContext {
  readonly oidc: {
    readonly provider: {
      readonly Grant: new (owner: object) => { addOIDCScope(scope: string): void; save(): Promise<string> };
    };
    readonly client: { readonly clientId: string };
    readonly session: { readonly accountId: string };
  };
}

const CLIENT_ID = 'reelgate';

/** `oidc-provider`, a certified identity provider, on loopback. Its login page has one button. */
export class RealProvider {
  readonly #server: Server;
  readonly #secret = randomBytes(16).toString('hex');
  /** The person who is signed in by the next login. */
  accountId = 'grace';

  constructor(server: Server) {
    this.#server = server;
  }

  static async start(): Promise<RealProvider> {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new RealProvider(server);
  }

  get issuer(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  settings(id: string, more: Partial<IdentityProvider> = {}): IdentityProvider {
    return {
      id,
      title: 'Example SSO',
      issuer: this.issuer,
      client_id: CLIENT_ID,
      client_secret: this.#secret,
      ...more,
    };
  }

  /** @param prefix of the redirect URIs, such as `http://127.0.0.1:3000/auth/company` */
  async serve(prefix: string): Promise<void> {
    // Not a literal, because the package has no types to check.
    const name = 'oidc-provider';
    const { Provider } = (await import(name)) as {
      readonly Provider: new (issuer: string, options: object) => OidcProvider;
    };
    const provider = new Provider(this.issuer, {
      clients: [
        {
          client_id: CLIENT_ID,
          client_secret: this.#secret,
          redirect_uris: [`${prefix}/callback`],
          response_types: ['code'],
          grant_types: ['authorization_code'],
          backchannel_logout_uri: `${prefix}/backchannel-logout`,
          backchannel_logout_session_required: true,
        },
      ],
      claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name', 'preferred_username'] },
      features: { devInteractions: { enabled: false }, backchannelLogout: { enabled: true } },
      // Without its dispatcher, which refuses loopback addresses.
      fetch: (url: string, { dispatcher: _, ...options }: RequestInit & { readonly dispatcher?: unknown }) =>
        fetch(url, options),
      cookies: { keys: [this.#secret] },
      interactions: { url: (_: unknown, { uid }: { readonly uid: string }) => `/interaction/${uid}` },
      findAccount: (_: unknown, accountId: string) => ({
        accountId,
        claims: () => ({
          sub: accountId,
          email: `${accountId}@example.com`,
          email_verified: true,
          name: 'Grace Hopper',
          preferred_username: accountId,
        }),
      }),
      async loadExistingGrant({ oidc }: GrantContext) {
        const { clientId } = oidc.client;
        const grant = new oidc.provider.Grant({ clientId, accountId: oidc.session.accountId });
        grant.addOIDCScope('openid email profile');
        await grant.save();
        return grant;
      },
    });
    const handle = provider.callback();
    this.#server.on('request', (request, response) => {
      if (!request.url?.startsWith('/interaction/')) return handle(request, response);
      if (request.method === 'POST')
        return void provider.interactionFinished(request, response, { login: { accountId: this.accountId } });
      response.writeHead(200, { 'content-type': 'text/html' });
      response.end('<!doctype html><h1>Example SSO</h1><form method="post"><button>Continue</button></form>');
    });
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
