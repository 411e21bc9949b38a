import { Type } from 'typebox';
import type { ModelKind, VendorId } from '../../contract/model-kinds.ts';
import { asObject } from '../../contract/objects.ts';
import type { ChatPrice, Price } from '../../contract/pricing.ts';
import {
  type AdapterContext,
  azureDeployment,
  chatAuthorizationHeaders,
  type ErrorReason,
  endpointUrl,
  openaiUrl,
} from '../upstreams/upstream.ts';
import {
  type CredentialCheck,
  type CredentialField,
  listCredentialForms,
  type ModelCapability,
  type ModelLifecycle,
  usd,
  type VendorAdapter,
  type VendorProfile,
} from './adapter.ts';
import { hailuo } from './hailuo/adapter.ts';
import { jimeng } from './jimeng/adapter.ts';
import { toVendorError } from './json-calls.ts';
import { kling } from './kling/adapter.ts';
import { lifecyclesOf } from './model-lifecycles.ts';
import { runway } from './runway/adapter.ts';
import { seedance } from './seedance/adapter.ts';
import { sora } from './sora/adapter.ts';
import { asArray, asText } from './untrusted-json.ts';
import { veo } from './veo/adapter.ts';
import { vidu } from './vidu/adapter.ts';
import { wan } from './wan/adapter.ts';
import { xai } from './xai/adapter.ts';

/** The maximum number of models of a channel. */
const MAX_MODELS = 500;

const REASONS: Readonly<Record<number, ErrorReason>> = { 401: 'auth', 402: 'billing', 403: 'auth', 429: 'rate' };

/** Credentials of an account that consist of one key. */
const ApiKey = Type.Object(
  { api_key: Type.String({ minLength: 1, maxLength: 4096, writeOnly: true }) },
  { additionalProperties: false },
);

/** Location of a chat upstream's list of models. */
interface ModelList {
  readonly vendor: string;
  /** Version included. */
  readonly path: string;
  /** The member that holds the list, and the member of an entry that holds its id. */
  readonly listKey: string;
  readonly idKey: string;
}

/** Checks a key by requesting the list of models, which requires the key and is free. */
async function checkChatUpstreamKey(context: AdapterContext, list: ModelList): Promise<CredentialCheck> {
  const response = await context.sendJson({
    method: 'GET',
    url: list.vendor === 'openai' ? openaiUrl(context, list.path) : endpointUrl(context, list.path),
    headers: {
      ...chatAuthorizationHeaders(list.vendor, String(context.credentials.api_key), context),
      accept: 'application/json',
    },
  });
  // Azure lists the models that could be deployed; the URL of a deployment serves only that one.
  const deployment = list.vendor === 'openai' ? azureDeployment(context.baseUrl) : undefined;
  if (response.status === 200)
    return { ok: true, models: deployment === undefined ? parseModelIds(response.json, list) : [deployment] };
  const error = asObject(asObject(response.json)?.error);
  const reason = REASONS[response.status] ?? (response.status >= 500 ? 'capacity' : 'other');
  const message = asText(error?.message) ?? `HTTP ${response.status}`;
  const code = asText(error?.code) ?? asText(error?.type) ?? '';
  return { ok: false, error: toVendorError(response, context.now(), { code, message, meaning: { reason } }) };
}

