import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import organizations from '../../src/console/strings/en/organizations.ts';
import { PASSWORD, type TestUser } from '../accounts/test-user-client.ts';
import { assertLedgerConsistent } from '../faults/ledger-assertions.ts';
import { authenticate, type BrowserFixture, openBrowserFixture, signIn, waitForContent } from './browser-fixture.ts';
import { chromiumPath } from './chromium.ts';
import { STRINGS } from './console-strings.ts';
import { assertAccessible } from './find-accessibility-issues.ts';

const { batches } = STRINGS.en;
const ROWS = 300;
const IN_STUDIO = { 'x-organization': 'studio' };
const PAGES = '/api/organizations/studio';
/** Folder for screenshots; undefined: none are taken. */
const SCREENSHOTS = process.env.STORY_SCREENSHOTS;

async function show(page: Page, name: string): Promise<void> {
  if (SCREENSHOTS === undefined) return;
  for (const width of [1440, 390]) {
    await page.setViewportSize({ width, height: 900 });
    await page.waitForTimeout(300);
    await page.screenshot({ path: join(SCREENSHOTS, `${name}-${width}.png`), fullPage: true });
  }
  await page.setViewportSize({ width: 1280, height: 860 });
}

describe('a studio of six people', { skip: chromiumPath === undefined && !process.env.CI }, () => {
  let fixture: BrowserFixture;
  let folder: string;
  const people = {} as Record<'olga' | 'adam' | 'mia' | 'max' | 'kai' | 'zoe', TestUser>;
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'reelgate-studio-'));
    fixture = await openBrowserFixture({ ARTIFACTS: 'disk', ARTIFACTS_DIR: folder, ARTIFACTS_MIN_FREE_GB: '0' });
    for (const name of ['olga', 'adam', 'mia', 'max', 'kai', 'zoe'] as const)
      people[name] = await fixture.running.signUp(name);
  });
  after(async () => {
    await fixture.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  /** Signs a person in and lets them work for the studio. */
  async function openAs(name: keyof typeof people, invitation: string): Promise<Page> {
    const page = await fixture.open();
    await signIn(page, name, PASSWORD, invitation);
    await page.getByRole('button', { name: organizations.accept }).click();
    await page.getByRole('button', { name: organizations.workHere }).click();
    await page.waitForURL(/\/studio/);
    return page;
  }

  const invite = async (role: string, more: object = {}) =>
    new URL((await people.olga.ok<{ url: string }>('POST', `${PAGES}/invitations`, { role, ...more })).url);

  it('acts for the organization in all that is its own, and for the person in the rest', async () => {
    const ines = await fixture.running.signUp('ines');
    await ines.ok('POST', '/api/organizations', { name: 'Own Films', slug: 'own-films' });
    const page = await fixture.open();
    await signIn(page, 'ines', PASSWORD, '/account/organizations');
    await page.getByRole('button', { name: organizations.workHere }).click();
    await page.waitForURL(/\/studio/);
    await page.locator('#prompt').waitFor();
    const organizationOf = new Map<string, string | undefined>();
    page.on('request', (request) => {
      const name = `${request.method()} ${new URL(request.url()).pathname}`;
      organizationOf.set(name, request.headers()['x-organization']);
    });
    await page.goto('/videos');
    await waitForContent(page);
    await page.goto('/account/tokens#new');
    await page.getByRole('textbox', { name: STRINGS.en.account.apiKeys.name }).fill('films');
    await page.keyboard.press('Enter');
    await page.getByText(/^sk-/).first().waitFor();
    for (const name of ['GET /api/user/self', 'GET /api/videos', 'GET /api/tokens', 'POST /api/tokens'])
      assert.equal(organizationOf.get(name), 'own-films', name);
    assert.equal(organizationOf.get('GET /api/notifications/unread-count'), undefined);
    await page.context().close();
  });

  it('shares a plan, limits two members, sends a batch of 300 and lets one person go', async () => {
    const { root, app } = fixture.running;
    const owner = await fixture.open();
    await signIn(owner, 'olga', PASSWORD, '/account/organizations');
    await waitForContent(owner);
    await owner.getByRole('button', { name: organizations.create }).first().click();
    await owner.getByRole('textbox', { name: organizations.name, exact: true }).fill('Small Studio');
    await owner.getByRole('textbox', { name: organizations.slug, exact: true }).fill('studio');
    await owner.getByRole('dialog').getByRole('button', { name: organizations.create }).click();
    await owner.getByRole('heading', { name: 'Small Studio' }).waitFor();

    const { id } = await people.olga.ok<{ id: number }>('GET', PAGES);
    const card = { package_code: 'team', name: 'Team', level: 1, duration_days: 30, daily_quota: 1_000 };
    await root.ok('POST', '/api/admin/package-cards', card);
    await root.ok('POST', '/api/user/package/activate', { user_id: id, package_code: 'team' });
    await root.ok('PUT', `/api/admin/organizations/${id}`, { quota_delta: 10_000_000_000, note: 'start' });

    await owner.goto('/account/organizations/studio');
    await owner.getByRole('button', { name: organizations.invite }).click();
    await owner.getByRole('dialog').getByRole('button', { name: organizations.invite }).click();
    const link = owner.getByText(/\/account\/invitation#rgin_/);
    await link.waitFor();
    const address = new URL((await link.first().textContent()) ?? '');
    const limit = { spend_limit: { amount: 1, period: 'month' } };
    const mia = await openAs('mia', address.pathname + address.hash);
    for (const [name, role, more] of [
      ['adam', 'admin', {}],
      ['max', 'member', limit],
      ['kai', 'member', limit],
      ['zoe', 'member', {}],
    ] as const) {
      const { hash } = await invite(role, more);
      await people[name].ok('POST', '/api/organizations/accept', { token: hash.slice(1) });
    }

    // Mia has no limit and starts the batch; Max and Kai have one that covers nothing.
    await mia.goto('/batches');
    await mia.getByText(batches.emptyTitle).waitFor();
    const rows = Array.from({ length: ROWS }, (_, index) => `shot-${index},Shot ${index} [time=1],sora-2,4`);
    const csv = `custom_id,prompt,model,seconds\n${rows.join('\n')}\n`;
    await mia.setInputFiles('input[type=file]', { name: 'film.csv', mimeType: 'text/csv', buffer: Buffer.from(csv) });
    await mia.getByRole('button', { name: `Start ${ROWS} videos` }).click();
    await mia.getByText(`0 failed`).first().waitFor();
    await show(mia, 'batch-running');
    for (const name of ['max', 'kai'] as const) {
      const video = { model: 'sora-2', prompt: 'over the limit', seconds: 4 };
      const refused = await people[name].send('POST', '/api/videos', video, IN_STUDIO);
      assert.match(String(refused.body.message), /spend limit/);
    }
    await mia.getByText(batches.statuses.completed, { exact: true }).waitFor({ timeout: 80_000 });
    await mia.getByText(`${ROWS} of ${ROWS} completed, 0 failed`).first().waitFor();
    await assertAccessible(mia, 'the batch of an organization');
    const tasks = await app.database.kysely
      .selectFrom('tasks')
      .select(['status', 'actor_id'])
      .where('user_id', '=', id)
      .execute();
    assert.equal(tasks.length, ROWS);
    assert.ok(tasks.every(({ status, actor_id: by }) => status === 'SUCCESS' && by === people.mia.id));

    const zoe = await fixture.open();
    await authenticate(zoe, 'zoe', PASSWORD);
    const { key } = await people.zoe.ok<{ key: string }>('POST', '/api/tokens', { name: 'zoe' }, IN_STUDIO);
    await zoe.goto('/account/organizations/studio');
    await zoe.getByRole('button', { name: organizations.leave }).click();
    await zoe.getByRole('dialog').getByRole('button', { name: organizations.leave }).click();
    await zoe.getByText(organizations.emptyTitle).waitFor();
    const refused = await fetch(`${fixture.running.url}/v1/models`, { headers: { authorization: `Bearer ${key}` } });
    assert.equal(refused.status, 401);

    await owner.reload();
    await waitForContent(owner);
    await owner.getByText('kai', { exact: true }).first().waitFor();
    assert.equal(await owner.getByText('zoe', { exact: true }).count(), 0);
    await assertAccessible(owner, 'the organization');
    await show(owner, 'organization');
    await assertLedgerConsistent(app.database);
  });

  it('is shown to administrators with its costs, closed, and restored by its owner', async () => {
    const admin = await fixture.open();
    await signIn(admin, 'root', 'root-password-1', '/admin/organizations');
    await admin.getByRole('link', { name: 'Small Studio' }).waitFor();
    await admin.getByText('Team', { exact: true }).waitFor();
    await assertAccessible(admin, 'organizations of the administration');
    await show(admin, 'admin-organizations');
    await admin.getByRole('link', { name: 'Small Studio' }).click();
    await admin.getByRole('link', { name: 'mia' }).waitFor();
    await assertAccessible(admin, 'an organization of the administration');
    await show(admin, 'admin-organization');
    await admin.goto('/admin/costs?by=organization');
    await admin.getByRole('link', { name: 'Small Studio' }).waitFor();
    await show(admin, 'admin-costs');
    await admin.getByRole('link', { name: 'Small Studio' }).click();
    await admin.getByText('mia', { exact: true }).first().waitFor();
    await show(admin, 'admin-requests');
    await admin.goto('/admin/organizations');
    await admin.getByRole('link', { name: 'Small Studio' }).click();
    await admin.getByRole('button', { name: 'Close', exact: true }).click();
    await admin.getByRole('dialog').getByRole('button', { name: 'Close', exact: true }).last().click();
    await admin.getByRole('button', { name: 'Restore' }).waitFor();

    const owner = await fixture.open();
    await signIn(owner, 'olga', PASSWORD, '/account/organizations/studio');
    await owner.getByText(/It will be deleted on/).waitFor();
    await assertAccessible(owner, 'a closed organization');
    await show(owner, 'closed');
    await owner.getByRole('button', { name: organizations.restore }).click();
    await owner.getByRole('button', { name: organizations.invite }).waitFor();
    await owner.getByRole('button', { name: organizations.transfer.action }).click();
    await owner.getByRole('button', { name: organizations.transfer.submit, exact: true }).waitFor();
    await assertAccessible(owner, 'a transfer');
    await show(owner, 'transfer');
    await owner.getByRole('button', { name: organizations.transfer.submit, exact: true }).click();
    await owner.getByText(/^Moved: 0 keys/).waitFor();
    assert.deepEqual(fixture.problems, { violations: [], dialogs: [], errors: [], foreignRequests: [] });
  });

  for (const language of ['en', 'zh-cn'] as const)
    it(`gets a plan and limits from an administrator, who can end the plan (${language})`, async () => {
      const { admin, adminOrganizations, adminPlans, app, audit } = STRINGS[language];
      const { root } = fixture.running;
      const gold = { package_code: `gold-${language}`, name: `Gold ${language}`, level: 5, duration_days: 30 };
      await root.ok('POST', '/api/admin/package-cards', gold);
      const page = await fixture.open({ language });
      const button = (name: string) => page.getByRole('button', { name, exact: true });
      const inDialog = (name: string) => page.getByRole('dialog').getByRole('button', { name, exact: true });
      const assign = async (plan: string, days?: string) => {
        await button(adminPlans.assign.action).click();
        await page.getByRole('dialog').getByRole('combobox', { name: adminPlans.assign.plan }).click();
        await page.getByRole('option', { name: plan }).click();
        if (days !== undefined) await page.getByRole('textbox', { name: adminPlans.assign.days }).fill(days);
        await assertAccessible(page, 'assigning a plan to an organization');
        await inDialog(adminPlans.assign.action).click();
        await page.getByRole('dialog').waitFor({ state: 'detached' });
      };
      const untilText = adminOrganizations.planUntil.split('{{day}}')[0]?.replace('{{plan}}', gold.name) ?? '';

      await signIn(page, 'root', 'root-password-1');
      await page.goto('/admin/organizations');
      await page.getByRole('link', { name: 'Small Studio' }).click();
      await assign(gold.name, '10');
      await page.getByText(untilText).waitFor();
      await page.goto('/admin/organizations');
      await page.getByText(gold.name, { exact: true }).waitFor();
      await page.getByRole('link', { name: 'Small Studio' }).click();
      await assign(adminPlans.assign.none);
      await page.getByText(untilText).waitFor({ state: 'detached' });

      await button(adminOrganizations.limits).click();
      await page.getByRole('textbox', { name: admin.users.concurrentTasks }).fill('1234');
      await page.getByRole('textbox', { name: admin.users.queuedTasks }).fill('56');
      await assertAccessible(page, 'limits of an organization');
      await inDialog(app.save).click();
      await page.getByRole('dialog').waitFor({ state: 'detached' });
      await page.getByText('1,234').waitFor();

      await page.getByRole('link', { name: adminOrganizations.changes }).click();
      await page.getByText(audit.actions.package.activate).first().waitFor();
      await page.getByText(audit.actions.organization['admin-update']).first().waitFor();
      await page.getByRole('link', { name: 'Small Studio', exact: true }).first().waitFor();
      await page.context().close();
      assert.deepEqual(fixture.problems, { violations: [], dialogs: [], errors: [], foreignRequests: [] });
    });
});
