import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { Secret, TOTP } from 'otpauth';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { PASSWORD } from '../accounts/test-user-client.ts';
import { type DeviceAuthFixture, startDeviceService } from '../device-auth/device-auth-fixture.ts';
import { acquireChromium, chromiumPath } from './chromium.ts';
import { assertAccessible } from './find-accessibility-issues.ts';

/** Each language in both schemes, and at the narrowest width. */
const VARIANTS: readonly BrowserContextOptions[] = [
  { locale: 'en', colorScheme: 'light', viewport: { width: 320, height: 640 } },
  { locale: 'zh-CN', colorScheme: 'dark', viewport: { width: 320, height: 640 } },
  { locale: 'zh-CN', colorScheme: 'light', viewport: { width: 390, height: 844 } },
  { locale: 'en', colorScheme: 'dark', viewport: { width: 1280, height: 800 } },
];

describe('the authorization pages in Chromium', { skip: chromiumPath === undefined && !process.env.CI }, () => {
  let service: DeviceAuthFixture;
  let browser: Browser;
  let release: () => void;
  const complaints: string[] = [];

  before(async () => {
    service = await startDeviceService('sqlite::memory:');
    const chromium = await acquireChromium();
    ({ release } = chromium);
    browser = chromium.browser;
    await service.anonymous().register('ada');
  });
  after(async () => {
    await Promise.all(browser.contexts().map((context) => context.close()));
    release();
    await service.app.close();
  });

  const open = async (options: BrowserContextOptions = {}): Promise<Page> => {
    const page = await (await browser.newContext(options)).newPage();
    page.on('console', (message) => {
      if (/Content Security Policy/.test(message.text())) complaints.push(message.text());
    });
    page.on('pageerror', (error) => complaints.push(String(error)));
    page.on('request', (request) => {
      if (!request.url().startsWith(service.url)) complaints.push(`left for ${request.url()}`);
    });
    return page;
  };

  for (const variant of VARIANTS) {
    it(`have no issue reported by axe, in ${variant.locale}, ${variant.colorScheme}, ${variant.viewport?.width} px`, async () => {
      const page = await open(variant);
      const code = await service.code({ client_name: 'MacBook', device_id: JSON.stringify(variant) }, '203.0.113.9');
      await page.goto(`${service.url}/authorize`);
      assert.equal(await page.locator('html').getAttribute('lang'), variant.locale);
      await assertAccessible(page, 'enter');
      await page.fill('#code', 'bcdf bcdf');
      await page.click('main button');
      await assertAccessible(page, 'unknown code');
      await page.fill('#code', code.user_code.toLowerCase().replace('-', ' '));
      await page.click('main button');
      await assertAccessible(page, 'login');
      await page.fill('#username', 'ada');
      await page.fill('#password', 'not-the-password');
      await page.click('main button');
      assert.equal(await page.locator('#username').inputValue(), 'ada');
      await assertAccessible(page, 'wrong password');
      await page.fill('#password', PASSWORD);
      await page.click('main button');
      await assertAccessible(page, 'consent');
      // Deny precedes Allow and has the same size, and neither has the focus.
      const [deny, allow] = await Promise.all(
        ['deny', 'approve'].map((action) => page.locator(`form[action="/authorize/${action}"] button`).boundingBox()),
      );
      assert.deepEqual([deny?.width, deny?.height], [allow?.width, allow?.height]);
      assert.equal(await page.evaluate('document.activeElement.tagName'), 'BODY');
      assert.equal(await service.status(code.user_code), 'pending');
      await page.click('form[action="/authorize/approve"] button');
      await assertAccessible(page, 'approved');
      await page.fill('#name', 'Laptop');
      await page.click('form[action="/authorize/name"] button');
      await assertAccessible(page, 'named');
      assert.equal(await page.locator('#name').inputValue(), 'Laptop');
      assert.equal(await service.status(code.user_code), 'approved');
      const unwanted = await service.code({}, '203.0.113.9');
      await page.goto(`${service.url}/authorize?code=${unwanted.user_code}`);
      await page.click('form[action="/authorize/deny"] button');
      await assertAccessible(page, 'denied');
      await page.click('form[action="/authorize/report"] button');
      await assertAccessible(page, 'reported');
      service.clock.advance(60 * 60_000);
      await page.context().close();
    });
  }

  it('work without scripts, with two-step verification, in the selected language', async () => {
    const ada = service.anonymous();
    await ada.register('grace');
    await ada.logIn('grace');
    const { secret } = await ada.ok<{ secret: string }>('POST', '/api/user/2fa/setup');
    const totp = new TOTP({ secret: Secret.fromBase32(secret) });
    const token = () => totp.generate({ timestamp: service.clock.now() });
    await ada.ok('POST', '/api/user/2fa/enable', { code: token() });
    service.clock.advance(60_000);
    const first = await service.code();
    const page = await open({ javaScriptEnabled: false, locale: 'en' });
    await page.goto(first.verification_uri_complete.replace(/^http:\/\/[^/]+/, service.url));
    await page.click('nav a');
    assert.equal(await page.locator('html').getAttribute('lang'), 'zh-CN');
    await page.fill('#username', 'grace');
    await page.fill('#password', PASSWORD);
    await page.click('main button');
    assert.equal(await page.locator('#otp').getAttribute('autocomplete'), 'one-time-code');
    await page.fill('#otp', '000000');
    await page.click('main button');
    assert.equal(await page.locator('#error').count(), 1);
    await page.fill('#otp', token());
    await page.click('main button');
    assert.match((await page.locator('main').textContent()) ?? '', /grace/);
    service.clock.advance(12 * 60 * 60_000 + 1);
    const later = await service.code();
    await page.goto(`${service.url}/authorize?code=${later.user_code}&lang=zh-CN`);
    // axe is a script, so it checks the same page in a context with JavaScript enabled.
    const scripted = await open({ locale: 'en', storageState: await page.context().storageState() });
    await scripted.goto(page.url());
    assert.equal(await scripted.locator('#otp').count(), 1);
    await assertAccessible(scripted, 'consent with the second step again');
    await scripted.context().close();
    await page.fill('#otp', token());
    await page.click('form[action="/authorize/approve"] button');
    assert.equal(await service.status(later.user_code), 'approved');
    const code = await service.code();
    await page.goto(`${service.url}/authorize?code=${code.user_code}&lang=zh-CN`);
    await page.click('form[action="/authorize/deny"] button');
    assert.equal(await page.locator('html').getAttribute('lang'), 'zh-CN');
    assert.equal(await service.status(code.user_code), 'denied');
    assert.equal((await service.poll(code.device_code)).error, 'access_denied');
    await page.context().close();
  });

  it('show hostile names as text and execute nothing', async () => {
    const page = await open();
    await page.goto(`${service.url}/authorize`);
    for (const name of [
      '<script>document.title="owned"</script>',
      '"><img src=x onerror="document.title=\'owned\'">',
      '</style><svg onload=document.title="owned">',
      '{{7*7}} #{7*7} <%= 7*7 %>',
      '\u202Elaptop\u2066\u200B\u200D\uFEFF',
      'a\u0301\u0302\u0303\u0304\u0305\u0306\u0307'.repeat(14),
      'x'.repeat(3000),
    ]) {
      const code = await service.code({ client_name: name });
      await page.goto(`${service.url}/authorize?code=${code.user_code}`);
      if ((await page.locator('#username').count()) === 1) {
        await page.fill('#username', 'ada');
        await page.fill('#password', PASSWORD);
        await page.click('main button');
      }
      assert.doesNotMatch(await page.title(), /owned/);
      assert.equal(await page.locator('script, main img, svg').count(), 0);
      assert.doesNotMatch((await page.locator('main').textContent()) ?? '', /\p{Cf}/u);
      assert.equal(await page.locator('.asker').textContent(), 'Reelgate CLI');
      const box = await page.locator('.claimed').boundingBox();
      assert.ok(box !== null && box.height < 100, `the name takes ${box?.height} px`);
    }
    await page.context().close();
  });

  it('stay empty in a frame of another page', async () => {
    const page = await open();
    await page.goto(`${service.url}/authorize`);
    const outside = await open();
    await outside.setContent(`<iframe src="${service.url}/authorize"></iframe>`);
    await outside.waitForTimeout(300);
    const frame = outside.frames()[1];
    assert.equal(await frame?.locator('form').count(), 0);
    complaints.splice(0, complaints.length, ...complaints.filter((text) => !/frame-ancestors/.test(text)));
    await outside.context().close();
    await page.context().close();
  });

  it('violate no content security policy and send no request to other origins', () => {
    assert.deepEqual(complaints, []);
  });
});
