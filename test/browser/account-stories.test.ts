import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { Secret, TOTP } from 'otpauth';
import type { Page } from 'playwright-core';
import { CLI_OAUTH_CLIENT } from '../../src/contract/device-auth.ts';
import { PASSWORD } from '../accounts/test-user-client.ts';
import {
  type BrowserFixture,
  openBrowserFixture,
  signIn,
  waitForContent,
  waitForExpression,
} from './browser-fixture.ts';
import { chromiumPath } from './chromium.ts';
import { inTurn, LANGUAGES, STRINGS } from './console-strings.ts';

describe('the account pages in Chromium', { skip: chromiumPath === undefined && !process.env.CI }, () => {
  let fixture: BrowserFixture;
  before(async () => {
    fixture = await openBrowserFixture();
  });
  after(() => fixture.stop());

  const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
  const see = (page: Page, text: string) => page.getByText(text).first().waitFor();

  const story = inTurn();
  for (const language of LANGUAGES) {
    const words = STRINGS[language];
    const suffix = language === 'en' ? 'en' : 'zh';

    story(language, 'enables two-step verification, and signs in with a code and with a backup code', async () => {
      const username = `mira-${suffix}`;
      const mira = await fixture.running.signUp(username);
      const page = await fixture.open({ language });
      await signIn(page, username, PASSWORD, '/account/security');
      await button(page, words.account.security.setUp).click();
      await page.getByRole('img', { name: words.account.security.qr }).waitFor();
      const secret = (await page.locator('code').first().textContent()) ?? '';
      const totp = new TOTP({ secret: Secret.fromBase32(secret) });
      const code = page.getByLabel(words.account.security.enterCode);
      await code.fill('000000');
      await button(page, words.account.security.turnOn).click();
      await page.getByRole('alert').waitFor();
      await code.fill(totp.generate());
      await button(page, words.account.security.turnOn).click();
      await see(page, words.account.security.backupTitle);
      const backup = (await page.locator('code').first().textContent()) ?? '';
      await button(page, words.account.security.kept).click();
      // Sessions opened with the password alone have ended.
      await mira.fails(401, 'GET', '/api/user/self');

      await page.getByRole('button', { name: words.app.accountMenu }).click();
      await page.getByRole('menuitem', { name: words.app.signOut }).click();
      await page.waitForURL(/sign-in/);
      assert.equal(await page.evaluate(`localStorage.getItem('reelgate.user')`), null);

      await page.goto('/packages');
      await page.waitForURL(/sign-in\?back=/);
      await page.locator('input[autocomplete=username]').fill(username);
      await page.locator('input[autocomplete=current-password]').fill(PASSWORD);
      await page.keyboard.press('Enter');
      await page.locator('input[autocomplete=one-time-code]').fill(backup);
      await page.keyboard.press('Enter');
      await page.waitForURL(/\/packages$/);
      await page.context().close();
    });

    story(language, 'redeems a code, however it is formatted, and shows the plan', async () => {
      const { root } = fixture.running;
      const code = `plan-${suffix}`;
      const card = { package_code: code, name: `Plan ${suffix}`, level: 1, duration_days: 30, daily_quota: 1_000_000 };
      await root.ok('POST', '/api/admin/package-cards', { ...card, purchasable: true, status: 1 });
      const { codes } = await root.ok<{ codes: string[] }>('POST', '/api/admin/redemption-codes', {
        package_code: code,
        count: 1,
      });
      await fixture.running.signUp(`buyer-${suffix}`);
      const page = await fixture.open({ language });
      const typed = encodeURIComponent(` ${String(codes[0]).toLowerCase().replaceAll('-', ' ')} `);
      await signIn(page, `buyer-${suffix}`, PASSWORD, `/packages?code=${typed}`);
      await see(page, words.plan.none);
      // Whether or not a plan is offered, credits can be requested.
      const request = page.getByRole('link', { name: words.plan.requestCredits });
      assert.match((await request.getAttribute('href')) ?? '', /^\/tickets\/new\?category=billing&title=/);
      await button(page, words.plan.redeemAction).click();
      await page.getByRole('region', { name: `Plan ${suffix}` }).waitFor();
      await page.getByRole('progressbar').first().waitFor();
      // The same code is refused the second time, with an explanation.
      await page.getByRole('textbox', { name: words.plan.code }).fill(String(codes[0]));
      await button(page, words.plan.redeemAction).click();
      await page.getByRole('alert').filter({ hasNotText: code }).waitFor();
      assert.equal(await page.getByRole('textbox', { name: words.plan.code }).inputValue(), String(codes[0]));
      await page.context().close();
    });

    story(language, 'links a phone, gets a mailbox and the settings for an e-mail program', async () => {
      await fixture.running.signUp(`writer-${suffix}`);
      const page = await fixture.open({ language });
      await signIn(page, `writer-${suffix}`, PASSWORD, '/mailbox');
      await page.getByRole('link', { name: words.mailbox.bind }).click();
      const number = language === 'en' ? '+4915111111111' : '+4915122222222';
      await page.getByLabel(words.account.profile.phoneLabel).fill(number);
      await button(page, words.account.profile.sendCode).click();
      await see(page, words.account.profile.phoneSent);
      await page.getByLabel(words.account.profile.code, { exact: true }).first().fill(fixture.phone.codeOf(number));
      await button(page, words.account.profile.bind).first().click();
      await see(page, words.account.profile.phoneDone);
      await page.goto('/mailbox');
      await page.getByLabel(words.mailbox.localPart).fill(`w.${suffix}`);
      await button(page, words.mailbox.apply).click();
      await see(page, `w.${suffix}@`);
      await button(page, words.mailbox.makeApp).click();
      await see(page, words.mailbox.settings);
      await see(page, words.mailbox.consistent);
      // Hidden until the user reveals it.
      const shown = page.getByRole('button', { name: `${words.mailbox.show}: ${words.mailbox.appPassword}` });
      assert.match((await page.locator('code').last().textContent()) ?? '', /^•+$/);
      await shown.click();
      assert.match((await page.locator('code').last().textContent()) ?? '', /^[^•]{16,}$/);
      await page.context().close();
    });

    story(language, 'delivers a ticket to the operators and their reply back, live', async () => {
      const { root } = fixture.running;
      await fixture.running.signUp(`asker-${suffix}`);
      const page = await fixture.open({ language });
      // The stream starts after the reply: on a slow connection it may.
      const replied = Promise.withResolvers<void>();
      await page.route('**/api/notifications/stream*', async (route) => {
        await replied.promise;
        await route.continue();
      });
      await signIn(page, `asker-${suffix}`, PASSWORD, '/tickets/new');
      await page.getByLabel(words.support.subject).fill(`Colours ${suffix}`);
      await page.getByLabel(words.support.text).fill('Too green.');
      await page.reload();
      // The unsent draft is kept.
      assert.equal(await page.getByLabel(words.support.subject).inputValue(), `Colours ${suffix}`);
      await button(page, words.support.send).click();
      await page.waitForURL(/\/tickets\/\d+$/);
      const id = page.url().split('/').at(-1);
      await see(page, 'Too green.');
      await root.ok('POST', `/api/admin/tickets/${id}/replies`, { content: 'Use a seed.' });
      replied.resolve();
      await page.getByRole('article', { name: words.support.staff }).waitFor();
      await page.getByRole('banner').getByText('1', { exact: true }).waitFor();
      assert.match(await page.title(), /^\(1\) /);
      await page.getByLabel(words.support.reply).fill('That helped.');
      await page.keyboard.press('Control+Enter');
      await page.getByRole('article', { name: words.support.you }).nth(1).waitFor();
      const { replies } = await root.ok<{ replies: { content: string }[] }>('GET', `/api/admin/tickets/${id}`);
      assert.deepEqual(
        replies.map(({ content }) => content),
        ['Use a seed.', 'That helped.'],
      );
      // The bell links to the ticket, and opening it marks the notification as read.
      await page.goto('/studio');
      await page.getByRole('banner').getByRole('button', { name: /1|one/ }).first().click();
      await page
        .getByRole('dialog')
        .getByRole('link', { name: /Colours/ })
        .click();
      await page.waitForURL(new RegExp(`/tickets/${id}$`));
      await waitForExpression(page, `!document.title.startsWith('(')`);
      await page.context().close();
    });

    story(language, 'names an approved device, lists it, and revokes it', async () => {
      const keeper = await fixture.running.signUp(`keeper-${suffix}`);
      const issued = await keeper.ok<Record<string, string>>('POST', '/api/auth/device/code', {
        client_id: CLI_OAUTH_CLIENT.id,
        client_name: 'Edit suite',
        device_id: suffix,
      });
      const page = await fixture.open({ language });
      // The user is already signed in: the page only asks for consent.
      await signIn(page, `keeper-${suffix}`, PASSWORD, `/authorize?code=${issued.user_code}`);
      await page.click('form[action="/authorize/approve"] button');
      assert.equal(await page.inputValue('#name'), 'Edit suite');
      await page.fill('#name', 'Laptop');
      await page.click('form[action="/authorize/name"] button');
      await page.getByRole('status').waitFor();
      const { access_token } = await keeper.ok<Record<string, string>>('POST', '/api/auth/device/token', {
        device_code: issued.device_code,
        client_id: CLI_OAUTH_CLIENT.id,
        client_secret: CLI_OAUTH_CLIENT.secret,
      });
      const asDevice = () =>
        fetch(`${fixture.running.url}/api/user/self`, {
          headers: { authorization: `Bearer ${access_token}`, 'service-api-user': String(keeper.id) },
        });
      assert.equal((await asDevice()).status, 200);
      await page.goto('/account/devices');
      await see(page, 'Laptop');
      await button(page, words.account.devices.rename).click();
      await page.getByRole('dialog').getByLabel(words.account.devices.name).fill('Cutting room');
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { name: 'Cutting room' }).waitFor();
      await button(page, words.account.devices.end).click();
      await page.getByRole('dialog').getByRole('button', { name: words.account.devices.end, exact: true }).click();
      await see(page, words.account.devices.emptyTitle);
      assert.equal((await asDevice()).status, 401);
      await page.context().close();
    });
  }

  it('ends another session, sends its browser to the sign-in page with the reason, and lists failed sign-ins', async () => {
    await fixture.running.signUp('twice');
    const [here, there] = [await fixture.open(), await fixture.open()];
    await signIn(there, 'twice', PASSWORD, '/tickets');
    await signIn(here, 'twice', PASSWORD, '/account/security');
    const end = button(here, STRINGS.en.account.security.endSession);
    await end.first().waitFor();
    for (let left = await end.count(); left > 0; left -= 1) {
      await end.first().click();
      while ((await end.count()) >= left) await here.waitForTimeout(20);
    }
    await there.goto('/account/profile');
    await there.waitForURL(/sign-in\?back=/);
    await see(there, STRINGS.en.signIn.ended.reasons.signed_out_elsewhere);
    await there.locator('input[autocomplete=username]').fill('twice');
    await there.locator('input[autocomplete=current-password]').fill('not the password');
    await there.keyboard.press('Enter');
    await there.locator('[data-failure]').waitFor();
    await there.context().close();
    await here.goto('/account/security');
    const history = here.getByRole('region', { name: STRINGS.en.logins.title, exact: true });
    await history.getByText(STRINGS.en.logins.outcomes.wrong_password).waitFor();
    await history.getByText(STRINGS.en.logins.outcomes.success, { exact: true }).first().waitFor();
    await history.getByRole('switch', { name: STRINGS.en.logins.onlyFailed }).check({ force: true });
    await history.getByText(STRINGS.en.logins.outcomes.success, { exact: true }).first().waitFor({ state: 'detached' });
    // The list is empty while it is refetched.
    await history.getByText(STRINGS.en.logins.outcomes.wrong_password).waitFor();
    assert.equal(await history.getByText(STRINGS.en.logins.outcomes.wrong_password).count(), 1);
    // The URL contains the switch, so that the list can be reloaded and linked.
    assert.match(here.url(), /\/account\/security\?failed=true$/);
    await here.reload();
    await history.getByText(STRINGS.en.logins.outcomes.wrong_password).waitFor();
    assert.equal(await history.getByRole('switch', { name: STRINGS.en.logins.onlyFailed }).isChecked(), true);
    assert.equal(await history.getByText(STRINGS.en.logins.outcomes.success, { exact: true }).count(), 0);
    await here.context().close();
  });

  it('ends all other sessions at once, and not the one in use', async () => {
    await fixture.running.signUp('thrice');
    const [here, there] = [await fixture.open(), await fixture.open()];
    await signIn(there, 'thrice', PASSWORD, '/tickets');
    await signIn(here, 'thrice', PASSWORD, '/account/security');
    const { security } = STRINGS.en.account;
    await button(here, security.endOthers).click();
    await here.getByRole('dialog').getByRole('button', { name: security.endOthers, exact: true }).click();
    await see(here, security.othersEnded);
    await see(here, security.thisSession);
    assert.equal(await button(here, security.endSession).count(), 0);
    await there.goto('/account/profile');
    await there.waitForURL(/sign-in\?back=/);
    for (const page of [here, there]) await page.context().close();
  });

  it('moves the focus to the content by the skip link', async () => {
    await fixture.running.signUp('keys');
    const page = await fixture.open();
    await signIn(page, 'keys', PASSWORD, '/notifications');
    await waitForContent(page);
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    assert.equal(await page.evaluate('document.activeElement.id'), 'main');
    await page.context().close();
  });

  it('violates no content security policy, sends no request to other origins and throws no error', () => {
    assert.deepEqual(fixture.problems, { violations: [], dialogs: [], errors: [], foreignRequests: [] });
  });
});
