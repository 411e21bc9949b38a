import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe } from 'node:test';
import type { Page } from 'playwright-core';
import { JOB_TIMINGS } from '../../src/sandbox/jobs.ts';
import { startSandbox } from '../../src/sandbox/sandbox.ts';
import { kling } from '../../src/sandbox/vendors/kling.ts';
import { openBrowserFixture, signInOnPage, waitForContent } from './browser-fixture.ts';
import { chromiumPath } from './chromium.ts';
import { inCredits, inTurn, LANGUAGES, STRINGS } from './console-strings.ts';
import { ROOT } from './demo-data.ts';

const MODEL = 'kling-v3';
const PROMPT = 'A paper boat drifts down a rainy street';

describe('from an empty installation to a downloaded video', {
  skip: chromiumPath === undefined && !process.env.CI,
}, () => {
  const story = inTurn();
  for (const language of LANGUAGES)
    story(language, 'guides the first administrator: channel, credits, video, download', async () => {
      const { admin, adminChannels, requests, studio } = STRINGS[language];
      const vendor = await startSandbox({ simulators: [kling], timing: JOB_TIMINGS.interactive });
      const fixture = await openBrowserFixture({ SANDBOX: '' });
      const page = await fixture.open({ language });
      const button = (name: string) => page.getByRole('button', { name, exact: true });
      const step = async (name: string): Promise<void> => {
        await page.goto('/admin/overview');
        await page.getByRole('link', { name, exact: true }).click();
      };
      try {
        await signInOnPage(page, ROOT.username, ROOT.password);
        await step(admin.gettingStarted.channelAction);
        await page.waitForURL('**/admin/channels/new');
        await addChannel(page, language, vendor.url('kling'), vendor.credentials('kling'));
        await page.waitForURL(/\/admin\/channels\/\d+/);
        await page.getByText(adminChannels.test.checkPrices).waitFor();

        await step(admin.gettingStarted.creditsAction);
        await button(admin.users.changeBalance).click();
        await page.getByRole('textbox', { name: admin.users.credits }).fill('10');
        await page.getByRole('dialog').getByRole('button', { name: admin.users.add, exact: true }).click();
        await page.getByRole('dialog').waitFor({ state: 'detached' });
        await page.getByText(inCredits('10.00', language)).first().waitFor();

        await step(admin.gettingStarted.videoAction);
        await page.getByRole('button', { name: new RegExp(`^${studio.model}`) }).click();
        await page.getByRole('textbox', { name: studio.modelSearch }).fill(MODEL);
        await page.getByRole('dialog').getByRole('option').first().click();
        await page.getByRole('textbox', { name: studio.prompt, exact: true }).fill(PROMPT);
        await page.getByRole('button', { name: studio.run }).click();
        await page.getByText(studio.stage.SUCCESS, { exact: true }).waitFor();
        const [download] = await Promise.all([
          page.waitForEvent('download'),
          page.getByRole('button', { name: studio.download }).first().click(),
        ]);
        const file = readFileSync(await download.path());
        assert.equal(file.subarray(4, 8).toString(), 'ftyp');
        assert.equal(download.suggestedFilename(), 'a-paper-boat-drifts-down-a-rainy-street.mp4');

        // The admin page shows the same video, with its channel and cost.
        await page.goto('/admin/tasks');
        await waitForContent(page);
        assert.equal(await page.getByText(admin.gettingStarted.title).count(), 0);
        await page.getByRole('link', { name: PROMPT }).click();
        await page.getByText(admin.tasks.events.succeeded, { exact: true }).last().waitFor();
        await page.getByText(requests.settlements.same, { exact: true }).waitFor();
        assert.deepEqual(fixture.problems, { violations: [], dialogs: [], errors: [], foreignRequests: [] });
      } finally {
        await fixture.stop();
        await vendor.stop();
      }
    });
});

async function addChannel(
  page: Page,
  language: keyof typeof STRINGS,
  url: string,
  keys: Readonly<Record<string, unknown>>,
): Promise<void> {
  const { channels, credentials } = STRINGS[language].adminChannels;
  for (const name of ['access_key', 'secret_key'] as const)
    await page.getByRole('textbox', { name: credentials.fields[name] }).fill(String(keys[name]));
  await page.getByRole('button', { name: channels.advanced }).click();
  await page.getByLabel(channels.baseUrl).fill(url);
  await page.getByRole('switch', { name: channels.private }).check({ force: true });
  await page.getByRole('button', { name: channels.saveAndTest }).click();
}
