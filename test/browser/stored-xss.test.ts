import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { CLI_OAUTH_CLIENT } from '../../src/contract/device-auth.ts';
import { VENDOR_ADAPTERS } from '../../src/server/vendors/registry.ts';
import { PASSWORD, type TestUser } from '../accounts/test-user-client.ts';
import { type BrowserFixture, navigateWithin, openBrowserFixture, signIn, waitForContent } from './browser-fixture.ts';
import { chromiumPath } from './chromium.ts';
import { CONSOLE_PATHS } from './console-paths.ts';
import { ROOT } from './demo-data.ts';

/** Markup that would run a script in various contexts, and expressions that template engines would expand. */
const HOSTILE = `<img src=x onerror="alert(1)"><script>alert(2)</script></textarea></title><svg onload=alert(3)>"'{{7*7}}\${7*7}$t(save) javascript:alert(4) =1+1`;
/** Texts that run a script which sets `window.owned`, for fields of any length. */
const OWNING = [
  '<img src=x onerror="window.owned=1">',
  '"><script>window.owned=1</script>',
  `{{constructor.constructor('window.owned=1')()}} \${window.owned=1} $t(owned)`,
  `javascript:window.owned=1//\u202Egnp.exe`,
];
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
/** Pages of vendors to which the page of a model leads. */
const PRICE_LISTS = new Set(VENDOR_ADAPTERS.flatMap(({ models }) => models.map(({ listed }) => listed.source)));
const USER_PATHS = ['/videos', '/account/tokens', '/tickets', '/tickets/1', '/beta-applications', '/packages'];

describe('hostile text in every stored field', { skip: chromiumPath === undefined && !process.env.CI }, () => {
  let fixture: BrowserFixture;
  let page: Page;
  before(async () => {
    fixture = await openBrowserFixture();
    const mallory = await fixture.running.signUp('mallory');
    // The page of this key is among the visited ones.
    await fixture.running.root.ok('POST', '/api/tokens', { name: SHORT });
    await storeHostileText(fixture.running.root, mallory);
    for (const [index, text] of OWNING.entries()) await storeOwningText(fixture.running.root, text, index);
    page = await fixture.open();
    await signIn(page, ROOT.username, ROOT.password);
    await waitForContent(page);
  });
  after(() => fixture.stop());

  /** Asserts that the text added no element to the page and no expression was expanded. */
  const assertInert = async (path: string): Promise<string> => {
    await waitForContent(page);
    assert.equal(await page.evaluate('window.owned'), undefined, path);
    assert.equal(await page.locator('img[src=x], main script, svg[onload], [onerror]').count(), 0, path);
    const text = (await page.locator('body').textContent()) ?? '';
    assert.ok(!/"'49/.test(text) && !/\}49/.test(text), `${path}: a template was expanded`);
    for (const href of await page
      .locator('a[href]')
      .evaluateAll((links) => links.map((link) => link.getAttribute('href'))))
      if (!PRICE_LISTS.has(href ?? '')) assert.match(href ?? '', /^[/#]/, `${path}: a link that leaves the console`);
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

  it('T85: is plain text on every page in Chinese', async () => {
    const english = page;
    page = await fixture.open({ language: 'zh-cn' });
    await signIn(page, ROOT.username, ROOT.password);
    await waitForContent(page);
    let seen = 0;
    for (const path of Object.values(CONSOLE_PATHS)) {
      // The sign-in has opened the studio.
      if (path !== CONSOLE_PATHS.studio) await navigateWithin(page, path);
      if ((await assertInert(path)).includes('window.owned')) seen += 1;
    }
    // Guards against a vacuous test: the pages must have shown the text.
    assert.ok(seen >= 12, `only ${seen} pages showed any of it`);
    await page.getByRole('banner').getByRole('button').first().click();
    await page.getByRole('dialog').waitFor();
    assert.equal(await page.evaluate('window.owned'), undefined);
    await page.context().close();
    page = english;
  });

  it('is plain text to its author', async () => {
    const admin = page;
    page = await fixture.open();
    await signIn(page, 'mallory', PASSWORD);
    await waitForContent(page);
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

/** Stores the text in every field that a user or operator can write. */
async function storeOwningText(root: TestUser, text: string, index: number): Promise<void> {
  // Some fields reject such characters, which is equally safe.
  await root.send('PUT', '/api/user/self', { display_name: text.slice(0, 60) });
  await root.send('PUT', `/api/admin/users/${root.id}`, { quota_delta: 50_000_000, note: text });
  await root.send('POST', '/api/tokens', { name: text });
  await root.send('POST', '/api/videos', { model: 'kling-v1-6', prompt: `${text} [fail]` });
  const ticket = await root.ok<{ id: number }>('POST', '/api/tickets', {
    title: text,
    content: text,
    category: text.slice(0, 60),
  });
  await root.ok('POST', `/api/tickets/${ticket.id}/replies`, { content: text });
  await root.ok('POST', `/api/admin/tickets/${ticket.id}/replies`, { content: text, internal: true });
  const beta = await root.ok<{ id: number }>('POST', '/api/beta-applications', { feature: text, reason: text });
  await root.ok('POST', `/api/admin/beta-applications/${beta.id}/reject`, { note: text });
  await root.ok('POST', '/api/admin/announcements', {
    title: text,
    content: text,
    zh_cn: { title: text, content: text },
  });
  await root.send('POST', '/api/admin/package-cards', {
    package_code: `card-${index}`,
    name: text,
    description: text,
    level: index + 1,
    duration_days: 30,
    daily_quota: 1_000_000,
    purchasable: true,
    status: 1,
  });
  await root.send('POST', '/api/admin/redemption-codes', { package_code: `card-${index}`, count: 1, note: text });
  await root.send('POST', '/api/admin/channels', { name: text, vendor: 'kling', models: [], credentials: {} });
  const device = await root.ok<Record<string, string>>(
    'POST',
    '/api/auth/device/code',
    { client_id: CLI_OAUTH_CLIENT.id, client_name: text, device_id: `device-${index}` },
    { 'user-agent': text.replace(/[^\x20-\x7e]/g, '') },
  );
  await root.ok('POST', '/api/auth/device/approve', { user_code: device.user_code });
  await root.ok('POST', '/api/auth/device/token', {
    device_code: device.device_code,
    client_id: CLI_OAUTH_CLIENT.id,
    client_secret: CLI_OAUTH_CLIENT.secret,
  });
}
