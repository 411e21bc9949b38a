import Type from 'typebox';
import { endpoint } from './endpoint.ts';

/** Models a token may call, as the clients of three vendors list them. */

const Model = Type.Object({
  id: Type.String(),
  object: Type.Literal('model'),
  created: Type.Integer(),
  owned_by: Type.String(),
});

/** docs.claude.com/en/api/models-list; what this service does not know of a model is null. */
const AnthropicModel = Type.Object({
  type: Type.Literal('model'),
  id: Type.String(),
  display_name: Type.String(),
  created_at: Type.String({ format: 'date-time' }),
  lifecycle: Type.Enum(['active', 'deprecated']),
  deprecated_at: Type.Union([Type.String({ format: 'date-time' }), Type.Null()]),
  retires_at: Type.Union([Type.String({ format: 'date-time' }), Type.Null()]),
  capabilities: Type.Null(),
  line: Type.Null(),
  max_input_tokens: Type.Null(),
  max_tokens: Type.Null(),
});
const AnthropicModels = Type.Object({
  data: Type.Array(AnthropicModel),
  first_id: Type.Union([Type.String(), Type.Null()]),
  last_id: Type.Union([Type.String(), Type.Null()]),
  has_more: Type.Boolean(),
});
const Models = Type.Object({ object: Type.Literal('list'), data: Type.Array(Model) });

/** ai.google.dev/api/models */
const GeminiModel = Type.Object({
  name: Type.String(),
  displayName: Type.String(),
  supportedGenerationMethods: Type.Array(Type.String()),
});
const GeminiModels = Type.Object({ models: Type.Array(GeminiModel), nextPageToken: Type.Optional(Type.String()) });
const GeminiPage = {
  pageSize: Type.Optional(Type.String({ description: "Of Google's pages: 1 to 1000, default 50." })),
  pageToken: Type.Optional(Type.String({ maxLength: 1_000 })),
};

export const listModels = endpoint({
  method: 'GET',
  tag: 'models',
  policy: 'model',
  path: '/v1/models',
  summary:
    "Models this token may call; by pages in the form of Anthropic's API where the header anthropic-version is sent, and of Google's where x-goog-api-key is",
  envelope: 'model',
  query: Type.Object({
    limit: Type.Optional(Type.String({ description: "Of Anthropic's pages: 1 to 1000, default 20." })),
    before_id: Type.Optional(Type.String({ maxLength: 200 })),
    after_id: Type.Optional(Type.String({ maxLength: 200 })),
    ...GeminiPage,
  }),
  response: Models,
  documentedResponse: Type.Union([Models, AnthropicModels, GeminiModels]),
});
export const getModel = endpoint({
  method: 'GET',
  tag: 'models',
  policy: 'model',
  path: '/v1/models/:model',
  summary: 'One model this token may call',
  envelope: 'model',
  params: Type.Object({ model: Type.String({ minLength: 1, maxLength: 200 }) }),
  response: Model,
  documentedResponse: Type.Union([Model, AnthropicModel, GeminiModel]),
});

export const listGeminiModels = endpoint({
  method: 'GET',
  policy: 'model',
  envelope: 'gemini',
  tag: 'chat',
  path: '/v1beta/models',
  summary: "Models this token may call, in the form of Google's API",
  query: Type.Object({
    key: Type.Optional(Type.String()),
    ...GeminiPage,
  }),
  response: GeminiModels,
});

export const getGeminiModel = endpoint({
  method: 'GET',
  policy: 'model',
  envelope: 'gemini',
  tag: 'chat',
  path: '/v1beta/models/:model',
  summary: "One model this token may call, in the form of Google's API",
  params: Type.Object({ model: Type.String({ minLength: 1, maxLength: 200 }) }),
  query: Type.Object({ key: Type.Optional(Type.String()) }),
  response: GeminiModel,
});
