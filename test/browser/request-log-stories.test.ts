import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { PASSWORD, type TestUser } from '../accounts/test-user-client.ts';
import { type BrowserFixture, openBrowserFixture, signIn, waitForContent } from './browser-fixture.ts';
import { chromiumPath } from './chromium.ts';
import { inTurn, LANGUAGES, STRINGS } from './console-strings.ts';
import { ROOT } from './demo-data.ts';

const VIDEO = { model: 'kling-v1-6', prompt: 'A paper boat on a river' };

describe('the request log in Chromium', { skip: chromiumPath === undefined && !process.env.CI }, () => {
  let fixture: BrowserFixture;
  let maker: TestUser;
  before(async () => {
    fixture = await openBrowserFixture();
    const { root } = fixture.running;
    maker = await fixture.running.signUp('maker');
    await root.ok('PUT', `/api/admin/users/${maker.id}`, { quota_delta: 5_000_000, note: 'start' });
    for (const video of [VIDEO, { ...VIDEO, prompt: 'A clock melts [fail]' }])
      await maker.ok('POST', '/api/videos', video);
    await untilLogged(2);
  });
  after(() => fixture.stop());

  /** Waits until the log contains the given number of finished calls of the account. */
  const untilLogged = async (count: number): Promise<void> => {
    for (;;) {
      const { body } = await maker.send('GET', '/api/requests');
      if ((body.data as unknown[]).length >= count) return;
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
  };
  const rows = (page: Page) => page.locator('main tbody tr');

  const story = inTurn();
  for (const language of LANGUAGES) {
    const { requests, list } = STRINGS[language];

    story(language, 'filters by URL, exports the filtered rows, and opens a receipt whose lines add up', async () => {
      const page = await fixture.open({ language });
      await signIn(page, 'maker', PASSWORD, '/account/requests?status=ok');
      await waitForContent(page);
      assert.ok((await rows(page).count()) > 0);
      assert.equal(await rows(page).getByText(requests.statuses.failed, { exact: true }).count(), 0);

      const saved = page.waitForEvent('download');
      await page.getByRole('button', { name: list.export, exact: true }).click();
      const table = readFileSync(await (await saved).path(), 'utf8')
        .trim()
        .split('\r\n');
      assert.equal(table.length, 1 + (await rows(page).count()));

      await rows(page).first().getByRole('link').first().click();
      await page.waitForURL(/\/account\/receipts\/task_/);
      await page.getByRole('table', { name: requests.linesTitle }).getByText(requests.lines.per_unit).waitFor();
      await page.getByRole('heading', { name: requests.ledger }).waitFor();
      await page.goBack();
      assert.match(page.url(), /status=ok/);
      await page.context().close();
    });
  }

  it('shows calls without a reload as they finish, to the account and to an administrator who filters by name', async () => {
    const { requests, list } = STRINGS.en;
    const own = await fixture.open();
    await signIn(own, 'maker', PASSWORD, '/account/requests?live=true');
    const all = await fixture.open();
    await signIn(all, ROOT.username, ROOT.password, '/admin/requests?live=true');
    await all.getByRole('combobox', { name: list.user }).fill('mak');
    await all.getByRole('option', { name: 'maker' }).click();
    await all.waitForURL(new RegExp(`user_id=${maker.id}`));
    for (const page of [own, all]) {
      await waitForContent(page);
      await page.getByText(requests.liveHint_zero).waitFor();
    }
    await maker.ok('POST', '/api/videos', { ...VIDEO, model: 'viduq2', duration: 4 });
    for (const page of [own, all]) {
      await rows(page).first().getByText('Vidu q2').waitFor();
      await page.getByText('1 new call since you switched this on.').waitFor();
      await page.context().close();
    }
    assert.deepEqual(fixture.problems, { violations: [], dialogs: [], errors: [], foreignRequests: [] });
  });

  it('explains an empty result and a missing receipt', async () => {
    const { requests, list, app } = STRINGS.en;
    const page = await fixture.open();
    await signIn(page, 'maker', PASSWORD, '/account/requests?kind=embeddings&after=junk&page=2');
    await page.getByText(list.noMatch, { exact: true }).waitFor();
    await page.getByRole('button', { name: list.clear }).first().click();
    await rows(page).first().waitFor();
    await page.goto('/account/receipts/task_of_nobody');
    await page.getByRole('alert').waitFor();
    await page.getByRole('link', { name: requests.allRequests }).first().click();
    await page.getByRole('heading', { level: 1, name: app.pages.requests }).waitFor();
    await page.context().close();
  });
});
