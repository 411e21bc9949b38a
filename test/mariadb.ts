import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { createConnection } from 'mysql2/promise';

const PROGRAMS = ['/usr/sbin', '/usr/bin', '/usr/local/bin'];

/** Path of a program from MariaDB's server package; undefined if it is not installed. */
const findProgram = (name: string): string | undefined =>
  PROGRAMS.map((folder) => join(folder, name)).find((path) => existsSync(path));

/** Whether MariaDB's server is installed. */
export const hasMariadb = (): boolean => findProgram('mariadbd') !== undefined;

/** A running MariaDB server. */
export interface MariadbServer {
  /** Creates an empty database and returns its URL. */
  freshUrl(): Promise<string>;
  stop(): Promise<void>;
}

const START_TIMEOUT_MS = 60_000;

/** Starts a private server in a temporary folder, reachable only over a socket and without durability. */
export async function startMariadb(): Promise<MariadbServer> {
  const folder = mkdtempSync(join(tmpdir(), 'reelgate-mariadb-'));
  const socket = join(folder, 's');
  const data = join(folder, 'data');
  const install = findProgram('mariadb-install-db');
  const program = findProgram('mariadbd');
  if (install === undefined || program === undefined) throw new Error('MariaDB is not installed');
  const user = process.getuid?.() === 0 ? ['--user=root'] : [];
  const setUp = [
    '--no-defaults',
    `--datadir=${data}`,
    '--auth-root-authentication-method=normal',
    '--skip-test-db',
    ...user,
  ];
  execFileSync(install, setUp, { stdio: 'ignore' });
  const server = spawn(
    program,
    [
      '--no-defaults',
      `--datadir=${data}`,
      `--socket=${socket}`,
      '--skip-networking',
      `--pid-file=${join(folder, 'pid')}`,
      '--innodb-flush-log-at-trx-commit=0',
      '--innodb-buffer-pool-size=32M',
      '--skip-log-bin',
      ...user,
    ],
    { stdio: 'ignore' },
  );
  await waitUntilUp(server, socket);
  let count = 0;
  return {
    async freshUrl() {
      const name = `source${++count}`;
      const connection = await createConnection({ socketPath: socket, user: 'root' });
      await connection.query(`create database ${name} character set utf8mb4`);
      await connection.end();
      return `mysql://root@localhost/${name}?socket=${encodeURIComponent(socket)}`;
    },
    async stop() {
      const ended = new Promise((resolve) => server.once('exit', resolve));
      server.kill('SIGTERM');
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function waitUntilUp(server: ChildProcess, socketPath: string): Promise<void> {
  const endsAt = Date.now() + START_TIMEOUT_MS;
  for (;;) {
    if (server.exitCode !== null) throw new Error(`mariadbd ended with ${server.exitCode}`);
    try {
      await (await createConnection({ socketPath, user: 'root' })).end();
      return;
    } catch (error) {
      if (Date.now() > endsAt) throw error;
      await pause(100);
    }
  }
}
