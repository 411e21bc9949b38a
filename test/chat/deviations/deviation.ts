/** A real upstream response that deviates from the specification, and what every caller must receive. */
export interface Deviation {
  readonly name: string;
  /** Where the deviation was reported or documented. */
  readonly source: string;
  /** A complete, non-streamed response. */
  readonly body?: unknown;
  /** Events of a stream: objects, or text written verbatim. */
  readonly events?: readonly unknown[];
  readonly expected: Expected;
}

/** The content, charge and end that every caller must receive. */
export interface Expected {
  readonly text?: string;
  readonly thought?: string;
  /** Tool calls as pairs of name and JSON arguments. */
  readonly calls?: readonly (readonly [string, string])[];
  readonly images?: number;
  /** Default: `calls` if there are calls, otherwise `end`. */
  readonly end?: 'end' | 'length' | 'calls' | 'refused';
  /** How the response fails: before any content, free of charge; or after some, reported as an error. */
  readonly fails?: 'empty' | 'failure' | 'malformed' | 'error' | 'cut' | 'reason';
  /** Charged input and output tokens; `counted`: the upstream reports no credible usage, so tokens are counted. */
  readonly charged?: readonly [number, number] | 'counted';
  /** Parts of the paths reported as dropped. */
  readonly dropped?: readonly string[];
}

/** The final event of a chat completion stream. */
export const done = 'data: [DONE]\n\n';
/** A chunk of a chat completion stream. */
export const chunk = (delta: object, finish: string | null = null, more: object = {}): object => ({
  id: 'c',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'm',
  choices: [{ index: 0, delta, finish_reason: finish }],
  ...more,
});
/** The chunk with the usage of a chat completion stream. */
export const usageChunk = (prompt: number, completion: number, more: object = {}): object => ({
  id: 'c',
  choices: [],
  usage: { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion, ...more },
});
/** A chunk with tool calls. */
export const call = (...calls: readonly object[]): object => chunk({ tool_calls: calls });
/** A complete chat completion. */
export const completion = (message: object, finish: string | null = 'stop', more: object = {}): object => ({
  id: 'c',
  object: 'chat.completion',
  created: 1,
  model: 'm',
  choices: [{ index: 0, message: { role: 'assistant', ...message }, finish_reason: finish }],
  usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
  ...more,
});
/** Anthropic's event at the start of a content block. */
export const begin = (index: number, block: object): object => ({
  type: 'content_block_start',
  index,
  content_block: block,
});
/** Anthropic's event with a part of a content block. */
export const delta = (index: number, value: object): object => ({ type: 'content_block_delta', index, delta: value });
/** Anthropic's event at the end of a content block. */
export const stop = (index: number): object => ({ type: 'content_block_stop', index });
/** Anthropic's first event of a stream. */
export const messageStart = (usage: object = { input_tokens: 10, output_tokens: 1 }): object => ({
  type: 'message_start',
  message: { id: 'm', type: 'message', role: 'assistant', model: 'm', content: [], stop_reason: null, usage },
});
/** Anthropic's last two events of a stream. */
export const messageEnd = (reason: string | null = 'end_turn', usage: object = { output_tokens: 5 }): object[] => [
  { type: 'message_delta', delta: { stop_reason: reason, stop_sequence: null }, usage },
  { type: 'message_stop' },
];
/** All Anthropic events of a text block. */
export const textBlock = (index: number, text: string): object[] => [
  begin(index, { type: 'text', text: '' }),
  delta(index, { type: 'text_delta', text }),
  stop(index),
];
/** The delta of an Anthropic tool call's arguments. */
export const json = (partial: string): object => ({ type: 'input_json_delta', partial_json: partial });
/** A complete Anthropic message. */
export const message = (content: unknown, reason: string | null = 'end_turn', more: object = {}): object => ({
  id: 'm',
  type: 'message',
  role: 'assistant',
  model: 'm',
  content,
  stop_reason: reason,
  stop_sequence: null,
  usage: { input_tokens: 10, output_tokens: 5 },
  ...more,
});
/** A complete response of OpenAI's Responses API. */
export const response = (output: readonly object[], more: object = {}): object => ({
  id: 'r',
  object: 'response',
  status: 'completed',
  model: 'm',
  output,
  usage: { input_tokens: 10, output_tokens: 5, total_tokens: 15 },
  ...more,
});
/** The first event of a Responses stream. */
export const created: object = { type: 'response.created', response: { id: 'r', status: 'in_progress', output: [] } };
/** The last event of a Responses stream. */
export const completed = (output: readonly object[] = [], more: object = {}): object => ({
  type: 'response.completed',
  response: response(output, more),
});
/** A message item of the Responses API. */
export const said = (text: string, id = 'msg_0'): object => ({
  id,
  type: 'message',
  role: 'assistant',
  status: 'completed',
  content: [{ type: 'output_text', text, annotations: [] }],
});
/** A function call item of the Responses API. */
export const called = (name: string, args: unknown, id = 'fc_0'): object => ({
  id,
  type: 'function_call',
  status: 'completed',
  call_id: `call_${id}`,
  name,
  arguments: args,
});
/** A Gemini response, or one event of its stream. */
export const candidate = (parts: unknown, finish?: string, more: object = {}): object => ({
  candidates: [{ content: { role: 'model', parts }, finishReason: finish, index: 0 }],
  usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 5, totalTokenCount: 15 },
  ...more,
});
