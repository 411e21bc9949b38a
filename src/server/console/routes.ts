import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { envelopeOfPath } from '../../contract/endpoint.ts';
import { CONSOLE_SECTIONS, consolePage } from '../../contract/pages.ts';
import { PACKAGE_ROOT } from '../package-root.ts';
import { escapeHtml } from '../platform/html.ts';
import { acceptsCoding, type ContentCoding, compressResponse } from '../platform/http/compression.ts';
import type { RouteRegistry } from '../platform/http/route-registry.ts';

const TYPES: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
  '.webp': 'image/webp',
  '.png': 'image/png',
};
const gunzipAsync = promisify(gunzip);

interface Asset {
  readonly type: string;
  /** Undefined if only the compressed forms are kept. */
  readonly plain: Buffer | undefined;
  readonly br: Buffer | undefined;
  readonly gz: Buffer | undefined;
}

/** A file with its headers. */
export interface AssetResponse {
  readonly type: string;
  readonly coding: ContentCoding | undefined;
  readonly body: Buffer;
}

/** Maximum attempts to read a console that another build replaces meanwhile. */
const MAX_TRIES = 3;

/**
 * The built console as of the start: a build that later replaces or empties its folder does not affect this process.
 * Files compressed by the build are kept only in compressed form, some 1.3 MB in total.
 */
export class ConsoleAssets {
  /** The page returned for every URL of the console. */
  readonly indexHtml: string;
  readonly #assets: ReadonlyMap<string, Asset>;

  constructor(indexHtml: string, assets: ReadonlyMap<string, Asset>) {
    this.indexHtml = indexHtml;
    this.#assets = assets;
  }

  /** @returns undefined if the console was not built */
  static load(folder: string): ConsoleAssets | undefined {
    for (let tries = 1; ; tries += 1) {
      try {
        const indexHtml = readFileSync(join(folder, 'index.html'), 'utf8');
        const assets = readAssets(join(folder, 'assets'));
        const isSame = readFileSync(join(folder, 'index.html'), 'utf8') === indexHtml;
        if (isSame && assets.size > 0) return new ConsoleAssets(indexHtml, assets);
        if (tries >= MAX_TRIES) return undefined;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
        if (tries >= MAX_TRIES) return undefined;
      }
    }
  }

  /**
   * @param accepted the request's Accept-Encoding
   * @returns undefined for a file the console does not have
   */
  async find(name: string, accepted: string): Promise<AssetResponse | undefined> {
    const asset = this.#assets.get(name);
    if (asset === undefined) return undefined;
    const { type, plain, br, gz } = asset;
    if (br !== undefined && acceptsCoding(accepted, 'br')) return { type, coding: 'br', body: br };
    if (gz !== undefined && acceptsCoding(accepted, 'gzip')) return { type, coding: 'gzip', body: gz };
    return { type, coding: undefined, body: plain ?? (await gunzipAsync(gz ?? Buffer.alloc(0))) };
  }
}

function readAssets(folder: string): Map<string, Asset> {
  const names = new Set(readdirSync(folder));
  const read = (name: string) => (names.has(name) ? readFileSync(join(folder, name)) : undefined);
  const assets = new Map<string, Asset>();
  for (const name of names) {
    if (/\.(br|gz)$/.test(name)) continue;
    const [br, gz] = [read(`${name}.br`), read(`${name}.gz`)];
    const type = TYPES[extname(name)] ?? 'application/octet-stream';
    assets.set(name, { type, br, gz, plain: gz === undefined ? read(name) : undefined });
  }
  return assets;
}

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
      fastify.get(url, { config: { endpoint: consolePage }, onSend: compressResponse }, (_, reply) => send(reply));
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
