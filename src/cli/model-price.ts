import { isChatPrice, minimumVideoPrice } from '../contract/pricing.ts';
import type { UsableModel } from '../sdk/index.ts';
import type { CreditFormat } from './credit-format.ts';
import { joinTexts, phrase, type Rendering, word } from './output.ts';

/** Length used for a displayed price if the model has no default, in seconds. */
const USUAL_SECONDS = 5;

/**
 * Short description of a model's price. Chat: per million tokens. Video: per second or per call if the price consists
 * of that alone; otherwise “from” the minimum price of a video of the default length.
 */
export function formatModelPrice({ price, capability, kind }: UsableModel, credits: CreditFormat): Rendering {
  if (isChatPrice(price)) {
    const { input_per_million: input = 0, output_per_million: output = 0, per_call: call = 0 } = price;
    const tokens = phrase`${credits(input)} in, ${credits(output)} out per 1M tokens`;
    return call > 0 ? phrase`${tokens}, ${credits(call)} per call` : tokens;
  }
  const { per_call: call = 0, per_second: second = 0, lines, multipliers } = price;
  if (lines !== undefined || multipliers !== undefined) {
    const seconds = (capability?.seconds as { default?: number } | undefined)?.default ?? USUAL_SECONDS;
    const least = credits(minimumVideoPrice(price, kind === 'image' ? 0 : seconds));
    return kind === 'image' ? phrase`from ${least} per image` : phrase`from ${least} for ${seconds} s`;
  }
  const parts = [
    ...(call > 0 ? [kind === 'image' ? phrase`${credits(call)} per image` : phrase`${credits(call)} per video`] : []),
    ...(second > 0 ? [phrase`${credits(second)} per second`] : []),
  ];
  return parts.length === 0 ? word('free') : joinTexts(parts, ' + ');
}
