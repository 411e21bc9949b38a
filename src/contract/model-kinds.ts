import Type from 'typebox';

/** Output of a model. `image` models are called through the chat endpoint and return an image. */
export const MODEL_KINDS = ['video', 'chat', 'image'] as const;
/** Output of a model. */
export type ModelKind = (typeof MODEL_KINDS)[number];

export const Kind = Type.Enum([...MODEL_KINDS]);
export const MODEL_ID_PATTERN = '^[A-Za-z0-9][A-Za-z0-9._:@/-]{0,199}$';
/** A public model name. Inside a URL a slash is written `~`. */
export const ModelId = Type.String({ pattern: MODEL_ID_PATTERN });

/** Short names of the video vendors, used in rows, prefixes and folders. */
export const VENDORS = [
  'kling',
  'jimeng',
  'hailuo',
  'seedance',
  'wan',
  'veo',
  'vidu',
  'sora',
  'runway',
  'xai',
] as const;

/** Short name of a video vendor. */
export type VendorId = (typeof VENDORS)[number];
