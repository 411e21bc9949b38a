import { hash } from 'node:crypto';
import type { FastifyReply } from 'fastify';
import * as files from '../../../contract/stylesheet-and-logo-endpoints.ts';
import type { AccentName } from '../../../design/accent-colors.ts';
import { logoSvg } from '../../../design/logo.ts';
import { PAGES_CSS } from '../../../design/server-rendered-pages-css.ts';
import { toTokensCss } from '../../../design/tokens-css.ts';
import type { RouteRegistry } from './route-registry.ts';

/** The files that every page takes its design from. Browsers ask each time whether they changed, so a new colour is seen at once. */
export function addStylesheetAndLogoRoutes(routes: RouteRegistry, site: SiteDesign): void {
  const add = (endpoint: DesignFile, type: string, render: (accent: AccentName) => string): void =>
    routes.add(endpoint, async ({ reply, request }) =>
      sendFile(reply, request.headers['if-none-match'], type, render(site.siteAccent)),
    );
  add(files.tokensCssFile, 'text/css; charset=utf-8', toTokensCss);
  add(files.pagesCssFile, 'text/css; charset=utf-8', (name) => `${toTokensCss(name)}\n${PAGES_CSS}`);
  routes.add(files.logoFile, async ({ reply, request }) => {
    const [, type = 'image/svg+xml', data] = LOGO_URL.exec(site.siteLogo ?? '') ?? [];
    const body = data === undefined ? logoSvg(site.siteAccent) : Buffer.from(data, 'base64');
    return sendFile(reply, request.headers['if-none-match'], type, body);
  });
}

/** How the pages look, read at each request: an administrator may change it. */
export interface SiteDesign {
  readonly siteAccent: AccentName;
  /** A data URL; undefined: the default logo. */
  readonly siteLogo: string | undefined;
}

const LOGO_URL = /^data:(image\/(?:png|webp|jpeg));base64,(.+)$/;

type DesignFile = (typeof files)[keyof typeof files];

function sendFile(reply: FastifyReply, known: string | undefined, type: string, body: string | Buffer): FastifyReply {
  // Weak: the same file may be sent compressed (RFC 9110 section 8.8.1).
  const etag = `W/"${hash('sha256', body, 'base64url')}"`;
  reply.headers({ etag, 'cache-control': 'no-cache', 'x-content-type-options': 'nosniff' });
  return known === etag ? reply.status(304).send() : reply.type(type).send(body);
}
