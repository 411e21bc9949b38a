import assert from 'node:assert/strict';

/** A response as a client of one dialect assembles it, in terms that all dialects share. */
export interface Assembled {
  text: string;
  thought: string;
  calls: { id: string; name: string; args: string }[];
  images: number;
  end: string | undefined;
}

// biome-ignore lint/suspicious/noExplicitAny: what a client reads is the subject of the test
type Any = any;

const empty = (): Assembled => ({ text: '', thought: '', calls: [], images: 0, end: undefined });
const dataOf = (stream: string): Any[] =>
  stream
    .split('\n\n')
    .flatMap((event) => event.split('\n').filter((line) => line.startsWith('data: ')))
    .map((line) => line.slice(6))
    .filter((data) => data !== '[DONE]')
    .map((data) => JSON.parse(data));
const MARKDOWN_IMAGE = /!\[image\]\([^)]*\)/g;

/** Moves images embedded in the text out of it. */
function takeImages(result: Assembled): Assembled {
  result.images += result.text.match(MARKDOWN_IMAGE)?.length ?? 0;
  return { ...result, text: result.text.replace(MARKDOWN_IMAGE, '') };
}

function addMessage(result: Assembled, message: Any): void {
  result.text += message.content ?? '';
  result.thought += message.reasoning_content ?? '';
  result.images += message.images?.length ?? 0;
  for (const {
    index = result.calls.length,
    id,
    function: { name, arguments: args },
  } of message.tool_calls ?? []) {
    result.calls[index] ??= { id, name, args: '' };
    (result.calls[index] as { args: string }).args += args ?? '';
  }
}

/** Asserts that a stream starts with the event that clients need first, exactly once. */
function assertBegins(events: readonly Any[], isFirst: (event: Any) => boolean): void {
  assert.deepEqual(
    events.flatMap((event, index) => (isFirst(event) ? [index] : [])),
    [0],
    'a stream begins with its first event',
  );
}

function chat(value: string, isStream: boolean): Assembled {
  const result = empty();
  for (const { choices } of isStream ? dataOf(value) : [JSON.parse(value)])
    for (const { delta, message, finish_reason: end } of choices) {
      addMessage(result, delta ?? message);
      if (end) result.end = { stop: 'end', tool_calls: 'calls', content_filter: 'refused' }[end as string] ?? end;
    }
  return result;
}

function addBlock(result: Assembled, block: Any): void {
  result.text += block.text ?? '';
  result.thought += block.thinking ?? '';
  if (block.type === 'tool_use')
    result.calls.push({
      id: block.id,
      name: block.name,
      args: block.json ?? JSON.stringify(block.input.INVALID_JSON ?? block.input),
    });
}

function messages(value: string, isStream: boolean): Assembled {
  const result = empty();
  const words: Record<string, string> = {
    end_turn: 'end',
    stop_sequence: 'end',
    tool_use: 'calls',
    max_tokens: 'length',
    refusal: 'refused',
  };
  if (!isStream) {
    const body = JSON.parse(value);
    for (const block of body.content) addBlock(result, block);
    return { ...result, end: words[body.stop_reason] };
  }
  assertBegins(dataOf(value), ({ type }) => type === 'message_start');
  let open: number | undefined;
  const blocks: Any[] = [];
  for (const event of dataOf(value)) {
    if (event.type === 'content_block_start') {
      assert.equal(open, undefined, 'one block is open at a time');
      open = event.index;
      blocks[event.index] = { ...event.content_block };
    } else if (event.type === 'content_block_delta') {
      assert.equal(event.index, open, 'a delta lies between the start and the stop of its block');
      const block = blocks[event.index];
      if (event.delta.type === 'text_delta') block.text += event.delta.text;
      if (event.delta.type === 'thinking_delta') block.thinking += event.delta.thinking;
      if (event.delta.type === 'input_json_delta') block.json = (block.json ?? '') + event.delta.partial_json;
    } else if (event.type === 'content_block_stop') {
      assert.equal(event.index, open);
      open = undefined;
    } else if (event.type === 'message_delta') result.end = words[event.delta.stop_reason];
  }
  for (const block of blocks) addBlock(result, block);
  return result;
}

function responses(value: string, isStream: boolean): Assembled {
  const result = empty();
  if (isStream) assertBegins(dataOf(value), ({ type }) => type === 'response.created');
  const last = isStream ? dataOf(value).at(-1)?.response : JSON.parse(value);
  if (isStream)
    result.text = dataOf(value)
      .map(({ type, delta }) => (type === 'response.output_text.delta' ? delta : ''))
      .join('');
  for (const item of last?.output ?? []) {
    if (item.type === 'message' && !isStream) result.text += item.content.map((part: Any) => part.text).join('');
    if (item.type === 'reasoning') result.thought += item.summary.map((part: Any) => part.text).join('');
    if (item.type === 'function_call') result.calls.push({ id: item.call_id, name: item.name, args: item.arguments });
    if (item.type === 'image_generation_call') result.images++;
  }
  const reason = last?.incomplete_details?.reason;
  result.end =
    reason === undefined
      ? result.calls.length > 0
        ? 'calls'
        : 'end'
      : reason === 'content_filter'
        ? 'refused'
        : 'length';
  return result;
}

function gemini(value: string, isStream: boolean): Assembled {
  const result = empty();
  for (const { candidates } of isStream ? dataOf(value) : [JSON.parse(value)])
    for (const { content, finishReason } of candidates) {
      for (const part of content.parts) {
        if (part.thought) result.thought += part.text;
        else result.text += part.text ?? '';
        if (part.inlineData) result.images++;
        if (part.functionCall)
          result.calls.push({
            ...part.functionCall,
            args: JSON.stringify(part.functionCall.args.INVALID_JSON ?? part.functionCall.args),
          });
      }
      if (finishReason)
        result.end =
          { STOP: result.calls.length > 0 ? 'calls' : 'end', MAX_TOKENS: 'length', SAFETY: 'refused' }[
            finishReason as string
          ] ?? finishReason;
    }
  return result;
}

/** Assemblers of complete and streamed responses, by dialect. */
export const ASSEMBLERS = {
  chat: (value: string, isStream: boolean) => takeImages(chat(value, isStream)),
  messages: (value: string, isStream: boolean) => takeImages(messages(value, isStream)),
  responses: (value: string, isStream: boolean) => takeImages(responses(value, isStream)),
  gemini: (value: string, isStream: boolean) => takeImages(gemini(value, isStream)),
} as const;
