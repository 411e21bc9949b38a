import type { Endpoint } from '../../contract/endpoint.ts';
import { html, type Markup, standalonePage } from '../platform/html.ts';

const CREDENTIAL_LABELS: Readonly<Record<Endpoint['policy'], string>> = {
  public: 'no credential',
  self: 'see the description',
  model: 'sk- token or llm_token',
  account: 'session, user access token or device access token, with the user-id header',
  owner: 'session or user access token, with the user-id header',
  admin: 'administrator, with the user-id header',
  root: 'root, with the user-id header',
};

/** The reference as one page without scripts: every endpoint of the contract with its schemas. */
export function toReferencePage(endpoints: readonly Endpoint[], version: string, siteName: string): string {
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
