import type { ChannelVendor } from '../../src/server/channels/tables.ts';
import type { ProgramName, SourceRow } from '../source.ts';
import {
  isDeleted,
  mapped,
  type Outcome,
  objectOf,
  parseList,
  parseObject,
  skipped,
  smallIntegerOf,
  splitList,
  textOf,
  toPlainText,
} from './values.ts';

/** A channel to create. A row of the source becomes one channel for each of its vendors. */
export interface ImportedChannel {
  readonly sourceId: number;
  readonly name: string;
  readonly vendor: ChannelVendor;
  /** Empty: the vendor's default. */
  readonly baseUrl: string;
  /** At least one, without duplicates. */
  readonly credentials: readonly ImportedCredential[];
  readonly models: readonly string[];
  readonly priority: number;
  readonly weight: number;
  readonly isEnabled: boolean;
  readonly modelMapping: Readonly<Record<string, string>>;
  readonly extraHeaders: Readonly<Record<string, string>> | undefined;
  readonly proxy: string | undefined;
}

interface ImportedCredential {
  readonly values: Readonly<Record<string, unknown>>;
  readonly enabled: boolean;
}

/** Whether the service has a vendor of this name. */
type HasVendor = (name: string) => name is ChannelVendor;

const MODEL_ID = /^[A-Za-z0-9][A-Za-z0-9._:@/-]{0,199}$/;
const MAX_MODELS = 500;
/** Characters of a list of names in a remark. */
const MAX_LISTED = 2_000;
const MAX_CREDENTIALS = 500;
const bounded = (value: number, least: number, most: number): number => Math.min(Math.max(value, least), most);

/** Maps one row of `channels`. The same type number means different things in the two programs. */
export function mapChannel(
  row: SourceRow,
  program: ProgramName,
  hasVendor: HasVendor,
): Outcome<readonly ImportedChannel[]> {
  if (isDeleted(row)) return skipped('the channel was deleted there');
  const type = typeOf(row, program);
  if (type === undefined) return skipped(`channels of type ${textOf(row, 'type')} have no counterpart`);
  const remarks: string[] = [];
  const names = [...new Set(splitList(textOf(row, 'models')))];
  const [unusable, usable] = [
    names.filter((name) => !MODEL_ID.test(name)),
    names.filter((name) => MODEL_ID.test(name)),
  ];
  const models = usable.slice(0, MAX_MODELS);
  if (unusable.length > 0)
    remarks.push(`models left out, whose names cannot be used here: ${toPlainText(unusable.join(', '), MAX_LISTED)}`);
  if (usable.length > MAX_MODELS)
    remarks.push(
      `models left out, because a channel has at most ${MAX_MODELS}: ${usable.slice(MAX_MODELS).join(', ')}`,
    );
  const served = modelsByVendor(models, type, hasVendor);
  if (served.length === 0) return skipped(`${type.title} serves no model here in a protocol that is spoken`);
  const left = models.filter((model) => !served.some(([, own]) => own.includes(model)));
  if (left.length > 0) remarks.push(`not carried over, their protocol is not spoken here: ${left.join(', ')}`);
  const keys = keysOf(row);
  if (keys.length === 0) return skipped('the channel has no key');
  const upstream = upstreamOf(row, remarks);
  if (typeof upstream === 'string') return skipped(upstream);
  const settings = settingsOf(row, type);
  if (settings.baseUrl === NO_ADDRESS && type.baseUrl === NO_ADDRESS)
    return skipped(`the channel has no address, and ${type.title} has no usual one`);
  const credentials = credentialsOf(keys, type, row, remarks);
  if (credentials.length === 0) return skipped(remarks.at(-1) ?? 'no key of it can be used');
  const channels = served.map(([vendor, own]) => ({
    ...upstream,
    ...settings,
    name: nameOf(row, type, served.length > 1 ? vendor : ''),
    vendor,
    credentials,
    models: own,
  }));
  if (keys.length > 1) remarks.push(`its ${keys.length} keys are credentials of one channel, each with its own health`);
  noteDifferences(row, remarks);
  return mapped(channels, [...new Set(remarks)]);
}

function typeOf(row: SourceRow, program: ProgramName): ChannelType | undefined {
  const plugin = objectOf(row, 'setting')?.task_plugin_key;
  const type = smallIntegerOf(row, 'type');
  if (program === 'new-api' && type === 61) return PLUGIN_VENDORS[String(plugin)];
  return channelTypeOf(program, type);
}

