import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';

const INSTALL_PATHS = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

/** Path of an installed Chromium; if undefined, tests that need it are skipped, except in CI. */
export const chromiumPath = INSTALL_PATHS.find((path) => existsSync(path));

/** Starts Debian's Chromium with its own background requests disabled. The caller closes it. */
export const startChromium = (): Promise<Browser> =>
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
    ],
  });
