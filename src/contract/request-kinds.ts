/** Output of a call. `chat` includes the responses API. */
export const REQUEST_KINDS = ['chat', 'embeddings', 'image', 'video'] as const;
/** Output of a call. */
export type RequestKind = (typeof REQUEST_KINDS)[number];

/** How a call ended: with a complete result, with an error, or because its caller disconnected. */
export const REQUEST_STATUSES = ['ok', 'failed', 'cancelled'] as const;
/** How a call ended. */
export type RequestStatus = (typeof REQUEST_STATUSES)[number];
