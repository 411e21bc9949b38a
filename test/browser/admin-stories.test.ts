import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { PASSWORD } from '../accounts/test-user-client.ts';
import { type BrowserFixture, openBrowserFixture, signIn, signInOnPage, waitForContent } from './browser-fixture.ts';
import { chromiumPath } from './chromium.ts';
import { inCredits, inTurn, LANGUAGES, STRINGS } from './console-strings.ts';
import { ROOT } from './demo-data.ts';

describe('the administration in Chromium', { skip: chromiumPath === undefined && !process.env.CI }, () => {
  let fixture: BrowserFixture;
  before(async () => {
    fixture = await openBrowserFixture();
  });
  after(() => fixture.stop());

  const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
  const inDialog = (page: Page, name: string) => page.getByRole('dialog').getByRole('button', { name, exact: true });
  const see = (page: Page, text: string) => page.getByText(text).first().waitFor();
  const asRoot = async (language: keyof typeof STRINGS, path: string): Promise<Page> => {
    const page = await fixture.open({ language });
    await signIn(page, ROOT.username, ROOT.password, path);
    return page;
  };

  const story = inTurn();
  for (const language of LANGUAGES) {
    const {
      admin,
      adminAnnouncements,
      adminBetaApplications,
      adminCodes,
      adminPlans,
      adminTickets,
      app,
      audit,
      plan,
      signIn: signInWords,
      support,
    } = STRINGS[language];
    const suffix = language === 'en' ? 'en' : 'zh';

    story(
      language,
      'carries a ticket from the user to an administrator and back, each in their own browser',
      async () => {
        await fixture.running.signUp(`client-${suffix}`);
        const user = await fixture.open({ language });
        await signIn(user, `client-${suffix}`, PASSWORD, '/tickets/new');
        await user.getByLabel(support.subject).fill(`Invoice ${suffix}`);
        await user.getByLabel(support.text).fill('For November, please.');
        await button(user, support.send).click();
        await user.waitForURL(/\/tickets\/\d+$/);

        const staff = await asRoot(language, '/admin/tickets?unprocessed=true');
        await staff.getByRole('link', { name: `Invoice ${suffix}` }).click();
        await see(staff, 'For November, please.');
        // The draft of an internal note must never become a reply to the user.
        await staff.getByText(adminTickets.note, { exact: true }).click();
        await staff.getByLabel(adminTickets.replyNote).fill('Pays late.');
        await staff.getByText(adminTickets.answer, { exact: true }).click();
        assert.equal(await staff.getByRole('textbox', { name: adminTickets.reply }).inputValue(), '');
        await staff.getByText(adminTickets.note, { exact: true }).click();
        await button(staff, adminTickets.keepNote).click();
        await staff.getByRole('article').nth(1).waitFor();
        await staff.getByText(adminTickets.answer, { exact: true }).click();
        await staff.getByRole('textbox', { name: adminTickets.reply }).fill('It is in your mail.');
        await staff.keyboard.press('Control+Enter');
        await staff.getByRole('article').nth(2).waitFor();

        // The reply arrives without a reload; the internal note does not.
        await user.getByRole('article', { name: support.staff }).waitFor();
        assert.equal(await user.getByText('Pays late.').count(), 0);
        await user.getByLabel(support.reply).fill('Thank you!');
        await user.keyboard.press('Control+Enter');
        await see(user, 'Thank you!');

        await staff.getByText('Thank you!').waitFor({ timeout: 30_000 });
        await staff.getByRole('combobox', { name: adminTickets.setStatus }).click();
        await staff.getByRole('option', { name: support.status.resolved }).click();
        await see(staff, adminTickets.statusSet);
        await user.reload();
        await user.getByText(support.status.resolved, { exact: true }).waitFor();
        await user.context().close();
        await staff.context().close();
      },
    );

    story(language, 'adds a user, adds and removes credits, creates codes once, and disables the user', async () => {
      const page = await asRoot(language, '/admin/users');
      const name = `hand-${suffix}`;
      await button(page, admin.users.make).click();
      await page.getByRole('dialog').getByRole('textbox', { name: admin.users.username }).fill(name);
      await page.getByRole('dialog').locator('input[type=password]').fill(PASSWORD);
      await inDialog(page, admin.users.make).click();
      await page.waitForURL(/\/admin\/users\/\d+$/);
      const id = Number(page.url().split('/').at(-1));

      await button(page, admin.users.changeBalance).click();
      await page.getByRole('textbox', { name: admin.users.credits }).fill('4');
      await inDialog(page, admin.users.add).click();
      await page.getByRole('dialog').waitFor({ state: 'detached' });
      await see(page, inCredits('4.00', language));

      // The response is lost, not the change.
      const account = `**/api/admin/users/${id}`;
      await page.route(account, async (route) => {
        if (route.request().method() !== 'PUT') return route.continue();
        await route.fetch();
        await route.abort('connectionreset');
      });
      await button(page, admin.users.changeBalance).click();
      await page.getByRole('textbox', { name: admin.users.credits }).fill('3');
      await inDialog(page, admin.users.add).click();
      await page.getByRole('dialog').getByText(app.unreachable).waitFor();
      await page.unroute(account);
      await page.getByRole('textbox', { name: admin.users.credits }).fill('5');
      await inDialog(page, admin.users.add).click();
      await page.getByRole('dialog').getByText(admin.users.changedBefore).waitFor();
      await page.getByRole('dialog').getByText(inCredits('12.00', language)).waitFor();
      await inDialog(page, app.close).click();
      await see(page, inCredits('7.00', language));

      await button(page, admin.users.changeBalance).click();
      await page.getByRole('dialog').getByText(admin.users.take, { exact: true }).first().click();
      await page.getByRole('textbox', { name: admin.users.credits }).fill('8');
      await see(page, admin.users.tooMuch);
      assert.equal(await inDialog(page, admin.users.take).isDisabled(), true);
      await inDialog(page, app.close).click();

      await page.goto('/admin/packages/new');
      await page.getByRole('textbox', { name: adminPlans.name }).first().fill(`Gift ${suffix}`);
      await page.getByRole('textbox', { name: adminPlans.code }).last().fill(`gift-${suffix}`);
      await button(page, adminPlans.make).click();
      await page.waitForURL(/\/admin\/packages$/);
      await page.goto('/admin/codes');
      await button(page, adminCodes.make).filter({ visible: true }).first().click();
      await page.getByRole('dialog').getByRole('combobox', { name: adminCodes.planName }).click();
      await page.getByRole('option', { name: `Gift ${suffix}` }).click();
      await page.getByRole('textbox', { name: adminCodes.count }).fill('2');
      await inDialog(page, adminCodes.make).click();
      const [code = '', ...others] = ((await page.getByRole('dialog').locator('pre').textContent()) ?? '').split('\n');
      assert.equal(others.length, 1);
      await inDialog(page, adminCodes.copied).click();
      await page.reload();
      await waitForContent(page);
      assert.ok(!(await page.content()).includes(code), 'a code is shown once');

      const user = await fixture.open({ language });
      await signIn(user, name, PASSWORD, '/packages');
      await user.getByRole('textbox', { name: plan.code }).fill(code.toLowerCase());
      await button(user, plan.redeemAction).click();
      await user.getByRole('region', { name: `Gift ${suffix}` }).waitFor();

      await page.goto(`/admin/users/${id}`);
      await button(page, admin.users.resetLink).click();
      await inDialog(page, admin.users.resetLinkAction).click();
      const link = (await page.getByRole('dialog').locator('code').textContent()) ?? '';
      await inDialog(page, app.close).first().click();
      const { pathname, hash } = new URL(link);
      await user.goto(`${pathname}${hash}`);
      await user.locator('input[autocomplete=new-password]').fill('by the link of root');
      await button(user, signInWords.reset.action).click();
      await see(user, signInWords.reset.done);
      await signInOnPage(user, name, 'by the link of root');

      await page.goto(`/admin/users/${id}`);
      await button(page, app.edit).click();
      await page.getByRole('switch', { name: admin.users.maySignIn }).uncheck({ force: true });
      await inDialog(page, app.save).click();
      await see(page, admin.users.disabled);
      await user.goto('/packages');
      await user.waitForURL(/sign-in/);
      await see(user, signInWords.ended.reasons.account_disabled);
      await user.context().close();

      // The audit log names the administrator and links to the user.
      await page.goto(`/admin/audit?target=user:${id}`);
      await see(page, audit.actions.user.update);
      await see(page, audit.targets.user.replace('{{id}}', name));
      await page.context().close();
    });

    story(language, 'announces in two languages, decides an application, and shows a client secret once', async () => {
      const reader = await fixture.running.signUp(`reader-${suffix}`);
      await fixture.running.setSiteSetting('BETA_FEATURES', `Boards ${suffix}: several shots`);
      const applicant = await fixture.open({ language });
      await signIn(applicant, `reader-${suffix}`, PASSWORD, '/beta-applications');
      await see(applicant, 'several shots');
      await button(applicant, support.applyFor.replace('{{name}}', `Boards ${suffix}`)).click();
      await applicant.getByLabel(support.reason).fill('For a film.');
      await inDialog(applicant, support.applyAction).click();
      await see(applicant, support.applied);
      assert.equal(await applicant.getByText(support.decision.pending, { exact: true }).count(), 2);
      await applicant.context().close();
      const page = await asRoot(language, '/admin/announcements');
      await button(page, adminAnnouncements.make).filter({ visible: true }).first().click();
      await page.getByRole('textbox', { name: adminAnnouncements.title }).fill(`News ${suffix}`);
      await page.getByRole('textbox', { name: adminAnnouncements.text }).fill('Something is new.');
      await page.getByRole('switch', { name: adminAnnouncements.inChinese }).check({ force: true });
      await page.getByRole('textbox', { name: adminAnnouncements.titleChinese }).fill(`消息 ${suffix}`);
      await page.getByRole('textbox', { name: adminAnnouncements.textChinese }).fill('有新内容。');
      // The preview in each language.
      await page.getByRole('dialog').getByText('Something is new.', { exact: true }).last().waitFor();
      await page.getByRole('dialog').locator('[lang=zh-CN]').getByText('有新内容。', { exact: true }).waitFor();
      await inDialog(page, adminAnnouncements.make).click();
      await see(page, adminAnnouncements.sent);
      const news = await reader.send('GET', '/api/notifications/', undefined, {
        'accept-language': language === 'en' ? 'en' : 'zh-CN',
      });
      const titles = (news.body.data as { title: string }[]).map(({ title }) => title);
      assert.ok(titles.includes(language === 'en' ? `News ${suffix}` : `消息 ${suffix}`), titles.join());

      await page.goto('/admin/beta-applications?status=pending');
      await button(page, adminBetaApplications.approve).first().click();
      await page.getByRole('textbox', { name: adminBetaApplications.note }).fill('Have fun.');
      await inDialog(page, adminBetaApplications.approve).click();
      await see(page, adminBetaApplications.approved);
      const [own] = await reader.ok<{ status: string; note: string }[]>('GET', '/api/beta-applications');
      assert.deepEqual([own?.status, own?.note], ['approved', 'Have fun.']);

      await page.goto('/admin/device-clients');
      await button(page, admin.deviceClients.make).filter({ visible: true }).first().click();
      await page.getByRole('textbox', { name: admin.deviceClients.name }).fill(`Farm ${suffix}`);
      await inDialog(page, admin.deviceClients.make).click();
      const secret = (await page.getByRole('dialog').locator('code').last().textContent()) ?? '';
      assert.ok(secret.length >= 32);
      await inDialog(page, admin.deviceClients.copied).click();
      await page.reload();
      await see(page, `Farm ${suffix}`);
      assert.ok(!(await page.content()).includes(secret), 'a secret is shown once');
      await page.context().close();
    });
  }

  it('keeps filters in the URL across back and forward, and explains an empty result', async () => {
    const { admin, list } = STRINGS.en;
    const page = await asRoot('en', '/admin/users');
    await page.getByRole('textbox', { name: admin.users.search }).fill('nobody-of-this-name');
    await see(page, list.noMatch);
    assert.match(page.url(), /q=nobody-of-this-name/);
    await page.reload();
    await see(page, list.noMatch);
    await button(page, list.clear).click();
    await page.getByRole('link', { name: ROOT.username, exact: true }).waitFor();
    assert.match(page.url(), /\/admin\/users$/);
    await page.context().close();
  });

  it('shows no admin page to other accounts', async () => {
    await fixture.running.signUp('outsider');
    const page = await fixture.open();
    await signIn(page, 'outsider', PASSWORD, '/tickets');
    await waitForContent(page);
    assert.equal(await page.getByText(STRINGS.en.app.sections.administration).count(), 0);
    await page.goto('/admin/users');
    await see(page, STRINGS.en.app.notFound.title);
    await page.context().close();
  });

  it('violates no content security policy, sends no request to other origins and throws no error', () => {
    assert.deepEqual(fixture.problems, { violations: [], dialogs: [], errors: [], foreignRequests: [] });
  });
});
