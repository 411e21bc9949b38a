import { defineSimulator, jsonResponse } from '../define-simulator.ts';
import { API_KEY, MODELS } from './api-key-and-model-id-constants.ts';
import { countTokens } from './count-tokens.ts';
import { errorResponse } from './error-responses.ts';
import { generateContent } from './generate-content.ts';

/** Rows of models to insert for it: quota per million tokens. */
export const GEMINI_SANDBOX_MODELS = [
  {
    id: 'sandbox-gemini',
    kind: 'chat',
    price: { input_per_million: 1_250_000, output_per_million: 10_000_000, cached_input_per_million: 125_000 },
  },
] as const;

/** A server with Google's generateContent, which checks what it is sent. Directives: `../chat/prompt-directives.ts`. */
export const geminiSimulator = defineSimulator({
  name: 'gemini',
  credentials: () => ({ api_key: API_KEY }),
  authorize: (request) => (request.headers['x-goog-api-key'] === API_KEY ? undefined : errorResponse('unauthorized')),
  problem: errorResponse,
  routes: [
    {
      method: 'POST',
      path: /^\/v1beta\/models\/(?<model>[^/:]+):(?<method>generateContent|streamGenerateContent)$/,
      operation: 'submit',
      handle: generateContent,
    },
    {
      method: 'POST',
      path: /^\/v1beta\/models\/(?<model>[^/:]+):countTokens$/,
      operation: 'other',
      handle: countTokens,
    },
    {
      method: 'GET',
      path: '/v1beta/models',
      operation: 'other',
      handle: () =>
        jsonResponse(200, {
          models: MODELS.map((id) => ({
            name: `models/${id}`,
            displayName: id,
            supportedGenerationMethods: ['generateContent', 'countTokens'],
          })),
        }),
    },
  ],
});
