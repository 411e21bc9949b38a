import { CHAT_VENDORS } from '../../contract/channels.ts';
import { MODEL_ID_PATTERN, type ModelKind } from '../../contract/model-kinds-and-id.ts';
import type { Price } from '../../contract/pricing.ts';
import type { ChatPrice } from '../../contract/token-prices-and-cost-calculation.ts';
import { usd } from '../vendors/currency-to-quota.ts';
import type { ModelRow } from './channel-and-model-store.ts';
import type { ChannelVendor } from './channel-directory-types.ts';

/** A model a channel could serve, with the price its row has or would start with. */
export interface SuggestedModel {
  readonly id: string;
  readonly kind: ModelKind;
  readonly price: Price;
  /** `shipped`: of its row, or of the list of this release; `suggested`: estimated by the name. */
  readonly source: 'shipped' | 'suggested';
}

interface KnownModels {
  readonly rows: readonly ModelRow[];
  readonly shipped: readonly {
    readonly id: string;
    readonly vendor: string;
    readonly kind: ModelKind;
    readonly price: Price;
  }[];
}

interface ServedModels {
  readonly vendor: ChannelVendor;
  readonly models: readonly string[];
  /** Upstream names by public ones. */
  readonly modelMapping: object;
}

/**
 * Models that an upstream lists and its channel does not serve yet. An upstream of videos that has no list is taken to have what its vendor
 * has. Left out are models of another vendor's rows, names that a model here cannot have, and those no endpoint of a chat upstream runs.
 */
export function suggestModels(
  { vendor, models, modelMapping }: ServedModels,
  listed: readonly string[],
  known: KnownModels,
): SuggestedModel[] {
  const served = new Set<unknown>([...models, ...Object.values(modelMapping)]);
  const own = known.shipped.filter((model) => model.vendor === vendor).map(({ id }) => id);
  const ids = isChatVendor(vendor) || listed.length > 0 ? listed : own;
  return [...new Set(ids)]
    .filter((id) => !served.has(id) && MODEL_ID.test(id) && !(isChatVendor(vendor) && NOT_CALLABLE.test(id)))
    .map((id) => suggestModel(id, vendor, known))
    .filter((model) => model !== undefined);
}

/** Undefined for a model of another vendor, and for a video model that this release does not know. */
export function suggestModel(
  id: string,
  vendor: ChannelVendor,
  { rows, shipped }: KnownModels,
): SuggestedModel | undefined {
  const row = rows.find((each) => each.id === id);
  if (row !== undefined) {
    const target = row.alias_of === null ? row : rows.find((each) => each.id === row.alias_of);
    const price = row.price ?? target?.price;
    if (target?.vendor !== vendor || price == null) return undefined;
    return { id, kind: target.kind, price: JSON.parse(price) as Price, source: 'shipped' };
  }
  const known = shipped.find((model) => model.id === id);
  if (known !== undefined)
    return known.vendor === vendor ? { id, kind: known.kind, price: known.price, source: 'shipped' } : undefined;
  if (!isChatVendor(vendor)) return undefined;
  const image = IMAGE_PRICES.find(([name]) => name.test(id));
  if (image !== undefined)
    return { id, kind: 'image', price: { per_call: usd(image[1]), per_second: 0 }, source: 'suggested' };
  return { id, kind: 'chat', price: suggestChatPrice(id), source: 'suggested' };
}

const MODEL_ID = new RegExp(MODEL_ID_PATTERN);

const isChatVendor = (vendor: string): boolean => (CHAT_VENDORS as readonly string[]).includes(vendor);

/** Models in the lists of chat upstreams that chat, embeddings and images do not run. */
const NOT_CALLABLE =
  /whisper|(?:^|[-/])tts|[-_]tts(?:[-_]|$)|transcribe|speech|moderation|realtime|rerank|^(?:sora|veo|imagen|aqa)(?:[-_.]|$)|[-/](?:t2v|i2v)|davinci-002|babbage-002/i;

/** US dollars an image, at the largest usual size. */
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

/** US dollars for a million tokens, by the providers' public lists at the time of this release; the first name that fits decides. */
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

/** Of a model no line fits: what a large model costs, as a price that is too low is a loss with every call. */
const UNKNOWN_MODEL = [/^/, 3, 15] as const;

function suggestChatPrice(id: string): ChatPrice {
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