/** Some upstreams return the bare list, or use the member names of another dialect. */
function parseModelIds(json: unknown, { listKey, idKey }: ModelList): string[] {
  const body = asObject(json);
  const list = [json, body?.[listKey], body?.data, body?.models].map(asArray).find((each) => each !== undefined) ?? [];
  return list
    .map((entry) => asText(asObject(entry)?.[idKey] ?? asObject(entry)?.id ?? entry)?.replace(/^models\//, ''))
    .filter((id) => id !== undefined)
    .slice(0, MAX_MODELS);
}

/** Any service with OpenAI's chat protocol. Its models are rows the administrator creates. */
const openai: VendorProfile = {
  name: 'openai',
  title: 'OpenAI chat protocol',
  defaultBaseUrl: 'https://api.openai.com',
  credentials: ApiKey,

  /** platform.openai.com/docs/api-reference/models/list */
  checkCredentials: (context) =>
    checkChatUpstreamKey(context, { vendor: 'openai', path: '/v1/models', listKey: 'data', idKey: 'id' }),
};

/** Anthropic, and any service with its Messages protocol. Its models are rows the administrator creates. */
const anthropic: VendorProfile = {
  name: 'anthropic',
  title: 'Anthropic Messages protocol',
  defaultBaseUrl: 'https://api.anthropic.com',
  credentials: ApiKey,

  /** docs.claude.com/en/api/models-list */
  checkCredentials: (context) =>
    checkChatUpstreamKey(context, { vendor: 'anthropic', path: '/v1/models?limit=200', listKey: 'data', idKey: 'id' }),
};

/** Google's Gemini API by its generateContent. Its models are rows the administrator creates. */
const gemini: VendorProfile = {
  name: 'gemini',
  title: 'Gemini generateContent protocol',
  defaultBaseUrl: 'https://generativelanguage.googleapis.com',
  credentials: ApiKey,

  /** ai.google.dev/api/models */
  checkCredentials: (context) =>
    checkChatUpstreamKey(context, {
      vendor: 'gemini',
      path: '/v1beta/models?pageSize=200',
      listKey: 'models',
      idKey: 'name',
    }),
};

/** Models in the lists of chat upstreams that cannot be called through chat, embeddings or images. */
const UNCALLABLE =
  /whisper|(?:^|[-/])tts|[-_]tts(?:[-_]|$)|transcribe|speech|moderation|realtime|rerank|^(?:sora|veo|imagen|aqa)(?:[-_.]|$)|[-/](?:t2v|i2v)|davinci-002|babbage-002/i;

/** US dollars per image, at the largest usual size. */
const IMAGE_PRICES: readonly (readonly [name: RegExp, perImage: number])[] = [
  [/gpt-image|chatgpt-image/i, 0.25],
  [/dall-e-3/i, 0.12],
  [/dall-e-2/i, 0.02],
  [/gemini-3[^/]*-image/i, 0.24],
  [/gemini[^/]*-image|nano-banana/i, 0.04],
  [/grok[^/]*(?:image|imagine)/i, 0.07],
  [/seedream|qwen-image|cogview|wanx?[^/]*-t2i|image-01|kolors|hunyuan-image/i, 0.05],
  [/flux|stable-diffusion|sdxl|sd3|ideogram|recraft/i, 0.08],
];

/**
 * US dollars per million tokens, from the providers' public lists
 * at the time of this release; the first matching name counts.
 */
const TOKEN_PRICES: readonly (readonly [name: RegExp, input: number, output: number])[] = [
  [/embedding-3-small/i, 0.02, 0],
  [/embedding-3-large|gemini-embedding/i, 0.15, 0],
  [/embed|(?:^|[-/])(?:bge|e5|gte|m3e)[-_]/i, 0.1, 0],
  [/gpt-5[^/]*-pro|o1-pro|o3-pro/i, 21, 168],
  [/gpt-5[^/]*-nano/i, 0.2, 1.25],
  [/gpt-5[^/]*-mini/i, 0.75, 4.5],
  [/gpt-5/i, 2.5, 15],
  [/gpt-4\.1-nano/i, 0.1, 0.4],
  [/gpt-4\.1-mini/i, 0.4, 1.6],
  [/gpt-4\.1/i, 2, 8],
  [/gpt-4o-mini/i, 0.15, 0.6],
  [/gpt-4o|chatgpt-4o/i, 5, 15],
  [/gpt-4-turbo|gpt-4-(?:0125|1106)/i, 10, 30],
  [/gpt-4/i, 30, 60],
  [/gpt-3\.5/i, 1.5, 2],
  [/gpt-oss/i, 0.15, 0.75],
  [/(?:^|\/)o1(?!-mini)/i, 15, 60],
  [/(?:^|\/)o[134]-mini/i, 1.1, 4.4],
  [/(?:^|\/)o3/i, 2, 8],
  [/claude[^/]*opus-4[-.][5-9]/i, 5, 25],
  [/claude[^/]*opus/i, 15, 75],
  [/claude[^/]*haiku/i, 1, 5],
  [/claude/i, 3, 15],
  [/gemini[^/]*flash-lite/i, 0.25, 1.5],
  [/gemini[^/]*flash/i, 0.5, 3],
  [/gemini[^/]*pro/i, 2.5, 15],
  [/gemma/i, 0.3, 0.5],
  [/grok[^/]*(?:fast|mini|code)/i, 0.3, 1.5],
  [/grok/i, 3, 15],
  [/deepseek[^/]*r1|deepseek[^/]*pro/i, 1, 4],
  [/deepseek/i, 0.6, 1.7],
  [/kimi|moonshot/i, 2, 5],
  [/glm[^/]*flash/i, 0.1, 0.4],
  [/glm/i, 1, 3.2],
  [/qwen[^/]*max/i, 1.6, 6.4],
  [/qwen[^/]*(?:turbo|flash)/i, 0.05, 0.4],
  [/qwen|qwq|qvq/i, 0.7, 2.8],
  [/doubao/i, 0.5, 2.5],
  [/minimax|abab/i, 0.3, 2.2],
  [/codestral|devstral|(?:ministral|mistral)-(?:small|tiny|nemo|3b|8b)/i, 0.4, 2],
  [/mistral|magistral|pixtral/i, 2, 6],
  [/llama|nemotron|yi-|phi-/i, 0.9, 0.9],
];

/**
 * Price of a model that matches no line: that of a large model,
 * because a price that is too low loses money with every call.
 */
const UNKNOWN_MODEL = [/^/, 3, 15] as const;

function chatPriceOf(id: string): ChatPrice {
  const [, input, output] = TOKEN_PRICES.find(([name]) => name.test(id)) ?? UNKNOWN_MODEL;
  const rates = { input_per_million: usd(input), output_per_million: usd(output) };
  // Anthropic charges more for writing to its cache than for input.
  return /claude/i.test(id)
    ? {
        ...rates,
        cached_input_per_million: usd(input * 0.1),
        cache_write_per_million: usd(input * 1.25),
        cache_write_1h_per_million: usd(input * 2),
      }
    : rates;
}

/** Estimates the kind and price of a chat upstream's model by its name, for an administrator to check. */
function estimatePrice(id: string): { readonly kind: ModelKind; readonly price: Price } {
  const image = IMAGE_PRICES.find(([name]) => name.test(id));
  if (image !== undefined) return { kind: 'image', price: { per_call: usd(image[1]), per_second: 0 } };
  return { kind: 'chat', price: chatPriceOf(id) };
}

/** Every supported video vendor, in the order in which they are displayed. A new vendor is added here. */
export const VENDOR_ADAPTERS: readonly VendorAdapter[] = [
  kling,
  jimeng,
  hailuo,
  seedance,
  wan,
  veo,
  vidu,
  sora,
  runway,
  xai,
];

/** Vendors whose accounts only serve chat. */
const CHAT_PROFILES: readonly VendorProfile[] = [openai, anthropic, gemini];

interface InitialModel {
  readonly id: string;
  readonly vendor: VendorId;
  readonly kind: 'video' | 'image';
  readonly price: ModelCapability['price'];
}

/** Finds vendors by name. */
export class VendorRegistry {
  readonly #adapters: ReadonlyMap<string, VendorAdapter>;
  readonly #profiles: ReadonlyMap<string, VendorProfile>;

  constructor(adapters: readonly VendorAdapter[] = VENDOR_ADAPTERS) {
    this.#adapters = new Map(adapters.map((adapter) => [adapter.name, adapter]));
    this.#profiles = new Map([...adapters, ...CHAT_PROFILES].map((profile) => [profile.name, profile]));
  }

  /** @throws Error for a name without a video adapter. */
  get(name: string): VendorAdapter {
    const vendor = this.#adapters.get(name);
    if (vendor === undefined) throw new Error(`no adapter for vendor ${name}`);
    return vendor;
  }

  /** The video adapter of that name, if it is one. */
  find(name: string): VendorAdapter | undefined {
    return this.#adapters.get(name);
  }

  /**
   * Any vendor, of videos or of chat.
   * @throws Error for an unknown name.
   */
  profile(name: string): VendorProfile {
    const profile = this.#profiles.get(name);
    if (profile === undefined) throw new Error(`no vendor ${name}`);
    return profile;
  }

  get profiles(): readonly VendorProfile[] {
    return [...this.#profiles.values()];
  }

  /** Known lifecycles of a model, by route. */
  lifecycles(vendor: string, model: string): readonly ModelLifecycle[] {
    return lifecyclesOf(vendor, model);
  }

  /** The host of a channel's calls. */
  hostOf(channel: Parameters<NonNullable<VendorAdapter['hostOf']>>[0] & { readonly vendor: string }): string {
    return this.find(channel.vendor)?.hostOf?.(channel) ?? new URL(channel.baseUrl).host;
  }

  /** Capabilities of a video model; undefined for models the adapter does not list, and for chat. */
  capability(vendor: string, model: string): ModelCapability | undefined {
    return this.find(vendor)?.models.find(({ id }) => id === model);
  }

  /** Model rows to insert at first start, at the adapters' own prices. */
  get initialModels(): readonly InitialModel[] {
    return [...this.#adapters.values()].flatMap(({ name: vendor, models, images }) => [
      ...models.map(({ id, price }) => ({ id, price, vendor, kind: 'video' }) as const),
      ...(images?.models ?? []).map(
        ({ id, perCall }) => ({ id, price: { per_call: perCall, per_second: 0 }, vendor, kind: 'image' }) as const,
      ),
    ]);
  }

  /** Known prices of models, and estimates by name for all others, as suggestions to administrators. */
  get knownPrices() {
    return {
      shipped: this.initialModels,
      estimate: estimatePrice,
      isUncallable: (id: string) => UNCALLABLE.test(id),
    } as const;
  }

  /** Whether the vendor's accounts use one of the chat protocols. */
  isChat(name: string): boolean {
    return this.#profiles.has(name) && !this.#adapters.has(name);
  }

  /** The fields of a form: one list for each valid set of credentials. */
  credentialForms(name: string): readonly (readonly CredentialField[])[] {
    return listCredentialForms(this.profile(name).credentials);
  }

  has(name: string): name is VendorId {
    return this.#adapters.has(name);
  }
}