function modelsByVendor(
  models: readonly string[],
  { chat, video }: ChannelType,
  hasVendor: HasVendor,
): [ChannelVendor, string[]][] {
  const videos = video === undefined ? [] : models.filter((model) => video.models.test(model));
  const rest = models.filter((model) => !videos.includes(model));
  const served: [ChannelVendor, string[]][] = [];
  if (video !== undefined && videos.length > 0) served.push([video.vendor, videos]);
  if (chat !== undefined && rest.length > 0 && hasVendor(chat)) served.push([chat, rest]);
  return served;
}

/** The row's keys that have the format its type requires, without duplicates. */
function credentialsOf(
  keys: readonly ChannelKey[],
  type: ChannelType,
  row: SourceRow,
  remarks: string[],
): ImportedCredential[] {
  const found = new Map<string, ImportedCredential>();
  for (const [index, key] of keys.entries()) {
    const values = toCredentials(key.text, type, row);
    if (values === undefined) remarks.push(`key ${index + 1} does not have the form that ${type.title} needs`);
    else if (found.size === MAX_CREDENTIALS) remarks.push(`only ${MAX_CREDENTIALS} keys of it fit into one channel`);
    else if (found.has(JSON.stringify(values))) remarks.push(`key ${index + 1} is there twice`);
    else found.set(JSON.stringify(values), { values, enabled: key.isEnabled });
  }
  return [...found.values()];
}

const nameOf = (row: SourceRow, type: ChannelType, vendor: string): string => {
  const name = toPlainText(textOf(row, 'name'), 80) || type.title;
  return [name, vendor].filter((part) => part !== '').join(' ');
};

function settingsOf(row: SourceRow, type: ChannelType) {
  return {
    sourceId: smallIntegerOf(row, 'id'),
    baseUrl: textOf(row, 'base_url').replace(/\/+$/, '') || (type.baseUrl ?? ''),
    priority: bounded(smallIntegerOf(row, 'priority'), -1_000_000, 1_000_000),
    // A weight of 0 still gets a share in the source; here the channel gets the lowest weight.
    weight: bounded(smallIntegerOf(row, 'weight'), 1, 1_000_000),
    isEnabled: smallIntegerOf(row, 'status', 1) === 1,
  };
}

/** Model mapping, headers and proxy; a text gives the reason why the channel cannot be used without them. */
function upstreamOf(
  row: SourceRow,
  remarks: string[],
): Pick<ImportedChannel, 'modelMapping' | 'extraHeaders' | 'proxy'> | string {
  const { mapping, circular } = resolveModelMappingChains(textOf(row, 'model_mapping'));
  if (circular.length > 0) return `its model mapping goes in a circle: ${circular.join(', ')}`;
  if (!isMappingOfNames(textOf(row, 'model_mapping')))
    remarks.push('its model mapping is not one of names to names and was left out');
  const usable = Object.entries(mapping).filter(([from, to]) => MODEL_ID.test(from) && MODEL_ID.test(to));
  if (usable.length < Object.keys(mapping).length)
    remarks.push('part of its model mapping has names that cannot be used here');
  const proxy = objectOf(row, 'setting')?.proxy;
  const override = textOf(row, 'header_override');
  if (!['', 'null'].includes(override) && parseObject(override) === undefined)
    remarks.push('its extra headers are no object and were left out');
  const headers = [...organizationOf(row), ...Object.entries(parseObject(override) ?? {})];
  if (headers.some(([, value]) => typeof value !== 'string' || value.includes('{')))
    return 'its extra headers have placeholders, which have no counterpart';
  return {
    modelMapping: Object.fromEntries(usable),
    extraHeaders: headers.length === 0 ? undefined : (Object.fromEntries(headers) as Record<string, string>),
    proxy: typeof proxy === 'string' && proxy !== '' ? proxy : undefined,
  };
}

/** The source calls no upstream with any other mapping. */
function isMappingOfNames(text: string): boolean {
  if (['', '{}', 'null'].includes(text)) return true;
  const mapping = parseObject(text);
  return mapping !== undefined && Object.values(mapping).every((value) => typeof value === 'string');
}

/** The organization that pays for the calls, which both programs send to OpenAI only. */
function organizationOf(row: SourceRow): [string, string][] {
  const organization = textOf(row, 'open_ai_organization');
  return organization === '' || smallIntegerOf(row, 'type') !== 1 ? [] : [['OpenAI-Organization', organization]];
}

const WITHOUT_COUNTERPART = [
  ['param_override', 'changes to the request body'],
  ['status_code_mapping', 'the mapping of status codes'],
  ['system_prompt', 'the system prompt of the channel'],
  ['model_prefix', 'the prefix of its models, which have their plain names here'],
] as const;

/** Columns with objects of settings. */
const SETTINGS = ['setting', 'settings', 'config'] as const;
/** Settings that are imported, have a remark of their own, or only concern the old program's work. */
const OTHER_SETTINGS =
  /^(?:proxy|task_plugin_key|system_prompt|thinking_to_content|force_format|upstream_model_update_.*|disable_task_polling_sleep)$/;

