import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startPostgres } from '../test/postgres.ts';
import { startService } from './support/child-processes.ts';
import { rawLoad } from './support/raw-socket-load.ts';
import { COMPLETION, makeAccountCalls, startChatService } from './support/start-chat-service.ts';
import { startNginx } from './support/start-nginx.ts';

/**
 * One process on PostgreSQL, then two on the same database: whether the second one helps. Sixteen accounts, as a single one
 * is a queue at its wallet. PostgreSQL runs without fsync, so this is about our processes, not about its disk.
 *
 * Repeat with `node bench/chat-replicas.ts`; needs nginx, PostgreSQL, and more cores than processes to say anything.
 */
const SECONDS = Number(process.env.SECONDS ?? '5');
const ACCOUNTS = 16;
const CONNECTIONS = 64;

const postgres = await startPostgres();
const upstream = await startNginx(`location / { return 200 '${COMPLETION}'; }`);
const folder = mkdtempSync(join(tmpdir(), 'reelgate-bench-'));
const env = { DATABASE_URL: postgres.url };
const { service: first } = await startChatService(4_383, upstream.origin, env);
const second = await startService(4_384, env, folder);
const requests = await makeAccountCalls(first, ACCOUNTS);

try {
  await measure([4_383], 2);
  const one = await measure([4_383], SECONDS);
  await measure([4_384], 2);
  const two = await measure([4_383, 4_384], SECONDS);
  process.stdout.write(
    `one process ${one.toFixed(0)}/s, two ${two.toFixed(0)}/s: ${(two / one).toFixed(2)} times as many\n`,
  );
} finally {
  await first.stop();
  await second.stop();
  await upstream.stop();
  await postgres.stop();
}

/** Requests a second over these ports together, every account with the same number of connections. */
async function measure(ports: readonly number[], seconds: number): Promise<number> {
  const connections = CONNECTIONS / ACCOUNTS / ports.length;
  const loads = ports.flatMap((port) => requests.map((request) => rawLoad({ port, connections, seconds, request })));
  const results = await Promise.all(loads);
  const failed = results.find(({ failures }) => failures > 0);
  if (failed !== undefined) throw new Error(failed.firstFailure);
  return results.reduce((sum, { perSecond }) => sum + perSecond, 0);
}
