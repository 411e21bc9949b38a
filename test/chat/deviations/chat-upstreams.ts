import { call, chunk, completion, type Deviation, done, usageChunk } from './deviation.ts';

const LS = { type: 'function', function: { name: 'ls', arguments: '' } };
const end = [chunk({}, 'tool_calls'), usageChunk(10, 5), done];
const stopped = [chunk({}, 'stop'), usageChunk(10, 5), done];
const fn = (name: string, args: unknown) => ({ type: 'function', function: { name, arguments: args } });
const args = (text: string) => ({ function: { arguments: text } });
const one = [['ls', '{"p":"/"}']] as const;
const two = [
  ['ls', '{"p":1}'],
  ['cat', '{"q":2}'],
] as const;
const PNG = 'data:image/png;base64,iVBORw0KGgo=';
const PNG_SOURCE = { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' };

const toolIdentity: readonly Deviation[] = [
  {
    name: 'no index, later pieces with neither index nor id',
    source: 'openai/openai-python #2806',
    events: [call({ id: 'a', ...LS }), call(args('{"p":')), call(args('"/"}')), ...end],
    expected: { calls: one },
  },
  {
    name: 'no index, later pieces with an empty id and name',
    source: 'AstrBotDevs/AstrBot #6692',
    events: [call({ id: 'a', ...LS }), call({ id: '', function: { name: '', arguments: '{"p":"/"}' } }), ...end],
    expected: { calls: one },
  },
  {
    name: 'two calls without index, in turns',
    source: 'SamSaffron/term-llm #314',
    events: [
      call({ id: 'a', ...fn('ls', '{"p":') }),
      call(args('1}')),
      call({ id: 'b', ...fn('cat', '{"q":') }),
      call(args('2}')),
      ...end,
    ],
    expected: { calls: two },
  },
  {
    name: 'an index and no id',
    source: 'continuedev/continue #13225',
    events: [call({ index: 0, ...LS }), call({ index: 0, ...args('{"p":"/"}') }), ...end],
    expected: { calls: one },
  },
  {
    name: 'an id that is null',
    source: 'continuedev/continue #13235',
    events: [call({ index: 0, id: null, ...fn('ls', '{"p":"/"}') }), ...end],
    expected: { calls: one },
  },
  {
    name: 'the name in the second piece',
    source: 'pipecat-ai/pipecat #4987',
    events: [
      call({ index: 0, id: 'a', function: { name: null, arguments: '' } }),
      call({ index: 0, function: { name: 'ls' } }),
      call({ index: 0, ...args('{"p":"/"}') }),
      ...end,
    ],
    expected: { calls: one },
  },
  {
    name: 'arguments before the name',
    source: 'vercel/ai #15879',
    events: [
      call({ id: 'a', function: { arguments: '{"p":' } }),
      call({ id: 'a', function: { name: 'ls', arguments: '"/"}' } }),
      ...end,
    ],
    expected: { calls: one },
  },
  {
    name: 'the first call is number 1',
    source: 'pipecat-ai/pipecat #4987',
    events: [call({ index: 1, id: 'a', ...LS }), call({ index: 1, ...args('{"p":"/"}') }), ...end],
    expected: { calls: one },
  },
  {
    name: 'two calls under one index',
    source: 'NousResearch/hermes-agent #62940',
    events: [
      call({ index: 0, id: 'a', ...fn('ls', '{"p":1}') }),
      call({ index: 0, id: 'b', ...fn('cat', '{"q":2}') }),
      ...end,
    ],
    expected: { calls: two },
  },
  {
    name: 'two calls under one index in one event',
    source: 'ai-dynamo/dynamo #4723',
    events: [
      call({ index: 0, id: 'a', ...fn('ls', '{"p":1}') }, { index: 0, id: 'b', ...fn('cat', '{"q":2}') }),
      ...end,
    ],
    expected: { calls: two },
  },
  {
    name: 'two calls of one name under one index, without ids',
    source: 'NousResearch/hermes-agent #62940',
    events: [call({ index: 0, ...fn('ls', '{"p":1}') }), call({ index: 0, ...fn('ls', '{"p":2}') }), ...end],
    expected: {
      calls: [
        ['ls', '{"p":1}'],
        ['ls', '{"p":2}'],
      ],
    },
  },
  {
    name: 'the head of the second call has the index of the first, its tail another',
    source: 'agno-agi/agno #8880',
    events: [
      call({ index: 0, id: 'a', ...fn('ls', '{"p":1}') }),
      call({ index: 0, id: 'b', ...fn('cat', '') }),
      call({ index: 1, ...args('{"q":2}') }),
      ...end,
    ],
    expected: { calls: two },
  },
  {
    name: 'a known id under another index',
    source: 'agno-agi/agno #8880',
    events: [
      call({ index: 0, id: 'a', ...fn('ls', '{"p":') }),
      call({ index: 1, id: 'a', function: { arguments: '"/"}' } }),
      ...end,
    ],
    expected: { calls: one },
  },
  {
    name: 'one call under several indexes',
    source: 'mudler/LocalAI #9722',
    events: [call({ index: 0, id: 'a', ...LS }), call({ index: 1, id: 'a', ...fn('ls', '{"p":"/"}') }), ...end],
    expected: { calls: one },
  },
  {
    name: 'several calls in one event without indexes',
    source: 'router-for-me/CLIProxyAPI #5058',
    events: [call({ id: 'a', ...fn('ls', '{"p":1}') }, { id: 'b', ...fn('cat', '{"q":2}') }), ...end],
    expected: { calls: two },
  },
  {
    name: 'several calls of one name in one event, without any identity',
    source: 'router-for-me/CLIProxyAPI #5058',
    events: [call(fn('ls', '{}'), fn('ls', '{}')), ...end],
    expected: {
      calls: [
        ['ls', '{}'],
        ['ls', '{}'],
      ],
    },
  },
  {
    name: 'an index that is text',
    source: 'open-webui/open-webui #27190',
    events: [call({ index: '0', id: 'a', ...LS }), call({ index: '0', ...args('{"p":"/"}') }), ...end],
    expected: { calls: one },
  },
  {
    name: 'an index only in later pieces',
    source: 'openai/openai-python #3246',
    events: [call({ id: 'a', ...LS }), call({ index: 0, ...args('{"p":"/"}') }), ...end],
    expected: { calls: one },
  },
  {
    name: 'id and name repeated in every piece',
    source: 'AtomicBot-ai/atomic-agent #268',
    events: [
      call({ index: 0, id: 'a', ...fn('ls', '{"p":') }),
      call({ index: 0, id: 'a', ...fn('ls', '"/"}') }),
      ...end,
    ],
    expected: { calls: one },
  },
  {
    name: 'a new id in every piece',
    source: 'vercel/ai #3953',
    events: [call({ index: 0, id: 'a', ...fn('ls', '{"p":') }), call({ index: 0, id: 'b', ...args('"/"}') }), ...end],
    expected: { calls: one },
  },
  {
    name: 'an empty piece behind complete arguments',
    source: 'vercel/ai #3953',
    events: [call({ index: 0, id: 'a', ...fn('ls', '{"p":"/"}') }), call({ index: 0, ...args('') }), ...end],
    expected: { calls: one },
  },
  {
    name: 'the same call twice',
    source: 'brainlid/langchain #174',
    events: [
      call({ index: 0, id: 'a', ...fn('ls', '{"p":"/"}') }),
      call({ index: 0, id: 'a', ...fn('ls', '{"p":"/"}') }),
      ...end,
    ],
    expected: { calls: one },
  },
  {
    name: 'calls in turns',
    source: 'praxis-proxy/ai #266',
    events: [
      call({ index: 0, id: 'a', ...LS }, { index: 1, id: 'b', ...fn('cat', '') }),
      call({ index: 0, ...args('{"p"') }),
      call({ index: 1, ...args('{"q"') }),
      call({ index: 0, ...args(':1}') }),
      call({ index: 1, ...args(':2}') }),
      ...end,
    ],
    expected: { calls: two },
  },
  {
    name: 'text between parallel calls',
    source: 'cloudwego/eino-ext #976',
    events: [
      call({ index: 0, id: 'a', ...fn('ls', '{"p"') }),
      chunk({ content: 'x' }),
      call({ index: 0, ...args(':1}') }),
      call({ index: 1, id: 'b', ...fn('cat', '{"q":2}') }),
      ...end,
    ],
    expected: { text: 'x', calls: two },
  },
  {
    name: 'a thought between the arguments',
    source: 'headroomlabs-ai/headroom #2890',
    events: [
      call({ index: 0, id: 'a', ...fn('ls', '{"p"') }),
      chunk({ reasoning_content: 'hm' }),
      call({ index: 0, ...args(':"/"}') }),
      ...end,
    ],
    expected: { thought: 'hm', calls: one },
  },
  {
    name: 'an empty object before the arguments',
    source: 'router-for-me/CLIProxyAPI #5058',
    events: [call({ index: 0, id: 'a', ...fn('ls', '{}') }), call({ index: 0, ...args('{"p":"/"}') }), ...end],
    expected: { calls: one },
  },
  {
    name: 'no arguments at all',
    source: 'vercel/ai #3953',
    events: [call({ index: 0, id: 'a', ...LS }), ...end],
    expected: { calls: [['ls', '{}']] },
  },
  {
    name: 'arguments cut off by the limit',
    source: 'anthropics/anthropic-sdk-python #1740',
    events: [call({ index: 0, id: 'a', ...fn('ls', '{"p":') }), chunk({}, 'length'), usageChunk(10, 5), done],
    expected: { calls: [['ls', '{"p":']], end: 'length' },
  },
  {
    name: 'arguments as an object, streamed',
    source: 'ggml-org/llama.cpp #20198',
    events: [call({ index: 0, id: 'a', ...fn('ls', { p: '/' }) }), ...end],
    expected: { calls: one },
  },
  {
    name: 'a call without the wrapper',
    source: 'ollama/ollama #12413',
    events: [call({ index: 0, id: 'a', name: 'ls', arguments: '{"p":"/"}' }), ...end],
    expected: { calls: one },
  },
  {
    name: 'the old form of a call, streamed',
    source: 'platform.openai.com/docs/api-reference/chat-streaming',
    events: [
      chunk({ function_call: { name: 'ls', arguments: '{"p":"/"}' } }),
      chunk({}, 'function_call'),
      usageChunk(10, 5),
      done,
    ],
    expected: { calls: one },
  },
  {
    name: 'calls that end as text does',
    source: 'headroomlabs-ai/headroom #2890',
    events: [call({ index: 0, id: 'a', ...fn('ls', '{"p":"/"}') }), ...stopped],
    expected: { calls: one },
  },
];

const wholeCalls: readonly Deviation[] = (
  [
    [
      'both with index 0',
      [
        { index: 0, id: 'a', ...fn('ls', '{"p":1}') },
        { index: 0, id: 'b', ...fn('cat', '{"q":2}') },
      ],
    ],
    ['without ids', [fn('ls', '{"p":1}'), fn('cat', '{"q":2}')]],
    [
      'with one id',
      [
        { id: 'call_0', ...fn('ls', '{"p":1}') },
        { id: 'call_0', ...fn('cat', '{"q":2}') },
      ],
    ],
    [
      'with arguments as objects',
      [
        { id: 'a', ...fn('ls', { p: 1 }) },
        { id: 'b', ...fn('cat', { q: 2 }) },
      ],
    ],
    ['in an object', { 0: { id: 'a', ...fn('ls', '{"p":1}') }, 1: { id: 'b', ...fn('cat', '{"q":2}') } }],
    [
      'whose ids are numbers',
      [
        { id: 7, ...fn('ls', '{"p":1}') },
        { id: 8, ...fn('cat', '{"q":2}') },
      ],
    ],
    [
      'with parameters for arguments',
      [
        { id: 'a', function: { name: 'ls', parameters: { p: 1 } } },
        { id: 'b', ...fn('cat', '{"q":2}') },
      ],
    ],
  ] as const
).map(([what, calls]) => ({
  name: `two calls ${what}`,
  source: 'NousResearch/hermes-agent #62940, ggml-org/llama.cpp #20198, ollama/ollama #12413',
  body: completion({ content: null, tool_calls: calls }, 'tool_calls'),
  expected: { calls: two, charged: [10, 5] },
}));

const content: readonly Deviation[] = [
  {
    name: 'content as a list of typed parts',
    source: 'infiniflow/ragflow #14805, vercel/ai #8012',
    body: completion({
      content: [
        { type: 'thinking', thinking: [{ type: 'text', text: 'Because.' }] },
        { type: 'text', text: 'Answer' },
      ],
    }),
    expected: { text: 'Answer', thought: 'Because.' },
  },
  {
    name: 'content as a list, streamed, then as text',
    source: 'vercel/ai #8072',
    events: [
      chunk({ content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'Because.' }], closed: true }] }),
      chunk({ content: [{ type: 'text', text: 'Ans' }] }),
      chunk({ content: 'wer' }),
      ...stopped,
    ],
    expected: { text: 'Answer', thought: 'Because.' },
  },
  ...['reasoning_content', 'reasoning', 'reasoning_text', 'thinking', 'thought'].flatMap((name): Deviation[] => [
    {
      name: `a thought in ${name}`,
      source: 'router-for-me/CLIProxyAPI #5424, caozhiyuan/copilot-api #230, labring/FastGPT #6748',
      body: completion({ content: 'Hi', [name]: 'hm' }),
      expected: { text: 'Hi', thought: 'hm' },
    },
    {
      name: `a streamed thought in ${name}`,
      source: 'router-for-me/CLIProxyAPI #5424, caozhiyuan/copilot-api #230, labring/FastGPT #6748',
      events: [chunk({ [name]: 'h' }), chunk({ [name]: 'm', content: null }), chunk({ content: 'Hi' }), ...stopped],
      expected: { text: 'Hi', thought: 'hm' },
    },
  ]),
  {
    name: 'a thought in two members',
    source: 'router-for-me/CLIProxyAPI #5424',
    events: [
      chunk({
        reasoning: 'hm',
        reasoning_content: 'hm',
        reasoning_details: [{ type: 'reasoning.text', text: 'hm', index: 0 }],
      }),
      chunk({ content: 'Hi' }),
      ...stopped,
    ],
    expected: { text: 'Hi', thought: 'hm' },
  },
  {
    name: 'a thought in details alone',
    source: 'router-for-me/CLIProxyAPI #5424',
    body: completion({ content: 'Hi', reasoning_details: [{ type: 'reasoning.summary', summary: 'hm', index: 0 }] }),
    expected: { text: 'Hi', thought: 'hm' },
  },
  ...(
    [
      ['plain text', (text: string) => ({ reasoning_content: text })],
      ['details', (text: string) => ({ reasoning_details: [{ type: 'reasoning.text', text, index: 0 }] })],
      ['blocks', (text: string) => ({ thinking_blocks: [{ type: 'thinking', thinking: text, signature: null }] })],
    ] as const
  ).flatMap(([name, delta]) =>
    [
      { reasoning_details: [{ type: 'reasoning.text', text: 'hm', signature: 'sig', index: 0 }] },
      { thinking_blocks: [{ type: 'thinking', thinking: 'hm', signature: 'sig' }] },
    ].map((signed) => ({
      name: `a thought streamed as ${name} that ${Object.keys(signed)} repeat with its signature`,
      source: 'BerriAI/litellm #25322, another Reelgate',
      events: [chunk(delta('h')), chunk(delta('m')), chunk(signed), chunk({ content: 'Hi' }), ...stopped],
      expected: { text: 'Hi', thought: 'hm' },
    })),
  ),
  {
    name: 'a refusal in place of content',
    source: 'genkit-ai/genkit #6259',
    body: completion({ content: null, refusal: 'No.' }),
    expected: { text: 'No.' },
  },
  {
    name: 'a message in place of the delta',
    source: 'BYK/loreai #605',
    events: [
      {
        choices: [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }],
        usage: { prompt_tokens: 10, completion_tokens: 5 },
      },
      done,
    ],
    expected: { text: 'Hi', charged: [10, 5] },
  },
  {
    name: 'the whole message again in the last event',
    source: 'BYK/loreai #605',
    events: [
      chunk({ content: 'Hel' }),
      chunk({ content: 'lo' }),
      { choices: [{ index: 0, delta: {}, message: { content: 'Hello' }, finish_reason: 'stop' }] },
      usageChunk(10, 5),
      done,
    ],
    expected: { text: 'Hello' },
  },
  {
    name: 'text in the member of old completions',
    source: 'lidge-jun/opencodex #1006',
    events: [
      { choices: [{ index: 0, text: 'Hi', finish_reason: null }] },
      { choices: [{ index: 0, text: '', finish_reason: 'stop' }], usage: { prompt_tokens: 10, completion_tokens: 5 } },
      done,
    ],
    expected: { text: 'Hi' },
  },
  {
    name: 'an image beside the text',
    source: 'maximhq/bifrost #7032',
    body: completion({ content: 'Here', images: [{ type: 'image_url', image_url: { url: PNG } }] }),
    expected: { text: 'Here', images: 1 },
  },
  {
    name: 'a streamed image and no text',
    source: 'mozilla-ai/any-llm #1296',
    events: [
      chunk({ role: 'assistant', content: '' }),
      chunk({ images: [{ type: 'image_url', image_url: { url: PNG } }] }),
      ...stopped,
    ],
    expected: { images: 1 },
  },
  {
    name: 'an image as a part of the content',
    source: 'maximhq/bifrost #7033',
    body: completion({
      content: [
        { type: 'text', text: 'Here' },
        { type: 'image_url', image_url: PNG },
      ],
    }),
    expected: { text: 'Here', images: 1 },
  },
  {
    name: 'a member nobody knows',
    source: 'caozhiyuan/copilot-api #230',
    body: completion({ content: 'Hi', reasoning_effort: 'xyz', annotations: [{ type: 'url_citation' }] }),
    expected: { text: 'Hi', dropped: ['reasoning_effort', 'annotations'] },
  },
  {
    name: 'a second choice that was not asked for',
    source: 'genkit-ai/genkit #6259',
    body: {
      choices: [{ message: { content: 'Hi' }, finish_reason: 'stop' }, { message: { content: 'Ho' } }],
      usage: { prompt_tokens: 10, completion_tokens: 5 },
    },
    expected: { text: 'Hi', dropped: ['choices.1'] },
  },
  ...(
    [
      ['texts as objects', [{ type: 'text', text: { value: 'Hi', annotations: [] } }], 'Hi'],
      ['one part without a list', { type: 'text', text: 'Hi' }, 'Hi'],
      ['a number', 42, '42'],
    ] as const
  ).map(([name, content, text]) => ({
    name: `content as ${name}`,
    source: 'infiniflow/ragflow #14805, openai/openai-python #2806',
    body: completion({ content }),
    expected: { text },
  })),
  ...(
    [
      ['a URL alone', { images: [PNG] }],
      ['Base64 without a URL', { images: [{ b64_json: 'iVBORw0KGgo=' }] }],
      ["Anthropic's block", { content: [{ type: 'image', source: PNG_SOURCE }] }],
      ["Google's part", { content: [{ inlineData: { mimeType: 'image/png', data: 'iVBORw0KGgo=' } }] }],
      ['a member of a part', { content: [{ type: 'image', image: PNG }] }],
    ] as const
  ).map(([name, message]) => ({
    name: `an image as ${name}`,
    source: 'mozilla-ai/any-llm #1333, chenyme/grok2api #232',
    body: completion({ content: '', ...message }),
    expected: { images: 1 },
  })),
  {
    name: 'reasoning in the blocks of LiteLLM',
    source: 'BerriAI/litellm #25322',
    body: completion({ content: 'Hi', thinking_blocks: [{ type: 'thinking', thinking: 'hm', signature: 'sig' }] }),
    expected: { text: 'Hi', thought: 'hm' },
  },
  {
    name: 'reasoning in streamed blocks and beside them',
    source: 'BerriAI/litellm #25322',
    events: [
      chunk({ reasoning_content: 'h', thinking_blocks: [{ type: 'thinking', thinking: 'h', signature: null }] }),
      chunk({ reasoning_content: 'm', thinking_blocks: [{ type: 'thinking', thinking: 'm', signature: null }] }),
      chunk({ reasoning_content: '', thinking_blocks: [{ type: 'thinking', thinking: '', signature: 'sig' }] }),
      chunk({ content: 'Hi' }),
      ...stopped,
    ],
    expected: { text: 'Hi', thought: 'hm' },
  },
  ...([{}, false, '', [], { code: 0, message: '' }, null] as const).flatMap((error): Deviation[] => [
    {
      name: `an error without a value: ${JSON.stringify(error)}`,
      source: 'RESMP-DEV/ccr-rust #25',
      body: completion({ content: 'Hi' }, 'stop', { error }),
      expected: { text: 'Hi', charged: [10, 5] },
    },
    {
      name: `an error without a value in a stream: ${JSON.stringify(error)}`,
      source: 'RESMP-DEV/ccr-rust #25',
      events: [chunk({ content: 'Hi' }, null, { error }), chunk({}, 'stop', { error }), usageChunk(10, 5), done],
      expected: { text: 'Hi', charged: [10, 5] },
    },
  ]),
  ...[0, '0', 200, 'success', ''].map((code) => ({
    name: `a code of success: ${JSON.stringify(code)}`,
    source: 'diegosouzapw/OmniRoute #3424',
    events: [
      chunk({ content: 'Hi' }, null, { code, base_resp: { status_code: 0, status_msg: '' } }),
      chunk({}, 'stop', { code }),
      usageChunk(10, 5),
      { choices: [], code, success: true },
      done,
    ],
    expected: { text: 'Hi', charged: [10, 5] as [number, number] },
  })),
  {
    name: 'choices counted from 1',
    source: 'pipecat-ai/pipecat #4987',
    events: [{ choices: [{ index: 1, delta: { content: 'Hi' }, finish_reason: 'stop' }] }, usageChunk(10, 5), done],
    expected: { text: 'Hi' },
  },
];

