import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { UntrustedObject } from '../../../contract/objects.ts';
import { AnthropicReader } from './anthropic-response.ts';
import { OpenAiChatReader } from './chat-response.ts';
import { RESPONSE_MEMBERS } from './fields.ts';
import { GeminiReader } from './gemini-response.ts';
import type { ResponseReader } from './response-builder.ts';
import { ResponsesReader } from './responses-response.ts';

/** One object of each kind a reader opens, wrapped around a member that no table lists. */
type Places = Readonly<Record<string, (inner: object) => UntrustedObject>>;
interface Subject {
  readonly create: () => ResponseReader;
  readonly tables: Readonly<Record<string, ReadonlyMap<string, string>>>;
  readonly places: Places;
}

const message = (inner: object) => ({ choices: [{ index: 0, message: inner }] });
const SUBJECTS: Readonly<Record<string, Subject>> = {
  chat: {
    create: () => new OpenAiChatReader(),
    tables: RESPONSE_MEMBERS.chat,
    places: {
      body: (inner) => ({ choices: [], ...inner }),
      choice: (inner) => ({ choices: [{ index: 0, message: {}, ...inner }] }),
      message: (inner) => message({ content: 'x', ...inner }),
      part: (inner) => message({ content: [{ type: 'text', text: 'x', ...inner }] }),
      call: (inner) => message({ tool_calls: [{ id: 'a', function: { name: 'f' }, ...inner }] }),
      function: (inner) => message({ tool_calls: [{ id: 'a', function: { name: 'f', ...inner } }] }),
      custom: (inner) => message({ tool_calls: [{ id: 'a', custom: { name: 'f', ...inner } }] }),
    },
  },
  responses: {
    create: () => new ResponsesReader(),
    tables: RESPONSE_MEMBERS.responses,
    places: {
      body: (inner) => ({ type: 'response.completed', response: { output: [], ...inner } }),
      event: (inner) => ({ type: 'response.output_text.delta', delta: 'x', ...inner }),
      item: (inner) => ({ type: 'response.output_item.done', item: { type: 'message', content: [], ...inner } }),
      part: (inner) => ({ type: 'response.content_part.done', part: { type: 'output_text', text: 'x', ...inner } }),
    },
  },
  messages: {
    create: () => new AnthropicReader(),
    tables: RESPONSE_MEMBERS.messages,
    places: {
      body: (inner) => ({ type: 'message_start', message: { content: [], ...inner } }),
      event: (inner) => ({ type: 'ping', ...inner }),
      block: (inner) => ({
        type: 'content_block_start',
        index: 0,
        content_block: { type: 'text', text: 'x', ...inner },
      }),
      delta: (inner) => ({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'x', ...inner } }),
    },
  },
  gemini: {
    create: () => new GeminiReader(),
    tables: RESPONSE_MEMBERS.gemini,
    places: {
      body: (inner) => ({ candidates: [], ...inner }),
      candidate: (inner) => ({ candidates: [{ content: { parts: [] }, ...inner }] }),
      part: (inner) => ({ candidates: [{ content: { parts: [{ text: 'x', ...inner }] } }] }),
      functionCall: (inner) => ({ candidates: [{ content: { parts: [{ functionCall: { name: 'f', ...inner } }] } }] }),
      grounding: (inner) => ({ candidates: [{ content: { parts: [] }, groundingMetadata: { ...inner } }] }),
      media: (inner) => ({ candidates: [{ content: { parts: [{ inlineData: { data: 'eA==', ...inner } }] } }] }),
    },
  },
};

const droppedOf = ({ create }: Subject, body: UntrustedObject, isEvent: boolean): readonly string[] => {
  const reader = create();
  if (isEvent) reader.readEvent(body);
  else reader.readComplete(body);
  reader.finish();
  return reader.builder.dropped.dropped;
};

/** Every member of every object is used, replaced, refused, or named as dropped. */
describe('members of responses', () => {
  for (const [name, subject] of Object.entries(SUBJECTS)) {
    const isEvent = name === 'responses' || name === 'messages';

    test(`${name}: every object with a table is tested`, () => {
      assert.deepEqual(Object.keys(subject.places), Object.keys(subject.tables));
    });

    for (const [place, around] of Object.entries(subject.places))
      test(`${name} ${place}: an unknown member is named as dropped, and a listed one is not`, () => {
        assert.deepEqual(droppedOf(subject, around({}), isEvent), []);
        const dropped = droppedOf(subject, around({ unheard_of: { of: 1 } }), isEvent);
        assert.equal(dropped.length, 1, dropped.join(', '));
        assert.match(dropped[0] ?? '', /^response\..*unheard_of$/);
        for (const nothing of [null, '', [], {}])
          assert.deepEqual(droppedOf(subject, around({ unheard_of: nothing }), isEvent), []);
        for (const [member, fate] of subject.tables[place] ?? [])
          if (fate === 'replaced') assert.deepEqual(droppedOf(subject, around({ [member]: 'x' }), isEvent), [], member);
      });

    test(`${name}: a name that no header can hold is not written into one`, () => {
      const around = Object.values(subject.places)[0];
      const [path] = droppedOf(subject, around?.({ 'a\r\nb: c': 1 }) ?? {}, isEvent);
      assert.match(path ?? '', /^response\.[\w.]*unnamed$/);
    });
  }
});
