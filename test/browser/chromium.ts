import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';

/** The first, Debian's Chromium without a window, takes a fifth less CPU time. */
const INSTALL_PATHS = [
  '/usr/bin/chromium-headless-shell',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
];

/** Path of an installed Chromium; if undefined, tests that need it are skipped, except in CI. */
export const chromiumPath = INSTALL_PATHS.find((path) => existsSync(path));

/**
 * Parts of Chromium's own window that no test shows. Each window renders the address bar's suggestions as two web pages
 * in processes of their own, and keeps a spare process: more CPU time than a page of the console.
 */
const UNUSED_WINDOW_PARTS = ['WebUIOmniboxPopup', 'WebUIOmniboxAimPopup', 'SpareRendererForSitePerProcess'];
/** What Playwright disables; Chromium reads only the last list, which is ours. */
const DISABLED_BY_PLAYWRIGHT = [
  'AvoidUnnecessaryBeforeUnloadCheckSync',
  'DestroyProfileOnBrowserClose',
  'HttpsUpgrades',
  'HttpsFirstBalancedModeAutoEnable',
  'LensOverlay',
  'MediaRouter',
  'PaintHolding',
  'ThirdPartyStoragePartitioning',
  'AvoidCorsURLLoaderRestartOnRedirect',
  'OptimizationHints',
  'NetworkTimeServiceQuerying',
  'AimEnabled',
  'PreconnectToSearch',
];

interface SharedBrowser {
  readonly browser: Promise<Browser>;
  users: number;
}

const IDLE_MS = 2_000;
let shared: SharedBrowser | undefined;

/**
 * Chromium for the test files of a process, which run one after another; it closes when none has used it for a while.
 * The caller closes its contexts.
 */
export async function acquireChromium(): Promise<{ readonly browser: Browser; release(): void }> {
  shared ??= { browser: startChromium(), users: 0 };
  const own = shared;
  own.users += 1;
  return {
    browser: await own.browser,
    release() {
      own.users -= 1;
      setTimeout(() => void closeIfIdle(own), IDLE_MS);
    },
  };
}

async function closeIfIdle(own: SharedBrowser): Promise<void> {
  if (own.users > 0 || shared !== own) return;
  shared = undefined;
  await (await own.browser).close();
}

/** Starts Debian's Chromium with its own background requests disabled. The caller closes it. */
const startChromium = (): Promise<Browser> =>
  chromium.launch({
    ...(chromiumPath === undefined ? {} : { executablePath: chromiumPath }),
    args: [
      '--no-sandbox',
      '--headless',
      '--disable-gpu',
      // Disables GL rendering, including in software, which took a fifth of a page's CPU time.
      '--use-gl=disabled',
      '--disable-software-rasterizer',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      `--disable-features=${[...DISABLED_BY_PLAYWRIGHT, ...UNUSED_WINDOW_PARTS].join(',')}`,
    ],
  });