const forms = [
  chunk({ role: 'assistant', content: '' }),
  chunk({ content: 'é1' }),
  chunk({ content: '語' }),
  chunk({}, 'stop'),
  usageChunk(10, 5),
].map((each) => `data: ${JSON.stringify(each)}\n\n`);
const written = [...forms, done].join('');
const framing: readonly Deviation[] = (
  [
    ['lines that end in CR LF', 'miruamel/xuan #194', written.replaceAll('\n', '\r\n')],
    ['lines that end in a lone CR', 'withastro/flue #215', written.replaceAll('\n', '\r')],
    [
      'line ends that change',
      'zhu1090093659/deepseek-pp #471',
      forms.map((each, index) => (index % 2 ? each : each.replaceAll('\n', '\r\n'))).join('') + done,
    ],
    ['no blank behind data:', 'dataelement/Clawith #106', written.replaceAll('data: ', 'data:')],
    ['no blank line at the end', 'kasperrt/wiretyped #75', written.trimEnd()],
    ['a byte order mark', 'praxis-proxy/praxis #739', `\ufeff${written}`],
    ['comments before and between', 'veryfront/veryfront-code #926', `: x\n\n${forms.join(': PROCESSING\n\n')}${done}`],
    [
      'events with ids and names',
      'tontinton/maki #345',
      written.replaceAll('data: {', 'id: 7\nevent: chunk\nretry: 5\ndata: {'),
    ],
    ['data in two lines', 'kaitranntt/ccs #1359', written.replaceAll('data: {', 'data: {\ndata: ')],
    ['no mark of the end', 'infiniflow/ragflow #17341', forms.join('')],
    ['blank lines in rows', 'kasperrt/wiretyped #75', written.replaceAll('\n\n', '\n\n\n\n')],
    ['data that is no JSON between', 'ai-dynamo/dynamo #11251', written.replace(done, `data: {"conte\n\n${done}`)],
  ] as const
).map(([name, source, text]) => ({ name, source, events: [text], expected: { text: 'é1語', charged: [10, 5] } }));

