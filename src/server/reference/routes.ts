import { createHash } from 'node:crypto';
import * as lines from '../../contract/reference.ts';
import type { RouteRegistry } from '../platform/http/route-registry.ts';
import { REFERENCE_STYLE, toReferencePage } from './html-page.ts';
import { toLlmsText, toReferenceMarkdown } from './markdown.ts';
import { toOpenApi } from './openapi.ts';

/** The reference of everything that is registered, as a file and as a page that loads nothing from other hosts. */
export function addReferenceRoutes(
  routes: RouteRegistry,
  about: { readonly version: string; readonly baseUrl: string; readonly userHeader: string },
): void {
  const styleHash = createHash('sha256').update(REFERENCE_STYLE).digest('base64');
  let file: string | undefined;
  let page: string | undefined;
  routes.add(lines.openApiFile, async ({ reply }) => {
    file ??= JSON.stringify(toOpenApi(routes.endpoints, about));
    return reply.type('application/json; charset=utf-8').header('access-control-allow-origin', '*').send(file);
  });
  routes.add(lines.referenceMarkdown, async ({ reply }) =>
    reply.type('text/markdown; charset=utf-8').send(toReferenceMarkdown(routes.endpoints, about.version)),
  );
  routes.add(lines.llmsText, async ({ reply }) =>
    reply.type('text/plain; charset=utf-8').send(toLlmsText(about.baseUrl)),
  );
  routes.add(lines.referencePage, async ({ reply }) => {
    page ??= toReferencePage(routes.endpoints, about.version);
    return reply
      .type('text/html; charset=utf-8')
      .header(
        'content-security-policy',
        `default-src 'none'; style-src 'sha256-${styleHash}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
      )
      .header('referrer-policy', 'no-referrer')
      .header('x-frame-options', 'DENY')
      .send(page);
  });
}
