import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { PASSWORD, type TestUser } from '../accounts/test-user-client.ts';
import { type BrowserFixture, type ContextOptions, openBrowserFixture, waitForContent } from './browser-fixture.ts';
import { chromiumPath } from './chromium.ts';
import { inCredits, STRINGS } from './console-strings.ts';
import { ROOT } from './demo-data.ts';
import { assertAccessible } from './find-accessibility-issues.ts';

const MAX_TABS = 80;
const VIDEO = { model: 'kling-v1-6', prompt: 'A paper boat on a river' };
/** Matches the start of a text up to its placeholder. */
const starts = (text: string): RegExp => new RegExp(`^${text.split('{{')[0]?.trim() ?? text}`);

/** What hides the focused element, if anything; `end` if the focus has left the page. */
const COVERED_FOCUS = `(() => {
  const element = document.activeElement;
  if (element === null || element === document.body) return 'end';
  const { left, top, width, height } = element.getBoundingClientRect();
  // Inputs behind their own label are one pixel large.
  if (width < 4 || height < 4) return '';
  const name = element.tagName + ' ' + (element.ariaLabel ?? element.textContent).slice(0, 40);
  const x = Math.min(Math.max(left + width / 2, 0), innerWidth - 1);
  // A tall element may be partly covered (WCAG 2.4.11).
  const points = [0.1, 0.5, 0.9].map((part) => top + height * part).filter((y) => y >= 0 && y < innerHeight);
  if (points.length === 0) return name + ' is outside the window';
  const above = points.map((y) => document.elementFromPoint(x, y));
  const isOwn = (each) =>
    each === null || element.contains(each) || each.contains(element) || each.closest('label')?.control === element;
  return above.some(isOwn) ? '' : name + ' is behind ' + above[0].tagName + ' ' + above[0].className;
})()`;

/**
 * The main user journeys by keyboard alone, with the means of a screen reader: elements are found by role and name, the
 * focus moves by Tab, and results are read from live regions. No test uses a pointer. Axe checks everything that opens.
 */
