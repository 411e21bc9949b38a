/**
 * `node scripts/save-release-databases.ts`, part of `npm run release`: saves the databases of this release, with data,
 * for the tests that upgrade from it: test/upgrades/releases/VERSION/sqlite.sql and postgres.sql. Those of the previous
 * release are kept for operators who skip a release; older ones are deleted. Until the first release, run this after
 * schema changes too, as test/upgrades/release-fixtures.test.ts says.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ALL_SIMULATORS, startSandbox } from '../src/sandbox/sandbox.ts';
import { AdminClient } from '../test/admin-client.ts';
import { fillWithDemoData } from '../test/browser/demo-data.ts';
import { startFakeSmsService } from '../test/browser/fake-sms-service.ts';
import { addChatModelOf, prepare, submitAll } from '../test/faults/submit-steps.ts';
import { startPostgres } from '../test/start-postgres.ts';
import { startTestService } from '../test/test-service.ts';
import {
  dumpDatabase,
  FIXTURE_MASTER_KEY,
  FIXTURES,
  isReleased,
  keptReleases,
} from '../test/upgrades/release-fixture.ts';

const { version } = JSON.parse(readFileSync(join(import.meta.dirname, '../package.json'), 'utf8')) as {
  version: string;
};

/** Number of releases whose databases are kept. */
const KEPT = 2;

/** Uses a new service as people would, and stops it with some videos unfinished. @returns an API key */
async function fill(databaseUrl: string): Promise<string> {
  const sandbox = await startSandbox({ simulators: ALL_SIMULATORS });
  const phone = await startFakeSmsService();
  const running = await startTestService(databaseUrl, {
    MASTER_KEY: FIXTURE_MASTER_KEY,
    SYNC_PERIOD_SECONDS: '1',
    MAIL_BACKEND: 'sandbox',
  });
  try {
    await running.setSiteSetting('PHONE_HTTP_URL', phone.url);
    const key = await prepare(running.url, sandbox);
    const operator = await new AdminClient(running.url).signIn();
    await addChatModelOf(sandbox, operator);
    const [base_url, credentials] = [sandbox.url('vidu'), sandbox.credentials('vidu')];
    await operator.addChannel({ vendor: 'vidu', base_url, credentials, models: ['viduq2'] });
    await fillWithDemoData({ running, phone });
    const person = await running.signUp('grace');
    await person.ok('POST', '/api/webhooks', { url: 'https://example.com/hook' });
    await submitAll(running.url, key, 'under way');
    return key;
  } finally {
    await running.stop();
    await sandbox.stop();
    phone.close();
  }
}

const scratch = mkdtempSync(join(tmpdir(), 'reelgate-fixture-'));
const postgres = await startPostgres();
try {
  const urls = { sqlite: `sqlite:${join(scratch, 'release.db')}`, postgres: postgres.url };
  const dumps: [string, string][] = [];
  for (const [name, url] of Object.entries(urls)) dumps.push([name, dumpDatabase(url, await fill(url))]);
  mkdirSync(join(FIXTURES, version), { recursive: true });
  for (const [name, text] of dumps) {
    const file = join(FIXTURES, version, `${name}.sql`);
    writeFileSync(file, text);
    console.log(`${file}: ${Math.round(text.length / 1_024)} KB`);
  }
  const kept = keptReleases().filter((each) => each === version || isReleased(each));
  for (const old of new Set(keptReleases()).difference(new Set(kept.slice(-KEPT))))
    rmSync(join(FIXTURES, old), { recursive: true });
} finally {
  await postgres.stop();
  rmSync(scratch, { recursive: true, force: true });
}
