import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import type { Page } from 'playwright-core';
import { PASSWORD, type TestUser } from '../accounts/test-user-client.ts';
import {
  type BrowserFixture,
  openBrowserFixture,
  signIn,
  waitForContent,
  waitForExpression,
} from './browser-fixture.ts';
import { chromiumPath } from './chromium.ts';
import { STRINGS } from './console-strings.ts';
import { assertAccessible } from './find-accessibility-issues.ts';

describe('posters and share links in Chromium', { skip: chromiumPath === undefined && !process.env.CI }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'rg-shares-'));
  let fixture: BrowserFixture;
  before(async () => {
    // Without ffmpeg, so that the browser creates posters for vendors that supply none.
    const env = { ARTIFACTS: 'disk', ARTIFACTS_DIR: folder, ARTIFACTS_MIN_FREE_GB: '0' };
    fixture = await openBrowserFixture(env, { ffmpeg: join(folder, 'none') });
  });
  after(async () => {
    await fixture.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  interface Row {
    readonly status: string;
    readonly poster_url: string;
    readonly stored: boolean;
  }
  /** A finished video of a new account, with its file stored. */
  const makeVideo = async (username: string, prompt: string): Promise<{ person: TestUser; id: string }> => {
    const person = await fixture.running.signUp(username);
    await fixture.running.root.ok('PUT', `/api/admin/users/${person.id}`, { quota_delta: 50_000_000, note: 'start' });
    const { task_id: id } = await person.ok<{ task_id: string }>('POST', '/api/videos', {
      model: 'kling-v1-6',
      prompt,
    });
    for (let isStored = false; !isStored; await pause(100))
      isStored = (await person.ok<Row>('GET', `/api/videos/${id}`)).stored;
    return { person, id };
  };
  /** Records the paths of files the page requests from now on. */
  const recordFiles = (page: Page): string[] => {
    const files: string[] = [];
    page.on('request', (request) => {
      const { pathname, search } = new URL(request.url());
      if (pathname.startsWith('/play/')) files.push(search.includes('variant=thumbnail') ? 'poster' : 'video');
    });
    return files;
  };

  it('the browser creates a poster once; afterwards the gallery loads posters and no video', async () => {
    const { person, id } = await makeVideo('poster-maker', 'A lighthouse in fog');
    const page = await fixture.open();
    await signIn(page, 'poster-maker', PASSWORD, '/videos');
    const card = page.getByRole('article', { name: 'A lighthouse in fog' });
    // The studio may have made the poster already.
    await card.locator('video, img').first().waitFor();
    for (let url = ''; url === ''; await pause(100))
      url = (await person.ok<Row>('GET', `/api/videos/${id}`)).poster_url;
    const files = recordFiles(page);
    await page.reload();
    await card.locator('img').waitFor();
    await waitForExpression(page, `document.querySelector('article img')?.naturalWidth > 0`);
    assert.deepEqual(new Set(files), new Set(['poster']));
    await assertAccessible(page, 'gallery with posters');
    await card.getByRole('button', { name: STRINGS.en.studio.play }).click();
    await waitForExpression(page, `document.querySelector('dialog[open] video')?.readyState >= 1`);
    assert.deepEqual(new Set(files), new Set(['poster', 'video']));
    await page.context().close();
  });

  it('groups videos in collections, plays on hover, and leafs through them in a lightbox', async () => {
    const { collections, studio } = STRINGS.en;
    const { person } = await makeVideo('curator', 'A red fox in the snow');
    for (const prompt of ['A grey owl in the snow', 'A boat [fail]'])
      await person.ok('POST', '/api/videos', { model: 'kling-v1-6', prompt });
    const page = await fixture.open();
    await signIn(page, 'curator', PASSWORD, '/videos');
    const card = (prompt: string) => page.getByRole('article', { name: prompt });
    const button = (name: string) => page.getByRole('button', { name, exact: true });
    for (const prompt of ['A red fox', 'A grey owl']) await card(prompt).locator('.clip img').waitFor();
    await card('A boat').locator('.failure-tile').waitFor();
    const heights = await page.locator('article').evaluateAll((cards) => cards.map((each) => each.clientHeight));
    assert.ok(Math.max(...heights) - Math.min(...heights) <= 2, `no card leaves a hole: ${heights}`);

    await page.emulateMedia({ reducedMotion: 'no-preference' });
    await card('A red fox').locator('.clip').hover();
    const hovered = card('A red fox').locator('.clip video');
    await hovered.waitFor();
    await waitForExpression(page, `document.querySelector('.clip video')?.muted === true`);
    await card('A red fox')
      .getByRole('button', { name: new RegExp(`^${studio.play}`) })
      .click();
    const lightbox = page.locator('dialog[open]');
    await lightbox.getByText('A red fox in the snow').waitFor();
    await page.keyboard.press('ArrowRight');
    await lightbox.getByText('A grey owl in the snow').waitFor();
    const { y = 0, height = Infinity } = (await lightbox.locator('video').boundingBox()) ?? {};
    assert.ok(y + height <= (page.viewportSize()?.height ?? 0), 'the whole picture is on the screen');
    await assertAccessible(page, 'the lightbox of the videos');
    await page.keyboard.press('Escape');
    await lightbox.waitFor({ state: 'detached' });

    await button(studio.select).click();
    await button(studio.choosePage).click();
    const bar = page.getByRole('region', { name: studio.select });
    assert.ok(((await bar.boundingBox())?.height ?? 999) <= 90);
    await page.setViewportSize({ width: 390, height: 844 });
    assert.ok(((await bar.boundingBox())?.height ?? 999) <= 90);
    await page.setViewportSize({ width: 1280, height: 860 });
    await bar.getByRole('button', { name: studio.collect }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel(collections.newName).fill('Winter');
    await dialog.getByRole('button', { name: collections.create }).click();
    await dialog.getByRole('checkbox', { name: 'Winter', checked: true }).waitFor();
    await assertAccessible(page, 'the collections of several videos');
    await dialog.getByRole('button', { name: collections.done }).click();
    await bar.getByRole('button', { name: studio.selectDone }).click();

    await page.getByRole('search').getByLabel(studio.collection, { exact: true }).first().click();
    await page.getByRole('option', { name: 'Winter' }).click();
    await button(collections.rename).waitFor();
    await button(studio.select).click();
    await card('A boat').getByRole('checkbox').check();
    await button(studio.uncollect).click();
    await card('A boat').waitFor({ state: 'detached' });
    await card('A red fox').getByRole('button', { name: studio.collect }).click();
    await dialog.getByRole('checkbox', { name: 'Winter', checked: true }).uncheck();
    await dialog.getByRole('button', { name: collections.done }).click();
    await card('A red fox').waitFor({ state: 'detached' });
    assert.equal(await page.getByRole('article').count(), 1);
    await button(collections.rename).click();
    await dialog.getByLabel(collections.name, { exact: true }).fill('Snow');
    await dialog.getByRole('button', { name: collections.rename }).click();
    await page.getByText('Snow', { exact: true }).first().waitFor();
    await assertAccessible(page, 'the videos of a collection');
    await button(collections.delete).click();
    await dialog.getByRole('button', { name: collections.delete }).click();
    await card('A red fox').waitFor();
    assert.equal(await page.getByRole('article').count(), 3);
    assert.deepEqual(await person.ok('GET', '/api/collections'), []);
    await page.context().close();
  });

  for (const [language, scheme] of [
    ['en', 'light'],
    ['zh-cn', 'dark'],
  ] as const) {
    const { studio } = STRINGS[language];

    it(`a link with a password is created, opened without an account, and revoked (${language}, ${scheme})`, async () => {
      const username = `sharer-${language}`;
      const { person, id } = await makeVideo(username, 'A secret prompt');
      const page = await fixture.open({ language, scheme });
      await signIn(page, username, PASSWORD, `/videos/${id}`);
      await page.getByRole('button', { name: studio.share.action, exact: true }).click();
      const dialog = page.getByRole('dialog');
      await dialog.getByLabel(studio.share.password).fill('open sesame');
      await dialog.getByLabel(studio.share.pageTitle).fill('A walk by the sea');
      await assertAccessible(page, 'dialog');
      await dialog.getByRole('button', { name: studio.share.create }).click();
      const url = (await dialog.getByRole('status').locator('code').textContent()) ?? '';
      const { pathname } = new URL(url);
      await page.keyboard.press('Escape');

      const guest = await fixture.open({ language, scheme, width: 390 });
      await guest.goto(pathname);
      await guest.locator('input[type=password]').waitFor();
      assert.equal(await guest.locator('video').count(), 0);
      await assertAccessible(guest, 'locked page');
      await guest.locator('input[type=password]').fill('wrong');
      await guest.keyboard.press('Enter');
      await guest.getByRole('alert').waitFor();
      await guest.locator('input[type=password]').fill('open sesame');
      await guest.keyboard.press('Enter');
      await guest.getByRole('heading', { name: 'A walk by the sea' }).waitFor();
      await waitForExpression(guest, `document.querySelector('video')?.readyState >= 1`);
      await guest.evaluate(`document.querySelector('video').currentTime = 2`);
      await waitForExpression(guest, `document.querySelector('video')?.currentTime >= 1.9`);
      assert.equal(await guest.getAttribute('html', 'lang'), language === 'en' ? 'en' : 'zh-CN');
      const ground = (await guest.evaluate('getComputedStyle(document.body).backgroundColor')) as string;
      const [red = 0] = (/\d+/.exec(ground) ?? []).map(Number);
      assert.equal(red < 64, scheme === 'dark', ground);
      const text = (await guest.textContent('body')) ?? '';
      assert.ok(!text.includes('secret prompt') && !text.includes(username), text);
      await assertAccessible(guest, 'player');

      await page.goto('/videos/shares');
      await waitForContent(page);
      await assertAccessible(page, 'list of links');
      await page.getByRole('button', { name: studio.share.end, exact: true }).click();
      await page.getByText(studio.share.none).waitFor();
      await guest.reload();
      assert.equal(await guest.locator('video').count(), 0);
      await assertAccessible(guest, 'ended link');
      const { data } = (await person.send('GET', '/api/shares')).body;
      assert.deepEqual(data, []);
      await guest.context().close();
      await page.context().close();
    });
  }

  it('no page violated its policy, contacted another host or threw an error', () => {
    const { violations, foreignRequests, errors } = fixture.problems;
    assert.deepEqual({ violations, foreignRequests, errors }, { violations: [], foreignRequests: [], errors: [] });
  });
});
