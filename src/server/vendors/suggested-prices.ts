import type { ModelKind } from '../../contract/model-kinds.ts';
import type { ChatPrice, Price } from '../../contract/pricing.ts';
import { usd } from './currency.ts';

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

/** Whether a model cannot be called through this service. */
export const isUncallable = (id: string): boolean => UNCALLABLE.test(id);

/** Estimates the kind and price of a chat upstream's model by its name, for an administrator to check. */
export function estimatePrice(id: string): { readonly kind: ModelKind; readonly price: Price } {
  const image = IMAGE_PRICES.find(([name]) => name.test(id));
  if (image !== undefined) return { kind: 'image', price: { per_call: usd(image[1]), per_second: 0 } };
  return { kind: 'chat', price: chatPriceOf(id) };
}
