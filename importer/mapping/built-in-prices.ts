import type { ProgramName } from '../source.ts';

/** Ratios by model. */
export type Ratios = ReadonlyMap<string, number>;

/** The options that price models; each holds a JSON object from model to number. */
export const PRICE_OPTIONS = [
  'ModelPrice',
  'ModelRatio',
  'CompletionRatio',
  'CacheRatio',
  'CreateCacheRatio',
  'ImageRatio',
  'AudioRatio',
  'AudioCompletionRatio',
] as const;
/** One of `PRICE_OPTIONS`. */
export type PriceOption = (typeof PRICE_OPTIONS)[number];

/** Price of output relative to input. `fixed`: the program charges this ratio regardless of its options. */
export interface OutputRatio {
  readonly ratio: number;
  readonly fixed: boolean;
}

/** Prices a program charges although its database does not state them: facts of its releases up to August 2026. */
export interface BuiltInPrices {
  readonly tables: Readonly<Partial<Record<PriceOption, Ratios>>>;
  /**
   * Whether a stored option replaces the built-in table as a whole; otherwise the built-in table supplies the entries
   * the option lacks.
   */
  readonly storedReplaces: boolean;
  /** The name under which a model is looked up. */
  lookupName(model: string): string;
  outputRatio(name: string): OutputRatio;
  /** Ratio of models in no table; undefined: the program rejects them. */
  readonly otherModels: number | undefined;
  /** Ratio of cache writes in no table. */
  readonly cacheWrite: number | undefined;
}

/** Parses a table of one line per ratio, followed by the models that have the ratio. */
const tableOf = (text: string): Ratios =>
  new Map(
    text
      .trim()
      .split('\n')
      .flatMap((line) => {
        const [ratio, ...models] = line.trim().split(/\s+/);
        return models.map((model) => [model, Number(ratio)] as const);
      }),
  );

type OutputRule = readonly [models: RegExp, ratio: number, fixed?: 'fixed'];

const outputRatioBy =
  (rules: readonly OutputRule[]) =>
  (name: string): OutputRatio => {
    const [, ratio = 1, fixed] = rules.find(([models]) => models.test(name)) ?? [];
    return { ratio, fixed: fixed !== undefined };
  };

/**
 * relay/billing/ratio/model.go. Models priced by image, second or character are omitted, because their ratios are not
 * per token.
 */
const ONE_API_RATIOS = tableOf(`
  30 gpt-4-32k gpt-4-32k-0314 gpt-4-32k-0613
  15 gpt-4 gpt-4-0314 gpt-4-0613
  5 gpt-4-1106-preview gpt-4-0125-preview gpt-4-turbo-preview gpt-4-turbo gpt-4-turbo-2024-04-09 gpt-4-vision-preview
  2.5 gpt-4o chatgpt-4o-latest gpt-4o-2024-05-13 grok-beta
  1.25 gpt-4o-2024-08-06
  0.075 gpt-4o-mini gpt-4o-mini-2024-07-18
  0.25 gpt-3.5-turbo gpt-3.5-turbo-0125
  0.75 gpt-3.5-turbo-0301 gpt-3.5-turbo-0613 gpt-3.5-turbo-instruct
  1.5 gpt-3.5-turbo-16k gpt-3.5-turbo-16k-0613
  0.5 gpt-3.5-turbo-1106 claude-3-5-haiku-20241022
  0.05 text-embedding-ada-002 text-embedding-v1 text-embedding-v2 text-embedding-v3
  0.01 text-embedding-3-small
  0.065 text-embedding-3-large
  0.4 claude-instant-1.2
  4 claude-2.0 claude-2.1 mistral-large-latest
  0.125 claude-3-haiku-20240307 open-mistral-7b
  1.5 claude-3-sonnet-20240229 claude-3-5-sonnet-20240620 claude-3-5-sonnet-20241022 command-r-plus
  7.5 claude-3-opus-20240229
  1 gemini-pro gemini-1.0-pro gemini-1.5-flash gemini-1.5-pro aqa mistral-small-latest
  1.35 mistral-medium-latest
  0.35 open-mixtral-8x7b
  0.05 mistral-embed
  7.1 glm-4 glm-4v
  0.355 glm-3-turbo abab5.5s-chat
  1.4286 qwen-turbo qwen-turbo-latest qwen-plus qwen-plus-latest qwen-max qwen-max-latest qwen-max-longcontext
  1.4286 qwen-vl-max qwen-vl-max-latest qwen-vl-plus qwen-vl-plus-latest qwen-coder-plus qwen-coder-turbo qwq-32b-preview
  1.4286 qwen2.5-72b-instruct qwen2.5-32b-instruct qwen2.5-14b-instruct qwen2.5-7b-instruct qwen2-72b-instruct
  0.852 moonshot-v1-8k
  1.704 moonshot-v1-32k
  4.26 moonshot-v1-128k
  2.13 abab6.5-chat
  0.71 abab6.5s-chat
  7.1 abab6-chat
  1.065 abab5.5-chat
  0.000035 gemma-7b-it
  0.0001 gemma2-9b-it
  0.000295 llama-3.1-70b-versatile llama3-70b-8192 llama-3.2-90b-text-preview
  0.000025 llama-3.1-8b-instant llama3-8b-8192 llama-guard-3-8b
  0.00012 mixtral-8x7b-32768
  0.1775 yi-34b-chat-0205
  0.852 yi-34b-chat-200k
  0.426 yi-vl-plus
  0.5 command command-nightly command-light command-light-nightly
  0.25 command-r
  0.071 deepseek-chat deepseek-coder
`);

