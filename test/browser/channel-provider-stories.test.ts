import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { callModelApi } from '../call-model-api.ts';
import { type ScriptedUpstream, startScriptedUpstream } from '../chat/scripted-upstream.ts';
import { type BrowserFixture, openBrowserFixture, signIn } from './browser-fixture.ts';
import { chromiumPath } from './chromium.ts';
import { inTurn, LANGUAGES, STRINGS } from './console-strings.ts';
import { ROOT } from './demo-data.ts';

const COMPLETION = {
  id: 'c1',
  object: 'chat.completion',
  created: 1,
  choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'hello' } }],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
};

describe('a chat provider in Chromium', { skip: chromiumPath === undefined && !process.env.CI }, () => {
  let fixture: BrowserFixture;
  let upstream: ScriptedUpstream;
  /** Prefix of the provider's model names. */
  let lab = '';
  before(async () => {
    upstream = await startScriptedUpstream();
    upstream.respondWith((response, { path, body }) => {
      const isKnown = path === '/api/v1/models' || path === '/api/v1/chat/completions';
      response.writeHead(isKnown ? 200 : 404, { 'content-type': 'application/json' });
      const data = ['large', 'small', 'spare'].map((name) => ({ id: `${lab}/${name}`, object: 'model' }));
      response.end(JSON.stringify(body === '' ? { object: 'list', data } : COMPLETION));
    });
    fixture = await openBrowserFixture();
  });
  after(async () => {
    await fixture.stop();
    await upstream.stop();
  });

  const story = inTurn('zh-cn');
  for (const language of LANGUAGES) {
    const { channels, credentials, presets, states, suggest } = STRINGS[language].adminChannels;
    story(language, 'is chosen from a list and tested, and its models are added until a call works', async () => {
      lab = `lab-${language}`;
      const { root } = fixture.running;
      const page = await fixture.open({ language });
      await signIn(page, ROOT.username, ROOT.password, '/admin/channels/new');
      const button = (name: string) => page.getByRole('button', { name, exact: true });
      const baseUrl = page.getByLabel(channels.baseUrl, { exact: true });
      const choose = async (name: string): Promise<void> => {
        await page.getByLabel(channels.vendor, { exact: true }).first().fill(name);
        await page.getByRole('option', { name, exact: true }).click();
      };

      await choose('Groq');
      assert.equal(await baseUrl.inputValue(), 'https://api.groq.com/openai/v1');
      await choose('OpenRouter');
      assert.equal(await baseUrl.inputValue(), 'https://openrouter.ai/api/v1');
      assert.equal(await page.getByRole('textbox', { name: channels.name, exact: true }).inputValue(), 'OpenRouter');
      const keyPage = page.getByRole('link', { name: presets.keyPage.replace('{{name}}', 'OpenRouter') });
      assert.equal(await keyPage.getAttribute('href'), 'https://openrouter.ai/settings/keys');

      await page
        .getByRole('textbox', { name: credentials.fields.api_key, exact: true })
        .fill('sk-of-the-lab-0123456789');
      await baseUrl.fill(`${upstream.url}/api/v1/chat/completions?x=1`);
      await page.getByRole('switch', { name: channels.private }).check({ force: true });
      await button(channels.saveAndTest).click();
      const refusal = page.getByRole('alert').filter({ hasText: channels.baseUrl });
      await refusal.waitFor();
      assert.doesNotMatch(
        (await refusal.textContent()) ?? '',
        /base_url|options\./,
        'the form speaks of its own fields',
      );
      await page.locator('input[aria-invalid=true]:focus').waitFor();
      assert.equal(await baseUrl.getAttribute('aria-invalid'), 'true', 'the error is at the field');
      await baseUrl.fill(`${upstream.url}/api/v1/chat/completions`);
      await button(channels.saveAndTest).click();
      await page.waitForURL(/\/admin\/channels\/\d+/);

      // The next step is shown below the result of the test.
      await page.getByRole('checkbox', { name: `${lab}/spare` }).uncheck();
      await button(suggest.add_other.replace('{{count}}', '2')).click();
      await page.getByText(suggest.added_other.replace('{{count}}', '2')).waitFor();
      await page.getByRole('link', { name: suggest.try }).waitFor();
      await page.getByRole('checkbox', { name: `${lab}/spare` }).waitFor();
      assert.equal(await page.getByRole('checkbox', { name: `${lab}/large` }).count(), 0);
      const all = page.getByRole('checkbox', { name: suggest.all_one.replace('{{count}}', '1') });
      assert.equal(await all.isChecked(), false);
      assert.match(String(await page.evaluate('document.activeElement.textContent')), new RegExp(suggest.try));
      await page.getByText(states.working, { exact: true }).first().waitFor();

      const id = Number(/\d+$/.exec(new URL(page.url()).pathname)?.[0]);
      const channel = await root.ok<{ models: string[]; base_url: string; unserved_models: string[] }>(
        'GET',
        `/api/admin/channels/${id}`,
      );
      assert.deepEqual(
        [channel.base_url, channel.models, channel.unserved_models],
        [`${upstream.url}/api/v1`, [`${lab}/large`, `${lab}/small`], []],
      );
      await root.ok('PUT', `/api/admin/users/${root.id}`, { quota_delta: 1_000_000, note: 'test' });
      const { key } = await root.ok<{ key: string }>('POST', '/api/tokens', { name: `of ${language}` });
      const answer = await callModelApi(fixture.running.url, key, 'POST', '/v1/chat/completions', {
        model: `${lab}/large`,
        messages: [{ role: 'user', content: 'hello' }],
      });
      assert.equal(answer.status, 200, JSON.stringify(answer.body));
      assert.equal(upstream.requests.at(-1)?.path, '/api/v1/chat/completions');
    });
  }

  it('causes no policy violation, error or request to another host', () => {
    assert.deepEqual(fixture.problems, { violations: [], dialogs: [], errors: [], foreignRequests: [] });
  });
});
