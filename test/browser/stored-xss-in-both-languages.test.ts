import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { CLI_OAUTH_CLIENT } from '../../src/contract/device-auth.ts';
import { type BrowserFixture, navigateWithin, openBrowserFixture, signIn, waitForContent } from './browser-fixture.ts';
import { chromiumPath } from './chromium.ts';
import { CONSOLE_PATHS } from './console-paths.ts';
import { ROOT } from './demo-data.ts';

const HOSTILE = [
  '<img src=x onerror="window.owned=1">',
  '"><script>window.owned=1</script>',
  `{{constructor.constructor('window.owned=1')()}} \${window.owned=1} $t(owned)`,
  `javascript:window.owned=1//\u202Egnp.exe`,
];

describe('hostile text in every stored field', { skip: chromiumPath === undefined && !process.env.CI }, () => {
  let fixture: BrowserFixture;
  before(async () => {
    fixture = await openBrowserFixture();
    for (const [index, text] of HOSTILE.entries()) await storeHostileText(fixture, text, index);
  });
  after(() => fixture.stop());

  for (const language of ['en', 'zh-cn'] as const)
    it(`is shown as text and executes nothing, on every page (${language})`, async () => {
      const page = await fixture.open({ language });
      await signIn(page, ROOT.username, ROOT.password);
      let seen = 0;
      for (const path of Object.values(CONSOLE_PATHS)) {
        // The first page is loaded in full; the others are opened by client-side navigation.
        if (path === CONSOLE_PATHS.studio) await page.goto(path);
        else await navigateWithin(page, path);
        await waitForContent(page);
        assert.equal(await page.evaluate('window.owned'), undefined, path);
        assert.equal(await page.locator('img[src="x"]').count(), 0, path);
        assert.equal(await page.locator('a[href^="javascript:" i]').count(), 0, path);
        if (((await page.locator('body').textContent()) ?? '').includes('window.owned')) seen += 1;
      }
      // Guards against a vacuous test: the pages must have shown the text.
      assert.ok(seen >= 12, `only ${seen} pages showed any of it`);
      await page.getByRole('banner').getByRole('button').first().click();
      await page.getByRole('dialog').waitFor();
      assert.equal(await page.evaluate('window.owned'), undefined);
      await page.context().close();
    });

  it('violates no policy, opens no dialog and contacts no other host', () => {
    assert.deepEqual(fixture.problems, { violations: [], dialogs: [], errors: [], foreignRequests: [] });
  });
});

/** Stores the text in every field that a user or operator can write. */
async function storeHostileText({ running: { root } }: BrowserFixture, text: string, index: number): Promise<void> {
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
