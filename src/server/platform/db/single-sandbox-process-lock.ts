import { setTimeout as delay } from 'node:timers/promises';
import type { Client } from 'pg';
import { ConfigError } from '../setting-readers.ts';
import type { DatabaseLog } from './database-interface-and-options.ts';
import { loadPg } from './load-pg.ts';
import { toConnectError } from './postgres-errors.ts';
import { PostgresHosts } from './postgres-hosts.ts';

/** Any number no other advisory lock of this database uses. */
const SANDBOX_LOCK = 7_264_920_118;
/** The server may take a moment to notice that the process which had it before is gone. */
const TRIES = 20;
const RETRY_MS = 250;

/**
 * Makes this process the only one with SANDBOX=1 on a PostgreSQL database, until it ends: simulated vendors live in one
 * process, and a second one would point the channels at its own.
 *
 * @throws ConfigError when another process has the sandbox
 */
export async function acquireSingleSandboxLock(url: string, log: DatabaseLog): Promise<{ release(): Promise<void> }> {
  const hosts = new PostgresHosts(url);
  const client = new (loadPg().Client)({ ...hosts.clientConfig(), application_name: 'reelgate sandbox' });
  client.on('error', (error) => log.warn({ err: error }, 'the lock of the sandbox was lost'));
  try {
    await client.connect();
  } catch (error) {
    throw toConnectError(error, hosts.describe());
  }
  for (let tries = 1; !(await tryLock(client)); tries++) {
    if (tries === TRIES) {
      await client.end();
      throw new ConfigError(
        'SANDBOX',
        'another process already runs the simulated vendors on this database; one process can. Start this one without SANDBOX, or with a database of its own',
      );
    }
    await delay(RETRY_MS);
  }
  return { release: () => client.end() };
}

async function tryLock(client: Client): Promise<boolean> {
  const { rows } = await client.query('select pg_try_advisory_lock($1::bigint) as locked', [SANDBOX_LOCK]);
  return rows[0]?.locked === true;
}
