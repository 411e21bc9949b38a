import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import { type BrowserFixture, openBrowserFixture, signIn, waitForContent } from './browser-fixture.ts';
import { chromiumPath } from './chromium.ts';
import { ROOT } from './demo-data.ts';

const DIST = join(import.meta.dirname, '../../dist/console');
const MAX_BYTES = 300 * 1024;

describe('what the first screen fetches', { skip: chromiumPath === undefined && !process.env.CI }, () => {
  let fixture: BrowserFixture;
  before(async () => {
    fixture = await openBrowserFixture();
  });
  after(() => fixture.stop());

  /** Names of the scripts a page has requested until it is rendered. */
  const scriptsOf = async (path: string, signedIn: boolean): Promise<string[]> => {
    const page = await fixture.open();
    if (signedIn) {
      await signIn(page, ROOT.username, ROOT.password);
      await waitForContent(page);
    }
    const scripts = new Set<string>();
    page.on('request', (request) => {
      if (request.resourceType() === 'script') scripts.add(new URL(request.url()).pathname);
    });
    await page.goto(path);
    await waitForContent(page);
    await page.context().close();
    return [...scripts];
  };
  const gzipped = (paths: readonly string[]): number =>
    paths.reduce((sum, path) => sum + gzipSync(readFileSync(join(DIST, path)), { level: 9 }).length, 0);

  for (const [path, signedIn] of [
    ['/sign-in', false],
    ['/studio', true],
    ['/account/overview', true],
    ['/admin/overview', true],
  ] as const)
    it(`is less than 300 KB of gzipped script at ${path}, without any page that was not asked for`, async () => {
      const scripts = await scriptsOf(path, signedIn);
      assert.ok(scripts.length > 3, 'the page runs on scripts');
      const bytes = gzipped(scripts);
      // Plots come after what the page has to say.
      const plots = scripts.filter((name) => /chart|plot/i.test(name));
      assert.ok(bytes - gzipped(plots) < MAX_BYTES, `${bytes} bytes: ${scripts.join(' ')}`);
      assert.ok(scripts.filter((name) => /-page-/.test(name)).length <= 1, scripts.join(' '));
    });
});
