/**
 * One chunk of `npm run fuzz`, as its own program: the test runner's hooks on every promise would take a third of the
 * time. `FUZZ_DATABASE`, `FUZZ_REQUESTS` and `FUZZ_SEED` configure it; the report goes to the file `FUZZ_REPORT`.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { copyPostgresTemplate, copySqliteTemplate } from '../database-templates.ts';
import { assertResponsesDescribed } from '../openapi-response-check.ts';
import { startPostgres } from '../start-postgres.ts';
import { startAndFuzzService } from './fuzz-service.ts';

// Runs the exit handlers, which above all stop this process's PostgreSQL.
process.once('SIGTERM', () => process.exit(143));

const { FUZZ_DATABASE, FUZZ_REQUESTS, FUZZ_SEED, FUZZ_REPORT = '' } = process.env;
const folder = mkdtempSync(join(tmpdir(), 'rg-fuzz-'));
const postgres = FUZZ_DATABASE === 'postgres' ? await startPostgres() : undefined;
try {
  let url = `sqlite:${join(folder, 'fuzz.db')}`;
  if (postgres === undefined) await copySqliteTemplate(join(folder, 'fuzz.db'));
  else {
    await copyPostgresTemplate(postgres.url, 'fuzz');
    url = Object.assign(new URL(postgres.url), { pathname: '/fuzz' }).href;
  }
  const report = await startAndFuzzService(url, { requests: Number(FUZZ_REQUESTS), seed: Number(FUZZ_SEED) });
  writeFileSync(FUZZ_REPORT, JSON.stringify(report));
  assertResponsesDescribed();
} finally {
  await postgres?.stop();
  rmSync(folder, { recursive: true });
}
