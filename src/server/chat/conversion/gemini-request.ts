import { asObject, defined, type UntrustedObject } from '../../../contract/objects.ts';
import { registeredType } from '../../platform/media.ts';
import {
  checkMembers,
  type DroppedFields,
  dropOthers,
  fieldSet,
  fieldTable,
  largestBudget,
  mediaKind,
  notExpressibleError,
  numberAt,
  objectAt,
  parseArguments,
  stopsFor,
  textAt,
  textsAt,
} from './fields.ts';
import {
  type CallPart,
  type Conversation,
  type FunctionTool,
  type MediaPart,
  type Message,
  mergeThoughts,
  type OutputFormat,
  type Part,
  type Reasoning,
  type ResultPart,
  readSignature,
  type TextPart,
  type ToolChoice,
  type UpstreamRequestParameters,
  uniqueTools,
} from './neutral-form.ts';

const MEMBERS = fieldTable('contents systemInstruction tools toolConfig generationConfig');
const CONFIG = 'generationConfig.';
const CONFIG_MEMBERS = fieldTable(
  'maxOutputTokens temperature topP topK seed presencePenalty frequencyPenalty stopSequences candidateCount ' +
    'responseMimeType responseSchema responseJsonSchema responseModalities thinkingConfig',
  'responseLogprobs logprobs speechConfig',
);
const KINDS = fieldSet('text functionCall functionResponse inlineData');
const PART_MEMBERS = fieldSet('text thought thoughtSignature functionCall functionResponse inlineData');
const FUNCTION_MEMBERS = fieldSet('name description parameters parametersJsonSchema');
const TOOL_CONFIG_MEMBERS = fieldSet('functionCallingConfig');
const THINKING_MEMBERS = fieldSet('thinkingBudget thinkingLevel includeThoughts');
const EMPTY_PARAMETERS = { type: 'object', properties: {} };

/**
 * Reads a request of Google's generateContent (ai.google.dev/api/generate-content).
 * @throws AppError `invalid_request`
 */
export function readGeminiRequest(body: UntrustedObject, notes: DroppedFields): Conversation {
  checkMembers(body, MEMBERS, notes);
  const config = asObject(body.generationConfig) ?? {};
  checkMembers(config, CONFIG_MEMBERS, notes, CONFIG);
  const modalities = Array.isArray(config.responseModalities) ? config.responseModalities : [];
  if (modalities.some((each) => each !== 'TEXT')) throw notExpressibleError(`${CONFIG}responseModalities`);
  const system = asObject(body.systemInstruction);
  const ids = new CallIds();
  const tools = Array.isArray(body.tools) ? body.tools : [];
  return {
    system: listOfParts(system?.parts).flatMap((part) => {
      const { text } = asObject(part) ?? {};
      return typeof text === 'string' && text !== '' ? [{ type: 'text' as const, text }] : [];
    }),
    messages: mergeModelTurns(
      readContents(body.contents).map((content, index) => readContent(content, `contents.${index}`, { ids, notes })),
    ),
    paths: { system: 'systemInstruction', turns: 'contents' },
    tools: uniqueTools(tools.flatMap((tool, index) => readTool(tool, `tools.${index}`, notes))),
    toolChoice: readChoice(asObject(body.toolConfig), notes),
    parallelCalls: undefined,
    format: readFormat(config),
    reasoning: readReasoning(asObject(config.thinkingConfig), notes),
    settings: {
      temperature: numberAt(config, 'temperature', CONFIG),
      topP: numberAt(config, 'topP', CONFIG),
      topK: numberAt(config, 'topK', CONFIG),
      seed: numberAt(config, 'seed', CONFIG),
      presencePenalty: numberAt(config, 'presencePenalty', CONFIG),
      frequencyPenalty: numberAt(config, 'frequencyPenalty', CONFIG),
      stop: textsAt(config, 'stopSequences', CONFIG),
    },
  };
}

/** Google's clients may write a single value instead of a list with one element. */
const listOfParts = (value: unknown): readonly unknown[] =>
  value === undefined || value === null ? [] : Array.isArray(value) ? value : [value];

const readContents = (contents: unknown): readonly unknown[] =>
  typeof contents === 'string' ? [{ parts: [{ text: contents }] }] : listOfParts(contents);

/** Google's clients store each event of a stream as a separate turn. */
function mergeModelTurns(turns: readonly Message[]): Message[] {
  const merged: Message[] = [];
  for (const turn of turns) {
    const last = merged.at(-1);
    if (turn.role === 'assistant' && last?.role === 'assistant')
      merged[merged.length - 1] = { ...last, parts: [...last.parts, ...turn.parts] };
    else merged.push(turn);
  }
  return merged.map((turn) => ({ ...turn, parts: mergeThoughts(turn.parts) }));
}

