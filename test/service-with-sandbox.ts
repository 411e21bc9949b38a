import { ALL_SIMULATORS, type Sandbox, type SandboxOptions, startSandbox } from '../src/sandbox/sandbox.ts';
import { type App, type AppOverrides, makeApp } from '../src/server/app.ts';
import { parseConfig } from '../src/server/platform/config.ts';
import { openLog } from '../src/server/platform/log.ts';
import { AdminClient, ROOT_LOGIN } from './admin-client.ts';
import { CHEAP_PASSWORD_HASHING } from './cheap-password-hashing.ts';
import { copyForMemoryUrl } from './database-templates.ts';
import { checkResponses } from './openapi-response-check.ts';

/** A service under test and the simulated vendors of its channels. */
export interface SandboxService {
  readonly app: App;
  readonly sandbox: Sandbox;
  readonly baseUrl: string;
  readonly operator: AdminClient;
  /** Creates a channel with these models to a simulator; returns its id. */
  addChannel(
    name: string,
    models: readonly string[],
    more?: { readonly priority?: number; readonly weight?: number; readonly options?: object },
  ): Promise<number>;
  stop(): Promise<void>;
}

/** The environment of a service under test: short periods, no log, nothing from this machine. */
export const testEnvironment = (
  databaseUrl: string,
  more: Readonly<Record<string, string>> = {},
): Record<string, string> => ({
  PORT: '0',
  DATABASE_URL: databaseUrl,
  MASTER_KEY: Buffer.alloc(32, 7).toString('base64'),
  ADMIN_PASSWORD: ROOT_LOGIN.password,
  LOG_LEVEL: 'silent',
  SYNC_PERIOD_SECONDS: '1',
  KEY_REQUESTS_PER_MINUTE: '0',
  ARTIFACTS: 'off',
  ...more,
});

/** The whole service with simulated vendors, over real sockets on loopback. */
export async function startSandboxService(
  databaseUrl: string,
  options: {
    readonly env?: Readonly<Record<string, string>>;
    readonly overrides?: AppOverrides;
    readonly sandbox?: Partial<SandboxOptions>;
    /** A poll period shorter than the setting permits, for tests that wait for many polls. */
    readonly pollPeriodSeconds?: number;
  } = {},
): Promise<SandboxService> {
  const sandbox = await startSandbox({ simulators: ALL_SIMULATORS, ...options.sandbox });
  const database = await copyForMemoryUrl(databaseUrl);
  const config = parseConfig(testEnvironment(database.url, options.env));
  const app = await makeApp(
    { ...config, syncPeriodSeconds: options.pollPeriodSeconds ?? config.syncPeriodSeconds },
    {
      log: openLog('silent'),
      passwordCost: CHEAP_PASSWORD_HASHING,
      ...options.overrides,
    },
  );
  checkResponses(app.http.routes.endpoints);
  const { port } = await app.listen();
  const baseUrl = `http://127.0.0.1:${port}`;
  const operator = await new AdminClient(baseUrl).signIn();
  await operator.requestData('PUT', '/api/admin/settings/DEFAULT_VIDEO_MODEL', { value: 'sora-2' });
  return {
    app,
    sandbox,
    baseUrl,
    operator,
    addChannel: (name, models, more = {}) =>
      operator.addChannel({
        vendor: name.split('-')[0] ?? name,
        base_url: sandbox.url(name),
        credentials: sandbox.credentials(name),
        models,
        ...more,
      }),
    async stop() {
      await app.close(1_000);
      await sandbox.stop();
      database.remove();
    },
  };
}
