import { Compile } from 'typebox/compile';
import type { Localized } from '../../contract/localized-messages/format-message.ts';
import type { ModelKind } from '../../contract/model-kinds-and-id.ts';
import { MAX_MULTIPLIER_DECIMALS } from '../../contract/price-terms-and-exact-sum.ts';
import { PRICE_FACTS, type Price, VideoPrice } from '../../contract/pricing.ts';
import { ChatPrice } from '../../contract/token-prices-and-cost-calculation.ts';
import { invalidRequest } from '../platform/app-error.ts';
import { toLocalizedMessage } from '../platform/http/schema-validation.ts';

const video = Compile(VideoPrice);
const chat = Compile(ChatPrice);
const PRICE_BY_KIND = {
  video: { validator: video, whole: { per_call: 0, per_second: 0 } },
  image: { validator: video, whole: { per_call: 0, per_second: 0 } },
  chat: { validator: chat, whole: { input_per_million: 0, output_per_million: 0 } },
} as const;

function assertDistinctTiers({ tiers = [] }: ChatPrice): void {
  const bounds = tiers.map(({ above_input_tokens: above }) => above);
  const twice = bounds.find((above, at) => bounds.indexOf(above) !== at);
  if (twice !== undefined) throw invalidRequest(`price.tiers has above_input_tokens ${twice} twice.`, 'price');
}

/** A misspelt fact would never fit: the line would price nothing, or the multiplier would be left out of every bill. */
function assertKnownFacts({ lines = [], multipliers = {} }: VideoPrice): void {
  const named = [
    ...lines.flatMap(({ when = {} }, index) => Object.keys(when).map((fact) => [`lines.${index}.when`, fact] as const)),
    ...Object.keys(multipliers).map((fact) => ['multipliers', fact] as const),
  ];
  const unknown = named.find(([, fact]) => !PRICE_FACTS.has(fact));
  if (unknown === undefined) return;
  const [path, fact] = unknown;
  throw invalidRequest(
    `price.${path}.${fact} is no fact a price can depend on; known facts: ${[...PRICE_FACTS].join(', ')}.`,
    'price',
  );
}

/** @throws AppError `invalid_request` for lines that could charge what was never reserved, or nothing at all */
function parseLines(price: VideoPrice, kind: ModelKind): VideoPrice {
  const { lines = [], per_call, per_second, settle_by: settleBy } = price;
  if (per_call !== undefined || per_second !== undefined)
    throw invalidRequest('price has lines, or per_call and per_second, not both.', 'price');
  if (settleBy === 'vendor' && kind === 'image') throw invalidRequest('price.settle_by vendor is for videos.', 'price');
  for (const [index, line] of lines.entries()) {
    const { when: _, max_units: fixed, max_units_per_second: each, ...rates } = line;
    if (Object.keys(rates).length === 0) throw invalidRequest(`price.lines.${index} has no price.`, 'price');
    if ((line.per_unit === undefined) !== (fixed === undefined && each === undefined))
      throw invalidRequest(`price.lines.${index} needs per_unit and max_units together.`, 'price');
    for (const amount of [line.per_unit, fixed, each])
      if (amount !== undefined && Number(amount.toFixed(UNIT_DECIMALS)) !== amount)
        throw invalidRequest(`price.lines.${index} has more than ${UNIT_DECIMALS} decimals.`, 'price');
    if (line.per_unit !== undefined && settleBy !== 'vendor')
      throw invalidRequest(`price.lines.${index} has per_unit, which needs settle_by vendor.`, 'price');
  }
  return price;
}

/** Of rates and counts of units. */
const UNIT_DECIMALS = 6;

const INVALID: Localized = { en: 'is wrong', 'zh-CN': '有误' };

/**
 * Checks a price and completes it: keys that are left out become 0, but at least one must be given.
 *
 * @throws AppError `invalid_request` that names the field
 */
export function parsePrice(price: unknown, kind: ModelKind): Price {
  const { validator, whole } = PRICE_BY_KIND[kind];
  if (!validator.Check(price)) {
    const [first] = validator.Errors(price);
    const path = ['price', ...(first?.instancePath.split('/').slice(1) ?? [])].join('.');
    const fault = first === undefined ? INVALID : toLocalizedMessage(first, validator.Type());
    const keys = Object.keys(whole);
    throw invalidRequest(
      {
        en: `${path} ${fault.en}. A ${kind} model is priced by ${keys.join(' and ')}.`,
        'zh-CN': `${path} ${fault['zh-CN']}。${kind} 模型按 ${keys.join('、')} 计价。`,
      },
      'price',
    );
  }
  assertKnownFacts(price as VideoPrice);
  const { multipliers } = price as { readonly multipliers?: VideoPrice['multipliers'] };
  for (const [factor, values] of Object.entries(multipliers ?? {}))
    for (const [value, multiplier] of Object.entries(values))
      if (Number(multiplier.toFixed(MAX_MULTIPLIER_DECIMALS)) !== multiplier)
        throw invalidRequest(
          `price.multipliers.${factor}.${value} has more than ${MAX_MULTIPLIER_DECIMALS} decimals.`,
          'price',
        );
  assertDistinctTiers(price as ChatPrice);
  if ((price as VideoPrice).lines !== undefined) return parseLines(price as VideoPrice, kind);
  if ((price as VideoPrice).settle_by === 'vendor' && kind === 'image')
    throw invalidRequest('price.settle_by vendor is for videos.', 'price');
  return { ...whole, ...price };
}
