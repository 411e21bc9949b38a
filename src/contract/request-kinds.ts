/** What a call makes. `chat` includes the responses API. */
export const REQUEST_KINDS = ['chat', 'embeddings', 'image', 'video'] as const;
export type RequestKind = (typeof REQUEST_KINDS)[number];

/** How a call ended: with a complete result, with an error, or because its caller left. */
export const REQUEST_STATUSES = ['ok', 'failed', 'cancelled'] as const;
export type RequestStatus = (typeof REQUEST_STATUSES)[number];
