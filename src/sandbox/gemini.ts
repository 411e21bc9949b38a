import { setTimeout as sleep } from 'node:timers/promises';
import {
  asFieldList,
  asFields,
  chooseCalls,
  countWords,
  type Directives,
  exampleForSchema,
  type Fields,
  newId,
  parseDirectives,
  planText,
  splitWords,
  streamText,
  wantedFunction,
} from './chat.ts';
import { composeChatReply } from './chat-reply.ts';
import {
  defineSimulator,
  jsonResponse,
  type ProblemKind,
  type SimulatorRequest,
  type SimulatorResponse,
} from './simulator.ts';

function countTokens(request: SimulatorRequest): SimulatorResponse {
  const { body, fault } = readRequest(request);
  return fault ?? jsonResponse(200, { totalTokens: countPrompt(body) });
}

const countPrompt = ({ systemInstruction, contents, tools }: Fields): number =>
  countWords([systemInstruction, contents, tools]);

const PROBLEMS: Readonly<Record<ProblemKind, readonly [status: number, word: string, text: string]>> = {
  unauthorized: [400, 'INVALID_ARGUMENT', 'API key not valid. Please pass a valid API key.'],
  forbidden: [403, 'PERMISSION_DENIED', 'The caller does not have permission'],
  billing: [429, 'RESOURCE_EXHAUSTED', 'You exceeded your current quota'],
  model: [404, 'NOT_FOUND', 'The model is not found for API version v1beta'],
  rate: [429, 'RESOURCE_EXHAUSTED', 'Resource has been exhausted'],
  concurrency: [429, 'RESOURCE_EXHAUSTED', 'Too many requests at once'],
  overloaded: [503, 'UNAVAILABLE', 'The model is overloaded. Please try again later.'],
  broken: [500, 'INTERNAL', 'An internal error has occurred'],
  timeout: [504, 'DEADLINE_EXCEEDED', 'Deadline expired before operation could complete'],
  policy: [400, 'INVALID_ARGUMENT', 'The request was blocked'],
  invalid: [400, 'INVALID_ARGUMENT', 'Request contains an invalid argument'],
  not_found: [404, 'NOT_FOUND', 'Requested entity was not found'],
};

