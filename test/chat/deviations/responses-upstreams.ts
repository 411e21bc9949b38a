import { called, completed, created, type Deviation, response, said } from './deviation.ts';

const one = [['ls', '{"p":"/"}']] as const;
const two = [
  ['ls', '{"p":1}'],
  ['cat', '{"q":2}'],
] as const;
const text = (delta: string, more: object = { item_id: 'msg_0', output_index: 0, content_index: 0 }): object => ({
  type: 'response.output_text.delta',
  delta,
  ...more,
});
const added = (item: object, index?: number): object => ({
  type: 'response.output_item.added',
  output_index: index,
  item,
});
const itemDone = (item: object, index?: number): object => ({
  type: 'response.output_item.done',
  output_index: index,
  item,
});
const argsDelta = (delta: unknown, place: object): object => ({
  type: 'response.function_call_arguments.delta',
  delta,
  ...place,
});
const argsDone = (args: unknown, place: object): object => ({
  type: 'response.function_call_arguments.done',
  arguments: args,
  ...place,
});
const thought = { id: 'rs_0', type: 'reasoning', summary: [{ type: 'summary_text', text: 'hm' }] };

const streams: readonly Deviation[] = [
  [
    'text in the last event alone',
    'Sophomoresty/gemini-web2api #57',
    [created, completed([said('Hello')])],
    { text: 'Hello' },
  ],
  [
    'text in output_text.done alone',
    'Sophomoresty/gemini-web2api #57',
    [created, { type: 'response.output_text.done', text: 'Hello' }, completed()],
    { text: 'Hello' },
  ],
  [
    'text in output_item.done alone',
    'agentgateway/agentgateway #2281',
    [created, itemDone(said('Hello'), 0), completed()],
    { text: 'Hello' },
  ],
  [
    'text in content_part.done alone',
    'ogx-ai/ogx #5309',
    [
      created,
      {
        type: 'response.content_part.done',
        item_id: 'msg_0',
        output_index: 0,
        content_index: 0,
        part: { type: 'output_text', text: 'Hello' },
      },
      completed(),
    ],
    { text: 'Hello' },
  ],
  [
    'the tail of a text in output_item.done',
    'vercel/ai #13844',
    [created, text('Hel'), itemDone(said('Hello'), 0), completed([said('Hello')])],
    { text: 'Hello' },
  ],
  [
    'the end of an item after its first delta',
    'diegosouzapw/OmniRoute #13693',
    [
      created,
      text('1'),
      { type: 'response.output_text.done', text: '1', item_id: 'msg_0', output_index: 0 },
      text('2'),
      completed([said('12')]),
    ],
    { text: '12' },
  ],
  [
    'deltas that name no item',
    'agentgateway/agentgateway #2281',
    [created, text('Hel', {}), text('lo', {}), completed([said('Hello')])],
    { text: 'Hello' },
  ],
  [
    'deltas that name their item by id',
    'lidge-jun/opencodex #4652',
    [created, text('Hel', { item_id: 'msg_0' }), text('lo', { item_id: 'msg_0' }), completed([said('Hello')])],
    { text: 'Hello' },
  ],
  [
    'everything in all events',
    'simonw/llm #839',
    [
      created,
      added({ ...said(''), content: [] }, 0),
      text('Hello'),
      { type: 'response.output_text.done', text: 'Hello', item_id: 'msg_0', output_index: 0 },
      itemDone(said('Hello'), 0),
      completed([said('Hello')]),
    ],
    { text: 'Hello' },
  ],
  ['no first event', 'Sophomoresty/gemini-web2api #57', [text('Hello'), completed([said('Hello')])], { text: 'Hello' }],
  [
    'arguments in their done event alone',
    'tailcallhq/forgecode #2558',
    [created, added(called('ls', ''), 0), argsDone('{"p":"/"}', { item_id: 'fc_0', output_index: 0 }), completed()],
    { calls: one },
  ],
  [
    'arguments in the item alone',
    'lidge-jun/opencodex #4652',
    [created, added(called('ls', ''), 0), itemDone(called('ls', '{"p":"/"}'), 0), completed()],
    { calls: one },
  ],
  [
    'a call in the last event alone',
    'lidge-jun/opencodex #4652',
    [created, completed([called('ls', '{"p":"/"}')])],
    { calls: one },
  ],
  [
    'arguments in deltas and in all other events',
    'Soju06/codex-lb #287',
    [
      created,
      added(called('ls', ''), 0),
      argsDelta('{"p":"/"}', { item_id: 'fc_0', output_index: 0 }),
      argsDone('{"p":"/"}', { item_id: 'fc_0', output_index: 0 }),
      itemDone(called('ls', '{"p":"/"}'), 0),
      completed([called('ls', '{"p":"/"}')]),
    ],
    { calls: one },
  ],
  [
    'arguments named by item id',
    'mcowger/plexus #694',
    [created, added(called('ls', ''), 1), argsDelta('{"p":"/"}', { item_id: 'fc_0' }), completed()],
    { calls: one },
  ],
  [
    'two calls in turns, named by item id',
    'diegosouzapw/OmniRoute #11144',
    [
      created,
      added(called('ls', '', 'fc_0')),
      added(called('cat', '', 'fc_1')),
      argsDelta('{"p"', { item_id: 'fc_0' }),
      argsDelta('{"q"', { item_id: 'fc_1' }),
      argsDelta(':1}', { item_id: 'fc_0' }),
      argsDelta(':2}', { item_id: 'fc_1' }),
      completed(),
    ],
    { calls: two },
  ],
  [
    'two calls opened before either ends',
    'mcowger/plexus #694',
    [
      created,
      added(called('ls', '', 'fc_0'), 2),
      added(called('cat', '', 'fc_1'), 5),
      argsDelta('{"p":1}', { output_index: 2 }),
      argsDelta('{"q":2}', { output_index: 5 }),
      completed([called('ls', '{"p":1}', 'fc_0'), called('cat', '{"q":2}', 'fc_1')]),
    ],
    { calls: two },
  ],
  [
    'arguments in the start of the item',
    'Soju06/codex-lb #284',
    [created, added(called('ls', '{"p":"/"}'), 0), completed()],
    { calls: one },
  ],
  [
    'arguments as an object',
    'ggml-org/llama.cpp #20198',
    [created, added(called('ls', ''), 0), argsDone({ p: '/' }, { item_id: 'fc_0', output_index: 0 }), completed()],
    { calls: one },
  ],
  [
    'a thought in its item alone',
    'mudler/LocalAI #9658',
    [created, itemDone(thought, 0), itemDone(said('Hi'), 1), completed()],
    { thought: 'hm', text: 'Hi' },
  ],
  [
    'a thought in the content of its item',
    'mudler/LocalAI #9658',
    [
      created,
      itemDone({ id: 'rs_0', type: 'reasoning', summary: [], content: [{ type: 'output_text', text: 'hm' }] }, 0),
      text('Hi', { output_index: 1, item_id: 'msg_1' }),
      completed(),
    ],
    { thought: 'hm', text: 'Hi' },
  ],
  [
    'a thought in deltas and its item',
    'simonw/llm #839',
    [
      created,
      {
        type: 'response.reasoning_summary_text.delta',
        delta: 'hm',
        item_id: 'rs_0',
        output_index: 0,
        summary_index: 0,
      },
      itemDone(thought, 0),
      text('Hi', { output_index: 1, item_id: 'msg_0' }),
      completed([thought, said('Hi')]),
    ],
    { thought: 'hm', text: 'Hi' },
  ],
  [
    'an image of the tool',
    'Wei-Shaw/sub2api #4803',
    [created, itemDone({ id: 'ig', type: 'image_generation_call', result: 'iVBORw0KGgo=' }, 0), completed()],
    { images: 1 },
  ],
  [
    'a refusal',
    'genkit-ai/genkit #6259',
    [created, { type: 'response.refusal.delta', delta: 'No.', item_id: 'msg_0', output_index: 0 }, completed()],
    { text: 'No.' },
  ],
  [
    'an item nobody knows',
    'simonw/llm #839',
    [
      created,
      itemDone({ id: 'ws', type: 'web_search_call', status: 'completed' }, 0),
      text('Hi', { output_index: 1, item_id: 'msg_0' }),
      completed(),
    ],
    { text: 'Hi', dropped: ['output.web_search_call'] },
  ],
].map(([name, source, events, expected]) => ({ name, source, events, expected }) as Deviation);

