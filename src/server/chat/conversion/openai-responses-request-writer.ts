import { isReasoningModel } from '../output-limit.ts';
import type { DroppedFields } from './dropped-fields.ts';
import type {
  Conversation,
  MediaPart,
  Message,
  OutputFormat,
  Part,
  ResultPart,
  TextPart,
  ThinkingPart,
  ToolChoice,
} from './neutral-form.ts';
import { notExpressibleError } from './not-expressible-error.ts';
import { stopsFor, toDataUrl } from './read-request-fields.ts';
import { unpackOpaque } from './thinking-signatures.ts';
import { toOpenAiReasoningEffort } from './to-openai-reasoning-effort.ts';
import type { UpstreamRequestParameters } from './upstream-model-and-limit-type.ts';

/** Writes a request of OpenAI's Responses (platform.openai.com/docs/api-reference/responses/create). @throws AppError `invalid_request` */
export function writeResponsesRequest(
  conversation: Conversation,
  target: UpstreamRequestParameters,
  notes: DroppedFields,
): object {
  const { system, messages, tools, toolChoice, parallelCalls, settings, format, reasoning } = conversation;
  const { topK, seed, presencePenalty, frequencyPenalty } = settings;
  const stop = stopsFor(settings.stop, notes);
  if (stop !== undefined) throw notExpressibleError(stop.path);
  for (const unknown of [topK, seed, presencePenalty, frequencyPenalty])
    if (unknown !== undefined) notes.drop(unknown.path);
  for (const { cache } of [...system, ...tools]) if (cache !== undefined) notes.drop(cache.path);
  const [first] = system;
  const effort = toOpenAiReasoningEffort(reasoning, target, notes);
  return {
    model: target.model,
    instructions: system.length === 1 ? first?.text : undefined,
    input: [
      ...(system.length > 1 ? [{ role: 'developer', content: system.map(toInputText) }] : []),
      ...messages.flatMap((message) => writeMessage(message, notes)),
    ],
    [target.maxTokensKey]: target.maxTokens,
    stream: target.stream || undefined,
    // The account of the channel is everyone's.
    store: false,
    include: isReasoningModel(target.model) ? ['reasoning.encrypted_content'] : undefined,
    tools:
      tools.length === 0
        ? undefined
        : tools.map(({ name, description, parameters, strict }) => ({
            type: 'function',
            name,
            description,
            parameters,
            strict: strict?.value ?? false,
          })),
    tool_choice: tools.length === 0 ? undefined : writeChoice(toolChoice),
    parallel_tool_calls: tools.length === 0 ? undefined : parallelCalls?.value,
    text: writeFormat(format),
    reasoning: effort === undefined ? undefined : { effort },
    temperature: settings.temperature?.value,
    top_p: settings.topP?.value,
  };
}

const toInputText = ({ text }: TextPart): object => ({ type: 'input_text', text });

/** The items of a turn, in their order; texts and media in a row are one message. */
function writeMessage({ role, parts, path }: Message, notes: DroppedFields): object[] {
  const items: object[] = [];
  let said: (TextPart | MediaPart)[] = [];
  const flush = (): void => {
    if (said.length > 0) items.push(writeSaid(role, said));
    said = [];
  };
  for (const part of parts) {
    if (part.type !== 'thinking' && part.cache !== undefined) notes.drop(part.cache.path);
    if (part.type === 'text' || isMedia(part)) {
      said.push(part);
      continue;
    }
    flush();
    if (part.type === 'call' && role === 'assistant')
      items.push({ type: 'function_call', call_id: part.id, name: part.name, arguments: part.args });
    else if (part.type === 'result') items.push(writeResult(part, notes));
    else if (part.type === 'thinking') items.push(...writeThought(part, notes));
    else throw notExpressibleError(path);
  }
  flush();
  return items;
}

const isMedia = (part: Part): part is MediaPart =>
  part.type === 'image' || part.type === 'document' || part.type === 'audio';

function writeSaid(role: Message['role'], parts: readonly (TextPart | MediaPart)[]): object {
  const [only] = parts;
  const content =
    parts.length === 1 && only?.type === 'text'
      ? only.text
      : parts.map((part) => (role === 'assistant' ? writeOutputPart(part) : writeInputPart(part)));
  return { role: role === 'system' ? 'developer' : role, content };
}

function writeOutputPart(part: TextPart | MediaPart): object {
  if (part.type !== 'text') throw notExpressibleError(part.path);
  return { type: 'output_text', text: part.text, annotations: [] };
}

function writeInputPart(part: TextPart | MediaPart): object {
  if (part.type === 'text') return toInputText(part);
  const { source, type, name } = part;
  if (type === 'audio') throw notExpressibleError(part.path);
  const url = 'url' in source ? source.url : toDataUrl(source);
  if (type === 'image') return { type: 'input_image', image_url: url, detail: part.detail?.value ?? 'auto' };
  return 'url' in source
    ? { type: 'input_file', file_url: url }
    : { type: 'input_file', filename: name ?? 'document', file_data: url };
}

function writeResult({ id, parts, isError, path }: ResultPart, notes: DroppedFields): object {
  if (isError) notes.drop(`${path}.is_error`);
  const [only] = parts;
  const output =
    parts.length === 0 ? '' : parts.length === 1 && only?.type === 'text' ? only.text : parts.map(writeInputPart);
  return { type: 'function_call_output', call_id: id, output };
}

/** Only what this API has encrypted is taken back. */
function writeThought({ signature, text, path }: ThinkingPart, notes: DroppedFields): object[] {
  if (signature?.vendor !== 'openai' || signature.value === '' || unpackOpaque(signature) !== undefined) {
    notes.drop(path);
    return [];
  }
  const summary = text === '' ? [] : [{ type: 'summary_text', text }];
  return [{ type: 'reasoning', summary, encrypted_content: signature.value }];
}

function writeChoice(choice: ToolChoice | undefined): unknown {
  return choice?.name === undefined ? choice?.mode : { type: 'function', name: choice.name };
}

function writeFormat(format: OutputFormat | undefined): object | undefined {
  if (format === undefined) return undefined;
  if (format.type === 'json') return { format: { type: 'json_object' } };
  const { schema, name = 'response', strict = true } = format;
  return { format: { type: 'json_schema', name, schema, strict } };
}