function noteDifferences(row: SourceRow, remarks: string[]): void {
  for (const [column, what] of WITHOUT_COUNTERPART)
    if (!['', '{}', 'null'].includes(textOf(row, column))) remarks.push(`not carried over: ${what}`);
  const { system_prompt: prompt, thinking_to_content: thinking, force_format: force } = objectOf(row, 'setting') ?? {};
  if (typeof prompt === 'string' && prompt !== '') remarks.push('not carried over: the system prompt of the channel');
  if (thinking === true || force === true) remarks.push('not carried over: the conversion of its answers');
  const names = SETTINGS.flatMap((column) => Object.entries(objectOf(row, column) ?? {}))
    .filter(([name, value]) => !OTHER_SETTINGS.test(name) && !UNSET.has(JSON.stringify(value)))
    .map(([name]) => toPlainText(name, 60));
  if (names.length > 0) remarks.push(`not carried over, settings of the channel: ${names.join(', ')}`);
}

const UNSET: ReadonlySet<string> = new Set(['null', 'false', '0', '""', '{}', '[]']);

type Credentials = Readonly<Record<string, unknown>>;

/** One of a row's keys. */
interface ChannelKey {
  readonly text: string;
  /** For a row with several keys: whether this one was enabled. */
  readonly isEnabled: boolean;
}

/**
 * The keys of a row. Only if `channel_info.is_multi_key` is set are there several: the elements of a JSON list, or the
 * lines. Otherwise the whole text is one key, line breaks included, such as a service account on many lines.
 */
function keysOf(row: SourceRow): ChannelKey[] {
  const text = textOf(row, 'key');
  const info = objectOf(row, 'channel_info');
  if (info?.is_multi_key !== true) return text === '' ? [] : [{ text, isEnabled: true }];
  const states = (info.multi_key_status_list ?? {}) as Readonly<Record<string, unknown>>;
  // The source counts empty lines too.
  return splitKeys(text)
    .map((key, index) => ({ text: key, isEnabled: (states[String(index)] ?? 1) === 1 }))
    .filter((key) => key.text !== '');
}

function splitKeys(text: string): string[] {
  const elements = text.startsWith('[') ? parseList(text) : undefined;
  if (elements !== undefined)
    return elements.map((each) => (typeof each === 'string' ? each.trim() : JSON.stringify(each)));
  return text.split(/\r?\n/).map((line) => line.trim());
}

/** Converts a key to credentials of a vendor; undefined if it does not have the required format. */
function toCredentials(key: string, { keys }: ChannelType, row: SourceRow): Credentials | undefined {
  if (keys === 'pair') return toPair(key);
  if (keys === 'service-account') return toServiceAccount(key, row);
  return /[\r\n|]/.test(key) || key === '' ? undefined : { api_key: key };
}

function toPair(key: string): Credentials | undefined {
  const [accessKey = '', secretKey = '', ...rest] = key.split('|').map((part) => part.trim());
  return accessKey === '' || secretKey === '' || rest.length > 0
    ? undefined
    : { access_key: accessKey, secret_key: secretKey };
}

function toServiceAccount(key: string, row: SourceRow): Credentials | undefined {
  const account = parseObject(key);
  if (account === undefined || typeof account.project_id !== 'string') return undefined;
  if (typeof account.client_email !== 'string' || typeof account.private_key !== 'string') return undefined;
  return { service_account: account, project: account.project_id, location: regionOf(textOf(row, 'other')) };
}

/** `other` of a Vertex row: a region, or an object of regions by model. */
function regionOf(text: string): string {
  const byModel = parseObject(text);
  if (byModel === undefined) return text === '' ? 'global' : text;
  return typeof byModel.default === 'string' ? byModel.default : 'global';
}

/** The equivalent of one of the source's channel types. */
interface ChannelType {
  readonly title: string;
  /** Vendor of its chat models; undefined: they use no supported protocol. */
  readonly chat?: ChannelVendor | 'anthropic' | 'gemini';
  /** Vendor of its videos, and the models that are videos. */
  readonly video?: { readonly vendor: ChannelVendor; readonly models: RegExp };
  /** Base URL of rows without an address; undefined: that of the vendor here. */
  readonly baseUrl?: string;
  /** Format of a key; default: one plain key. */
  readonly keys?: 'pair' | 'service-account';
}

/** A type without an address of its own. Its key must not be sent to that of the vendor. */
const NO_ADDRESS = '';

