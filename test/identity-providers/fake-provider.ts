import { hash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { base64url, exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose';
import type { IdentityProvider } from '../../src/contract/identity-providers.ts';

type PrivateKey = Awaited<ReturnType<typeof generateKeyPair>>['privateKey'];

/** How an id_token deviates from a correct one. */
export interface Deviation {
  /** Replace or, if undefined, remove claims. */
  readonly claims?: Readonly<Record<string, unknown>>;
  readonly key?: PrivateKey;
  /** `none`: no signature. */
  readonly alg?: 'none';
  /** The type that a logout token states instead of its own. */
  readonly typ?: string;
}

interface IssuedCode {
  readonly challenge: string;
  readonly redirectUri: string;
  readonly claims: JWTPayload;
  readonly deviation: Deviation;
}

interface SigningKeys {
  readonly kid: string;
  readonly privateKey: PrivateKey;
  readonly publicJwk: object;
}

async function generateKeys(kid: string): Promise<SigningKeys> {
  const { privateKey, publicKey } = await generateKeyPair('RS256', { extractable: true });
  return { kid, privateKey, publicJwk: { ...(await exportJWK(publicKey)), kid, alg: 'RS256', use: 'sig' } };
}

const SECONDS = 1000;

/** An identity provider on loopback whose tokens a test can falsify. It checks client secret, redirect and PKCE. */
export class FakeProvider {
  readonly #server: Server;
  readonly #codes = new Map<string, IssuedCode>();
  #keys: SigningKeys;
  readonly clientId: string;
  readonly clientSecret = `secret-${randomBytes(8).toString('hex')}`;
  /** Claims of the userinfo endpoint, by subject. */
  readonly userInfo = new Map<string, object>();
  /** Replaces or removes members of the metadata. */
  metadata: Readonly<Record<string, unknown>> = {};
  /** The one method by which the client is registered to send its secret. */
  takesSecretIn: 'header' | 'body' = 'header';

  constructor(server: Server, keys: SigningKeys, clientId: string) {
    this.#server = server;
    this.#keys = keys;
    this.clientId = clientId;
    server.on('request', (request, response) => {
      this.#respond(request).then(
        ({ status, body }) => {
          response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
        },
        (error: unknown) => response.writeHead(500).end(String(error)),
      );
    });
  }

  static async start(clientId = 'reelgate'): Promise<FakeProvider> {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new FakeProvider(server, await generateKeys('one'), clientId);
  }

  /** Replaces the signing keys, as a provider does after a leak. */
  async rotateKeys(): Promise<void> {
    this.#keys = await generateKeys(randomBytes(4).toString('hex'));
  }

  get issuer(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Settings of this provider for `OIDC_PROVIDERS`. */
  settings(id: string, more: Partial<IdentityProvider> = {}): IdentityProvider {
    const { issuer, clientId: client_id, clientSecret: client_secret } = this;
    return { id, title: `Company ${id}`, issuer, client_id, client_secret, ...more };
  }

  /**
   * Authenticates a person who was sent here.
   *
   * @returns the query of the callback
   */
  authorize(url: string, person: JWTPayload, deviation: Deviation = {}): URLSearchParams {
    const { searchParams } = new URL(url);
    const read = (name: string): string => searchParams.get(name) ?? '';
    const code = randomBytes(16).toString('hex');
    const now = Math.floor(Date.now() / SECONDS);
    const claims = {
      iss: this.issuer,
      aud: this.clientId,
      iat: now,
      exp: now + 300,
      nonce: read('nonce'),
      ...(read('max_age') !== '' && { auth_time: now }),
      ...person,
    };
    this.#codes.set(code, { challenge: read('code_challenge'), redirectUri: read('redirect_uri'), claims, deviation });
    return new URLSearchParams({ code, state: read('state'), iss: this.issuer });
  }

  /** A logout token of this provider. */
  async logoutToken({ claims = {}, key = this.#keys.privateKey, alg, typ = 'logout+jwt' }: Deviation): Promise<string> {
    const now = Math.floor(Date.now() / SECONDS);
    const payload = withChanges(
      {
        iss: this.issuer,
        aud: this.clientId,
        iat: now,
        exp: now + 120,
        jti: randomBytes(8).toString('hex'),
        events: { 'http://schemas.openid.net/event/backchannel-logout': {} },
      },
      claims,
    );
    return alg === 'none' ? toUnsigned(payload) : sign(payload, key, this.#keys.kid, typ);
  }

  async #respond(request: IncomingMessage): Promise<{ readonly status: number; readonly body: unknown }> {
    const { pathname } = new URL(request.url ?? '/', this.issuer);
    if (pathname.endsWith('/.well-known/openid-configuration')) return { status: 200, body: this.#metadata() };
    if (pathname === '/jwks') return { status: 200, body: { keys: [this.#keys.publicJwk] } };
    if (pathname === '/token') return this.#exchange(request);
    if (pathname === '/userinfo') {
      const sub = request.headers.authorization?.replace('Bearer ', '') ?? '';
      return { status: 200, body: { sub, ...this.userInfo.get(sub) } };
    }
    return { status: 404, body: {} };
  }

  #metadata(): object {
    const { issuer } = this;
    return withChanges(
      {
        issuer,
        authorization_endpoint: `${issuer}/authorize`,
        token_endpoint: `${issuer}/token`,
        jwks_uri: `${issuer}/jwks`,
        userinfo_endpoint: `${issuer}/userinfo`,
        response_types_supported: ['code'],
        subject_types_supported: ['public'],
        id_token_signing_alg_values_supported: ['RS256'],
        claims_supported: ['sub', 'auth_time'],
        authorization_response_iss_parameter_supported: true,
      },
      this.metadata,
    );
  }

  async #exchange(request: IncomingMessage) {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const form = new URLSearchParams(Buffer.concat(chunks).toString());
    const basic = Buffer.from(request.headers.authorization?.replace('Basic ', '') ?? '', 'base64').toString();
    // In the header both halves are form-encoded (RFC 6749 section 2.3.1).
    const sent =
      this.takesSecretIn === 'header'
        ? decodeURIComponent(basic)
        : `${form.get('client_id')}:${form.get('client_secret')}`;
    if (sent !== `${this.clientId}:${this.clientSecret}`) return { status: 401, body: { error: 'invalid_client' } };
    const code = form.get('code') ?? '';
    const issued = this.#codes.get(code);
    this.#codes.delete(code);
    const challenge = hash('sha256', form.get('code_verifier') ?? '', 'base64url');
    if (issued?.challenge !== challenge || issued.redirectUri !== form.get('redirect_uri'))
      return { status: 400, body: { error: 'invalid_grant' } };
    const { claims, key = this.#keys.privateKey, alg } = { claims: {}, ...issued.deviation };
    const payload = withChanges(issued.claims, claims);
    const id_token = alg === 'none' ? toUnsigned(payload) : await sign(payload, key, this.#keys.kid);
    const access_token = String(issued.claims.sub);
    return { status: 200, body: { access_token, token_type: 'Bearer', expires_in: 60, id_token } };
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

const withChanges = (from: object, changes: Readonly<Record<string, unknown>>): JWTPayload =>
  Object.fromEntries(Object.entries({ ...from, ...changes }).filter(([, value]) => value !== undefined));

const sign = (payload: JWTPayload, key: PrivateKey, kid: string, typ = 'JWT'): Promise<string> =>
  new SignJWT(payload).setProtectedHeader({ alg: 'RS256', kid, typ }).sign(key);

const toUnsigned = (payload: JWTPayload): string =>
  `${base64url.encode(JSON.stringify({ alg: 'none' }))}.${base64url.encode(JSON.stringify(payload))}.`;
