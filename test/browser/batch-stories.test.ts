import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { PASSWORD } from '../accounts/test-user-client.ts';
import { type BrowserFixture, openBrowserFixture, signIn, waitForContent } from './browser-fixture.ts';
import { chromiumPath } from './chromium.ts';
import { STRINGS } from './console-strings.ts';
import { assertAccessible } from './find-accessibility-issues.ts';

const { batches } = STRINGS.en;

describe('batches in the console', { skip: chromiumPath === undefined && !process.env.CI }, () => {
  let fixture: BrowserFixture;
  let folder: string;
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'reelgate-batches-'));
    fixture = await openBrowserFixture({ ARTIFACTS: 'disk', ARTIFACTS_DIR: folder, ARTIFACTS_MIN_FREE_GB: '0' });
  });
  after(async () => {
    await fixture.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  it('a sheet is corrected in its cells, priced, started, and its results are downloaded', async () => {
    const person = await fixture.running.signUp('vera');
    await fixture.running.root.ok('PUT', `/api/admin/users/${person.id}`, { quota_delta: 50_000_000, note: 'start' });
    const page = await fixture.open();
    await signIn(page, 'vera', PASSWORD, '/batches');
    await waitForContent(page);
    await page.getByText(batches.emptyTitle).waitFor();
    const csv = 'custom_id,prompt,model,seconds\n=one,A boat [time=1],sora-2,4\ntwo,,sora-2,4\n';
    await page.setInputFiles('input[type=file]', { name: 'shots.csv', mimeType: 'text/csv', buffer: Buffer.from(csv) });
    const start = page.getByRole('button', { name: /^Start \d/ });
    await page.getByText('1 row with errors').waitFor();
    assert.equal(await start.isDisabled(), true);
    await assertAccessible(page, 'the sheet');
    await page.getByLabel(`prompt, ${batches.row} 3`).fill('A train [time=1]');
    await page.getByRole('button', { name: batches.check }).click();
    await page.getByText('2 valid rows').waitFor();
    await start.click();
    await page.getByText('2 of 2 completed, 0 failed').first().waitFor({ timeout: 60_000 });
    await page.getByText(batches.statuses.completed, { exact: true }).first().waitFor();
    await assertAccessible(page, 'the batch');
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: batches.results }).click(),
    ]);
    const text = await readFile(await download.path(), 'utf8');
    assert.match(text, /\r\n2?\d*,'=one,completed,/);
    await page.getByRole('link', { name: batches.back }).click();
    await page.getByRole('link', { name: 'shots.csv' }).waitFor();
    assert.deepEqual(fixture.problems, { violations: [], dialogs: [], errors: [], foreignRequests: [] });
  });
});
