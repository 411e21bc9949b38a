import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { PASSWORD } from '../accounts/test-user-client.ts';
import {
  authenticate,
  type BrowserFixture,
  openBrowserFixture,
  signIn,
  signInOnPage,
  waitForContent,
} from './browser-fixture.ts';
import { chromiumPath } from './chromium.ts';
import { STRINGS } from './console-strings.ts';
import { ROOT } from './demo-data.ts';
import { assertAccessible } from './find-accessibility-issues.ts';

const { account, admin, app, studio } = STRINGS.en;
const { signIn: signInTexts } = STRINGS.en.signIn;

describe('sessions in several tabs and limited browsers', {
  skip: chromiumPath === undefined && !process.env.CI,
}, () => {
  let fixture: BrowserFixture;
  before(async () => {
    fixture = await openBrowserFixture();
    await fixture.running.signUp('mila');
  });
  after(() => fixture.stop());

  const signOut = async (page: Page): Promise<void> => {
    await page.getByRole('button', { name: app.accountMenu }).click();
    await page.getByRole('menuitem', { name: app.signOut }).click();
  };

  it('follows a sign-out and another account in all tabs', async () => {
    const first = await fixture.open();
    await signInOnPage(first, ROOT.username, ROOT.password);
    await first.goto('/admin/users?q=mila');
    await first.getByRole('link', { name: 'mila' }).waitFor();
    const second = await first.context().newPage();
    await second.goto('/account/profile');
    await waitForContent(second);
    await signOut(second);
    await first.waitForURL(/\/sign-in\?back=/);
    await first.locator('input[autocomplete=current-password]').waitFor();
    assert.equal(await first.getByRole('link', { name: 'mila' }).count(), 0);
    await signInOnPage(second, ROOT.username, ROOT.password);
    await first.waitForURL(/\/admin\/users\?q=mila$/);
    await first.getByRole('link', { name: 'mila' }).waitFor();
    await second.goto('/sign-in');
    await signInOnPage(second, 'mila', PASSWORD);
    await first.getByRole('link', { name: 'mila' }).waitFor({ state: 'detached' });
    await first.context().close();
  });

  it('leaves pages alone that show nothing of an account', async () => {
    const first = await fixture.open();
    await first.goto('/register');
    const username = first.locator('input[autocomplete=username]');
    await username.fill('newcomer');
    const second = await first.context().newPage();
    await signInOnPage(second, 'mila', PASSWORD);
    await signOut(second);
    await second.waitForURL(/\/sign-in/);
    await first.waitForTimeout(300);
    assert.match(first.url(), /\/register$/);
    assert.equal(await username.inputValue(), 'newcomer');
    await first.context().close();
  });

  it('acts for no organization after the sign-out of another tab', async () => {
    const { root } = fixture.running;
    const { slug } = await root.ok<{ slug: string }>('POST', '/api/organizations', { name: 'Acme', slug: 'acme' });
    const first = await fixture.open();
    await authenticate(first, ROOT.username, ROOT.password);
    await first.addInitScript(`if (sessionStorage.getItem('entered') === null) {
      sessionStorage.setItem('entered', '1');
      localStorage.setItem('reelgate.organization', ${JSON.stringify(slug)});
    }`);
    const before = first.waitForRequest(/\/api\/user\/self$/);
    await first.goto('/account/profile');
    assert.equal((await before).headers()['x-organization'], slug);
    await waitForContent(first);
    const second = await first.context().newPage();
    await second.goto('/account/profile');
    await waitForContent(second);
    await signOut(second);
    await first.waitForURL(/\/sign-in\?back=/);
    const self = first.waitForRequest(/\/api\/user\/self$/);
    await first.locator('input[autocomplete^=username]').fill(ROOT.username);
    await first.locator('input[autocomplete=current-password]').fill(ROOT.password);
    await first.keyboard.press('Enter');
    assert.equal((await self).headers()['x-organization'], undefined);
    await first.context().close();
  });

  it('says that the sign-out failed without the service, where the session would last', async () => {
    const page = await fixture.open();
    await signIn(page, 'mila', PASSWORD, '/account/profile');
    await waitForContent(page);
    await page.route('**/api/user/logout', (route) => route.abort());
    await signOut(page);
    await page.getByText(app.unreachable).waitFor();
    assert.match(page.url(), /\/account\/profile$/);
    await page.unroute('**/api/user/logout');
    await signOut(page);
    await page.waitForURL(/\/sign-in/);
    await page.context().close();
  });

  const userDialog = async (page: Page) => {
    await page.goto('/admin/users');
    await waitForContent(page);
    await page.getByRole('button', { name: admin.users.make }).click();
    const dialog = page.getByRole('dialog', { name: admin.users.make });
    return { dialog, username: dialog.getByRole('textbox', { name: admin.users.username }) };
  };

  it('signs in over a dialog with input, whose request is then sent again', async () => {
    const page = await fixture.open();
    await authenticate(page, ROOT.username, ROOT.password);
    const { dialog, username } = await userDialog(page);
    await username.fill('later');
    await dialog.locator('input[type=password]').fill(PASSWORD);
    await page.context().clearCookies();
    await dialog.getByRole('button', { name: admin.users.make }).click();
    const over = page.getByRole('dialog', { name: signInTexts.title });
    await over.getByText(signInTexts.over.replace('{{name}}', ROOT.username)).waitFor();
    await assertAccessible(page, 'the sign-in over a page');
    await over.locator('input[autocomplete^=username]').fill(ROOT.username);
    await over.locator('input[autocomplete=current-password]').fill('not-the-password');
    await page.keyboard.press('Enter');
    await over.locator('[data-failure]').waitFor();
    await page.keyboard.press('Escape');
    await over.locator('input[autocomplete=current-password]').fill(ROOT.password);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'later' }).waitFor();
    assert.equal(await page.getByRole('dialog').count(), 0);
    await page.context().close();
  });

  it('keeps what is entered in one tab while another one signs in again, and shows it to no other account', async () => {
    const first = await fixture.open();
    await authenticate(first, ROOT.username, ROOT.password);
    const { username } = await userDialog(first);
    await username.fill('kept');
    const second = await first.context().newPage();
    await second.goto('/account/profile');
    await waitForContent(second);
    await first.context().clearCookies();
    await second.reload();
    await second.waitForURL(/\/sign-in\?back=/);
    const over = first.getByRole('dialog', { name: signInTexts.title });
    await over.waitFor();
    await signInOnPage(second, ROOT.username, ROOT.password);
    await over.waitFor({ state: 'detached' });
    assert.equal(await username.inputValue(), 'kept');
    await first.context().clearCookies();
    await second.reload();
    await over.waitFor();
    await signInOnPage(second, 'mila', PASSWORD);
    await username.waitFor({ state: 'detached' });
    assert.equal(await over.count(), 0);
    await first.context().close();
  });

  it('keeps nothing of a page with input after a sign-out in another tab', async () => {
    const first = await fixture.open();
    await authenticate(first, ROOT.username, ROOT.password);
    const { username } = await userDialog(first);
    await username.fill('gone');
    const second = await first.context().newPage();
    await second.goto('/account/profile');
    await waitForContent(second);
    await signOut(second);
    await first.waitForURL(/\/sign-in\?back=/);
    await username.waitFor({ state: 'detached' });
    await first.context().close();
  });

  it('lets no key reach the page behind the sign-in, and nothing of it above', async () => {
    const first = await fixture.open();
    await authenticate(first, 'mila', PASSWORD);
    await first.goto('/studio');
    await waitForContent(first);
    await first.locator('#prompt').fill('a fox in the snow');
    await first.evaluate(`document.body.appendChild(document.createElement('dialog')).showModal()`);
    const generated: string[] = [];
    first.on('request', (request) => {
      const { pathname } = new URL(request.url());
      if (request.method() === 'POST' && pathname !== '/api/videos/quote') generated.push(pathname);
    });
    const second = await first.context().newPage();
    await first.context().clearCookies();
    await second.goto('/account/profile');
    await second.waitForURL(/\/sign-in\?back=/);
    const over = first.getByRole('dialog', { name: signInTexts.title });
    await over.waitFor();
    await first.bringToFront();
    await over.locator('input[autocomplete^=username]').click();
    for (const key of ['ControlOrMeta+Enter', 'ControlOrMeta+k']) await first.keyboard.press(key);
    await over.locator('button[type=submit]').focus();
    await first.keyboard.press('?');
    await first.waitForTimeout(300);
    assert.deepEqual(generated, []);
    assert.equal(await first.getByRole('dialog').count(), 1);
    await first.keyboard.press('Tab');
    assert.equal(await over.locator(':focus').count(), 1);
    await over.locator('input[autocomplete^=username]').fill('mila');
    await over.locator('input[autocomplete=current-password]').fill(PASSWORD);
    await first.keyboard.press('Enter');
    await over.waitFor({ state: 'detached' });
    assert.equal(await first.locator('#prompt').inputValue(), 'a fox in the snow');
    await first.context().close();
  });

  it('keeps what is entered in one form when another one is gone', async () => {
    const page = await fixture.open();
    await authenticate(page, ROOT.username, ROOT.password);
    const { dialog, username } = await userDialog(page);
    await page.evaluate(`{
      const form = document.body.appendChild(document.createElement('form'));
      form.appendChild(document.createElement('input')).dispatchEvent(new Event('input', { bubbles: true }));
      globalThis.gone = form;
    }`);
    await username.fill('kept');
    await dialog.locator('input[type=password]').fill(PASSWORD);
    await page.evaluate('globalThis.gone.remove()');
    await page.context().clearCookies();
    await dialog.getByRole('button', { name: admin.users.make }).click();
    await page.getByRole('dialog', { name: signInTexts.title }).waitFor();
    assert.equal(await username.inputValue(), 'kept');
    await page.context().close();
  });

  it('enters no organization of the account before', async () => {
    const page = await fixture.open();
    await authenticate(page, ROOT.username, ROOT.password);
    await page.goto('/account/profile');
    await waitForContent(page);
    // As after a sign-in in another tab, over whose page nobody has signed in again.
    await page.evaluate(
      `localStorage.setItem('reelgate.organization', 'acme'); localStorage.removeItem('reelgate.user')`,
    );
    await page.goto('/sign-in');
    await signInOnPage(page, 'mila', PASSWORD);
    assert.equal(await page.evaluate(`localStorage.getItem('reelgate.organization')`), null);
    await page.context().close();
  });

  it('generates videos and copies keys over plain http, where browsers lack parts of their APIs', async () => {
    const page = await fixture.open();
    await authenticate(page, 'mila', PASSWORD);
    await page.addInitScript(`delete Navigator.prototype.clipboard; delete Crypto.prototype.randomUUID;
      delete Crypto.prototype.subtle;
      document.addEventListener('copy', () => { window.copied = document.activeElement.value; });`);
    await page.goto('/studio');
    await page.getByPlaceholder(studio.promptPlaceholder).waitFor();
    await page.goto('/account/tokens#new');
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('textbox', { name: account.apiKeys.name }).fill('laptop');
    await page.keyboard.press('Enter');
    await dialog.getByText(/^sk-/).waitFor();
    const copy = dialog.getByRole('button', { name: app.copy }).first();
    await copy.click();
    assert.equal(await page.evaluate('window.copied'), await dialog.getByText(/^sk-/).textContent());
    assert.equal(await page.evaluate('document.activeElement.ariaLabel'), app.copy, 'keeps the focus');
    await page.context().close();
  });

  it('signs in where the browser blocks stored data', async () => {
    const page = await fixture.open();
    await page.addInitScript(`Object.defineProperty(window, 'localStorage', {
      configurable: true,
      get() { throw new DOMException('Access is denied for this document.', 'SecurityError'); },
    })`);
    await signInOnPage(page, 'mila', PASSWORD);
    await page.getByPlaceholder(studio.promptPlaceholder).waitFor();
    await page.context().close();
  });

  it('says that files are missing instead of reloading forever, and opens the page once they are there', async () => {
    const page = await fixture.open();
    await signIn(page, 'mila', PASSWORD, '/account/profile');
    await waitForContent(page);
    let loads = 0;
    page.on('load', () => {
      loads += 1;
    });
    const files = /assets\/(security-page|header-menus)/;
    await page.route(files, (route) => route.abort());
    await page.getByRole('button', { name: app.accountMenu }).click();
    // A menu of an earlier release: the page is loaded again.
    await page.waitForEvent('load');
    await waitForContent(page);
    await page.evaluate(`history.pushState({}, '', '/account/security')`);
    await page.getByText(app.filesMissing).waitFor();
    await page.waitForTimeout(500);
    assert.ok(loads <= 2, `${loads} loads`);
    // Later, after a restart of the service, still.
    await page.evaluate(`performance.now = () => 60_000`);
    await page.route('**/api/status', (route) => route.abort());
    await page.getByText(app.reconnectingText).waitFor();
    const earlier = loads;
    await page.unroute('**/api/status');
    await page.getByText(app.reconnectingText).waitFor({ state: 'detached' });
    await page.getByText(app.filesMissing).waitFor();
    await page.waitForTimeout(500);
    assert.equal(loads, earlier);
    await page.unroute(files);
    await page.getByRole('button', { name: app.tryAgain }).click();
    await page.getByRole('heading', { name: account.security.title }).waitFor();
    await page.context().close();
  });

  it('violates no content security policy, sends no request to other origins and throws no error', () => {
    assert.deepEqual(fixture.problems, { violations: [], dialogs: [], errors: [], foreignRequests: [] });
  });
});
