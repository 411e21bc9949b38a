import type { ChannelVendor } from '../../channels/directory.ts';
import type { ProgramName } from '../source/detect-program.ts';

/** What a channel type of the source is here. */
export interface ChannelType {
  readonly title: string;
  /** Vendor of its chat models; undefined: they speak no protocol of ours. */
  readonly chat?: ChannelVendor | 'anthropic' | 'gemini';
  /** Vendor of its videos, and which of its models those are. */
  readonly video?: { readonly vendor: ChannelVendor; readonly models: RegExp };
  /** Where it is called when the row names no address. */
  readonly baseUrl?: string;
  /** How one key is written; default one plain key. */
  readonly keys?: 'pair' | 'service-account';
}

const ANY = /./;
const SORA = { vendor: 'sora', models: /^sora-/i } as const;
const SEEDANCE = { vendor: 'seedance', models: /seedance/i } as const;
const HAILUO = { vendor: 'hailuo', models: /hailuo|^[TISR]2V-/i } as const;
const WAN = { vendor: 'wan', models: /^wan/i } as const;
const VEO = { vendor: 'veo', models: /^veo-/i } as const;

const openai = (title: string, baseUrl?: string): ChannelType =>
  baseUrl === undefined ? { title, chat: 'openai' } : { title, chat: 'openai', baseUrl };
const other = (title: string): ChannelType => ({ title });

/** Numbers both programs share (constant/channel.go, relay/channeltype). */
const SHARED: Readonly<Record<number, ChannelType>> = {
  1: { ...openai('OpenAI', 'https://api.openai.com'), video: SORA },
  3: other('Azure'),
  6: openai('OpenAIMax'),
  7: openai('OhMyGPT'),
  8: openai('Custom'),
  9: openai('AILS'),
  10: openai('AIProxy'),
  11: other('PaLM'),
  12: openai('API2GPT'),
  13: openai('AIGC2D'),
  14: { title: 'Anthropic', chat: 'anthropic', baseUrl: 'https://api.anthropic.com' },
  15: other('Baidu'),
  16: other('Zhipu'),
  17: { title: 'Ali', video: WAN, baseUrl: 'https://dashscope.aliyuncs.com' },
  18: other('Xunfei'),
  19: openai('360'),
  20: openai('OpenRouter'),
  21: other('AIProxyLibrary'),
  22: other('FastGPT'),
  23: other('Tencent'),
  24: { title: 'Gemini', chat: 'gemini', video: VEO, baseUrl: 'https://generativelanguage.googleapis.com' },
  25: openai('Moonshot', 'https://api.moonshot.cn'),
  31: openai('LingYiWanWu', 'https://api.lingyiwanwu.com'),
};

const NEW_API: Readonly<Record<number, ChannelType>> = {
  2: other('Midjourney'),
  4: openai('Ollama'),
  5: other('MidjourneyPlus'),
  26: other('Zhipu v4'),
  27: other('Perplexity'),
  33: other('AWS'),
  34: other('Cohere'),
  35: { title: 'MiniMax', video: HAILUO, baseUrl: 'https://api.minimax.chat' },
  36: other('Suno'),
  37: other('Dify'),
  38: other('Jina'),
  39: other('Cloudflare'),
  40: openai('SiliconFlow', 'https://api.siliconflow.cn'),
  41: { title: 'Vertex', video: VEO, keys: 'service-account' },
  42: openai('Mistral', 'https://api.mistral.ai'),
  43: openai('DeepSeek', 'https://api.deepseek.com'),
  45: { title: 'VolcEngine', video: SEEDANCE, baseUrl: 'https://ark.cn-beijing.volces.com' },
  47: openai('Xinference'),
  48: openai('xAI', 'https://api.x.ai'),
  50: { title: 'Kling', video: { vendor: 'kling', models: ANY }, keys: 'pair', baseUrl: 'https://api.klingai.com' },
  51: {
    title: 'Jimeng',
    video: { vendor: 'jimeng', models: ANY },
    keys: 'pair',
    baseUrl: 'https://visual.volcengineapi.com',
  },
  52: { title: 'Vidu', video: { vendor: 'vidu', models: ANY }, baseUrl: 'https://api.vidu.cn' },
  53: openai('Submodel'),
  54: {
    title: 'Doubao video',
    video: { vendor: 'seedance', models: ANY },
    baseUrl: 'https://ark.cn-beijing.volces.com',
  },
  55: { title: 'Sora', video: { vendor: 'sora', models: ANY }, baseUrl: 'https://api.openai.com' },
  60: openai('new-api'),
  62: openai('vLLM'),
  63: openai('SGLang'),
};

const ONE_API: Readonly<Record<number, ChannelType>> = {
  2: openai('API2D'),
  4: openai('CloseAI'),
  5: openai('OpenAI-SB'),
  26: openai('Baichuan', 'https://api.baichuan-ai.com'),
  27: other('MiniMax'),
  28: openai('Mistral', 'https://api.mistral.ai'),
  29: other('Groq'),
  30: openai('Ollama'),
  32: openai('StepFun', 'https://api.stepfun.com'),
  36: openai('DeepSeek', 'https://api.deepseek.com'),
  39: openai('Together', 'https://api.together.xyz'),
  44: openai('SiliconFlow', 'https://api.siliconflow.cn'),
  45: openai('xAI', 'https://api.x.ai'),
  50: openai('OpenAI compatible'),
};

/** Undefined for a number this table does not know. */
export function channelTypeOf(program: ProgramName, type: number): ChannelType | undefined {
  return (program === 'new-api' ? NEW_API : ONE_API)[type] ?? SHARED[type];
}

/** New-api's later releases name the vendor of a video channel in its settings (type 61, `task_plugin_key`). */
export const PLUGIN_VENDORS: Readonly<Record<string, ChannelType>> = {
  kling: NEW_API[50] as ChannelType,
  jimeng: NEW_API[51] as ChannelType,
  vidu: NEW_API[52] as ChannelType,
  doubao: NEW_API[54] as ChannelType,
  sora: NEW_API[55] as ChannelType,
  hailuo: { ...(NEW_API[35] as ChannelType), video: { vendor: 'hailuo', models: ANY } },
  alibaba: { ...(SHARED[17] as ChannelType), video: { vendor: 'wan', models: ANY } },
  google: {
    title: 'Google',
    video: { vendor: 'veo', models: ANY },
    baseUrl: 'https://generativelanguage.googleapis.com',
  },
  'vertex-ai': { title: 'Vertex', video: { vendor: 'veo', models: ANY }, keys: 'service-account' },
};
