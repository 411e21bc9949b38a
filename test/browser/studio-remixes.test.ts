import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { PASSWORD } from '../accounts/test-user-client.ts';
import { type BrowserFixture, openBrowserFixture, signIn, waitForExpression } from './browser-fixture.ts';
import { chromiumPath } from './chromium.ts';
import { STRINGS } from './console-strings.ts';
import { assertAccessible } from './find-accessibility-issues.ts';

const BALANCE = 50_000_000;
const { studio } = STRINGS.en;

describe('comparing and remixing in the studio', { skip: chromiumPath === undefined && !process.env.CI }, () => {
  let fixture: BrowserFixture;
  before(async () => {
    fixture = await openBrowserFixture();
  });
  after(() => fixture.stop());

  const open = async (username: string): Promise<Page> => {
    const person = await fixture.running.signUp(username);
    await fixture.running.root.ok('PUT', `/api/admin/users/${person.id}`, { quota_delta: BALANCE, note: 'start' });
    const page = await fixture.open();
    await signIn(page, username, PASSWORD);
    await page.getByPlaceholder(studio.promptPlaceholder).waitFor();
    return page;
  };
  const prompt = (page: Page) => page.getByRole('textbox', { name: studio.prompt, exact: true });
  const pick = async (page: Page, name: string): Promise<void> => {
    await page.getByRole('textbox', { name: studio.modelSearch }).fill(name);
    await page.getByRole('dialog').getByRole('option').first().waitFor();
    await page.keyboard.press('Enter');
  };

  it('generates one prompt with two models by keyboard, and plays both in sync with their costs', async () => {
    const page = await open('comparer');
    await page.locator('h1').click();
    await page.keyboard.press('m');
    await pick(page, 'kling-v1-6');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.keyboard.press('c');
    await pick(page, 'viduq2');
    await assertAccessible(page, 'grid of models');
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.locator('h1').click();
    await page.keyboard.press('/');
    await page.keyboard.type('A fox and an owl');
    const run = page.getByRole('button', { name: /^Generate 2 videos · [\d.]+ credits$/ });
    await run.waitFor();
    const price = /[\d.]+(?= credits)/.exec((await run.textContent()) ?? '')?.[0];
    await page.keyboard.press('Control+Enter');
    const comparison = page.getByRole('region', { name: studio.comparison });
    await comparison.locator('video').nth(1).waitFor();
    assert.match((await comparison.getByText(studio.together).textContent()) ?? '', new RegExp(`${price} credits`));
    await assertAccessible(page, 'comparison');
    await comparison.getByRole('button', { name: studio.playAll }).click();
    await waitForExpression(
      page,
      `[...document.querySelectorAll('video')].every(({ currentTime }) => currentTime > 0.5)`,
    );
    await comparison.getByRole('button', { name: studio.pauseAll }).click();
    const times = (await page.evaluate(
      `[...document.querySelectorAll('video')].map(({ currentTime }) => currentTime)`,
    )) as number[];
    assert.ok(Math.max(...times) - Math.min(...times) < 0.5, `they play together: ${times.join(', ')}`);
    await page.reload();
    await comparison.locator('video').nth(1).waitFor();
    await page.context().close();
  });

  it('starts a variation at once, uses the last frame, and keeps the replaced form', async () => {
    const page = await open('extender');
    await page.getByRole('button', { name: new RegExp(`^${studio.model}`) }).click();
    await pick(page, 'kling-v1-6');
    await prompt(page).fill('A boat leaves the harbour');
    await page.getByRole('button', { name: /^Generate video · / }).click();
    const stage = page.locator('#stage').getByRole('article', { name: 'A boat leaves the harbour' });
    await stage.locator('video').waitFor();
    await prompt(page).fill('Something else entirely');
    // The price is on the button, because a variation starts at once.
    await stage.getByRole('button', { name: /^Vary · [\d.]+ credits$/ }).click();
    await waitForExpression(page, `document.querySelectorAll('.tile').length === 1`);
    assert.equal(await prompt(page).inputValue(), 'Something else entirely', 'a variation leaves the form alone');
    await stage.locator('video').waitFor();
    await stage.getByRole('button', { name: studio.takeLastFrame }).click();
    const role = page.getByRole('combobox', { name: /^Role of task_.*\.jpg$/ });
    await role.waitFor();
    assert.equal(await role.inputValue(), 'first_frame');
    await stage.getByRole('button', { name: studio.reuse }).click();
    await waitForExpression(page, `document.querySelector('#prompt').value === 'A boat leaves the harbour'`);
    await page.getByRole('button', { name: studio.templates }).click();
    await page.getByRole('menuitem', { name: 'Something else entirely' }).click();
    assert.equal(await prompt(page).inputValue(), 'Something else entirely');
    await page.context().close();
  });

  it('saves a template, and accepts an image dropped anywhere', async () => {
    const page = await open('keeper');
    await page.getByRole('button', { name: new RegExp(`^${studio.model}`) }).click();
    await pick(page, 'kling-v1-6');
    await prompt(page).fill('House style, 35 mm');
    await page.getByRole('button', { name: studio.templates }).click();
    await page.getByRole('textbox', { name: studio.templateName }).fill('House style');
    await page.getByRole('button', { name: studio.templateSave, exact: true }).click();
    await page.getByRole('button', { name: studio.clear }).click();
    await page.reload();
    await page.getByRole('button', { name: studio.templates }).click();
    await page.getByRole('menuitem', { name: 'House style', exact: true }).click();
    assert.equal(await prompt(page).inputValue(), 'House style, 35 mm');
    await page.evaluate(`(async () => {
      const canvas = new OffscreenCanvas(640, 360);
      canvas.getContext('2d').fillRect(0, 0, 640, 360);
      const data = new DataTransfer();
      data.items.add(new File([await canvas.convertToBlob({ type: 'image/png' })], 'still.png', { type: 'image/png' }));
      document.querySelector('h1').dispatchEvent(new DragEvent('dragover', { dataTransfer: data, bubbles: true, cancelable: true }));
      await new Promise((resolve) => setTimeout(resolve, 100));
      window.dropWasOffered = document.querySelector('.drop-target') !== null;
      document.querySelector('h1').dispatchEvent(new DragEvent('drop', { dataTransfer: data, bubbles: true, cancelable: true }));
    })()`);
    assert.equal(await page.evaluate('window.dropWasOffered'), true);
    await page.getByRole('button', { name: studio.removeInput.replace('{{name}}', 'still.png') }).waitFor();
    await page.context().close();
  });

  it('violates no content security policy, sends no request to other origins and throws no error', () => {
    assert.deepEqual(fixture.problems, { violations: [], dialogs: [], errors: [], foreignRequests: [] });
  });

  it('has everything about a video on its own page: neighbours, cost, code, and a variation that starts at once', async () => {
    const page = await open('collector');
    for (const text of ['A first fox', 'A second fox']) {
      await prompt(page).fill(text);
      await page.getByRole('button', { name: /^Generate video · / }).waitFor();
      await page.keyboard.press('Control+Enter');
      await page.getByRole('article', { name: text }).locator('video').first().waitFor();
    }
    await page.getByRole('link', { name: studio.open, exact: true }).first().click();
    await page.getByRole('heading', { name: 'A second fox' }).waitFor();
    const region = page.locator('main');
    await region.getByText(/^\d+ × \d+ · [\d.]+ s$/).waitFor();
    await region.getByText(/^Paid from: Balance [\d.]+ credits$/).waitFor();
    await page.keyboard.press('ArrowRight');
    await page.getByRole('heading', { name: 'A first fox' }).waitFor();
    await page.keyboard.press('ArrowLeft');
    await page.getByRole('heading', { name: 'A second fox' }).waitFor();
    await page.getByRole('button', { name: studio.code, exact: true }).click();
    assert.match((await page.getByRole('dialog').getByRole('tabpanel').textContent()) ?? '', /A second fox/);
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await assertAccessible(page, 'page of a video');
    await page.keyboard.press('v');
    await page.waitForURL(/\/studio\?show=/);
    await page.getByRole('article', { name: 'A second fox' }).locator('video').first().waitFor();
    await page.context().close();
  });
});
