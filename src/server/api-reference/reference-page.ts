import { type Endpoint, isModelPolicy } from '../../contract/endpoint.ts';
import { DESCRIPTIONS_ZH_CN } from '../../contract/messages/descriptions-zh-cn.ts';
import { LOCALES, type Locale } from '../../contract/messages/format-message.ts';
import { SUMMARIES_ZH_CN } from '../../contract/messages/summaries-zh-cn.ts';
import { html, languageLinks, type Markup, standalonePage } from '../platform/html.ts';
import { schemaExample } from './openapi.ts';

/** Groups of the reference in the order of a reader's needs; others follow by name. */
export const GROUPS: readonly (readonly [tag: string, name: Readonly<Record<Locale, string>>])[] = [
  ['video', { en: 'Videos', 'zh-CN': '视频' }],
  ['files', { en: 'Files', 'zh-CN': '文件' }],
  ['batches', { en: 'Batches', 'zh-CN': '批量任务' }],
  ['models', { en: 'Models', 'zh-CN': '模型' }],
  ['chat', { en: 'Chat', 'zh-CN': '对话' }],
  ['tasks', { en: 'Tasks', 'zh-CN': '任务' }],
  ['tokens', { en: 'API keys', 'zh-CN': 'API 密钥' }],
  ['money', { en: 'Credits and receipts', 'zh-CN': '积分与扣费明细' }],
  ['packages', { en: 'Plans', 'zh-CN': '套餐' }],
  ['requests', { en: 'Requests', 'zh-CN': '请求记录' }],
  ['webhooks', { en: 'Webhooks', 'zh-CN': 'Webhook' }],
  ['notifications', { en: 'Notifications', 'zh-CN': '通知' }],
  ['accounts', { en: 'Accounts', 'zh-CN': '账号' }],
  ['organizations', { en: 'Organizations', 'zh-CN': '组织' }],
  ['device', { en: 'Device sign-in', 'zh-CN': '设备登录' }],
  ['oauth', { en: 'OAuth', 'zh-CN': 'OAuth' }],
  ['mcp', { en: 'Model Context Protocol', 'zh-CN': '模型上下文协议（MCP）' }],
  ['claude-code', { en: 'Claude Code', 'zh-CN': 'Claude Code' }],
  ['mailbox', { en: 'Mailboxes', 'zh-CN': '邮箱' }],
  ['tickets', { en: 'Support', 'zh-CN': '客服' }],
  ['beta-applications', { en: 'Beta access', 'zh-CN': '内测' }],
  ['service', { en: 'Service', 'zh-CN': '服务' }],
  ['channels', { en: 'Channels (administrators)', 'zh-CN': '渠道（管理员）' }],
  ['admin', { en: 'Administration', 'zh-CN': '管理' }],
];

const EN = {
  title: 'API guide and reference',
  language: 'Language',
  search: 'Search endpoints (press /)',
  none: 'No endpoint matches.',
  version: (version: string) => `Version ${version}`,
  files: 'For tools: ',
  start: 'Start here',
  startText: (url: string) =>
    `All calls go to ${url}. Create an API key in the console, and send it as “Authorization: Bearer …”. OpenAI clients work with ${url}/v1 as their base URL.`,
  createKey: 'Create an API key',
  video: 'Generate a video',
  videoText:
    'A video is a task: submitting returns its id, “wait=60” answers as soon as it has ended, and content is the MP4. A failed video is not charged; its error says why.',
  samples: 'Language of the samples',
  cost: 'Before and after',
  costText:
    'POST /v1/videos/quote returns the price without submitting. A submitted video reserves its price; the receipt shows what was charged and what was returned. Send an Idempotency-Key, so that a repeated submit does not generate a second video.',
  errors: 'Errors',
  errorsText:
    'Status 429 and 503 carry Retry-After: wait that long and retry. 400 names the wrong parameter, 401 a wrong key, 402 or “quota_not_enough” too few credits. Errors of /api have status 200 and “success”: false.',
  chat: 'Chat models',
  chatText:
    'The same key calls chat models in the formats of OpenAI, Anthropic and Gemini. GET /v1/models lists them; put one in place of YOUR_MODEL.',
  reference: 'Reference',
  credential: (name: string) => `Credential: ${name}.`,
  parameters: 'Parameters',
  body: 'Body',
  response: 'Response',
  example: 'Example',
  schema: 'Complete schema',
  required: 'required',
  try: 'Try it',
  key: 'API key',
  send: 'Send',
  sent: 'This is a real call. It may cost credits.',
  credentials: {
    public: 'none',
    self: 'see the description',
    model: 'API key, llm_token, or OAuth access token with the scope models',
    mcp: 'API key, llm_token, or OAuth access token for /mcp',
    'claude-code': 'access token of a Claude Code sign-in',
    account: 'session, management access token or device access token, with the user-id header',
    owner: 'session or management access token, with the user-id header',
    admin: 'administrator, with the user-id header',
    root: 'root, with the user-id header',
  },
};

