import assert from 'node:assert/strict';
import { after, before, describe } from 'node:test';
import { type BrowserFixture, openBrowserFixture, signIn } from './browser-fixture.ts';
import { chromiumPath } from './chromium.ts';
import { inTurn, LANGUAGES, STRINGS } from './console-strings.ts';
import { ROOT } from './demo-data.ts';

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
});
