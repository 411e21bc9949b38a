import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { authenticate, type BrowserFixture, openBrowserFixture, waitForContent } from './browser-fixture.ts';
import { chromiumPath } from './chromium.ts';
import { STRINGS } from './console-strings.ts';
import { ROOT } from './demo-data.ts';
import { assertAccessible } from './find-accessibility-issues.ts';

const PHONE_WIDTH = 390;

/** Regressions found in reviews of the console, each tested in the language in which it appeared. */
describe('regressions of the console, in Chromium', {
  skip: chromiumPath === undefined && !process.env.CI,
}, () => {
  let fixture: BrowserFixture;
  let page: Page;
  before(async () => {
    fixture = await openBrowserFixture();
    await fixture.running.setSiteSetting('PHONE_HTTP_URL', null);
    const { root } = fixture.running;
    await root.ok('PUT', `/api/admin/users/${root.id}`, { quota_delta: 499_590_000, note: 'start' });
    page = await fixture.open();
    await authenticate(page, ROOT.username, ROOT.password);
  });
  after(() => fixture.stop());

  const open = async (path: string, where = page): Promise<void> => {
    await where.goto(path);
    await waitForContent(where);
  };

  it('shows a channel whose test failed as failing, on its page, in the list and on the overview', async () => {
    const { admin, adminChannels } = STRINGS.en;
    const { id } = await fixture.running.root.ok<{ id: number }>('POST', '/api/admin/channels', {
      name: 'Unreachable',
      vendor: 'vidu',
      credentials: { api_key: 'key' },
      models: ['viduq2'],
      base_url: 'http://127.0.0.1:9',
      options: { private: true },
    });
    await open(`/admin/channels/${id}`);
    await page.getByText(adminChannels.states.untested, { exact: true }).first().waitFor();
    await page.getByRole('button', { name: adminChannels.test.action, exact: true }).click();
    await page.getByText(adminChannels.states.failing, { exact: true }).first().waitFor();
    assert.equal(await page.getByText(adminChannels.states.working, { exact: true }).count(), 0);
    await open('/admin/channels');
    await page.getByRole('table').getByText(adminChannels.states.failing, { exact: true }).waitFor();
    await open('/admin/overview');
    const card = page.getByRole('link', { name: new RegExp(admin.overview.failing) });
    assert.match((await card.textContent()) ?? '', /1 \/ \d+$/);
    await fixture.running.root.ok('DELETE', `/api/admin/channels/${id}`);
  });

  it('shows each model with its price for the current settings in the picker, and finds models by words while one is selected', async () => {
    const { studio } = STRINGS.en;
    await open('/studio');
    const picker = page.getByRole('button', { name: new RegExp(`^${studio.model}: `) });
    await picker.click();
    const prices = page.getByRole('option').getByText(/^[\d.]+ credits$/);
    // Prices are requested for visible models only; the others follow on scrolling.
    await prices.nth(7).waitFor();
    const list = await page.getByRole('listbox').boundingBox();
    const price = await prices.first().boundingBox();
    assert.ok(list !== null && price !== null && price.x + price.width <= list.x + list.width, 'the price is in sight');
    const search = page.getByRole('textbox', { name: studio.modelSearch });
    await search.fill('no such model');
    await page.getByText(studio.noModelFound.replace('{{search}}', 'no such model')).waitFor();
    await search.fill('sora 2');
    await page.getByRole('option', { name: /sora/i }).first().click();
    await page.getByRole('button', { name: /: Sora/i }).waitFor();
  });

  it('waits for the service if a page cannot be loaded, and opens it once the service is back', async () => {
    const { app } = STRINGS.en;
    await open('/studio');
    await page.context().setOffline(true);
    await page.evaluate(`history.pushState({}, '', '/mailbox'); dispatchEvent(new PopStateEvent('popstate'))`);
    await page.getByText(app.reconnecting).waitFor();
    await page.context().setOffline(false);
    await page.getByRole('heading', { name: STRINGS.en.mailbox.title }).waitFor();
  });

  it('warns what enabling two-step verification ends, before it is set up', async () => {
    await open('/account/security');
    await page.getByText(STRINGS.en.account.security.setUpWarning).waitFor();
  });

  it('says where codes are sent without an SMS service, and offers no messaging app that cannot be linked', async () => {
    const { account } = STRINGS.en;
    await open('/account/profile');
    await page.getByText(account.profile.phoneLogHint).waitFor();
    assert.equal(await page.getByText(account.profile.messaging, { exact: true }).count(), 0);
  });

  it('shows unit prices with all decimals, so that the example multiplies exactly', async () => {
    await open('/admin/models/wan2.6-t2v');
    const example = (await page.getByText(/ × 5 s = /).textContent()) ?? '';
    const [, unit = '', sum = ''] = /^([\d.]+) × 5 s = ([\d.]+) credits$/.exec(example) ?? [];
    assert.equal(Number(sum), Number((Number(unit) * 5).toFixed(6)), example);
    assert.ok(Number(unit) > 0, example);
    await open('/admin/models/kling-v1-6');
    await page.getByText('0.14 × 2 units = 0.28 credits').waitFor();
  });

  it('explains invalid fields in the language of the page, whatever the language of the browser', async () => {
    const words = STRINGS['zh-cn'].app.validation;
    await open('/admin/users');
    await page.evaluate(`localStorage.setItem('reelgate.language', 'zh-cn')`);
    await page.reload();
    await waitForContent(page);
    await page.getByRole('button', { name: STRINGS['zh-cn'].admin.users.make }).click();
    const dialog = page.getByRole('dialog');
    const name = dialog.getByRole('textbox', { name: STRINGS['zh-cn'].admin.users.username });
    const ofName = (property: string) =>
      page.evaluate(`document.querySelector('[role=dialog] input[pattern]').${property}`);
    await dialog.getByRole('button', { name: STRINGS['zh-cn'].admin.users.make }).click();
    assert.equal(await ofName('validationMessage'), words.required);
    await name.fill('A B');
    await dialog.getByRole('button', { name: STRINGS['zh-cn'].admin.users.make }).click();
    // With the rule of the field.
    const { usernameHint } = STRINGS['zh-cn'].admin.users;
    assert.equal(await ofName('validationMessage'), `${words.format} ${usernameHint}`);
    await name.fill('right');
    assert.equal(await ofName('validity.valid'), true);
    await page.evaluate(`localStorage.setItem('reelgate.language', 'en')`);
  });

  for (const scheme of ['light', 'dark'] as const)
    it(`shows failing webhooks, incidents and an unknown URL accessibly, in ${scheme} colours`, async () => {
      const { running } = fixture;
      const url = `https://hooks-${scheme}.example.com/${'path'.repeat(20)}`;
      const { id } = await running.root.ok<{ id: number }>('POST', '/api/webhooks', { url });
      const shown = await fixture.open({ scheme, width: 320, height: 700 });
      await open('/no/such/page', shown);
      await shown.getByRole('main').getByText(STRINGS.en.app.notFound.title).waitFor();
      await assertAccessible(shown, 'an unknown URL, signed out');
      await authenticate(shown, ROOT.username, ROOT.password);
      const failing_since = Math.floor(Date.now() / 1_000) - 60;
      await answerWith(shown, `**/api/webhooks/${id}`, (webhook) => ({ ...webhook, failing_since }));
      await open(`/account/webhooks/${id}`, shown);
      await shown.getByText(STRINGS.en.account.webhooks.failsSince).waitFor();
      await assertAccessible(shown, 'a failing webhook');
      await answerWith(shown, '**/api/admin/operations', (state) => ({
        ...state,
        incidents: (state.incidents as object[]).map((each) => ({ ...each, is_open: true, since: failing_since })),
      }));
      await open('/admin/overview', shown);
      await shown.getByText(STRINGS.en.admin.serviceStatus.incidents.key_revoked.advice).waitFor();
      await assertAccessible(shown, 'all incidents');
      await shown.context().close();
    });

  it('marks switches, the current page and the selected value in forced colours, which have no backgrounds', async () => {
    await page.emulateMedia({ forcedColors: 'active' });
    await open('/account/profile');
    for (const mark of ['.mantine-Switch-track', '.menu-link[aria-current=page]', '.segmented input:checked + span'])
      assert.equal(
        await page.evaluate(`getComputedStyle(document.querySelector('${mark}')).outlineStyle`),
        'solid',
        mark,
      );
    await page.emulateMedia({ forcedColors: 'none' });
  });

  it('keeps the menu at an unknown URL', async () => {
    await open('/no/such/page');
    await page.getByText(STRINGS.en.app.notFound.title).waitFor();
    await page.getByRole('link', { name: STRINGS.en.app.pages.studio, exact: true }).waitFor();
  });

  it(`shows the whole balance on a phone of ${PHONE_WIDTH} px`, async () => {
    const phone = await fixture.open({ width: PHONE_WIDTH, height: 844 });
    await authenticate(phone, ROOT.username, ROOT.password);
    await open('/account/overview', phone);
    const isClipped = `(() => {
      const range = document.createRange();
      return [...document.querySelectorAll('.mantine-Card-root')].some((card) => {
        range.selectNodeContents(card);
        return range.getBoundingClientRect().right > card.getBoundingClientRect().right;
      });
    })()`;
    await phone
      .locator('.mantine-Card-root')
      .getByText(/999\.18/)
      .waitFor();
    assert.equal(await phone.evaluate(isClipped), false);
    await phone.context().close();
  });

  it('generates and copies at an http:// address in a private network, where browsers have fewer functions', async () => {
    const { studio, app } = STRINGS.en;
    const insecure = await fixture.open();
    // As in a page that is no secure context; the test has one, at 127.0.0.1.
    await insecure.addInitScript('delete Crypto.prototype.randomUUID; delete Navigator.prototype.clipboard;');
    await authenticate(insecure, ROOT.username, ROOT.password);
    await open('/studio?model=kling-v1', insecure);
    const prompt = insecure.getByPlaceholder(studio.promptPlaceholder);
    await prompt.fill('A paper boat');
    await prompt.press('Control+Enter');
    await insecure.getByRole('link', { name: studio.open }).first().click();
    await insecure.getByRole('button', { name: studio.copyPrompt }).click();
    await insecure.getByText(app.copied, { exact: true }).waitFor();
    await insecure.context().close();
  });

  it('violates no content security policy, sends no request to other origins and throws no error', () => {
    assert.deepEqual(fixture.problems, { violations: [], dialogs: [], errors: [], foreignRequests: [] });
  });
});

type Data = Readonly<Record<string, unknown>>;

/** Changes the data of a response before the page gets it. */
const answerWith = (page: Page, path: string, change: (data: Data) => Data): Promise<unknown> =>
  page.route(path, async (route) => {
    const response = await route.fetch();
    const body = (await response.json()) as { readonly data: Data };
    await route.fulfill({ response, json: { ...body, data: change(body.data) } });
  });
