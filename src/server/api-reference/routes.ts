import type { Endpoint } from '../../contract/endpoint.ts';
import * as apiReferenceEndpoints from '../../contract/pages.ts';
import type { Live } from '../platform/config.ts';
import { html, type Markup, STANDALONE_PAGE_HEADERS, standalonePage } from '../platform/html.ts';
import type { RouteRegistry } from '../platform/http/route-registry.ts';
import { toOpenApi } from './openapi.ts';

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
    const { siteName } = about.site.current();
    if (page?.siteName !== siteName)
      page = { siteName, text: toReferencePage(routes.endpoints, about.version, siteName) };
    return reply.headers({ ...STANDALONE_PAGE_HEADERS, 'cache-control': 'no-cache' }).send(page.text);
  });
}

const CREDENTIAL_LABELS: Readonly<Record<Endpoint['policy'], string>> = {
  public: 'no credential',
  self: 'see the description',
  model: 'sk- token, llm_token, or OAuth access token with the scope models',
  mcp: 'sk- token, llm_token, or OAuth access token for /mcp',
  'claude-code': 'access token of a Claude Code sign-in',
  account: 'session, user access token or device access token, with the user-id header',
  owner: 'session or user access token, with the user-id header',
  admin: 'administrator, with the user-id header',
  root: 'root, with the user-id header',
};

/** The reference as one page without scripts: every endpoint of the contract with its schemas. */
function toReferencePage(endpoints: readonly Endpoint[], version: string, siteName: string): string {
  const tags = [...new Set(endpoints.map(({ tag }) => tag))].sort();
  const sections = tags.map((tag) => {
    const rows = endpoints.filter((endpoint) => endpoint.tag === tag).map(toSection);
    return html`<section id="${tag}"><h2>${tag}</h2>${rows}</section>`;
  });
  return standalonePage({
    locale: 'en',
    siteName,
    title: 'API reference',
    wide: true,
    nav: html`<nav><a href="/openapi.json">openapi.json</a> <a href="/docs.md">Markdown</a></nav>`,
    main: html`<div class="reference"><h1>API reference</h1><p>Version ${version}.</p>
<nav aria-label="Subjects">${tags.map((tag) => html`<a href="#${tag}">${tag}</a> `)}</nav>
${sections}</div>`,
  });
}

function toSection(endpoint: Endpoint): Markup {
  const parts: readonly [string, unknown][] = [
    ['Path', endpoint.params],
    ['Query', endpoint.query],
    ['Body', endpoint.body],
    ['Response', endpoint.response],
  ];
  const schemas = parts
    .filter(([, schema]) => schema !== undefined)
    .map(([name, schema]) => html`<h3>${name}</h3><pre tabindex="0">${JSON.stringify(schema, null, 2)}</pre>`);
  return html`<details><summary><b>${endpoint.method}</b><code>${endpoint.path}</code><span>${endpoint.summary}</span></summary><div><p class="note">Credential: ${CREDENTIAL_LABELS[endpoint.policy]}.</p>${schemas}</div></details>`;
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