/** Error responses as documented at ai.google.dev/gemini-api/docs/troubleshooting. */
function errorResponse(kind: ProblemKind, message?: string): SimulatorResponse {
  const [code, status, text] = PROBLEMS[kind];
  const details =
    kind === 'unauthorized'
      ? [{ '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: 'API_KEY_INVALID' }]
      : undefined;
  return jsonResponse(code, { error: { code, message: message ?? text, status, details } });
}

const THOUGHT = 'Let me think about the light.';

/** `generateContent`, and `streamGenerateContent` with `alt=sse`. Rejects requests that Google would reject. */
function generateContent(request: SimulatorRequest): SimulatorResponse | Promise<SimulatorResponse> {
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

/** Plans a thought if it was requested, then function calls, or else words or the JSON of the schema. */
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
  const reply = composeChatReply(asFields(body.systemInstruction).parts, asFieldList(body.contents).map(toMessage));
  const { pieces, isCut } = planText(directives, config.maxOutputTokens, json, reply);
  return { parts: [...thoughts, { text: pieces.join('') }], finishReason: isCut ? 'MAX_TOKENS' : 'STOP' };
}

/** A turn as `composeChatReply` reads it. */
const toMessage = ({ role = 'user', parts }: Fields): Fields => ({
  role,
  content: asFieldList(parts).map((part) => {
    if (part.inlineData !== undefined || part.fileData !== undefined) return { type: 'image' };
    if (part.functionResponse === undefined) return part;
    const { name, response } = asFields(part.functionResponse);
    return { type: 'tool_result', name, content: JSON.stringify(response) };
  }),
});

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

/** Converts types to lower case, because Google's own schemas have them in capitals. */
const toSmallTypes = (schema: unknown): unknown =>
  JSON.parse(JSON.stringify(schema ?? {}), (key, value: unknown) =>
    key === 'type' && typeof value === 'string' ? value.toLowerCase() : value,
  );

/** @param directive value of `[usage=…]`: 0 for no usage, -1 for negative, 2 for absurdly large figures */
function usageOf(body: Fields, parts: readonly Fields[], directive: number | undefined): Fields | undefined {
  if (directive === 0) return undefined;
  const factor = directive === -1 ? -1 : directive === 2 ? 1e300 : 1;
  const prompt = countPrompt(body);
  const thoughts = parts.some(({ thought }) => thought === true) ? countWords(THOUGHT) - 2 : 0;
  const shown = parts.filter(({ thought }) => thought !== true);
  const text = shown
    .map(({ text: said, functionCall }) => (typeof said === 'string' ? said : JSON.stringify(functionCall)))
    .join(' ');
  const output = splitWords(text).length;
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
    /** Usage of the parts sent so far. */
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
    for await (const piece of streamText(splitWords(part.text), directives, (text) => chunk([{ text }]), toError)) {
      yield piece;
      // An error ends the stream.
      if (piece.startsWith('data: {"error"')) return;
    }
  }
  yield chunk([{ text: '' }], finishReason);
}

/** Catalogue rows for this simulator: quota per million tokens. */
export const GEMINI_SANDBOX_MODELS = [
  {
    id: 'sandbox-gemini',
    kind: 'chat',
    price: { input_per_million: 1_250_000, output_per_million: 10_000_000, cached_input_per_million: 125_000 },
  },
] as const;

/** A server with Google's generateContent protocol, which validates requests. Directives: see `chat.ts`. */
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

/** Reads the body of a model request; an invalid one comes with the error response. */
function readRequest(request: SimulatorRequest): { readonly body: Fields; readonly fault?: SimulatorResponse } {
  const body = request.json();
  if (!MODELS.includes(String(request.params.model))) return { body: {}, fault: errorResponse('model') };
  if (body === undefined) return { body: {}, fault: errorResponse('invalid') };
  const fault = findFault(body);
  return fault === undefined ? { body } : { body, fault: errorResponse('invalid', fault) };
}

const words = (text: string): ReadonlySet<string> => new Set(text.split(' '));
const MEMBERS = words(
  'contents systemInstruction tools toolConfig safetySettings generationConfig cachedContent labels',
);
const CONFIG_MEMBERS = words(
  'maxOutputTokens temperature topP topK seed presencePenalty frequencyPenalty stopSequences candidateCount responseMimeType ' +
    'responseSchema responseJsonSchema responseModalities thinkingConfig mediaResolution',
);
const PART_MEMBERS = words('text thought thoughtSignature functionCall functionResponse inlineData');
const MODES: ReadonlySet<unknown> = new Set(['AUTO', 'ANY', 'NONE', 'VALIDATED']);
const MAX_STOPS = 5;

const unknownMember = (object: Fields, known: ReadonlySet<string>): string | undefined =>
  Object.keys(object).find((key) => !known.has(key));

/** Google's error message for an invalid request; undefined for a valid one. */
function findFault(body: Fields): string | undefined {
  const unknown = unknownMember(body, MEMBERS) ?? unknownMember(asFields(body.generationConfig), CONFIG_MEMBERS);
  if (unknown !== undefined) return `Invalid JSON payload received. Unknown name "${unknown}": Cannot find field.`;
  const stops = asFields(body.generationConfig).stopSequences;
  if (Array.isArray(stops) && stops.length > MAX_STOPS) return 'The number of stop sequences exceeds 5';
  const choice = asFields(asFields(body.toolConfig).functionCallingConfig);
  if (choice.mode !== undefined && !MODES.has(choice.mode)) return 'Invalid value at tool_config.mode';
  if (choice.allowedFunctionNames !== undefined && choice.mode !== 'ANY')
    return 'allowed_function_names is set without ANY mode';
  return checkContents(asFieldList(body.contents));
}

function checkContents(contents: readonly Fields[]): string | undefined {
  if (contents.length === 0) return 'contents is not specified';
  for (const [index, { role, parts }] of contents.entries()) {
    if (role !== undefined && role !== 'user' && role !== 'model') return 'Please use a valid role: user, model.';
    const list = asFieldList(parts);
    if (list.length === 0) return `contents[${index}].parts: must not be empty`;
    const fault = list.map(checkPart).find((each) => each !== undefined);
    if (fault !== undefined) return `contents[${index}]: ${fault}`;
    const calls = list.filter(({ functionCall }) => functionCall !== undefined).length;
    const results = asFieldList(contents[index + 1]?.parts).filter(
      ({ functionResponse }) => functionResponse !== undefined,
    ).length;
    if (calls > 0 && calls !== results)
      return 'Please ensure that the number of function response parts is equal to the number of function call parts';
  }
  return undefined;
}

function checkPart(part: Fields): string | undefined {
  const unknown = unknownMember(part, PART_MEMBERS);
  if (unknown !== undefined) return `Unknown name "${unknown}"`;
  const { thoughtSignature: signature } = part;
  if (signature !== undefined && signature !== SIGNATURE && signature !== NO_SIGNATURE)
    return 'Thought signature is not valid';
  if (part.functionCall !== undefined && typeof asFields(part.functionCall).name !== 'string')
    return 'function_call.name: required';
  if (part.functionResponse !== undefined && typeof asFields(part.functionResponse).response !== 'object')
    return 'function_response.response: required';
  const kinds = ['text', 'functionCall', 'functionResponse', 'inlineData'].filter((kind) => part[kind] !== undefined);
  return kinds.length === 1 ? undefined : 'required oneof field data must have one initialized field';
}

/** Signature of the simulated model's calls, which must be returned unchanged. */
const SIGNATURE = Buffer.from('sandbox thought').toString('base64');
/** The value Google documents for calls made by other models. */
const NO_SIGNATURE = 'skip_thought_signature_validator';

const API_KEY = 'AIzaSandboxGemini0123456789abcdef';
const MODELS = ['sandbox-gemini'];
