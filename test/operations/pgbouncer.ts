import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { unprivilegedUser, untilReady } from '../start-postgres.ts';
import { freePort } from './server-process.ts';

/** A running PgBouncer. */
export interface RunningPgBouncer {
  /** The URL of the same database through the pooler. */
  readonly url: string;
  stop(): Promise<void>;
}

/**
 * PgBouncer in transaction mode with its default settings, but few server connections, so that clients share them.
 *
 * @param directUrl a database on a unix socket (`?host=/folder`), where every user is trusted
 */
export async function startPgBouncer(directUrl: string, poolSize: number): Promise<RunningPgBouncer> {
  const folder = mkdtempSync(join(tmpdir(), 'rg-pgbouncer-'));
  const user = unprivilegedUser();
  if (user) chownSync(folder, user.uid, user.gid);
  const port = await freePort();
  const { searchParams, username, pathname } = new URL(directUrl);
  const file = join(folder, 'pgbouncer.ini');
  writeFileSync(
    file,
    `[databases]
* = host=${searchParams.get('host')} user=${username}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = ${poolSize}
`,
    { mode: 0o644 },
  );
  const env = { PATH: `${process.env.PATH}:/usr/sbin:/sbin` };
  const child = spawn('pgbouncer', ['-q', file], { ...user, stdio: ['ignore', 'ignore', 'inherit'], env });
  const ended = once(child, 'exit');
  const url = `postgres://${username}@127.0.0.1:${port}${pathname}`;
  await untilReady(url, child);
  return {
    url,
    async stop() {
      child.kill('SIGINT');
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
