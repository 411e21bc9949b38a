import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { PASSWORD } from '../accounts/test-user-client.ts';
import {
  type BrowserFixture,
  type ContextOptions,
  openBrowserFixture,
  signIn,
  waitForContent,
  waitForExpression,
} from './browser-fixture.ts';
import { chromiumPath } from './chromium.ts';
import { STRINGS } from './console-strings.ts';
import { assertAccessible } from './find-accessibility-issues.ts';

const { app, notifications, studio } = STRINGS.en;
const price = /^Generate video · [\d.]+ credits$/;

describe('results, ideas and models of the studio', { skip: chromiumPath === undefined && !process.env.CI }, () => {
  let fixture: BrowserFixture;
  before(async () => {
    fixture = await openBrowserFixture();
  });
  after(() => fixture.stop());

  const open = async (username: string, options: ContextOptions = {}): Promise<Page> => {
    const person = await fixture.running.signUp(username);
    await fixture.running.root.ok('PUT', `/api/admin/users/${person.id}`, { quota_delta: 50_000_000, note: 'start' });
    const page = await fixture.open(options);
    await signIn(page, username, PASSWORD, '/studio?model=kling-v1-6');
    await page.locator('#prompt').waitFor();
    return page;
  };

  it('announces ready videos by their images, several in a row as a group', async () => {
    const person = await fixture.running.signUp('announced');
    await fixture.running.root.ok('PUT', `/api/admin/users/${person.id}`, { quota_delta: 5_000_000, note: 'start' });
    const submit = (prompt: string) => person.ok('POST', '/api/videos', { model: 'kling-v1-6', prompt });
    await submit('A lone fox');
    const page = await fixture.open({ width: 390, height: 844 });
    await signIn(page, 'announced', PASSWORD, '/notifications');
    await page.getByRole('link', { name: 'A lone fox' }).locator('.tile').waitFor();
    for (const prompt of ['An owl', 'A crane']) await submit(prompt);
    await page.getByText(notifications.videosReady_other.replace('{{count}}', '3')).waitFor();
    await assertAccessible(page, 'a group of notifications');
    assert.equal(await page.locator('a.tile').count(), 3);
    await page.getByRole('link', { name: 'A crane' }).click();
    await page.waitForURL(/\/videos\/task_/);
    await page.goto('/notifications?unread=true');
    // The opened one is read, and two are no group.
    await page.getByRole('link', { name: 'An owl' }).getByText('An owl').waitFor();
    assert.equal(await page.locator('a.tile').count(), 0);
    await page.context().close();
  });

  it('generates two videos of one model for twice the price, and stacks results newest first', async () => {
    const page = await open('doubler');
    await page.locator('#prompt').fill('A fox');
    const single = page.getByRole('button', { name: price });
    await single.waitFor();
    const one = Number(/[\d.]+/.exec((await single.textContent()) ?? '')?.[0]);
    await page.getByText('×2', { exact: true }).click();
    const both = page.getByRole('button', { name: /^Generate 2 videos · [\d.]+ credits$/ });
    await both.waitFor();
    const two = Number(/(?<=· )[\d.]+/.exec((await both.textContent()) ?? '')?.[0]);
    assert.ok(Math.abs(two - 2 * one) < 0.011, `${two} credits`);
    await both.click();
    const comparison = page.getByRole('region', { name: studio.comparison });
    // Before the first one is finished: they play as they arrive.
    await comparison.getByRole('button', { name: studio.playAll }).click();
    await comparison.locator('video').nth(1).waitFor();
    await waitForExpression(page, `[...document.querySelectorAll('video')].every(({ paused }) => !paused)`);
    assert.match((await comparison.locator('video').first().getAttribute('aria-label')) ?? '', /^Kling/);
    await comparison.getByRole('button', { name: studio.pauseAll }).click();
    await page.getByText('×1', { exact: true }).click();
    await page.locator('#prompt').fill('An owl');
    await page.getByRole('button', { name: price }).click();
    await page.locator('#stage').getByRole('article', { name: 'An owl' }).locator('video').waitFor();

    const stack = page.getByRole('region', { name: studio.recent });
    assert.equal(await stack.getByRole('article', { name: 'A fox' }).locator('.tile').count(), 2);
    // Without a stored poster, a result shows its first frame.
    await stack.locator('.tile').first().scrollIntoViewIfNeeded();
    await stack.locator('.tile').first().locator('video, img').waitFor({ state: 'attached' });
    await assertAccessible(page, 'stacked results');

    // The lightbox keeps the focus, turns its pages by arrow keys, and returns the focus.
    const tile = stack.locator('.tile').first();
    await tile.focus();
    await page.keyboard.press('Enter');
    const dialog = page.getByRole('dialog', { name: 'A fox' });
    await dialog.locator('video').waitFor();
    await dialog.getByText('2 of 3').waitFor();
    await assertAccessible(page, 'lightbox');
    await page.keyboard.press('ArrowLeft');
    await page.getByRole('dialog', { name: 'An owl' }).getByText('1 of 3').waitFor();
    for (let tabs = 0; tabs < 12; tabs += 1) await page.keyboard.press('Tab');
    assert.equal(
      await page.evaluate(
        'document.activeElement === document.body || document.activeElement.closest("dialog") !== null',
      ),
      true,
    );
    await page.keyboard.press('Escape');
    await page.locator('dialog[open]').waitFor({ state: 'detached' });
    await waitForExpression(page, `document.activeElement.className.includes('tile')`);
    await page.context().close();
  });

  it('shows upright videos in their own shape side by side, and their shared links by image', async () => {
    const person = await fixture.running.signUp('upright');
    await fixture.running.root.ok('PUT', `/api/admin/users/${person.id}`, { quota_delta: 5_000_000, note: 'start' });
    const body = { model: 'kling-v1-6', prompt: 'A tall tree', metadata: { aspect_ratio: '9:16' } };
    const { task_id: id } = await person.ok<{ task_id: string }>('POST', '/api/videos', body);
    await person.ok('POST', '/api/videos', body);
    const page = await fixture.open();
    await signIn(page, 'upright', PASSWORD, '/studio');
    await page.locator('.compared[data-upright] video').nth(1).waitFor();
    await waitForExpression(
      page,
      `(() => {
        const [one, two] = [...document.querySelectorAll('.compared video')].map((each) => each.getBoundingClientRect());
        return one.height > one.width && one.top === two.top && one.left !== two.left;
      })()`,
    );
    await person.ok('POST', `/api/videos/${id}/shares`);
    await page.goto('/videos/shares');
    await page
      .getByRole('link', { name: 'A tall tree' })
      .locator('.tile :is(img, video)')
      .waitFor({ state: 'attached' });
    await assertAccessible(page, 'shared links');
    await page.context().close();
  });

  it('names the input that a compared model lacks', async () => {
    const page = await open('comparer');
    await page.locator('#prompt').fill('A fox');
    await page.getByRole('button', { name: studio.compare }).click();
    await page.getByRole('textbox', { name: studio.modelSearch }).fill('I2V-01');
    await page.keyboard.press('Enter');
    await page.keyboard.press('Escape');
    await page.getByText(/^.*I2V.* needs 1 first frame\. Add what is missing/).waitFor();
    await page.context().close();
  });

  it('retries a failed video at once, for the price on the button', async () => {
    const page = await open('retrier');
    await page.locator('#prompt').fill('A clock [fail]');
    await page.getByRole('button', { name: price }).click();
    await page
      .locator('#stage')
      .getByRole('button', { name: /^Retry · [\d.]+ credits$/ })
      .click();
    await page.getByRole('region', { name: studio.recent }).getByRole('article', { name: 'A clock [fail]' }).waitFor();
    await page.context().close();
  });

  it('fills the prompt with an idea, in one click', async () => {
    const page = await open('explorer');
    await page.getByRole('link', { name: studio.explore }).click();
    await waitForContent(page);
    await assertAccessible(page, 'ideas');
    await page.getByRole('link', { name: 'Evening sea' }).click();
    await waitForExpression(page, `document.querySelector('#prompt')?.value.startsWith('Gentle waves') === true`);
    await page.getByRole('button', { name: price }).waitFor();
    assert.equal(new URL(page.url()).search, '');
    await page.context().close();
  });

  it('improves a prompt with the chat model of the operator, charged as a call, and keeps the earlier one', async () => {
    await fixture.running.setSiteSetting('PROMPT_MODEL', 'sandbox-chat');
    const page = await open('writer');
    await page.locator('#prompt').fill('A boat');
    const improve = page.getByRole('button', { name: /^Improve prompt · about [\d.]+ credits$/ });
    await improve.waitFor();
    await page.setViewportSize({ width: 390, height: 844 });
    await waitForExpression(
      page,
      `[...document.querySelectorAll('.chip.slot')].every(({ scrollWidth, clientWidth }) => scrollWidth <= clientWidth)`,
    );
    await improve.click();
    await waitForExpression(page, `!['', 'A boat'].includes(document.querySelector('#prompt').value)`);
    await page.getByRole('button', { name: studio.templates }).click();
    await page.getByRole('menuitem', { name: 'A boat', exact: true }).waitFor();
    await page.context().close();
  });

  it("starts with the site's default model, and with the cheapest where there is none", async () => {
    const firstModel = async (username: string): Promise<string> => {
      await fixture.running.signUp(username);
      const page = await fixture.open();
      await signIn(page, username, PASSWORD, '/studio');
      const chosen = page.getByRole('button', { name: new RegExp(`^${studio.model}`) });
      await chosen.waitFor();
      const name = (await chosen.getAttribute('aria-label')) ?? '';
      await page.context().close();
      return name;
    };
    assert.doesNotMatch(await firstModel('saver'), /Kling V?3/i);
    await fixture.running.setSiteSetting('DEFAULT_VIDEO_MODEL', 'kling-v3');
    assert.match(await firstModel('reader'), /Kling V?3/i);
    await fixture.running.setSiteSetting('DEFAULT_VIDEO_MODEL', null);
  });

  it('filters models by what they can do, and orders them by price', async () => {
    const page = await open('chooser');
    await page.locator('h1').click();
    await page.keyboard.press('m');
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('option').first().waitFor();
    const all = await dialog.getByRole('option').count();
    await dialog.getByRole('button', { name: 'Extend' }).click();
    await dialog.getByRole('button', { name: 'Sound' }).click();
    const some = await dialog.getByRole('option').count();
    assert.ok(some > 0 && some < all, `${some} of ${all}`);
    await dialog.getByText('Lowest price').click();
    await assertAccessible(page, 'filtered models');
    await page.context().close();
  });

  it('keeps the result and the button in reach of the thumb on a phone', async () => {
    const page = await open('walker', { width: 390, height: 844 });
    await page.locator('#prompt').fill('A lighthouse');
    await page.getByRole('button', { name: price }).click();
    await page.locator('#stage').getByRole('article', { name: 'A lighthouse' }).locator('video').waitFor();
    await page.evaluate(`scrollTo(0, 0)`);
    const small = await page.evaluate(`[...document.querySelectorAll('.chip, .run-bar button, .actions button')]
      .filter((each) => each.getBoundingClientRect().height < 44).map((each) => each.textContent)`);
    assert.deepEqual(small, []);
    assert.equal(await page.evaluate('document.documentElement.scrollWidth > innerWidth'), false, 'no overflow');
    await page.evaluate(`document.querySelector('.composer').style.minHeight = '900px'`);
    await page.getByRole('button', { name: `${studio.toResult}: ${studio.stage.SUCCESS}` }).click();
    await waitForExpression(page, `document.getElementById('stage').getBoundingClientRect().top < innerHeight / 2`);
    await page.getByRole('button', { name: studio.toPrompt }).waitFor();
    await page.context().close();
  });

  it('starts one video while the keys are held down', async () => {
    const page = await open('holder');
    await page.locator('#prompt').fill('A heron');
    await page.getByRole('button', { name: price }).waitFor();
    await page.keyboard.down('Control');
    await page.keyboard.down('Enter');
    await page.locator('#stage').getByRole('article', { name: 'A heron' }).waitFor();
    await page.getByRole('button', { name: price }).waitFor();
    const repeated = page.waitForRequest((request) => request.method() === 'POST' && /videos$/.test(request.url()), {
      timeout: 1_000,
    });
    for (let times = 0; times < 5; times += 1) await page.keyboard.down('Enter');
    await assert.rejects(repeated, /Timeout/);
    await page.keyboard.up('Enter');
    await page.keyboard.up('Control');
    let started = 0;
    page.on('request', (request) => {
      if (request.method() === 'POST' && /videos$/.test(request.url())) started += 1;
    });
    const hold = async (key: string): Promise<void> => {
      started = 0;
      for (let times = 0; times < 20; times += 1) {
        await page.keyboard.down(key);
        await page.waitForTimeout(40);
      }
      await page.keyboard.up(key);
      await page.waitForTimeout(500);
      assert.equal(started, 1, key);
    };
    await page.locator('#generate').focus();
    await hold('Enter');
    await page.locator('#stage').getByRole('article', { name: 'A heron' }).locator('video').waitFor();
    await page.locator('h1').click();
    await hold('v');
    await page.context().close();
  });

  it('starts one video if its response is lost and the user tries again', async () => {
    const page = await open('unlucky');
    await page.locator('#prompt').fill('A lost heron');
    await page.getByRole('button', { name: price }).waitFor();
    await page.route('**/api/videos', async (route) => {
      if (route.request().method() === 'POST') await route.fetch();
      await route.abort();
    });
    await page.locator('#generate').click();
    await page.getByRole('alert').getByText(app.unreachable).waitFor();
    await page.unroute('**/api/videos');
    await page.getByRole('button', { name: price }).click();
    await page.locator('#stage').getByRole('article', { name: 'A lost heron' }).waitFor();
    const { root } = fixture.running;
    const videos = await root.ok<{ prompt: string }[]>('GET', '/api/admin/tasks?q=A+lost+heron');
    assert.equal(videos.length, 1);
    await page.context().close();
  });

  it('violates no content security policy, sends no request to other origins and throws no error', () => {
    assert.deepEqual(fixture.problems, { violations: [], dialogs: [], errors: [], foreignRequests: [] });
  });
});
