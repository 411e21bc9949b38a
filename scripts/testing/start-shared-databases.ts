import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  administer,
  createPostgresTemplate,
  createSqliteTemplate,
  POSTGRES_TEMPLATE,
} from '../../test/database-templates.ts';
import { findPostgres, startPostgres } from '../../test/start-postgres.ts';

/** Services shared by all test files, started once. */
export interface SharedDatabases {
  /** Variables with their addresses, for the tests. */
  environment: Record<string, string>;
  stop(): Promise<void>;
}

/**
 * Starts PostgreSQL and creates the databases that tests copy, unless a server is already named or PostgreSQL is not
 * installed (in that case tests report why they skip or fail).
 */
export async function startSharedDatabases(): Promise<SharedDatabases> {
  const folder = mkdtempSync(join(tmpdir(), 'rg-test-'));
  const environment: Record<string, string> = { TEST_SQLITE_TEMPLATE: await createSqliteTemplate(folder) };
  const stop = async () => rmSync(folder, { recursive: true, force: true });
  const given = process.env['TEST_POSTGRES_URL'];
  if (given) {
    const template = `${POSTGRES_TEMPLATE}_${process.pid}`;
    await createPostgresTemplate(given, template);
    return {
      environment: { ...environment, TEST_POSTGRES_TEMPLATE: template },
      stop: async () => {
        await stop();
        await administer(given, `drop database if exists ${template}`);
      },
    };
  }
  if (findPostgres() === undefined) return { environment, stop };
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
