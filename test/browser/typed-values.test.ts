import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import {
  authenticate,
  type BrowserFixture,
  navigateWithin,
  openBrowserFixture,
  waitForContent,
  waitForExpression,
} from './browser-fixture.ts';
import { chromiumPath } from './chromium.ts';
import { STRINGS } from './console-strings.ts';
import { ROOT } from './demo-data.ts';

const { account, adminChannels, playground } = STRINGS.en;

/** Whatever the keyboard, the input method and the clipboard do to a field. */
describe('typed and pasted values', { skip: chromiumPath === undefined && !process.env.CI }, () => {
  let fixture: BrowserFixture;
  let page: Page;
  before(async () => {
    fixture = await openBrowserFixture();
    const { root } = fixture.running;
    await root.ok('PUT', `/api/admin/users/${root.id}`, { quota_delta: 50_000_000, note: 'start' });
    await root.ok('POST', '/api/videos', { model: 'viduq2', prompt: 'one' });
    page = await fixture.open();
    await authenticate(page, ROOT.username, ROOT.password);
  });
  after(() => fixture.stop());

  const open = async (path: string): Promise<void> => {
    await page.goto(path);
    await waitForContent(page);
  };

  for (const path of ['/admin/costs', '/account/requests', '/videos'])
    it(`takes a day that is typed digit by digit at ${path}`, async () => {
      await open(path);
      const day = page.locator('input[type=date]').first();
      await day.click({ position: { x: 14, y: 15 } });
      for (const digit of '10152026') {
        await page.keyboard.press(digit);
        // The URL follows complete days at once.
        await page.waitForTimeout(60);
      }
      await page.waitForURL(/from=/);
      assert.equal(await day.inputValue(), '2026-10-15');
      assert.doesNotMatch(page.url(), /from=-|from=0/, 'no request for the year 2');
    });

  for (const [path, filter] of [
    ['/admin/users', '/admin/users?q=one+two'],
    ['/videos', '/videos?q=one+two'],
  ] as const)
    it(`keeps the space before a pause in the search at ${path}`, async () => {
      await open(path);
      const search = page.locator('[role=search] input').first();
      await search.pressSequentially('one ');
      await page.waitForURL(/q=one/);
      await page.waitForTimeout(100);
      await search.pressSequentially('two');
      await page.waitForURL((url) => url.href.endsWith(filter));
      assert.equal(await search.inputValue(), 'one two');
    });

  const paste = async (field: Locator, text: string): Promise<string> => {
    await field.fill('');
    await field.focus();
    await page.evaluate(`(() => {
      const clipboardData = new DataTransfer();
      clipboardData.setData('text/plain', ${JSON.stringify(text)});
      const event = new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true });
      if (document.activeElement.dispatchEvent(event)) document.execCommand('insertText', false, ${JSON.stringify(text)});
    })()`);
    return field.inputValue();
  };

  it('takes numbers as copied from a page and as typed with a Chinese input method', async () => {
    await open('/account/tokens#new');
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: account.apiKeys.limits }).click();
    const amount = dialog.getByRole('textbox', { name: /^Total limit/ });
    const rate = dialog.getByRole('textbox', { name: account.apiKeys.tokensPerMinute });
    for (const [text, number] of [
      ['1,000', '1000'],
      ['1,234,567', '1234567'],
      ['12,345.67', '12345.67'],
      ['1,5', '1.5'],
      [' 42\n', '42'],
      ['１２', '12'],
      ['1，5', '1.5'],
      ['-1,000', '-1000'],
      ['+1,000', '1000'],
      ['¥1,000.5', '1000.5'],
      ['1,000 credits', '1000'],
      ['0,5', '0.5'],
      ['0。5', '0.5'],
      ['0,125', '0.125'],
      ['1.000,5', '1000.5'],
      ['1 000', '1000'],
      ['1e3', '1000'],
      ['−5', '-5'],
      ['١٬٠٠٠', '1000'],
      ['0x10', ''],
      ['5万', ''],
    ] as const)
      assert.equal(await paste(amount, text), number, text);
    assert.equal(await paste(rate, '60,000'), '60000');
    assert.equal(await paste(rate, '60,000 tokens'), '60000');
    assert.equal(await paste(rate, '1.5'), '');
    await amount.fill('');
    for (const letter of '0。5') await page.keyboard.insertText(letter);
    assert.equal(await amount.inputValue(), '0.5');
  });

  it('closes a dialog by a click outside or Escape only until something is entered in it', async () => {
    await open('/account/tokens');
    const dialog = page.getByRole('dialog');
    const outside = () => page.mouse.click(5, 400);
    for (const close of [outside, () => page.keyboard.press('Escape')]) {
      await page.getByRole('button', { name: account.apiKeys.make }).first().click();
      await dialog.waitFor();
      await close();
      await dialog.waitFor({ state: 'detached' });
    }
    await page.getByRole('button', { name: account.apiKeys.make }).first().click();
    const name = dialog.getByRole('textbox', { name: account.apiKeys.name });
    await name.fill('kept');
    await outside();
    await page.keyboard.press('Escape');
    await page.waitForTimeout(400);
    assert.equal(await name.inputValue(), 'kept');
    await dialog.getByRole('button', { name: STRINGS.en.app.cancel }).click();
    await dialog.waitFor({ state: 'detached' });
  });

  it('renames an API key without changing the second at which it expires', async () => {
    const { root } = fixture.running;
    const expires_at = Math.floor(Date.now() / 1_000) + 3_600;
    const { id } = await root.ok<{ id: number }>('POST', '/api/tokens', { name: 'nightly', expires_at });
    await open('/account/tokens');
    await page
      .getByRole('row', { name: /nightly/ })
      .getByRole('button', { name: STRINGS.en.app.edit })
      .click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('textbox', { name: account.apiKeys.name }).fill('daily');
    // Meanwhile somebody else limits it.
    await root.ok('PUT', `/api/tokens/${id}`, { quota_limit: 7 });
    await dialog.getByRole('button', { name: STRINGS.en.app.save }).click();
    await dialog.waitFor({ state: 'detached' });
    const keys = await root.ok<{ id: number; name: string; expires_at: number; quota_limit: number }[]>(
      'GET',
      '/api/tokens',
    );
    const key = keys.find((each) => each.id === id);
    assert.deepEqual(
      { name: key?.name, expires_at: key?.expires_at, quota_limit: key?.quota_limit },
      { name: 'daily', expires_at, quota_limit: 7 },
    );
  });

  const refetchAll = (): Promise<void> =>
    page.evaluate(`(() => {
      const now = Date.now;
      Date.now = () => now() + 60_000;
      dispatchEvent(new Event('visibilitychange'));
    })()`);

  it('keeps what is entered when somebody else changes the channel, and saves both changes', async () => {
    const { root } = fixture.running;
    const { id } = await root.ok<{ id: number }>('POST', '/api/admin/channels', {
      name: 'Edited twice',
      vendor: 'vidu',
      credentials: { api_key: 'key' },
      models: ['viduq2'],
    });
    await open(`/admin/channels/${id}`);
    const name = page.getByRole('textbox', { name: adminChannels.channels.name, exact: true });
    await name.fill('Renamed');
    await root.ok('PUT', `/api/admin/channels/${id}`, { priority: 7 });
    const refetched = page.waitForResponse((response) => response.url().endsWith(`/api/admin/channels/${id}`));
    await refetchAll();
    await refetched;
    await page.waitForTimeout(200);
    assert.equal(await name.inputValue(), 'Renamed');
    await page.getByRole('button', { name: STRINGS.en.app.save, exact: true }).click();
    await page.getByText(STRINGS.en.app.saved).waitFor();
    const channel = await root.ok<{ name: string; priority: number }>('GET', `/api/admin/channels/${id}`);
    assert.deepEqual({ name: channel.name, priority: channel.priority }, { name: 'Renamed', priority: 7 });
    const priority = page.getByRole('textbox', { name: adminChannels.channels.priority });
    assert.equal(await priority.inputValue(), '7', 'the form shows the other change once its own is saved');
  });

  it('shows the values of the model that is opened, not what was entered for another one', async () => {
    const { root } = fixture.running;
    const [first, second] = await root.ok<{ id: string }[]>('GET', '/api/admin/models?page_size=2');
    const inputs = () =>
      page.evaluate(`[...document.querySelectorAll('main form input')].map(({ value, checked }) => value + checked)`);
    await open(`/admin/models/${first?.id}`);
    // The titles of vendors arrive later.
    await waitForExpression(page, `document.querySelector('main form [aria-haspopup=listbox]').value !== ''`);
    const before = await inputs();
    await navigateWithin(page, `/admin/models/${second?.id}`);
    await page.locator('main form').getByRole('switch').last().click({ force: true });
    await navigateWithin(page, `/admin/models/${first?.id}`);
    assert.deepEqual(await inputs(), before);
  });

  it('does not undo what somebody else changes while an account is edited', async () => {
    const { root } = fixture.running;
    const { id } = await fixture.running.signUp('edited');
    await open(`/admin/users/${id}`);
    await page.getByRole('button', { name: STRINGS.en.app.edit, exact: true }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('textbox', { name: STRINGS.en.admin.users.displayName }).fill('Edited');
    await root.ok('PUT', `/api/admin/users/${id}`, { status: 2 });
    const refetched = page.waitForResponse((response) => response.url().endsWith(`/api/admin/users/${id}`));
    await refetchAll();
    await refetched;
    await page.waitForTimeout(200);
    await dialog.getByRole('button', { name: STRINGS.en.app.save }).click();
    await dialog.waitFor({ state: 'detached' });
    const user = await root.ok<{ display_name: string; status: number }>('GET', `/api/admin/users/${id}`);
    assert.deepEqual({ display_name: user.display_name, status: user.status }, { display_name: 'Edited', status: 2 });
  });

  it('asks browsers not to fill the password of the administrator into the secrets of channels', async () => {
    await open('/admin/channels/new');
    const secret = page.locator('input[type=password]').first();
    assert.equal(await secret.getAttribute('autocomplete'), 'new-password');
  });

  it('shows the initial of a name that begins with an emoji', async () => {
    await fixture.running.root.ok('PUT', '/api/user/self', { display_name: '🦎 Lizard' });
    await open('/account/profile');
    await page.locator('.initial').getByText('🦎', { exact: true }).waitFor();
  });

  it('pastes the text of an Office program, not the image of it', async () => {
    await open('/playground');
    const message = page.getByRole('textbox', { name: playground.message });
    const pasteInto = async (types: Readonly<Record<string, string>>): Promise<void> => {
      await message.focus();
      await page.evaluate(`(() => {
        const clipboardData = new DataTransfer();
        for (const [type, text] of Object.entries(${JSON.stringify(types)})) clipboardData.setData(type, text);
        clipboardData.items.add(new File(['x'], 'image.png', { type: 'image/png' }));
        document.activeElement.dispatchEvent(new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true }));
      })()`);
    };
    const images = page.getByRole('img', { name: playground.imageOf.replace('{{number}}', '1') });
    await pasteInto({ 'text/plain': 'A table', 'text/html': '<table></table>' });
    await page.waitForTimeout(200);
    assert.equal(await images.count(), 0);
    await pasteInto({ 'text/html': '<img src="a.png">' });
    await images.waitFor();
  });

  it('does not send a message by the Enter that ends a composition in Safari', async () => {
    await open('/playground');
    const message = page.getByRole('textbox', { name: playground.message });
    await message.fill('你好');
    // Safari sends this key after the end of the composition.
    await message.dispatchEvent('keydown', { key: 'Enter', keyCode: 229, bubbles: true, cancelable: true });
    await page.waitForTimeout(100);
    assert.equal(await message.inputValue(), '你好');
    assert.equal(await page.getByRole('article').count(), 0);
  });

  it('violates no content security policy, sends no request to other origins and throws no error', () => {
    assert.deepEqual(fixture.problems, { violations: [], dialogs: [], errors: [], foreignRequests: [] });
  });
});
