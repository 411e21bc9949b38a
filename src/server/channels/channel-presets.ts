import type { ChatVendor } from '../../contract/channels.ts';
import type { Localized } from '../../contract/messages/format-message.ts';
import { endpointUrl, openaiUrl } from '../upstreams/upstream.ts';

/** A known provider: the values an administrator enters to create a channel to it. */
export interface Preset {
  readonly id: string;
  readonly title: string;
  /** Default: the title. */
  readonly titleZh?: string;
  readonly dialect: ChatVendor;
  /** Parts in braces are replaced by the administrator's own values. */
  readonly baseUrl: string;
  /** Page on which the provider issues keys; empty if no key is needed. */
  readonly keyPage: string;
  readonly options: Readonly<Record<string, unknown>>;
  readonly deviations: readonly Localized[];
}

const MODEL_LISTS: Readonly<Record<ChatVendor, string>> = {
  openai: '/v1/models',
  anthropic: '/v1/models',
  gemini: '/v1beta/models',
};

/** The URL from which a channel test reads the models. */
export const modelListOf = ({ dialect, ...address }: Pick<Preset, 'dialect' | 'baseUrl' | 'options'>): string =>
  dialect === 'openai' ? openaiUrl(address, MODEL_LISTS.openai) : endpointUrl(address, MODEL_LISTS[dialect]);

const note = (en: string, zh: string): Localized => ({ en, 'zh-CN': zh });

/** Providers without the Responses API: calls are converted to chat completions. */
const NO_RESPONSES = { responses: false } as const;
const CHAT_ONLY = note(
  'It has no Responses API; such calls are converted to chat completions.',
  '不支持 Responses 接口；此类调用会转换为对话补全。',
);
const otherRegion = (url: string, where: string, whereZh: string): Localized =>
  note(`Keys of ${where} belong to ${url}.`, `${whereZh}的密钥请使用 ${url}。`);
const anyKey = (command: string): Localized =>
  note(
    `It takes any key unless it was started with one. ${command}`.trim(),
    `未设置密钥时可填任意内容。${command === '' ? '' : '默认只监听本机，其他机器访问请调整监听地址。'}`,
  );
const AZURE_MODELS = note(
  'The list has all models of the region: add those you deployed, under the names of their deployments.',
  '列表包含该区域的全部模型：请只添加已部署的模型，名称为部署名。',
);

