import type { DroppedFields } from './dropped-fields.ts';
import type { CacheMarker, Conversation, Message, OutputFormat, Part, Reasoning, ToolChoice } from './neutral-form.ts';
import { notExpressibleError } from './not-expressible-error.ts';
import { parseArguments, stopsFor } from './read-request-fields.ts';
import type { UpstreamRequestParameters } from './upstream-model-and-limit-type.ts';

/** Models that decide by themselves how long to think and take an effort in place of a budget (docs.claude.com, adaptive thinking). */
const ADAPTIVE_MODEL = /claude-(?:[a-z]+-)?(?:4[-.][6-9]|[5-9])/;
/** Tokens of a budget for each effort, for the models that take one. */
const BUDGETS: Readonly<Record<string, number>> = {
  minimal: 1_024,
  low: 2_048,
  medium: 8_192,
  high: 16_384,
  xhigh: 32_768,
};
const MIN_BUDGET = 1_024;
/** Characters of an id; the calls of other makers' models have some that Anthropic refuses. */
const FORBIDDEN_IN_ID = /[^a-zA-Z0-9_-]/g;

/** Writes a request of Anthropic's Messages (docs.claude.com/en/api/messages). @throws AppError `invalid_request` */
export function writeAnthropicRequest(
  conversation: Conversation,
  target: UpstreamRequestParameters,
  notes: DroppedFields,
): object {
  const { tools, format, settings } = conversation;
  const reasoning = writeReasoning(conversation, target, notes);
  if (format?.type === 'json') throw notExpressibleError(format.path);
  const { temperature, topP, topK } = settings;
  const stop = stopsFor(settings.stop, notes, (text) => !isBlank(text));
  const hasOwnTemperature = temperature !== undefined && (temperature.value > 1 || reasoning.thinking !== undefined);
  if (temperature !== undefined && hasOwnTemperature && temperature.value !== 1) notes.drop(temperature.path);
  for (const unknown of [settings.seed, settings.presencePenalty, settings.frequencyPenalty])
    if (unknown !== undefined) notes.drop(unknown.path);
  const config = { ...reasoning.config, format: format && { type: 'json_schema', schema: format.schema } };
  return {
    model: target.model,
    max_tokens: target.maxTokens,
    stream: target.stream || undefined,
    ...writeTurns(conversation, notes),
    tools:
      tools.length === 0
        ? undefined
        : tools.map(({ name, description, parameters, strict, cache }) => ({
            name,
            description,
            input_schema: { type: 'object', ...parameters },
            strict: strict?.value,
            ...toCache(cache),
          })),
    tool_choice:
      tools.length === 0 ? undefined : writeChoice(conversation.toolChoice, conversation.parallelCalls?.value),
    thinking: reasoning.thinking,
    output_config: config.effort === undefined && config.format === undefined ? undefined : config,
    temperature: hasOwnTemperature ? undefined : temperature?.value,
    top_p: topP?.value,
    top_k: topK?.value,
    stop_sequences: stop?.value,
  };
}

const toCache = (cache: CacheMarker | undefined): object =>
  cache === undefined ? {} : { cache_control: { type: 'ephemeral', ttl: cache.ttl } };

const toId = (id: string): string => id.replace(FORBIDDEN_IN_ID, '_');

interface Turn {
  readonly role: string;
  content: object[];
}

const isBlank = (text: string): boolean => text.trim() === '';

/** Anthropic refuses a request without a turn, blank texts, and a last turn of the model that ends in blanks. */
function writeTurns(
  { system, messages, paths }: Conversation,
  notes: DroppedFields,
): { readonly system: object[] | undefined; readonly messages: readonly Turn[] } {
  const said = system.filter(({ text }) => !isBlank(text));
  if (said.length < system.length) notes.drop(paths.system);
  const written = said.map(({ text, cache }) => ({ type: 'text', text, ...toCache(cache) }));
  const turns = mergeTurns(messages.map((message) => writeMessage(message, notes)));
  if (turns.length === 0) {
    if (written.length === 0) throw notExpressibleError(paths.turns, 'has no text for the model');
    // Said by the user, as there must be a turn.
    notes.drop(paths.system);
    return { system: undefined, messages: [{ role: 'user', content: written }] };
  }
  const last = turns.at(-1);
  const end = last?.content.at(-1);
  if (last?.role === 'assistant' && end !== undefined && 'text' in end && typeof end.text === 'string') {
    const text = end.text.trimEnd();
    if (text !== end.text) notes.drop(`${messages.at(-1)?.path}.content`);
    last.content = [...last.content.slice(0, -1), { ...end, text }];
  }
  return { system: written.length === 0 ? undefined : written, messages: turns };
}

