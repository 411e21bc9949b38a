import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { PASSWORD, type TestUser } from '../accounts/test-user-client.ts';
import { callModelApi } from '../call-model-api.ts';
import { authenticate, type BrowserFixture, openBrowserFixture, signIn, waitForContent } from './browser-fixture.ts';
import { chromiumPath } from './chromium.ts';
import { inTurn, LANGUAGES, STRINGS } from './console-strings.ts';
import { ROOT } from './demo-data.ts';
import { usageOfUsers } from './usage-of-users.ts';

describe('costs and budgets in Chromium', { skip: chromiumPath === undefined && !process.env.CI }, () => {
  let fixture: BrowserFixture;
  let spender: TestUser;
  before(async () => {
    fixture = await openBrowserFixture();
    const { root } = fixture.running;
    spender = await fixture.running.signUp('spender');
    await root.ok('PUT', `/api/admin/users/${spender.id}`, { quota_delta: 5_000_000, note: 'start' });
    for (const model of ['kling-v1-6', 'viduq2'])
      await spender.ok('POST', '/api/videos', { model, prompt: 'A paper boat', duration: model === 'viduq2' ? 4 : 5 });
    while ((await spender.ok<{ rows: unknown[] }>('GET', '/api/usage?by=model')).rows.length < 2)
      await new Promise((resolve) => setTimeout(resolve, 200));
  });
  after(() => fixture.stop());

  const story = inTurn('zh-cn');
  for (const language of LANGUAGES) {
    const { costs } = STRINGS[language];

    story(language, 'filters own costs by URL, sorts and exports them, and sets and removes a budget', async () => {
      const page = await fixture.open({ language });
      await signIn(page, 'spender', PASSWORD, '/account/overview?days=7');
      await waitForContent(page);
      const table = page.getByRole('table', { name: costs.groups.model });
      const firstName = () => table.locator('tbody tr').first().getByRole('link').textContent();
      const dearest = await firstName();
      await table.getByRole('button', { name: costs.cost }).click();
      await table.getByRole('button', { name: costs.cost }).click();
      assert.notEqual(await firstName(), dearest);
      assert.match(page.url(), /days=7.*sort=cost/);

      const saved = page.waitForEvent('download');
      await page.getByRole('button', { name: costs.export }).click();
      assert.equal(
        readFileSync(await (await saved).path(), 'utf8')
          .trim()
          .split('\n').length,
        3,
      );

      await page.getByRole('button', { name: costs.budget.add }).click();
      await page.getByLabel(costs.budget.amount).fill('10');
      await page.getByRole('button', { name: costs.budget.save }).click();
      await page.getByRole('progressbar', { name: new RegExp(costs.budget.account) }).waitFor();
      await page.getByRole('button', { name: costs.budget.change }).click();
      await page.getByRole('button', { name: costs.budget.remove }).click();
      await page.getByText(costs.budget.none).waitFor();

      await page.goto('/account/tokens/999999');
      await page.getByText(/No such token|不存在/).waitFor();
      await page.context().close();
    });
  }

  it('renders fifty of ten thousand groups, and fifty more on request', async () => {
    const { costs, app } = STRINGS.en;
    const page = await fixture.open();
    await authenticate(page, ROOT.username, ROOT.password);
    await page.route(
      ({ pathname }) => pathname === '/api/admin/usage',
      (route) => route.fulfill({ json: usageOfUsers(10_000) }),
    );
    await page.goto('/admin/costs?by=user');
    const rows = page.getByRole('table', { name: costs.groups.user }).locator('tbody tr');
    await rows.nth(49).waitFor();
    assert.equal(await rows.count(), 50);
    await page.getByRole('button', { name: app.more }).click();
    await rows.nth(99).waitFor();
    assert.equal(await rows.count(), 100);
    await page.context().close();
  });

  it('sums each group over all days, whatever number of rows the chart gets', async () => {
    const { costs } = STRINGS.en;
    const page = await fixture.open();
    await authenticate(page, ROOT.username, ROOT.password);
    await page.route(
      ({ pathname }) => pathname === '/api/admin/usage',
      (route) => {
        const all = usageOfUsers(2);
        const isByDay = new URL(route.request().url()).searchParams.get('by')?.startsWith('day');
        const rows = isByDay ? all.data.rows.slice(0, 1) : all.data.rows;
        return route.fulfill({ json: { ...all, data: { ...all.data, rows } } });
      },
    );
    await page.goto('/admin/costs?by=user');
    const rows = page.getByRole('table', { name: costs.groups.user }).locator('tbody tr');
    await rows.nth(1).waitFor();
    const calls = await rows.evaluateAll((all) => all.map((row) => row.querySelectorAll('td')[1]?.textContent));
    assert.deepEqual(calls, ['3', '3']);
    await page.context().close();
  });

  it('names a revoked key', async () => {
    const { costs } = STRINGS.en;
    const key = await spender.ok<{ id: number; key: string }>('POST', '/api/tokens', { name: 'holiday film' });
    const body = { model: 'viduq2', prompt: 'A paper boat', seconds: '4' };
    const { status } = await callModelApi(fixture.running.url, key.key, 'POST', '/v1/videos', body);
    assert.equal(status, 200);
    const usagePath = `/api/usage?by=token&token_id=${key.id}`;
    while ((await spender.ok<{ rows: unknown[] }>('GET', usagePath)).rows.length === 0)
      await new Promise((resolve) => setTimeout(resolve, 200));
    await spender.ok('DELETE', `/api/tokens/${key.id}`);
    const page = await fixture.open();
    await signIn(page, 'spender', PASSWORD, '/account/overview?by=token');
    await page
      .getByRole('table', { name: costs.groups.token })
      .getByRole('link', { name: 'holiday film', exact: true })
      .waitFor();
    await page.context().close();
  });

  it('shows an administrator the cost of each channel and user, and the calls behind it', async () => {
    const { costs, app } = STRINGS.en;
    const page = await fixture.open();
    await signIn(page, ROOT.username, ROOT.password, '/admin/costs?by=user');
    await page.getByRole('link', { name: 'spender' }).first().waitFor();
    await page.goto('/admin/costs?by=channel&from=junk');
    await page.getByRole('table', { name: costs.groups.channel }).getByRole('link', { name: /vidu/ }).click();
    await page.getByRole('heading', { level: 1, name: app.pages.requests }).waitFor();
    assert.match(page.url(), /channel_id=\d+/);
    await page.locator('main tbody tr').getByText('Vidu q2', { exact: true }).first().waitFor();
    assert.equal(await page.locator('main tbody tr').getByText('Kling 1.6').count(), 0);
    await page.context().close();
    assert.deepEqual(fixture.problems, { violations: [], dialogs: [], errors: [], foreignRequests: [] });
  });
});