/** Texts of the reference page. */
type ReferenceTexts = typeof EN;

const REFERENCE_TEXTS: Readonly<Record<Locale, ReferenceTexts>> = {
  en: EN,
  'zh-CN': {
    title: 'API 指南与参考',
    language: '语言',
    search: '搜索接口（按 /）',
    none: '没有匹配的接口。',
    version: (version) => `版本 ${version}`,
    files: '供工具使用：',
    start: '从这里开始',
    startText: (url) =>
      `所有请求发往 ${url}。请在控制台创建 API 密钥，并以“Authorization: Bearer …”发送。OpenAI 客户端的接口地址（Base URL）填 ${url}/v1。`,
    createKey: '创建 API 密钥',
    video: '生成视频',
    videoText:
      '每个视频是一个任务：提交后返回 id，“wait=60”在视频结束时立即返回，content 即 MP4 文件。失败的视频不扣费，错误信息会说明原因。',
    samples: '示例语言',
    cost: '费用',
    costText:
      'POST /v1/videos/quote 只返回价格，不提交。提交时预扣费用；扣费明细列出实际扣费与退还。请附带 Idempotency-Key，重复提交就不会生成第二个视频。',
    errors: '错误处理',
    errorsText:
      '429 和 503 带有 Retry-After：请等待后重试。400 会指出错误的参数，401 表示密钥错误，402 或“quota_not_enough”表示积分不足。/api 的错误状态码为 200，且“success”为 false。',
    chat: '对话模型',
    chatText:
      '同一个密钥可按 OpenAI、Anthropic 和 Gemini 的格式调用对话模型。GET /v1/models 列出可用模型，请用其中之一替换 YOUR_MODEL。',
    reference: '接口参考',
    credential: (name) => `凭证：${name}。`,
    parameters: '参数',
    body: '请求体',
    response: '响应',
    example: '示例',
    schema: '完整结构',
    required: '必填',
    try: '试一试',
    key: 'API 密钥',
    send: '发送',
    sent: '这是真实请求，可能会扣费。',
    credentials: {
      public: '无需凭证',
      self: '见说明',
      model: 'API 密钥、llm_token，或权限范围含 models 的 OAuth 访问令牌',
      mcp: 'API 密钥、llm_token，或用于 /mcp 的 OAuth 访问令牌',
      'claude-code': 'Claude Code 登录的访问令牌',
      account: '会话、管理访问令牌或设备访问令牌，并附用户 ID 请求头',
      owner: '会话或管理访问令牌，并附用户 ID 请求头',
      admin: '管理员，并附用户 ID 请求头',
      root: 'root，并附用户 ID 请求头',
    },
  },
};

