import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { type ScriptedUpstream, startScriptedUpstream } from '../chat/scripted-upstream.ts';
import { type BrowserFixture, openBrowserFixture, signIn } from './browser-fixture.ts';
import { chromiumPath } from './chromium.ts';
import { inTurn, LANGUAGES, STRINGS } from './console-strings.ts';
import { ROOT } from './demo-data.ts';

const keyOf = (name: string): string => `sk-secret-of-account-${name}`;

describe('the credentials of a channel in Chromium', { skip: chromiumPath === undefined && !process.env.CI }, () => {
  let fixture: BrowserFixture;
  let upstream: ScriptedUpstream;
  /** Keys the simulated upstream refuses. */
  const refused = new Set<string>();
  before(async () => {
    upstream = await startScriptedUpstream();
    upstream.respondWith((response, { headers }) => {
      const key = (headers.authorization ?? '').replace('Bearer ', '');
      response.writeHead(refused.has(key) ? 401 : 200, { 'content-type': 'application/json' });
      const error = { error: { code: 'invalid_api_key', message: 'no such key' } };
      response.end(JSON.stringify(refused.has(key) ? error : { object: 'list', data: [{ id: 'model-of-pool' }] }));
    });
    fixture = await openBrowserFixture();
  });
  after(async () => {
    await fixture.stop();
    await upstream.stop();
  });

  const story = inTurn();
  for (const language of LANGUAGES) {
    const { adminChannels, app } = STRINGS[language];
    const { credentials, reasons, states, test } = adminChannels;
    const named = (text: string, name: string): string => text.replace('{{name}}', name);
    const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });

    story(language, 'are added, tested, rotated, disabled and removed, and never shown', async () => {
      const { id } = await fixture.running.root.ok<{ id: number }>('POST', '/api/admin/channels', {
        name: `Pool ${language}`,
        vendor: 'openai',
        base_url: upstream.url,
        credentials: { api_key: keyOf('one') },
        models: ['model-of-pool'],
        options: { private: true },
      });
      const page = await fixture.open({ language });
      await signIn(page, ROOT.username, ROOT.password, `/admin/channels/${id}`);
      const table = page.getByRole('table', { name: credentials.title, exact: true });
      const row = (name: string) => table.getByRole('row').filter({ hasText: name });
      await row('#1').waitFor();
      assert.equal(await button(page, credentials.remove).count(), 0, 'the only one stays');

      const more = page.getByLabel(credentials.more);
      await more.fill(`${keyOf('two')}\nkey with blanks`);
      await button(page, credentials.add).click();
      await page.getByText(credentials.badLine.replace('{{line}}', '2')).waitFor();
      await more.fill(`${keyOf('two')}\n${keyOf('three')}`);
      await button(page, credentials.add).click();
      await row('#3').waitFor();
      assert.equal(await table.getByRole('row').count(), 3);

      refused.add(keyOf('two'));
      await button(page, named(credentials.testOf, '#2')).click();
      await row('#2').getByText(reasons.auth).waitFor();
      assert.equal(await row('#1').getByText(reasons.auth).count(), 0, 'the others have a health of their own');

      await button(page, named(credentials.changeOf, '#2')).click();
      const dialog = page.getByRole('dialog');
      await dialog.getByLabel(credentials.name, { exact: true }).fill('spare');
      await dialog.getByLabel(credentials.fields.api_key).fill(keyOf('new'));
      await dialog.getByRole('button', { name: app.save, exact: true }).click();
      await row('spare').waitFor();
      await button(page, named(credentials.testOf, 'spare')).click();
      await page.getByText(`spare: ${test.works.split('{{ms}}')[0]}`).waitFor();
      await row('spare').getByText(states.working).waitFor();
      assert.equal(upstream.requests.at(-1)?.headers.authorization, `Bearer ${keyOf('new')}`);

      // The track covers the switch itself.
      await row('#3').locator('.mantine-Switch-track').click();
      await row('#3').getByText(states.off).waitFor();

      await row('#3').getByRole('button', { name: credentials.remove, exact: true }).click();
      await page.getByText(named(credentials.removeTitle, '#3')).waitFor();
      await page.getByRole('dialog').getByRole('button', { name: credentials.remove, exact: true }).click();
      await page.getByText(named(credentials.removed, '#3')).waitFor();
      await row('#3').waitFor({ state: 'detached' });

      const other = { name: 'other', credentials: { api_key: keyOf('other') } };
      await fixture.running.root.ok('PUT', `/api/admin/channels/${id}`, {
        credential_list: [{ id: 1 }, { id: 2 }, other],
      });
      await row('#1').locator('.mantine-Switch-track').click();
      await row('other').waitFor();
      await row('#1').getByText(states.off).waitFor();

      await page.reload();
      await row('spare').waitFor();
      assert.equal(await table.getByRole('row').count(), 3);
      assert.doesNotMatch(await page.content(), /secret-of-account/);
      const stored = await fixture.running.root.ok<{ credential_list: { id: number; name: string }[] }>(
        'GET',
        `/api/admin/channels/${id}`,
      );
      assert.deepEqual(
        stored.credential_list.map(({ id: own, name }) => [own, name]),
        [
          [1, ''],
          [2, 'spare'],
          [4, 'other'],
        ],
        'also one that another administrator added meanwhile',
      );
    });
  }

  it('cause no policy violation, error or request to another host', () => {
    assert.deepEqual(fixture.problems, { violations: [], dialogs: [], errors: [], foreignRequests: [] });
  });
});
