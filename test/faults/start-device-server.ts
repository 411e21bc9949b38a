import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { CLI, type IssuedCode, ROOT_PASSWORD, type Tokens } from '../device-auth/device-auth-fixture.ts';
import { fixtureProgram } from '../fixture-programs.ts';

const PROGRAM = fixtureProgram('test/faults/device-auth-server.fixture.ts');

/** A response of the management API; `data` only on success. */
export interface ApiResponse<T = unknown> {
  readonly status: number;
  readonly success: boolean;
  readonly error?: string;
  readonly message?: string;
  readonly data?: T;
}

/** Request headers of an owner who is signed in by cookie. */
export type OwnerHeaders = Readonly<Record<string, string>>;

const running = new Set<DeviceAuthServerProcess>();
// A failed test leaves its processes behind.
process.once('exit', () => {
  for (const each of running) each.abandon();
});

/** The service in its own process, called over its socket; killed when the test process exits. */
export class DeviceAuthServerProcess {
  readonly #process: ChildProcess;
  readonly address: string;

  private constructor(process: ChildProcess, address: string) {
    this.#process = process;
    this.address = address;
  }

  static async start(url: string, masterKey: string): Promise<DeviceAuthServerProcess> {
    const child = spawn(process.execPath, [PROGRAM], {
      env: {
        ...process.env,
        PORT: '0',
        DATABASE_URL: url,
        MASTER_KEY: masterKey,
        ADMIN_PASSWORD: ROOT_PASSWORD,
        LOG_LEVEL: 'silent',
      },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    // One that a failed test left behind must not keep the test process alive.
    child.unref();
    const [first] = (await once(child.stdout, 'data')) as [Buffer];
    const started = new DeviceAuthServerProcess(child, `http://127.0.0.1:${String(first).trim()}`);
    running.add(started);
    return started;
  }

  abandon(): void {
    this.#process.kill('SIGKILL');
  }

  /** Kills the process without a chance to clean up, as power loss would. */
  async kill(): Promise<void> {
    running.delete(this);
    const gone = once(this.#process, 'exit');
    this.#process.kill('SIGKILL');
    await gone;
  }

  async send<T = unknown>(
    method: 'GET' | 'POST',
    path: string,
    body?: unknown,
    headers: OwnerHeaders = {},
  ): Promise<ApiResponse<T>> {
    const response = await fetch(this.address + path, {
      method,
      headers: { ...headers, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return { status: response.status, ...((await response.json()) as Omit<ApiResponse<T>, 'status'>) };
  }

  async logIn(): Promise<OwnerHeaders> {
    const response = await fetch(`${this.address}/api/user/login`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ username: 'root', password: ROOT_PASSWORD }),
    });
    const { data } = (await response.json()) as { data: { id: number } };
    const cookies = response.headers.getSetCookie().map((line) => line.split(';')[0]);
    return { cookie: cookies.join('; '), 'service-api-user': String(data.id) };
  }

  /** Issues a code and approves it as the owner. */
  async approved(owner: OwnerHeaders, device_id = ''): Promise<IssuedCode> {
    const { data } = await this.code(device_id);
    if (data === undefined) throw new Error('no code was made');
    await this.decide('approve', data, owner);
    return data;
  }

  code(device_id = ''): Promise<ApiResponse<IssuedCode>> {
    return this.send('POST', '/api/auth/device/code', { client_id: CLI.client_id, device_id });
  }

  decide(action: 'approve' | 'deny', { user_code }: IssuedCode, owner: OwnerHeaders): Promise<ApiResponse> {
    return this.send('POST', `/api/auth/device/${action}`, { user_code }, owner);
  }

  poll({ device_code }: IssuedCode): Promise<ApiResponse<Tokens>> {
    return this.send('POST', '/api/auth/device/token', { device_code, ...CLI });
  }

  async signIn(owner: OwnerHeaders, device_id = ''): Promise<Tokens> {
    const { data } = await this.poll(await this.approved(owner, device_id));
    if (data === undefined) throw new Error('no tokens were given');
    return data;
  }

  refresh({ refresh_token }: Pick<Tokens, 'refresh_token'>): Promise<ApiResponse<Tokens>> {
    return this.send('POST', '/api/auth/device/refresh', { refresh_token, ...CLI });
  }

  logOut({ access_token }: Pick<Tokens, 'access_token'>): Promise<ApiResponse> {
    return this.send('POST', '/api/auth/device/logout', undefined, { authorization: `Bearer ${access_token}` });
  }

  /** Whether the access_token and the llm_token are accepted. */
  async opens({ access_token, llm_token }: Tokens, owner: OwnerHeaders): Promise<readonly [boolean, boolean]> {
    const user = owner['service-api-user'] ?? '';
    const self = { authorization: `Bearer ${access_token}`, 'service-api-user': user };
    const [account, models] = await Promise.all([
      this.send('GET', '/api/user/self', undefined, self),
      this.send('GET', '/v1/models', undefined, { authorization: `Bearer ${llm_token}` }),
    ]);
    return [account.status === 200, models.status !== 401];
  }
}
