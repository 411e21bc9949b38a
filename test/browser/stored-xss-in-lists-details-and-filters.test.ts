import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { PASSWORD, type TestUser } from '../accounts/test-user-client.ts';
import { type BrowserFixture, navigateWithin, openBrowserFixture, signIn, waitForContent } from './browser-fixture.ts';
import { chromiumPath } from './chromium.ts';
import { CONSOLE_PATHS } from './console-paths.ts';
import { ROOT } from './demo-data.ts';

/** Markup that would run a script in various contexts, and expressions that template engines would expand. */
const HOSTILE = `<img src=x onerror="alert(1)"><script>alert(2)</script></textarea></title><svg onload=alert(3)>"'{{7*7}}\${7*7}$t(save) javascript:alert(4) =1+1`;
/** For names with a short limit. */
const SHORT = '<img src=x onerror=alert(5)>';
const MODEL = 'vendor/model.of:many@signs';
/** Pages that must show the text; otherwise the assertions would be vacuous. */
const ADMIN_PATHS = [
  'packages',
  'notifications',
  'admin-users',
  'admin-channels',
  'admin-tasks',
  'admin-tickets',
  'admin-ticket',
  'admin-beta-applications',
  'admin-announcements',
  'admin-packages',
  'admin-codes',
  'admin-device-clients',
];
const USER_PATHS = ['/videos', '/account/tokens', '/tickets', '/tickets/1', '/beta-applications', '/packages'];

describe('hostile text in every stored field', { skip: chromiumPath === undefined && !process.env.CI }, () => {
  let fixture: BrowserFixture;
  let page: Page;
  before(async () => {
    fixture = await openBrowserFixture();
    const mallory = await fixture.running.signUp('mallory');
    await storeHostileText(fixture.running.root, mallory);
    page = await fixture.open();
    await signIn(page, ROOT.username, ROOT.password);
  });
  after(() => fixture.stop());

  /** Asserts that the text added no element to the page and no expression was expanded. */
  const assertInert = async (path: string): Promise<string> => {
    await waitForContent(page);
    assert.equal(await page.locator('main img[src=x], main script, svg[onload], [onerror]').count(), 0, path);
    const text = (await page.locator('body').textContent()) ?? '';
    assert.ok(!/"'49/.test(text) && !/\}49/.test(text), `${path}: a template was expanded`);
    for (const href of await page
      .locator('a[href]')
      .evaluateAll((links) => links.map((link) => link.getAttribute('href'))))
      assert.match(href ?? '', /^[/#]/, `${path}: a link that leaves the console`);
    return text;
  };

  for (const [name, path] of Object.entries(CONSOLE_PATHS))
    it(`T85: is plain text at ${name}`, async () => {
      // The first page is loaded in full; the others are opened by client-side navigation.
      if (path === CONSOLE_PATHS.studio) await page.goto(path);
      else await navigateWithin(page, path);
      const text = await assertInert(path);
      if (ADMIN_PATHS.includes(name)) assert.ok(text.includes('<img src=x onerror='), 'not shown at all');
    });

  it('is plain text to its author', async () => {
    const admin = page;
    page = await fixture.open();
    await signIn(page, 'mallory', PASSWORD);
    for (const path of USER_PATHS) {
      await navigateWithin(page, path);
      assert.ok((await assertInert(path)).includes('<img src=x onerror='), `${path}: not shown at all`);
    }
    await page.context().close();
    page = admin;
  });

  it('is plain text on the detail pages of list rows', async () => {
    for (const list of ['users', 'channels', 'tasks', 'tickets', 'beta-applications', 'packages', 'models']) {
      await navigateWithin(page, `/admin/${list}`);
      const first = page.locator(`main a[href^="/admin/${list}/"]:not([href$="/new"])`).first();
      await first.click();
      await page.waitForURL(new RegExp(`/admin/${list}/.+`));
      await assertInert(page.url());
    }
  });

  it('is plain text in responses of the service, in filters from the URL and in expanded audit entries', async () => {
    for (const list of ['users?q=', 'tasks?model=', 'audit?action=', 'codes?package_code=', 'tickets?category=']) {
      // The console reads the URL when it starts.
      await page.goto(`/admin/${list}${encodeURIComponent(SHORT)}`);
      await assertInert(list);
    }
    await navigateWithin(page, '/admin/audit');
    await page.locator('main table tbody button').first().click();
    await page.getByRole('dialog').waitFor();
    await assertInert('the changes of a line');
    await page.goto(`/admin/tasks/${encodeURIComponent(SHORT)}`);
    await page.getByRole('alert').waitFor();
    await assertInert('a task of that name');
  });

  it('ran no script, caused no navigation and violated no content security policy', () => {
    assert.deepEqual(fixture.problems, { violations: [], dialogs: [], errors: [], foreignRequests: [] });
  });
});

/** Stores the text in every text field, both as a user and as a careless administrator. */
async function storeHostileText(root: TestUser, mallory: TestUser): Promise<void> {
  await root.ok('PUT', `/api/admin/users/${root.id}`, { quota_delta: 50_000_000, note: HOSTILE });
  await root.ok('PUT', `/api/admin/users/${mallory.id}`, { quota_delta: 50_000_000, display_name: SHORT });
  await mallory.ok('POST', '/api/tokens', { name: SHORT });
  for (const prompt of [HOSTILE, `${HOSTILE} [fail]`])
    await mallory.ok('POST', '/api/videos', { model: 'kling-v1-6', prompt, metadata: { negative_prompt: HOSTILE } });
  const { id } = await mallory.ok<{ id: number }>('POST', '/api/tickets', {
    title: HOSTILE,
    content: HOSTILE,
    category: SHORT,
  });
  await mallory.ok('POST', `/api/tickets/${id}/replies`, { content: HOSTILE });
  await root.ok('POST', `/api/admin/tickets/${id}/replies`, { content: HOSTILE, internal: true });
  await mallory.ok('POST', '/api/beta-applications', { feature: SHORT, reason: HOSTILE });
  await mallory.ok('POST', '/api/beta-applications', { feature: `${SHORT} too`, reason: HOSTILE });
  await root.ok('POST', '/api/admin/announcements', {
    title: SHORT,
    content: HOSTILE,
    zh_cn: { title: SHORT, content: HOSTILE },
  });
  await root.ok('POST', '/api/admin/models', { id: MODEL, vendor: 'kling', kind: 'video', price: { per_call: 1 } });
  const { id: channel } = await root.ok<{ id: number }>('POST', '/api/admin/channels', {
    name: SHORT,
    vendor: 'kling',
    credentials: { access_key: HOSTILE, secret_key: HOSTILE },
    models: [MODEL],
    base_url: 'http://127.0.0.1:9',
    options: { private: true },
  });
  await root.ok('POST', `/api/admin/channels/${channel}/test`);
  await root.ok('POST', '/api/admin/device-clients', { name: SHORT });
  await root.ok('POST', '/api/admin/package-cards', {
    package_code: 'trap',
    name: SHORT,
    description: HOSTILE,
    level: 1,
    duration_days: 30,
    daily_quota: 1,
    purchasable: true,
  });
  await root.ok('POST', '/api/admin/redemption-codes', { package_code: 'trap', count: 1, note: HOSTILE });
  await root.ok('POST', '/api/user/package/activate', { user_id: root.id, package_code: 'trap' });
}
