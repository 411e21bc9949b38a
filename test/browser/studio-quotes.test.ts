import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { PASSWORD } from '../accounts/test-user-client.ts';
import { authenticate, type BrowserFixture, openBrowserFixture } from './browser-fixture.ts';
import { chromiumPath } from './chromium.ts';
import { inTurn, LANGUAGES, STRINGS } from './console-strings.ts';
import { assertAccessible } from './find-accessibility-issues.ts';

describe('messages of the studio before and after a submit', {
  skip: chromiumPath === undefined && !process.env.CI,
}, () => {
  let fixture: BrowserFixture;
  before(async () => {
    fixture = await openBrowserFixture();
  });
  after(() => fixture.stop());

  const open = async (username: string, language: 'en' | 'zh-cn' = 'en') => {
    const person = await fixture.running.signUp(username);
    await fixture.running.root.ok('PUT', `/api/admin/users/${person.id}`, { quota_delta: 1_000_000, note: 'start' });
    const page = await fixture.open({ language });
    await authenticate(page, username, PASSWORD);
    return { person, page };
  };
  const starts = (text: string): string => text.split('{{')[0]?.trim() ?? text;

  const story = inTurn('zh-cn');
  for (const language of LANGUAGES) {
    story(language, 'shows why a vendor refused a request and the remedy, and keeps the whole form', async () => {
      const { studio, failures } = STRINGS[language];
      const { person, page } = await open(`refused-${language}`, language);
      await page.goto('/studio?model=kling-v1-6');
      const prompt = page.getByRole('textbox', { name: studio.prompt, exact: true });
      await prompt.fill('A duel at dawn [policy]');
      await page.getByText(studio.advanced, { exact: true }).click();
      const negative = page.getByRole('textbox', { name: studio.negative });
      await negative.fill('rain');
      await page.getByRole('button', { name: new RegExp(`^${starts(studio.runPrice)}.*\\d`) }).click();
      const [text, advice] = [failures.prompt_refused, failures.content_refused].flatMap((each) => [
        page.getByText(each.text),
        page.getByText(each.advice),
      ]);
      await (text ?? assert.fail()).or(page.getByText(failures.content_refused.text)).first().waitFor();
      await (advice ?? assert.fail()).or(page.getByText(failures.content_refused.advice)).first().waitFor();
      await page.getByText(starts(studio.refunded)).first().waitFor();
      assert.equal(await prompt.inputValue(), 'A duel at dawn [policy]');
      assert.equal(await negative.inputValue(), 'rain');
      assert.equal((await person.ok<{ quota: number }>('GET', '/api/user/self')).quota, 1_000_000);
      // The form can be submitted again after a correction.
      await prompt.fill('Two dancers at dawn');
      await page.getByRole('button', { name: new RegExp(`^${starts(studio.runPrice)}.*\\d`) }).click();
      await page.getByRole('article', { name: 'Two dancers at dawn' }).waitFor();
      await page.context().close();
    });
  }

  it('keeps the button in place when the quote arrives, so that a click in progress is not lost', async () => {
    const { page } = await open('presser');
    const held = Promise.withResolvers<void>();
    await page.route('**/api/videos/quote', async (route) => {
      await held.promise;
      await route.continue();
    });
    await page.goto('/studio?model=kling-v1-6');
    await page.getByRole('textbox', { name: STRINGS.en.studio.prompt, exact: true }).fill('A lighthouse');
    const button = page.locator('#generate:enabled');
    await button.waitFor();
    const before = await button.boundingBox();
    held.resolve();
    await page.locator('[data-quote]').waitFor();
    assert.equal((await button.boundingBox())?.y, before?.y);

    // A click must not start a video for another price than the one that the button shows.
    const later = Promise.withResolvers<void>();
    await page.unroute('**/api/videos/quote');
    await page.route('**/api/videos/quote', async (route) => {
      await later.promise;
      await route.continue();
    });
    const price = async () => /[\d.]+(?= credits)/.exec((await button.textContent()) ?? '')?.[0];
    const five = await price();
    await page.getByRole('textbox', { name: STRINGS.en.studio.prompt, exact: true }).fill('A lighthouse at dawn');
    assert.equal(await price(), five, 'no price depends on the prompt');
    await page.getByRole('combobox', { name: STRINGS.en.studio.length }).selectOption({ label: '10 s' });
    assert.equal(await price(), undefined);
    later.resolve();
    await page.locator('[data-quote]').waitFor();
    assert.equal(await price(), (2 * Number(five)).toFixed(2));
    await page.context().close();
  });

  it('shows how many videos the balance and the plan pay for, and when the allowance is renewed', async () => {
    const { studio } = STRINGS.en;
    const { person, page } = await open('planner');
    await page.goto('/studio?model=kling-v1-6');
    await page.getByRole('textbox', { name: studio.prompt, exact: true }).fill('A lighthouse');
    const hint = page.locator('[data-quote]');
    assert.match((await hint.textContent()) ?? '', /^Enough for [\d,]+ more\.$/);
    const { root } = fixture.running;
    await root.ok('POST', '/api/admin/package-cards', {
      package_code: 'daily',
      name: 'Daily',
      level: 1,
      duration_days: 30,
      daily_quota: 1_000_000,
    });
    const { codes } = await root.ok<{ codes: string[] }>('POST', '/api/admin/redemption-codes', {
      package_code: 'daily',
      count: 1,
    });
    await person.ok('POST', '/api/user/redeem', { code: codes[0] });
    await page.reload();
    await page.getByText(starts(studio.paidByPlan)).waitFor();
    await page.getByText('×2', { exact: true }).click();
    await page.getByRole('button', { name: /^Generate 2 videos · [\d.]+ credits$/ }).waitFor();
    assert.match((await page.locator('.run-hints').textContent()) ?? '', new RegExp(starts(studio.paidByPlan)));
    await page.getByText('×1', { exact: true }).click();
    await page.getByRole('button', { name: new RegExp(`^${starts(studio.runPrice)}.*\\d`) }).click();
    await page.getByRole('article', { name: 'A lighthouse' }).waitFor();
    await page.reload();
    await page.getByText(/Daily allowance: 1\.\d+ credits of 2\.00 credits left · resets in/).waitFor();
    await assertAccessible(page, 'the form with a quote');
    await page.context().close();
  });

  it('lists favourite and recently used models before the others', async () => {
    const { studio } = STRINGS.en;
    const { page } = await open('collector');
    await page.goto('/studio?model=kling-v1-6');
    await page.getByRole('textbox', { name: studio.prompt, exact: true }).fill('A harbour');
    await page.getByRole('button', { name: new RegExp(`^${starts(studio.runPrice)}.*\\d`) }).click();
    await page.getByRole('article', { name: 'A harbour' }).waitFor();
    await page.goto('/studio?model=viduq2');
    await page.getByRole('button', { name: /^Model: .*vidu ?q2/i }).waitFor();
    await page.getByRole('button', { name: studio.favouriteModel }).click();
    await page.reload();
    await page.getByRole('button', { name: studio.favouriteModel, pressed: true }).waitFor();
    await page.getByRole('button', { name: /^Model: / }).click();
    const groups = page.getByRole('dialog').locator('.mantine-Combobox-group');
    await groups.first().waitFor();
    assert.match((await groups.nth(0).textContent()) ?? '', new RegExp(`^${studio.favourites}.*vidu ?q2`, 'i'));
    assert.match((await groups.nth(1).textContent()) ?? '', new RegExp(`^${studio.recentModels}.*kling.?v?1.6`, 'i'));
    await assertAccessible(page, 'the grid with favourites');
    await page.context().close();
  });

  it('violates no content security policy, sends no request to other origins and throws no error', () => {
    assert.deepEqual(fixture.problems, { violations: [], dialogs: [], errors: [], foreignRequests: [] });
  });
});
