import assert from 'node:assert/strict';
import type { FastifyInstance } from 'fastify';
import { CLAUDE_CODE_PATH } from '../../src/contract/claude-code.ts';
import { DEVICE_GRANT } from '../../src/contract/oauth.ts';
import type { TestUser } from '../accounts/test-user-client.ts';
import type { IssuedCode } from '../device-auth/device-auth-fixture.ts';

/** A response of the gateway. */
export interface GatewayResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  /** Undefined for an empty body. */
  readonly json: Record<string, unknown> | undefined;
  /** Type and message of an error in Anthropic's form. */
  readonly error: { readonly type?: string; readonly message?: string };
}

/** The tokens of a Claude Code sign-in. */
export interface GatewayTokens {
  readonly access_token: string;
  readonly refresh_token: string;
  readonly expires_in: number;
  readonly email?: string;
}

/** Sends what Claude Code sends to its gateway. */
export class GatewayClient {
  readonly #fastify: FastifyInstance;
  readonly #address: string;

  constructor(fastify: FastifyInstance, address = '127.0.0.1') {
    this.#fastify = fastify;
    this.#address = address;
  }

  /** @param path below the gateway's path, or below the service with a leading `//` */
  async send(
    method: 'GET' | 'HEAD' | 'POST' | 'PUT',
    path: string,
    {
      token,
      body,
      headers = {},
    }: { readonly token?: string; readonly body?: object | string; readonly headers?: Record<string, string> } = {},
  ): Promise<GatewayResponse> {
    const payload = typeof body === 'object' ? JSON.stringify(body) : body;
    const response = await this.#fastify.inject({
      method,
      url: path.startsWith('//') ? path.slice(1) : `${CLAUDE_CODE_PATH}${path}`,
      remoteAddress: this.#address,
      headers: {
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(typeof body === 'object' ? { 'content-type': 'application/json' } : {}),
        ...headers,
      },
      ...(payload === undefined ? {} : { payload }),
    });
    const isJson = String(response.headers['content-type']).includes('json') && response.body !== '';
    const json = isJson ? (JSON.parse(response.body) as Record<string, unknown>) : undefined;
    const error = (typeof json?.error === 'object' ? json.error : {}) as GatewayResponse['error'];
    return { status: response.statusCode, headers: response.headers, json, error };
  }

  post(path: string, form: Record<string, string>): Promise<GatewayResponse> {
    return this.send('POST', path, {
      body: new URLSearchParams(form).toString(),
      headers: { 'content-type': 'application/x-www-form-urlencoded', 'user-agent': 'claude-code/2.1.330' },
    });
  }

  async start(): Promise<IssuedCode> {
    const { status, json } = await this.post('/oauth/device_authorization', { surface: 'claude_code' });
    assert.equal(status, 200, JSON.stringify(json));
    return json as unknown as IssuedCode;
  }

  poll(deviceCode: string): Promise<GatewayResponse> {
    return this.post('/oauth/token', { grant_type: DEVICE_GRANT, device_code: deviceCode });
  }

  refresh(refreshToken: string): Promise<GatewayResponse> {
    return this.post('/oauth/token', { grant_type: 'refresh_token', refresh_token: refreshToken });
  }

  /** A complete sign-in, approved by the person. */
  async signIn(person: TestUser): Promise<GatewayTokens> {
    const { user_code: userCode, device_code: deviceCode } = await this.start();
    await person.ok('POST', '/api/auth/device/approve', { user_code: userCode });
    const { status, json } = await this.poll(deviceCode);
    assert.equal(status, 200, JSON.stringify(json));
    return json as unknown as GatewayTokens;
  }

  /** Status of a request that any valid token may make. */
  async statusOf(token: string): Promise<number> {
    return (await this.send('HEAD', '/api/hello', { token })).status;
  }
}
