import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
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

const VARIANTS: readonly Required<ContextOptions>[] = [
  { language: 'en', scheme: 'light', width: 1280, height: 860 },
  { language: 'zh-cn', scheme: 'dark', width: 360, height: 740 },
];

describe('every page of the console in Chromium', { skip: chromiumPath === undefined && !process.env.CI }, () => {
  let fixture: BrowserFixture;
  before(async () => {
    fixture = await openBrowserFixture();
    await fillWithDemoData(fixture);
  });
  after(() => fixture.stop());

  for (const variant of VARIANTS)
    it(`has no fault for axe and fits its window, in ${variant.language}, ${variant.scheme}, ${variant.width} px`, async () => {
      const page = await fixture.open(variant);
      const faults: string[] = [];
      const visit = async (path: string): Promise<void> => {
        await page.goto(path);
        await waitForContent(page);
        if ((await page.locator('h1').count()) !== 1) faults.push(`${path}: not one heading`);
        if ((await page.locator('[data-failure]').count()) > 0) faults.push(`${path}: shows a failure`);
        faults.push(...(await findAccessibilityIssues(page)).map((fault) => `${path}: ${fault}`));
      };
      for (const path of ['/sign-in', '/register']) await visit(path);
      await signIn(page, ROOT.username, ROOT.password);
      for (const path of Object.values(CONSOLE_PATHS)) await visit(path);
      assert.deepEqual(faults, []);
      await page.context().close();
    });

  it('breaks no policy of its own, asks nobody else for anything and throws nothing', () => {
    assert.deepEqual(fixture.problems, { violations: [], dialogs: [], errors: [], foreignRequests: [] });
  });
});
