import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { PASSWORD, type TestUser } from '../accounts/test-user-client.ts';
import { type BrowserFixture, openBrowserFixture, signIn, waitForContent } from './browser-fixture.ts';
import { chromiumPath } from './chromium.ts';
import { STRINGS } from './console-strings.ts';
import { ROOT } from './demo-data.ts';

const PROMPT = 'A paper boat on a river at dawn';

describe('names in the administration in Chromium', { skip: chromiumPath === undefined && !process.env.CI }, () => {
  let fixture: BrowserFixture;
  let maker: TestUser;
  let page: Page;
  before(async () => {
    fixture = await openBrowserFixture();
    const { root } = fixture.running;
    maker = await fixture.running.signUp('maker');
    await root.ok('PUT', `/api/admin/users/${maker.id}`, { quota_delta: 5_000_000, note: 'start' });
    await maker.ok('POST', '/api/videos', { model: 'kling-v1-6', prompt: PROMPT });
    await untilSettled(maker);
    page = await fixture.open();
    await signIn(page, ROOT.username, ROOT.password);
  });
  after(() => fixture.stop());

  const { admin, adminPlans, audit, list } = STRINGS.en;
  const open = async (path: string): Promise<void> => {
    await page.goto(path);
    await waitForContent(page);
  };

  it('filters videos by user and prompt, and names them by their prompt', async () => {
    await open('/admin/tasks');
    await page.getByRole('combobox', { name: list.user }).fill('mak');
    await page.getByRole('option', { name: 'maker' }).click();
    await page.waitForURL(new RegExp(`user_id=${maker.id}`));
    await page.getByRole('textbox', { name: admin.tasks.search }).fill('boat dawn');
    await page.waitForURL(/q=boat/);
    await page.getByRole('link', { name: PROMPT }).waitFor();
  });

  it('shows a call as one row of the ledger, which opens to its entries', async () => {
    await open(`/admin/ledger?user_id=${maker.id}`);
    const row = page.locator('main tbody tr').filter({ hasText: PROMPT });
    assert.equal(await row.count(), 1);
    assert.equal(await row.getByText(admin.ledger.kinds.reserve).isVisible(), false);
    await row.getByText(admin.ledger.charged).click();
    await row.getByText(admin.ledger.kinds.reserve).waitFor();
    // The entry of the settlement is the difference to what was reserved, here nothing.
    await row.getByText(STRINGS.en.requests.settlements.same, { exact: true }).waitFor();
    await page.getByText(admin.ledger.causes.admin).waitFor();
    await page.getByText(admin.ledger.views.entries).click();
    await page.waitForURL(/entries=true/);
    await page.locator('main tbody tr').nth(2).waitFor();
    assert.equal(await page.locator('main tbody tr').count(), 3);
  });

  it('finds the entries of a video by its prompt', async () => {
    await open('/admin/ledger');
    await page.getByRole('combobox', { name: list.video }).fill('paper boat');
    await page.getByRole('option', { name: PROMPT }).click();
    await page.waitForURL(/task_id=/);
    await page.locator('main tbody tr').filter({ hasText: PROMPT }).waitFor();
  });

  it('tells changes in words, with the name of what changed', async () => {
    const { root } = fixture.running;
    const [channel] = await root.ok<{ id: number; name: string }[]>('GET', '/api/admin/channels');
    assert.ok(channel);
    await root.ok('PUT', `/api/admin/channels/${channel.id}`, { priority: 7 });
    await open('/admin/audit');
    const row = page.locator('main tbody tr').first();
    assert.equal(await row.getByText(audit.targets.channel.replace('{{id}}', channel.name)).count(), 1);
    await row.getByText(`${audit.fields.priority}: 0 → 7`).waitFor();
  });

  it('says what was charged for a video, and what was returned', async () => {
    await open(`/admin/tasks?user_id=${maker.id}`);
    await page.getByRole('link', { name: PROMPT }).click();
    const charges = page.getByRole('table', { name: admin.tasks.money });
    await charges.getByText(STRINGS.en.requests.settlements.same, { exact: true }).waitFor();
    await page.getByText(admin.tasks.paid.replace('{{amount}}', '0.28 credits'), { exact: true }).waitFor();
  });

  it('names webhooks, share links and device clients in the audit log, also deleted ones', async () => {
    const [task] = await maker.ok<{ task_id: string }[]>('GET', '/api/videos');
    assert.ok(task);
    const share = await maker.ok<{ id: number }>('POST', `/api/videos/${task.task_id}/shares`, {});
    await maker.ok('DELETE', `/api/videos/${task.task_id}/shares/${share.id}`);
    const { id } = await maker.ok<{ id: number }>('POST', '/api/webhooks', { url: 'https://hooks.example.com/secret' });
    const named = { url: 'https://hooks.example.com/other', description: 'Render farm' };
    const other = await maker.ok<{ id: number }>('POST', '/api/webhooks', named);
    await maker.ok('DELETE', `/api/webhooks/${other.id}`);
    await open('/admin/audit');
    const targets = page.locator('main tbody tr').locator('td:nth-child(2)');
    const { webhook, share: link } = audit.targets;
    assert.deepEqual((await targets.allInnerTexts()).slice(0, 5), [
      webhook.replace('{{id}}', 'Render farm'),
      webhook.replace('{{id}}', 'Render farm'),
      webhook.replace('{{id}}', 'hooks.example.com'),
      link.replace('{{id}}', PROMPT),
      link.replace('{{id}}', PROMPT),
    ]);
    await maker.ok('DELETE', `/api/webhooks/${id}`);
  });

  it('tells what was created or answered without ids and bare numbers', async () => {
    const { root } = fixture.running;
    const { id } = await maker.ok<{ id: number }>('POST', '/api/tickets', { title: 'Credits', content: 'How many?' });
    await root.ok('POST', `/api/admin/tickets/${id}/replies`, { content: 'Two.' });
    const plan = { package_code: 'pro', name: 'Pro', level: 1, price_amount: 29, duration_days: 30 };
    await root.ok('POST', '/api/admin/package-cards', {
      ...plan,
      refresh_interval_seconds: 3_600,
      interval_quota: 500_000,
    });
    await root.ok('POST', '/api/admin/redemption-codes', { package_code: 'pro', count: 2 });
    await open('/admin/audit');
    const changes = page.locator('main tbody tr').locator('td:nth-child(3)');
    const [codes, , reply] = await changes.allInnerTexts();
    assert.equal(codes, `${audit.fields.package_code}: Pro; ${audit.fields.count}: 2`);
    assert.equal(reply, `${audit.fields.content}: Two.; ${audit.fields.internal}: ${audit.no}`);
    await changes.nth(1).getByRole('button').click();
    const dialog = page.getByRole('dialog');
    for (const text of ['29.00 credits', '1.00 credits', '30 days', '1 h'])
      await dialog.getByText(text, { exact: true }).waitFor();
    assert.equal(await dialog.getByText(audit.fields.weekly_quota_limit).count(), 0);
    await page.keyboard.press('Escape');
  });

  it('filters codes by the name of their batch', async () => {
    await fixture.running.root.ok('POST', '/api/admin/redemption-codes', { quota: 500_000, count: 1, note: 'Spring' });
    await open('/admin/codes');
    await page.getByRole('combobox', { name: adminPlans.codes.batch }).click();
    await page.getByRole('option', { name: /^Pro · 2 codes · / }).click();
    await page.waitForURL(/batch_id=1$/);
    await page.getByText('2 entries').waitFor();
    await page.getByRole('button', { name: adminPlans.codes.voidBatch }).click();
    await page.getByRole('dialog', { name: /“Pro · 2 codes · / }).waitFor();
    await page.keyboard.press('Escape');
  });

  it('finds changes by the name of what changed, and shows amounts and switches in words', async () => {
    await fixture.running.root.ok('PUT', `/api/admin/users/${maker.id}`, { quota_delta: 1_000_000, note: 'gift' });
    await open('/admin/audit');
    await page.getByRole('combobox', { name: audit.target }).fill('mak');
    await page.getByRole('option', { name: audit.targets.user.replace('{{id}}', 'maker') }).click();
    await page.waitForURL(/target=user/);
    await page.locator('main tbody tr').first().getByRole('button').click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('2.00 credits').waitFor();
    assert.equal(await dialog.getByText('1000000').count(), 0);
    await page.keyboard.press('Escape');
  });

  it('names the video of a ticket by its prompt', async () => {
    const { body } = await maker.send('GET', '/api/videos');
    const [{ task_id: taskId } = { task_id: '' }] = body.data as { task_id: string }[];
    const ticket = { title: 'Flicker', content: 'The boat flickers.', category: 'video', task_id: taskId };
    const { id } = await maker.ok<{ id: number }>('POST', '/api/tickets', ticket);
    await open('/admin/tickets');
    await page.getByRole('combobox', { name: STRINGS.en.support.admin.category }).click();
    await page.getByRole('option', { name: STRINGS.en.support.categories.video }).click();
    await page.waitForURL(/category=video/);
    await page.getByRole('link', { name: ticket.title }).waitFor();
    await open(`/admin/tickets/${id}`);
    await page.getByRole('link', { name: PROMPT }).waitFor();
    const own = await fixture.open();
    await signIn(own, 'maker', PASSWORD, `/tickets/${id}`);
    await own.getByRole('link', { name: STRINGS.en.support.aboutTask.replace('{{task}}', PROMPT) }).waitFor();
    await own.context().close();
  });

  it('builds the condition of a price line from facts and values', async () => {
    const models = STRINGS.en.adminModels.price;
    const named = (text: string, fact: string): string => text.replace('{{fact}}', fact).replace('{{place}}', '1');
    await open('/admin/models/kling-v1-6');
    await page.getByRole('button', { name: models.addConditionTo.replace('{{place}}', '1') }).click();
    const values = page.getByRole('combobox', { name: named(models.valuesOf, models.facts.seconds) });
    await page.getByText(models.valueMissing).waitFor();
    assert.equal(await page.getByRole('button', { name: STRINGS.en.app.save, exact: true }).isDisabled(), true);
    await values.fill('5');
    await values.press('Enter');
    await page.getByRole('button', { name: STRINGS.en.app.save, exact: true }).click();
    await page.getByText(STRINGS.en.app.saved, { exact: true }).waitFor();
    const { price } = await fixture.running.root.ok<{ price: { lines: { when: object }[] } }>(
      'GET',
      '/api/admin/models/kling-v1-6',
    );
    assert.deepEqual(price.lines[0]?.when, { mode: ['std'], seconds: [5] });
    assert.deepEqual(fixture.problems, { violations: [], dialogs: [], errors: [], foreignRequests: [] });
  });
});

async function untilSettled(person: TestUser): Promise<void> {
  for (;;) {
    const { body } = await person.send('GET', '/api/requests');
    if ((body.data as unknown[]).length > 0) return;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}
