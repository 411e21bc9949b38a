import { randomBytes } from 'node:crypto';
import { type App, makeApp, type Overrides } from '../src/server/app.ts';
import { readConfig } from '../src/server/platform/config.ts';
import { openLog } from '../src/server/platform/log.ts';
import { Person } from './accounts/person.ts';

const ROOT = { username: 'root', password: 'root-password-1' };

export interface RunningApp {
  readonly app: App;
  /** `http://127.0.0.1:port`. */
  readonly url: string;
  /** For a second process on the same database. */
  readonly masterKey: string;
  /** The first administrator, logged in. */
  readonly root: Person;
  /** Registers and logs in. */
  person(username: string): Promise<Person>;
  stop(): Promise<void>;
}

/** The whole service, as `npm start` builds it, on a free port of loopback. */
export async function runApp(
  databaseUrl: string,
  env: Readonly<Record<string, string>> = {},
  overrides: Overrides = {},
): Promise<RunningApp> {
  const masterKey = env.MASTER_KEY ?? randomBytes(32).toString('base64');
  const config = readConfig({
    HOST: '127.0.0.1',
    PORT: '0',
    DATABASE_URL: databaseUrl,
    MASTER_KEY: masterKey,
    ADMIN_USERNAME: ROOT.username,
    ADMIN_PASSWORD: ROOT.password,
    ...env,
  });
  const app = await makeApp(config, { log: openLog('silent'), ...overrides });
  const { port } = await app.listen();
  const visitor = () => new Person(app.http.fastify, '127.0.0.1');
  const root = visitor();
  await root.logIn(ROOT.username, ROOT.password);
  return {
    app,
    url: `http://127.0.0.1:${port}`,
    masterKey,
    root,
    async person(username) {
      const person = visitor();
      await person.register(username);
      await person.logIn(username);
      return person;
    },
    stop: () => app.close(0),
  };
}
