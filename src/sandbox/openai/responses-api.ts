import type { FunctionCall } from '../chat/choose-calls.ts';
import { type Directives, parseDirectives, wantedFunction } from '../chat/prompt-directives.ts';
import { newId, planText, streamText } from '../chat/stream-planned-text.ts';
import type { Fields } from '../chat/untrusted-fields.ts';
import { jsonResponse, type SimulatorRequest, type SimulatorResponse } from '../define-simulator.ts';
import { findResponseFault } from './chat-and-response-body-checks.ts';
import { chooseFunctionCalls, chooseJson } from './choose-calls-and-json-output.ts';
import { errorResponse, toErrorEvent } from './error-responses.ts';
import { CREATED, eventStream, promptTokens } from './response-fields-and-event-stream.ts';

/** Writes one event; `sequence_number` counts up over the stream. */
type WriteEvent = (type: string, fields: Fields) => string;

/** `POST /v1/responses`, with the events of a stream in OpenAI's order, all of which the official clients insist on. */
export function createResponse(request: SimulatorRequest): SimulatorResponse {
  const body = request.json();
  if (body?.input === undefined) return errorResponse('invalid', "'input' is required");
  const fault = findResponseFault(body);
  if (fault !== undefined) return errorResponse('invalid', fault);
  const directives = parseDirectives(request);
  const calls = chooseFunctionCalls(body, directives('tools'), wantedFunction(request));
  const text = planText(directives, body.max_output_tokens, chooseJson(body));
  const items = calls.length > 0 ? calls.map(toCallItem) : [toMessageItem(text.pieces.join(''))];
  const isCut = text.isCut && calls.length === 0;
  const base = baseOf(body);
  const ended = {
    ...base,
    status: isCut ? 'incomplete' : 'completed',
    incomplete_details: isCut ? { reason: 'max_output_tokens' } : null,
    output: items,
    usage: usageOf(body, text.pieces.length),
  };
  if (body.stream !== true) return jsonResponse(200, ended);

  let sequence = 0;
  const event: WriteEvent = (type, fields) =>
    `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: sequence++, ...fields })}\n\n`;
  async function* pieces(): AsyncGenerator<string> {
    const begun = { ...base, status: 'in_progress', output: [], usage: null };
    yield event('response.created', { response: begun });
    yield event('response.in_progress', { response: begun });
    for (const [index, item] of items.entries()) {
      if (item.type === 'function_call') yield* streamCall(item, index, event);
      else yield* streamMessage(item, text.pieces, directives, event);
      yield event('response.output_item.done', { output_index: index, item });
    }
    yield event(isCut ? 'response.incomplete' : 'response.completed', { response: ended });
  }
  return eventStream(pieces());
}

const toCallItem = (call: FunctionCall) => ({
  id: newId('fc'),
  type: 'function_call' as const,
  status: 'completed',
  call_id: newId('call'),
  ...call,
});

const toMessageItem = (text: string) => ({
  id: newId('msg'),
  type: 'message' as const,
  role: 'assistant',
  status: 'completed',
  content: [{ type: 'output_text', text, annotations: [], logprobs: [] }],
});

function* streamCall(item: ReturnType<typeof toCallItem>, index: number, event: WriteEvent): Generator<string> {
  const place = { item_id: item.id, output_index: index };
  yield event('response.output_item.added', {
    output_index: index,
    item: { ...item, status: 'in_progress', arguments: '' },
  });
  yield event('response.function_call_arguments.delta', { ...place, delta: item.arguments });
  yield event('response.function_call_arguments.done', { ...place, name: item.name, arguments: item.arguments });
}

async function* streamMessage(
  item: ReturnType<typeof toMessageItem>,
  pieces: readonly string[],
  directives: Directives,
  event: WriteEvent,
): AsyncGenerator<string> {
  const place = { item_id: item.id, output_index: 0, content_index: 0 };
  const [part] = item.content;
  yield event('response.output_item.added', { output_index: 0, item: { ...item, status: 'in_progress', content: [] } });
  yield event('response.content_part.added', { ...place, part: { ...part, text: '' } });
  const toEvent = (delta: string) => event('response.output_text.delta', { ...place, delta, logprobs: [] });
  yield* streamText(pieces, directives, toEvent, toErrorEvent);
  yield event('response.output_text.done', { ...place, text: part?.text, logprobs: [] });
  yield event('response.content_part.done', { ...place, part });
}

/** The fields of a response that do not change while it is made; typed clients read all of them. */
const baseOf = (body: Fields): Fields => ({
  id: newId('resp'),
  object: 'response',
  created_at: CREATED,
  model: body.model,
  error: null,
  incomplete_details: null,
  instructions: body.instructions ?? null,
  max_output_tokens: body.max_output_tokens ?? null,
  metadata: body.metadata ?? {},
  parallel_tool_calls: true,
  previous_response_id: body.previous_response_id ?? null,
  reasoning: { effort: null, summary: null },
  temperature: 1,
  text: body.text ?? { format: { type: 'text' } },
  tool_choice: body.tool_choice ?? 'auto',
  tools: body.tools ?? [],
  top_p: 1,
  truncation: 'disabled',
});

function usageOf(body: Fields, output: number): Fields {
  const input = promptTokens(body);
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: input + output,
  };
}
