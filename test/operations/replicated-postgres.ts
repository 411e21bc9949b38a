import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { findPostgres, signalWithChildren, unprivilegedUser, untilReady } from '../start-postgres.ts';
import { freePort } from './server-process.ts';

/**
 * A primary and its standby by synchronous streaming replication: a transaction committed on the primary is on the
 * standby too.
 */
export interface ReplicatedPostgres {
  /** URL that names both servers, the primary first. */
  readonly url: string;
  /** URL of the server that is the standby at first. */
  readonly standbyUrl: string;
  /** Kills the primary like a crash (SIGKILL), or suspends it like a machine that hangs (SIGSTOP). */
  failPrimary(how: 'SIGKILL' | 'SIGSTOP'): void;
  /** Promotes the standby to primary. */
  promote(): Promise<void>;
  stop(): Promise<void>;
}

const SETTINGS = ['unix_socket_directories=', 'fsync=off', 'max_connections=100', 'shared_buffers=32MB'];

/** Starts both servers in a temporary folder. @throws Error if PostgreSQL is not installed */
export async function startReplicatedPostgres(): Promise<ReplicatedPostgres> {
  const bin = findPostgres();
  if (!bin) throw new Error('PostgreSQL (initdb, postgres) is not installed');
  const folder = mkdtempSync(join(tmpdir(), 'rg-pair-'));
  const user = unprivilegedUser();
  if (user) chownSync(folder, user.uid, user.gid);
  const options = { ...user, cwd: folder, env: { LC_ALL: 'C', PATH: process.env.PATH } };
  const run = (program: string, ...words: string[]) =>
    execFileSync(join(bin, program), words, { ...options, stdio: ['ignore', 'ignore', 'inherit'] });
  const boot = (name: string, port: number, ...more: string[]): ChildProcess => {
    const settings = [...SETTINGS, 'listen_addresses=127.0.0.1', `port=${port}`, ...more];
    return spawn(join(bin, 'postgres'), ['-D', join(folder, name), ...settings.flatMap((each) => ['-c', each])], {
      ...options,
      stdio: 'ignore',
    });
  };
  const [primaryPort, standbyPort] = [await freePort(), await freePort()];
  const urlOf = (hosts: string) => `postgres://reelgate@${hosts}/postgres`;
  const primaryUrl = urlOf(`127.0.0.1:${primaryPort}`);
  const standbyUrl = urlOf(`127.0.0.1:${standbyPort}`);

  const primaryFolder = join(folder, 'primary');
  run('initdb', '-D', primaryFolder, '-U', 'reelgate', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync');
  const primary = boot('primary', primaryPort);
  await untilReady(primaryUrl, primary);
  run(
    'pg_basebackup',
    '-d',
    primaryUrl,
    '-D',
    join(folder, 'standby'),
    '-R',
    '-X',
    'stream',
    '-c',
    'fast',
    '--no-sync',
  );
  const standby = boot('standby', standbyPort);
  await untilReady(standbyUrl, standby);
  await execute(primaryUrl, "alter system set synchronous_standby_names = '*'", 'select pg_reload_conf()');
  return {
    url: urlOf(`127.0.0.1:${primaryPort},127.0.0.1:${standbyPort}`),
    standbyUrl,
    failPrimary(how) {
      if (how === 'SIGSTOP') signalWithChildren(primary.pid ?? 0, 'SIGSTOP');
      // A crash ends the sessions too.
      else primary.kill('SIGQUIT');
    },
    promote: () => execute(standbyUrl, 'select pg_promote()'),
    async stop() {
      for (const server of [primary, standby]) {
        if (server.exitCode !== null || server.signalCode !== null) continue;
        const gone = once(server, 'exit');
        signalWithChildren(server.pid ?? 0, 'SIGCONT');
        server.kill('SIGQUIT');
        await gone;
      }
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

async function execute(url: string, ...statements: string[]): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  for (const statement of statements) await client.query(statement);
  await client.end();
}
