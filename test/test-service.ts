import { randomBytes } from 'node:crypto';
import { type App, type AppOverrides, makeApp } from '../src/server/app.ts';
import { parseConfig } from '../src/server/platform/config.ts';
import { openLog } from '../src/server/platform/log.ts';
import { TestUser } from './accounts/test-user-client.ts';
import { CHEAP_PASSWORD_HASHING } from './cheap-password-hashing.ts';
import { copyForMemoryUrl } from './database-templates.ts';
import { checkResponses } from './openapi-response-check.ts';

const ROOT = { username: 'root', password: 'root-password-1' };

/** A running service with its first administrator. */
export interface TestService {
  readonly app: App;
  /** `http://127.0.0.1:port`. */
  readonly url: string;
  /** Lets a second process use the same database. */
  readonly masterKey: string;
  /** The first administrator, logged in. */
  readonly root: TestUser;
  /** Registers and logs in. */
  signUp(username: string): Promise<TestUser>;
  /** Stores a site setting; null restores its default. */
  setSiteSetting(name: string, value: string | null): Promise<void>;
  stop(): Promise<void>;
}

/** The whole service, as `npm start` builds it, on a free loopback port. */
export async function startTestService(
  databaseUrl: string,
  env: Readonly<Record<string, string>> = {},
  overrides: AppOverrides = {},
): Promise<TestService> {
  const masterKey = env.MASTER_KEY ?? randomBytes(32).toString('base64');
  const database = await copyForMemoryUrl(databaseUrl);
  const config = parseConfig({
    HOST: '127.0.0.1',
    PORT: '0',
    DATABASE_URL: database.url,
    MASTER_KEY: masterKey,
    ADMIN_USERNAME: ROOT.username,
    ADMIN_PASSWORD: ROOT.password,
    ARTIFACTS: 'off',
    ...env,
  });
  const app = await makeApp(config, { log: openLog('silent'), passwordCost: CHEAP_PASSWORD_HASHING, ...overrides });
  checkResponses(app.http.routes.endpoints);
  const { port } = await app.listen();
  const visitor = () => new TestUser(app.http.fastify, '127.0.0.1');
  const root = visitor();
  await root.logIn(ROOT.username, ROOT.password);
  return {
    app,
    url: `http://127.0.0.1:${port}`,
    masterKey,
    root,
    async signUp(username) {
      const person = visitor();
      await person.register(username);
      await person.logIn(username);
      return person;
    },
    async setSiteSetting(name, value) {
      await root.ok('PUT', `/api/admin/settings/${name}`, { value });
    },
    async stop() {
      await app.close(0);
      database.remove();
    },
  };
}
