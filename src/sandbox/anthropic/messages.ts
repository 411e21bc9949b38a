import { setTimeout as sleep } from 'node:timers/promises';
import { chooseCalls } from '../chat/choose-calls.ts';
import { countWords } from '../chat/count-words.ts';
import { exampleForSchema } from '../chat/example-for-json-schema.ts';
import { type Directives, parseDirectives, wantedFunction } from '../chat/prompt-directives.ts';
import { newId, planText, streamText } from '../chat/stream-planned-text.ts';
import { asFieldList, asFields, type Fields } from '../chat/untrusted-fields.ts';
import { jsonResponse, type SimulatorRequest, type SimulatorResponse } from '../define-simulator.ts';
import { API_KEY, MODELS } from './api-key-and-model-id-constants.ts';
import { errorResponse } from './error-responses.ts';
import { readCacheUsage } from './prompt-cache.ts';
import { findFault } from './request-body-checks.ts';
import { signThinking } from './thinking-signature.ts';

const THOUGHT = 'Let me think about the light.';

/** `POST /v1/messages` (docs.claude.com/en/api/messages). What Anthropic would refuse is refused. */
export function createMessage(request: SimulatorRequest): SimulatorResponse | Promise<SimulatorResponse> {
  const body = request.json();
  const fault = checkRequest(request, body, false);
  if (fault !== undefined || body === undefined) return fault ?? errorResponse('invalid');
  const directives = parseDirectives(request);
  const { content, isCut } = planContent(body, directives, wantedFunction(request));
  const stopReason = content.some(({ type }) => type === 'tool_use') ? 'tool_use' : isCut ? 'max_tokens' : 'end_turn';
  const usage = usageOf(body, content, directives('usage'));
  const message = { id: newId('msg'), type: 'message', role: 'assistant', model: body.model };
  const end = { stop_reason: stopReason, stop_sequence: null };
  const waitMs = directives('wait') ?? 0;
  if (body.stream !== true) {
    const whole = jsonResponse(200, { ...message, content, ...end, usage }, { 'request-id': newId('req') });
    return waitMs === 0 ? whole : sleep(waitMs).then(() => whole);
  }
  return {
    kind: 'stream',
    status: 200,
    headers: { 'content-type': 'text/event-stream; charset=utf-8', 'request-id': newId('req') },
    pieces: streamMessage({ ...message, content: [], stop_reason: null, stop_sequence: null }, content, directives, {
      end,
      usage,
      waitMs,
    }),
  };
}

/** `POST /v1/messages/count_tokens`. */
export function countTokens(request: SimulatorRequest): SimulatorResponse {
  const body = request.json();
  return checkRequest(request, body, true) ?? jsonResponse(200, { input_tokens: countPrompt(body ?? {}) });
}

function checkRequest(
  request: SimulatorRequest,
  body: Fields | undefined,
  counts: boolean,
): SimulatorResponse | undefined {
  if (request.headers['anthropic-version'] === undefined)
    return errorResponse('invalid', 'anthropic-version: header is required');
  if (body === undefined) return errorResponse('invalid', 'The request body is not valid JSON');
  const fault = findFault(body, counts);
  if (fault !== undefined) return errorResponse('invalid', fault);
  return MODELS.includes(String(body.model)) ? undefined : errorResponse('model', `model: ${String(body.model)}`);
}

/** Thinking where it was asked for, then tool calls, else words or the JSON of the schema. */
function planContent(
  body: Fields,
  directives: Directives,
  wanted: string | undefined,
): { readonly content: Fields[]; readonly isCut: boolean } {
  const isThinking = ['enabled', 'adaptive'].includes(String(asFields(body.thinking).type));
  const thinking = isThinking ? [{ type: 'thinking', thinking: THOUGHT, signature: signThinking(THOUGHT) }] : [];
  const calls = chooseToolUses(body, directives('tools') ?? 1, wanted);
  if (calls.length > 0) return { content: [...thinking, ...calls], isCut: false };
  const format = asFields(asFields(body.output_config).format);
  const json = format.type === 'json_schema' ? JSON.stringify(exampleForSchema(format.schema)) : undefined;
  const { pieces, isCut } = planText(directives, body.max_tokens, json);
  return { content: [...thinking, { type: 'text', text: pieces.join('') }], isCut };
}

