import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { PASSWORD, type TestUser } from '../accounts/test-user-client.ts';
import { WebhookReceiver } from '../webhooks/receiver.ts';
import { authenticate, type BrowserFixture, openBrowserFixture, waitForExpression } from './browser-fixture.ts';
import { chromiumPath } from './chromium.ts';
import { inTurn, LANGUAGES, STRINGS } from './console-strings.ts';

describe('webhooks and notifications by e-mail, in Chromium', {
  skip: chromiumPath === undefined && !process.env.CI,
}, () => {
  let fixture: BrowserFixture;
  let receiver: WebhookReceiver;
  before(async () => {
    receiver = await new WebhookReceiver().listen();
    fixture = await openBrowserFixture({
      WEBHOOK_PRIVATE_HOSTS: receiver.host,
      // No server listens on this port: the pages only require that e-mail is configured.
      SMTP_URL: 'smtp://127.0.0.1:1',
      SMTP_FROM: 'Reelgate <reelgate@example.org>',
    });
  });
  after(async () => {
    await fixture.stop();
    await receiver.close();
  });

  const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
  const see = (page: Page, text: string) => page.getByText(text).first().waitFor();
  const join = async (username: string, language: (typeof LANGUAGES)[number]): Promise<[TestUser, Page]> => {
    const person = await fixture.running.signUp(username);
    const page = await fixture.open({ language });
    page.setDefaultTimeout(120_000);
    await authenticate(page, username, PASSWORD);
    return [person, page];
  };

  const story = inTurn('zh-cn');
  for (const language of LANGUAGES) {
    const words = STRINGS[language];
    const t = words.account.webhooks;

    story(
      language,
      'adds a webhook, shows request and status of a failed delivery, redelivers it and replays events',
      async () => {
        const hook = `/${language}`;
        receiver.answer = ({ path }) => (path === hook ? { status: 500, body: 'the disk is full' } : { status: 204 });
        const [person, page] = await join(`hooks-${language}`, language);
        await page.goto('/account/webhooks');
        await button(page, t.add).first().click();
        const dialog = page.getByRole('dialog');
        await dialog.getByLabel(t.url).fill(receiver.url(hook));
        await button(page, t.add).last().click();
        await see(page, t.secretTitle);
        assert.match((await dialog.textContent()) ?? '', /whsec_[A-Za-z0-9+/]{40,}/);
        await button(page, words.account.apiKeys.done).click();
        await page.getByRole('link', { name: receiver.url(hook) }).click();
        await see(page, t.noDeliveries);
        await page.setViewportSize({ width: 320, height: 700 });
        assert.equal(await page.evaluate('document.documentElement.scrollWidth > innerWidth'), false, 'the URL wraps');
        await page.setViewportSize({ width: 1280, height: 860 });

        await button(page, t.test).click();
        await see(page, 'webhook.test');
        await see(page, 'status 500');
        await button(page, t.details).click();
        await dialog.getByText('status 500').first().waitFor();
        const shown = (await dialog.textContent()) ?? '';
        assert.ok(shown.includes(receiver.url(hook)) && shown.includes('webhook.test'), shown);
        // The receiver's host is listed in WEBHOOK_PRIVATE_HOSTS, so its response bodies are not shown to the account.
        assert.ok(!shown.includes('the disk is full'), shown);
        await page.keyboard.press('Escape');
        await dialog.waitFor({ state: 'detached' });
        await button(page, t.details).and(page.locator(':focus')).waitFor();
        await page.keyboard.press('Enter');
        receiver.answer = () => ({ status: 204 });
        await button(page, t.retry).click();
        const table = page.getByRole('table', { name: t.deliveries });
        await table.getByText(t.status.delivered, { exact: true }).waitFor();
        const [first, second] = await receiver.waitFor(hook, 2);
        assert.equal(second?.headers['webhook-id'], first?.headers['webhook-id']);

        // Events of the account are delivered again, with the same ids.
        const { database, events } = fixture.running.app;
        await database.transaction((trx) =>
          events.eventLog.write(trx, { type: 'wallet.low', userId: person.id, subject: 'wallet', data: { left: 1 } }),
        );
        const delivered = async (count: number) => {
          for (;;) {
            const found = receiver.at(hook).filter(({ body }) => JSON.parse(body).type === 'wallet.low');
            if (found.length >= count) return found.map(({ headers }) => headers['webhook-id']);
            await page.waitForTimeout(20);
          }
        };
        await delivered(1);
        await see(page, 'wallet.low');
        await page.getByRole('button', { name: t.replay }).click();
        await page.getByRole('menuitem', { name: t.replayHours.replace('{{hours}}', '1'), exact: true }).click();
        assert.equal(new Set(await delivered(2)).size, 1);

        await button(page, t.disable).click();
        await see(page, t.disabled.byOwner);
        await button(page, t.remove).click();
        await dialog.getByRole('button', { name: t.remove, exact: true }).click();
        await see(page, t.emptyTitle);
        assert.deepEqual(await person.ok('GET', '/api/webhooks'), []);
        await page.context().close();
      },
    );

    story(language, 'sets notification topics, e-mail topics, quiet hours and a daily digest', async () => {
      const texts = words.notifications;
      const [person, page] = await join(`mails-${language}`, language);
      await page.goto('/notifications/settings');
      const failed = texts.topics['task.failed'].name;
      const mailSwitch = page.getByRole('switch', { name: `${failed}: ${texts.mail.channel}` });
      await mailSwitch.waitFor();
      const wasOn = await mailSwitch.isChecked();
      await mailSwitch.click({ force: true });
      const preference = async () => {
        const rows = await person.ok<{ topic: string; mail: boolean; in_app: boolean }[]>(
          'GET',
          '/api/notifications/preferences',
        );
        return rows.find(({ topic }) => topic === 'task.failed');
      };
      while ((await preference())?.mail === wasOn) await page.waitForTimeout(20);
      assert.equal((await preference())?.in_app, true);
      assert.equal(await page.getByRole('switch', { name: new RegExp(texts.topics.security.name) }).count(), 0);

      await page.getByRole('switch', { name: texts.mail.digest }).click({ force: true });
      await page.getByLabel(texts.mail.digestAt).fill('07:30');
      await page.getByRole('switch', { name: texts.mail.quiet }).click({ force: true });
      await page.locator('input[type=time]').nth(1).fill('21:15');
      await page.locator('input[type=time]').nth(2).fill('06:45');
      await button(page, words.app.save).click();
      await see(page, texts.mail.saved);
      const stored = await person.ok<Record<string, unknown>>('GET', '/api/notifications/mail');
      assert.equal(stored.digest_at, '07:30');
      assert.deepEqual(stored.quiet_hours, { from: '21:15', to: '06:45' });
      // The preferences persist across a reload.
      await page.reload();
      await page.getByLabel(texts.mail.digestAt).waitFor();
      await waitForExpression(
        page,
        `[...document.querySelectorAll('input[type=time]')].some((each) => each.value === '21:15')`,
      );
      await page.context().close();
    });
  }

  it('violates no content security policy, sends no request to other origins and throws no error', () => {
    assert.deepEqual(fixture.problems, { violations: [], dialogs: [], errors: [], foreignRequests: [] });
  });
});
