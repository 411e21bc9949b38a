import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { copySqliteTemplate } from '../database-templates.ts';
import { assertResponsesDescribed } from '../openapi-response-check.ts';
import { seededRandom } from '../seeded-random.ts';
import { startListedService } from './listed-service.ts';
import { sharesOf, walkListed } from './listed-walk.ts';

/**
 * Walks a share of the whole product of listed models and prints the result as JSON. A program of its own, because the
 * hooks of the test runner take a third of the CPU time, and so that all cores work.
 *
 * Arguments: index of the share, number of shares, seed.
 */
const [share = 0, count = 1, seed = 1] = process.argv.slice(2).map(Number);
const folder = mkdtempSync(join(tmpdir(), 'rg-listed-product-'));
const database = join(folder, 'test.db');
await copySqliteTemplate(database);
const service = await startListedService(`sqlite:${database}`);
try {
  const models = sharesOf(service.models, service.uploads, count)[share] ?? [];
  const walk = await walkListed(service, models, { random: seededRandom(seed + share), isWhole: true });
  assertResponsesDescribed();
  process.stdout.write(JSON.stringify({ ...walk, problems: walk.problems.slice(0, 20) }));
} finally {
  await service.stop();
  rmSync(folder, { recursive: true, force: true });
}
