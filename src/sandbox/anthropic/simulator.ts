import { defineSimulator, jsonResponse } from '../define-simulator.ts';
import { API_KEY, MODELS } from './api-key-and-model-id-constants.ts';
import { errorResponse } from './error-responses.ts';
import { countTokens, createMessage } from './messages.ts';

/** Rows of models to insert for it: quota per million tokens. */
export const ANTHROPIC_SANDBOX_MODELS = [
  {
    id: 'sandbox-claude',
    kind: 'chat',
    price: {
      input_per_million: 3_000_000,
      output_per_million: 15_000_000,
      cached_input_per_million: 300_000,
      cache_write_per_million: 3_750_000,
      cache_write_1h_per_million: 6_000_000,
    },
  },
] as const;

/** A server with Anthropic's Messages protocol, which checks what it is sent. Directives: `../chat/prompt-directives.ts`. */
export const anthropicSimulator = defineSimulator({
  name: 'anthropic',
  credentials: () => ({ api_key: API_KEY }),
  authorize: (request) => (request.headers['x-api-key'] === API_KEY ? undefined : errorResponse('unauthorized')),
  problem: errorResponse,
  routes: [
    { method: 'POST', path: '/v1/messages', operation: 'submit', handle: createMessage },
    { method: 'POST', path: '/v1/messages/count_tokens', operation: 'other', handle: countTokens },
    {
      method: 'GET',
      path: '/v1/models',
      operation: 'other',
      handle: () =>
        jsonResponse(200, {
          data: MODELS.map((id) => ({ id, type: 'model', display_name: id, created_at: '2026-01-01T00:00:00Z' })),
          has_more: false,
          first_id: MODELS[0],
          last_id: MODELS.at(-1),
        }),
    },
  ],
});
