import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import { type BrowserRig, openBrowserRig, settle, signIn } from './browser.ts';
import { chromiumPath } from './chromium.ts';
import { ROOT } from './stories.ts';

const DIST = join(import.meta.dirname, '../../dist/console');
const MOST_BYTES = 300 * 1024;

describe('what the first screen fetches', { skip: chromiumPath === undefined && !process.env.CI }, () => {
  let rig: BrowserRig;
  before(async () => {
    rig = await openBrowserRig();
  });
  after(() => rig.stop());

  /** Names of the scripts a page has asked for until it stood. */
  const scriptsOf = async (path: string, signedIn: boolean): Promise<string[]> => {
    const page = await rig.open();
    if (signedIn) {
      await signIn(page, ROOT.username, ROOT.password);
      await settle(page);
    }
    const scripts = new Set<string>();
    page.on('request', (request) => {
      if (request.resourceType() === 'script') scripts.add(new URL(request.url()).pathname);
    });
    await page.goto(path);
    await settle(page);
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
      assert.ok(bytes - gzipped(plots) < MOST_BYTES, `${bytes} bytes: ${scripts.join(' ')}`);
      assert.ok(scripts.filter((name) => /-page-/.test(name)).length <= 1, scripts.join(' '));
    });
});
