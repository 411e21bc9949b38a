import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { BrowserContext, Page } from 'playwright-core';
import type { AppOverrides } from '../../src/server/app.ts';
import { copySqliteTemplate } from '../database-templates.ts';
import { startTestService, type TestService } from '../test-service.ts';
import { buildConsoleIfOutdated } from './build-console.ts';
import { acquireChromium } from './chromium.ts';
import { type FakeSmsService, startFakeSmsService } from './fake-sms-service.ts';

/** Problems a page must never cause; asserted at the end of every test file. */
export interface PageProblems {
  readonly violations: string[];
  readonly dialogs: string[];
  readonly errors: string[];
  /** Requests to other hosts. */
  readonly foreignRequests: string[];
}

/** A running service with a browser. */
export interface BrowserFixture {
  readonly running: TestService;
  readonly phone: FakeSmsService;
  readonly databaseUrl: string;
  readonly problems: PageProblems;
  /** Opens a page in a new browser context, with its own cookies, storage and language. */
  open(options?: ContextOptions): Promise<Page>;
  stop(): Promise<void>;
}

/** Language, colour scheme and window size of a browser context. */
export interface ContextOptions {
  readonly language?: 'en' | 'zh-cn';
  readonly scheme?: 'light' | 'dark';
  readonly width?: number;
  readonly height?: number;
}

/** Starts the whole service with simulated vendors, and Chromium to open its pages. */
export async function openBrowserFixture(
  env: Readonly<Record<string, string>> = {},
  overrides: AppOverrides = {},
): Promise<BrowserFixture> {
  buildConsoleIfOutdated();
  const folder = mkdtempSync(join(tmpdir(), 'reelgate-browser-'));
  const phone = await startFakeSmsService();
  const database = join(folder, 'test.db');
  await copySqliteTemplate(database);
  const databaseUrl = `sqlite:${database}`;
  const running = await startTestService(databaseUrl, { SANDBOX: '1', SYNC_PERIOD_SECONDS: '1', ...env }, overrides);
  await running.setSiteSetting('PHONE_HTTP_URL', phone.url);
  const { browser, release } = await acquireChromium();
  const contexts: BrowserContext[] = [];
  const offences: PageProblems = { violations: [], dialogs: [], errors: [], foreignRequests: [] };
  return {
    running,
    phone,
    databaseUrl,
    problems: offences,
    async open({ language = 'en', scheme = 'light', width = 1280, height = 860 } = {}) {
      const context = await browser.newContext({
        baseURL: running.url,
        viewport: { width, height },
        colorScheme: scheme,
        locale: language === 'en' ? 'en-US' : 'zh-CN',
        reducedMotion: 'reduce',
      });
      contexts.push(context);
      await recordProblems(context, running.url, offences);
      return context.newPage();
    },
    async stop() {
      await Promise.all(contexts.map((context) => context.close()));
      release();
      await running.stop();
      phone.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function recordProblems(context: BrowserContext, url: string, offences: PageProblems): Promise<void> {
  context.on('request', (request) => {
    const target = request.url();
    if (!target.startsWith(url) && !/^(data|blob|about):/.test(target)) offences.foreignRequests.push(target);
  });
  context.on('dialog', (dialog) => {
    offences.dialogs.push(dialog.message());
    void dialog.dismiss();
  });
  context.on('weberror', (error) => offences.errors.push(String(error.error())));
  await context.exposeFunction('reportViolation', (text: string) => void offences.violations.push(text));
  // Passed as text, because this file is type-checked without browser types.
  await context.addInitScript(`document.addEventListener('securitypolicyviolation', (event) =>
    window.reportViolation([event.violatedDirective, event.blockedURI, event.sourceFile, event.sample].join(' ')))`);
}

/** Waits until a page has its content. `networkidle` never occurs, because the console's live stream stays open. */
export async function waitForContent(page: Page): Promise<void> {
  await page.locator('h1').first().waitFor();
  const waiting = page.locator('.mantine-Skeleton-root, .mantine-Loader-root, [data-loading]');
  for (let attempts = 0; attempts < 100 && (await waiting.count()) > 0; attempts += 1) await page.waitForTimeout(100);
}

/**
 * Navigates within the console without a reload, which would take 2.5 times as long: scripts and cached data stay.
 * Marks the heading of the current page, so that its removal can be awaited.
 */
export async function navigateWithin(page: Page, path: string): Promise<void> {
  await page.evaluate(`for (const heading of document.querySelectorAll('h1')) heading.setAttribute('data-left', '');
    history.pushState({}, '', ${JSON.stringify(path)});`);
  await page.locator('h1:not([data-left])').first().waitFor();
  await waitForContent(page);
}

/** Signs in on the sign-in page, as a user does. */
export async function signInOnPage(page: Page, username: string, password: string): Promise<void> {
  await page.goto('/sign-in');
  await page.locator('input[autocomplete^=username]').fill(username);
  await page.locator('input[autocomplete=current-password]').fill(password);
  await page.keyboard.press('Enter');
  await page.waitForURL(/\/studio/);
}

/**
 * Signs in over the API: the sign-in page and the studio, which it leads to, would take most of the CPU time of many
 * tests. Once per tab.
 */
export async function authenticate(page: Page, username: string, password: string): Promise<void> {
  const response = await page.request.post('/api/user/login', { data: { username, password } });
  const { data } = (await response.json()) as { data?: { id?: number } };
  assert.ok(data?.id !== undefined, `${username} cannot sign in: ${response.status()}`);
  // In the first page only, because tests also sign out.
  await page.addInitScript(`if (location.origin === ${JSON.stringify(new URL(response.url()).origin)} &&
      sessionStorage.getItem('test.signed-in') === null) {
    sessionStorage.setItem('test.signed-in', '1');
    for (const key of ['reelgate.user', 'reelgate.last-user']) localStorage.setItem(key, ${JSON.stringify(String(data.id))});
  }`);
}

/** Signs in over the API and opens a page. */
export async function signIn(page: Page, username: string, password: string, path = '/studio'): Promise<void> {
  await authenticate(page, username, password);
  await page.goto(path);
}

/**
 * Waits until an expression is true in the page. Playwright's own wait re-evaluates it inside the page, which the
 * page's content security policy forbids.
 */
export async function waitForExpression(page: Page, expression: string): Promise<void> {
  const endsAt = Date.now() + 30_000;
  while ((await page.evaluate(expression)) !== true) {
    assert.ok(Date.now() < endsAt, `never true: ${expression}`);
    await page.waitForTimeout(50);
  }
}
