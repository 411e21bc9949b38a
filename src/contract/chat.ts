import Type from 'typebox';
import { endpoint } from './endpoint.ts';

/** Model calls take pictures inside JSON, so their bodies may be as large as those of video. */
export const CHAT_BODY_LIMIT = 32 * 1024 * 1024;

const Model = Type.String({ minLength: 1, maxLength: 200 });
const Flag = Type.Optional(Type.Union([Type.Boolean(), Type.Null()]));
/** Whole numbers that decide what is set aside; null stands for absent, as OpenAI's own clients send it. */
const Count = Type.Optional(Type.Union([Type.Integer({ minimum: 0, maximum: 100_000_000 }), Type.Null()]));
/** What goes on behind the answer could neither be fetched here nor be paid. */
const Foreground = Type.Optional(Type.Union([Type.Literal(false), Type.Null()]));
const Copies = Type.Optional(Type.Union([Type.Integer({ minimum: 1, maximum: 128 }), Type.Null()]));

/**
 * Only what this service reads itself; everything else travels to the upstream as it came, and is the upstream's to judge.
 * Source: platform.openai.com/docs/api-reference, chat, responses, embeddings and images.
 */
const ChatBody = Type.Object({
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

const line = { method: 'POST', policy: 'model', envelope: 'model', tag: 'chat', bodyLimit: CHAT_BODY_LIMIT } as const;
const chat = { ...line, summary: 'Chat completion, streamed or not', body: ChatBody } as const;

export const chatCompletions = endpoint({ ...chat, path: '/v1/chat/completions' });
export const chatCompletionsV2 = endpoint({ ...chat, path: '/v2/chat/completions' });

export const responses = endpoint({
  ...line,
  path: '/v1/responses',
  summary: "Response in the form of OpenAI's Responses API, streamed or not",
  body: Type.Object({ model: Model, stream: Flag, max_output_tokens: Count, background: Foreground }),
});

export const embeddings = endpoint({
  ...line,
  path: '/v1/embeddings',
  summary: 'Embedding vectors of texts',
  body: Type.Object({ model: Model, input: Type.Unknown() }),
});

export const imageGenerations = endpoint({
  ...line,
  path: '/v1/images/generations',
  summary: 'Pictures from a text',
  body: Type.Object({ model: Model, prompt: Type.String({ minLength: 1 }), n: Copies, stream: Flag }),
});
