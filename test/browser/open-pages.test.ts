import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import type { Page } from 'playwright-core';
import { type BrowserFixture, type ContextOptions, openBrowserFixture, waitForContent } from './browser-fixture.ts';
import { findPageFaults } from './check-accessibility.ts';
import { chromiumPath } from './chromium.ts';

const PASSWORD = 'the password';
/** Each language in each scheme, at two widths. */
const VARIANTS: readonly Required<ContextOptions>[] = [
  { language: 'en', scheme: 'light', width: 390, height: 844 },
  { language: 'en', scheme: 'dark', width: 1280, height: 860 },
  { language: 'zh-cn', scheme: 'light', width: 1280, height: 860 },
  { language: 'zh-cn', scheme: 'dark', width: 390, height: 844 },
];
const EXPIRED = 'expires=1&credential=u1&signature=none';

/** Pages that need no sign-in: of the server itself, of links in e-mails, of shared videos, and of errors. */
const PATHS: readonly string[] = [
  '/docs',
  '/status',
  '/sign-in',
  '/sign-in/second-factor',
  '/register',
  '/forgot-password',
  '/reset-password',
  '/reset-password#token=none',
  '/confirm-email',
  '/confirm-email#token=none',
  '/authorize',
  '/authorize?user_code=BCDF-BCDF',
  `/play/task_none?${EXPIRED}`,
  '/play/task_none',
  '/s/none',
  '/auth/none/callback?code=a&state=b',
  '/no-such-page',
  '/videos/no/such/page',
];

/** Shows what the reference hides, in one variant per language, because it takes as long as all other pages. */
const OPEN_DETAILS = `for (const each of document.querySelectorAll('details')) each.open = true;`;

describe('pages that need no sign-in, in Chromium', { skip: chromiumPath === undefined && !process.env.CI }, () => {
  let fixture: BrowserFixture;
  const shares = { open: '', locked: '', expired: '' };

  before(async () => {
    fixture = await openBrowserFixture();
    const { root } = fixture.running;
    await fixture.running.setSiteSetting('STATUS_PAGE', '1');
    await root.ok('PUT', `/api/admin/users/${root.id}`, { quota_delta: 50_000_000, note: 'start' });
    const started = await root.ok<{ task_id: string }>('POST', '/api/videos', {
      model: 'kling-v1-6',
      prompt: 'A boat',
    });
    const path = `/api/videos/${started.task_id}`;
    while ((await root.ok<{ status: string }>('GET', path)).status !== 'SUCCESS') await pause(100);
    const share = async (body: object): Promise<string> =>
      new URL((await root.ok<{ url: string }>('POST', `${path}/shares`, body)).url).pathname;
    shares.open = await share({ title: 'A boat', expires_in_seconds: 86_400 });
    shares.locked = await share({ password: PASSWORD });
    shares.expired = await share({ expires_in_seconds: 1 });
    await pause(1_100);
  });
  after(() => fixture.stop());

  const visit = async (page: Page, path: string): Promise<void> => {
    await page.goto(path);
    await waitForContent(page);
  };

  for (const variant of VARIANTS)
    it(`have no issue reported by axe, in ${variant.language}, ${variant.scheme}, ${variant.width} px`, async () => {
      const page = await fixture.open(variant);
      const faults: string[] = [];
      const check = async (name: string): Promise<void> => {
        const lang = await page.locator('html').getAttribute('lang');
        if (lang?.toLowerCase().startsWith(variant.language.slice(0, 2)) !== true) faults.push(`${name}: in ${lang}`);
        faults.push(...(await findPageFaults(page, name, variant)));
      };
      for (const path of PATHS) {
        await visit(page, path);
        if (variant.width > 1_000) await page.evaluate(OPEN_DETAILS);
        await check(path);
      }
      await visit(page, shares.expired);
      assert.equal(await page.locator('video').count(), 0);
      await check('an expired link');
      await visit(page, shares.open);
      assert.equal(await page.locator('video').count(), 1);
      await check('a link');
      await visit(page, shares.locked);
      await check('a link with a password');
      for (const [password, videos] of [
        ['another', 0],
        [PASSWORD, 1],
      ] as const) {
        await page.locator('#password').fill(password);
        await Promise.all([page.waitForURL((url) => url.pathname === shares.locked), page.keyboard.press('Enter')]);
        await page.locator(videos === 0 ? '#error' : 'video').waitFor();
        await check(`the same after ${password}`);
      }
      assert.deepEqual(faults, []);
      await page.context().close();
    });

  it('the check finds a high bar and a link without a name', async () => {
    const page = await fixture.open();
    await visit(page, '/sign-in');
    await page.evaluate(`const bar = document.createElement('div');
      bar.style.cssText = 'position: fixed; inset: 0 0 auto; height: 91px';
      bar.innerHTML = '<a href="/"></a>';
      document.querySelector('main').append(bar);`);
    const faults = await findPageFaults(page, '/sign-in', { language: 'en', scheme: 'light' });
    assert.match(faults.join('\n'), /^\/sign-in: bar of 91 px/m);
    assert.match(faults.join('\n'), /^\/sign-in: link-name/m);
    await page.context().close();
  });

  it('violate no content security policy, send no request to other origins and throw no error', () => {
    assert.deepEqual(fixture.problems, { violations: [], dialogs: [], errors: [], foreignRequests: [] });
  });
});
