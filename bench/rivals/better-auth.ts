import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

/**
 * npm better-auth's device plugin on SQLite (WAL, synchronous=FULL), with its own rate limits disabled. Prints
 * `listening PORT`.
 */
// A dynamic name, because the package is installed in bench/ only and the type checker must not resolve it.
const load = <T>(name: string) => import(name) as Promise<T>;
const { betterAuth } = await load<{ betterAuth(options: object): object }>('better-auth');
const { deviceAuthorization } = await load<{ deviceAuthorization(options: object): object }>('better-auth/plugins');
const { toNodeHandler } = await load<{ toNodeHandler(auth: object): RequestListener }>('better-auth/node');
const { getMigrations } = await load<{ getMigrations(options: object): Promise<{ runMigrations(): Promise<void> }> }>(
  'better-auth/db/migration',
);

const folder = mkdtempSync(join(tmpdir(), 'better-auth-'));
const database = new DatabaseSync(join(folder, 'bench.db'));
database.exec('pragma journal_mode = wal; pragma synchronous = full;');
const server = createServer();
server.listen(0, '127.0.0.1');
await once(server, 'listening');
const { port } = server.address() as AddressInfo;
const options = {
  baseURL: `http://127.0.0.1:${port}`,
  secret: 'bench-secret-bench-secret-bench-secret',
  database,
  rateLimit: { enabled: false },
  telemetry: { enabled: false },
  logger: { disabled: true },
  plugins: [deviceAuthorization({ verificationUri: '/device', interval: '1s', expiresIn: '30m' })],
};
const { runMigrations } = await getMigrations(options);
await runMigrations();
server.on('request', toNodeHandler(betterAuth(options)));
process.stdout.write(`listening ${port}\n`);
process.on('SIGTERM', () => {
  rmSync(folder, { recursive: true, force: true });
  process.exit(0);
});