/** A first video in several languages: submit, wait, and save the file unless the video failed. */
const videoSamples = (baseUrl: string): Readonly<Record<string, string>> => ({
  curl: `videos=${baseUrl}/v1/videos
auth='Authorization: Bearer YOUR_API_KEY'
video=$(curl -sS "$videos" -H "$auth" -H 'Content-Type: application/json' \\
  -d '{"model": "kling-v3", "prompt": "A paper boat drifts down a rainy street", "seconds": "5"}')
id=$(jq -r .id <<< "$video")
while jq -e '.status and .status != "completed" and .status != "failed"' <<< "$video" > /dev/null; do
  video=$(curl -sS "$videos/$id?wait=60" -H "$auth")
done
if jq -e '.status == "completed"' <<< "$video" > /dev/null
then curl -sS "$videos/$id/content" -H "$auth" -o video.mp4
else jq -r .error.message <<< "$video"; fi`,
  Python: `import requests  # pip install requests

session = requests.Session()
session.headers["Authorization"] = "Bearer YOUR_API_KEY"
videos = "${baseUrl}/v1/videos"

def read(response):
    video = response.json()
    if response.ok and video["status"] != "failed":
        return video
    raise SystemExit(video["error"]["message"])

video = read(session.post(videos, json={
    "model": "kling-v3", "prompt": "A paper boat drifts down a rainy street", "seconds": "5",
}))
while video["status"] != "completed":
    video = read(session.get(f"{videos}/{video['id']}?wait=60"))
with open("video.mp4", "wb") as file:
    file.write(session.get(f"{videos}/{video['id']}/content").content)`,
  'Node.js': `import { writeFile } from 'node:fs/promises';

const videos = '${baseUrl}/v1/videos';
const headers = { Authorization: 'Bearer YOUR_API_KEY', 'Content-Type': 'application/json' };
const body = JSON.stringify({ model: 'kling-v3', prompt: 'A paper boat drifts down a rainy street', seconds: '5' });
const read = async (response) => {
  const video = await response.json();
  if (response.ok && video.status !== 'failed') return video;
  throw new Error(video.error.message);
};
let video = await read(await fetch(videos, { method: 'POST', headers, body }));
while (video.status !== 'completed') {
  video = await read(await fetch(\`\${videos}/\${video.id}?wait=60\`, { headers }));
}
const file = await fetch(\`\${videos}/\${video.id}/content\`, { headers });
await writeFile('video.mp4', Buffer.from(await file.arrayBuffer()));`,
});

/** A chat call; its model is a placeholder, since no chat model is the same on every service. */
const chatSample = (baseUrl: string): string => `curl ${baseUrl}/v1/chat/completions \\
  -H 'Authorization: Bearer YOUR_API_KEY' -H 'Content-Type: application/json' \\
  -d '{"model": "YOUR_MODEL", "messages": [{"role": "user", "content": "Write a prompt for a video of the sea."}]}'`;

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
<p class="note">${texts.version(version)}${DOT}${texts.files}<a href="/openapi.json">OpenAPI 3.1</a>${DOT}<a href="/docs.md">Markdown</a>${DOT}<a href="/llms.txt">llms.txt</a></p></div>`,
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
  return html`<details class="endpoint" id="${id}" data-words="${`${method} ${path} ${summary} ${words}`.toLowerCase()}"><summary><b>${method}</b><code>${path}</code><span>${withCode(words)}</span></summary><div><p class="note">${texts.credential(texts.credentials[policy])}</p>
