import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { asObject, type UntrustedObject } from '../../../contract/objects.ts';
import { AppError } from '../../platform/app-error.ts';
import {
  ANTHROPIC_MESSAGES_DIALECT,
  CHAT_DIALECT,
  type Dialect,
  GEMINI_DIALECT,
  RESPONSES_DIALECT,
} from '../dialects.ts';
import { extractData, splitEvents } from '../event-stream.ts';
import { type Codec, findCodec } from './convert.ts';
import { DroppedFields } from './fields.ts';
import type { Conversation, FunctionTool, Message, Part, ResponseEvent } from './neutral-form.ts';

describe('random json', () => {
  /**
   * Whatever a caller or an upstream sends, a conversion either refuses it and names the reason or converts it; it never
   * throws anything else.
   */
  const DIALECTS: Readonly<Record<string, Dialect>> = {
    chat: CHAT_DIALECT,
    responses: RESPONSES_DIALECT,
    messages: ANTHROPIC_MESSAGES_DIALECT,
    gemini: GEMINI_DIALECT,
  };
  const CODECS = Object.entries(DIALECTS).map(([name, dialect]) => ({ name, codec: findCodec(dialect) as Codec }));
  const TARGET = { model: 'gpt-5', maxTokens: 2_000, maxTokensKey: 'max_tokens', stream: true };
  const CONTEXT = { id: 'x', model: 'm', created: 1, wantsUsage: true, asked: {}, origins: new Map() };

  const KEYS = (
    'type role content text parts messages input contents system instructions tools tool_choice function name arguments args id call_id ' +
    'tool_call_id tool_use_id tool_calls functionCall functionResponse response output summary encrypted_content reasoning thinking ' +
    'signature source media_type data url image_url inlineData mimeType item delta index output_index choices message finish_reason ' +
    'content_block stop_reason usage candidates finishReason promptFeedback generationConfig output_config text_format format schema ' +
    'toolConfig functionCallingConfig mode incomplete_details reason error annotations annotation url_citation citations citation ' +
    'start_index end_index groundingMetadata groundingChunks groundingSupports groundingChunkIndices segment startIndex endIndex web uri'
  ).split(' ');
  const WORDS = (
    'user assistant system developer tool model function custom namespace text input_text output_text image image_url tool_use tool_result ' +
    'thinking redacted_thinking message function_call function_call_output custom_tool_call reasoning base64 auto any required ' +
    'content_block_start content_block_delta message_delta message_stop message_start input_json_delta response.output_item.added ' +
    'response.output_item.done response.function_call_arguments.delta response.completed response.output_text.delta __proto__ constructor ' +
    'url_citation citations_delta response.output_text.annotation.added https://a.example/'
  ).split(' ');
  const junk = fc.letrec<{ value: unknown; object: UntrustedObject }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 5, depthSize: 'medium' },
      fc.constantFrom(...WORDS),
      fc.constantFrom(null, true, false, 0, -1, 1.5, 1e300, '', '{}', '{"a":1}'),
      fc.array(tie('value'), { maxLength: 3 }),
      tie('object'),
    ),
    object: fc.dictionary(fc.constantFrom(...KEYS), tie('value'), { maxKeys: 6 }),
  })).object;

  describe('conversion of random JSON', () => {
    for (const { name, codec } of CODECS) {
      test(`a request in ${name} is refused with a reason or expressed in each dialect`, () => {
        fc.assert(
          fc.property(junk, (body) => {
            for (const { codec: target } of CODECS)
              try {
                const notes = new DroppedFields();
                JSON.stringify(target.writeRequest(codec.readRequest(body, notes), TARGET, notes));
              } catch (error) {
                assert.ok(error instanceof AppError && error.code === 'invalid_request', String(error));
              }
          }),
          { numRuns: 1_500 },
        );
      });

      test(`a response in ${name} is converted to each dialect, complete and streamed`, () => {
        fc.assert(
          fc.property(fc.array(junk, { maxLength: 4 }), (events) => {
            for (const { codec: target } of CODECS) {
              for (const event of events) target.writeResponse(codec.createReader().readComplete(event), CONTEXT);
              const reader = codec.createReader();
              const writer = target.createWriter(CONTEXT);
              const seen = [...events.flatMap((event) => reader.readEvent(event)), ...reader.finish()];
              for (const event of seen) assert.equal(typeof writer.write(event), 'string');
            }
          }),
          { numRuns: 1_500 },
        );
      });
    }
  });
});

