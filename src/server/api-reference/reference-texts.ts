import type { Locale } from '../../contract/messages/format-message.ts';

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
  files: 'For tools',
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
  chatText: 'The same key calls chat models in the formats of OpenAI, Anthropic and Gemini.',
  reference: 'Reference',
  credential: 'Credential',
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
    account: 'session, user access token or device access token, with the user-id header',
    owner: 'session or user access token, with the user-id header',
    admin: 'administrator, with the user-id header',
    root: 'root, with the user-id header',
  },
};

/** Texts of the reference page. */
export type ReferenceTexts = typeof EN;

export const REFERENCE_TEXTS: Readonly<Record<Locale, ReferenceTexts>> = {
  en: EN,
  'zh-CN': {
    title: 'API 指南与参考',
    language: '语言',
    search: '搜索接口（按 /）',
    none: '没有匹配的接口。',
    version: (version) => `版本 ${version}`,
    files: '供工具使用',
    start: '从这里开始',
    startText: (url) =>
      `所有请求发往 ${url}。请在控制台创建 API 密钥，并以“Authorization: Bearer …”发送。OpenAI 客户端的基础地址填 ${url}/v1。`,
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
    chatText: '同一个密钥可按 OpenAI、Anthropic 和 Gemini 的格式调用对话模型。',
    reference: '接口参考',
    credential: '凭证',
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
      account: '会话、用户访问令牌或设备访问令牌，并附用户 ID 请求头',
      owner: '会话或用户访问令牌，并附用户 ID 请求头',
      admin: '管理员，并附用户 ID 请求头',
      root: 'root，并附用户 ID 请求头',
    },
  },
};

/** A first video in several languages: submit, wait, and save the file unless the video failed. */
export const videoSamples = (baseUrl: string): Readonly<Record<string, string>> => ({
  curl: `videos=${baseUrl}/v1/videos
auth='Authorization: Bearer YOUR_API_KEY'
id=$(curl -fsS "$videos" -H "$auth" -H 'Content-Type: application/json' \\
  -d '{"model": "kling-v3", "prompt": "A paper boat drifts down a rainy street", "seconds": "5"}' | jq -r .id)
status=queued
until [ "$status" = completed ] || [ "$status" = failed ]; do
  status=$(curl -fsS "$videos/$id?wait=60" -H "$auth" | jq -r .status)
done
if [ "$status" = completed ]; then curl -fsS "$videos/$id/content" -H "$auth" -o video.mp4
else curl -sS "$videos/$id" -H "$auth" | jq -r .error.message; fi`,
  Python: `import requests  # pip install requests

session = requests.Session()
session.headers["Authorization"] = "Bearer YOUR_API_KEY"
videos = "${baseUrl}/v1/videos"

response = session.post(videos, json={
    "model": "kling-v3", "prompt": "A paper boat drifts down a rainy street", "seconds": "5",
})
if not response.ok:
    raise SystemExit(response.json()["message"])
video = response.json()
while video["status"] not in ("completed", "failed"):
    video = session.get(f"{videos}/{video['id']}?wait=60").json()
if video["status"] == "failed":
    raise SystemExit(video["error"]["message"])
with open("video.mp4", "wb") as file:
    file.write(session.get(f"{videos}/{video['id']}/content").content)`,
  'Node.js': `import { writeFile } from 'node:fs/promises';

const videos = '${baseUrl}/v1/videos';
const headers = { Authorization: 'Bearer YOUR_API_KEY', 'Content-Type': 'application/json' };
const body = JSON.stringify({ model: 'kling-v3', prompt: 'A paper boat drifts down a rainy street', seconds: '5' });
const response = await fetch(videos, { method: 'POST', headers, body });
let video = await response.json();
if (!response.ok) throw new Error(video.message);
while (video.status !== 'completed' && video.status !== 'failed') {
  video = await (await fetch(\`\${videos}/\${video.id}?wait=60\`, { headers })).json();
}
if (video.status === 'failed') throw new Error(video.error.message);
const file = await fetch(\`\${videos}/\${video.id}/content\`, { headers });
await writeFile('video.mp4', Buffer.from(await file.arrayBuffer()));`,
});

/** A chat call. */
export const chatSample = (baseUrl: string): string => `curl ${baseUrl}/v1/chat/completions \\
  -H 'Authorization: Bearer YOUR_API_KEY' -H 'Content-Type: application/json' \\
  -d '{"model": "gpt-5.2", "messages": [{"role": "user", "content": "Write a prompt for a video of the sea."}]}'`;