describe('the main journeys by keyboard and screen reader, in Chromium', {
  skip: chromiumPath === undefined && !process.env.CI,
}, () => {
  let fixture: BrowserFixture;
  let person: TestUser;
  before(async () => {
    fixture = await openBrowserFixture();
    person = await fixture.running.signUp('walker');
    await fixture.running.root.ok('PUT', `/api/admin/users/${person.id}`, { quota_delta: 50_000_000, note: 'start' });
  });
  after(() => fixture.stop());

  /** Presses Tab until an element has the focus. */
  const tabTo = async (page: Page, target: Locator, key: 'Tab' | 'Shift+Tab' = 'Tab'): Promise<void> => {
    await target.waitFor();
    for (let tabs = 0; tabs <= MAX_TABS; tabs += 1) {
      if ((await target.and(page.locator(':focus')).count()) > 0) return;
      await page.keyboard.press(key);
    }
    assert.fail(`${MAX_TABS} tabs do not reach ${String(target)}`);
  };
  const press = async (page: Page, target: Locator, key = 'Enter'): Promise<void> => {
    await tabTo(page, target);
    await page.keyboard.press(key);
  };
  const write = async (page: Page, target: Locator, text: string): Promise<void> => {
    await tabTo(page, target);
    await page.keyboard.type(text);
  };
  /** Waits until a live region contains the text. */
  const hear = (page: Page, text: string | RegExp): Promise<void> =>
    page.getByRole('status').or(page.getByRole('alert')).getByText(text).first().waitFor({ timeout: 60_000 });
  /** Opens a page by name in the command palette. */
  const goTo = async (page: Page, name: string, url: string | RegExp): Promise<void> => {
    const { palette } = STRINGS.en;
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox', { name: palette.title }).and(page.locator(':focus')).waitFor();
    await page.keyboard.type(name);
    await page.getByRole('option', { name, selected: true }).first().waitFor();
    await page.keyboard.press('Enter');
    await page.waitForURL(url);
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await waitForContent(page);
  };
  const signInByKeyboard = async (username: string, password: string, size: ContextOptions = {}): Promise<Page> => {
    const { signIn } = STRINGS.en.signIn;
    const page = await fixture.open(size);
    await page.goto('/sign-in');
    await write(page, page.getByRole('textbox', { name: signIn.username }), username);
    await write(page, page.getByLabel(signIn.password, { exact: true }), password);
    await page.keyboard.press('Enter');
    await page.waitForURL('**/studio');
    await page.getByRole('heading', { level: 1, name: STRINGS.en.studio.title }).waitFor();
    await waitForContent(page);
    return page;
  };

  it('generates a video', async () => {
    const { app, studio } = STRINGS.en;
    const page = await signInByKeyboard('walker', PASSWORD);
    // Uses the skip link to the prompt bar, then Tab along its fields to the button with the price.
    await press(page, page.getByRole('link', { name: app.skipToContent }));
    await write(page, page.getByRole('textbox', { name: studio.prompt, exact: true }), VIDEO.prompt);
    const model = page.getByRole('button', { name: starts(`${studio.model}: `) });
    await press(page, model);
    await page.getByRole('textbox', { name: studio.modelSearch }).and(page.locator(':focus')).waitFor();
    await page.keyboard.type(VIDEO.model);
    await page.getByRole('dialog').locator('[role=option][data-combobox-selected]').waitFor();
    await assertAccessible(page, 'the grid of models');
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    // The focus returns to its previous position, not to the top of the page.
    await model.and(page.locator(':focus')).waitFor();
    await press(page, page.getByRole('button', { name: /^Generate video · [\d.]+ credits$/ }));
    await hear(page, studio.started_one);
    const stage = page.getByRole('article', { name: VIDEO.prompt });
    await stage.getByRole('status').getByText(studio.stage.SUCCESS).waitFor({ timeout: 60_000 });
    await tabTo(page, stage.getByRole('button', { name: starts(studio.varyPrice) }));
    await assertAccessible(page, 'the studio with a video');
    await page.context().close();
  });

  it('creates an API key, finds the setup of a client and learns of the first call', async () => {
    const { account, app, connect } = STRINGS.en;
    const page = await signInByKeyboard('walker', PASSWORD);
    await goTo(page, STRINGS.en.app.pages.apiKeys, '**/account/tokens');
    const make = page.getByRole('button', { name: account.apiKeys.make });
    await press(page, make.first());
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('textbox', { name: account.apiKeys.name }).and(page.locator(':focus')).waitFor();
    await page.keyboard.type('by keyboard');
    await page.keyboard.press('Enter');
    await hear(page, connect.copyNow);
    const key = /sk-[\w-]+/.exec((await dialog.getByRole('alert').textContent()) ?? '')?.[0] ?? '';
    assert.notEqual(key, '');
    await dialog.getByRole('button', { name: app.copy }).and(page.locator(':focus')).waitFor();
    const tabs = dialog.getByRole('tablist', { name: connect.client });
    await tabTo(page, tabs.getByRole('tab', { selected: true }));
    await page.keyboard.press('ArrowDown');
    await tabs.getByRole('tab', { name: 'Reelgate SDK' }).and(page.locator(':focus')).waitFor();
    assert.ok((await dialog.getByRole('tabpanel').textContent())?.includes(key), 'the panel has the key');
    await assertAccessible(page, 'a new API key');
    await press(page, dialog.getByRole('button', { name: connect.test }));
    await hear(page, connect.waiting);
    await fetch(`${fixture.running.url}/v1/models`, { headers: { authorization: `Bearer ${key}` } });
    await hear(page, starts(connect.came));
    await press(page, dialog.getByRole('button', { name: account.apiKeys.done }));
    await dialog.waitFor({ state: 'detached' });
    await page.getByRole('link', { name: 'by keyboard' }).waitFor();
    await make.and(page.locator(':focus')).waitFor();
    await page.context().close();
  });

  it('reads the usage and the receipt of one call', async () => {
    const { account, app, requests } = STRINGS.en;
    await person.ok('POST', '/api/videos', { ...VIDEO, prompt: 'One to be paid' });
    const page = await signInByKeyboard('walker', PASSWORD);
    await goTo(page, app.pages.overview, '**/account/overview');
    await page.getByRole('heading', { level: 1, name: account.usage.title }).waitFor();
    await goTo(page, app.pages.requests, '**/account/requests');
    const table = page.getByRole('table', { name: app.pages.requests });
    await table.getByRole('columnheader', { name: requests.cost }).waitFor({ timeout: 60_000 });
    await press(page, table.getByRole('link', { name: new RegExp(`, ${requests.openReceipt}$`) }).first());
    await page.waitForURL(/\/account\/receipts\//);
    await page.getByRole('heading', { level: 1, name: starts(requests.receiptOf) }).waitFor();
    const lines = page.getByRole('table', { name: requests.linesTitle });
    for (const name of [requests.lineLabel, requests.quantity, requests.unitPrice, requests.amount])
      await lines.getByRole('columnheader', { name }).waitFor();
    await lines.getByRole('row', { name: new RegExp(`^${requests.total} [\\d.]+ credits$`) }).waitFor();
    await assertAccessible(page, 'a receipt');
    await press(page, page.getByRole('main').getByRole('link', { name: requests.allRequests }));
    await page.waitForURL('**/account/requests');
    await page.context().close();
  });

  it('replies to a ticket, and a notification informs its author', async () => {
    const { adminTickets, app, notifications, support } = STRINGS.en;
    const { id } = await person.ok<{ id: number }>('POST', '/api/tickets', { title: 'An invoice', content: 'Please.' });
    const author = await signInByKeyboard('walker', PASSWORD);
    const staff = await signInByKeyboard(ROOT.username, ROOT.password);
    await goTo(staff, app.pages.adminTickets, '**/admin/tickets');
    await press(staff, staff.getByRole('table').getByRole('link', { name: 'An invoice' }));
    await staff.waitForURL(`**/admin/tickets/${id}`);
    await write(staff, staff.getByRole('textbox', { name: adminTickets.reply }), 'It is in your mail.');
    await press(staff, staff.getByRole('button', { name: adminTickets.send }));
    await staff
      .getByRole('article', { name: new RegExp(`${adminTickets.answeredBy.replace('{{name}}', '')}$`) })
      .waitFor();

    const bell = author.getByRole('button', { name: /^Notifications: / });
    await bell.waitFor({ timeout: 30_000 });
    await press(author, bell);
    const panel = author.getByRole('dialog', { name: app.notifications });
    await assertAccessible(author, 'the panel of notifications');
    await press(author, panel.getByRole('link', { name: new RegExp(`^${notifications.unread}: `) }).first());
    await author.waitForURL(`**/tickets/${id}`);
    const conversation = author.getByRole('region', { name: support.conversation });
    await conversation.getByRole('article', { name: support.staff }).getByText('It is in your mail.').waitFor();
    await write(author, author.getByRole('textbox', { name: support.reply }), 'Thank you!');
    await author.keyboard.press('Control+Enter');
    await conversation.getByRole('article', { name: support.you }).getByText('Thank you!').waitFor();
    await assertAccessible(author, 'a ticket with replies');
    await author.context().close();
    await staff.context().close();
  });

  it('gives a user credits and tests a channel', async () => {
    const { admin, adminChannels } = STRINGS.en;
    await fixture.running.signUp('receiver');
    const page = await signInByKeyboard(ROOT.username, ROOT.password);
    await goTo(page, 'receiver', /\/admin\/users\/\d+$/);
    const change = page.getByRole('button', { name: admin.users.changeBalance });
    await press(page, change);
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('textbox', { name: admin.users.credits }).and(page.locator(':focus')).waitFor();
    await page.keyboard.type('4');
    await assertAccessible(page, 'the dialog of a balance');
    await hear(page, `Balance: ${inCredits('0.00', 'en')} → ${inCredits('4.00', 'en')}`);
    await press(page, dialog.getByRole('button', { name: admin.users.add }));
    await dialog.waitFor({ state: 'detached' });
    await hear(page, admin.users.balanceChanged.replace('{{name}}', 'receiver'));
    // The focus returns to its previous position, not to the top of the page.
    await change.and(page.locator(':focus')).waitFor();

    const [channel] = await fixture.running.root.ok<{ id: number; name: string }[]>('GET', '/api/admin/channels');
    assert.ok(channel !== undefined);
    await goTo(page, channel.name, `**/admin/channels/${channel.id}`);
    await press(page, page.getByRole('button', { name: adminChannels.test.action, exact: true }).first());
    await hear(page, adminChannels.test.works.split(' (')[0] ?? '');
    // Disabled while it ran, the button has the focus again.
    await page
      .getByRole('button', { name: adminChannels.test.action, exact: true })
      .and(page.locator(':focus'))
      .waitFor();
    // Nothing is left to save: the form keeps the place of its disabled button.
    await goTo(page, STRINGS.en.app.pages.settings, '**/admin/settings');
    const { names, saved_one: saved } = STRINGS.en.adminSettings;
    await write(page, page.getByRole('textbox', { name: names.SIGN_IN_NOTICE }), 'Maintenance on Sunday');
    await press(page, page.getByRole('button', { name: STRINGS.en.adminSettings.save }).first());
    await hear(page, saved);
    await page.locator('form:focus').waitFor();
    await page.context().close();
  });

  it('at 200 % zoom, pages fit the window and no bar covers the focused element', async () => {
    const { app } = STRINGS.en;
    // Without rows the lists would have little to walk through.
    await person.ok('POST', '/api/tokens', { name: 'zoomed' });
    for (const prompt of ['Zoomed', 'Twice'])
      await person.ok('POST', '/api/videos', { ...VIDEO, prompt: `${prompt} boat` });
    // Zoom halves the window in CSS pixels.
    const page = await signInByKeyboard('walker', PASSWORD, { width: 640, height: 430 });
    const faults: string[] = [];
    const walk = async (path: string): Promise<void> => {
      const wide = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth');
      if (wide > 0) faults.push(`${path} scrolls ${wide} px sideways`);
      let tabs = 0;
      for (; tabs < 60; tabs += 1) {
        await page.keyboard.press('Tab');
        const fault = await page.evaluate<string>(COVERED_FOCUS);
        if (fault === 'end') break;
        if (fault !== '') faults.push(`${path}: ${fault}`);
      }
      assert.ok(tabs >= 5, `${path}: the focus left after ${tabs} tabs`);
    };
    await walk('/studio');
    for (const [name, path] of [
      [app.pages.videos, '/videos'],
      [app.pages.apiKeys, '/account/tokens'],
      [app.pages.requests, '/account/requests'],
    ] as const) {
      await goTo(page, name, `**${path}`);
      // The focus is on the heading of the new page.
      await page.locator('h1:focus').waitFor();
      await walk(path);
    }
    assert.deepEqual(faults, []);
    await page.context().close();
  });

  it('violates no content security policy, sends no request to other origins and throws no error', () => {
    assert.deepEqual(fixture.problems, { violations: [], dialogs: [], errors: [], foreignRequests: [] });
  });
});
