import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import {
  authenticate,
  type BrowserFixture,
  navigateWithin,
  openBrowserFixture,
  signIn,
  waitForContent,
  waitForExpression,
} from './browser-fixture.ts';
import { chromiumPath } from './chromium.ts';
import { CONSOLE_PATHS } from './console-paths.ts';
import { STRINGS } from './console-strings.ts';
import { ROOT } from './demo-data.ts';
import { assertAccessible } from './find-accessibility-issues.ts';

const { admin, account, adminModels, adminPlans, adminSettings, app, list } = STRINGS.en;

describe('lists and settings in Chromium', { skip: chromiumPath === undefined && !process.env.CI }, () => {
  let fixture: BrowserFixture;
  let page: Page;
  before(async () => {
    fixture = await openBrowserFixture({ RETENTION_AUDIT_DAYS: '90' });
    for (const name of ['ann', 'bob', 'cid']) await fixture.running.signUp(name);
    page = await fixture.open();
    await authenticate(page, ROOT.username, ROOT.password);
  });
  after(() => fixture.stop());

  const button = (name: string) => page.getByRole('button', { name, exact: true });
  const inDialog = (name: string) => page.getByRole('dialog').getByRole('button', { name, exact: true });
  const firstUser = () => page.getByRole('row').nth(1).getByRole('link').first();

  it('shows one button that creates the first item of an empty list', async () => {
    const several: string[] = [];
    await page.goto('/studio');
    await waitForContent(page);
    for (const path of Object.values(CONSOLE_PATHS)) {
      if (path === '/studio' || path.includes('/new') || /\d/.test(path)) continue;
      await navigateWithin(page, path);
      const visible = page.locator('[data-create]').filter({ visible: true });
      if ((await visible.count()) > 1) several.push(path);
    }
    assert.deepEqual(several, []);
  });

  it('sorts a list on the server in both directions, and keeps the order in the URL', async () => {
    await page.goto('/admin/users');
    await waitForContent(page);
    assert.equal(await firstUser().textContent(), 'cid');
    await button(admin.users.created).click();
    await page.waitForURL(/sort=-time/);
    await button(admin.users.created).click();
    await page.waitForURL(/sort=time/);
    await page
      .getByRole('columnheader', { name: admin.users.created })
      .and(page.locator('[aria-sort=ascending]'))
      .waitFor();
    await page.reload();
    await waitForContent(page);
    assert.equal(await firstUser().textContent(), ROOT.username);
  });

  it('sorts a list on a phone, where its rows are cards', async () => {
    const { root } = fixture.running;
    for (const [package_code, level] of [
      ['basic', 1],
      ['grand', 2],
    ] as const)
      await root.ok('POST', '/api/admin/package-cards', {
        package_code,
        name: package_code,
        level,
        duration_days: 30,
        daily_quota: 1,
      });
    const phone = await fixture.open({ width: 390, height: 844 });
    await signIn(phone, ROOT.username, ROOT.password, '/admin/packages');
    await waitForContent(phone);
    const first = () =>
      phone
        .getByRole('listitem')
        .getByRole('link', { name: /^(basic|grand)$/ })
        .first();
    assert.equal(await first().textContent(), 'basic');
    await phone.getByRole('combobox', { name: list.sortBy }).selectOption('-level');
    await phone.waitForURL(/sort=-level/);
    await phone.getByRole('listitem').first().getByRole('link', { name: 'grand' }).waitFor();
    assert.equal(await first().textContent(), 'grand');
    await assertAccessible(phone, 'a sorted list on a phone');
    await phone.context().close();
  });

  it('runs a bulk action: counts the rows, asks for confirmation, and shows each result', async () => {
    await page.goto('/admin/users');
    await waitForContent(page);
    await page.getByRole('checkbox', { name: list.selectPage }).check();
    await page.getByRole('region', { name: list.selection }).getByText('4 selected').waitFor();
    await page.getByRole('checkbox', { name: `${list.selectRow} ann` }).uncheck();
    await button(admin.users.disable).click();
    await page.getByRole('dialog').getByText(admin.users.maySignInHint).waitFor();
    await inDialog(`${admin.users.disable} (3)`).click();
    // Root is the last account that can sign in and cannot be disabled.
    await page
      .getByRole('dialog')
      .getByText(list.bulkDone.replace('{{done}}', '2').replace('{{failed}}', '1'))
      .waitFor();
    assert.equal(await page.getByRole('dialog').getByText(list.rowDone, { exact: true }).count(), 2);
    await inDialog(app.close).last().click();
    const disabled = page.getByRole('table').getByText(admin.users.disabled, { exact: true });
    await disabled.nth(1).waitFor();
    assert.equal(await disabled.count(), 2);
    // Failed rows stay selected.
    await page.getByRole('region', { name: list.selection }).getByText('1 selected').waitFor();
    await button(list.clearSelection).click();
    await page.getByRole('region', { name: list.selection }).waitFor({ state: 'detached' });
  });

  it('saves filters and order as a named view', async () => {
    await page.goto('/admin/users?status=2&sort=time');
    await waitForContent(page);
    await button(list.views.title).click();
    await page.getByRole('textbox', { name: list.views.name }).fill('Banned');
    await page.keyboard.press('Enter');
    await button('Banned').waitFor();
    await page.goto('/admin/users');
    await waitForContent(page);
    await button(list.views.title).click();
    await button('Banned').click();
    await page.waitForURL(/status=2/);
    assert.match(page.url(), /sort=time/);
    await page
      .getByRole('link', { name: 'ann' })
      .or(page.getByRole('link', { name: 'cid' }))
      .first()
      .waitFor();
    await page.getByRole('link', { name: ROOT.username, exact: true }).waitFor({ state: 'detached' });
    await button(list.views.title).click();
    await button(list.views.remove.replace('{{name}}', 'Banned')).click();
    await button('Banned').waitFor({ state: 'detached' });
  });

  it('revokes several API keys, sorted by name', async () => {
    for (const name of ['b-key', 'a-key', 'c-key']) await fixture.running.root.ok('POST', '/api/tokens', { name });
    await page.goto('/account/tokens?sort=name');
    await waitForContent(page);
    const names = page.getByRole('table').getByRole('link');
    assert.deepEqual(await names.allTextContents(), ['a-key', 'b-key', 'c-key']);
    await page.getByRole('checkbox', { name: list.selectPage }).check();
    await page
      .getByRole('region', { name: list.selection })
      .getByRole('button', { name: account.apiKeys.revoke })
      .click();
    await inDialog(`${account.apiKeys.revoke} (3)`).click();
    await inDialog(app.close).last().click();
    await page.getByText(account.apiKeys.emptyTitle).waitFor();
  });

  it('changes the site settings, shows the source of each, and locks those set by the environment', async () => {
    await page.goto('/admin/settings');
    await waitForContent(page);
    const setting = (name: string) => page.locator(`[data-setting=${name}]`);
    const field = setting('SITE_NAME').getByRole('textbox');
    const save = (name: string) =>
      page.locator('form', { has: setting(name) }).getByRole('button', { name: adminSettings.save, exact: true });
    assert.equal(await save('SITE_NAME').isDisabled(), true);
    await field.fill('Film studio');
    await setting('SIGN_IN_NOTICE').getByRole('textbox').fill('Welcome');
    await page.getByText('2 unsaved changes').waitFor();
    await save('SITE_NAME').click();
    await setting('SIGN_IN_NOTICE').getByText(adminSettings.source.database).waitFor();
    await setting('SITE_NAME').getByText(adminSettings.source.database).waitFor();
    await waitForExpression(page, `document.title.endsWith('Film studio')`);
    const balance = setting('NEW_USER_QUOTA').getByRole('textbox', { name: adminSettings.names.NEW_USER_QUOTA });
    await balance.fill('2.5');
    await save('NEW_USER_QUOTA').click();
    await setting('NEW_USER_QUOTA').getByText(adminSettings.source.database).waitFor();
    const stored = await fixture.running.root.ok<{ name: string; value: string }[]>('GET', '/api/admin/settings');
    assert.equal(stored.find(({ name }) => name === 'NEW_USER_QUOTA')?.value, '1250000');
    await setting('NEW_USER_QUOTA').getByRole('button', { name: adminSettings.reset }).click();
    const model = setting('DEFAULT_VIDEO_MODEL').getByRole('combobox');
    await model.fill('kling-v3');
    await page.getByRole('option', { name: 'Kling 3.0', exact: true }).click();
    assert.equal(await model.inputValue(), 'Kling 3.0');
    await setting('CURRENCY').getByRole('textbox').fill('CNY');
    await save('CURRENCY').click();
    await setting('CURRENCY').getByText(adminSettings.source.database).waitFor();
    await setting('RETENTION_AUDIT_DAYS').getByText(adminSettings.source.environment).waitFor();
    assert.equal(await setting('RETENTION_AUDIT_DAYS').getByRole('textbox').isDisabled(), true);
    for (const name of ['NEW_USER_PLAN', 'RETENTION_EVENTS_DAYS', 'RETENTION_LEDGER_DAYS', 'SIGN_IN_NOTICE'])
      assert.equal(await setting(name).locator('input, textarea').first().isEnabled(), true, name);
    await page.goto('/account/overview');
    await page
      .getByText(/^¥[\d,]+\.\d\d$/)
      .first()
      .waitFor();
    await page.goto('/admin/models/viduq2');
    await page
      .getByText(/^¥[\d.]+ × 5 s = |^¥[\d.]+$/)
      .first()
      .waitFor();
    await page.locator('[data-confirmed=true]').getByRole('link', { name: adminModels.price.list }).waitFor();
    await page.goto('/admin/models/kling-v1');
    await page.locator('[data-confirmed=false]').getByText(adminModels.price.unconfirmed).waitFor();
    await page.goto('/admin/packages/new');
    const amount = adminPlans.credits;
    await page
      .getByRole('textbox', { name: app.amountIn.replace('{{label}}', amount).replace('{{unit}}', 'CNY') })
      .waitFor();
    await page.goto('/admin/settings');
    for (const name of ['SITE_NAME', 'CURRENCY', 'SIGN_IN_NOTICE']) {
      await setting(name).getByRole('button', { name: adminSettings.reset }).click();
      await setting(name).getByText(adminSettings.source.database).waitFor({ state: 'detached' });
    }
    await page.goto('/admin/audit?action=setting.update');
    await page.getByText(`Setting ${adminSettings.names.CURRENCY}`).first().waitFor();
    await page.getByText(`Setting ${adminSettings.names.SITE_NAME}`).first().waitFor();
  });

  for (const path of ['/account/overview', '/admin/overview'])
    it(`shows ${path} without layout shift`, async () => {
      await page.addInitScript(`window.shift = 0; new PerformanceObserver((entries) => {
        for (const entry of entries.getEntries()) if (!entry.hadRecentInput) window.shift += entry.value;
      }).observe({ type: 'layout-shift', buffered: true });`);
      await page.goto(path);
      await waitForContent(page);
      await page.waitForTimeout(500);
      const shift = Number(await page.evaluate('window.shift'));
      // Google rates a cumulative layout shift below 0.1 as good.
      assert.ok(shift < 0.1, String(shift));
    });

  it('violates no content security policy, sends no request to other origins and throws no error', () => {
    assert.deepEqual(fixture.problems, { violations: [], dialogs: [], errors: [], foreignRequests: [] });
  });
});
