/** URL of the service; set by test/run-client-programs.ts. */
export const ORIGIN = String(process.env.SERVICE_URL);
export const BASE_URL = `${ORIGIN}/v1`;
export const API_KEY = String(process.env.SERVICE_KEY);

export const CHAT = 'sandbox-chat';
/** Models of upstreams that do not speak OpenAI's dialect. */
export const OTHER_DIALECT_MODELS = ['sandbox-claude', 'sandbox-gemini'];
/** One model of each kind of upstream, callable in every dialect. */
export const ALL_MODELS = ['sandbox-claude', 'sandbox-chat', 'sandbox-gemini'];
/** A model of an upstream in OpenAI's dialect that offers chat completions but no Responses. */
export const CHAT_COMPLETIONS_ONLY = 'sandbox-chat-mini';
export const EMBEDDING = 'sandbox-embedding';
export const IMAGE = 'sandbox-image';
export const VIDEO = 'sora-2';
/** A video model that takes references and two frames. */
export const REFERENCE_VIDEO = 'MiniMax-H3';

/** Parameters of a tool, as JSON Schema; the simulated model calls it with `{city: 'Paris'}`. */
export const WEATHER = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
} as const;

/** One red pixel. */
export const PIXEL =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR42mP4z8AAAAMBAQD3A0FDAAAAAElFTkSuQmCC';