const ONE_API_OUTPUT: readonly OutputRule[] = [
  [/^gpt-3\.5-turbo$|^gpt-3\.5.*0125$/, 3],
  [/^gpt-3\.5.*1106$/, 2],
  [/^gpt-3\.5/, 4 / 3],
  [/^gpt-4o-mini|^gpt-4o-2024-08-06$/, 4],
  [/^gpt-4(?:-turbo|o)|^gpt-4.*preview$|^chatgpt-4o-latest$/, 3],
  [/^gpt-4/, 2],
  [/^claude-3/, 5],
  [/^(?:claude|mistral|gemini)-/, 3],
  [/^deepseek-/, 2],
  [/^llama2-70b-4096$/, 0.8 / 0.64],
  [/^llama3-8b-8192$/, 2],
  [/^llama3-70b-8192$/, 0.79 / 0.59],
  [/^command(?:-light)?(?:-nightly)?$/, 2],
  [/^(?:command-r|grok-beta)$/, 3],
  [/^command-r-plus$/, 5],
];

/** setting/ratio_setting/model_ratio.go, of models priced by token. */
const NEW_API_RATIOS = tableOf(`
  75 o1-pro o1-pro-2025-03-19
  37.5 gpt-4.5-preview gpt-4.5-preview-2025-02-27
  30 gpt-4-32k gpt-4-32k-0613
  15 gpt-4 gpt-4-0613 gpt-4-all gpt-4o-all gpt-4-gizmo-*
  10 o3-pro o3-pro-2025-06-10 qwen-plus
  7.5 o1 o1-2024-12-17 o1-preview o1-preview-2024-09-12 claude-3-opus-20240229 claude-opus-4-20250514 claude-opus-4-1-20250805
  7.143 glm-4
  5 gpt-4-1106-preview gpt-4-0125-preview gpt-4-turbo-preview gpt-4-vision-preview gpt-4-1106-vision-preview
  5 gpt-4-turbo gpt-4-turbo-2024-04-09 o3-deep-research o3-deep-research-2025-06-26 claude-fable-5
  2.5 chatgpt-4o-latest gpt-4o-2024-05-13 gpt-4o-gizmo-* gpt-4o-realtime-preview gpt-image-1 gpt-5.5 gpt-5.6-sol
  2.5 claude-opus-4-5-20251101 claude-opus-4-6 claude-opus-4-6-max claude-opus-4-6-high claude-opus-4-6-medium
  2.5 claude-opus-4-6-low claude-opus-4-7 claude-opus-4-7-max claude-opus-4-7-xhigh claude-opus-4-7-high
  2.5 claude-opus-4-7-medium claude-opus-4-7-low claude-opus-4-8 claude-opus-4-8-max claude-opus-4-8-xhigh
  2.5 claude-opus-4-8-high claude-opus-4-8-medium claude-opus-4-8-low claude-opus-5
  2.5 grok-beta grok-vision-beta grok-3-fast-beta
  1.5 gpt-3.5-turbo-16k gpt-3.5-turbo-16k-0613 claude-3-sonnet-20240229 claude-3-5-sonnet-20240620 claude-3-5-sonnet-20241022
  1.5 claude-3-7-sonnet-20250219 claude-3-7-sonnet-20250219-thinking claude-sonnet-4-20250514 claude-sonnet-4-5-20250929
  1.5 claude-sonnet-5 command-r-plus grok-3-beta
  1.25 gpt-4o gpt-4o-2024-08-06 gpt-4o-2024-11-20 gpt-4o-audio-preview gpt-4o-audio-preview-2024-10-01 gpt-5.6-terra
  1.25 gemini-1.5-pro-latest command-r-plus-08-2024
  1 gpt-4.1 gpt-4.1-2025-04-14 o3 o3-2025-04-16 o4-mini-deep-research o4-mini-deep-research-2025-06-26 grok-2 grok-2-vision
  0.8572 qwen-turbo
  0.75 gpt-3.5-turbo-0613 gpt-3.5-turbo-instruct
  0.625 gpt-5 gpt-5-2025-08-07 gpt-5-chat-latest gemini-2.5-pro gemini-2.5-pro-exp-03-25 gemini-2.5-pro-preview-03-25
  0.625 gemini-2.5-pro-thinking-*
  0.55 o1-mini o1-mini-2024-09-12 o3-mini o3-mini-2025-01-31 o3-mini-high o3-mini-low o3-mini-medium o4-mini o4-mini-2025-04-16
  0.5 gpt-3.5-turbo-1106 gpt-5.6-luna claude-3-5-haiku-20241022 claude-haiku-4-5-20251001
  0.5 command command-nightly command-light command-light-nightly
  0.3572 glm-3-turbo
  0.3 gpt-4o-mini-realtime-preview grok-3-mini-fast-beta
  0.275 deepseek-reasoner
  0.25 gpt-3.5-turbo gpt-3.5-turbo-0125 command-r
  0.2 gpt-4.1-mini gpt-4.1-mini-2025-04-14
  0.15 gemini-2.5-flash gemini-robotics-er-1.5-preview grok-3-mini-beta
  0.135 deepseek-chat deepseek-coder
  0.125 gpt-5-mini gpt-5-mini-2025-08-07 claude-3-haiku-20240307
  0.075 gpt-4o-mini gpt-4o-mini-2024-07-18 gemini-1.5-flash-latest gemini-embedding-001 command-r-08-2024
  0.075 gemini-2.5-flash-preview-04-17 gemini-2.5-flash-preview-05-20 gemini-2.5-flash-thinking-*
  0.065 text-embedding-3-large
  0.05 gpt-4.1-nano gpt-4.1-nano-2025-04-14 gemini-2.0-flash text-embedding-ada-002 text-embedding-v1
  0.025 gpt-5-nano gpt-5-nano-2025-08-07
  0.01 text-embedding-3-small
  0.001 text-embedding-004
`);

