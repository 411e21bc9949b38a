import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { CDPSession, Page } from 'playwright-core';
import { HOUR_MS } from '../../src/contract/time-units.ts';
import { manualClock } from '../../src/server/platform/clock.ts';
import { PASSWORD } from '../accounts/test-user-client.ts';
import { freePort } from '../operations/server-process.ts';
import { startTestService, type TestService } from '../test-service.ts';
import { authenticate, waitForContent } from './browser-fixture.ts';
import { buildConsoleIfOutdated } from './build-console.ts';
import { acquireChromium, chromiumPath } from './chromium.ts';
import { assertAccessible } from './find-accessibility-issues.ts';

/** A page whose browser has a virtual authenticator that verifies its user. */
interface PasskeyBrowser {
  readonly page: Page;
  /** Passkeys the authenticator holds. */
  credentials(): Promise<readonly { readonly credentialId: string }[]>;
  /** Whether the user touches the authenticator as soon as it asks. */
  setPresent(present: boolean): Promise<unknown>;
}

describe('passkeys in Chromium', { skip: chromiumPath === undefined && !process.env.CI }, () => {
  const clock = manualClock();
  const violations: string[] = [];
  let service: TestService;
  let url: string;
  let release: () => void;
  let browser: Awaited<Awaited<ReturnType<typeof acquireChromium>>['browser']>;

  before(async () => {
    buildConsoleIfOutdated();
    const port = await freePort();
    url = `http://localhost:${port}`;
    service = await startTestService('sqlite::memory:', { PORT: String(port), BASE_URL: url }, { clock });
    ({ browser, release } = await acquireChromium());
  });
  after(async () => {
    release();
    await service.stop();
    assert.deepEqual(violations, []);
  });

  async function open(language = 'en-US', viewport = { width: 1280, height: 860 }): Promise<PasskeyBrowser> {
    const context = await browser.newContext({ baseURL: url, locale: language, viewport, reducedMotion: 'reduce' });
    const page = await context.newPage();
    page.on('console', (message) => {
      if (/Content Security Policy/.test(message.text())) violations.push(message.text());
    });
    page.on('pageerror', (error) => violations.push(String(error)));
    const cdp = await context.newCDPSession(page);
    await cdp.send('WebAuthn.enable', { enableUI: false });
    const { authenticatorId } = await addAuthenticator(cdp);
    return {
      page,
      credentials: async () => (await cdp.send('WebAuthn.getCredentials', { authenticatorId })).credentials,
      setPresent: (enabled) => cdp.send('WebAuthn.setAutomaticPresenceSimulation', { authenticatorId, enabled }),
    };
  }

  async function addPasskey(page: Page, name: string): Promise<void> {
    await page.goto('/account/security');
    await waitForContent(page);
    await page.getByRole('button', { name: 'Add a passkey' }).click();
    await page.getByLabel('Name', { exact: true }).fill(name);
    await page.locator('dialog, [role=dialog]').getByLabel('Current password').fill(PASSWORD);
    await page.getByRole('button', { name: 'Create passkey' }).click();
    await page.locator(`[data-passkey="${name}"]`).waitFor();
  }

  async function newDeviceCode(): Promise<string> {
    const response = await fetch(`${url}/api/auth/device/code`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ client_id: 'reelgate-cli' }),
    });
    const { data } = (await response.json()) as { readonly data: { readonly user_code: string } };
    return data.user_code;
  }

  it('are offered beside the form of root where passwords are off', async () => {
    await service.signUp('lea');
    const { page, setPresent } = await open('zh-CN', { width: 390, height: 844 });
    await authenticate(page, 'lea', PASSWORD);
    await page.goto('/account/security');
    await waitForContent(page);
    await page.getByRole('button', { name: '添加通行密钥' }).click();
    await page.getByLabel('名称', { exact: true }).fill('手机');
    await page.locator('[role=dialog] input[type=password]').fill(PASSWORD);
    await page.getByRole('button', { name: '创建通行密钥' }).click();
    await page.locator('[data-passkey="手机"]').waitFor();
    await service.setSiteSetting('PASSWORD_SIGN_IN', '0');
    await setPresent(false);
    await page.context().clearCookies();
    await page.goto('/sign-in');
    await page.getByRole('button', { name: '使用通行密钥登录' }).waitFor();
    assert.equal(await page.locator('input[autocomplete=current-password]').count(), 0);
    await assertAccessible(page, 'sign-in page without passwords');
    await setPresent(true);
    await page.getByRole('button', { name: '使用通行密钥登录' }).click();
    await page.waitForURL(/\/studio/);
    await service.setSiteSetting('PASSWORD_SIGN_IN', null);
    await page.context().close();
  });

  it('are added, offered in the sign-in form, used for approvals, renamed and removed', async () => {
    await service.signUp('ada');
    const { page, credentials, setPresent } = await open();
    await authenticate(page, 'ada', PASSWORD);
    await addPasskey(page, 'Laptop');
    assert.equal((await credentials()).length, 1);
    await assertAccessible(page, 'passkeys');

    // The device page asks for a second step once the login is older than 12 hours.
    clock.advance(13 * HOUR_MS);
    const code = await newDeviceCode();
    await page.goto(`/authorize?code=${code}`);
    await assertAccessible(page, 'approval with a passkey');
    await setPresent(true);
    await page.getByRole('button', { name: 'Allow with a passkey' }).click();
    await page.locator('h1.good').waitFor();

    // So does the page of an application, which keeps the limits that were typed.
    clock.advance(13 * HOUR_MS);
    await service.root.ok('POST', '/api/admin/device-clients', {
      client_id: 'app',
      name: 'App',
      type: 'public',
      redirect_uris: [`${url}/livez`],
    });
    const request = new URLSearchParams({
      client_id: 'app',
      redirect_uri: `${url}/livez`,
      response_type: 'code',
      scope: 'models',
      code_challenge: 'x'.repeat(43),
      code_challenge_method: 'S256',
    });
    await page.goto(`/oauth/authorize?${request}`);
    await assertAccessible(page, 'consent with a passkey');
    await page.getByLabel('It may spend at most').fill('2.5');
    await page.getByRole('button', { name: 'Allow with a passkey' }).click();
    await page.waitForURL(/\/livez\?code=/);
    const [entry] = await service.root.ok<{ after: { spend_limit: object } }[]>(
      'GET',
      '/api/admin/audit?action=grant.approve',
    );
    assert.deepEqual(entry?.after.spend_limit, { amount: 2.5 * 500_000, period: 'month' });

    // A new sign-in: the browser chooses the only passkey among the suggestions of the user name field.
    await page.context().clearCookies();
    await page.goto('/sign-in');
    await page.waitForURL(/\/studio/);

    // On the device page, without a session.
    await page.context().clearCookies();
    await page.goto(`/authorize?code=${await newDeviceCode()}`);
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
    await page.locator('.account strong', { hasText: 'ada' }).waitFor();

    await page.goto('/account/security');
    const row = page.locator('[data-passkey="Laptop"]');
    await row.getByRole('button', { name: 'Rename' }).click();
    await page.getByLabel('Name', { exact: true }).fill('Work laptop');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.locator('[data-passkey="Work laptop"]').getByRole('button', { name: 'Remove' }).click();
    await page.locator('[role=dialog]').getByRole('button', { name: 'Remove' }).click();
    await page.locator('[data-passkey="Work laptop"]').waitFor({ state: 'detached' });
    // The browser is told to forget it after the list was refetched.
    await assertForgotten({ page, credentials });
    await page.context().close();
  });

  it('that the service does not know are refused by the button, which says so', async () => {
    await service.signUp('bob');
    const { page, credentials, setPresent } = await open();
    await authenticate(page, 'bob', PASSWORD);
    await addPasskey(page, 'Phone');
    await setPresent(false);
    await page.context().clearCookies();
    // Without suggestions: the user would choose the passkey there as soon as the authenticator is touched.
    await page.addInitScript('PublicKeyCredential.isConditionalMediationAvailable = async () => false');
    await page.goto('/sign-in');
    await waitForContent(page);
    await service.app.database.kysely.deleteFrom('passkeys').execute();
    await setPresent(true);
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
    await page.getByText('could not be verified').first().waitFor();
    await assertForgotten({ page, credentials });
    await page.context().close();
  });

  it('that the service does not know are refused by the device page, and forgotten by the browser', async () => {
    await service.signUp('fay');
    const { page, credentials, setPresent } = await open();
    await authenticate(page, 'fay', PASSWORD);
    await addPasskey(page, 'Phone');
    await page.context().clearCookies();
    await page.goto(`/authorize?code=${await newDeviceCode()}`);
    const button = page.getByRole('button', { name: 'Sign in with a passkey' });
    await setPresent(true);
    await service.app.database.kysely.deleteFrom('passkeys').execute();
    await button.click();
    await page.locator('#error').waitFor();
    await assertForgotten({ page, credentials });
    assert.ok(await button.isVisible(), 'another passkey can be used');
    await page.context().close();
  });

  it('are asked for by the button even while the suggestions are being prepared', async () => {
    await service.signUp('eve');
    const { page, setPresent } = await open();
    await authenticate(page, 'eve', PASSWORD);
    await addPasskey(page, 'Tablet');
    await setPresent(false);
    await page.context().clearCookies();
    const late = Promise.withResolvers<void>();
    let asked = 0;
    await page.route('**/passkey/options', async (route) => {
      if (++asked === 1) await late.promise;
      await route.continue();
    });
    await page.goto('/sign-in');
    while (asked < 1) await page.waitForTimeout(20);
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
    while (asked < 2) await page.waitForTimeout(20);
    const answered = page.waitForResponse('**/passkey/options');
    late.resolve();
    await answered;
    await page.waitForTimeout(300);
    assert.equal(await page.getByText('No passkey was used').count(), 0);
    assert.equal(await page.locator('button[data-loading]', { hasText: 'passkey' }).count(), 1, 'its dialog is open');
    await page.context().close();
  });

  it('satisfy a required second factor, to which console and device page lead', async () => {
    await service.signUp('kim');
    const { page } = await open('en-US', { width: 390, height: 844 });
    await service.root.ok('POST', '/api/user/2fa/setup');
    await authenticate(page, 'kim', PASSWORD);
    const code = await newDeviceCode();
    await service.setSiteSetting('REQUIRE_SECOND_FACTOR', 'all');
    await page.goto('/account/devices');
    await page.waitForURL(/\/sign-in\/second-factor/);
    await page.goto(`/authorize?code=${code}`);
    await page.getByRole('link', { name: 'Set it up now' }).click();
    await page.waitForURL(/\/sign-in\/second-factor/);
    await waitForContent(page);
    await assertAccessible(page, 'second factor');
    await page.getByRole('button', { name: 'Add a passkey' }).click();
    await page.getByLabel('Name', { exact: true }).fill('Key');
    await page.locator('[role=dialog]').getByLabel('Current password').fill(PASSWORD);
    await page.getByRole('button', { name: 'Create passkey' }).click();
    await page.getByRole('button', { name: 'Continue', exact: true }).click();
    await page.locator('form[action="/authorize/approve"]').first().waitFor();
    // The next sign-in with the password asks for the passkey.
    await page.context().clearCookies();
    await page.goto('about:blank');
    const other = await open();
    await other.page.goto('/sign-in');
    await other.page.locator('input[autocomplete^=username]').fill('kim');
    await other.page.locator('input[autocomplete=current-password]').fill(PASSWORD);
    await other.page.keyboard.press('Enter');
    await other.page.getByRole('heading', { name: 'Two-step verification' }).waitFor();
    await other.page.getByRole('button', { name: 'Sign in with a passkey' }).waitFor();
    await other.page.context().close();
    await page.context().close();
  });
});

/** Waits until the authenticator has deleted its passkeys, as the Signal API tells it. */
async function assertForgotten({ page, credentials }: Pick<PasskeyBrowser, 'page' | 'credentials'>): Promise<void> {
  for (let attempt = 0; attempt < 100 && (await credentials()).length > 0; attempt += 1) await page.waitForTimeout(50);
  assert.deepEqual(await credentials(), []);
}

const addAuthenticator = (cdp: CDPSession) =>
  cdp.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
