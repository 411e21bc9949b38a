import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';

const INSTALL_PATHS = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

/** Where Chromium is installed; undefined: tests that need it are skipped, except under CI. */
export const chromiumPath = INSTALL_PATHS.find((path) => existsSync(path));

/** Debian's Chromium, without requests of its own. Close it when done. */
export const startChromium = (): Promise<Browser> =>
  chromium.launch({
    ...(chromiumPath === undefined ? {} : { executablePath: chromiumPath }),
    args: [
      '--no-sandbox',
      '--headless',
      '--disable-gpu',
      // Nothing is drawn by GL then, not even in software, which took a fifth of the CPU time of a page.
      '--use-gl=disabled',
      '--disable-software-rasterizer',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  });