const NEW_API_PRICES = tableOf(`
  0.04 dall-e-3 black-forest-labs/flux-1.1-pro
  0.03 imagen-3.0-generate-002
  0.3 sora-2 gpt-4o-mini-tts
  0.5 sora-2-pro
  0.4 veo-3.0-generate-001 veo-3.1-generate-preview
  0.15 veo-3.0-fast-generate-001 veo-3.1-fast-generate-preview
  0.1 gpt-4-gizmo-*
`);

/** setting/ratio_setting/cache_ratio.go */
const NEW_API_CACHE = tableOf(`
  0.5 gpt-4 o1 o1-2024-12-17 o1-preview o1-preview-2024-09-12 o1-mini o1-mini-2024-09-12 o3-mini o3-mini-2025-01-31
  0.5 gpt-4o gpt-4o-2024-11-20 gpt-4o-2024-08-06 gpt-4o-mini gpt-4o-mini-2024-07-18
  0.5 gpt-4o-realtime-preview gpt-4o-mini-realtime-preview gpt-4.5-preview gpt-4.5-preview-2025-02-27
  0.25 gpt-4.1 gpt-4.1-mini gpt-4.1-nano deepseek-chat deepseek-reasoner deepseek-coder
  0.1 gpt-5 gpt-5-2025-08-07 gpt-5-chat-latest gpt-5-mini gpt-5-mini-2025-08-07 gpt-5-nano gpt-5-nano-2025-08-07
  0.1 claude-3-sonnet-20240229 claude-3-opus-20240229 claude-3-haiku-20240307 claude-3-5-haiku-20241022
  0.1 claude-3-5-sonnet-20240620 claude-3-5-sonnet-20241022 claude-3-7-sonnet-20250219 claude-3-7-sonnet-20250219-thinking
  0.1 claude-sonnet-4-20250514 claude-opus-4-20250514 claude-opus-4-1-20250805 claude-sonnet-4-5-20250929
  0.1 claude-haiku-4-5-20251001 claude-opus-4-5-20251101 claude-opus-4-6 claude-opus-4-6-max claude-opus-4-6-high
  0.1 claude-opus-4-6-medium claude-opus-4-6-low claude-opus-4-7 claude-opus-4-7-max claude-opus-4-7-xhigh
  0.1 claude-opus-4-7-high claude-opus-4-7-medium claude-opus-4-7-low claude-opus-4-8 claude-opus-4-8-max
  0.1 claude-opus-4-8-xhigh claude-opus-4-8-high claude-opus-4-8-medium claude-opus-4-8-low
`);

