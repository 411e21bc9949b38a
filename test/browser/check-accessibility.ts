import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import {
  type BrowserFixture,
  type ContextOptions,
  navigateWithin,
  openBrowserFixture,
  signIn,
  waitForContent,
} from './browser-fixture.ts';
import { chromiumPath } from './chromium.ts';
import { CONSOLE_PATHS, findLinkedPath, LINKED_PAGES } from './console-paths.ts';
import { fillWithDemoData, ROOT } from './demo-data.ts';
import { findAccessibilityIssues } from './find-accessibility-issues.ts';

/**
 * Checks every page of the console for one combination of language, scheme and window size. Each combination has its
 * own test file, so that they run in parallel.
 */
export function checkAccessibilityOfEveryPage({ language, scheme, width, height }: Required<ContextOptions>): void {
  const name = `every page of the console in Chromium, in ${language}, ${scheme}, ${width} px`;
  describe(name, { skip: chromiumPath === undefined && !process.env.CI }, () => {
    let fixture: BrowserFixture;
    before(async () => {
      fixture = await openBrowserFixture();
      await fillWithDemoData(fixture);
    });
    after(() => fixture.stop());

    it('has no issue reported by axe and fits its window', async () => {
      const page = await fixture.open({ language, scheme, width, height });
      const faults: string[] = [];
      const check = async (path: string): Promise<void> => {
        if ((await page.locator('h1').count()) !== 1) faults.push(`${path}: not one heading`);
        if ((await page.locator('[data-failure]').count()) > 0) faults.push(`${path}: shows a failure`);
        faults.push(...(await findAccessibilityIssues(page)).map((fault) => `${path}: ${fault}`));
      };
      for (const path of ['/sign-in', '/register']) {
        await page.goto(path);
        await waitForContent(page);
        await check(path);
      }
      await signIn(page, ROOT.username, ROOT.password);
      await waitForContent(page);
      await check('/studio');
      for (const path of Object.values(CONSOLE_PATHS)) {
        if (path === '/studio') continue;
        await navigateWithin(page, path);
        await check(path);
      }
      for (const [from, href] of Object.values(LINKED_PAGES)) {
        await navigateWithin(page, from);
        await navigateWithin(page, await findLinkedPath(page, href));
        await check(href);
      }
      assert.deepEqual(faults, []);
      await page.context().close();
    });

    it('violates no content security policy, sends no request to other origins and throws no error', () => {
      assert.deepEqual(fixture.problems, { violations: [], dialogs: [], errors: [], foreignRequests: [] });
    });
  });
}
