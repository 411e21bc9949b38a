import { asFieldList, asFields, type Fields } from '../chat/untrusted-fields.ts';
import { signThinking } from './thinking-signature.ts';

const BLOCKS: Readonly<Record<string, ReadonlySet<unknown>>> = {
  user: new Set(['text', 'image', 'document', 'tool_result', 'search_result']),
  assistant: new Set(['text', 'tool_use', 'thinking', 'redacted_thinking']),
  system: new Set(['text']),
};
const PICTURES: ReadonlySet<unknown> = new Set(['image/jpeg', 'image/png', 'image/gif', 'image/webp']);
const TOOL_ID = /^[a-zA-Z0-9_-]+$/;

const blocksOf = (message: Fields): readonly Fields[] =>
  typeof message.content === 'string' ? [{ type: 'text', text: message.content }] : asFieldList(message.content);
const idsOf = (blocks: readonly Fields[], type: string, key: string): unknown[] =>
  blocks.filter((block) => block.type === type).map((block) => block[key]);

/** What Anthropic would refuse of the messages: roles, blocks, tool calls without results, thinking that was changed. */
export function checkMessages({ messages, thinking }: Fields): string | undefined {
  const list = asFieldList(messages);
  if (list.length === 0) return 'messages: at least one message is required';
  if (list[0]?.role !== 'user') return 'messages: first message must use the "user" role';
  for (const [index, message] of list.entries()) {
    const fault = checkMessage(message, list[index - 1], list[index + 1]);
    if (fault !== undefined) return `messages.${index}: ${fault}`;
  }
  const last = list.findLast(({ role }) => role === 'assistant');
  const isThinking = asFields(thinking).type === 'enabled';
  const calls = last !== undefined && blocksOf(last).some(({ type }) => type === 'tool_use');
  const begins = last === undefined ? undefined : blocksOf(last)[0]?.type;
  return isThinking && calls && begins !== 'thinking' && begins !== 'redacted_thinking'
    ? 'messages: Expected `thinking` or `redacted_thinking`, but found another block: a final assistant message must start with a thinking block'
    : undefined;
}

function checkMessage(message: Fields, before: Fields | undefined, after: Fields | undefined): string | undefined {
  const allowed = BLOCKS[String(message.role)];
  if (allowed === undefined) return 'role: Input should be user, assistant or system';
  const blocks = blocksOf(message);
  if (blocks.length === 0) return 'content must be non-empty';
  const fault = blocks.map((block) =>
    allowed.has(block.type) ? checkBlock(block) : `unexpected ${String(block.type)}`,
  );
  const first = fault.find((each) => each !== undefined);
  if (first !== undefined) return first;
  const results = idsOf(blocks, 'tool_result', 'tool_use_id');
  const asked = before === undefined ? [] : idsOf(blocksOf(before), 'tool_use', 'id');
  if (results.some((id) => !asked.includes(id))) return 'unexpected `tool_use_id` found in `tool_result` blocks';
  const answered = after === undefined ? [] : idsOf(blocksOf(after), 'tool_result', 'tool_use_id');
  const calls = idsOf(blocks, 'tool_use', 'id');
  if (calls.some((id) => !answered.includes(id)))
    return '`tool_use` ids were found without `tool_result` blocks immediately after';
  const isAfterText =
    blocks.findIndex(({ type }) => type !== 'tool_result') < blocks.findLastIndex(({ type }) => type === 'tool_result');
  return results.length > 0 && results.length < blocks.length && isAfterText
    ? 'tool_result blocks must come first'
    : undefined;
}

function checkBlock(block: Fields): string | undefined {
  switch (block.type) {
    case 'text':
      return typeof block.text === 'string' && block.text !== '' ? undefined : 'text content blocks must be non-empty';
    case 'tool_use':
      if (typeof block.id !== 'string' || !TOOL_ID.test(block.id)) return 'tool_use.id: String should match pattern';
      return typeof block.input === 'object' && block.input !== null
        ? undefined
        : 'tool_use.input: Input should be a valid dictionary';
    case 'thinking':
      return block.signature === signThinking(String(block.thinking))
        ? undefined
        : 'Invalid `signature` in `thinking` block';
    case 'image':
      return checkPicture(asFields(block.source));
    case 'tool_result':
      return typeof block.content === 'string' || block.content === undefined
        ? undefined
        : asFieldList(block.content)
            .map(checkBlock)
            .find((each) => each !== undefined);
    default:
      return undefined;
  }
}

function checkPicture({ type, media_type: mediaType, data, url }: Fields): string | undefined {
  if (type === 'url') return typeof url === 'string' ? undefined : 'image.source.url: Field required';
  return type === 'base64' && PICTURES.has(mediaType) && typeof data === 'string' && data !== ''
    ? undefined
    : 'image.source.base64.media_type: Input should be a picture type';
}
