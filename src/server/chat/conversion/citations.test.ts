import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  ANTHROPIC_MESSAGES_DIALECT,
  CHAT_DIALECT,
  type Dialect,
  GEMINI_DIALECT,
  RESPONSES_DIALECT,
} from '../dialects.ts';
import { CountedText, MAX_CITATIONS } from './citations.ts';
import { findCodec, ResponseConversion } from './convert.ts';

const DIALECTS = {
  chat: CHAT_DIALECT,
  responses: RESPONSES_DIALECT,
  messages: ANTHROPIC_MESSAGES_DIALECT,
  gemini: GEMINI_DIALECT,
} as const satisfies Readonly<Record<string, Dialect>>;
type Name = keyof typeof DIALECTS;
const NAMES = Object.keys(DIALECTS) as Name[];
const CONTEXT = { id: 'x', model: 'm', created: 1, wantsUsage: true, asked: {}, origins: new Map() };

// biome-ignore lint/suspicious/noExplicitAny: what a client reads is the subject of the test
type Any = any;

/** A citation as a client sees it: the page, and the text that cites it. */
interface Seen {
  readonly url: string;
  readonly title: string | null;
  readonly text: string | undefined;
}

interface Converted {
  readonly citations: readonly Seen[];
  readonly text: string;
  readonly dropped: readonly string[];
  readonly output: string;
}

const createConversion = (from: Name, to: Name): ResponseConversion => {
  const [source, target] = [findCodec(DIALECTS[from]), findCodec(DIALECTS[to])];
  assert.ok(source && target);
  return new ResponseConversion(source, target, CONTEXT);
};

function convertBody(from: Name, to: Name, body: object): Converted {
  const conversion = createConversion(from, to);
  const output = conversion.convert(Buffer.from(JSON.stringify(body)));
  return { ...SEEN[to]([JSON.parse(output)]), dropped: conversion.dropped, output };
}

const encode = (event: object): Buffer => Buffer.from(`data: ${JSON.stringify(event)}\n\n`);

function convertStream(from: Name, to: Name, events: readonly object[]): Converted {
  const conversion = createConversion(from, to);
  const output = events.map((event) => conversion.push(encode(event))).join('') + conversion.finish();
  const sent = output
    .split('\n')
    .filter((line) => line.startsWith('data: {'))
    .map((line) => JSON.parse(line.slice(6)));
  return { ...SEEN[to](sent), dropped: conversion.dropped, output };
}

const characters = (text: string, start: number, end: number): string => [...text].slice(start, end).join('');
const bytes = (text: string, start: number, end: number): string =>
  Buffer.from(text).subarray(start, end).toString('utf8');

