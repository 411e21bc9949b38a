import { join } from 'node:path';
import { PACKAGE_ROOT } from '../package-root.ts';

/** Output folder of `npm run build:console`. */
export const CONSOLE_FOLDER = join(PACKAGE_ROOT, 'dist/console');

/** Placeholder for the nonce; the build writes it into every script and style element. */
export const NONCE_PLACEHOLDER = '__NONCE__';

/** Placeholder for the public status, inside an attribute. */
export const STATUS_PLACEHOLDER = '__STATUS__';

export const NOT_BUILT_PAGE = `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Reelgate</title>
<h1>Reelgate is running</h1><p>Its console was not built. Run <code>npm run build:console</code> and start the service again.</p>
<p>The <a href="/docs">API reference</a> works without it.</p></html>`;
