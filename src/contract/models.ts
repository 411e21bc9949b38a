import Type from 'typebox';

/** What a model makes. `image` models are called through chat and answer with a picture. */
export const MODEL_KINDS = ['video', 'chat', 'image'] as const;
export type ModelKind = (typeof MODEL_KINDS)[number];

export const Kind = Type.Enum([...MODEL_KINDS]);
/** A public model name. A slash is written `~` where the name stands in an address. */
export const ModelId = Type.String({ pattern: '^[A-Za-z0-9][A-Za-z0-9._:@/-]{0,199}$' });

const Quota = Type.Integer({ minimum: 0, maximum: 1_000_000_000_000, description: 'Whole quota.' });
const Factor = Type.String({ pattern: '^[a-z_]{1,32}$' });

/** Price of a video or image: `per_call + per_second × seconds`, times the multipliers that apply, rounded up. */
export const VideoPrice = Type.Object(
  {
    per_call: Type.Optional(Quota),
    per_second: Type.Optional(Quota),
    multipliers: Type.Optional(
      Type.Record(
        Factor,
        Type.Record(Type.String({ minLength: 1, maxLength: 64 }), Type.Number({ minimum: 0, maximum: 1000 }), {
          maxProperties: 50,
        }),
        {
          maxProperties: 10,
          additionalProperties: false,
          description: 'By factor (mode, resolution, size, audio) and value: `{mode: {pro: 2}}`.',
        },
      ),
    ),
  },
  { additionalProperties: false, minProperties: 1 },
);

/** Price of a chat model, quota per million tokens. */
export const ChatPrice = Type.Object(
  { input_per_million: Type.Optional(Quota), output_per_million: Type.Optional(Quota) },
  { additionalProperties: false, minProperties: 1 },
);

export const Price = Type.Union([VideoPrice, ChatPrice]);