/** What a client of each dialect sees in a body, or in the events of a stream. */
const SEEN: Readonly<Record<Name, (sent: readonly Any[]) => { text: string; citations: readonly Seen[] }>> = {
  chat(sent) {
    const messages = sent.flatMap(({ choices }) => choices.map(({ message, delta }: Any) => message ?? delta));
    const text = messages.map(({ content }) => content ?? '').join('');
    const annotations = messages.flatMap((message) => message.annotations ?? []);
    const citations = annotations.map(({ type, url_citation: cited }) => {
      assert.equal(type, 'url_citation');
      return { url: cited.url, title: cited.title, text: characters(text, cited.start_index, cited.end_index) };
    });
    return { text, citations };
  },
  responses(sent) {
    const last = sent.at(-1);
    const parts: Any[] = (last.response ?? last).output.flatMap(({ type, content }: Any) =>
      type === 'message' ? content : [],
    );
    const added = sent.filter(({ type }) => type === 'response.output_text.annotation.added');
    const annotations = parts.flatMap((part) => part.annotations);
    if (sent.length > 1)
      assert.deepEqual(
        added.map(({ annotation }) => annotation),
        annotations,
        'each annotation has an event of its own',
      );
    const citations = parts.flatMap((part) =>
      part.annotations.map(({ type, url, title, start_index: start, end_index: end }: Any) => {
        assert.equal(type, 'url_citation');
        return { url, title, text: characters(part.text, start, end) };
      }),
    );
    return { text: parts.map((part) => part.text).join(''), citations };
  },
  messages(sent) {
    const blocks: Any[] = sent[0].content ?? [];
    for (const { type, index, content_block: block, delta } of sent)
      if (type === 'content_block_start') blocks[index] = { ...block, citations: [] };
      else if (delta?.type === 'text_delta') blocks[index].text += delta.text;
      else if (delta?.type === 'citations_delta') blocks[index].citations.push(delta.citation);
    const said = blocks.filter(({ type }) => type === 'text');
    const citations = said.flatMap((block) =>
      (block.citations ?? []).map(({ type, url, title, encrypted_index: index }: Any) => {
        assert.deepEqual([type, index], ['web_search_result_location', '']);
        return { url, title, text: block.text };
      }),
    );
    return { text: said.map(({ text }) => text).join(''), citations };
  },
  gemini(sent) {
    const candidates = sent.map((each) => each.candidates[0]);
    const parts: Any[] = candidates.flatMap(({ content }) => content.parts);
    const text = parts.map((part) => (part.thought ? '' : (part.text ?? ''))).join('');
    const citations = candidates.flatMap(({ groundingMetadata: grounding }) => {
      if (grounding === undefined) return [];
      const { groundingChunks: chunks, groundingSupports: supports = [] } = grounding;
      const supported = supports.flatMap(({ segment, groundingChunkIndices: indices }: Any) => {
        const part = sent.length > 1 ? text : parts[segment.partIndex].text;
        assert.equal(bytes(part, segment.startIndex, segment.endIndex), segment.text);
        return indices.map((index: number) => ({ ...chunks[index].web, text: segment.text }));
      });
      const known = new Set(supported.map(({ uri }: Any) => uri));
      const others = chunks.flatMap(({ web }: Any) => (known.has(web.uri) ? [] : [{ ...web, text: undefined }]));
      return [...supported, ...others].map(({ uri, title, text: cites }) => ({ url: uri, title, text: cites }));
    });
    return { text, citations };
  },
};

const URL_A = 'https://a.example/größe?x=1';
const TITLE = 'Größen 😀';
const BEFORE = 'Größe 😀: ';
const CLAIM = 'zählt 😀.';
const TEXT = `${BEFORE}${CLAIM} Ende.`;
const inCharacters = { start_index: [...BEFORE].length, end_index: [...BEFORE, ...CLAIM].length };
const inBytes = { startIndex: Buffer.byteLength(BEFORE), endIndex: Buffer.byteLength(BEFORE + CLAIM) };