/** Assigns ids to calls, which are optional in this dialect: a result belongs to the oldest open call of its name. */
class CallIds {
  readonly #open: { readonly name: string; readonly id: string }[] = [];
  #count = 0;

  begin(name: string, id: unknown): string {
    const known = typeof id === 'string' && id !== '' ? id : `call_${this.#count++}`;
    this.#open.push({ name, id: known });
    return known;
  }

  end(name: string, id: unknown): string | undefined {
    const at = this.#open.findIndex((call) =>
      typeof id === 'string' && id !== '' ? call.id === id : call.name === name,
    );
    return at === -1 ? undefined : this.#open.splice(at, 1)[0]?.id;
  }
}

interface PartContext {
  readonly ids: CallIds;
  readonly notes: DroppedFields;
}

function readContent(value: unknown, path: string, context: PartContext): Message {
  const { role = 'user', parts } = objectAt(value, path);
  if (role !== 'user' && role !== 'model' && role !== 'function') throw notExpressibleError(`${path}.role`);
  const read = listOfParts(parts).flatMap((part, index) => readPart(part, `${path}.parts.${index}`, context));
  return { role: role === 'model' ? 'assistant' : 'user', parts: read, path };
}

function readPart(value: unknown, path: string, { ids, notes }: PartContext): Part[] {
  const part = objectAt(value, path);
  if (Object.keys(part).some((key) => KINDS.has(key))) dropOthers(part, PART_MEMBERS, notes, path);
  const signature = readSignature(part.thoughtSignature, 'gemini');
  const isThought = part.thought === true;
  const text = typeof part.text === 'string' ? part.text : '';
  if (isThought) return [{ type: 'thinking', text, signature, isRedacted: text === '', path }];
  // The signature of reasoning whose text was left out is in the part that follows the reasoning.
  const thought: Part[] =
    signature === undefined ? [] : [{ type: 'thinking', text: '', signature, isRedacted: true, path }];
  if (part.functionCall !== undefined) {
    const { id, name: given, args = {} } = objectAt(part.functionCall, `${path}.functionCall`);
    const name = textAt(given, `${path}.functionCall.name`);
    return [
      ...thought,
      { type: 'call', id: ids.begin(name, id), name, args: JSON.stringify(args), path: `${path}.functionCall` },
    ];
  }
  if (part.functionResponse !== undefined) return [readResult(part.functionResponse, `${path}.functionResponse`, ids)];
  if (part.inlineData !== undefined) return [...thought, readInline(part.inlineData, `${path}.inlineData`)];
  if (part.text !== undefined) return text === '' ? thought : [...thought, { type: 'text', text }];
  throw notExpressibleError(path);
}

function readInline(value: unknown, path: string): MediaPart {
  const { mimeType, data } = objectAt(value, path);
  const source = {
    mediaType: registeredType(textAt(mimeType, `${path}.mimeType`)),
    data: textAt(data, `${path}.data`),
  };
  return { type: mediaKind(source, 'document'), source, path };
}

function readResult(value: unknown, path: string, ids: CallIds): Part {
  const { id, name, response, parts } = objectAt(value, path);
  const known = ids.end(textAt(name, `${path}.name`), id);
  if (known === undefined) throw notExpressibleError(path, 'has no call it belongs to');
  const said = asObject(response) ?? {};
  const [only] = Object.keys(said);
  // A plain text of other dialects is an object with one member here.
  const isPlain =
    Object.keys(said).length === 1 && (only === 'output' || only === 'error') && typeof said[only] === 'string';
  const text: TextPart = { type: 'text', text: isPlain ? String(said[only ?? '']) : JSON.stringify(said) };
  const media = listOfParts(parts).map((part, index) =>
    readInline(objectAt(part, `${path}.parts.${index}`).inlineData, `${path}.parts.${index}.inlineData`),
  );
  return { type: 'result', id: known, parts: [text, ...media], isError: only === 'error', path };
}

function readTool(value: unknown, path: string, notes: DroppedFields): FunctionTool[] {
  const tool = objectAt(value, path);
  const other = Object.keys(tool).find((key) => key !== 'functionDeclarations' && tool[key] !== null);
  if (other !== undefined) throw notExpressibleError(`${path}.${other}`);
  return listOfParts(tool.functionDeclarations).map((each, index) => {
    const at = `${path}.functionDeclarations.${index}`;
    const declared = objectAt(each, at);
    dropOthers(declared, FUNCTION_MEMBERS, notes, at);
    const { name, description, parameters, parametersJsonSchema } = declared;
    return {
      name: textAt(name, `${at}.name`),
      description: typeof description === 'string' ? description : undefined,
      parameters: asObject(parametersJsonSchema) ?? asObject(fromGeminiSchema(parameters)) ?? EMPTY_PARAMETERS,
      strict: undefined,
    };
  });
}

