import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
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
import { assertAccessible } from './find-accessibility-issues.ts';

const BALANCE = 50_000_000;

describe('the studio in Chromium', { skip: chromiumPath === undefined && !process.env.CI }, () => {
  let fixture: BrowserFixture;
  before(async () => {
    fixture = await openBrowserFixture();
  });
  after(() => fixture.stop());

  const customer = async (username: string) => {
    const person = await fixture.running.signUp(username);
    await fixture.running.root.ok('PUT', `/api/admin/users/${person.id}`, { quota_delta: BALANCE, note: 'start' });
    return person;
  };

  const story = inTurn();
  for (const language of LANGUAGES) {
    const { failures, studio, app } = STRINGS[language];
    const starts = (text: string) => text.split('{{')[0]?.trim() ?? text;

    story(language, 'generates a video: price first, progress, player, download, reuse', async () => {
      const username = `maker-${language}`;
      const person = await customer(username);
      const page = await fixture.open({ language });
      await signIn(page, username, PASSWORD, '/studio?model=kling-v1');
      await page.getByPlaceholder(studio.promptPlaceholder).fill('A paper boat in the rain');
      const run = page.getByRole('button', { name: new RegExp(`^${starts(studio.runPrice)}.*\\d`) });
      await run.waitFor();
      const price = /[\d.]+/.exec((await run.textContent()) ?? '')?.[0];
      await page.reload();
      assert.equal(await page.getByPlaceholder(studio.promptPlaceholder).inputValue(), 'A paper boat in the rain');
      await run.waitFor();
      await page.getByPlaceholder(studio.promptPlaceholder).press('Control+Enter');
      const card = page.getByRole('article', { name: 'A paper boat in the rain' });
      await card.locator('video').waitFor();
      const self = await person.ok<{ used_quota: number }>('GET', '/api/user/self');
      assert.equal((self.used_quota / 500_000).toFixed(2), price, 'it cost what the button said');

      const [download] = await Promise.all([
        page.waitForEvent('download'),
        card.getByRole('button', { name: studio.download }).click(),
      ]);
      assert.match(download.suggestedFilename(), /\.mp4$/);
      assert.equal(
        readFileSync(await download.path())
          .subarray(4, 8)
          .toString(),
        'ftyp',
      );

      await card.getByRole('link', { name: studio.open }).click();
      await page.waitForURL(/\/videos\/./);
      // Seeking requires that the file is served in ranges.
      const video = page.locator('video');
      await video.waitFor();
      await waitForExpression(page, `document.querySelector('video')?.readyState >= 1`);
      await page.evaluate(`document.querySelector('video').currentTime = 2`);
      await waitForExpression(page, `document.querySelector('video')?.currentTime >= 1.9`);
      await page.getByRole('button', { name: studio.reuse }).click();
      await page.waitForURL(/\/studio/);
      await waitForExpression(page, `document.querySelector('textarea')?.value === 'A paper boat in the rain'`);
      await page.context().close();
    });

    story(language, 'shows why a video failed and that it was not charged', async () => {
      const username = `loser-${language}`;
      const person = await customer(username);
      const page = await fixture.open({ language });
      await signIn(page, username, PASSWORD, '/studio?model=kling-v1');
      await page.getByPlaceholder(studio.promptPlaceholder).fill('A clock melts [fail]');
      await page.getByRole('button', { name: new RegExp(`^${starts(studio.runPrice)}.*\\d`) }).click();
      await page.getByText(starts(studio.refunded)).first().waitFor();
      await page.getByText(failures.unknown.text).waitFor();
      await page.getByText(failures.unknown.advice).waitFor();
      const vendorsWords = page.getByText('Task processing failed', { exact: false }).first();
      assert.equal(await vendorsWords.isVisible(), false, 'the words of the vendor are folded');
      await page.getByText(studio.vendorDetails).click();
      await vendorsWords.waitFor();
      assert.equal((await person.ok<{ quota: number }>('GET', '/api/user/self')).quota, BALANCE);
      await page.getByRole('banner').getByText('1', { exact: true }).waitFor();
      await page.goto('/videos?status=SUCCESS');
      await page.getByText(studio.noMatch).waitFor();
      await page.getByRole('button', { name: studio.clearFilters }).click();
      await page.getByRole('article').first().waitFor();
      await page.context().close();
    });

    story(language, 'names missing input before the button is pressed', async () => {
      await fixture.running.signUp(`poor-${language}`);
      const page = await fixture.open({ language });
      await signIn(page, `poor-${language}`, PASSWORD);
      await waitForContent(page);
      await page.getByText(studio.emptyTitle).waitFor();
      await page.getByPlaceholder(studio.promptPlaceholder).fill('A boat');
      await page
        .getByText(String(studio.missing.split('{{amount}}')[0]).trim())
        .first()
        .waitFor();
      await page.getByRole('button', { name: new RegExp(starts(studio.runPrice)) }).click();
      await page.getByRole('alert').first().waitFor();
      assert.notEqual(await page.getByRole('alert').first().textContent(), app.unreachable);
      await page.context().close();
    });
  }

  it('finds videos by prompt, marks favourites, and downloads and deletes several at once', async () => {
    const { studio } = STRINGS.en;
    const person = await customer('collector');
    for (const prompt of ['A red fox in the snow', 'A grey owl in the snow', 'A boat [fail]'])
      await person.ok('POST', '/api/videos', { model: 'kling-v1-6', prompt });
    const page = await fixture.open();
    await signIn(page, 'collector', PASSWORD, '/videos');
    const card = (prompt: string) => page.getByRole('article', { name: prompt });
    const many = (text: string, count: number) => text.replace('{{count}}', String(count));
    const button = (name: string) => page.getByRole('button', { name, exact: true });
    for (const prompt of ['A red fox', 'A grey owl']) await card(prompt).locator('video, img').first().waitFor();
    await card('A boat')
      .getByText(studio.refunded.split('{{')[0] ?? '')
      .waitFor();

    await page.getByRole('searchbox', { name: studio.prompt }).fill('snow FOX');
    await card('A grey owl').waitFor({ state: 'detached' });
    assert.equal(await page.getByRole('article').count(), 1);
    await card('A red fox').getByRole('button', { name: studio.favourite }).click();
    await button(studio.clearFilters).click();
    await card('A grey owl').waitFor();
    await button(studio.favourites).click();
    await card('A grey owl').waitFor({ state: 'detached' });
    await page.reload();
    await card('A red fox').getByRole('button', { name: studio.favourite, pressed: true }).click();
    await page.getByText(studio.noFavourites).waitFor();
    await assertAccessible(page, 'no favourites');
    await button(studio.favourites).click();

    await button(studio.select).click();
    await button(studio.choosePage).click();
    await page.getByText(many(studio.chosen_other, 3)).waitFor();
    await assertAccessible(page, 'videos chosen');
    const downloads: string[] = [];
    page.on('download', (download) => downloads.push(download.suggestedFilename()));
    await button(many(studio.downloadMany, 2)).click();
    for (let attempts = 0; attempts < 100 && downloads.length < 2; attempts += 1) await page.waitForTimeout(100);
    assert.equal(new Set(downloads).size, 2);
    await card('A red fox').getByRole('checkbox').uncheck();
    await button(many(studio.deleteMany, 2)).click();
    await page.getByText(many(studio.deleteManyTitle_other, 2)).waitFor();
    await page
      .getByRole('dialog')
      .getByRole('button', { name: many(studio.deleteMany, 2) })
      .click();
    await page.getByText(many(studio.deletedMany_other, 2)).waitFor();
    await card('A grey owl').waitFor({ state: 'detached' });
    const left = await person.ok<{ prompt: string }[]>('GET', '/api/videos');
    assert.deepEqual(
      left.map(({ prompt }) => prompt),
      ['A red fox in the snow'],
    );
    await page.context().close();
  });

  it('shows a unit price below the decimals of amounts per million, so that the receipt adds up', async () => {
    const person = await customer('reader');
    const video = { model: 'doubao-seedance-1-0-pro-fast-251015', prompt: 'A kite over the dunes' };
    const { task_id: id } = await person.ok<{ task_id: string }>('POST', '/api/videos', video);
    const page = await fixture.open();
    await signIn(page, 'reader', PASSWORD, `/videos/${id}`);
    await page.locator('video').waitFor();
    await page.reload();
    const line = page.getByText(/^[\d,]+ × [\d.]+ credits \/ million$/);
    await line.waitFor();
    const [units = 0, millionth = 0] = ((await line.textContent()) ?? '').replaceAll(',', '').match(/[\d.]+/g) ?? [];
    await page.goto(`/account/receipts/${id}`);
    const total = page.locator('tfoot th').last();
    await total.waitFor();
    const charged = Number(/[\d.]+/.exec((await total.textContent()) ?? '')?.[0]);
    assert.ok(
      Math.abs((Number(units) * Number(millionth)) / 1_000_000 - charged) < 0.000002,
      `${units} × ${millionth}`,
    );
    await page.context().close();
  });

  it('shows models in two columns on a phone, without their tags', async () => {
    const page = await fixture.open({ width: 390, height: 844 });
    await customer('rider');
    await signIn(page, 'rider', PASSWORD);
    await waitForContent(page);
    await page.locator('.model-chip').click();
    const options = page.getByRole('dialog').getByRole('option');
    const boxes = await Promise.all([0, 1].map(async (at) => (await options.nth(at).boundingBox())?.y));
    assert.equal(boxes[0], boxes[1]);
    assert.equal(await options.first().locator('.model-tags').isVisible(), false);
    await page.context().close();
  });

  it('folds the filters of videos on a phone, except the search', async () => {
    const { studio: library } = STRINGS.en;
    const page = await fixture.open({ width: 390, height: 844 });
    const person = await customer('finder');
    await person.ok('POST', '/api/videos', { model: 'kling-v1-6', prompt: 'A kite' });
    await signIn(page, 'finder', PASSWORD, '/videos');
    const filters = page.getByRole('search');
    const model = filters.getByRole('combobox', { name: library.filterModel });
    await filters.getByRole('searchbox', { name: library.prompt }).waitFor();
    assert.equal(await model.isVisible(), false);
    await filters.getByRole('button', { name: library.filters }).click();
    await model.click();
    await page.getByRole('option', { name: 'Kling 1.6', exact: true }).click();
    await page.waitForURL(/model=kling-v1-6/);
    await page.context().close();
  });

  it('violates no content security policy, sends no request to other origins and throws no error', () => {
    assert.deepEqual(fixture.problems, { violations: [], dialogs: [], errors: [], foreignRequests: [] });
  });
});
