import * as apiReferenceEndpoints from '../../contract/openapi-file-and-reference-pages.ts';
import { STANDALONE_PAGE_HEADERS } from '../platform/html.ts';
import type { RouteRegistry } from '../platform/http/route-registry.ts';
import { toReferencePage } from './html-page.ts';
import { toLlmsText, toReferenceMarkdown } from './markdown-and-llms-text.ts';
import { toOpenApi } from './openapi.ts';

/** The reference of everything that is registered, as a file and as a page that loads nothing from other hosts. */
export function addReferenceRoutes(
  routes: RouteRegistry,
  about: {
    readonly version: string;
    readonly baseUrl: string;
    readonly userHeader: string;
    readonly site: { readonly siteName: string };
  },
): void {
  let file: string | undefined;
  let page: { readonly siteName: string; readonly text: string } | undefined;
  routes.add(apiReferenceEndpoints.openApiFile, async ({ reply }) => {
    file ??= JSON.stringify(toOpenApi(routes.endpoints, about));
    return reply.type('application/json; charset=utf-8').header('access-control-allow-origin', '*').send(file);
  });
  routes.add(apiReferenceEndpoints.referenceMarkdown, async ({ reply }) =>
    reply.type('text/markdown; charset=utf-8').send(toReferenceMarkdown(routes.endpoints, about.version)),
  );
  routes.add(apiReferenceEndpoints.llmsText, async ({ reply }) =>
    reply.type('text/plain; charset=utf-8').send(toLlmsText(about.baseUrl)),
  );
  routes.add(apiReferenceEndpoints.referencePage, async ({ reply }) => {
    const { siteName } = about.site;
    if (page?.siteName !== siteName)
      page = { siteName, text: toReferencePage(routes.endpoints, about.version, siteName) };
    return reply.headers({ ...STANDALONE_PAGE_HEADERS, 'cache-control': 'no-cache' }).send(page.text);
  });
}
