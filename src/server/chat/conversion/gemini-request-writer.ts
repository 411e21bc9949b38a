import { asObject } from '../../../contract/is-object.ts';
import type { DroppedFields } from './dropped-fields.ts';
import type {
  CallPart,
  Conversation,
  MediaPart,
  Message,
  Part,
  Reasoning,
  ResultPart,
  TextPart,
  ToolChoice,
} from './neutral-form.ts';
import { notExpressibleError } from './not-expressible-error.ts';
import { parseArguments, stopsFor } from './read-request-fields.ts';
import type { UpstreamRequestParameters } from './upstream-model-and-limit-type.ts';

/** Models that take a level in place of a budget, and refuse calls of functions without a thought signature. */
const LEVEL_MODEL = /gemini-(?:[3-9]|\d{2})/;
/** Takes the place of a signature that another model's call cannot have (ai.google.dev/gemini-api/docs/thought-signatures, FAQ). */
const NO_SIGNATURE = 'skip_thought_signature_validator';
const BUDGETS: Readonly<Record<string, number>> = {
  minimal: 512,
  low: 2_048,
  medium: 8_192,
  high: 16_384,
  xhigh: 24_576,
  max: 24_576,
};

/** Writes a request of Google's generateContent (ai.google.dev/api/generate-content). @throws AppError `invalid_request` */
export function writeGeminiRequest(
  conversation: Conversation,
  target: UpstreamRequestParameters,
  notes: DroppedFields,
): object {
  const { system, messages, tools, toolChoice, parallelCalls, settings, format } = conversation;
  if (parallelCalls?.value === false) throw notExpressibleError(parallelCalls.path);
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
      thinkingConfig: writeThinking(conversation.reasoning, target),
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

/** Turns of one speaker in a row are one: all results of a turn's calls must be in the next one. */
function mergeTurns(turns: readonly Turn[]): Turn[] {
  const merged: Turn[] = [];
  for (const turn of turns) {
    const last = merged.at(-1);
    if (last?.role === turn.role) last.parts.push(...turn.parts);
    else if (turn.parts.length > 0) merged.push(turn);
  }
  return merged;
}

/** Google refuses a request without a turn: the system's words alone are said by the user. */
function writeTurns({ system, messages, paths }: Conversation, context: MessageContext): object {
  const said = system.map(({ text }) => ({ text }));
  const contents = mergeTurns(messages.map((message) => writeMessage(message, context)));
  if (contents.length > 0) return { systemInstruction: said.length === 0 ? undefined : { parts: said }, contents };
  if (said.length === 0) throw notExpressibleError(paths.turns, 'has no text for the model');
  context.notes.drop(paths.system);
  return { contents: [{ role: 'user', parts: said }] };
}

function writeMessage({ role, parts, path }: Message, context: MessageContext): Turn {
  // There is no such turn here: it is said by the user, in its place.
  if (role === 'system') context.notes.drop(`${path}.role`);
  const written: object[] = [];
  let signature: string | undefined;
  for (const part of parts) {
    if (part.type === 'thinking') signature = readSignatureOf(part, context.notes) ?? signature;
    else {
      written.push({
        ...writePart(part, context),
        thoughtSignature: signature ?? missingSignatureOf(part, written, context.target),
      });
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

function writePart(part: Exclude<Part, { type: 'thinking' }>, { names, notes }: MessageContext): object {
  if (part.cache !== undefined) notes.drop(part.cache.path);
  if (part.type === 'text') return { text: part.text };
  if (part.type === 'call') return writeCall(part, notes);
  if (part.type === 'result') return writeResult(part, names);
  if (part.detail !== undefined) notes.drop(part.detail.path);
  return { inlineData: writeInline(part) };
}

function writeInline({ source, path }: MediaPart): object {
  // Only files of its own store have addresses here.
  if ('url' in source) throw notExpressibleError(path);
  return { mimeType: source.mediaType, data: source.data };
}

const writeCall = ({ id, name, args, path }: CallPart, notes: DroppedFields): object => ({
  functionCall: { id, name, args: parseArguments(args, `${path}.arguments`, notes) },
});

function writeResult({ id, parts, isError, path }: ResultPart, names: MessageContext['names']): object {
  const name = names.get(id);
  if (name === undefined) throw notExpressibleError(path, 'has no call it belongs to');
  const text = parts
    .filter((part): part is TextPart => part.type === 'text')
    .map((part) => part.text)
    .join('\n');
  const media = parts.filter((part): part is MediaPart => part.type !== 'text');
  const response = isError ? { error: text } : (toObject(text) ?? { output: text });
  return {
    functionResponse: {
      id,
      name,
      response,
      parts: media.length === 0 ? undefined : media.map((part) => ({ inlineData: writeInline(part) })),
    },
  };
}

/** A result that is the JSON of an object is that object. */
function toObject(text: string): object | undefined {
  if (!text.startsWith('{')) return undefined;
  try {
    const value = asObject(JSON.parse(text));
    // It must be read back as it was: these members mean a bare text.
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

/** Thoughts are asked for, as other dialects show them. */
function writeThinking(reasoning: Reasoning | undefined, { model }: UpstreamRequestParameters): object | undefined {
  if (reasoning === undefined) return undefined;
  const { mode, effort, budget } = reasoning;
  if (LEVEL_MODEL.test(model)) {
    const level =
      mode === 'off' || effort === 'minimal' || effort === 'low' ? 'low' : effort === undefined ? undefined : 'high';
    return { includeThoughts: mode !== 'off', thinkingLevel: level };
  }
  if (mode === 'off') return { thinkingBudget: 0 };
  return { includeThoughts: true, thinkingBudget: budget ?? (effort === undefined ? -1 : (BUDGETS[effort] ?? -1)) };
}
