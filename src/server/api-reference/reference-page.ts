import { type Endpoint, isModelPolicy } from '../../contract/endpoint.ts';
import { LOCALES, type Locale } from '../../contract/messages/format-message.ts';
import { SUMMARIES_ZH_CN } from '../../contract/messages/summaries-zh-cn.ts';
import { html, languageLinks, type Markup, standalonePage } from '../platform/html.ts';
import { chatSample, GROUPS, REFERENCE_TEXTS, type ReferenceTexts, videoSamples } from './reference-texts.ts';
import { schemaExample } from './schema-example.ts';

/** What the page says about the service. */
export interface ReferenceSubject {
  readonly version: string;
  readonly baseUrl: string;
  readonly siteName: string;
  /** Header that names the account beside a management credential. */
  readonly userHeader: string;
  readonly locale: Locale;
}

/** The guide, then every endpoint of the contract: videos first, administration last. */
export function toReferencePage(endpoints: readonly Endpoint[], subject: ReferenceSubject): string {
  const { version, siteName, locale } = subject;
  const texts = REFERENCE_TEXTS[locale];
  const groups = groupEndpoints(endpoints, locale);
  return standalonePage({
    locale,
    siteName,
    title: texts.title,
    wide: true,
    head: html`<script src="/docs.js" defer></script>
`,
    nav: languageLinks(locale, texts.language, (each) => `/docs?lang=${each}`),
    main: html`<div class="reference"><h1>${texts.title}</h1>
<input id="search" type="search" hidden aria-label="${texts.search}" placeholder="${texts.search}">
<nav aria-label="${texts.reference}">${groups.map(({ tag, name }) => html`<a href="#${tag}">${name}</a> `)}</nav>
${toGuide(subject, texts)}
<p id="none" hidden role="status">${texts.none}</p>
${groups.map(({ tag, name, members }) => html`<section class="group" id="${tag}"><h2>${name}</h2>${members.map((each) => toSection(each, texts, subject))}</section>`)}
<p class="note">${texts.version(version)}${DOT}${texts.files}: <a href="/openapi.json">OpenAPI 3.1</a>${DOT}<a href="/docs.md">Markdown</a>${DOT}<a href="/llms.txt">llms.txt</a></p></div>`,
  });
}

/** A constant, because the bundle is ASCII and template literals cannot be escaped. */
const DOT = ' · ';

/** Languages of the page. */
export const REFERENCE_LOCALES: readonly Locale[] = LOCALES;

function groupEndpoints(endpoints: readonly Endpoint[], locale: Locale) {
  const known = new Map(GROUPS.map(([tag, names]) => [tag, names[locale]]));
  const tags = [...known.keys(), ...new Set(endpoints.map(({ tag }) => tag).filter((tag) => !known.has(tag)))];
  return tags
    .map((tag) => ({
      tag,
      name: known.get(tag) ?? tag,
      members: endpoints.filter((endpoint) => endpoint.tag === tag).sort((a, b) => rankOf(a) - rankOf(b)),
    }))
    .filter(({ members }) => members.length > 0);
}

/** The versioned API first, shortest paths first; then the console's; then vendors' own formats. */
const rankOf = ({ path }: Endpoint): number =>
  path.startsWith('/v1/') ? path.length : path.startsWith('/api/') ? PATH_LENGTH : 2 * PATH_LENGTH;
const PATH_LENGTH = 1_000;

function toGuide({ baseUrl }: ReferenceSubject, texts: ReferenceTexts): Markup {
  const samples = Object.entries(videoSamples(baseUrl));
  return html`<div id="guide">
<h2>${texts.start}</h2><p>${texts.startText(baseUrl)}</p>
<p><a class="button" href="/account/tokens">${texts.createKey}</a></p>
<h2>${texts.video}</h2><p>${texts.videoText}</p>
<div class="tabs" role="group" aria-label="${texts.samples}">${samples.map(([language], index) => html`<button type="button" data-language="${language}" aria-pressed="${index === 0 ? 'true' : 'false'}">${language}</button>`)}</div>
${samples.map(([language, sample]) => html`<pre tabindex="0" data-language="${language}" aria-label="${language}">${sample}</pre>`)}
<h2>${texts.cost}</h2><p>${texts.costText}</p>
<h2>${texts.errors}</h2><p>${texts.errorsText}</p>
<h2>${texts.chat}</h2><p>${texts.chatText}</p><pre tabindex="0">${chatSample(baseUrl)}</pre>
</div>`;
}

