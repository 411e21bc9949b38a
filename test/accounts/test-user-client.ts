import assert from 'node:assert/strict';
import type { FastifyInstance } from 'fastify';

export const PASSWORD = 'correct horse battery';

/** A response with its parsed body and its cookies. */
export interface TestResponse {
  readonly status: number;
  readonly body: {
    success?: boolean;
    code?: string;
    message?: string;
    data?: unknown;
    total?: number;
    error?: unknown;
  };
  readonly headers: Readonly<Record<string, unknown>>;
  /** `Set-Cookie` lines. */
  readonly cookies: readonly string[];
}

/** A client with a cookie jar and the user-id header, like the console. */
export class TestUser {
  readonly #fastify: FastifyInstance;
  readonly address: string;
  readonly cookies = new Map<string, string>();
  id = 0;
  #authorization: string | undefined;

  constructor(fastify: FastifyInstance, address: string) {
    this.#fastify = fastify;
    this.address = address;
  }

  async send(
    method: 'GET' | 'POST' | 'PUT' | 'DELETE',
    url: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<TestResponse> {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const response = await this.#fastify.inject({
      method,
      url,
      remoteAddress: this.address,
      headers: {
        ...(cookie === '' ? {} : { cookie }),
        ...(this.#authorization === undefined ? {} : { authorization: this.#authorization }),
        ...(this.id === 0 ? {} : { 'service-api-user': String(this.id) }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { payload: JSON.stringify(body) }),
    });
    const cookies = [response.headers['set-cookie'] ?? []].flat();
    for (const line of cookies) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (value === '') this.cookies.delete(name);
      else this.cookies.set(name, value);
    }
    return {
      status: response.statusCode,
      body: response.body === '' ? {} : JSON.parse(response.body),
      headers: response.headers,
      cookies,
    };
  }

  /** Sends a request that must succeed and returns its data. */
  async ok<T = Record<string, unknown>>(...request: Parameters<TestUser['send']>): Promise<T> {
    const answer = await this.send(...request);
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    assert.equal(answer.body.success, true, JSON.stringify(answer.body));
    return answer.body.data as T;
  }

  /** Sends a request that must fail in the envelope and returns the message. */
  async fails(status: number, ...request: Parameters<TestUser['send']>): Promise<string> {
    const answer = await this.send(...request);
    assert.equal(answer.status, status, `${request[0]} ${request[1]} ${JSON.stringify(answer.body)}`);
    assert.equal(answer.body.success, false);
    const keys = Object.keys(answer.body).filter((key) => key !== 'code');
    assert.deepEqual(keys.sort(), ['message', 'success']);
    return String(answer.body.message);
  }

  async register(username: string, password = PASSWORD): Promise<number> {
    return (await this.ok<{ id: number }>('POST', '/api/user/register', { username, password })).id;
  }

  async logIn(username: string, password = PASSWORD): Promise<Record<string, unknown>> {
    const data = await this.ok('POST', '/api/user/login', { username, password });
    if (typeof data.id === 'number') this.id = data.id;
    return data;
  }

  /** Creates the management access token and returns a client that sends it instead of the session. */
  async withManagementToken(): Promise<TestUser> {
    const { access_token } = await this.ok('POST', '/api/user/token');
    const program = new TestUser(this.#fastify, this.address);
    program.id = this.id;
    program.#authorization = `Bearer ${access_token}`;
    return program;
  }
}
