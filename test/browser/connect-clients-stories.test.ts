import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { CLIENTS } from '../../src/console/pages/account/connect-clients/clients.ts';
import { PASSWORD } from '../accounts/test-user-client.ts';
import { type BrowserFixture, openBrowserFixture, signIn, waitForContent } from './browser-fixture.ts';
import { chromiumPath } from './chromium.ts';
import { STRINGS } from './console-strings.ts';
import { assertAccessible } from './find-accessibility-issues.ts';

/** Clients with a URL scheme for adding a provider. */
const DEEP_LINKS: Readonly<Record<string, string>> = {
  cherryStudio: 'cherrystudio://providers/api-keys?',
  chatbox: 'chatbox://provider/import?',
};

describe('from an API key to the first call, in Chromium', {
  skip: chromiumPath === undefined && !process.env.CI,
}, () => {
  let fixture: BrowserFixture;
  before(async () => {
    fixture = await openBrowserFixture();
  });
  after(() => fixture.stop());

  for (const [language, width] of [
    ['en', 1280],
    ['zh-cn', 390],
  ] as const) {
    it(`shows every client with the key filled in, and reports the first call (${language}, ${width} px)`, async () => {
      const { account, connect } = STRINGS[language];
      const username = `maker-${language}`;
      await fixture.running.signUp(username);
      const page = await fixture.open({ language, width });
      await signIn(page, username, PASSWORD, '/account/tokens');
      await waitForContent(page);
      await page.getByRole('button', { name: account.apiKeys.make }).first().click();
      const dialog = page.getByRole('dialog');
      await dialog.getByLabel(account.apiKeys.name).first().fill('first');
      assert.equal(await dialog.getByLabel(account.apiKeys.limit).count(), 0, 'limits are behind a button');
      await dialog.getByRole('button', { name: account.apiKeys.make }).click();
      await dialog.getByText(connect.copyNow).waitFor();
      const key = ((await dialog.getByRole('alert').locator('code').textContent()) ?? '').trim();
      assert.match(key, /^sk-/);

      for (const { id, title } of CLIENTS) {
        if (width < 768) await dialog.getByLabel(connect.client).first().selectOption({ value: id });
        else await dialog.getByRole('tab', { name: title, exact: true }).click();
        const panel = dialog.getByRole('tabpanel');
        await panel.getByText(connect.hints[id]).waitFor();
        assert.ok((await panel.textContent())?.includes(key), title);
      }
      if (width >= 768)
        for (const { id, title } of CLIENTS) {
          await dialog.getByRole('tab', { name: title, exact: true }).click();
          const open = dialog.getByRole('link', { name: connect.openIn.replace('{{client}}', title) });
          const scheme = DEEP_LINKS[id];
          assert.equal(await open.count(), scheme === undefined ? 0 : 1, title);
          if (scheme !== undefined) assert.ok((await open.getAttribute('href'))?.startsWith(scheme), title);
        }
      await assertAccessible(page, 'connect');
      assert.equal(await page.evaluate('document.documentElement.scrollWidth > innerWidth'), false, 'no overflow');

      await dialog.getByRole('button', { name: connect.test }).click();
      await dialog.getByText(connect.waiting).waitFor();
      const url = `${fixture.running.url}/v1/models`;
      assert.equal((await fetch(url, { headers: { authorization: `Bearer ${key}` } })).status, 200);
      await dialog.getByText(connect.came.split('{{')[0] ?? '').waitFor({ timeout: 60_000 });
      await page.context().close();
    });
  }
});