const others: readonly Deviation[] = [
  {
    name: 'an image in a message',
    source: 'simonw/llm #839',
    body: response([
      {
        id: 'm',
        type: 'message',
        content: [{ type: 'output_image', image_url: 'data:image/png;base64,iVBORw0KGgo=' }],
      },
    ]),
    expected: { images: 1 },
  },
  {
    name: 'figures as text',
    source: 'Arize-ai/openinference #1183',
    body: response([said('Hi')], { usage: { input_tokens: '10', output_tokens: '5' } }),
    expected: { text: 'Hi', charged: [10, 5] },
  },
  {
    name: 'another id of an item in each event',
    source: 'simonw/llm #839',
    events: [
      created,
      { type: 'response.output_item.added', output_index: 0, item: { id: 'a', type: 'message', content: [] } },
      text('Hi', { output_index: 0, item_id: 'b' }),
      itemDone(said('Hi', 'c'), 0),
      completed([said('Hi', 'd')]),
    ],
    expected: { text: 'Hi' },
  },
  {
    name: 'a message without text',
    source: 'praxis-proxy/ai #804',
    body: response([said('')], { usage: null }),
    expected: { fails: 'empty' },
  },
  {
    name: 'a stream of a message without text',
    source: 'praxis-proxy/ai #804',
    events: [
      created,
      { type: 'response.output_item.added', output_index: 0, item: { id: 'm', type: 'message', content: [] } },
      { type: 'response.content_part.added', output_index: 0, part: { type: 'output_text', text: '' } },
      { type: 'response.output_text.done', output_index: 0, text: '' },
      itemDone(said(''), 0),
      completed([said('')], { usage: null }),
    ],
    expected: { fails: 'empty' },
  },
];