describe('round trip', () => {
  /** Content that all dialects can express survives a round trip through any of them. */
  const DIALECTS: Readonly<Record<string, Dialect>> = {
    chat: CHAT_DIALECT,
    responses: RESPONSES_DIALECT,
    messages: ANTHROPIC_MESSAGES_DIALECT,
    gemini: GEMINI_DIALECT,
  };
  const PAIRS = Object.entries(DIALECTS).flatMap(([from, a]) =>
    Object.entries(DIALECTS)
      .filter(([, b]) => a !== b)
      .map(([to, b]) => ({ name: `${from} → ${to} → ${from}`, a, b })),
  );
  const targetOf = ({ maxTokensKeys: [key = ''] }: Dialect) => ({
    model: 'some-model',
    maxTokens: 100,
    maxTokensKey: key,
    stream: false,
  });
  const CONTEXT = { id: 'x', model: 'some-model', created: 1, wantsUsage: true, asked: {}, origins: new Map() };

  const codecOf = (dialect: Dialect): Codec => {
    const codec = findCodec(dialect);
    assert.ok(codec);
    return codec;
  };
  const plain = (value: unknown): Record<string, unknown> => JSON.parse(JSON.stringify(value));

  /** Never blank, because blank texts are dropped where an upstream refuses them. */
  const text = fc.string({ minLength: 1, maxLength: 20 }).map((value) => `${value}.`);
  const args = fc.dictionary(fc.constantFrom('a', 'b', 'c'), fc.oneof(fc.string(), fc.integer(), fc.boolean()));
  const image: Part = { type: 'image', source: { mediaType: 'image/png', data: 'iVBORw0KGgo=' }, path: '' };
  const textPart = text.map((value): Part => ({ type: 'text', text: value }));
  const userParts = fc
    .tuple(textPart, fc.array(fc.oneof(textPart, fc.constant(image)), { maxLength: 2 }))
    .map(([first, rest]) => [first, ...rest]);
  /** A turn of the model, with calls and their results in the next turn. */
  const exchange = fc.tuple(text, fc.array(fc.tuple(args, text), { maxLength: 3 }), userParts);

  /** The Responses API has no stop sequences. */
  const conversationOf = (canStop: boolean) =>
    fc
      .record({
        system: fc.option(text),
        first: userParts,
        exchanges: fc.array(exchange, { maxLength: 3 }),
        temperature: fc.constantFrom(undefined, 0, 0.5, 1),
        stop: canStop ? fc.constantFrom(undefined, ['END']) : fc.constant(undefined),
        choice: fc.constantFrom(undefined, 'auto' as const, 'none' as const, 'required' as const),
      })
      .map(({ system, first, exchanges, temperature, stop, choice }): Conversation => {
        let count = 0;
        const messages: Message[] = [{ role: 'user', parts: first, path: '' }];
        for (const [said, calls, next] of exchanges) {
          const ids = calls.map(() => `call_${count++}`);
          const callParts = calls.map(
            ([input], index): Part => ({
              type: 'call',
              id: ids[index] ?? '',
              name: 'tool',
              args: JSON.stringify(input),
              path: '',
            }),
          );
          const results = calls.map(
            ([, result], index): Part => ({
              type: 'result',
              id: ids[index] ?? '',
              parts: [{ type: 'text', text: result }],
              isError: false,
              path: '',
            }),
          );
          messages.push({ role: 'assistant', parts: [{ type: 'text', text: said }, ...callParts], path: '' });
          messages.push({ role: 'user', parts: [...results, ...next], path: '' });
        }
        const tool: FunctionTool = {
          name: 'tool',
          description: 'does it',
          parameters: { type: 'object', properties: {} },
          strict: undefined,
        };
        return {
          system: system === null ? [] : [{ type: 'text', text: system }],
          paths: { system: '', turns: '' },
          messages,
          tools: [tool],
          toolChoice: choice && { mode: choice, path: '' },
          parallelCalls: undefined,
          format: undefined,
          reasoning: undefined,
          settings: {
            temperature: temperature === undefined ? undefined : { value: temperature, path: '' },
            stop: stop && { value: stop, path: '' },
          },
        };
      });

  const usage = fc
    .record({ fresh: fc.nat(1_000), cached: fc.nat(1_000), output: fc.integer({ min: 1, max: 1_000 }) })
    .map(({ fresh, cached, output }) => ({
      promptTokens: fresh + cached + 1,
      completionTokens: output,
      reasoningTokens: 0,
      ...(cached > 0 && { parts: { cached_input: cached } }),
    }));
  const response = fc
    .record({
      said: fc.array(text, { maxLength: 3 }),
      calls: fc.array(args, { maxLength: 3 }),
      isCut: fc.boolean(),
      usage,
    })
    .map(({ said, calls, isCut, usage: figures }): ResponseEvent[] => [
      { type: 'start', id: 'x' },
      ...said.map((each): ResponseEvent => ({ type: 'text', text: each })),
      ...calls.flatMap((input, index): ResponseEvent[] => [
        { type: 'call', index, id: `call_${index}`, name: 'tool' },
        { type: 'args', index, text: JSON.stringify(input) },
      ]),
      {
        type: 'end',
        reason: calls.length > 0 ? 'calls' : isCut ? 'length' : 'end',
        stopSequence: undefined,
        usage: figures,
      },
    ]);

  describe('round trips', () => {
    for (const { name, a, b } of PAIRS) {
      const [from, to] = [codecOf(a), codecOf(b)];
      const read = (codec: Codec, body: unknown) => codec.readRequest(plain(body), new DroppedFields());

      test(`a request: ${name}`, () => {
        fc.assert(
          fc.property(conversationOf(a !== RESPONSES_DIALECT && b !== RESPONSES_DIALECT), (said) => {
            const original = plain(from.writeRequest(said, targetOf(a), new DroppedFields()));
            const notes = new DroppedFields();
            const there = to.writeRequest(from.readRequest(original, notes), targetOf(b), notes);
            // Written with every request, because it must not be stored.
            assert.deepEqual(notes.dropped, a === RESPONSES_DIALECT ? ['store'] : []);
            assert.deepEqual(plain(from.writeRequest(read(to, there), targetOf(a), new DroppedFields())), original);
          }),
          { numRuns: 200 },
        );
      });

      test(`a complete response: ${name}`, () => {
        fc.assert(
          fc.property(response, (events) => {
            const original = plain(from.writeResponse(events, CONTEXT));
            const there = plain(to.writeResponse(from.createReader().readComplete(original), CONTEXT));
            assert.deepEqual(plain(from.writeResponse(to.createReader().readComplete(there), CONTEXT)), original);
          }),
          { numRuns: 200 },
        );
      });

      test(`a stream has the same content as the complete response: ${name}`, () => {
        fc.assert(
          fc.property(response, (events) => {
            const writer = to.createWriter(CONTEXT);
            const stream = events.map((event) => writer.write(event)).join('');
            const reader = to.createReader();
            const seen = splitEvents(stream)
              .map((event) => extractData(event))
              .filter((data) => data !== '[DONE]')
              .flatMap((data) => reader.readEvent(asObject(JSON.parse(data)) ?? {}));
            const streamed = from.writeResponse([...seen, ...reader.finish()], CONTEXT);
            assert.deepEqual(plain(streamed), plain(from.writeResponse(events, CONTEXT)));
          }),
          { numRuns: 200 },
        );
      });
    }

    /** The turn of the model as a client of each dialect repeats it. */
    const REPEATED: readonly (readonly [string, Dialect, (answer: UntrustedObject) => UntrustedObject])[] = [
      ['messages', ANTHROPIC_MESSAGES_DIALECT, ({ content }) => ({ messages: [{ role: 'assistant', content }] })],
      ['responses', RESPONSES_DIALECT, ({ output }) => ({ input: output })],
      [
        'gemini',
        GEMINI_DIALECT,
        ({ candidates }) => ({ contents: [asObject(asObject((candidates as unknown[])[0])?.content)] }),
      ],
    ];
    const BLOCKS = [{ type: 'thinking', thinking: 'hm', signature: 'sig' }];
    const CALL = { id: 'call_1', type: 'function', function: { name: 'f', arguments: '{}' } };
    for (const [name, dialect, repeat] of REPEATED)
      for (const [what, said] of [
        ['LiteLLM’s blocks', { content: 'Hi', reasoning_content: 'hm', thinking_blocks: BLOCKS }],
        ['Copilot’s opaque text', { content: 'Hi', reasoning_text: 'hm', reasoning_opaque: 'xyz' }],
        [
          'Google’s extra content of a message',
          { content: 'Hi', extra_content: { google: { thought_signature: 's' } } },
        ],
        ['Google’s extra content of a call', { tool_calls: [{ ...CALL, extra_content: { google: {}, more: 1 } }] }],
        [
          'LiteLLM’s fields of a call',
          { tool_calls: [{ ...CALL, provider_specific_fields: { thought_signature: 's' } }] },
        ],
      ] as const)
        test(`a signature in ${what} comes back with the next turn: ${name}`, () => {
          const [own, callers] = [codecOf(CHAT_DIALECT), codecOf(dialect)];
          const events = own.createReader().readComplete({ choices: [{ message: said }] });
          const answer = plain(callers.writeResponse(events, CONTEXT));
          const again = callers.readRequest(plain(repeat(answer)), new DroppedFields());
          const sent = plain(own.writeRequest(again, targetOf(CHAT_DIALECT), new DroppedFields())) as {
            messages: UntrustedObject[];
          };
          const { reasoning_content: _, reasoning_text: __, content, ...members } = said as UntrustedObject;
          const [turn] = sent.messages.filter(({ role }) => role === 'assistant');
          for (const [key, value] of Object.entries(members)) assert.deepEqual(turn?.[key], value, key);
          assert.equal(turn?.content ?? undefined, content);
        });
  });
});
