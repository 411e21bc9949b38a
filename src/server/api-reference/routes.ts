import type { Endpoint } from '../../contract/endpoint.ts';
import * as apiReferenceEndpoints from '../../contract/pages.ts';
import type { Live } from '../platform/config.ts';
import { SCRIPTED_PAGE_HEADERS } from '../platform/html.ts';
import type { RouteRegistry } from '../platform/http/route-registry.ts';
import { toOpenApi } from './openapi.ts';
import { REFERENCE_LOCALES, REFERENCE_SCRIPT, toReferencePage } from './reference-page.ts';

/** Registers the reference of all registered endpoints, as a file and as a page that loads nothing from other hosts. */
export function addReferenceRoutes(
  routes: RouteRegistry,
  about: {
    readonly version: string;
    readonly baseUrl: string;
    readonly userHeader: string;
    readonly site: Live<{ readonly siteName: string }>;
  },
): void {
  let file: string | undefined;
  const pages = new Map<string, string>();
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
  routes.add(apiReferenceEndpoints.referencePage, async ({ query, request, reply }) => {
    const { siteName } = about.site.current();
    const locale = REFERENCE_LOCALES.find((each) => each === query.lang) ?? request.locale;
    const key = `${locale} ${siteName}`;
    const page = pages.get(key) ?? toReferencePage(routes.endpoints, { ...about, siteName, locale });
    if (!pages.has(key)) {
      // A renamed site leaves pages of its former name behind.
      if (pages.size >= REFERENCE_LOCALES.length) pages.clear();
      pages.set(key, page);
    }
    return reply.headers({ ...SCRIPTED_PAGE_HEADERS, 'cache-control': 'no-cache', vary: 'Accept-Language' }).send(page);
  });
  routes.add(apiReferenceEndpoints.referenceScript, async ({ reply }) =>
    reply.type('text/javascript; charset=utf-8').header('cache-control', 'no-cache').send(REFERENCE_SCRIPT),
  );
}

/** The reference as Markdown: the same content as the page, for programs. */
function toReferenceMarkdown(endpoints: readonly Endpoint[], version: string): string {
  const tags = [...new Set(endpoints.map(({ tag }) => tag))].sort();
  const sections = tags.map((tag) => {
    const lines = endpoints.filter((endpoint) => endpoint.tag === tag).map(toLines);
    return `## ${tag}\n\n${lines.join('\n\n')}`;
  });
  return `# Reelgate API reference\n\nVersion ${version}. As OpenAPI 3.1: /openapi.json\n\n${sections.join('\n\n')}\n`;
}

function toLines(endpoint: Endpoint): string {
  const schemas = [
    ['Query', endpoint.query],
    ['Body', endpoint.body],
    ['Response', endpoint.response],
  ] as const;
  return [
    `### ${endpoint.method} ${endpoint.path}`,
    `${endpoint.summary}. Credential: ${endpoint.policy}.`,
    ...schemas
      .filter(([, schema]) => schema !== undefined)
      .map(([name, schema]) => `${name}:\n\`\`\`json\n${JSON.stringify(schema)}\n\`\`\``),
  ].join('\n\n');
}

/** The entry point for language models (llmstxt.org). */
const toLlmsText = (baseUrl: string): string => `# Reelgate

> A service for video generation over many vendors through one API, chat relay, device sign-in, mailboxes, plans and notifications.

Model calls take \`Authorization: Bearer sk-…\` and live under ${baseUrl}/v1; OpenAI clients work with that address as base URL.
A video is a task: POST /v1/videos answers an id at once, GET /v1/videos/{id} tells its state (queued, in_progress, completed, failed),
GET /v1/videos/{id}/content is the MP4. Poll every 10 to 15 seconds; send an Idempotency-Key with submits.

## Reference

- [API reference](${baseUrl}/docs.md): every address with its schemas
- [OpenAPI 3.1](${baseUrl}/openapi.json): the same for tools
- [Models](${baseUrl}/v1/models): what this token may call
`;
