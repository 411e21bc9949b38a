// Apart from the schemas, so that the command line's help does not load them.

/** Endpoints that the lines of a batch can call. */
export const BATCH_ENDPOINTS = ['/v1/videos', '/v1/chat/completions', '/v1/responses', '/v1/embeddings'] as const;
/** The endpoint of a batch. */
export type BatchEndpoint = (typeof BATCH_ENDPOINTS)[number];