/** Providers in display order. Base URLs as in their own documentation, read on 2026-11-28. */
export const CHANNEL_PRESETS: readonly Preset[] = [
  {
    id: 'openai',
    title: 'OpenAI',
    dialect: 'openai',
    baseUrl: 'https://api.openai.com/v1',
    keyPage: 'https://platform.openai.com/api-keys',
    options: {},
    deviations: [],
  },
  {
    id: 'anthropic',
    title: 'Anthropic',
    dialect: 'anthropic',
    baseUrl: 'https://api.anthropic.com/v1',
    keyPage: 'https://platform.claude.com/settings/keys',
    options: {},
    deviations: [],
  },
  {
    id: 'gemini',
    title: 'Google Gemini',
    dialect: 'gemini',
    baseUrl: 'https://generativelanguage.googleapis.com/v1beta',
    keyPage: 'https://aistudio.google.com/apikey',
    options: {},
    deviations: [
      note(
        'Videos (Veo) need a channel of the vendor Veo with the same key.',
        '视频（Veo）需另建供应商为 Veo 的渠道，可使用同一密钥。',
      ),
    ],
  },
  {
    id: 'azure-v1',
    title: 'Azure OpenAI (v1)',
    titleZh: 'Azure OpenAI（v1）',
    dialect: 'openai',
    baseUrl: 'https://{resource}.openai.azure.com/openai/v1',
    keyPage: 'https://portal.azure.com',
    options: { api: 'azure' },
    deviations: [note('Models are called by the names of their deployments.', '模型名称即部署名。'), AZURE_MODELS],
  },
  {
    id: 'azure-deployments',
    title: 'Azure OpenAI (deployments)',
    titleZh: 'Azure OpenAI（部署）',
    dialect: 'openai',
    baseUrl: 'https://{resource}.openai.azure.com',
    keyPage: 'https://portal.azure.com',
    options: { api: 'azure', api_version: '2024-10-21', ...NO_RESPONSES },
    deviations: [
      note(
        'The dated API: the URL names the deployment, which is the name of the model. The API version is a setting of the channel.',
        '带日期版本的接口：URL 中的部署名即模型名称，API 版本在渠道中设置。',
      ),
      AZURE_MODELS,
      CHAT_ONLY,
    ],
  },
  {
    id: 'openrouter',
    title: 'OpenRouter',
    dialect: 'openai',
    baseUrl: 'https://openrouter.ai/api/v1',
    keyPage: 'https://openrouter.ai/settings/keys',
    options: {},
    deviations: [
      note(
        'The list is public: a test shows that the address is right, not that the key is.',
        '模型列表是公开的：测试只能确认地址正确，不能确认密钥有效。',
      ),
    ],
  },
  {
    id: 'deepseek',
    title: 'DeepSeek',
    dialect: 'openai',
    baseUrl: 'https://api.deepseek.com/v1',
    keyPage: 'https://platform.deepseek.com/api_keys',
    options: NO_RESPONSES,
    deviations: [CHAT_ONLY],
  },
  {
    id: 'moonshot',
    title: 'Moonshot (Kimi)',
    titleZh: '月之暗面（Kimi）',
    dialect: 'openai',
    baseUrl: 'https://api.moonshot.cn/v1',
    keyPage: 'https://platform.moonshot.cn/console/api-keys',
    options: NO_RESPONSES,
    deviations: [
      otherRegion('https://api.moonshot.ai/v1', 'platform.moonshot.ai', '国际站（platform.moonshot.ai）'),
      CHAT_ONLY,
    ],
  },
  {
    id: 'zhipu',
    title: 'Zhipu (GLM)',
    titleZh: '智谱（GLM）',
    dialect: 'openai',
    baseUrl: 'https://open.bigmodel.cn/api/paas/v4',
    keyPage: 'https://open.bigmodel.cn/usercenter/apikeys',
    options: NO_RESPONSES,
    deviations: [otherRegion('https://api.z.ai/api/paas/v4', 'z.ai', '国际站（z.ai）'), CHAT_ONLY],
  },
  {
    id: 'dashscope',
    title: 'DashScope (Qwen)',
    titleZh: '阿里云百炼（通义千问）',
    dialect: 'openai',
    baseUrl: 'https://dashscope.aliyuncs.com/compatible-mode/v1',
    keyPage: 'https://bailian.console.aliyun.com/?tab=model#/api-key',
    options: NO_RESPONSES,
    deviations: [
      otherRegion('https://dashscope-intl.aliyuncs.com/compatible-mode/v1', 'the international site', '国际站'),
      CHAT_ONLY,
    ],
  },
  {
    id: 'ark',
    title: 'Volcengine Ark (Doubao)',
    titleZh: '火山方舟（豆包）',
    dialect: 'openai',
    baseUrl: 'https://ark.cn-beijing.volces.com/api/v3',
    keyPage: 'https://console.volcengine.com/ark/region:ark+cn-beijing/apiKey',
    options: {},
    deviations: [
      note(
        'A model has to be activated in the console first; an endpoint (ep-…) can be called by its id.',
        '模型需先在控制台开通；推理接入点可用其 ID（ep-…）调用。',
      ),
    ],
  },
  {
    id: 'siliconflow',
    title: 'SiliconFlow',
    titleZh: '硅基流动',
    dialect: 'openai',
    baseUrl: 'https://api.siliconflow.cn/v1',
    keyPage: 'https://cloud.siliconflow.cn/account/ak',
    options: NO_RESPONSES,
    deviations: [
      otherRegion('https://api.siliconflow.com/v1', 'siliconflow.com', '国际站（siliconflow.com）'),
      CHAT_ONLY,
    ],
  },
  {
    id: 'minimax',
    title: 'MiniMax',
    dialect: 'openai',
    baseUrl: 'https://api.minimaxi.com/v1',
    keyPage: 'https://platform.minimaxi.com/user-center/basic-information/interface-key',
    options: {},
    deviations: [
      otherRegion('https://api.minimax.io/v1', 'platform.minimax.io', '国际站（platform.minimax.io）'),
      note(
        'Most models write their reasoning into the text, in <think>.',
        '多数模型会把思考过程写在正文的 <think> 中。',
      ),
    ],
  },
  {
    id: 'xai',
    title: 'xAI',
    dialect: 'openai',
    baseUrl: 'https://api.x.ai/v1',
    keyPage: 'https://console.x.ai',
    options: {},
    deviations: [],
  },
  {
    id: 'groq',
    title: 'Groq',
    dialect: 'openai',
    baseUrl: 'https://api.groq.com/openai/v1',
    keyPage: 'https://console.groq.com/keys',
    options: {},
    deviations: [],
  },
  {
    id: 'mistral',
    title: 'Mistral',
    dialect: 'openai',
    baseUrl: 'https://api.mistral.ai/v1',
    keyPage: 'https://console.mistral.ai/api-keys',
    options: NO_RESPONSES,
    deviations: [CHAT_ONLY],
  },
  {
    id: 'together',
    title: 'Together AI',
    dialect: 'openai',
    baseUrl: 'https://api.together.xyz/v1',
    keyPage: 'https://api.together.ai/settings/api-keys',
    options: NO_RESPONSES,
    deviations: [
      note(
        'Its list of models is a bare array, not an object with `data`.',
        '其模型列表是数组，而不是带 data 的对象。',
      ),
      CHAT_ONLY,
    ],
  },
  {
    id: 'fireworks',
    title: 'Fireworks AI',
    dialect: 'openai',
    baseUrl: 'https://api.fireworks.ai/inference/v1',
    keyPage: 'https://app.fireworks.ai/settings/users/api-keys',
    options: {},
    deviations: [
      note('Names of models are long: accounts/fireworks/models/….', '模型名称较长：accounts/fireworks/models/…。'),
    ],
  },
  {
    id: 'ollama',
    title: 'Ollama',
    dialect: 'openai',
    baseUrl: 'http://127.0.0.1:11434/v1',
    keyPage: '',
    options: { private: true },
    deviations: [anyKey('OLLAMA_HOST=0.0.0.0 makes it reachable from other machines.')],
  },
  {
    id: 'vllm',
    title: 'vLLM',
    dialect: 'openai',
    baseUrl: 'http://127.0.0.1:8000/v1',
    keyPage: '',
    options: { private: true },
    deviations: [anyKey('')],
  },
  {
    id: 'lm-studio',
    title: 'LM Studio',
    dialect: 'openai',
    baseUrl: 'http://127.0.0.1:1234/v1',
    keyPage: '',
    options: { private: true },
    deviations: [anyKey('“Serve on local network” makes it reachable from other machines.')],
  },
];
