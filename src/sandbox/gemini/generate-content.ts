import { setTimeout as sleep } from 'node:timers/promises';
import { chooseCalls } from '../chat/choose-calls.ts';
import { countWords } from '../chat/count-words.ts';
import { exampleForSchema } from '../chat/example-for-json-schema.ts';
import { type Directives, parseDirectives, wantedFunction } from '../chat/prompt-directives.ts';
import { newId, planText, streamText } from '../chat/stream-planned-text.ts';
import { asFieldList, asFields, type Fields } from '../chat/untrusted-fields.ts';
import { jsonResponse, type SimulatorRequest, type SimulatorResponse } from '../define-simulator.ts';
import { API_KEY } from './api-key-and-model-id-constants.ts';
import { countPrompt } from './count-tokens.ts';
import { errorResponse } from './error-responses.ts';
import { readRequest } from './read-request.ts';
import { SIGNATURE } from './thought-signature-constants.ts';

const THOUGHT = 'Let me think about the light.';

/** `generateContent`, and `streamGenerateContent` with `alt=sse`. What Google would refuse is refused. */
export function generateContent(request: SimulatorRequest): SimulatorResponse | Promise<SimulatorResponse> {
  const { body, fault } = readRequest(request);
  if (fault !== undefined) return fault;
  const isStream = request.params.method === 'streamGenerateContent';
  if (isStream && request.query.get('alt') !== 'sse') return errorResponse('invalid', 'alt must be sse');
  const directives = parseDirectives(request);
  const { parts, finishReason } = planParts(body, directives, wantedFunction(request));
  const base = { modelVersion: request.params.model, responseId: newId('gen') };
  const usageOfParts = (sent: readonly Fields[]) => usageOf(body, sent, directives('usage'));
  const waitMs = directives('wait') ?? 0;
  if (isStream) {
    const pieces = streamParts(parts, directives, { base, finishReason, usageOfParts, waitMs });
    return { kind: 'stream', status: 200, headers: { 'content-type': 'text/event-stream' }, pieces };
  }
  const candidate = { content: { role: 'model', parts }, finishReason, index: 0 };
  const whole = jsonResponse(200, { candidates: [candidate], usageMetadata: usageOfParts(parts), ...base });
  return waitMs === 0 ? whole : sleep(waitMs).then(() => whole);
}

/** A thought where it was asked for, then calls of functions, else words or the JSON of the schema. */
function planParts(
  body: Fields,
  directives: Directives,
  wanted: string | undefined,
): { readonly parts: Fields[]; readonly finishReason: string } {
  const config = asFields(body.generationConfig);
  const isThinking = asFields(config.thinkingConfig).includeThoughts === true;
  const thoughts = isThinking ? [{ text: THOUGHT, thought: true }] : [];
  const calls = planCalls(body, directives('tools') ?? 1, wanted);
  if (calls.length > 0) return { parts: [...thoughts, ...calls], finishReason: 'STOP' };
  const schema = config.responseJsonSchema ?? config.responseSchema;
  const json = config.responseMimeType === 'application/json' ? JSON.stringify(exampleForSchema(schema)) : undefined;
  const { pieces, isCut } = planText(directives, config.maxOutputTokens, json);
  return { parts: [...thoughts, { text: pieces.join('') }], finishReason: isCut ? 'MAX_TOKENS' : 'STOP' };
}

function planCalls(body: Fields, count: number, wanted: string | undefined): Fields[] {
  const choice = asFields(asFields(body.toolConfig).functionCallingConfig);
  const hasResult = asFieldList(body.contents).some(({ parts }) =>
    asFieldList(parts).some(({ functionResponse }) => functionResponse !== undefined),
  );
  if (hasResult || choice.mode === 'NONE') return [];
  const offered = asFieldList(body.tools)
    .flatMap(({ functionDeclarations }) => asFieldList(functionDeclarations))
    .map(({ name, parametersJsonSchema, parameters }) => ({
      name: String(name),
      parameters: parametersJsonSchema ?? toSmallTypes(parameters),
    }));
  const named = Array.isArray(choice.allowedFunctionNames) ? choice.allowedFunctionNames[0] : wanted;
  return chooseCalls(offered, named, count).map(({ name, arguments: json }, index) => ({
    functionCall: { name, args: JSON.parse(json) },
    thoughtSignature: index === 0 ? SIGNATURE : undefined,
  }));
}

/** Google's own schemas have types in capitals. */
const toSmallTypes = (schema: unknown): unknown =>
  JSON.parse(JSON.stringify(schema ?? {}), (key, value: unknown) =>
    key === 'type' && typeof value === 'string' ? value.toLowerCase() : value,
  );

/** @param directive Of `[usage=…]`: 0 for none, -1 for negative, 2 for absurdly large figures. */
function usageOf(body: Fields, parts: readonly Fields[], directive: number | undefined): Fields | undefined {
  if (directive === 0) return undefined;
  const factor = directive === -1 ? -1 : directive === 2 ? 1e300 : 1;
  const prompt = countPrompt(body);
  const thoughts = parts.some(({ thought }) => thought === true) ? countWords(THOUGHT) - 2 : 0;
  const shown = parts.filter(({ thought }) => thought !== true);
  const text = shown
    .map(({ text: said, functionCall }) => (typeof said === 'string' ? said : JSON.stringify(functionCall)))
    .join(' ');
  const output = text === '' ? 0 : text.trim().split(/\s+/).length;
  return {
    promptTokenCount: prompt,
    candidatesTokenCount: output * factor,
    thoughtsTokenCount: thoughts,
    totalTokenCount: prompt + output * factor + thoughts,
  };
}

async function* streamParts(
  parts: readonly Fields[],
  directives: Directives,
  end: {
    base: Fields;
    finishReason: string;
    /** Of what was sent so far. */
    usageOfParts: (sent: readonly Fields[]) => Fields | undefined;
    waitMs: number;
  },
): AsyncGenerator<string> {
  const { base, finishReason, usageOfParts, waitMs } = end;
  if (waitMs > 0) await sleep(waitMs);
  const sent: Fields[] = [];
  const chunk = (content: readonly Fields[], reason?: string): string => {
    sent.push(...content);
    return `data: ${JSON.stringify({
      candidates: [{ content: { role: 'model', parts: content }, finishReason: reason, index: 0 }],
      usageMetadata: usageOfParts(sent),
      ...base,
    })}\r\n\r\n`;
  };
  const toError = (message: string): string =>
    `data: ${JSON.stringify({ error: { code: 503, message: `${message}, key ${API_KEY}`, status: 'UNAVAILABLE' } })}\r\n\r\n`;
  for (const part of parts) {
    if (typeof part.text !== 'string' || part.thought === true) {
      yield chunk([part]);
      continue;
    }
    for await (const piece of streamText(
      part.text.match(/\s?\S+/g) ?? [],
      directives,
      (text) => chunk([{ text }]),
      toError,
    )) {
      yield piece;
      // An error ends the stream.
      if (piece.startsWith('data: {"error"')) return;
    }
  }
  yield chunk([{ text: '' }], finishReason);
}
