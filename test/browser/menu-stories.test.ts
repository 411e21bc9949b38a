import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { type BrowserFixture, openBrowserFixture, signIn, waitForContent } from './browser-fixture.ts';
import { chromiumPath } from './chromium.ts';
import { STRINGS } from './console-strings.ts';
import { ROOT } from './demo-data.ts';
import { assertAccessible } from './find-accessibility-issues.ts';

const { app, palette } = STRINGS.en;

describe('navigation in the console, in Chromium', { skip: chromiumPath === undefined && !process.env.CI }, () => {
  let fixture: BrowserFixture;
  before(async () => {
    fixture = await openBrowserFixture();
  });
  after(() => fixture.stop());

  const signedIn = async (): Promise<Page> => {
    const page = await fixture.open();
    await signIn(page, ROOT.username, ROOT.password);
    await waitForContent(page);
    return page;
  };

  it('has one menu for the account and one for the administration', async () => {
    const page = await signedIn();
    await page.goto('/studio');
    const menu = page.getByRole('navigation', { name: app.menu });
    await menu.getByRole('link', { name: app.pages.studio, exact: true }).waitFor();
    assert.equal(await menu.getByRole('link', { name: app.pages.channels, exact: true }).count(), 0);
    await menu.getByText(app.sections.administration, { exact: true }).click();
    await page.waitForURL('**/admin/overview');
    await menu.getByRole('link', { name: app.pages.channels, exact: true }).waitFor();
    assert.equal(await menu.getByRole('link', { name: app.pages.studio, exact: true }).count(), 0);
    await menu.getByText(app.sections.mine, { exact: true }).click();
    await page.waitForURL('**/studio');
    await page.context().close();
  });

  it('opens pages, users and models by keyboard alone', async () => {
    await fixture.running.signUp('wilhelmina');
    const page = await signedIn();
    const search = page.getByRole('combobox', { name: palette.title });
    const openPalette = async (text: string): Promise<void> => {
      await page.keyboard.press('Control+k');
      await search.fill(text);
    };
    await openPalette('audit');
    await page.getByRole('option', { name: app.pages.audit }).waitFor();
    await assertAccessible(page, 'the palette');
    await page.keyboard.press('Enter');
    await page.waitForURL('**/admin/audit**');

    await openPalette(STRINGS.en.logins.title.toLowerCase());
    await page.getByRole('option', { name: app.pages.logins, selected: true }).waitFor();
    await page.keyboard.press('Enter');
    await page.waitForURL('**/admin/logins**');
    await page.getByRole('heading', { level: 1, name: STRINGS.en.logins.title }).waitFor();

    await openPalette('wilhelm');
    await page.getByRole('option', { name: 'wilhelmina' }).waitFor();
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/admin\/users\/\d+/);

    await openPalette('no such thing');
    await page.getByText(palette.none.split('{{')[0] ?? '').waitFor();
    await page.keyboard.press('Escape');
    await search.waitFor({ state: 'detached' });

    await openPalette(palette.actions.key);
    await page.getByRole('option', { name: palette.actions.key, selected: true }).waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').getByRole('textbox', { name: STRINGS.en.account.apiKeys.name }).waitFor();
    assert.match(page.url(), /\/account\/tokens$/);
    await page.keyboard.press('Escape');

    await openPalette(app.colorScheme.dark);
    await page.getByRole('option', { name: app.colorScheme.dark, selected: true }).waitFor();
    await page.keyboard.press('Enter');
    await page.locator('html[data-mantine-color-scheme=dark]').waitFor();

    await openPalette('viduq2');
    await page.getByRole('option', { name: 'viduq2' }).first().click();
    await page.waitForURL('**/studio');
    await page
      .getByText(/^Vidu.?Q2/i)
      .first()
      .waitFor();
    await page.context().close();
  });

  it('offers help in the header, and language and colours in the menu of the account', async () => {
    const page = await signedIn();
    await page.goto('/studio');
    await page.getByRole('button', { name: app.help.title }).click();
    assert.equal(await page.getByRole('menuitem', { name: app.pages.apiGuide }).getAttribute('href'), '/docs');
    await assertAccessible(page, 'the help menu');
    await page.getByRole('menuitem', { name: app.help.shortcuts }).click();
    await page.getByRole('dialog', { name: STRINGS.en.shortcuts.title }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: app.help.title }).click();
    await page.getByRole('menuitem', { name: app.help.support }).click();
    await page.waitForURL('**/tickets/new');
    await page.getByRole('button', { name: app.accountMenu }).click();
    await page.getByRole('menuitem', { name: app.colorScheme.dark }).click();
    await page.locator('html[data-mantine-color-scheme=dark]').waitFor();
    await page.getByRole('button', { name: app.accountMenu }).click();
    await assertAccessible(page, 'the menu of the account');
    await page.getByRole('menuitem', { name: '中文' }).click();
    await page.getByRole('button', { name: STRINGS['zh-cn'].app.help.title }).waitFor();
    await page.context().close();
  });

  it('keeps a list on the screen while the service is down', async () => {
    const { root } = fixture.running;
    await root.ok('PUT', `/api/admin/users/${root.id}`, { quota_delta: 5_000_000, note: 'start' });
    await root.ok('POST', '/api/videos', { model: 'kling-v1-6', prompt: 'A crane' });
    const page = await signedIn();
    await page.goto('/admin/tasks');
    const rows = page.locator('main tbody tr');
    await rows.first().waitFor();
    // The list is refetched every ten seconds.
    await page.route('**/api/**', (route) => route.abort('connectionrefused'));
    await page.getByRole('status').getByText(app.reconnecting).waitFor();
    assert.ok((await rows.count()) > 0);
    assert.equal(await page.locator('[data-failure]').count(), 0);
    await page.unroute('**/api/**');
    await page.getByRole('status').getByText(app.reconnecting).waitFor({ state: 'detached' });
    await page.context().close();
  });

  it('reports that it reconnects while the service is down, and refetches failed requests', async () => {
    const page = await signedIn();
    await page.goto('/videos');
    await waitForContent(page);
    await page.route('**/api/**', (route) => route.abort('connectionrefused'));
    await page.getByRole('navigation', { name: app.menu }).getByRole('link', { name: app.pages.apiKeys }).click();
    await page.getByRole('status').getByText(app.reconnecting).waitFor();
    await page.unroute('**/api/**');
    await page.getByRole('status').getByText(app.reconnecting).waitFor({ state: 'detached' });
    await page.getByText(STRINGS.en.account.apiKeys.emptyTitle).waitFor();
    assert.equal(await page.locator('[data-failure]').count(), 0);
    await page.context().close();
  });
});