const ANY = /./;
const SORA = { vendor: 'sora', models: /^sora-/i } as const;
const SEEDANCE = { vendor: 'seedance', models: /seedance/i } as const;
const HAILUO = { vendor: 'hailuo', models: /hailuo|^[TISR]2V-/i } as const;
const WAN = { vendor: 'wan', models: /^wan/i } as const;
const VEO = { vendor: 'veo', models: /^veo-/i } as const;

const openai = (title: string, baseUrl = NO_ADDRESS): ChannelType => ({ title, chat: 'openai', baseUrl });
const other = (title: string): ChannelType => ({ title });

/** Numbers both programs share (constant/channel.go, relay/channeltype). */
const SHARED: Readonly<Record<number, ChannelType>> = {
  1: { ...openai('OpenAI', 'https://api.openai.com'), video: SORA },
  3: other('Azure'),
  6: openai('OpenAIMax', 'https://api.openaimax.com'),
  7: openai('OhMyGPT', 'https://api.ohmygpt.com'),
  8: openai('Custom'),
  9: openai('AILS', 'https://api.caipacity.com'),
  10: openai('AIProxy', 'https://api.aiproxy.io'),
  11: other('PaLM'),
  12: openai('API2GPT', 'https://api.api2gpt.com'),
  13: openai('AIGC2D', 'https://api.aigc2d.com'),
  14: { title: 'Anthropic', chat: 'anthropic', baseUrl: 'https://api.anthropic.com' },
  15: other('Baidu'),
  16: other('Zhipu'),
  17: { title: 'Ali', video: WAN, baseUrl: 'https://dashscope.aliyuncs.com' },
  18: other('Xunfei'),
  20: openai('OpenRouter', 'https://openrouter.ai/api'),
  21: other('AIProxyLibrary'),
  22: other('FastGPT'),
  23: other('Tencent'),
  24: { title: 'Gemini', chat: 'gemini', video: VEO, baseUrl: 'https://generativelanguage.googleapis.com' },
  25: openai('Moonshot', 'https://api.moonshot.cn'),
  31: openai('LingYiWanWu', 'https://api.lingyiwanwu.com'),
};

const NEW_API: Readonly<Record<number, ChannelType>> = {
  2: other('Midjourney'),
  4: openai('Ollama', 'http://localhost:11434'),
  5: other('MidjourneyPlus'),
  19: openai('360', 'https://api.360.cn'),
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
  53: openai('Submodel', 'https://llm.submodel.ai'),
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
  2: openai('API2D', 'https://oa.api2d.net'),
  4: openai('CloseAI', 'https://api.closeai-proxy.xyz'),
  5: openai('OpenAI-SB', 'https://api.openai-sb.com'),
  19: openai('360', 'https://ai.360.cn'),
  26: openai('Baichuan', 'https://api.baichuan-ai.com'),
  27: other('MiniMax'),
  28: openai('Mistral', 'https://api.mistral.ai'),
  29: other('Groq'),
  30: openai('Ollama', 'http://localhost:11434'),
  32: openai('StepFun', 'https://api.stepfun.com'),
  36: openai('DeepSeek', 'https://api.deepseek.com'),
  39: openai('Together', 'https://api.together.xyz'),
  44: openai('SiliconFlow', 'https://api.siliconflow.cn'),
  45: openai('xAI', 'https://api.x.ai'),
  50: openai('OpenAI compatible'),
};

/** Undefined for an unknown number. */
export function channelTypeOf(program: ProgramName, type: number): ChannelType | undefined {
  return (program === 'new-api' ? NEW_API : ONE_API)[type] ?? SHARED[type];
}

/** Later releases of new-api name the vendor of a video channel in its settings (type 61, `task_plugin_key`). */
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

/**
 * Upstream names by public name. The source follows chains (a to b to c ends at c), ignores a name mapped to itself,
 * and rejects a cycle.
 */
export function resolveModelMappingChains(text: string): {
  readonly mapping: Readonly<Record<string, string>>;
  readonly circular: readonly string[];
} {
  const pairs = Object.entries(parseObject(text) ?? {}).filter(
    (pair): pair is [string, string] => typeof pair[1] === 'string' && pair[1] !== '' && pair[1] !== pair[0],
  );
  const next = new Map(pairs);
  const mapping: [string, string][] = [];
  const circular: string[] = [];
  for (const [name] of pairs) {
    const end = endOf(name, next);
    if (end === undefined) circular.push(name);
    else if (end !== name) mapping.push([name, end]);
  }
  return { mapping: Object.fromEntries(mapping), circular };
}

/** Follows a chain to its end; undefined for a cycle. */
function endOf(name: string, next: ReadonlyMap<string, string>): string | undefined {
  const seen = new Set<string>();
  let at = name;
  for (let to = next.get(at); to !== undefined; to = next.get(at)) {
    if (seen.has(at)) return undefined;
    seen.add(at);
    at = to;
  }
  return at;
}