${toFields(texts.parameters, [params, query], texts, subject.locale)}${toFields(texts.body, [body], texts, subject.locale)}
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
function toFields(
  title: string,
  schemas: readonly unknown[],
  texts: ReferenceTexts,
  locale: Locale,
): Markup | undefined {
  const translate = (text: string): string => (locale === 'zh-CN' ? (DESCRIPTIONS_ZH_CN[text] ?? text) : text);
  const rows = schemas.flatMap((schema) => {
    const { properties = {}, required = [] } = (schema ?? {}) as {
      readonly properties?: Readonly<Record<string, FieldSchema>>;
      readonly required?: readonly string[];
    };
    return Object.entries(properties).map(
      ([name, field]) =>
        html`<dt><code>${name}</code></dt><dd>${describeType(field)}${required.includes(name) ? html`${DOT}<b>${texts.required}</b>` : undefined}${field.description === undefined ? undefined : html`<br>${withCode(translate(field.description))}`}</dd>`,
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
  { method, path, policy, query, accepts = 'json' }: Endpoint,
  request: string | undefined,
  texts: ReferenceTexts,
) {
  if (policy !== 'model' || accepts === 'upload') return undefined;
  const names = [...path.matchAll(/:(\w+)/g)].map(([, name]) => String(name));
  const { properties = {} } = (query ?? {}) as { readonly properties?: Readonly<Record<string, unknown>> };
  return html`<form class="try" hidden data-method="${method}" data-path="${path}"><h3>${texts.try}</h3><p class="note">${texts.sent}</p>
<label>${texts.key}<input name="key" type="password" autocomplete="new-password" required placeholder="sk-"></label>
${names.map((name) => html`<label>${name}<input name="${name}" required></label>`)}
${Object.keys(properties).map((name) => html`<label>${name}<input name="${name}" data-query></label>`)}
${request === undefined ? undefined : html`<label>${texts.body}<textarea name="body" rows="8" spellcheck="false">${request}</textarea></label>`}
<button>${texts.send}</button><output hidden></output></form>`;
}

/** Script of the API reference: search, chosen language of samples, and trying endpoints. The page works without it. */
export const REFERENCE_SCRIPT = `'use strict';
const search = document.querySelector('#search');
const entries = [...document.querySelectorAll('.reference details.endpoint')];
const sections = [...document.querySelectorAll('.reference section.group')];
search.hidden = false;
search.addEventListener('input', () => {
  const words = search.value.toLowerCase().split(/\\s+/).filter(Boolean);
  for (const entry of entries) {
    const text = entry.dataset.words;
    entry.hidden = !words.every((word) => text.includes(word));
  }
  for (const section of sections) section.hidden = !section.querySelector('details.endpoint:not([hidden])');
  document.querySelector('#guide').hidden = words.length > 0;
  document.querySelector('#none').hidden = entries.some((entry) => !entry.hidden);
});
document.addEventListener('keydown', (event) => {
  if (event.key === '/' && !/^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName)) {
    event.preventDefault();
    search.focus();
  }
});
const showLanguage = (language) => {
  for (const each of document.querySelectorAll('.tabs button'))
    each.setAttribute('aria-pressed', String(each.dataset.language === language));
  for (const sample of document.querySelectorAll('pre[data-language]')) sample.hidden = sample.dataset.language !== language;
};
showLanguage('curl');
for (const button of document.querySelectorAll('.tabs button'))
  button.addEventListener('click', () => showLanguage(button.dataset.language));
for (const form of document.querySelectorAll('form.try')) {
  form.hidden = false;
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    const output = form.querySelector('output');
    output.hidden = false;
    output.textContent = '…';
    const { method, path } = form.dataset;
    const value = (name) => form.elements.namedItem(name)?.value ?? '';
    const query = new URLSearchParams();
    for (const field of form.querySelectorAll('[data-query]')) if (field.value) query.set(field.name, field.value);
    const url = path.replace(/:(\\w+)/g, (_, name) => encodeURIComponent(value(name))) + (query.size ? '?' + query : '');
    const headers = { Authorization: 'Bearer ' + value('key') };
    const body = method === 'GET' ? undefined : value('body');
    if (body) headers['Content-Type'] = 'application/json';
    try {
      const response = await fetch(url, { method, headers, body, credentials: 'omit' });
      const type = response.headers.get('content-type') ?? '';
      const text = /json|text/.test(type) ? await response.text() : '(' + type + ')';
      output.textContent = response.status + '\\n' + (type.includes('json') ? pretty(text) : text);
    } catch (error) {
      output.textContent = String(error);
    }
  });
}
function pretty(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
if (location.hash) document.getElementById(location.hash.slice(1))?.setAttribute('open', '');
`;