const reasons: readonly Deviation[] = (
  [
    ['stop', 'end'],
    ['STOP', 'end'],
    ['eos', 'end'],
    ['end_turn', 'end'],
    ['end', 'end'],
    ['eos_token', 'end'],
    ['COMPLETED', 'end'],
    ['COMPLETE', 'end'],
    ['end_of_turn', 'end'],
    ['eos_token_id', 'end'],
    ['stop_str', 'end'],
    ['success', 'end'],
    ['tool_calls', 'end'],
    ['function_call', 'end'],
    ['context_length_exceeded', 'length'],
    ['ERROR_LIMIT', 'length'],
    ['TOO_MANY_TOKENS', 'length'],
    ['length', 'length'],
    ['max_tokens', 'length'],
    ['MAX_TOKENS', 'length'],
    ['model_length', 'length'],
    ['model_context_window_exceeded', 'length'],
    ['incomplete', 'length'],
    ['token_limit', 'length'],
    ['content_filter', 'refused'],
    ['sensitive', 'refused'],
    ['SAFETY', 'refused'],
    ['refusal', 'refused'],
    ['moderation_blocked', 'refused'],
    ['policy_violation', 'refused'],
    ['content-filter', 'refused'],
    ['data_inspection_failed', 'refused'],
    ['ERROR_TOXIC', 'refused'],
    ['hate', 'refused'],
    ['moderated', 'refused'],
    ['error', 'failed'],
    ['rate_limit', 'failed'],
    ['abort', 'failed'],
    ['network_error', 'failed'],
    ['insufficient_system_resource', 'failed'],
    ['cancelled', 'failed'],
    ['function_call_filter: MALFORMED_FUNCTION_CALL', 'failed'],
    ['whatever_comes', 'failed'],
    ['unknown', 'failed'],
  ] as const
).flatMap(([word, means]): Deviation[] => {
  const source = 'earendil-works/pi #1509, genkit-ai/genkit #6259, earendil-works/pi #2116';
  const expected = means === 'failed' ? { text: 'half', fails: 'reason' as const } : { text: 'half', end: means };
  return [
    { name: `ends with ${word}`, source, body: completion({ content: 'half' }, word), expected },
    {
      name: `a stream ends with ${word}`,
      source,
      events: [chunk({ content: 'half' }), chunk({}, word), usageChunk(10, 5), done],
      expected,
    },
  ];
});

