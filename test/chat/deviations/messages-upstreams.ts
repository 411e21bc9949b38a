import { begin, type Deviation, delta, json, message, messageEnd, messageStart, stop, textBlock } from './deviation.ts';

const PNG = { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' };

const tool = (id: string, name: string, input: object = {}): object => ({ type: 'tool_use', id, name, input });
const one = [['ls', '{"p":"/"}']] as const;
const two = [
  ['ls', '{"p":1}'],
  ['cat', '{"q":2}'],
] as const;
const end = messageEnd('tool_use');

const streams: readonly Deviation[] = [
  {
    name: 'the input in the start alone',
    source: 'inflaborg/ccrelay #119',
    events: [messageStart(), begin(0, tool('a', 'ls', { p: '/' })), stop(0), ...end],
    expected: { calls: one },
  },
  {
    name: 'the input in the start and again in deltas',
    source: 'Soju06/codex-lb #284',
    events: [
      messageStart(),
      begin(0, tool('a', 'ls', { p: '/' })),
      delta(0, json('{"p":')),
      delta(0, json('"/"}')),
      stop(0),
      ...end,
    ],
    expected: { calls: one },
  },
  {
    name: 'the input of a tool the upstream runs',
    source: 'anthropics/anthropic-sdk-python #1740',
    events: [
      messageStart(),
      begin(0, { type: 'server_tool_use', id: 's', name: 'web_search', input: {} }),
      delta(0, json('{"query":"x"}')),
      stop(0),
      begin(1, { type: 'web_search_tool_result', tool_use_id: 's', content: [] }),
      stop(1),
      begin(2, tool('a', 'ls')),
      delta(2, json('{"p":"/"}')),
      stop(2),
      ...end,
    ],
    expected: { calls: one, dropped: ['content.server_tool_use', 'content.web_search_tool_result'] },
  },
  {
    name: 'blocks in turns',
    source: 'Wei-Shaw/sub2api #4302',
    events: [
      messageStart(),
      begin(0, tool('a', 'ls')),
      begin(1, tool('b', 'cat')),
      delta(0, json('{"p"')),
      delta(1, json('{"q"')),
      delta(0, json(':1}')),
      delta(1, json(':2}')),
      stop(0),
      stop(1),
      ...end,
    ],
    expected: { calls: two },
  },
  {
    name: 'text while a call is open',
    source: 'Wei-Shaw/sub2api #4294',
    events: [
      messageStart(),
      begin(0, tool('a', 'ls')),
      delta(0, json('{"p":')),
      ...textBlock(1, 'Hi'),
      delta(0, json('"/"}')),
      stop(0),
      ...end,
    ],
    expected: { text: 'Hi', calls: one },
  },
  {
    name: 'two calls in one slot',
    source: 'Shelpuk-AI-Technology-Consulting/kitty-bridge #116',
    events: [
      messageStart(),
      begin(0, tool('a', 'ls')),
      delta(0, json('{"p":1}')),
      begin(0, tool('b', 'cat')),
      delta(0, json('{"q":2}')),
      stop(0),
      ...end,
    ],
    expected: { calls: two },
  },
  {
    name: 'a call without an id',
    source: 'earendil-works/pi #2993',
    events: [
      messageStart(),
      begin(0, { type: 'tool_use', name: 'ls', input: {} }),
      delta(0, json('{"p":"/"}')),
      stop(0),
      ...end,
    ],
    expected: { calls: one },
  },
  {
    name: 'two calls of one id',
    source: 'earendil-works/pi #2993',
    events: [
      messageStart(),
      begin(0, tool('a', 'ls', { p: 1 })),
      stop(0),
      begin(1, tool('a', 'cat', { q: 2 })),
      stop(1),
      ...end,
    ],
    expected: { calls: two },
  },
  {
    name: 'no stops of blocks',
    source: 'tensorzero/tensorzero #5481',
    events: [
      messageStart(),
      begin(0, { type: 'text', text: '' }),
      delta(0, { type: 'text_delta', text: 'Hi' }),
      begin(1, tool('a', 'ls')),
      delta(1, json('{"p":"/"}')),
      ...end,
    ],
    expected: { text: 'Hi', calls: one },
  },
  {
    name: 'no starts of blocks',
    source: 'Wei-Shaw/sub2api #4294',
    events: [messageStart(), delta(0, { type: 'text_delta', text: 'Hi' }), ...messageEnd()],
    expected: { text: 'Hi' },
  },
  {
    name: 'deltas without an index',
    source: 'Wei-Shaw/sub2api #4294',
    events: [
      messageStart(),
      { type: 'content_block_start', content_block: tool('a', 'ls') },
      { type: 'content_block_delta', delta: json('{"p":"/"}') },
      { type: 'content_block_stop' },
      ...end,
    ],
    expected: { calls: one },
  },
  {
    name: 'text in the start of its block',
    source: 'mlx-node/mlx-node #45',
    events: [messageStart(), begin(0, { type: 'text', text: 'Hi' }), stop(0), ...messageEnd()],
    expected: { text: 'Hi' },
  },
  {
    name: 'content in the first event',
    source: 'PrimeIntellect-ai/verifiers #2165',
    events: [{ type: 'message_start', message: message([{ type: 'text', text: 'Hi' }], null) }, ...messageEnd()],
    expected: { text: 'Hi' },
  },
  {
    name: 'a signature in the start of its block and again in a delta',
    source: 'BerriAI/litellm #32105',
    events: [
      messageStart(),
      begin(0, { type: 'thinking', thinking: '', signature: 'sig' }),
      delta(0, { type: 'thinking_delta', thinking: 'hm' }),
      delta(0, { type: 'signature_delta', signature: 'sig' }),
      stop(0),
      ...textBlock(1, 'Hi'),
      ...messageEnd(),
    ],
    expected: { text: 'Hi', thought: 'hm' },
  },
  {
    name: 'pings and events nobody knows',
    source: 'tensorzero/tensorzero #5481',
    events: [messageStart(), { type: 'ping' }, ...textBlock(0, 'Hi'), { type: 'weather', sun: true }, ...messageEnd()],
    expected: { text: 'Hi', dropped: ['sun'] },
  },
  {
    name: 'a mark of the end of another dialect',
    source: 'lidge-jun/opencodex #1006',
    events: [messageStart(), ...textBlock(0, 'Hi'), ...messageEnd(), 'data: [DONE]\n\n'],
    expected: { text: 'Hi' },
  },
];

const figures: readonly Deviation[] = (
  [
    [
      'a later zero of the input',
      { input_tokens: 1_010, output_tokens: 1 },
      { input_tokens: 0, output_tokens: 5 },
      [1_010, 5],
    ],
    [
      'a later zero of the cached part',
      { input_tokens: 10, cache_read_input_tokens: 1_000, output_tokens: 1 },
      { input_tokens: 10, cache_read_input_tokens: 0, output_tokens: 5 },
      [1_010, 5],
    ],
    ['a later zero of the output', { input_tokens: 10, output_tokens: 1_000 }, { output_tokens: 0 }, [10, 1_000]],
    [
      'all in the last event',
      { input_tokens: 0, output_tokens: 0 },
      { input_tokens: 4_522, cache_creation_input_tokens: 4_511, output_tokens: 5 },
      [9_033, 5],
    ],
    [
      'an estimate first, the parts of it last',
      { input_tokens: 1_000, output_tokens: 0 },
      { input_tokens: 100, cache_read_input_tokens: 900, output_tokens: 5 },
      [1_000, 5],
    ],
    // Charged by counting the text.
    ['none behind the placeholder', { input_tokens: 10, output_tokens: 1 }, {}, [10, 0]],
    ['cumulative output', { input_tokens: 25, output_tokens: 1 }, { output_tokens: 15 }, [25, 15]],
    [
      'nulls',
      { input_tokens: 10, cache_read_input_tokens: null, output_tokens: 1 },
      { input_tokens: null, output_tokens: 5 },
      [10, 5],
    ],
    [
      'cache writes by their time',
      {
        input_tokens: 10,
        cache_creation_input_tokens: 300,
        cache_creation: { ephemeral_1h_input_tokens: 200 },
        output_tokens: 1,
      },
      { cache_creation: { ephemeral_1h_input_tokens: 0 }, output_tokens: 5 },
      [310, 5],
    ],
  ] as const
).map(([name, start, last, charged]) => ({
  name: `usage: ${name}`,
  source: 'envoyproxy/ai-gateway #1631, #2290, tensorzero/tensorzero #5481, sgl-project/sglang #20830',
  events: [messageStart(start), ...textBlock(0, 'Hi'), ...messageEnd('end_turn', last)],
  expected: { text: 'Hi', charged: [...charged] as [number, number] },
}));

const reasons: readonly Deviation[] = (
  [
    ['end_turn', 'end'],
    ['pause_turn', 'end'],
    ['stop_sequence', 'end'],
    ['stop', 'end'],
    ['max_tokens', 'length'],
    ['length', 'length'],
    ['model_context_window_exceeded', 'length'],
    ['refusal', 'refused'],
    ['sensitive', 'refused'],
    ['content_filter', 'refused'],
    ['error', 'failed'],
    ['network_error', 'failed'],
    ['something_new', 'failed'],
  ] as const
).flatMap(([word, means]): Deviation[] => {
  const source = 'earendil-works/pi #1509 (#978), platform.claude.com/docs/en/api/messages';
  const expected = means === 'failed' ? { text: 'half', fails: 'reason' as const } : { text: 'half', end: means };
  return [
    { name: `ends with ${word}`, source, body: message([{ type: 'text', text: 'half' }], word), expected },
    {
      name: `a stream ends with ${word}`,
      source,
      events: [messageStart(), ...textBlock(0, 'half'), ...messageEnd(word)],
      expected,
    },
  ];
});

const bodies: readonly Deviation[] = [
  {
    name: 'content as text',
    source: 'BerriAI/litellm #40294',
    body: message('Hi'),
    expected: { text: 'Hi', charged: [10, 5] },
  },
  {
    name: 'an empty turn with figures',
    source: 'BerriAI/litellm #40294',
    body: message([], 'end_turn', { usage: { input_tokens: 19, output_tokens: 0 } }),
    expected: { charged: [19, 0] },
  },
  {
    name: 'a block nobody knows',
    source: 'orangeboyChen/codebuddy2api #163',
    body: message([
      { type: 'text', text: 'Hi' },
      { type: 'container_upload', file_id: 'x' },
    ]),
    expected: { text: 'Hi', dropped: ['content.container_upload'] },
  },
  {
    name: 'citations of a text',
    source: 'platform.claude.com/docs/en/build-with-claude/citations',
    body: message([{ type: 'text', text: 'Hi', citations: [{ type: 'char_location', cited_text: 'x' }] }]),
    expected: { text: 'Hi', dropped: ['content.citations'] },
  },
  ...(
    [
      ['no message_stop', [messageStart(), ...textBlock(0, 'Hi'), ...messageEnd().slice(0, 1)], [10, 5]],
      ['no first event', [...textBlock(0, 'Hi'), ...messageEnd()], 'counted'],
    ] as const
  ).map(
    ([name, events, charged]): Deviation => ({
      name: `a stream with ${name}`,
      source: 'esengine/DeepSeek-Reasonix #8756, tombii/better-ccflare #307',
      events,
      expected: { text: 'Hi', charged },
    }),
  ),
  {
    name: 'calls announced by the end alone',
    source: 'mastra-ai/mastra #14187',
    body: message([{ type: 'text', text: 'Hi' }], 'tool_use'),
    expected: { text: 'Hi', end: 'end' },
  },
  {
    name: 'an image',
    source: 'mozilla-ai/any-llm #1333',
    body: message([{ type: 'image', source: PNG }]),
    expected: { images: 1 },
  },
  {
    name: 'a streamed image',
    source: 'mozilla-ai/any-llm #1333',
    events: [messageStart(), begin(0, { type: 'image', source: PNG }), stop(0), ...messageEnd()],
    expected: { images: 1 },
  },
  {
    name: 'figures as text',
    source: 'Arize-ai/openinference #1183',
    body: message([{ type: 'text', text: 'Hi' }], 'end_turn', { usage: { input_tokens: '10', output_tokens: '5' } }),
    expected: { text: 'Hi', charged: [10, 5] },
  },
  {
    name: 'an input as text',
    source: 'ollama/ollama #12413',
    body: message([{ type: 'tool_use', id: 'a', name: 'ls', input: '{"p":1}' }], 'tool_use'),
    expected: { calls: [['ls', '{"p":1}']] },
  },
  ...(
    [
      ['an end and no content', [], 'stop'],
      ['calls that are not there', [], 'tool_use'],
      ['an empty text', [{ type: 'text', text: '' }], 'end_turn'],
    ] as const
  ).flatMap(([name, content, reason]): Deviation[] => [
    {
      name: `only ${name}`,
      source: 'mastra-ai/mastra #14187',
      body: message(content, reason, { usage: { input_tokens: 0, output_tokens: 0 } }),
      expected: { fails: 'empty' },
    },
    {
      name: `a stream of only ${name}`,
      source: 'mastra-ai/mastra #14187',
      events: [
        messageStart({ input_tokens: 0, output_tokens: 0 }),
        ...content.flatMap(({ text }) => textBlock(0, text)),
        ...messageEnd(reason, { output_tokens: 0 }),
      ],
      expected: { fails: 'empty' },
    },
  ]),
  {
    name: 'nothing at all',
    source: 'decolua/9router #2229',
    body: { type: 'message', content: [] },
    expected: { fails: 'empty' },
  },
  {
    name: 'an error in HTTP 200',
    source: 'diegosouzapw/OmniRoute #4942',
    body: { type: 'error', error: { type: 'overloaded_error', message: 'no' } },
    expected: { fails: 'failure' },
  },
  {
    name: 'a stream of nothing but its frame',
    source: 'decolua/9router #2229',
    events: [messageStart(), { type: 'message_stop' }],
    expected: { fails: 'empty' },
  },
  {
    name: 'an error before any block',
    source: 'diegosouzapw/OmniRoute #4942',
    events: [messageStart(), { type: 'error', error: { type: 'overloaded_error', message: 'no' } }],
    expected: { fails: 'error' },
  },
];

/** Deviations of upstreams that speak Anthropic's Messages API. */
export const MESSAGES_UPSTREAMS: readonly Deviation[] = [
  ...streams,
  ...(figures as readonly Deviation[]),
  ...reasons,
  ...bodies,
];
