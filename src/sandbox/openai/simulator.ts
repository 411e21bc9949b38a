import { defineSimulator, jsonResponse } from '../define-simulator.ts';
import { API_KEY, MODELS } from './api-key-and-model-id-constants.ts';
import { createChatCompletion } from './chat-completions.ts';
import { createEmbedding } from './embeddings.ts';
import { errorResponse } from './error-responses.ts';
import { createImages } from './images.ts';
import { createResponse } from './responses-api.ts';

/** Rows of models to insert for it: quota per million tokens, or for an image. */
export const OPENAI_SANDBOX_MODELS = [
  { id: 'sandbox-chat', kind: 'chat', price: { input_per_million: 1_000_000, output_per_million: 4_000_000 } },
  { id: 'sandbox-chat-mini', kind: 'chat', price: { input_per_million: 100_000, output_per_million: 400_000 } },
  { id: 'sandbox-embedding', kind: 'chat', price: { input_per_million: 10_000, output_per_million: 0 } },
  { id: 'sandbox-image', kind: 'image', price: { per_call: 10_000, per_second: 0 } },
] as const;

/** A server with OpenAI's protocol: chat with tools, responses, embeddings, images. Directives: `prompt-directives.ts`. */
export const openaiSimulator = defineSimulator({
  name: 'openai',
  credentials: () => ({ api_key: API_KEY }),
  authorize: (request) =>
    request.headers.authorization === `Bearer ${API_KEY}` ? undefined : errorResponse('unauthorized'),
  problem: errorResponse,
  routes: [
    { method: 'POST', path: '/v1/chat/completions', operation: 'submit', handle: createChatCompletion },
    { method: 'POST', path: '/v1/responses', operation: 'submit', handle: createResponse },
    { method: 'POST', path: '/v1/embeddings', operation: 'submit', handle: createEmbedding },
    { method: 'POST', path: '/v1/images/generations', operation: 'submit', handle: createImages },
    {
      method: 'GET',
      path: '/v1/models',
      operation: 'other',
      handle: () =>
        jsonResponse(200, {
          object: 'list',
          data: MODELS.map((id) => ({ id, object: 'model', created: 0, owned_by: 'sandbox' })),
        }),
    },
  ],
});