const figures: readonly Deviation[] = (
  [
    ['a smaller figure last', [usageChunk(1_000, 10), usageChunk(10, 10)], [1_000, 10]],
    ['zeros last', [usageChunk(1_000, 10), usageChunk(0, 0)], [1_000, 10]],
    ['the output zero last', [usageChunk(10, 1_000), usageChunk(10, 0)], [10, 1_000]],
    ['figures that grow', [usageChunk(10, 1), usageChunk(10, 2), usageChunk(10, 3)], [10, 3]],
    ['figures as text', [{ choices: [], usage: { prompt_tokens: '10', completion_tokens: '5' } }], [10, 5]],
    ['a zero as text last', [usageChunk(10, 5), { choices: [], usage: { prompt_tokens: '0' } }], [10, 5]],
    [
      'blanks around the colon',
      ['data: {"choices":[],"usage" : {"prompt_tokens":10,"completion_tokens":5}}\n\n'],
      [10, 5],
    ],
    ['figures of Groq', [{ choices: [], x_groq: { usage: { prompt_tokens: 10, completion_tokens: 5 } } }], [10, 5]],
    ['nulls behind figures', [usageChunk(10, 5), { choices: [], usage: null }], [10, 5]],
    [
      'figures in the choice',
      [
        {
          choices: [{ index: 0, delta: {}, finish_reason: 'stop', usage: { prompt_tokens: 10, completion_tokens: 5 } }],
        },
      ],
      [10, 5],
    ],
    [
      'parts in two events',
      [
        { choices: [], usage: { prompt_tokens: 10 } },
        { choices: [], usage: { completion_tokens: 5 } },
      ],
      [10, 5],
    ],
    [
      'thoughts in the total alone',
      [{ choices: [], usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 115 } }],
      [10, 105],
    ],
  ] as const
).map(([name, events, charged]) => ({
  name: `usage: ${name}`,
  source: 'envoyproxy/ai-gateway #1631, #2239, tensorzero/tensorzero #5481',
  events: [chunk({ content: 'Hi' }), chunk({}, 'stop'), ...events, done],
  expected: { text: 'Hi', charged: [...charged] as [number, number] },
}));