const ends: readonly Deviation[] = [
  [
    'failed with error: null',
    { type: 'response.failed', response: { id: 'r', status: 'failed', error: null } },
    { text: 'Hel', fails: 'error' },
  ],
  [
    'failed without an error',
    { type: 'response.failed', response: { id: 'r', status: 'failed' } },
    { text: 'Hel', fails: 'error' },
  ],
  [
    'completed, but failed',
    { type: 'response.completed', response: { id: 'r', status: 'failed', output: [] } },
    { text: 'Hel', fails: 'error' },
  ],
  [
    'incomplete for the limit',
    {
      type: 'response.incomplete',
      response: response([], { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } }),
    },
    { text: 'Hel', end: 'length' },
  ],
  [
    'incomplete for a filter',
    {
      type: 'response.incomplete',
      response: response([], { status: 'incomplete', incomplete_details: { reason: 'content_filter' } }),
    },
    { text: 'Hel', end: 'refused' },
  ],
  [
    'incomplete without a reason',
    { type: 'response.incomplete', response: response([], { status: 'incomplete' }) },
    { text: 'Hel', end: 'length' },
  ],
  [
    'incomplete for a reason nobody knows',
    {
      type: 'response.incomplete',
      response: response([], { status: 'incomplete', incomplete_details: { reason: 'sunset' } }),
    },
    { text: 'Hel', fails: 'reason' },
  ],
].map(
  ([name, last, expected]) =>
    ({
      name: `a stream ${name as string}`,
      source: 'diegosouzapw/OmniRoute #13956',
      events: [created, text('Hel'), last],
      expected,
    }) as Deviation,
);

const bodies: readonly Deviation[] = [
  [
    'content as text',
    'simonw/llm #839',
    response([{ type: 'message', content: 'Hi' }]),
    { text: 'Hi', charged: [10, 5] },
  ],
  ['output_text alone', 'simonw/llm #839', response([], { output_text: 'Hi' }), { text: 'Hi' }],
  [
    'two calls of one id',
    'NousResearch/hermes-agent #62940',
    response([called('ls', '{"p":1}', 'x'), called('cat', '{"q":2}', 'x')]),
    { calls: two },
  ],
  ['arguments as an object, whole', 'ggml-org/llama.cpp #20198', response([called('ls', { p: '/' })]), { calls: one }],
  [
    'calls without ids',
    'NousResearch/hermes-agent #62940',
    response([
      { type: 'function_call', name: 'ls', arguments: '{"p":1}' },
      { type: 'function_call', name: 'cat', arguments: '{"q":2}' },
    ]),
    { calls: two },
  ],
  ['nothing', 'ENTERPILOT/GoModel #947', { id: 'r', status: 'completed', output: [] }, { fails: 'empty' }],
  [
    'failed, error: null',
    'diegosouzapw/OmniRoute #13956',
    { id: 'r', status: 'failed', error: null, output: [] },
    { fails: 'failure' },
  ],
].map(([name, source, body, expected]) => ({ name, source, body, expected }) as Deviation);

/** Deviations of upstreams that speak OpenAI's Responses API. */
export const RESPONSES_UPSTREAMS: readonly Deviation[] = [...streams, ...others, ...ends, ...bodies];