function chooseToolUses(body: Fields, count: number, wanted: string | undefined): Fields[] {
  const choice = asFields(body.tool_choice);
  const hasResult = asFieldList(body.messages).some(({ content }) =>
    asFieldList(content).some(({ type }) => type === 'tool_result'),
  );
  if (hasResult || choice.type === 'none') return [];
  const offered = asFieldList(body.tools)
    .filter(({ type }) => type === undefined || type === 'custom')
    .map(({ name, input_schema: parameters }) => ({ name: String(name), parameters }));
  const single = choice.disable_parallel_tool_use === true ? 1 : count;
  return chooseCalls(offered, choice.name ?? wanted, single).map(({ name, arguments: json }) => ({
    type: 'tool_use',
    id: newId('toolu'),
    name,
    input: JSON.parse(json),
  }));
}

const countPrompt = ({ system, messages, tools }: Fields): number => countWords([system, messages, tools]);

/** @param directive Of `[usage=…]`: 0 for none, -1 for negative, 2 for absurdly large figures. */
function usageOf(body: Fields, content: readonly Fields[], directive: number | undefined): Fields | undefined {
  if (directive === 0) return undefined;
  const factor = directive === -1 ? -1 : directive === 2 ? 1e300 : 1;
  const thinking = content.filter(({ type }) => type === 'thinking').length > 0 ? countWords(THOUGHT) - 2 : 0;
  const shown = content.filter(({ type }) => type !== 'thinking');
  const text = shown.map(({ text, input }) => (typeof text === 'string' ? text : JSON.stringify(input))).join(' ');
  const output = thinking + (text === '' ? 0 : text.trim().split(/\s+/).length);
  return {
    ...readCacheUsage(body, countPrompt(body)),
    output_tokens: output * factor,
    output_tokens_details: { thinking_tokens: thinking },
    service_tier: 'standard',
  };
}

const toEvent = (type: string, fields: Fields): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
const toError = (message: string): string =>
  toEvent('error', { error: { type: 'overloaded_error', message: `${message}, key ${API_KEY}` } });

async function* streamMessage(
  message: Fields,
  content: readonly Fields[],
  directives: Directives,
  { end, usage, waitMs }: { readonly end: Fields; readonly usage: Fields | undefined; readonly waitMs: number },
): AsyncGenerator<string> {
  if (waitMs > 0) await sleep(waitMs);
  yield toEvent('message_start', { message: { ...message, usage: usage && { ...usage, output_tokens: 1 } } });
  yield toEvent('ping', {});
  for (const [index, block] of content.entries()) {
    yield toEvent('content_block_start', { index, content_block: emptied(block) });
    for await (const delta of deltasOf(block, directives)) {
      // An error event ends the stream.
      if (typeof delta === 'string') return yield delta;
      yield toEvent('content_block_delta', { index, delta });
    }
    yield toEvent('content_block_stop', { index });
  }
  const { cache_creation: _, ...cumulative } = usage ?? {};
  yield toEvent('message_delta', { delta: end, usage: usage && cumulative });
  yield toEvent('message_stop', {});
}

const emptied = (block: Fields): Fields =>
  block.type === 'text'
    ? { ...block, text: '' }
    : block.type === 'thinking'
      ? { ...block, thinking: '', signature: '' }
      : { ...block, input: {} };

async function* deltasOf(block: Fields, directives: Directives): AsyncGenerator<Fields | string> {
  if (block.type === 'thinking') {
    yield { type: 'thinking_delta', thinking: block.thinking };
    yield { type: 'signature_delta', signature: block.signature };
  } else if (block.type === 'tool_use') {
    const json = JSON.stringify(block.input);
    yield { type: 'input_json_delta', partial_json: '' };
    yield { type: 'input_json_delta', partial_json: json.slice(0, 4) };
    yield { type: 'input_json_delta', partial_json: json.slice(4) };
  } else {
    const words = String(block.text).match(/\s?\S+/g) ?? [];
    const isEvent = (piece: string): boolean => piece.startsWith('event: ') || piece.startsWith('data: ');
    for await (const piece of streamText(words, directives, (text) => text, toError))
      yield isEvent(piece) ? piece : { type: 'text_delta', text: piece };
  }
}