function writeMessage({ role, parts, path }: Message, notes: DroppedFields): Turn {
  if (parts.some((part) => part.type === 'text' && part.text !== '' && isBlank(part.text)))
    notes.drop(`${path}.content`);
  const blocks = parts.flatMap((part) => writePart(part, notes) ?? []);
  // Results stand before what their user adds to them.
  const results = blocks.filter((block) => isResult(block));
  return { role, content: [...results, ...blocks.filter((block) => !isResult(block))] };
}

const isResult = (block: object): boolean => 'tool_use_id' in block;

/** Turns of one speaker in a row are one: all results of a turn's calls must be in the next one. Turns that say nothing are none. */
function mergeTurns(turns: readonly Turn[]): Turn[] {
  const merged: Turn[] = [];
  for (const { role, content } of turns) {
    const last = merged.at(-1);
    if (last?.role === role) {
      const all = [...last.content, ...content];
      last.content = [...all.filter(isResult), ...all.filter((block) => !isResult(block))];
    } else if (content.length > 0) merged.push({ role, content });
  }
  return merged;
}

function writePart(part: Part, notes: DroppedFields): object | undefined {
  switch (part.type) {
    case 'text':
      return isBlank(part.text) ? undefined : { type: 'text', text: part.text, ...toCache(part.cache) };
    case 'image':
    case 'document': {
      const { source, detail } = part;
      if (detail !== undefined) notes.drop(detail.path);
      const written =
        'url' in source
          ? { type: 'url', url: source.url }
          : { type: 'base64', media_type: source.mediaType, data: source.data };
      return {
        type: part.type,
        source: written,
        title: part.type === 'document' ? part.name : undefined,
        ...toCache(part.cache),
      };
    }
    case 'audio':
      throw notExpressibleError(part.path);
    case 'call':
      return {
        type: 'tool_use',
        id: toId(part.id),
        name: part.name,
        input: parseArguments(part.args, `${part.path}.arguments`, notes),
        ...toCache(part.cache),
      };
    case 'result': {
      const content = part.parts.flatMap((each) => writePart(each, notes) ?? []);
      return {
        type: 'tool_result',
        tool_use_id: toId(part.id),
        content: content.length === 0 ? undefined : content,
        is_error: part.isError || undefined,
        ...toCache(part.cache),
      };
    }
    case 'thinking': {
      if (part.signature?.vendor !== 'anthropic') {
        notes.drop(part.path);
        return undefined;
      }
      const { value } = part.signature;
      return part.isRedacted
        ? { type: 'redacted_thinking', data: value }
        : { type: 'thinking', thinking: part.text, signature: value };
    }
  }
}

function writeChoice(choice: ToolChoice | undefined, parallel: boolean | undefined): object | undefined {
  const single = parallel === false ? { disable_parallel_tool_use: true } : {};
  if (choice === undefined) return parallel === false ? { type: 'auto', ...single } : undefined;
  if (choice.mode === 'none') return { type: 'none' };
  if (choice.name !== undefined) return { type: 'tool', name: choice.name, ...single };
  return { type: choice.mode === 'required' ? 'any' : 'auto', ...single };
}

interface WrittenReasoning {
  readonly thinking?: object | undefined;
  readonly config?: { readonly effort?: string | undefined } | undefined;
}

/** Thinking, where Anthropic would not refuse the request for it: not beside forced calls, nor after calls made without thinking. */
function writeReasoning(
  { reasoning, toolChoice, messages }: Conversation,
  target: UpstreamRequestParameters,
  notes: DroppedFields,
): WrittenReasoning & { readonly config: { readonly effort?: string | undefined; readonly format?: OutputFormat } } {
  if (reasoning === undefined) return { config: {} };
  if (reasoning.mode === 'off') return { thinking: undefined, config: {} };
  const isForced = toolChoice?.mode === 'required';
  if (isForced || lacksThinking(messages)) {
    notes.drop(reasoning.path);
    return { config: {} };
  }
  if (ADAPTIVE_MODEL.test(target.model))
    return { thinking: { type: 'adaptive' }, config: { effort: toEffort(reasoning) } };
  const budget = Math.min(
    reasoning.budget ?? BUDGETS[reasoning.effort ?? 'medium'] ?? MIN_BUDGET,
    target.maxTokens - 1,
  );
  if (budget < MIN_BUDGET) {
    notes.drop(reasoning.path);
    return { config: {} };
  }
  return { thinking: { type: 'enabled', budget_tokens: budget }, config: {} };
}

const toEffort = ({ effort }: Reasoning): string | undefined => (effort === 'minimal' ? 'low' : effort);

/** Whether the last turn of the model has calls but does not begin with a thought of its own. */
function lacksThinking(messages: readonly Message[]): boolean {
  const last = messages.findLast(({ role }) => role === 'assistant');
  if (last === undefined || !last.parts.some(({ type }) => type === 'call')) return false;
  return !last.parts.some((part) => part.type === 'thinking' && part.signature?.vendor === 'anthropic');
}
