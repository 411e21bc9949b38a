import { asObject, type UntrustedObject } from '../../contract/objects.ts';
import { isBlank, listOf, textOf } from './dialects.ts';

/**
 * Finds what must change in the body of a call to chat completions so that it is one of the Responses API: Cursor sends
 * such bodies there for models named like OpenAI's, and reads the response as chat completions.
 *
 * @returns new values of members, undefined for those to remove; undefined for bodies of chat completions
 */
export function findResponsesChanges({ input, messages, tools }: UntrustedObject): UntrustedObject | undefined {
  if (input === undefined || input === null || !isBlank(messages)) return undefined;
  const items = restoreFreeformCalls(input, freeformNames(tools));
  // Options of chat completions, which the Responses API refuses.
  const removed = { messages: undefined, stream_options: undefined };
  return items === undefined ? removed : { ...removed, input: items };
}

/** Names of the tools whose input is a plain text. */
export const freeformNames = (tools: unknown): ReadonlySet<string> =>
  new Set(
    listOf(tools)
      .map(asObject)
      .flatMap((tool) => (tool?.type === 'custom' && typeof tool.name === 'string' ? [tool.name] : [])),
  );

/**
 * Restores the calls of freeform tools and their results, which return as those of functions because chat completions
 * showed them as such.
 *
 * @returns undefined if there are none
 */
function restoreFreeformCalls(input: unknown, names: ReadonlySet<string>): readonly unknown[] | undefined {
  if (names.size === 0) return undefined;
  const restored = new Set<unknown>();
  const items = listOf(input).map((value) => {
    const item = asObject(value) ?? {};
    if (item.type === 'function_call' && names.has(textOf(item.name))) {
      restored.add(item.call_id);
      const { arguments: text, ...call } = withoutId(item);
      return { ...call, type: 'custom_tool_call', input: textOf(text) };
    }
    const isResult = item.type === 'function_call_output' && restored.has(item.call_id);
    return isResult ? { ...withoutId(item), type: 'custom_tool_call_output' } : value;
  });
  return restored.size === 0 ? undefined : items;
}

/** The id is optional, and OpenAI refuses one with the prefix of another type of item. */
const withoutId = ({ id: _id, ...item }: UntrustedObject): UntrustedObject => item;
