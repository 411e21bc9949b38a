import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import type { Person } from '../accounts/person.ts';
import { PASSWORD } from '../accounts/person.ts';
import { assertAccessible } from './axe.ts';
import { type BrowserRig, openBrowserRig, settle, signIn } from './browser.ts';
import { chromiumPath } from './chromium.ts';
import { WORDS } from './words.ts';

const { account, admin, desk, plans, shell } = WORDS.en;

/** What an administrator may press on the pages of somebody's belongings. */
const PRESSED = {
  user: [shell.edit, plans.give.action, admin.users.changeBalance, admin.users.remove],
  ticket: [desk.tickets.remove],
  application: [desk.beta.approve, desk.beta.reject, desk.beta.remove],
} as const;

describe('an administrator who is not root, in Chromium', {
  skip: chromiumPath === undefined && !process.env.CI,
}, () => {
  let rig: BrowserRig;
  let page: Page;
  before(async () => {
    rig = await openBrowserRig();
    const clerk = await rig.running.person('clerk');
    await rig.running.root.ok('PUT', `/api/admin/users/${clerk.id}`, { role: 'admin' });
    page = await rig.open();
    await signIn(page, 'clerk', PASSWORD);
  });
  after(() => rig.stop());

  async function belongings(person: Person): Promise<Record<keyof typeof PRESSED, string>> {
    const asked = await person.ok<{ id: number }>('POST', '/api/tickets', { title: 'Stuck', content: 'It hangs.' });
    const wish = { feature: `Film of ${person.id}`, reason: 'For a film.' };
    const applied = await person.ok<{ id: number }>('POST', '/api/beta-applications', wish);
    return {
      user: `/admin/users/${person.id}`,
      ticket: `/admin/tickets/${asked.id}`,
      application: `/admin/beta-applications/${applied.id}`,
    };
  }
  const button = (name: string) => page.getByRole('button', { name, exact: true });
  const kinds = Object.keys(PRESSED) as (keyof typeof PRESSED)[];

  it('finds no button that would be refused, and reads why', async () => {
    const pages = await belongings(rig.running.root);
    const reasons = { user: admin.users.outOfRank, ticket: desk.tickets.outOfRank, application: desk.beta.outOfRank };
    for (const kind of kinds) {
      await page.goto(pages[kind]);
      await page.getByText(reasons[kind]).waitFor();
      for (const name of PRESSED[kind]) assert.equal(await button(name).count(), 0, `${kind}: ${name}`);
      await settle(page);
      await assertAccessible(page, kind);
    }
    await page.goto(pages.ticket);
    await page.getByText(desk.tickets.outOfRank).waitFor();
    assert.equal(await page.getByRole('combobox', { name: desk.tickets.setStatus }).count(), 0);
    assert.equal(await button(desk.tickets.send).count(), 1, 'answering is open to all');
    await page.goto('/admin/beta-applications');
    await page.getByRole('table').getByText(desk.beta.states.pending, { exact: true }).waitFor();
    assert.equal(await button(desk.beta.approve).count(), 0);
  });

  it('finds them all where the user stands below', async () => {
    const pages = await belongings(await rig.running.person('customer'));
    for (const kind of kinds) {
      await page.goto(pages[kind]);
      for (const name of PRESSED[kind]) await button(name).waitFor();
    }
  });

  it('ends one session of a user, and no other', async () => {
    const client = await rig.running.person('client');
    const own = await rig.open();
    await signIn(own, 'client', PASSWORD);
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

  it('is offered no role he cannot give', async () => {
    await page.goto('/admin/users');
    await settle(page);
    await button(admin.users.make).click();
    await page.getByRole('dialog').getByRole('combobox', { name: admin.users.role }).click();
    assert.deepEqual(await page.getByRole('option').allTextContents(), [admin.roles.user]);
  });

  it('breaks no policy of its own, asks nobody else for anything and throws nothing', () => {
    assert.deepEqual(rig.offences, { violations: [], dialogs: [], errors: [], strangers: [] });
  });
});
