/** What a model makes. `image` models are called through chat and answer with a picture. */
export const MODEL_KINDS = ['video', 'chat', 'image'] as const;
export type ModelKind = (typeof MODEL_KINDS)[number];
