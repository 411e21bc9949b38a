import { asObject } from '../../../contract/is-object.ts';
import type { DroppedFields } from './dropped-fields.ts';
import type {
  CallPart,
  Conversation,
  MediaPart,
  Message,
  OutputFormat,
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

const MAX_STOPS = 4;
/** What stands for the text of a result that has none: the dialect takes pictures from users alone. */
const PICTURE_FOLLOWS = 'The result is in the next message.';

/** Writes a request of OpenAI's chat completions (platform.openai.com/docs/api-reference/chat). @throws AppError `invalid_request` */
export function writeOpenAiChatRequest(
  conversation: Conversation,
  target: UpstreamRequestParameters,
  notes: DroppedFields,
): object {
  const { system, messages, tools, toolChoice, parallelCalls, settings, format } = conversation;
  const { topK } = settings;
  const stop = stopsFor(settings.stop, notes);
  if (topK !== undefined) notes.drop(topK.path);
  if (stop !== undefined && stop.value.length > MAX_STOPS)
    throw notExpressibleError(stop.path, `has more than ${MAX_STOPS} texts`);
  for (const { cache } of [...system, ...tools]) if (cache !== undefined) notes.drop(cache.path);
  return {
    model: target.model,
    messages: [
      ...(system.length === 0 ? [] : [{ role: 'system', content: writeTexts(system) }]),
      ...messages.flatMap((message) => writeMessage(message, notes)),
    ],
    [target.maxTokensKey]: target.maxTokens,
    stream: target.stream || undefined,
    stream_options: target.stream ? { include_usage: true } : undefined,
    tools:
      tools.length === 0
        ? undefined
        : tools.map(({ name, description, parameters, strict }) => ({
            type: 'function',
            function: { name, description, parameters, strict: strict?.value },
          })),
    tool_choice: tools.length === 0 ? undefined : writeChoice(toolChoice),
    parallel_tool_calls: tools.length === 0 ? undefined : parallelCalls?.value,
    response_format: writeFormat(format),
    reasoning_effort: toOpenAiReasoningEffort(conversation.reasoning, target, notes),
    temperature: settings.temperature?.value,
    top_p: settings.topP?.value,
    seed: settings.seed?.value,
    presence_penalty: settings.presencePenalty?.value,
    frequency_penalty: settings.frequencyPenalty?.value,
    stop: stop?.value,
  };
}

/** One text as it is: not all upstreams of this dialect take lists. */
const writeTexts = (parts: readonly TextPart[]): unknown =>
  parts.length === 1 ? parts[0]?.text : parts.map(({ text }) => ({ type: 'text', text }));

function writeMessage({ role, parts, path }: Message, notes: DroppedFields): object[] {
  for (const part of parts) if (part.type !== 'thinking' && part.cache !== undefined) notes.drop(part.cache.path);
  if (role === 'assistant') return [writeAssistant(parts, notes)].filter((message) => message !== undefined);
  const said = parts.filter((part) => part.type !== 'result' && part.type !== 'thinking' && part.type !== 'call');
  if (role === 'system') return said.length === 0 ? [] : [{ role, content: writeContent(said) }];
  const results = parts.filter((part) => part.type === 'result');
  const pictures = results.flatMap((result) => result.parts.filter((part) => part.type !== 'text'));
  const rest = [...pictures, ...said];
  if (parts.some(({ type }) => type === 'call')) throw notExpressibleError(path);
  return [
    ...results.map((result) => writeResult(result, notes)),
    ...(rest.length === 0 ? [] : [{ role: 'user', content: writeContent(rest) }]),
  ];
}

const isTextPart = (part: TextPart | MediaPart): part is TextPart => part.type === 'text';

function writeContent(parts: readonly (TextPart | MediaPart)[]): unknown {
  const [only] = parts;
  return parts.length === 1 && only?.type === 'text' ? only.text : parts.map(writePart);
}

function writePart(part: TextPart | MediaPart): object {
  if (part.type === 'text') return { type: 'text', text: part.text };
  const { source } = part;
  if (part.type === 'image')
    return {
      type: 'image_url',
      image_url: { url: 'url' in source ? source.url : toDataUrl(source), detail: part.detail?.value },
    };
  if ('url' in source) throw notExpressibleError(part.path);
  if (part.type === 'document')
    return { type: 'file', file: { filename: part.name ?? 'document', file_data: toDataUrl(source) } };
  return { type: 'input_audio', input_audio: { data: source.data, format: source.mediaType.replace(/^audio\//, '') } };
}

function writeResult({ id, parts, isError, path }: ResultPart, notes: DroppedFields): object {
  if (isError) notes.drop(`${path}.is_error`);
  const texts = parts.filter(isTextPart);
  const isEmpty = texts.length === 0;
  return {
    role: 'tool',
    tool_call_id: id,
    content: isEmpty ? (parts.length > 0 ? PICTURE_FOLLOWS : '') : writeTexts(texts),
  };
}

function writeAssistant(parts: Message['parts'], notes: DroppedFields): object | undefined {
  const said = parts.filter((part): part is TextPart | MediaPart => 'text' in part && part.type === 'text');
  const calls = parts.filter((part): part is CallPart => part.type === 'call');
  const thoughts = parts.filter((part) => part.type === 'thinking');
  const own = thoughts.filter(isOwnThought);
  const opaque = thoughts.map(({ signature }) => unpackOpaque(signature));
  for (const [index, thought] of thoughts.entries())
    if (!isOwnThought(thought) && opaque[index] === undefined) notes.drop(thought.path);
  const details = opaque.flatMap((each) => (each?.kind === 'reasoning_details' ? each.value : []));
  if (said.length === 0 && calls.length === 0) return undefined;
  return {
    role: 'assistant',
    content: said.length === 0 ? null : writeContent(said),
    reasoning_content: own.length === 0 ? undefined : own.map(({ text }) => text).join(''),
    reasoning_details: details.length === 0 ? undefined : details,
    tool_calls:
      calls.length === 0
        ? undefined
        : calls.map(({ id, name, args }) => ({
            id,
            type: 'function',
            function: { name, arguments: args },
            extra_content: extraContentOf(id, calls, opaque),
          })),
  };
}

/** What a call must carry again to be believed: found by its id, which a caller's dialect may have changed, or that of the only call. */
function extraContentOf(
  id: string,
  calls: readonly CallPart[],
  opaque: readonly (ReturnType<typeof unpackOpaque> | undefined)[],
): unknown {
  const extras = opaque.flatMap((each) => (each?.kind === 'extra_content' ? [asObject(each.value)] : []));
  const known = extras.find((extra) => extra?.id === id);
  return (known ?? (calls.length === 1 ? extras[0] : undefined))?.extra_content;
}

/** What an upstream of this dialect has sent as plain reasoning text, which some want back within a turn. */
const isOwnThought = ({ signature, text, isRedacted }: ThinkingPart): boolean =>
  signature?.vendor === 'openai' && signature.value === '' && !isRedacted && text !== '';

function writeChoice(choice: ToolChoice | undefined): unknown {
  if (choice?.name === undefined) return choice?.mode;
  return { type: 'function', function: { name: choice.name } };
}

function writeFormat(format: OutputFormat | undefined): object | undefined {
  if (format === undefined) return undefined;
  if (format.type === 'json') return { type: 'json_object' };
  const { schema, name = 'response', strict = true } = format;
  return { type: 'json_schema', json_schema: { name, schema, strict } };
}
