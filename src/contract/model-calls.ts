import Type from 'typebox';
import { endpoint } from './endpoint.ts';

/** Model calls carry images inside JSON, so their limit equals that of video requests. Bytes. */
export const CHAT_BODY_LIMIT = 32 * 1024 * 1024;

/** Inputs may be token arrays: up to 300,000 tokens in one call, the limit of OpenAI's API. */
const EMBEDDING_MAX_VALUES = 350_000;

const Model = Type.String({ minLength: 1, maxLength: 200 });
const Flag = Type.Optional(Type.Union([Type.Boolean(), Type.Null()]));
/** Integers that determine the reserved quota. Null, 0 and -1 mean no limit: some clients always send every field. */
const Count = Type.Optional(Type.Union([Type.Integer({ minimum: -1, maximum: 100_000_000 }), Type.Null()]));
const Copies = Type.Optional(Type.Union([Type.Integer({ minimum: 1, maximum: 128 }), Type.Null()]));

/**
 * Only the fields this service reads; every other field is forwarded unchanged and validated by the upstream. Source:
 * platform.openai.com/docs/api-reference, chat, responses, embeddings and images.
 */
export const ChatBody = Type.Object({
  model: Model,
  messages: Type.Array(Type.Unknown(), { minItems: 1 }),
  stream: Flag,
  stream_options: Type.Optional(
    Type.Union([Type.Object({ include_usage: Type.Optional(Type.Union([Type.Boolean(), Type.Null()])) }), Type.Null()]),
  ),
  max_tokens: Count,
  max_completion_tokens: Count,
  n: Copies,
});

/** A body without messages is one of the Responses API, which Cursor sends to this path. */
const ChatOrResponsesBody = Type.Object({
  ...ChatBody.properties,
  messages: Type.Optional(Type.Array(Type.Unknown())),
});

const modelCall = {
  method: 'POST',
  policy: 'model',
  envelope: 'model',
  tag: 'chat',
  bodyLimit: CHAT_BODY_LIMIT,
} as const;
const streamed = { responseTypes: ['application/json', 'text/event-stream'] } as const;
const chat = {
  ...modelCall,
  ...streamed,
  summary: 'Chat completion, streamed or not',
  body: ChatOrResponsesBody,
} as const;

export const chatCompletions = endpoint({ ...chat, path: '/v1/chat/completions' });
/** For the console's playground, which has a session but no key: charged to the account and logged without a key. */
export const ownChatCompletions = endpoint({
  organization: 'member',
  ...chat,
  policy: 'account',
  envelope: 'api',
  spends: true,
  path: '/api/chat/completions',
  summary: "Chat completion by the account itself, as the console's playground sends it",
});
export const chatCompletionsV2 = endpoint({ ...chat, path: '/v2/chat/completions' });

export const responses = endpoint({
  ...modelCall,
  ...streamed,
  path: '/v1/responses',
  summary: "Response in the form of OpenAI's Responses API, streamed or not",
  body: Type.Object({ model: Model, stream: Flag, max_output_tokens: Count }),
});

const anthropic = { ...modelCall, envelope: 'anthropic' } as const;

/** Source: docs.claude.com/en/api/messages. max_tokens is optional here: when absent, the reserved number is sent. */
export const messages = endpoint({
  ...anthropic,
  ...streamed,
  path: '/v1/messages',
  summary: "Message in the form of Anthropic's API, streamed or not",
  body: Type.Object({
    model: Model,
    messages: Type.Array(Type.Unknown(), { minItems: 1 }),
    stream: Flag,
    max_tokens: Count,
  }),
});

export const countMessageTokens = endpoint({
  ...anthropic,
  path: '/v1/messages/count_tokens',
  summary: "Tokens of a message in the form of Anthropic's API; free of charge",
  body: Type.Object({ model: Model, messages: Type.Array(Type.Unknown(), { minItems: 1 }) }),
  response: Type.Object({ input_tokens: Type.Integer() }),
});

const gemini = { ...modelCall, envelope: 'gemini' } as const;

/**
 * Source: ai.google.dev/api/generate-content. Field names may be in camel case or snake case, both of which Google
 * accepts.
 */
export const geminiModelCall = endpoint({
  ...gemini,
  ...streamed,
  path: '/v1beta/models/:model',
  summary:
    "Google's generateContent, streamGenerateContent (with `alt=sse`) and countTokens, as `{model}:{method}`; the key may be in the query",
  params: Type.Object({ model: Type.String({ description: 'With its method: `gemini-pro:generateContent`.' }) }),
  query: Type.Object({ alt: Type.Optional(Type.String()), key: Type.Optional(Type.String()) }),
  body: Type.Object({
    contents: Type.Optional(Type.Union([Type.Array(Type.Unknown()), Type.Unknown()])),
    generationConfig: Type.Optional(Type.Union([Type.Object({ maxOutputTokens: Count }), Type.Null()])),
  }),
});

/** The path used by Google's JavaScript client since version 3. */
export const geminiModelCallV1 = endpoint({ ...geminiModelCall, path: '/v1/models/:model' });

export const embeddings = endpoint({
  ...modelCall,
  path: '/v1/embeddings',
  maxBodyValues: EMBEDDING_MAX_VALUES,
  summary: 'Embedding vectors of texts',
  body: Type.Object({ model: Model, input: Type.Unknown() }),
});

export const imageGenerations = endpoint({
  ...modelCall,
  ...streamed,
  path: '/v1/images/generations',
  summary: 'Images from a text',
  body: Type.Object({ model: Model, prompt: Type.String({ minLength: 1 }), n: Copies, stream: Flag }),
});

export const ownImageGenerations = endpoint({
  organization: 'member',
  ...imageGenerations,
  policy: 'account',
  envelope: 'api',
  spends: true,
  path: '/api/images/generations',
  summary: "Images by the account itself, as the console's playground sends them",
});