const completion = (message: object, more: object = {}): object => ({
  id: 'c',
  choices: [{ index: 0, message: { role: 'assistant', ...message }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 10, completion_tokens: 5 },
  ...more,
});
const chunk = (delta: object, more: object = {}): object => ({ id: 'c', choices: [{ index: 0, delta }], ...more });
const annotation = { type: 'url_citation', url_citation: { url: URL_A, title: TITLE, ...inCharacters } };
const flat = { type: 'url_citation', url: URL_A, title: TITLE, ...inCharacters };
const output = (annotations: readonly object[]): object => ({
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  status: 'completed',
  content: [{ type: 'output_text', text: TEXT, annotations }],
});
const response = (items: readonly object[]): object => ({ id: 'r', status: 'completed', output: items });
const located = {
  type: 'web_search_result_location',
  url: URL_A,
  title: TITLE,
  cited_text: 'counts',
  encrypted_index: 'Eo8',
};
const grounding = {
  groundingChunks: [{ web: { uri: URL_A, title: TITLE } }],
  groundingSupports: [{ segment: { ...inBytes, text: CLAIM }, groundingChunkIndices: [0] }],
};
const candidate = (parts: readonly object[], more: object = {}): object => ({
  candidates: [{ content: { role: 'model', parts }, index: 0, ...more }],
});
const block = (index: number, ...deltas: readonly object[]): object[] => [
  { type: 'content_block_start', index, content_block: { type: 'text', text: '', citations: [] } },
  ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
  { type: 'content_block_stop', index },
];
const textDelta = (text: string): object => ({ type: 'text_delta', text });
const place = { item_id: 'msg_1', output_index: 0, content_index: 0 };

/** One citation as each upstream sends it. */
const UPSTREAMS: Readonly<Record<Name, { body: object; events: readonly object[] }>> = {
  chat: {
    body: completion({ content: TEXT, annotations: [annotation] }),
    // Before the text it belongs to, and again after it.
    events: [
      chunk({ role: 'assistant', content: '', annotations: [annotation] }),
      chunk({ content: BEFORE }),
      chunk({ content: TEXT.slice(BEFORE.length) }),
      chunk({ annotations: [annotation] }),
    ],
  },
  responses: {
    body: response([output([flat])]),
    events: [
      { type: 'response.created', response: { id: 'r' } },
      { type: 'response.output_item.added', output_index: 0, item: { id: 'msg_1', type: 'message', content: [] } },
      { type: 'response.output_text.delta', ...place, delta: TEXT },
      { type: 'response.output_text.annotation.added', ...place, annotation_index: 0, annotation: flat },
      {
        type: 'response.content_part.done',
        ...place,
        part: { type: 'output_text', text: TEXT, annotations: [flat] },
      },
      { type: 'response.output_item.done', output_index: 0, item: output([flat]) },
      { type: 'response.completed', response: response([output([flat])]) },
    ],
  },
  messages: {
    body: {
      id: 'm',
      content: [
        { type: 'text', text: BEFORE },
        { type: 'text', text: CLAIM, citations: [located] },
        { type: 'text', text: ' Ende.', citations: null },
      ],
      stop_reason: 'end_turn',
    },
    // Anthropic sends citations before the text.
    events: [
      { type: 'message_start', message: { id: 'm', content: [] } },
      ...block(0, textDelta(BEFORE)),
      ...block(1, { type: 'citations_delta', citation: located }, textDelta('zählt '), textDelta('😀.')),
      ...block(2, textDelta(' Ende.')),
      { type: 'message_delta', delta: { stop_reason: 'end_turn' } },
      { type: 'message_stop' },
    ],
  },
  gemini: {
    body: candidate([{ text: 'hm', thought: true }, { text: TEXT }], {
      finishReason: 'STOP',
      groundingMetadata: {
        ...grounding,
        groundingSupports: [{ segment: { ...inBytes, partIndex: 1 }, groundingChunkIndices: [0] }],
      },
    }),
    // Segments of a stream count from the start of all its text.
    events: [
      candidate([{ text: 'hm', thought: true }]),
      candidate([{ text: BEFORE }]),
      candidate([{ text: TEXT.slice(BEFORE.length) }], { groundingMetadata: grounding }),
      candidate([{ text: '' }], { finishReason: 'STOP' }),
    ],
  },
};

describe('citations of all upstreams for all callers', () => {
  for (const from of NAMES)
    for (const to of NAMES.filter((name) => name !== from))
      for (const isStream of [false, true])
        test(`${from} → ${to}, ${isStream ? 'streamed' : 'whole'}`, () => {
          const { body, events } = UPSTREAMS[from];
          const converted = isStream ? convertStream(from, to, events) : convertBody(from, to, body);
          assert.equal(converted.text, TEXT);
          // Anthropic cites for a whole block.
          const text = to === 'messages' ? TEXT : CLAIM;
          assert.deepEqual(converted.citations, [{ url: URL_A, title: TITLE, text }]);
          // The words of the page have no place in the annotations of Responses and in Google's chunks.
          const isCut = from === 'messages' && to !== 'chat';
          assert.deepEqual(converted.dropped, isCut ? ['response.citations.cited_text'] : []);
        });

  for (const from of NAMES)
    test(`a stream of ${from} for a caller who asked for JSON, and the reverse`, () => {
      const to = from === 'chat' ? 'messages' : 'chat';
      const { body, events } = UPSTREAMS[from];
      const whole = createConversion(from, to).convertToBody(Buffer.concat(events.map(encode)));
      assert.equal(SEEN[to]([JSON.parse(whole)]).citations.length, 1);
      const streamed = createConversion(from, to).convertToStream(Buffer.from(JSON.stringify(body)));
      assert.equal(streamed.match(/"url(_citation)?":\{?"/g)?.length, 1);
    });
});

describe('sources without a range', () => {
  const seen = { url: URL_A, title: TITLE, text: 'Hi' };

  test("Perplexity's and xAI's lists of URLs apply to the whole text, once", () => {
    const more = {
      citations: [URL_A, 'https://b.example/'],
      search_results: [{ url: URL_A, title: TITLE, date: null, snippet: 'words' }],
    };
    for (const converted of [
      convertBody('chat', 'responses', completion({ content: 'Hi' }, more)),
      convertStream('chat', 'responses', [chunk({ content: 'H' }, more), chunk({ content: 'i' }, more)]),
    ])
      assert.deepEqual(converted.citations, [
        seen,
        { url: 'https://b.example/', title: 'https://b.example/', text: 'Hi' },
      ]);
  });

  test('a source that an annotation cites is not cited again', () => {
    const body = completion({ content: TEXT, annotations: [annotation] }, { citations: [URL_A] });
    assert.deepEqual(convertBody('chat', 'responses', body).citations, [{ url: URL_A, title: TITLE, text: CLAIM }]);
  });

  test("OpenRouter's empty ranges stand for the whole text, and its words of the page become Anthropic's", () => {
    const cited = { url: URL_A, title: TITLE, start_index: 0, end_index: 0, content: 'words' };
    const body = completion({ content: 'Hi', annotations: [{ type: 'url_citation', url_citation: cited }] });
    assert.deepEqual(convertBody('chat', 'responses', body).citations, [seen]);
    assert.match(convertBody('chat', 'messages', body).output, /"cited_text":"words"/);
    assert.deepEqual(convertBody('chat', 'gemini', body).citations, [{ ...seen, text: undefined }]);
  });

  test("Google's sources that support no passage are cited for the whole text", () => {
    const { groundingChunks } = grounding;
    const body = candidate([{ text: 'Hi' }], { groundingMetadata: { groundingChunks } });
    assert.deepEqual(convertBody('gemini', 'chat', body).citations, [seen]);
  });

  test("Google's citation metadata in both forms, and in its second spelling", () => {
    const cited = { ...inBytes, uri: URL_A, title: TITLE, license: 'mit' };
    for (const metadata of [
      { citationMetadata: { citationSources: [cited] } },
      { citationMetadata: { citations: [cited] } },
      { citation_metadata: { citation_sources: [{ ...cited, ...{} }] } },
    ]) {
      const converted = convertBody('gemini', 'chat', candidate([{ text: TEXT }], metadata));
      assert.deepEqual(converted.citations, [{ url: URL_A, title: TITLE, text: CLAIM }]);
      assert.deepEqual(converted.dropped, ['response.candidates.citationMetadata.license']);
    }
  });

  test("Anthropic's search results count if their source is a web page", () => {
    const cite = (source: string): object => ({
      content: [{ type: 'text', text: 'Hi', citations: [{ type: 'search_result_location', source, title: TITLE }] }],
    });
    assert.deepEqual(convertBody('messages', 'chat', cite(URL_A)).citations, [seen]);
    const converted = convertBody('messages', 'chat', cite('my notes'));
    assert.deepEqual([converted.citations, converted.dropped], [[], ['response.content.citations']]);
  });
});

describe('citations in places of their own', () => {
  const call = { id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } };

  test('a citation that follows a call belongs to the text before the call', () => {
    const events = [
      chunk({ content: TEXT }),
      chunk({ tool_calls: [{ index: 0, ...call }] }),
      chunk({ annotations: [annotation] }),
    ];
    assert.deepEqual(convertStream('chat', 'responses', events).citations, [{ url: URL_A, title: TITLE, text: CLAIM }]);
    // A block of Anthropic's stream that has ended cannot be changed.
    const late = convertStream('chat', 'messages', events);
    assert.deepEqual([late.citations, late.dropped], [[], ['response.content.citations']]);
    assert.match(late.output, /: x-reelgate-dropped: response\.content\.citations/);
  });

  test('a citation that arrives before a call is written before the call', () => {
    const events = [
      chunk({ content: TEXT, annotations: [annotation] }),
      chunk({ tool_calls: [{ index: 0, ...call }] }),
    ];
    assert.equal(convertStream('chat', 'messages', events).citations.length, 1);
  });

  test("a chat stream has all annotations in one chunk, because OpenAI's clients cannot join several", () => {
    const deltas = [{ citation: located }, { citation: { ...located, url: 'https://b.example/' } }];
    const events = block(0, textDelta(TEXT), ...deltas.map((delta) => ({ type: 'citations_delta', ...delta })));
    const { output: sent } = convertStream('messages', 'chat', events);
    assert.equal(sent.match(/"annotations"/g)?.length, 1);
    assert.equal(sent.match(/"url_citation":/g)?.length, 2);
  });

  test('ranges count from the start of each text, and a citation belongs to the text in which it ends', () => {
    const said = (text: string, more: object = {}): object => ({ type: 'text', text, ...more });
    const content = [said(BEFORE), { type: 'thinking', thinking: 'hm' }, said(CLAIM, { citations: [located] })];
    for (const to of ['responses', 'chat', 'gemini'] as const)
      assert.deepEqual(convertBody('messages', to, { content }).citations, [{ url: URL_A, title: TITLE, text: CLAIM }]);
  });

  test('content that is written into the text moves the ranges after it', () => {
    const image = { inlineData: { mimeType: 'audio/wav', data: 'eA==' } };
    const segment = { ...inBytes, text: CLAIM };
    const more = { groundingMetadata: { ...grounding, groundingSupports: [{ segment, groundingChunkIndices: [0] }] } };
    const parts = [{ text: 'First.' }, image, { text: TEXT }];
    for (const converted of [
      convertBody('gemini', 'chat', candidate(parts, more)),
      convertStream('gemini', 'chat', [candidate(parts.slice(0, 2)), candidate(parts.slice(2), more)]),
    ])
      assert.deepEqual(converted.citations, [{ url: URL_A, title: TITLE, text: CLAIM }]);
  });

  test('annotations of the second part of an item count from its start', () => {
    const content = [
      { type: 'output_text', text: 'First 😀.' },
      { type: 'output_text', text: TEXT, annotations: [flat] },
    ];
    const body = response([{ id: 'msg_1', type: 'message', content }]);
    assert.deepEqual(convertBody('responses', 'chat', body).citations, [{ url: URL_A, title: TITLE, text: CLAIM }]);
  });
});

describe('citations nobody can use', () => {
  const ODD = [
    null,
    7,
    'x',
    {},
    [[]],
    [null, 3, 'x', []],
    [{ type: 'url_citation' }],
    [{ type: 'url_citation', url_citation: { url: 'javascript:alert(1)' } }],
    [{ type: 'url_citation', url_citation: { url: 'https://' } }],
    [{ type: 'url_citation', url_citation: { url: `https://a.example/${'x'.repeat(5_000)}` } }],
    [{ type: 'file_citation', file_id: 'f', filename: 'a.pdf', index: 3 }],
    [{ type: 'char_location', cited_text: 'x', document_index: 0 }],
  ];
  const AROUND: Readonly<Record<Name, (odd: unknown) => object>> = {
    chat: (odd) => completion({ content: 'Hi', annotations: odd }, { citations: odd, search_results: odd }),
    responses: (odd) =>
      response([{ type: 'message', content: [{ type: 'output_text', text: 'Hi', annotations: odd }] }]),
    messages: (odd) => ({ content: [{ type: 'text', text: 'Hi', citations: odd }] }),
    gemini: (odd) =>
      candidate([{ text: 'Hi' }], {
        groundingMetadata: { groundingChunks: odd, groundingSupports: odd },
        citationMetadata: { citations: odd },
      }),
  };

  for (const from of NAMES)
    for (const to of NAMES.filter((name) => name !== from))
      test(`${from} → ${to}: are skipped and named, and never break a response`, () => {
        for (const odd of ODD) {
          const { text, citations, dropped } = convertBody(from, to, AROUND[from](odd));
          assert.deepEqual([text, citations], ['Hi', []], JSON.stringify(odd));
          const isNothing = odd === null || (from === 'messages' && !Array.isArray(odd));
          assert.equal(dropped.length > 0, !isNothing, JSON.stringify(odd));
        }
      });

  test('a range beyond the text, reversed, or in other types leaves the page', () => {
    for (const range of [
      { start_index: 5, end_index: 900 },
      { start_index: 2, end_index: 1 },
      { start_index: -1, end_index: 1 },
      { start_index: 0.5, end_index: 1 },
      { start_index: '0', end_index: '1' },
      { start_index: 0, end_index: 1e300 },
    ]) {
      const annotations = [{ type: 'url_citation', url_citation: { url: URL_A, title: { a: 1 }, ...range } }];
      const { citations } = convertBody('chat', 'responses', completion({ content: 'Hi', annotations }));
      assert.deepEqual(citations, [{ url: URL_A, title: URL_A, text: 'Hi' }], JSON.stringify(range));
    }
  });

  test('are limited in number and in length', () => {
    const annotations = Array.from({ length: 2 * MAX_CITATIONS }, (_, index) => ({
      type: 'url_citation',
      url_citation: { url: `https://a.example/${index}`, title: 'x'.repeat(index === 0 ? 5_000 : 1) },
    }));
    const body = completion(
      { content: 'Hi', annotations },
      { citations: annotations.map((_, at) => `http://b/${at}`) },
    );
    const converted = convertBody('chat', 'messages', body);
    assert.equal(converted.citations.length, MAX_CITATIONS);
    assert.ok((converted.citations[0]?.title?.length ?? 0) < 5_000);
    assert.deepEqual(converted.dropped, ['response.annotations', 'response.citations']);
  });

  test('of a response without text are named as dropped', () => {
    for (const isStream of [true, false]) {
      const message = {
        annotations: [annotation],
        tool_calls: [{ id: 'a', function: { name: 'f', arguments: '{}' } }],
      };
      const converted = isStream
        ? convertStream('chat', 'messages', [chunk(message)])
        : convertBody('chat', 'messages', completion(message));
      assert.deepEqual([converted.citations, converted.dropped], [[], ['response.annotations']]);
    }
  });
});

test('positions in a text are converted to characters and bytes, and back', () => {
  const text = new CountedText();
  text.add('aé');
  text.add('😀€');
  text.add('z');
  for (const [range, inUnits, utf8] of [
    [
      { start: 0, end: 6 },
      { start: 0, end: 5 },
      { start: 0, end: 11 },
    ],
    [
      { start: 1, end: 4 },
      { start: 1, end: 3 },
      { start: 1, end: 7 },
    ],
    [
      { start: 4, end: 5 },
      { start: 3, end: 4 },
      { start: 7, end: 10 },
    ],
  ] as const) {
    assert.deepEqual(text.toUnits(range, 'character'), inUnits);
    assert.deepEqual(text.toUnits(range, 'byte'), utf8);
    assert.deepEqual(text.fromUnits(inUnits, 'character'), range);
    assert.deepEqual(text.fromUnits(utf8, 'byte'), range);
  }
  assert.deepEqual(text.fromUnits({ start: 0, end: 1 }, 'byte', 5), { start: 5, end: 6 });
  assert.equal(text.fromUnits({ start: 0, end: 2 }, 'byte', 5), undefined);
});
