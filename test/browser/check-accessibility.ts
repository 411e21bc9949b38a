import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Page } from 'playwright-core';
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
import { findAccessibilityIssues, findColourIssues } from './find-accessibility-issues.ts';

/**
 * Pinned bars across the window that are higher than 90 px and so could cover the focused element (WCAG 2.4.11); the
 * menu of a phone is no bar.
 */
const HIGH_BARS = `[...document.querySelectorAll('body *')].flatMap((element) => {
  const { position } = getComputedStyle(element);
  if (position !== 'fixed' && position !== 'sticky') return [];
  const { width, height } = element.getBoundingClientRect();
  if (width < innerWidth / 2 || height <= 90 || element.closest('nav, dialog, [role=dialog]') !== null) return [];
  return [height + ' px: ' + element.className];
})`;

/** Texts with half-width punctuation beside Chinese characters, which have full-width punctuation. */
const HALF_WIDTH = `[...new Set([...document.body.innerText.matchAll(
  /.{0,12}(?:[\\u4e00-\\u9fff](?:[:;,!?]| ?\\()|[;,!?)][\\u4e00-\\u9fff]).{0,12}/g,
)].map(([text]) => text))]`;

/**
 * Faults of the page that is open: the issues that axe reports in either colour scheme, high bars, and a number of
 * headings other than one.
 */
export async function findPageFaults(
  page: Page,
  path: string,
  { language, scheme }: Required<Pick<ContextOptions, 'language' | 'scheme'>>,
): Promise<string[]> {
  const faults: string[] = [];
  if ((await page.locator('h1').count()) !== 1) faults.push('not one heading');
  faults.push(...(await page.evaluate<string[]>(HIGH_BARS)).map((bar) => `bar of ${bar}`));
  if (language === 'zh-cn')
    faults.push(...(await page.evaluate<string[]>(HALF_WIDTH)).map((text) => `half-width: ${text}`));
  faults.push(...(await findAccessibilityIssues(page)));
  // The other scheme of the page that is open: loading it again would take longer.
  const other = scheme === 'light' ? 'dark' : 'light';
  await page.emulateMedia({ colorScheme: other });
  faults.push(...(await findColourIssues(page)).map((fault) => `${other}: ${fault}`));
  await page.emulateMedia({ colorScheme: scheme });
  return faults.map((fault) => `${path}: ${fault}`);
}

/**
 * Checks every page of the console for one combination of language, scheme and window size. Each combination has its
 * own test file, so that they run in parallel.
 */
export function checkPagesAccessibility({ language, scheme, width, height }: Required<ContextOptions>): void {
  const name = `every page of the console in Chromium, in ${language}, ${scheme}, ${width} px`;
  describe(name, { skip: chromiumPath === undefined && !process.env.CI }, () => {
    let fixture: BrowserFixture;
    before(async () => {
      fixture = await openBrowserFixture();
      await fillWithDemoData(fixture);
      await fixture.running.setSiteSetting('STATUS_PAGE', '1');
    });
    after(() => fixture.stop());

    it('has no issue reported by axe in either scheme, no high bar, and fits its window', async () => {
      const page = await fixture.open({ language, scheme, width, height });
      const faults: string[] = [];
      const check = async (path: string): Promise<void> => {
        if ((await page.locator('[data-failure]').count()) > 0) faults.push(`${path}: shows a failure`);
        faults.push(...(await findPageFaults(page, path, { language, scheme })));
      };
      for (const path of ['/status', '/sign-in', '/register']) {
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
