import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { findAccessibilityIssues } from './axe.ts';
import {
  type BrowserFixture,
  type ContextOptions,
  openBrowserFixture,
  signIn,
  waitForContent,
} from './browser-fixture.ts';
import { chromiumPath } from './chromium.ts';
import { CONSOLE_PATHS } from './console-paths.ts';
import { fillWithDemoData, ROOT } from './demo-data.ts';

/**
 * Goes to a page within the console, without a reload: the scripts, axe and what was fetched stay. The heading of the page that
 * is left is marked, so that its disappearance can be waited for.
 */
async function navigateWithin(page: Page, path: string): Promise<void> {
  await page.evaluate(`for (const heading of document.querySelectorAll('h1')) heading.setAttribute('data-left', '');
    history.pushState({}, '', ${JSON.stringify(path)});`);
  await page.locator('h1:not([data-left])').first().waitFor();
  await waitForContent(page);
}

/** Checks every page of the console as one kind of visitor sees it. One file for each, so that they run beside each other. */
export function describeAccessibility({ language, scheme, width, height }: Required<ContextOptions>): void {
  const name = `every page of the console in Chromium, in ${language}, ${scheme}, ${width} px`;
  describe(name, { skip: chromiumPath === undefined && !process.env.CI }, () => {
    let fixture: BrowserFixture;
    before(async () => {
      fixture = await openBrowserFixture();
      await fillWithDemoData(fixture);
    });
    after(() => fixture.stop());

    it('has no fault for axe and fits its window', async () => {
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
      assert.deepEqual(faults, []);
      await page.context().close();
    });

    it('violates no content security policy, requests nothing from other origins and throws nothing', () => {
      assert.deepEqual(fixture.problems, { violations: [], dialogs: [], errors: [], foreignRequests: [] });
    });
  });
}
