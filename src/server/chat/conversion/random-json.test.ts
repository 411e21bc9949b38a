import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import type { UntrustedObject } from '../../../contract/objects.ts';
import { AppError } from '../../platform/app-error.ts';
import {
  ANTHROPIC_MESSAGES_DIALECT,
  CHAT_DIALECT,
  type Dialect,
  GEMINI_DIALECT,
  RESPONSES_DIALECT,
} from '../dialects.ts';
import { type Codec, findCodec } from './convert.ts';
import { DroppedFields } from './fields.ts';

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
  'toolConfig functionCallingConfig mode incomplete_details reason error'
).split(' ');
const WORDS = (
  'user assistant system developer tool model function custom namespace text input_text output_text image image_url tool_use tool_result ' +
  'thinking redacted_thinking message function_call function_call_output custom_tool_call reasoning base64 auto any required ' +
  'content_block_start content_block_delta message_delta message_stop message_start input_json_delta response.output_item.added ' +
  'response.output_item.done response.function_call_arguments.delta response.completed response.output_text.delta __proto__ constructor'
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
