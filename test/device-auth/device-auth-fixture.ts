import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { CLI_OAUTH_CLIENT } from '../../src/contract/device-auth.ts';
import { type App, type AppOverrides, makeApp } from '../../src/server/app.ts';
import { type ManualClock, manualClock } from '../../src/server/platform/clock.ts';
import { parseConfig } from '../../src/server/platform/config.ts';
import type { Log } from '../../src/server/platform/log.ts';
import { TestUser } from '../accounts/test-user-client.ts';
import { CHEAP_PASSWORD_HASHING } from '../cheap-password-hashing.ts';
import { checkResponses } from '../openapi-response-check.ts';

export const ROOT_PASSWORD = 'root-password-1';

/** A device authorization response (RFC 8628 section 3.2). */
export interface IssuedCode {
  readonly device_code: string;
  readonly user_code: string;
  readonly verification_uri: string;
  readonly verification_uri_complete: string;
  readonly expires_in: number;
  readonly interval: number;
}

/** The tokens of a device sign-in. */
export interface Tokens {
  readonly access_token: string;
  readonly refresh_token: string;
  readonly llm_token: string;
  readonly token_type: string;
  readonly expires_in: number;
  readonly user_id: number;
  readonly username: string;
  readonly display_name: string;
}

/** Client id and secret of a registered device client. */
export interface Credentials {
  readonly client_id: string;
  readonly client_secret: string;
}

export const CLI: Credentials = { client_id: CLI_OAUTH_CLIENT.id, client_secret: CLI_OAUTH_CLIENT.secret };

/** The whole service on the test's own database, with a manual clock. */
export class DeviceAuthFixture {
  readonly app: App;
  readonly clock: ManualClock;
  readonly url: string;

  constructor(app: App, clock: ManualClock, url: string) {
    this.app = app;
    this.clock = clock;
    this.url = url;
  }

  anonymous(address = '127.0.0.1'): TestUser {
    return new TestUser(this.app.http.fastify, address);
  }

  /** Registers and logs in. */
  async newUser(username: string, address?: string): Promise<TestUser> {
    const person = this.anonymous(address);
    await person.register(username);
    await person.logIn(username);
    return person;
  }

  async root(): Promise<TestUser> {
    const root = this.anonymous();
    await root.logIn('root', ROOT_PASSWORD);
    return root;
  }

  code(body: Record<string, unknown> = {}, address?: string): Promise<IssuedCode> {
    return this.anonymous(address).ok('POST', '/api/auth/device/code', { client_id: CLI.client_id, ...body });
  }

  /** Polls and returns the body, success or not; the status is 200 either way. */
  async poll(device_code: string, credentials: Credentials = CLI, address?: string) {
    const answer = await this.anonymous(address).send('POST', '/api/auth/device/token', {
      device_code,
      ...credentials,
    });
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    return answer.body as { success: boolean; error?: string; message?: string; data?: Tokens };
  }

  async refresh(refresh_token: string, credentials: Credentials = CLI) {
    const answer = await this.anonymous().send('POST', '/api/auth/device/refresh', { refresh_token, ...credentials });
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    return answer.body as { success: boolean; error?: string; message?: string; data?: Tokens };
  }

  async verify(user_code: string, address?: string) {
    return this.anonymous(address).send('GET', `/api/auth/device/verify?user_code=${encodeURIComponent(user_code)}`);
  }

  async status(user_code: string): Promise<unknown> {
    return ((await this.verify(user_code)).body as { status?: string }).status;
  }

  /** A complete sign-in: code, approval, tokens. */
  async signIn(person: TestUser, body: Record<string, unknown> = {}): Promise<Tokens> {
    const code = await this.code(body);
    await person.ok('POST', '/api/auth/device/approve', { user_code: code.user_code });
    const { data } = await this.poll(code.device_code);
    assert.ok(data);
    return data;
  }

  /** Sends a management request with a device's access_token. */
  sendAsDevice(
    tokens: Pick<Tokens, 'access_token'>,
    userId: number,
    method: 'GET' | 'POST' | 'PUT' | 'DELETE',
    url: string,
    body?: unknown,
  ) {
    const headers = { authorization: `Bearer ${tokens.access_token}`, 'service-api-user': String(userId) };
    return this.anonymous().send(method, url, body, headers);
  }

  /** Whether a model call accepts the key; GET /v1/models needs nothing else. */
  async acceptsModelKey(key: string): Promise<boolean> {
    const answer = await this.anonymous().send('GET', '/v1/models', undefined, { authorization: `Bearer ${key}` });
    return answer.status !== 401;
  }
}

/** Overrides of the service under test. */
export interface DeviceAuthFixtureOptions {
  readonly env?: Record<string, string>;
  /** Default: more than a test can use. */
  readonly codeLimits?: AppOverrides['deviceCodeLimits'];
  readonly clock?: ManualClock;
  readonly masterKey?: string;
  readonly log?: Log;
  readonly outbound?: AppOverrides['outbound'];
}

export const UNLIMITED_DEVICE_CODES = { perIp: 1e9, pendingPerIp: 1e9, perClient: 1e9 };

/** A port that was free a moment ago, for a service that must know its own URL before it listens. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

/** Starts the service on the database of the URL; close `app` when done. */
export async function startDeviceService(
  url: string,
  options: DeviceAuthFixtureOptions = {},
): Promise<DeviceAuthFixture> {
  const clock = options.clock ?? manualClock();
  const config = parseConfig({
    PORT: '0',
    DATABASE_URL: url,
    LOG_LEVEL: 'silent',
    ADMIN_PASSWORD: ROOT_PASSWORD,
    MASTER_KEY: options.masterKey ?? randomBytes(32).toString('base64'),
    ...options.env,
  });
  const app = await makeApp(config, {
    clock,
    passwordCost: CHEAP_PASSWORD_HASHING,
    deviceCodeLimits: options.codeLimits ?? UNLIMITED_DEVICE_CODES,
    ...(options.log && { log: options.log }),
    ...(options.outbound && { outbound: options.outbound }),
  });
  checkResponses(app.http.routes.endpoints);
  const { port } = await app.listen();
  return new DeviceAuthFixture(app, clock, `http://127.0.0.1:${port}`);
}
