import { asObject, type UntrustedObject } from '../../../contract/is-object.ts';
import type { DroppedFields } from './dropped-fields.ts';
import { fromGeminiSchema } from './gemini-schema-to-json-schema.ts';
import type {
  Conversation,
  FunctionTool,
  MediaPart,
  Message,
  OutputFormat,
  Part,
  Reasoning,
  TextPart,
  ToolChoice,
} from './neutral-form.ts';
import { mergeThoughts } from './neutral-form.ts';
import { notExpressibleError } from './not-expressible-error.ts';
import {
  checkMembers,
  dropOthers,
  fieldSet,
  fieldTable,
  numberAt,
  objectAt,
  textAt,
  textsAt,
} from './read-request-fields.ts';
import { readSignature } from './thinking-signatures.ts';

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

/** Reads a request of Google's generateContent (ai.google.dev/api/generate-content). @throws AppError `invalid_request` */
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
    tools: tools.flatMap((tool, index) => readTool(tool, `tools.${index}`, notes)),
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

/** A single value stands for a list of one wherever Google's clients may write either. */
const listOfParts = (value: unknown): readonly unknown[] =>
  value === undefined || value === null ? [] : Array.isArray(value) ? value : [value];

const readContents = (contents: unknown): readonly unknown[] =>
  typeof contents === 'string' ? [{ parts: [{ text: contents }] }] : listOfParts(contents);

/** Google's clients keep each event of a stream as a turn of its own. */
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

/** Ids of calls, which this dialect need not have: a result belongs to the oldest open call of its name. */
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
  // The signature of a thought without its text is in the part that follows the thought.
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
  const mediaType = textAt(mimeType, `${path}.mimeType`);
  const type = mediaType.startsWith('image/') ? 'image' : mediaType.startsWith('audio/') ? 'audio' : 'document';
  return { type, source: { mediaType, data: textAt(data, `${path}.data`) }, path };
}

function readResult(value: unknown, path: string, ids: CallIds): Part {
  const { id, name, response, parts } = objectAt(value, path);
  const known = ids.end(textAt(name, `${path}.name`), id);
  if (known === undefined) throw notExpressibleError(path, 'has no call it belongs to');
  const said = asObject(response) ?? {};
  const [only] = Object.keys(said);
  // What other dialects say as bare text is an object of one member here.
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
  const { mode, allowedFunctionNames: allowed } = choice;
  const names = textsAt({ allowed }, 'allowed')?.value ?? [];
  if (mode === 'NONE') return { mode: 'none', path };
  if (mode !== 'ANY') return { mode: 'auto', path };
  if (names.length > 1) throw notExpressibleError(`${path}.allowedFunctionNames`);
  return { mode: 'required', name: names[0], path };
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
