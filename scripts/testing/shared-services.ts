import { findPostgres, startPostgres } from '../../test/postgres.ts';

/** What all test files share, started once. */
export interface SharedServices {
  /** Variables by which tests find them. */
  environment: Record<string, string>;
  stop(): Promise<void>;
}

/** Starts PostgreSQL, unless one is named already or none is installed; then tests say themselves why they skip or fail. */
export async function startSharedServices(): Promise<SharedServices> {
  if (process.env['TEST_POSTGRES_URL'] || findPostgres() === undefined) {
    return { environment: {}, stop: async () => {} };
  }
  const postgres = await startPostgres();
  return { environment: { TEST_POSTGRES_URL: postgres.url }, stop: () => postgres.stop() };
}
