import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { envelopeOfPath } from '../../contract/endpoint.ts';
import { CONSOLE_SECTIONS, consolePage } from '../../contract/pages.ts';
import { PACKAGE_ROOT } from '../package-root.ts';
import { escapeHtml } from '../platform/html.ts';
import type { RouteRegistry } from '../platform/http/route-registry.ts';
import { ConsoleAssets } from './console-assets.ts';

/**
 * Registers the console: one page for all its URLs, and the build's files with content hashes in their names, in a
 * folder that contains nothing else. The files share one route, because a route for each of several hundred files would
 * take ten megabytes of memory.
 *
 * @param readStatus the public status, which is embedded in the page
 */
export function addConsoleRoutes(fastify: FastifyInstance, routes: RouteRegistry, readStatus: () => object): void {
  const built = ConsoleAssets.load(CONSOLE_FOLDER);
  if (built !== undefined)
    fastify.get<{ Params: { '*': string } }>('/assets/*', async ({ params, headers }, reply) => {
      const file = await built.find(params['*'], String(headers['accept-encoding'] ?? ''));
      if (file === undefined) return reply.callNotFound();
      reply.headers({ 'cache-control': 'public, max-age=31536000, immutable', vary: 'Accept-Encoding' });
      if (file.coding !== undefined) reply.header('content-encoding', file.coding);
      return reply.type(file.type).send(file.body);
    });
  const send = async (reply: FastifyReply): Promise<FastifyReply> =>
    sendPage(reply, fillIn(built?.indexHtml ?? NOT_BUILT_PAGE, readStatus()));
  routes.add(consolePage, ({ reply }) => send(reply));
  for (const section of CONSOLE_SECTIONS)
    for (const url of [`/${section}`, `/${section}/*`])
      fastify.get(url, { config: { endpoint: consolePage } }, (_, reply) => send(reply));
  // A mistyped URL in a browser gets the console's own page with 404; under the API's paths it remains an API error.
  fastify.get('/*', (request, reply) =>
    request.headers.accept?.includes('text/html') === true && envelopeOfPath(request.url) === 'page'
      ? send(reply.status(404))
      : reply.callNotFound(),
  );
}

/** Embeds the status in an attribute, which no text can terminate. */
const fillIn = (page: string, status: object): string =>
  page.replace(STATUS_PLACEHOLDER, () => escapeHtml(JSON.stringify(status)));

/**
 * Sends the page with a policy that allows scripts and style sheets from this service only. The component library adds
 * style elements at run time; they carry the nonce of this response.
 */
function sendPage(reply: FastifyReply, page: string): FastifyReply {
  const nonce = randomBytes(16).toString('base64');
  return reply
    .type('text/html; charset=utf-8')
    .header('cache-control', 'no-store')
    .header('referrer-policy', 'same-origin')
    .header('cross-origin-opener-policy', 'same-origin')
    .header('x-frame-options', 'DENY')
    .header(
      'content-security-policy',
      [
        "default-src 'self'",
        "script-src 'self'",
        `style-src 'self' 'nonce-${nonce}'`,
        "img-src 'self' blob: data:",
        "media-src 'self' blob: data:",
        "object-src 'none'",
        "base-uri 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
      ].join('; '),
    )
    .send(page.replaceAll(NONCE_PLACEHOLDER, nonce));
}

/** Output folder of `npm run build:console`. */
const CONSOLE_FOLDER = join(PACKAGE_ROOT, 'dist/console');

/** Placeholder for the nonce; the build writes it into every script and style element. */
const NONCE_PLACEHOLDER = '__NONCE__';

/** Placeholder for the public status, inside an attribute. */
const STATUS_PLACEHOLDER = '__STATUS__';

const NOT_BUILT_PAGE = `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Reelgate</title>
<h1>Reelgate is running</h1><p>Its console was not built. Run <code>npm run build:console</code> and start the service again.</p>
<p>The <a href="/docs">API reference</a> works without it.</p></html>`;