function readChoice(config: UntrustedObject | undefined, notes: DroppedFields): ToolChoice | undefined {
  const path = 'toolConfig.functionCallingConfig';
  if (config !== undefined) dropOthers(config, TOOL_CONFIG_MEMBERS, notes, 'toolConfig');
  const choice = asObject(config?.functionCallingConfig);
  if (choice === undefined) return undefined;
  const { mode } = choice;
  const names = textsAt(choice, 'allowedFunctionNames', `${path}.`)?.value ?? [];
  if (mode === 'NONE') return { mode: 'none', path };
  const allowed = names.length === 0 ? undefined : names;
  // The model may answer with text; names only restrict it in the modes that Google documents for them.
  if (mode !== 'ANY') return { mode: 'auto', allowed: mode === 'VALIDATED' ? allowed : undefined, path };
  return names.length > 1 ? { mode: 'required', allowed, path } : { mode: 'required', name: names[0], path };
}

function readFormat({
  responseMimeType: type,
  responseSchema,
  responseJsonSchema,
}: UntrustedObject): OutputFormat | undefined {
  if (type === undefined || type === null || type === 'text/plain') return undefined;
  if (type !== 'application/json') throw notExpressibleError(`${CONFIG}responseMimeType`);
  const schema = responseJsonSchema ?? fromGeminiSchema(responseSchema);
  if (schema === undefined || schema === null) return { type: 'json', path: `${CONFIG}responseMimeType` };
  return { type: 'schema', schema, strict: false, path: `${CONFIG}responseSchema` };
}

function readReasoning(config: UntrustedObject | undefined, notes: DroppedFields): Reasoning | undefined {
  if (config === undefined) return undefined;
  const path = `${CONFIG}thinkingConfig`;
  dropOthers(config, THINKING_MEMBERS, notes, path);
  const { thinkingLevel: level } = config;
  const budget = numberAt(config, 'thinkingBudget', `${path}.`)?.value;
  if (budget === 0) return { mode: 'off', path };
  const effort = typeof level === 'string' ? level.toLowerCase() : undefined;
  return { mode: 'auto', effort, budget: budget !== undefined && budget > 0 ? budget : undefined, path };
}

const MAX_DEPTH = 32;

/** Converts Google's snake-case names to the names of JSON Schema. */
const inCamelCase = (schema: UntrustedObject): UntrustedObject =>
  Object.fromEntries(
    Object.entries(schema).map(([key, value]) => [
      key.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()),
      value,
    ]),
  );

/**
 * Converts Google's own schema language to JSON Schema: types in lower case, `nullable` as a type
 * (ai.google.dev/api/caching, Schema).
 */
function fromGeminiSchema(value: unknown, depth = 0): unknown {
  const schema = asObject(value);
  if (schema === undefined || depth > MAX_DEPTH) return value;
  const {
    type,
    nullable,
    format: _format,
    propertyOrdering: _order,
    properties,
    items,
    anyOf,
    ...rest
  } = inCamelCase(schema);
  const name = typeof type === 'string' ? type.toLowerCase() : type;
  const inner = asObject(properties);
  return defined({
    ...rest,
    type: nullable === true ? [name, 'null'] : name,
    properties:
      inner && Object.fromEntries(Object.entries(inner).map(([key, each]) => [key, fromGeminiSchema(each, depth + 1)])),
    items: items === undefined ? undefined : fromGeminiSchema(items, depth + 1),
    anyOf: Array.isArray(anyOf) ? anyOf.map((each) => fromGeminiSchema(each, depth + 1)) : undefined,
  });
}

/** Models that accept a level instead of a budget, and refuse function calls without a thought signature. */
export const LEVEL_MODEL = /gemini-(?:[3-9]|\d{2})/;
/**
 * Replaces the signature that another model's call cannot have (ai.google.dev/gemini-api/docs/thought-signatures, FAQ).
 */
export const NO_SIGNATURE = 'skip_thought_signature_validator';
const BUDGETS: Readonly<Record<string, number>> = {
  minimal: 512,
  low: 2_048,
  medium: 8_192,
  high: 16_384,
  xhigh: 24_576,
  max: 24_576,
};