const failures: readonly Deviation[] = [
  ...(
    [
      ['empty choices', { id: 'c', choices: [] }, 'empty'],
      [
        'no choices and zeros',
        { id: 'c', choices: null, usage: { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 } },
        'empty',
      ],
      [
        'an empty message without usage',
        { choices: [{ message: { role: 'assistant', content: '' }, finish_reason: 'stop' }] },
        'empty',
      ],
      ...['STOP', 'eos', 'end_turn', 'tool_calls'].map(
        (word) =>
          [
            `an empty message that ends with ${word}`,
            { choices: [{ message: { role: 'assistant', content: '' }, finish_reason: word }] },
            'empty',
          ] as const,
      ),
      ['success: false beside empty choices', { choices: [], success: false, message: 'no' }, 'failure'],
      ['null content without usage', { choices: [{ message: { role: 'assistant', content: null } }] }, 'empty'],
      [
        'a base_resp beside choices: null',
        { choices: null, base_resp: { status_code: 1002, status_msg: 'rate limit' } },
        'failure',
      ],
      ['a code beside empty choices', { choices: [], code: 1302, msg: 'busy' }, 'failure'],
      ['an error beside empty choices', { choices: [], error: { message: 'no' } }, 'failure'],
      ['an error as text', { error: 'no' }, 'failure'],
      [
        'an error in the choice',
        {
          choices: [
            {
              message: { content: '' },
              finish_reason: 'error',
              error: { code: 502, message: 'Provider returned error' },
            },
          ],
          usage: { prompt_tokens: 10, completion_tokens: 0, total_tokens: 10 },
        },
        'failure',
      ],
      ['another object altogether', { success: false, message: 'no' }, 'failure'],
      ['a page', '<html>', 'malformed'],
    ] as const
  ).map(([name, body, fails]) => ({
    name,
    source: 'CherryHQ/cherry-studio #11287, ENTERPILOT/GoModel #947, nodetool-ai/nodetool #5755',
    body,
    expected: { fails },
  })),
  ...(
    [
      ['nothing but the mark', [done], 'empty'],
      ['a role and the end', [chunk({ role: 'assistant', content: '' }), chunk({}, 'stop'), done], 'empty'],
      ...['STOP', 'eos', 'tool_calls'].map(
        (word) =>
          [`a role and the end ${word}`, [chunk({ role: 'assistant' }), chunk({}, word), done], 'empty'] as const,
      ),
      ['a base_resp', [{ base_resp: { status_code: 1004, status_msg: 'login fail' } }, done], 'error'],
      ['a code and a message', [{ code: 1302, msg: 'busy' }, done], 'error'],
      ['a base_resp behind content', [chunk({ content: 'Hi' }), { base_resp: { status_code: 1039 } }, done], 'error'],
      ['success: false behind content', [chunk({ content: 'Hi' }), { success: false, msg: 'no' }, done], 'error'],
      ['empty choices and the mark', [{ choices: [] }, done], 'empty'],
      ['comments and the mark', [': x\n\n: x\n\n', done], 'empty'],
      ['an error first', [{ error: { message: 'no' } }], 'error'],
      ['an error behind the role', [chunk({ role: 'assistant' }), { error: { message: 'no', code: 500 } }], 'error'],
      ['a named error', ['event: error\ndata: {"message":"no"}\n\n'], 'error'],
      ['an object that is an error', [{ object: 'error', message: 'no' }], 'error'],
      [
        'an error in the choice',
        [
          chunk({ role: 'assistant', content: '' }),
          {
            choices: [
              { index: 0, delta: { content: '' }, finish_reason: 'error', error: { code: 502, message: 'no' } },
            ],
          },
          done,
        ],
        'error',
      ],
      ['the beginning alone', [chunk({ content: 'Hi' })], 'cut'],
      ['the beginning alone with the reason "null"', [chunk({ content: 'Hi' }, 'null')], 'cut'],
      ['nothing', [], 'cut'],
    ] as const
  ).map(([name, events, fails]) => ({
    name: `a stream of ${name}`,
    source: 'diegosouzapw/OmniRoute #4942, decolua/9router #2229',
    events,
    expected: { fails },
  })),
];

/** Deviations of upstreams that speak chat completions. */
export const CHAT_UPSTREAMS: readonly Deviation[] = [
  ...toolIdentity,
  ...(wholeCalls as readonly Deviation[]),
  ...content,
  ...(framing as readonly Deviation[]),
  ...reasons,
  ...figures,
  ...failures,
];
