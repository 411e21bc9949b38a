import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before } from 'node:test';
import { Client } from 'pg';
import type { Database } from '../../src/server/platform/db/database.ts';
import { createVault } from '../../src/server/platform/vault.ts';
import type { Tables } from '../../src/server/tables.ts';
import { type MariadbServer, startMariadb } from '../../test/mariadb.ts';
import { buildImporter } from '../import.ts';
import type { Importer, ImporterDependencies } from '../importer.ts';

/** A vault with a fixed key. */
export const VAULT = createVault(Buffer.alloc(32, 7));

type Hooks = Pick<ImporterDependencies, 'onPage'>;

/** Constructs the importer on a test database. */
export const makeTestImporter = (database: Database<Tables>, hooks: Hooks = {}): Importer =>
  buildImporter(database, VAULT, 500_000, { onProgress: () => {}, ...hooks });

/** An import request that does not watch the source. */
export const requestFor = (from: string, generation: string) => ({
  program: generation.startsWith('one-api') ? ('one-api' as const) : ('new-api' as const),
  from,
  watchMs: 0,
});

/** Where the sources of a suite are; set before its first test. */
export interface SourceServers {
  folder: string;
  mariadb?: MariadbServer;
}

/** Provides a folder for sources on SQLite, and a MariaDB server if the suite reads from one. */
export function provideSources(needsMariadb: boolean): SourceServers {
  const sources: SourceServers = { folder: '' };
  before(async () => {
    sources.folder = mkdtempSync(join(tmpdir(), 'reelgate-import-'));
    if (needsMariadb) sources.mariadb = await startMariadb();
  });
  after(async () => {
    await sources.mariadb?.stop();
    rmSync(sources.folder, { recursive: true });
  });
  return sources;
}

/** The URL of a new SQLite file in a folder. */
export const newSqliteUrl = (folder: string): string => `sqlite:${join(folder, `${randomUUID()}.db`)}`;

/** Creates a database on the server of another database's URL. */
export async function newPostgresUrl(serverUrl: string): Promise<string> {
  const name = `source_${randomUUID().replaceAll('-', '')}`;
  const client = new Client({ connectionString: serverUrl });
  await client.connect();
  await client.query(`create database ${name}`);
  await client.end();
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  return url.href;
}

/** Every row of the tables an import writes, without values that differ between runs. */
export async function stateOf({ kysely }: Database<Tables>): Promise<string> {
  const [accounts, wallets, ledger, tokens, limits, channels, models, codes, usage, plans, secondSteps, rows, tasks] =
    await Promise.all([
      kysely
        .selectFrom('accounts')
        .select(['username', 'email', 'login_email', 'role', 'status'])
        .orderBy('username')
        .execute(),
      kysely
        .selectFrom('wallets')
        .innerJoin('accounts', 'accounts.id', 'wallets.user_id')
        .select(['username', 'balance'])
        .orderBy('username')
        .execute(),
      kysely
        .selectFrom('ledger')
        .innerJoin('accounts', 'accounts.id', 'ledger.user_id')
        .select(['username', 'ledger.kind', 'amount', 'ref'])
        .orderBy('ref')
        .orderBy('ledger.kind')
        .orderBy('amount')
        .execute(),
      kysely
        .selectFrom('tokens')
        .innerJoin('accounts', 'accounts.id', 'tokens.user_id')
        .select(['username', 'tokens.name', 'hash', 'models', 'allowed_addresses', 'expires_at'])
        .orderBy('hash')
        .execute(),
      kysely
        .selectFrom('token_limits')
        .select(['quota_limit', 'used'])
        .orderBy('quota_limit')
        .orderBy('used')
        .execute(),
      kysely
        .selectFrom('channels')
        .select(['name', 'vendor', 'base_url', 'models', 'options', 'enabled'])
        .orderBy('name')
        .orderBy('base_url')
        .orderBy('models')
        .orderBy('options')
        .orderBy('enabled')
        .execute(),
      kysely.selectFrom('models').select(['id', 'vendor', 'kind', 'price', 'enabled']).orderBy('id').execute(),
      kysely.selectFrom('redemption_codes').select(['hash', 'quota']).orderBy('hash').execute(),
      kysely
        .selectFrom('usage_daily')
        .innerJoin('accounts', 'accounts.id', 'usage_daily.user_id')
        .select(['username', 'day', 'model', 'requests', 'quota'])
        .orderBy('day')
        .orderBy('username')
        .orderBy('model')
        .execute(),
      kysely
        .selectFrom('plans')
        .leftJoin('subscriptions', 'subscriptions.plan_id', 'plans.id')
        .leftJoin('accounts', 'accounts.id', 'subscriptions.user_id')
        .select(['package_code', 'price_factor', 'username', 'subscriptions.state'])
        .orderBy('package_code')
        .orderBy('username')
        .execute(),
      kysely
        .selectFrom('two_factors')
        .innerJoin('accounts', 'accounts.id', 'two_factors.user_id')
        .select('username')
        .orderBy('username')
        .execute(),
      kysely
        .selectFrom('import_rows')
        .select(['kind', 'source_id', 'name'])
        .orderBy('kind')
        .orderBy('source_id')
        .orderBy('name')
        .execute(),
      // Sequences skip the numbers of aborted transactions, so keys are identified by their hash.
      kysely
        .selectFrom('tasks')
        .leftJoin('tokens', 'tokens.id', 'tasks.token_id')
        .select(['tasks.id', 'public_id', 'price', 'tasks.status', 'handle', 'artifact', 'fail_reason', 'tokens.hash'])
        .select((eb) => eb.case().when('seq', '<', 0).then(eb.ref('seq')).else(0).end().as('history'))
        .select((eb) => eb.case().when('seq', '<', 0).then(eb.ref('finish_time')).else(0).end().as('finished'))
        .orderBy('tasks.id')
        .execute(),
    ]);
  return JSON.stringify(
    { accounts, wallets, ledger, tokens, limits, channels, models, codes, usage, plans, secondSteps, rows, tasks },
    null,
    1,
  );
}