/**
 * Writes a request of Google's generateContent (ai.google.dev/api/generate-content).
 * @throws AppError `invalid_request`
 */
export function writeGeminiRequest(
  conversation: Conversation,
  target: UpstreamRequestParameters,
  notes: DroppedFields,
): object {
  const { system, messages, tools, toolChoice, parallelCalls, settings, format } = conversation;
  // Codex sends it in every request and can handle several calls.
  if (parallelCalls?.value === false && tools.length > 0) notes.drop(parallelCalls.path);
  for (const { cache } of [...system, ...tools]) if (cache !== undefined) notes.drop(cache.path);
  for (const { strict } of tools) if (strict?.value === true) notes.drop(strict.path);
  const names = new Map(
    messages.flatMap(({ parts }) => parts.flatMap((part) => (part.type === 'call' ? [[part.id, part.name]] : []))),
  );
  const { temperature, topP, topK, seed, presencePenalty, frequencyPenalty } = settings;
  const stop = stopsFor(settings.stop, notes);
  return {
    ...writeTurns(conversation, { names, target, notes }),
    tools:
      tools.length === 0
        ? undefined
        : [
            {
              functionDeclarations: tools.map(({ name, description, parameters }) => ({
                name,
                description,
                parametersJsonSchema: parameters,
              })),
            },
          ],
    toolConfig: tools.length === 0 ? undefined : writeChoice(toolChoice),
    generationConfig: {
      maxOutputTokens: target.maxTokens,
      temperature: temperature?.value,
      topP: topP?.value,
      topK: topK?.value,
      seed: seed?.value,
      presencePenalty: presencePenalty?.value,
      frequencyPenalty: frequencyPenalty?.value,
      stopSequences: stop?.value,
      responseMimeType: format === undefined ? undefined : 'application/json',
      responseJsonSchema: format?.schema,
      thinkingConfig: writeThinking(conversation.reasoning, target, notes),
    },
  };
}

interface MessageContext {
  /** Names of the functions by the ids of their calls. */
  readonly names: ReadonlyMap<string | undefined, string | undefined>;
  readonly target: UpstreamRequestParameters;
  readonly notes: DroppedFields;
}

interface Turn {
  readonly role: string;
  readonly parts: object[];
}

/** Merges consecutive turns of one role: all results of a turn's calls must be in the next turn. */
function mergeTurns(turns: readonly Turn[]): Turn[] {
  const merged: Turn[] = [];
  for (const turn of turns) {
    const last = merged.at(-1);
    if (last?.role === turn.role) last.parts.push(...turn.parts);
    else if (turn.parts.length > 0) merged.push(turn);
  }
  return merged;
}

/** Google refuses a request without a turn, so a system prompt without turns is sent as the user's. */
function writeTurns({ system, messages, paths }: Conversation, context: MessageContext): object {
  const said = system.map(({ text }) => ({ text }));
  const contents = mergeTurns(messages.map((message) => writeMessage(message, context)));
  if (contents.length > 0) return { systemInstruction: said.length === 0 ? undefined : { parts: said }, contents };
  if (said.length === 0) throw notExpressibleError(paths.turns, 'has no text for the model');
  context.notes.drop(paths.system);
  return { contents: [{ role: 'user', parts: said }] };
}

function writeMessage({ role, parts, path }: Message, context: MessageContext): Turn {
  // This dialect has no system turn within a conversation, so its text is sent as the user's at the same position.
  if (role === 'system') context.notes.drop(`${path}.role`);
  const written: object[] = [];
  let signature: string | undefined;
  for (const part of parts) {
    if (part.type === 'thinking') signature = readSignatureOf(part, context.notes) ?? signature;
    else {
      const [first, ...others] = writePart(part, context);
      const thoughtSignature = signature ?? missingSignatureOf(part, written, context.target);
      written.push({ ...first, thoughtSignature }, ...others);
      signature = undefined;
    }
  }
  if (signature !== undefined) written.push({ text: '', thoughtSignature: signature });
  return { role: role === 'assistant' ? 'model' : 'user', parts: written };
}

/** Only the first call of a turn carries a signature. */
const missingSignatureOf = (
  part: Part,
  before: readonly object[],
  { model }: UpstreamRequestParameters,
): string | undefined =>
  part.type === 'call' && LEVEL_MODEL.test(model) && !before.some((each) => 'functionCall' in each)
    ? NO_SIGNATURE
    : undefined;

function readSignatureOf(part: Extract<Part, { type: 'thinking' }>, notes: DroppedFields): string | undefined {
  if (part.signature?.vendor === 'gemini') return part.signature.value;
  notes.drop(part.path);
  return undefined;
}

