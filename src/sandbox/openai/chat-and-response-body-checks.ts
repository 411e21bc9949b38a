import { asFieldList, asFields, type Fields } from '../chat/untrusted-fields.ts';

const FUNCTION_NAME = /^[a-zA-Z0-9_-]{1,64}$/;
const ROLES: ReadonlySet<unknown> = new Set(['system', 'developer', 'user', 'assistant', 'tool', 'function']);
const PARTS: ReadonlySet<unknown> = new Set(['text', 'image_url', 'input_audio', 'file', 'refusal']);
const CHOICES: ReadonlySet<unknown> = new Set(['auto', 'none', 'required']);
const MAX_STOPS = 4;

type Check = string | undefined;

/**
 * What OpenAI would refuse of a chat completion; undefined for a correct one. Members it does not know are no fault here: servers that
 * speak its dialect have members of their own. Source: platform.openai.com/docs/api-reference/chat/create.
 */
export const findChatFault = (body: Fields): Check =>
  checkSampling(body) ??
  checkTools(
    asFieldList(body.tools).map((tool) => (tool.type === 'function' ? asFields(tool.function).name : 'other')),
  ) ??
  checkToolChoice(body) ??
  checkStreamOptions(body) ??
  checkMessages(asFieldList(body.messages));

/** The same of a response. Source: platform.openai.com/docs/api-reference/responses/create. */
export const findResponseFault = (body: Fields): Check =>
  checkSampling(body) ??
  checkTools(asFieldList(body.tools).map(({ type, name }) => (type === 'function' ? name : 'other'))) ??
  checkToolChoice(body) ??
  checkItems(asFieldList(body.input), body.previous_response_id !== undefined && body.previous_response_id !== null);

function checkSampling({ temperature, top_p: topP, stop }: Fields): Check {
  if (!isWithin(temperature, 2)) return "'temperature' must be between 0 and 2";
  if (!isWithin(topP, 1)) return "'top_p' must be between 0 and 1";
  return Array.isArray(stop) && stop.length > MAX_STOPS ? `'stop' has more than ${MAX_STOPS} sequences` : undefined;
}

const isWithin = (value: unknown, most: number): boolean =>
  value === undefined || value === null || (typeof value === 'number' && value >= 0 && value <= most);

const checkTools = (names: readonly unknown[]): Check =>
  names.every((name) => typeof name === 'string' && FUNCTION_NAME.test(name))
    ? undefined
    : "'tools': a function's name does not match ^[a-zA-Z0-9_-]{1,64}$";

function checkToolChoice({ tool_choice: choice, tools }: Fields): Check {
  if (choice === undefined || choice === null) return undefined;
  if (typeof choice === 'string' && !CHOICES.has(choice)) return "'tool_choice' is none of none, auto and required";
  return asFieldList(tools).length === 0 && choice !== 'none'
    ? "'tool_choice' is only allowed with 'tools'"
    : undefined;
}

const checkStreamOptions = ({ stream, stream_options: options }: Fields): Check =>
  options !== undefined && options !== null && stream !== true
    ? "'stream_options' is only allowed when streaming"
    : undefined;

function checkMessages(messages: readonly Fields[]): Check {
  let asked: readonly unknown[] = [];
  for (const [index, message] of messages.entries()) {
    const { role } = message;
    if (!ROLES.has(role)) return `messages[${index}].role: invalid value`;
    if (role === 'tool') {
      if (!asked.includes(message.tool_call_id))
        return `messages[${index}]: messages with role 'tool' must respond to a preceding message with 'tool_calls'`;
      asked = asked.filter((id) => id !== message.tool_call_id);
    } else if (asked.length > 0)
      return `messages[${index}]: 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'`;
    const fault = checkContent(message);
    if (fault !== undefined) return `messages[${index}].content: ${fault}`;
    if (role === 'assistant') asked = asFieldList(message.tool_calls).map(({ id }) => id);
  }
  return asked.length > 0
    ? "'tool_calls' must be followed by tool messages responding to each 'tool_call_id'"
    : undefined;
}

function checkContent({ role, content, tool_calls: calls }: Fields): Check {
  if (typeof content === 'string') return undefined;
  if (content === null || content === undefined)
    return role === 'assistant' || asFieldList(calls).length > 0 ? undefined : 'expected a string or a list, got null';
  const parts = asFieldList(content);
  if (parts.length === 0) return 'expected a string or a list of parts';
  return parts.map(checkPart).find((each) => each !== undefined);
}

function checkPart({ type, text, image_url: picture }: Fields): Check {
  if (!PARTS.has(type)) return `invalid type '${String(type)}'`;
  if (type === 'text' && typeof text !== 'string') return "missing 'text'";
  return type === 'image_url' && typeof asFields(picture).url !== 'string' ? "missing 'image_url.url'" : undefined;
}

/** @param continues whether earlier items are stored at OpenAI, so that calls may stand there */
function checkItems(items: readonly Fields[], continues: boolean): Check {
  const calls = new Set<unknown>();
  for (const [index, { type, role, call_id: id }] of items.entries()) {
    if (type === undefined && !ROLES.has(role)) return `input[${index}].role: invalid value`;
    if (type === 'function_call') calls.add(id);
    if (type === 'function_call_output' && !calls.has(id) && !continues)
      return `No tool call found for function call output with call_id ${String(id)}.`;
  }
  return undefined;
}
