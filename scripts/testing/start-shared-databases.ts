import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createPostgresTemplate, createSqliteTemplate, POSTGRES_TEMPLATE } from '../../test/database-templates.ts';
import { findPostgres, startPostgres } from '../../test/start-postgres.ts';

/** Services that all test files share, started once. */
export interface SharedDatabases {
  /** Variables that tell tests their addresses. */
  environment: Record<string, string>;
  stop(): Promise<void>;
}

/**
 * Starts PostgreSQL, unless one is named already or none is installed (then tests say themselves why they skip or fail), and
 * creates the databases that tests copy.
 */
export async function startSharedDatabases(): Promise<SharedDatabases> {
  const folder = mkdtempSync(join(tmpdir(), 'rg-test-'));
  const environment: Record<string, string> = { TEST_SQLITE_TEMPLATE: await createSqliteTemplate(folder) };
  const stop = async () => rmSync(folder, { recursive: true, force: true });
  if (process.env['TEST_POSTGRES_URL'] || findPostgres() === undefined) return { environment, stop };
  const postgres = await startPostgres();
  await createPostgresTemplate(postgres.url, POSTGRES_TEMPLATE);
  return {
    environment: { ...environment, TEST_POSTGRES_URL: postgres.url, TEST_POSTGRES_TEMPLATE: POSTGRES_TEMPLATE },
    stop: async () => {
      await stop();
      await postgres.stop();
    },
  };
}
