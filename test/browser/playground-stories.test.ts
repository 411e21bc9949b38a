import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { type BrowserFixture, openBrowserFixture, signIn } from './browser-fixture.ts';
import { chromiumPath } from './chromium.ts';
import { inTurn, LANGUAGES, STRINGS } from './console-strings.ts';
import { ROOT } from './demo-data.ts';

/** Holds the answers of models back until the returned function is called. */
async function holdAnswers(page: Page): Promise<() => void> {
  const held = Promise.withResolvers<void>();
  await page.route('**/chat/completions', async (route) => {
    await held.promise;
    await route.continue();
  });
  return held.resolve;
}

const HOSTILE = `<img src=x onerror="alert(1)"><script>alert(2)</script>`;

describe('the playground in Chromium', { skip: chromiumPath === undefined && !process.env.CI }, () => {
  let fixture: BrowserFixture;
  let chatModel = '';
  before(async () => {
    fixture = await openBrowserFixture();
    const { root } = fixture.running;
    await root.ok('PUT', `/api/admin/users/${root.id}`, { quota_delta: 50_000_000, note: 'start' });
    const models = await root.ok<{ id: string; kind: string; permitted: boolean }[]>('GET', '/api/models');
    chatModel = models.find(({ kind, permitted }) => kind === 'chat' && permitted)?.id ?? '';
    assert.notEqual(chatModel, '', 'the sandbox has a chat model');
  });
  after(() => fixture.stop());

  const story = inTurn('zh-cn');
  for (const language of LANGUAGES) {
    const { playground, requests } = STRINGS[language];

    story(
      language,
      'streams an answer with tokens and cost, keeps it across a reload, shows its code, and executes none of it',
      async () => {
        const page = await fixture.open({ language });
        await signIn(page, ROOT.username, ROOT.password, '/playground');
        await page.getByRole('combobox', { name: playground.model }).click();
        await page.getByRole('option', { name: chatModel, exact: true }).click();
        await page.getByRole('textbox', { name: playground.message }).fill(HOSTILE);
        await page.keyboard.press('Enter');
        const answer = page.getByRole('article', { name: chatModel });
        await answer.getByRole('link').waitFor();
        assert.equal(await page.locator('main img[src=x], main script').count(), 0);
        await page.getByRole('article', { name: playground.you }).getByText(HOSTILE).waitFor();

        await page.getByRole('button', { name: playground.code }).click();
        const code = page.getByRole('dialog').locator('pre').first();
        assert.match((await code.textContent()) ?? '', /\/v1\/chat\/completions[\s\S]*onerror/);
        await page.keyboard.press('Escape');

        await page.reload();
        await page
          .getByRole('button', { name: HOSTILE.slice(0, 12) })
          .first()
          .click();
        await answer.getByRole('link').click();
        await page.getByRole('table', { name: requests.linesTitle }).waitFor();
        await page.context().close();
        assert.deepEqual(fixture.problems, { violations: [], dialogs: [], errors: [], foreignRequests: [] });
      },
    );
  }

  it('keeps the question, changed settings and another conversation while an answer arrives', async () => {
    const { playground } = STRINGS.en;
    const page = await fixture.open();
    await signIn(page, ROOT.username, ROOT.password, '/playground');
    const message = page.getByRole('textbox', { name: playground.message });
    const own = page.getByRole('article', { name: playground.you });
    const ask = async (text: string): Promise<void> => {
      await message.fill(text);
      await page.getByRole('button', { name: playground.send }).click();
      await own.getByText(text).waitFor();
    };
    const busy = page.getByLabel(playground.answering);
    await ask('First question');
    await busy.waitFor({ state: 'detached' });
    await page.getByRole('button', { name: playground.newChat }).click();
    const answer = await holdAnswers(page);
    await ask('Second question');
    await busy.waitFor();
    const system = page.getByRole('textbox', { name: playground.system });
    const kept = (text: string) => page.getByRole('button', { name: new RegExp(`^${text}`) });
    await kept('First question').click();
    await own.getByText('First question').waitFor();
    assert.equal(await busy.count(), 0, 'the answer belongs to the other conversation');
    await kept('Second question').click();
    await busy.waitFor();
    await kept('First question').click();
    await system.fill('Be brief');
    answer();
    await page.getByRole('button', { name: playground.send }).waitFor();
    await own.getByText('First question').waitFor();
    assert.equal(await system.inputValue(), 'Be brief');
    await page.reload();
    await kept('Second question').click();
    await page.getByRole('article').nth(1).waitFor();
    await page.context().close();
  });

  it('keeps no conversation that is deleted while its answer arrives', async () => {
    const { playground } = STRINGS.en;
    const page = await fixture.open();
    await signIn(page, ROOT.username, ROOT.password, '/playground');
    const answer = await holdAnswers(page);
    await page.getByRole('textbox', { name: playground.message }).fill('A secret');
    await page.getByRole('button', { name: playground.send }).click();
    await page.getByRole('button', { name: playground.forget.replace('{{name}}', 'A secret') }).click();
    answer();
    await page.getByRole('article').nth(1).waitFor();
    await page.getByRole('button', { name: playground.send }).waitFor();
    assert.doesNotMatch(String(await page.evaluate(`JSON.stringify(localStorage)`)), /A secret/);
    await page.context().close();
  });
});