const NEW_API_OUTPUT: readonly OutputRule[] = [
  [/-all$|-gizmo-\*$/, 2],
  [/^gpt-4o-2024-05-13$|^chatgpt-4o-latest$/, 3, 'fixed'],
  [/^gpt-4o-mini-tts/, 20],
  [/^gpt-4o/, 4],
  [/^gpt-5[^.]*$/, 8, 'fixed'],
  [/^gpt-5\.4-nano/, 6.25, 'fixed'],
  [/^gpt-5\.4/, 6, 'fixed'],
  [/^gpt-5/, 6],
  [/^gpt-4\.5-preview/, 2, 'fixed'],
  [/^gpt-4-turbo|^gpt-4-110[56]$/, 3, 'fixed'],
  [/^gpt-/, 2],
  [/^o[13]/, 4, 'fixed'],
  [/claude-3|claude-(?:sonnet|opus|haiku)-4|claude-(?:fable|sonnet|opus)-5/, 5, 'fixed'],
  [/claude-(?:instant-1|2)/, 3, 'fixed'],
  [/^mistral-/, 3, 'fixed'],
  [/^gemini-(?:1\.5|2\.0)/, 4, 'fixed'],
  [/^gemini-2\.5-pro/, 8],
  [/^gemini-2\.5-flash-preview.*-nothinking$/, 4],
  [/^gemini-2\.5-flash-preview/, 3.5 / 0.15],
  [/^gemini-2\.5-flash-lite/, 4],
  [/^gemini-(?:2\.5-flash|robotics-er-1\.5)/, 2.5 / 0.3],
  [/^gemini-3-pro-image/, 60],
  [/^gemini-3-pro/, 6],
  [/^gemini-/, 4],
  [/^command-r$/, 3, 'fixed'],
  [/^command-r-plus$/, 5, 'fixed'],
  [/^command-r(?:-plus)?-08-2024$/, 4, 'fixed'],
  [/^command/, 4],
  [/^ERNIE-(?:Speed-|Lite-|Character|Functions)/, 2, 'fixed'],
  [/^llama2-70b-4096$/, 0.8 / 0.64, 'fixed'],
  [/^llama3-8b-8192$/, 2, 'fixed'],
  [/^llama3-70b-8192$/, 0.79 / 0.59, 'fixed'],
];

/** Models that share one entry of the tables (FormatMatchingModelName). */
const NEW_API_SHARED: readonly (readonly [models: RegExp, name: string])[] = [
  [/^gemini-2\.5-flash-lite.*-thinking-/, 'gemini-2.5-flash-lite-thinking-*'],
  [/^gemini-2\.5-flash(?!-lite).*-thinking-/, 'gemini-2.5-flash-thinking-*'],
  [/^gemini-2\.5-pro.*-thinking-/, 'gemini-2.5-pro-thinking-*'],
  [/^gpt-4-gizmo/, 'gpt-4-gizmo-*'],
  [/^gpt-4o-gizmo/, 'gpt-4o-gizmo-*'],
];

/** Built-in prices by program. */
export const BUILT_IN_PRICES: Readonly<Record<ProgramName, BuiltInPrices>> = {
  'one-api': {
    tables: { ModelRatio: ONE_API_RATIOS },
    storedReplaces: false,
    lookupName: (model) => model.replace(/^(qwen-.*)-internet$/, '$1'),
    outputRatio: outputRatioBy(ONE_API_OUTPUT),
    otherModels: 30,
    cacheWrite: undefined,
  },
  'new-api': {
    tables: {
      ModelPrice: NEW_API_PRICES,
      ModelRatio: NEW_API_RATIOS,
      CompletionRatio: tableOf('2 gpt-4-gizmo-* gpt-4-all\n3 gpt-4o-gizmo-*\n8 gpt-image-1'),
      CacheRatio: NEW_API_CACHE,
      CreateCacheRatio: tableOf('1.25 gpt-5.6-sol gpt-5.6-terra gpt-5.6-luna'),
      ImageRatio: tableOf('2 gpt-image-1'),
      AudioRatio: tableOf(
        '16 gpt-4o-audio-preview\n66.67 gpt-4o-mini-audio-preview\n8 gpt-4o-realtime-preview\n16.67 gpt-4o-mini-realtime-preview',
      ),
      AudioCompletionRatio: tableOf('2 gpt-4o-realtime gpt-4o-mini-realtime'),
    },
    storedReplaces: true,
    lookupName: (model) => NEW_API_SHARED.find(([models]) => models.test(model))?.[1] ?? model,
    outputRatio: outputRatioBy(NEW_API_OUTPUT),
    otherModels: undefined,
    cacheWrite: 1.25,
  },
};
