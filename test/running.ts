import { type Sandbox, type SandboxOptions, startSandbox } from '../src/sandbox/kit.ts';
import { SIMULATORS } from '../src/sandbox/simulators.ts';
import { type App, makeApp, type Overrides } from '../src/server/app.ts';
import { readConfig } from '../src/server/platform/config.ts';
import { openLog } from '../src/server/platform/log.ts';
import { Operator, ROOT } from './operator.ts';

export interface Running {
  readonly app: App;
  readonly sandbox: Sandbox;
  readonly baseUrl: string;
  readonly operator: Operator;
  /** Makes a channel to a simulator; default models: those given. */
  addChannel(
    name: string,
    models: readonly string[],
    more?: { readonly priority?: number; readonly weight?: number },
  ): Promise<number>;
  stop(): Promise<void>;
}

/** The environment of a service under test: fast periods, no log, nothing of this machine's. */
export const testEnvironment = (
  databaseUrl: string,
  more: Readonly<Record<string, string>> = {},
): Record<string, string> => ({
  PORT: '0',
  DATABASE_URL: databaseUrl,
  MASTER_KEY: Buffer.alloc(32, 7).toString('base64'),
  ADMIN_PASSWORD: ROOT.password,
  LOG_LEVEL: 'silent',
  SYNC_PERIOD_SECONDS: '1',
  ...more,
});

/** The whole service with simulated vendors, over real sockets on loopback. */
export async function startRunning(
  databaseUrl: string,
  options: {
    readonly env?: Readonly<Record<string, string>>;
    readonly overrides?: Overrides;
    readonly sandbox?: Partial<SandboxOptions>;
  } = {},
): Promise<Running> {
  const sandbox = await startSandbox({ simulators: SIMULATORS, ...options.sandbox });
  const app = await makeApp(readConfig(testEnvironment(databaseUrl, options.env)), {
    log: openLog('silent'),
    ...options.overrides,
  });
  const { port } = await app.listen();
  const baseUrl = `http://127.0.0.1:${port}`;
  const operator = await new Operator(baseUrl).signIn();
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
    },
  };
}
