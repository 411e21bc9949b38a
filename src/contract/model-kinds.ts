import Type from 'typebox';

/** Output of a model. `image` models are called through the chat endpoint and return an image. */
export const MODEL_KINDS = ['video', 'chat', 'image'] as const;
export type ModelKind = (typeof MODEL_KINDS)[number];

export const Kind = Type.Enum([...MODEL_KINDS]);
export const MODEL_ID_PATTERN = '^[A-Za-z0-9][A-Za-z0-9._:@/-]{0,199}$';
/** A public model name. A slash is written `~` where the name is part of a URL. */
export const ModelId = Type.String({ pattern: MODEL_ID_PATTERN });

/** Video vendors, by the short names used in rows, prefixes and folders. */
export const VENDORS = ['kling', 'jimeng', 'hailuo', 'seedance', 'wan', 'veo', 'vidu', 'sora', 'runway'] as const;

export type VendorId = (typeof VENDORS)[number];