function writePart(part: Exclude<Part, { type: 'thinking' }>, context: MessageContext): object[] {
  const { notes } = context;
  if (part.cache !== undefined) notes.drop(part.cache.path);
  if (part.type === 'text') return [{ text: part.text }];
  if (part.type === 'call') return [writeCall(part, notes)];
  if (part.type === 'result') return writeResult(part, context);
  if (part.detail !== undefined) notes.drop(part.detail.path);
  return [{ inlineData: writeInline(part) }];
}

function writeInline({ source, path }: MediaPart): object {
  // This dialect accepts URLs only of files in its own storage.
  if ('url' in source) throw notExpressibleError(path);
  return { mimeType: source.mediaType, data: source.data };
}

const writeCall = ({ id, name, args, path }: CallPart, notes: DroppedFields): object => ({
  functionCall: { id, name, args: parseArguments(args, `${path}.arguments`, notes) },
});

/** Models that refuse media inside the result of a function, which follow it instead. */
const TEXT_RESULT_MODEL = /gemini-[12][.-]/;

function writeResult({ id, parts, isError, path }: ResultPart, { names, target }: MessageContext): object[] {
  const name = names.get(id);
  if (name === undefined) throw notExpressibleError(path, 'has no call it belongs to');
  const text = parts
    .filter((part): part is TextPart => part.type === 'text')
    .map((part) => part.text)
    .join('\n');
  const media = parts
    .filter((part): part is MediaPart => part.type !== 'text')
    .map((part) => ({ inlineData: writeInline(part) }));
  const response = isError ? { error: text } : (toObject(text) ?? { output: text });
  if (TEXT_RESULT_MODEL.test(target.model)) return [{ functionResponse: { id, name, response } }, ...media];
  return [{ functionResponse: { id, name, response, parts: media.length === 0 ? undefined : media } }];
}

/** A result that is the JSON of an object is written as that object. */
function toObject(text: string): object | undefined {
  if (!text.startsWith('{')) return undefined;
  try {
    const value = asObject(JSON.parse(text));
    // The result must be read back unchanged, and these members stand for a plain text.
    const isBareText = value !== undefined && ('output' in value || 'error' in value);
    return value !== undefined && !isBareText && JSON.stringify(value) === text ? value : undefined;
  } catch {
    return undefined;
  }
}

function writeChoice(choice: ToolChoice | undefined): object | undefined {
  if (choice === undefined) return undefined;
  const mode = choice.mode === 'required' ? 'ANY' : choice.mode.toUpperCase();
  return {
    functionCallingConfig: { mode, allowedFunctionNames: choice.name === undefined ? undefined : [choice.name] },
  };
}

const ALWAYS_THINKING_MODEL = /2\.5-pro/;
/** Budgets that models accept (ai.google.dev, thinking). */
const BUDGET_RANGES: readonly (readonly [model: RegExp, least: number, most: number])[] = [
  [ALWAYS_THINKING_MODEL, 128, 32_768],
  [/2\.5-flash-lite/, 512, 24_576],
  [/2\.5-flash/, 1, 24_576],
];
/** The model decides. */
const AUTOMATIC_BUDGET = -1;

/** Requests reasoning summaries, because other dialects show them. */
function writeThinking(
  reasoning: Reasoning | undefined,
  target: UpstreamRequestParameters,
  notes: DroppedFields,
): object | undefined {
  if (reasoning === undefined) return undefined;
  const { model } = target;
  const { mode, effort, budget } = reasoning;
  if (LEVEL_MODEL.test(model)) {
    const level =
      mode === 'off' || effort === 'minimal' || effort === 'low' ? 'low' : effort === undefined ? undefined : 'high';
    return { includeThoughts: mode !== 'off', thinkingLevel: level };
  }
  const [, least = 1, most = Number.POSITIVE_INFINITY] = BUDGET_RANGES.find(([pattern]) => pattern.test(model)) ?? [];
  const isOff = mode === 'off';
  if (isOff && !ALWAYS_THINKING_MODEL.test(model)) return { thinkingBudget: 0 };
  const ofEffort = BUDGETS[effort ?? ''];
  const wanted = isOff
    ? 0
    : (budget ?? (ofEffort === undefined ? AUTOMATIC_BUDGET : Math.min(ofEffort, largestBudget(target))));
  if (wanted === AUTOMATIC_BUDGET) return { includeThoughts: true, thinkingBudget: wanted };
  const given = Math.min(Math.max(wanted, least), most);
  if (given !== wanted) notes.drop(reasoning.path);
  return { includeThoughts: !isOff, thinkingBudget: given };
}
