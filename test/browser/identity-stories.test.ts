import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { after, before, describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { PASSWORD } from '../accounts/test-user-client.ts';
import { RealProvider } from '../identity-providers/real-provider.ts';
import { type BrowserFixture, openBrowserFixture, signIn, waitForContent } from './browser-fixture.ts';
import { chromiumPath } from './chromium.ts';
import { assertAccessible } from './find-accessibility-issues.ts';

const PHONE = { width: 390, height: 844 } as const;

async function findFreePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

describe('identity providers in the console', { skip: chromiumPath === undefined && !process.env.CI }, () => {
  let fixture: BrowserFixture;
  let provider: RealProvider;
  before(async () => {
    provider = await RealProvider.start();
    const port = String(await findFreePort());
    fixture = await openBrowserFixture({ PORT: port, BASE_URL: `http://127.0.0.1:${port}` });
    await provider.serve(`${fixture.running.url}/auth/sso`);
  });
  after(async () => {
    const { violations, errors } = fixture.problems;
    await fixture.stop();
    await provider.stop();
    assert.deepEqual([violations, errors], [[], []]);
  });

  const passThroughProvider = async (page: Page): Promise<void> => {
    await page.getByRole('heading', { name: 'Example SSO' }).waitFor();
    await page.getByRole('button', { name: 'Continue' }).click();
  };

  it('root adds a provider, tests it and saves it', async () => {
    const page = await fixture.open();
    await signIn(page, 'root', 'root-password-1', '/admin/settings');
    await waitForContent(page);
    await page.getByRole('button', { name: 'Add an identity provider' }).click();
    await page.getByRole('menuitem', { name: 'OpenID Connect' }).click();
    const { issuer, client_id, client_secret } = provider.settings('sso');
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name on the button').fill('Example SSO');
    await dialog.getByLabel('Id, part of its URLs').fill('sso');
    await dialog.getByLabel('Issuer', { exact: false }).first().fill(issuer);
    await dialog.getByLabel('Client ID').fill(client_id);
    await dialog.locator('input[type=password]').fill('wrong-secret');
    await dialog.getByRole('button', { name: 'Test' }).click();
    await dialog.getByText(/Client ID and secret: .*invalid_client/).waitFor();
    await dialog.locator('input[type=password]').fill(client_secret);
    await dialog.getByRole('switch', { name: 'Create accounts' }).check();
    await dialog.getByRole('button', { name: 'Test' }).click();
    await dialog.getByText('Client ID and secret: OK').waitFor();
    await assertAccessible(page, 'identity provider dialog');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await page.getByText('The setting was saved.').waitFor();
    await page.getByText(issuer).waitFor();
    assert.doesNotMatch(await page.content(), new RegExp(client_secret));
  });

  it('a person signs in with it, on a phone too, and returns to the requested page', async () => {
    const page = await fixture.open(PHONE);
    provider.accountId = 'grace';
    await page.goto('/account/security');
    await page.getByRole('link', { name: 'Sign in with Example SSO' }).waitFor();
    await assertAccessible(page, 'sign-in page with identity providers');
    await page.getByRole('link', { name: 'Sign in with Example SSO' }).click();
    await passThroughProvider(page);
    await page.waitForURL(/\/account\/security$/);
    await page.getByText('grace@example.com').waitFor();
    const section = page.getByRole('region', { name: 'Sign-in methods' });
    await section.getByRole('button', { name: 'Remove' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
    await page.getByText('This is the last way to sign in to the account').waitFor();
    await assertAccessible(page, 'refused removal');
    await page.goto('/auth/sso/callback?state=x');
    await page.getByRole('heading', { name: 'Sign-in failed' }).waitFor();
    await assertAccessible(page, 'failed sign-in');
  });

  it('an account with a password links the identity, in Chinese, and signs in with it', async () => {
    const user = await fixture.running.signUp('linker');
    const page = await fixture.open({ language: 'zh-cn' });
    await signIn(page, 'linker', PASSWORD, '/account/security');
    await page.getByRole('button', { name: '添加 Example SSO' }).click();
    await page.getByRole('dialog').locator('input[type=password]').fill(PASSWORD);
    await page.getByRole('button', { name: '前往 Example SSO' }).click();
    provider.accountId = 'linked';
    await passThroughProvider(page);
    await page.waitForURL(/\/account\/security$/);
    await page.getByText('linked@example.com').waitFor();
    const other = await fixture.open({ ...PHONE, language: 'zh-cn' });
    await other.goto('/sign-in');
    await other.getByRole('link', { name: '使用 Example SSO 登录' }).click();
    await passThroughProvider(other);
    await other.waitForURL(/\/studio/);
    const { data } = (await (await other.request.get('/api/user/session')).json()) as { data: { id: number } };
    assert.equal(data.id, user.id);
  });

  it('without passwords, the page offers the identity provider and root a form', async () => {
    await fixture.running.setSiteSetting('PASSWORD_SIGN_IN', '0');
    const page = await fixture.open(PHONE);
    await page.goto('/sign-in');
    assert.equal(await page.locator('input[autocomplete=current-password]').count(), 0);
    await page.getByRole('button', { name: 'Sign in as root' }).click();
    await page.locator('input[autocomplete=username]').fill('root');
    await page.locator('input[autocomplete=current-password]').fill('root-password-1');
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/studio/);
    await fixture.running.setSiteSetting('PASSWORD_SIGN_IN', null);
  });

  it('a device code is still there after signing in with the identity provider', async () => {
    const code = await fixture.running.root.ok<{ user_code: string }>('POST', '/api/auth/device/code', {
      client_id: 'reelgate-cli',
    });
    const page = await fixture.open(PHONE);
    await page.goto(`/authorize?code=${code.user_code}`);
    await assertAccessible(page, 'device page with identity providers');
    provider.accountId = 'grace';
    await page.getByRole('link', { name: 'Sign in with Example SSO' }).click();
    await passThroughProvider(page);
    await page.getByRole('heading', { name: 'Let this device sign in?' }).waitFor();
    assert.match(page.url(), new RegExp(`code=${code.user_code}`));
  });
});
