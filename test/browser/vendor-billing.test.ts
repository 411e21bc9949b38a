import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { inAnHour, setJobDue } from '../requests/set-job-due.ts';
import { type BrowserFixture, openBrowserFixture, signIn, waitForContent } from './browser-fixture.ts';
import { chromiumPath } from './chromium.ts';
import { STRINGS } from './console-strings.ts';
import { ROOT } from './demo-data.ts';

interface Channel {
  readonly id: number;
  readonly name: string;
  readonly vendor: string;
  readonly base_url: string;
}

describe('reconciliation in Chromium', { skip: chromiumPath === undefined && !process.env.CI }, () => {
  let fixture: BrowserFixture;
  let channels: readonly Channel[];
  before(async () => {
    fixture = await openBrowserFixture();
    const { app, root } = fixture.running;
    await setJobDue(app.database.kysely, 'reconciliation', inAnHour());
    await root.ok('PUT', `/api/admin/users/${root.id}`, { quota_delta: 50_000_000, note: 'start' });
    channels = await root.ok<Channel[]>('GET', '/api/admin/channels');
  });
  after(() => fixture.stop());

  const channelOf = (vendor: string): Channel => {
    const found = channels.find((channel) => channel.vendor === vendor);
    assert.ok(found !== undefined, `the demonstration has a channel of ${vendor}`);
    return found;
  };
  const openPage = async (language: keyof typeof STRINGS): Promise<Page> => {
    const page = await fixture.open({ language });
    await signIn(page, ROOT.username, ROOT.password, '/admin/reconciliation');
    await waitForContent(page);
    return page;
  };
  /** Submits a video and waits until it has finished. */
  const makeVideo = async (model: string): Promise<void> => {
    const { root } = fixture.running;
    await root.ok('POST', '/api/videos', { model, prompt: 'herons', duration: 5 });
    for (let tries = 0; tries < 600; tries++) {
      const rows = await root.ok<{ status: string }[]>('GET', '/api/videos');
      if (rows.every(({ status }) => status === 'SUCCESS')) return;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    assert.fail('the video did not end');
  };

  for (const [language, vendor, model] of [
    ['en', 'vidu', 'viduq2'],
    ['zh-cn', 'kling', 'kling-v2-6'],
  ] as const) {
    const { app, list, reconciliation } = STRINGS[language];

    it(`reads an account twice and shows settled and billed amounts side by side (${language})`, async () => {
      const { id, name } = channelOf(vendor);
      const page = await openPage(language);
      const account = page
        .getByRole('table', { name: reconciliation.accounts })
        .getByRole('row')
        .filter({ hasText: name });
      await account.getByText(reconciliation.never, { exact: true }).waitFor();
      await account.getByText(reconciliation.tooFew, { exact: true }).waitFor();
      const readNow = page.getByRole('button', {
        name: reconciliation.readNowOf.replace('{{name}}', name),
        exact: true,
      });
      const readings = page
        .getByRole('table', { name: reconciliation.readings })
        .locator('tbody')
        .getByRole('row')
        .filter({ hasText: name });
      await readNow.click();
      await page.getByText(reconciliation.wasRead.replace('{{name}}', name)).waitFor();
      await readings.first().getByText(reconciliation.first, { exact: true }).waitFor();
      await account.getByText(reconciliation.never, { exact: true }).waitFor({ state: 'detached' });

      await makeVideo(model);
      await readNow.click();
      await readings.nth(1).waitFor();
      assert.equal(await readings.first().getByText(reconciliation.first, { exact: true }).count(), 0);
      const cells = await readings.first().getByRole('cell').allTextContents();
      const [, channel, videos, settled, billed, difference] = cells;
      assert.deepEqual([channel, videos], [name, '1']);
      const unit = `(?:${Object.values(reconciliation.vendorUnits).join('|')})`;
      assert.match(settled ?? '', new RegExp(`^[1-9][\\d.]* ${unit}$`));
      assert.equal(billed, settled);
      assert.match(difference ?? '', new RegExp(`^0 ${unit}$`));

      await page.getByRole('combobox', { name: reconciliation.by }).click();
      await page.getByRole('option', { name: reconciliation.byDay, exact: true }).click();
      await page.waitForURL(/by=day/);
      await page.goto(`/admin/reconciliation?by=day&channel_id=${id}`);
      await waitForContent(page);
      assert.ok((await readings.count()) >= 1);
      await page.goto('/admin/reconciliation?channel_id=999');
      await page.getByText(list.noMatch, { exact: true }).waitFor();
      await page.getByRole('heading', { name: app.pages.reconciliation }).first().waitFor();
      await page.context().close();
    });
  }

  it('shows why an account could not be read', async () => {
    const { reconciliation } = STRINGS.en;
    const { base_url } = channelOf('vidu');
    await fixture.running.root.ok('POST', '/api/admin/channels', {
      name: 'locked account',
      vendor: 'vidu',
      base_url,
      credentials: { api_key: 'wrong' },
      models: ['viduq1'],
      options: { private: true },
    });
    const page = await openPage('en');
    await page.getByRole('button', { name: 'Read now: account of locked account', exact: true }).click();
    const account = page
      .getByRole('table', { name: reconciliation.accounts })
      .getByRole('row', { name: /locked account/ });
    await account.getByText(`${reconciliation.failed}:`).waitFor();
    await account.getByRole('link', { name: 'locked account' }).click();
    await page.waitForURL(/\/admin\/channels\/\d+$/);
    await page.context().close();
    assert.deepEqual(fixture.problems, { violations: [], dialogs: [], errors: [], foreignRequests: [] });
  });
});
