import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import type { TestUser } from '../accounts/test-user-client.ts';
import { PASSWORD } from '../accounts/test-user-client.ts';
import { authenticate, type BrowserFixture, openBrowserFixture, waitForContent } from './browser-fixture.ts';
import { chromiumPath } from './chromium.ts';
import { STRINGS } from './console-strings.ts';
import { assertAccessible } from './find-accessibility-issues.ts';

const { account, admin, adminBetaApplications, adminPlans, adminTickets, app } = STRINGS.en;

/** Buttons for administrators on pages about the data of another account. */
const ACTIONS = {
  user: [app.edit, adminPlans.assign.action, admin.users.changeBalance, admin.users.remove],
  ticket: [adminTickets.remove],
  application: [adminBetaApplications.approve, adminBetaApplications.reject, adminBetaApplications.remove],
} as const;

describe('an administrator who is not root, in Chromium', {
  skip: chromiumPath === undefined && !process.env.CI,
}, () => {
  let fixture: BrowserFixture;
  let page: Page;
  before(async () => {
    fixture = await openBrowserFixture();
    const clerk = await fixture.running.signUp('clerk');
    await fixture.running.root.ok('PUT', `/api/admin/users/${clerk.id}`, { role: 'admin' });
    page = await fixture.open();
    await authenticate(page, 'clerk', PASSWORD);
  });
  after(() => fixture.stop());

  async function belongings(person: TestUser): Promise<Record<keyof typeof ACTIONS, string>> {
    const asked = await person.ok<{ id: number }>('POST', '/api/tickets', { title: 'Stuck', content: 'It hangs.' });
    const application = { feature: `Film of ${person.id}`, reason: 'For a film.' };
    const applied = await person.ok<{ id: number }>('POST', '/api/beta-applications', application);
    return {
      user: `/admin/users/${person.id}`,
      ticket: `/admin/tickets/${asked.id}`,
      application: `/admin/beta-applications/${applied.id}`,
    };
  }
  const button = (name: string) => page.getByRole('button', { name, exact: true });
  const kinds = Object.keys(ACTIONS) as (keyof typeof ACTIONS)[];

  it('sees no button that would be refused, and an explanation', async () => {
    const pages = await belongings(fixture.running.root);
    const reasons = {
      user: admin.users.outOfRank,
      ticket: adminTickets.outOfRank,
      application: adminBetaApplications.outOfRank,
    };
    for (const kind of kinds) {
      await page.goto(pages[kind]);
      await page.getByText(reasons[kind]).waitFor();
      for (const name of ACTIONS[kind]) assert.equal(await button(name).count(), 0, `${kind}: ${name}`);
      await waitForContent(page);
      await assertAccessible(page, kind);
    }
    await page.goto(pages.ticket);
    await page.getByText(adminTickets.outOfRank).waitFor();
    assert.equal(await page.getByRole('combobox', { name: adminTickets.setStatus }).count(), 0);
    assert.equal(await button(adminTickets.send).count(), 1, 'answering is open to all');
    await page.goto('/admin/beta-applications');
    await page.getByRole('table').getByText(adminBetaApplications.states.pending, { exact: true }).waitFor();
    assert.equal(await button(adminBetaApplications.approve).count(), 0);
  });

  it('sees every button for a user with a lower role', async () => {
    const pages = await belongings(await fixture.running.signUp('customer'));
    for (const kind of kinds) {
      await page.goto(pages[kind]);
      for (const name of ACTIONS[kind]) await button(name).waitFor();
    }
  });

  it('ends one session of a user, and no other', async () => {
    const client = await fixture.running.signUp('client');
    const own = await fixture.open();
    await authenticate(own, 'client', PASSWORD);
    await page.goto(`/admin/users/${client.id}`);
    const sessions = page
      .locator('section')
      .filter({ has: page.getByRole('heading', { name: account.security.sessions }) });
    await sessions.getByText('Chrome, Linux').waitFor();
    await sessions.getByRole('button', { name: account.security.endSession }).first().click();
    await sessions.getByText('Chrome, Linux').waitFor({ state: 'detached' });
    await client.ok('GET', '/api/user/self');
    await own.goto('/videos');
    await own.waitForURL(/sign-in/);
    await own.context().close();
  });

  it('is offered no role above their own', async () => {
    await page.goto('/admin/users');
    await waitForContent(page);
    await button(admin.users.make).click();
    await page.getByRole('dialog').getByRole('combobox', { name: admin.users.role }).click();
    assert.deepEqual(await page.getByRole('option').allTextContents(), [admin.roles.user]);
  });

  it('violates no content security policy, sends no request to other origins and throws no error', () => {
    assert.deepEqual(fixture.problems, { violations: [], dialogs: [], errors: [], foreignRequests: [] });
  });
});
