import type { Endpoint } from '../../contract/endpoint.ts';
import { escapeHtml } from '../platform/html.ts';

const CREDENTIAL_LABELS: Readonly<Record<Endpoint['policy'], string>> = {
  public: 'no credential',
  self: 'see the description',
  model: 'sk- token or llm_token',
  account: 'session, user access token or device access token, with the user-id header',
  owner: 'session or user access token, with the user-id header',
  admin: 'administrator, with the user-id header',
  root: 'root, with the user-id header',
};

const STYLESHEET = `:root{color-scheme:light dark;--line:#8884;--soft:#8882}body{font:15px/1.5 system-ui,sans-serif;margin:0 auto;max-width:60rem;padding:1rem 1.25rem 6rem}
h1{margin:.5rem 0}h2{border-bottom:1px solid var(--line);margin-top:2.5rem;padding-bottom:.25rem;text-transform:capitalize}
details{border:1px solid var(--line);border-radius:.5rem;margin:.5rem 0}summary{cursor:pointer;padding:.5rem .75rem;display:flex;flex-wrap:wrap;gap:.25rem .75rem;align-items:baseline}
summary code{font-weight:600;overflow-wrap:anywhere}summary b{font:600 .75rem ui-monospace,monospace;min-width:3.5rem}
.inside{padding:0 .75rem .75rem}pre{background:var(--soft);border-radius:.4rem;overflow:auto;padding:.6rem;font-size:.82rem}nav a{margin-right:.9rem;text-transform:capitalize}.who{opacity:.75}`;

/** The reference as one page without scripts: every endpoint of the contract with its schemas. */
export function toReferencePage(endpoints: readonly Endpoint[], version: string): string {
  const tags = [...new Set(endpoints.map(({ tag }) => tag))].sort();
  const sections = tags.map((tag) => {
    const rows = endpoints.filter((endpoint) => endpoint.tag === tag).map(toSection);
    return `<section id="${escapeHtml(tag)}"><h2>${escapeHtml(tag)}</h2>${rows.join('')}</section>`;
  });
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>Reelgate API reference</title><style>${STYLESHEET}</style></head><body>
<h1>Reelgate API reference</h1><p>Version ${escapeHtml(version)}. The same as a machine reads it: <a href="/openapi.json">openapi.json</a>.</p>
<nav>${tags.map((tag) => `<a href="#${escapeHtml(tag)}">${escapeHtml(tag)}</a>`).join(' ')}</nav>
${sections.join('\n')}</body></html>`;
}

function toSection(endpoint: Endpoint): string {
  const parts: readonly [string, unknown][] = [
    ['Path', endpoint.params],
    ['Query', endpoint.query],
    ['Body', endpoint.body],
    ['Response', endpoint.response],
  ];
  const schemas = parts
    .filter(([, schema]) => schema !== undefined)
    .map(([name, schema]) => `<h4>${name}</h4><pre>${escapeHtml(JSON.stringify(schema, null, 2))}</pre>`);
  return `<details><summary><b>${endpoint.method}</b><code>${escapeHtml(endpoint.path)}</code><span>${escapeHtml(endpoint.summary)}</span></summary><div class="inside"><p class="who">Credential: ${CREDENTIAL_LABELS[endpoint.policy]}.</p>${schemas.join('')}</div></details>`;
}

/** The style sheet is inline and allowed by its hash, so the content security policy needs no exception. */
export const REFERENCE_STYLE = STYLESHEET;
