import { Compile } from 'typebox/compile';
import type { Localized } from '../../contract/messages/messages.ts';
import { ChatPrice, type ModelKind, VideoPrice } from '../../contract/models.ts';
import { invalid } from '../platform/errors.ts';
import { toWords } from '../platform/http/validation.ts';
import type { ChatPrice as Chat, VideoPrice as Video } from './channels.ts';

const video = Compile(VideoPrice);
const chat = Compile(ChatPrice);
const BY_KIND = {
  video: { validator: video, whole: { per_call: 0, per_second: 0 } },
  image: { validator: video, whole: { per_call: 0, per_second: 0 } },
  chat: { validator: chat, whole: { input_per_million: 0, output_per_million: 0 } },
} as const;

const WRONG: Localized = { en: 'is wrong', 'zh-CN': '有误' };
/** Multipliers are read as decimals of at most this many places, so none may have more. */
const MAX_DECIMALS = 9;

/**
 * A price whole: what is left out is 0, but something must be named.
 *
 * @throws AppError `invalid_request` that names the field
 */
export function readPrice(price: unknown, kind: ModelKind): Video | Chat {
  const { validator, whole } = BY_KIND[kind];
  if (!validator.Check(price)) {
    const [first] = validator.Errors(price);
    const path = ['price', ...(first?.instancePath.split('/').slice(1) ?? [])].join('.');
    const fault = first === undefined ? WRONG : toWords(first);
    const keys = Object.keys(whole);
    throw invalid(
      {
        en: `${path} ${fault.en}. A ${kind} model is priced by ${keys.join(' and ')}.`,
        'zh-CN': `${path} ${fault['zh-CN']}。${kind} 模型按 ${keys.join('、')} 计价。`,
      },
      'price',
    );
  }
  const { multipliers } = price as { readonly multipliers?: Video['multipliers'] };
  for (const [factor, values] of Object.entries(multipliers ?? {}))
    for (const [value, multiplier] of Object.entries(values))
      if (Number(multiplier.toFixed(MAX_DECIMALS)) !== multiplier)
        throw invalid(`price.multipliers.${factor}.${value} has more than ${MAX_DECIMALS} decimals.`, 'price');
  return { ...whole, ...price };
}
