import { setTimeout as sleep } from 'node:timers/promises';
import { parseDirectives, wantedFunction } from '../chat/prompt-directives.ts';
import { newId, planText, streamText } from '../chat/stream-planned-text.ts';
import type { Fields } from '../chat/untrusted-fields.ts';
import { jsonResponse, type SimulatorRequest, type SimulatorResponse } from '../define-simulator.ts';
import { isModel } from './api-key-and-model-id-constants.ts';
import { findChatFault } from './chat-and-response-body-checks.ts';
import { chooseFunctionCalls, chooseJson } from './choose-calls-and-json-output.ts';
import { errorResponse, toErrorEvent } from './error-responses.ts';
import { CREATED, eventStream, promptTokens } from './response-fields-and-event-stream.ts';

/** `POST /v1/chat/completions`. */
export function createChatCompletion(request: SimulatorRequest): SimulatorResponse | Promise<SimulatorResponse> {
  const body = request.json();
  if (body === undefined || !Array.isArray(body.messages) || body.messages.length === 0)
    return errorResponse('invalid', "'messages' is required");
  if (!isModel(body.model)) return errorResponse('model');
  const fault = findChatFault(body);
  if (fault !== undefined) return errorResponse('invalid', fault);
  const directives = parseDirectives(request);
  const calls = chooseFunctionCalls(body, directives('tools'), wantedFunction(request));
  const text = planText(directives, body.max_completion_tokens ?? body.max_tokens, chooseJson(body));
  const usage = usageOf(body, text.pieces.length, directives('usage'));
  const base = { id: newId('chatcmpl'), created: CREATED, model: body.model, system_fingerprint: 'fp_sandbox' };
  const finish = calls.length > 0 ? 'tool_calls' : text.isCut ? 'length' : 'stop';
  const toolCalls = calls.map((call) => ({ id: newId('call'), type: 'function', function: call }));
  const waitMs = directives('wait');

  if (body.stream !== true) {
    const message =
      toolCalls.length > 0
        ? { role: 'assistant', content: null, tool_calls: toolCalls }
        : { role: 'assistant', content: text.pieces.join(''), refusal: null };
    const choice = { index: 0, message, logprobs: null, finish_reason: finish };
    const response = jsonResponse(200, { ...base, object: 'chat.completion', choices: [choice], usage });
    return waitMs === undefined ? response : sleep(waitMs).then(() => response);
  }

  const includesUsage = (body.stream_options as Fields | undefined)?.include_usage === true;
  const event = (value: object): string =>
    `data: ${JSON.stringify({ ...base, object: 'chat.completion.chunk', ...value })}\n\n`;
  const delta = (piece: object, reason: string | null = null): string =>
    event({
      choices: [{ index: 0, delta: piece, logprobs: null, finish_reason: reason }],
      usage: includesUsage ? null : undefined,
    });

  async function* pieces(): AsyncGenerator<string> {
    if (waitMs !== undefined) await sleep(waitMs);
    if (toolCalls.length > 0) {
      yield delta({ role: 'assistant', content: null });
      for (const [index, call] of toolCalls.entries()) {
        yield delta({ tool_calls: [{ ...call, index, function: { ...call.function, arguments: '' } }] });
        yield delta({ tool_calls: [{ index, function: { arguments: call.function.arguments } }] });
      }
    } else {
      yield delta({ role: 'assistant', content: '', refusal: null });
      yield* streamText(text.pieces, directives, (content) => delta({ content }), toErrorEvent);
    }
    yield delta({}, finish);
    if (includesUsage && usage) yield event({ choices: [], usage });
    yield 'data: [DONE]\n\n';
  }
  return eventStream(pieces());
}

/** @param directive Of `[usage=…]`: 0 for none, -1 for negative, 2 for absurdly large figures. */
function usageOf(body: Fields, completion: number, directive: number | undefined): object | undefined {
  if (directive === 0) return undefined;
  const prompt = promptTokens(body);
  const factor = directive === -1 ? -1 : directive === 2 ? 1e300 : 1;
  return {
    prompt_tokens: prompt,
    completion_tokens: completion * factor,
    total_tokens: prompt + completion * factor,
    prompt_tokens_details: { cached_tokens: 0 },
  };
}
