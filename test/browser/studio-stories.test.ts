import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { PASSWORD } from '../accounts/person.ts';
import { type BrowserRig, holds, openBrowserRig, settle, signIn } from './browser.ts';
import { chromiumPath } from './chromium.ts';
import { WORDS } from './words.ts';

const BALANCE = 50_000_000;

describe('the studio in Chromium', { skip: chromiumPath === undefined && !process.env.CI }, () => {
  let rig: BrowserRig;
  before(async () => {
    rig = await openBrowserRig();
  });
  after(() => rig.stop());

  const customer = async (username: string) => {
    const person = await rig.running.person(username);
    await rig.running.root.ok('PUT', `/api/admin/users/${person.id}`, { quota_delta: BALANCE, note: 'start' });
    return person;
  };

  for (const language of ['en', 'zh-cn'] as const) {
    const { studio, shell } = WORDS[language];
    const starts = (text: string) => text.split('{{')[0]?.trim() ?? text;

    it(`makes a video: price first, progress, player, download, the same again (${language})`, async () => {
      const username = `maker-${language}`;
      const person = await customer(username);
      const page = await rig.open({ language });
      await signIn(page, username, PASSWORD);
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
      // Seeking works: the file is served in ranges.
      const video = page.locator('video');
      await video.waitFor();
      await holds(page, `document.querySelector('video')?.readyState >= 1`);
      await page.evaluate(`document.querySelector('video').currentTime = 2`);
      await holds(page, `document.querySelector('video')?.currentTime >= 1.9`);
      await page.getByRole('link', { name: studio.reuse }).click();
      await page.waitForURL(/\/studio/);
      await holds(page, `document.querySelector('textarea')?.value === 'A paper boat in the rain'`);
      await page.context().close();
    });

    it(`says why a video failed and that it cost nothing (${language})`, async () => {
      const username = `loser-${language}`;
      const person = await customer(username);
      const page = await rig.open({ language });
      await signIn(page, username, PASSWORD);
      await page.getByPlaceholder(studio.promptPlaceholder).fill('A clock melts [fail]');
      await page.getByRole('button', { name: new RegExp(`^${starts(studio.runPrice)}.*\\d`) }).click();
      await page.getByText(starts(studio.refunded)).first().waitFor();
      assert.equal((await person.ok<{ quota: number }>('GET', '/api/user/self')).quota, BALANCE);
      await page.getByRole('banner').getByText('1', { exact: true }).waitFor();
      await page.goto('/videos?status=SUCCESS');
      await page.getByText(studio.noMatch).waitFor();
      await page.getByRole('button', { name: studio.clearFilters }).click();
      await page.getByRole('article').first().waitFor();
      await page.context().close();
    });

    it(`tells what is missing instead of pressing into a refusal (${language})`, async () => {
      await rig.running.person(`poor-${language}`);
      const page = await rig.open({ language });
      await signIn(page, `poor-${language}`, PASSWORD);
      await settle(page);
      await page.getByText(studio.emptyTitle).waitFor();
      await page.getByPlaceholder(studio.promptPlaceholder).fill('A boat');
      await page.getByText(studio.missing.replace('{{amount}}', '').trim()).first().waitFor();
      await page.getByRole('button', { name: new RegExp(starts(studio.runPrice)) }).click();
      await page.getByRole('alert').first().waitFor();
      assert.notEqual(await page.getByRole('alert').first().textContent(), shell.unreachable);
      await page.context().close();
    });
  }

  it('breaks no policy of its own, asks nobody else for anything and throws nothing', () => {
    assert.deepEqual(rig.offences, { violations: [], dialogs: [], errors: [], strangers: [] });
  });
});