function toSection(endpoint: Endpoint, texts: ReferenceTexts, subject: ReferenceSubject): Markup {
  const { method, path, summary, policy, params, query, body, response, documentedResponse = response } = endpoint;
  const words = subject.locale === 'zh-CN' ? (SUMMARIES_ZH_CN[summary] ?? summary) : summary;
  const id = `${method}${path}`.replace(/[^A-Za-z0-9]+/g, '-').toLowerCase();
  const request = body === undefined ? undefined : JSON.stringify(schemaExample(body, true), null, 2);
  const shown = documentedResponse === undefined ? undefined : toJson(schemaExample(documentedResponse, false));
  return html`<details class="endpoint" id="${id}" data-words="${`${method} ${path} ${summary} ${words}`.toLowerCase()}"><summary><b>${method}</b><code>${path}</code><span>${withCode(words)}</span></summary><div><p class="note">${texts.credential}: ${texts.credentials[policy]}.</p>
${toFields(texts.parameters, [params, query], texts)}${toFields(texts.body, [body], texts)}
<h3>${texts.example}</h3><pre tabindex="0">${toCurl(endpoint, request, subject)}</pre>
${shown === undefined ? undefined : html`<h3>${texts.response}</h3><pre tabindex="0">${shown}</pre>`}
${toTry(endpoint, request, texts)}</div></details>`;
}

const toJson = (value: unknown): string => JSON.stringify(value, null, 2);

/** Texts of the contract mark code by backticks. */
function withCode(text: string): Markup {
  const parts = text.split('`');
  return html`${parts.map((part, index) => (index % 2 === 1 ? html`<code>${part}</code>` : html`${part}`))}`;
}

interface FieldSchema {
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly FieldSchema[];
  readonly description?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly maxLength?: number;
  readonly default?: unknown;
}

/** The members of the schemas as a list of name, type, limits and description. */
function toFields(title: string, schemas: readonly unknown[], texts: ReferenceTexts): Markup | undefined {
  const rows = schemas.flatMap((schema) => {
    const { properties = {}, required = [] } = (schema ?? {}) as {
      readonly properties?: Readonly<Record<string, FieldSchema>>;
      readonly required?: readonly string[];
    };
    return Object.entries(properties).map(
      ([name, field]) =>
        html`<dt><code>${name}</code></dt><dd>${describeType(field)}${required.includes(name) ? html`${DOT}<b>${texts.required}</b>` : undefined}${field.description === undefined ? undefined : html`<br>${withCode(field.description)}`}</dd>`,
    );
  });
  return rows.length === 0 ? undefined : html`<h3>${title}</h3><dl>${rows}</dl>`;
}

const MAX_LISTED_VALUES = 12;

function describeType(field: FieldSchema): string {
  if (field.const !== undefined) return JSON.stringify(field.const);
  if (field.enum !== undefined) {
    const listed = field.enum.slice(0, MAX_LISTED_VALUES).map((value) => JSON.stringify(value));
    return [...listed, ...(field.enum.length > MAX_LISTED_VALUES ? ['…'] : [])].join(' | ');
  }
  if (field.anyOf !== undefined) return [...new Set(field.anyOf.map(describeType))].join(' | ');
  const limits = [field.minimum, field.maximum].some((limit) => limit !== undefined)
    ? ` ${field.minimum ?? ''}–${field.maximum ?? ''}`
    : field.maxLength === undefined
      ? ''
      : ` ≤ ${field.maxLength}`;
  return `${Array.isArray(field.type) ? field.type.join(' | ') : (field.type ?? 'any')}${limits}`;
}

function toCurl(
  { method, path, policy, accepts }: Endpoint,
  request: string | undefined,
  { baseUrl, userHeader }: ReferenceSubject,
): string {
  const url = `${baseUrl}${path.replace(/:(\w+)/g, '{$1}')}`;
  const headers = [
    ...(policy === 'public' || policy === 'self'
      ? []
      : isModelPolicy(policy)
        ? ['Authorization: Bearer YOUR_API_KEY']
        : ['Authorization: Bearer YOUR_ACCESS_TOKEN', `${userHeader}: 1`]),
    ...(request === undefined || accepts === 'upload' ? [] : ['Content-Type: application/json']),
  ].map((header) => `-H '${header}'`);
  const verb = method === 'GET' || (method === 'POST' && request !== undefined) ? [] : [`-X ${method}`];
  const data =
    accepts === 'upload'
      ? ['-F file=@video.mp4']
      : request === undefined
        ? []
        : [`-d '${request.replaceAll("'", "'\\''")}'`];
  return [['curl', ...verb, `'${url}'`].join(' '), ...headers, ...data].join(' \\\n  ');
}

/** A form that calls the endpoint with the reader's own key; only where a key is all it needs. */
function toTry(
  { method, path, policy, accepts = 'json' }: Endpoint,
  request: string | undefined,
  texts: ReferenceTexts,
) {
  if (policy !== 'model' || accepts === 'upload') return undefined;
  const names = [...path.matchAll(/:(\w+)/g)].map(([, name]) => String(name));
  return html`<form class="try" hidden data-method="${method}" data-path="${path}"><h3>${texts.try}</h3><p class="note">${texts.sent}</p>
<label>${texts.key}<input name="key" type="password" autocomplete="off" required placeholder="sk-"></label>
${names.map((name) => html`<label>${name}<input name="${name}" required></label>`)}
${request === undefined ? undefined : html`<label>${texts.body}<textarea name="body" rows="8" spellcheck="false">${request}</textarea></label>`}
<button>${texts.send}</button><output hidden></output></form>`;
}
