import { candidate, type Deviation } from './deviation.ts';

const PNG = { mimeType: 'image/png', data: 'iVBORw0KGgo=' };
const one = [['ls', '{"p":"/"}']] as const;
const two = [
  ['ls', '{"p":1}'],
  ['cat', '{"q":2}'],
] as const;

const reasons: readonly Deviation[] = (
  [
    ['STOP', 'end'],
    ['MAX_TOKENS', 'length'],
    ['SAFETY', 'refused'],
    ['RECITATION', 'refused'],
    ['BLOCKLIST', 'refused'],
    ['PROHIBITED_CONTENT', 'refused'],
    ['SPII', 'refused'],
    ['IMAGE_SAFETY', 'refused'],
    ['IMAGE_PROHIBITED_CONTENT', 'refused'],
    ['MODEL_ARMOR', 'refused'],
    ['stop', 'end'],
    ['length', 'length'],
    ['OTHER', 'failed'],
    ['LANGUAGE', 'failed'],
    ['MALFORMED_FUNCTION_CALL', 'failed'],
    ['UNEXPECTED_TOOL_CALL', 'failed'],
    ['TOO_MANY_TOOL_CALLS', 'failed'],
    ['FINISH_REASON_UNSPECIFIED', 'failed'],
    ['NO_IMAGE', 'failed'],
    ['SOMETHING_NEW', 'failed'],
  ] as const
).flatMap(([word, means]): Deviation[] => {
  const source = 'envoyproxy/ai-gateway #2118, NousResearch/hermes-agent #83882, agentjido/req_llm #944';
  const expected = means === 'failed' ? { text: 'half', fails: 'reason' as const } : { text: 'half', end: means };
  const whole = { name: `ends with ${word}`, source, body: candidate([{ text: 'half' }], word), expected };
  // Google's encoder writes UNSPECIFIED for an unset value: a stream that ends so was cut off.
  if (word === 'FINISH_REASON_UNSPECIFIED') return [whole];
  return [
    whole,
    {
      name: `a stream ends with ${word}`,
      source,
      events: [candidate([{ text: 'ha' }]), candidate([{ text: 'lf' }], word)],
      expected,
    },
  ];
});

const others: readonly Deviation[] = [
  [
    'an image',
    'maximhq/bifrost #7032',
    { body: candidate([{ text: 'Here' }, { inlineData: PNG }], 'STOP') },
    { text: 'Here', images: 1 },
  ],
  [
    'an image alone, streamed',
    'mozilla-ai/any-llm #1295',
    { events: [candidate([{ inlineData: PNG }], 'STOP')] },
    { images: 1 },
  ],
  [
    'an image in the second spelling',
    'mozilla-ai/any-llm #1333',
    { body: candidate([{ inline_data: { mime_type: 'image/png', data: PNG.data } }], 'STOP') },
    { images: 1 },
  ],
  [
    'a call in the second spelling',
    'brainlid/langchain #174',
    { body: candidate([{ function_call: { name: 'ls', args: { p: '/' } } }], 'STOP') },
    { calls: one },
  ],
  [
    'arguments as text',
    'ollama/ollama #12413',
    { body: candidate([{ functionCall: { name: 'ls', args: '{"p":"/"}' } }], 'STOP') },
    { calls: one },
  ],
  [
    'a call without arguments',
    'brainlid/langchain #174',
    { body: candidate([{ functionCall: { name: 'ls' } }], 'STOP') },
    { calls: [['ls', '{}']] },
  ],
  [
    'two calls in one chunk',
    'vercel/ai #3953',
    {
      events: [
        candidate(
          [{ functionCall: { name: 'ls', args: { p: 1 } } }, { functionCall: { name: 'cat', args: { q: 2 } } }],
          'STOP',
        ),
      ],
    },
    { calls: two },
  ],
  [
    'two calls of one id',
    'brainlid/langchain #174',
    {
      body: candidate(
        [
          { functionCall: { id: 'x', name: 'ls', args: { p: 1 } } },
          { functionCall: { id: 'x', name: 'cat', args: { q: 2 } } },
        ],
        'STOP',
      ),
    },
    { calls: two },
  ],
  [
    'a thought',
    'ai.google.dev/gemini-api/docs/thinking',
    {
      body: candidate(
        [
          { text: 'hm', thought: true },
          { text: 'Hi', thoughtSignature: 'c2ln' },
        ],
        'STOP',
      ),
    },
    { text: 'Hi', thought: 'hm' },
  ],
  [
    'text in two parts',
    'ai.google.dev/api/generate-content',
    { body: candidate([{ text: 'H' }, { text: 'i' }], 'STOP') },
    { text: 'Hi' },
  ],
  ['parts that are no list', 'mozilla-ai/any-llm #1202', { body: candidate({ text: 'Hi' }, 'STOP') }, { text: 'Hi' }],
  [
    'unspecified in every chunk',
    'mozilla-ai/any-llm #1202',
    { events: [candidate([{ text: 'H' }], 'FINISH_REASON_UNSPECIFIED'), candidate([{ text: 'i' }], 'STOP')] },
    { text: 'Hi' },
  ],
  [
    'a prompt that was blocked',
    'maximhq/bifrost #1408',
    {
      body: { promptFeedback: { blockReason: 'SAFETY' }, usageMetadata: { promptTokenCount: 10, totalTokenCount: 10 } },
    },
    { end: 'refused' },
  ],
  [
    'a list of chunks',
    'Wei-Shaw/sub2api #2826',
    { body: [candidate([{ text: 'H' }]), candidate([{ text: 'i' }], 'STOP')] },
    { text: 'Hi', charged: [10, 5] },
  ],
  [
    'grounding nobody can say',
    'ai.google.dev/gemini-api/docs/grounding',
    {
      body: {
        candidates: [
          {
            content: { parts: [{ text: 'Hi' }] },
            finishReason: 'STOP',
            groundingMetadata: { webSearchQueries: ['x'] },
          },
        ],
        usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 5 },
      },
    },
    { text: 'Hi', dropped: ['candidates.groundingMetadata'] },
  ],
  [
    'code it ran itself',
    'ai.google.dev/gemini-api/docs/code-execution',
    { body: candidate([{ executableCode: { code: '1' } }, { text: 'Hi' }], 'STOP') },
    { text: 'Hi', dropped: ['parts.executableCode'] },
  ],
  [
    'figures that shrink',
    'envoyproxy/ai-gateway #1631',
    {
      events: [
        candidate([{ text: 'Hi' }], undefined, {
          usageMetadata: { promptTokenCount: 1_000, candidatesTokenCount: 7, totalTokenCount: 1_007 },
        }),
        candidate([{ text: '' }], 'STOP', {
          usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 0, totalTokenCount: 10 },
        }),
      ],
    },
    { text: 'Hi', charged: [1_000, 7] },
  ],
  [
    'figures in the last chunk alone',
    'ai.google.dev/api/generate-content',
    { events: [{ candidates: [{ content: { parts: [{ text: 'Hi' }] } }] }, candidate([{ text: '' }], 'STOP')] },
    { text: 'Hi', charged: [10, 5] },
  ],
  [
    'lines that end in CR LF',
    'veryfront/veryfront-code #926',
    { events: [`data: ${JSON.stringify(candidate([{ text: 'Hi' }], 'STOP'))}\r\n\r\n`] },
    { text: 'Hi' },
  ],
  [
    'no parts and no figures',
    'BerriAI/litellm #24462',
    { body: { candidates: [{ content: { role: 'model' }, finishReason: 'STOP' }] } },
    { fails: 'empty' },
  ],
  [
    'the second spelling of all members',
    'higress-group/higress #2408',
    {
      body: {
        candidates: [{ content: { role: 'model', parts: [{ text: 'Hi' }] }, finish_reason: 'STOP' }],
        usage_metadata: { prompt_token_count: 10, candidates_token_count: 5, total_token_count: 15 },
      },
    },
    { text: 'Hi', charged: [10, 5] },
  ],
  [
    'a stream in the second spelling',
    'higress-group/higress #2408',
    {
      events: [
        { candidates: [{ content: { role: 'model', parts: [{ text: 'Hi' }] } }] },
        {
          candidates: [{ content: { role: 'model', parts: [] }, finish_reason: 'MAX_TOKENS' }],
          usage_metadata: { prompt_token_count: 10, candidates_token_count: 5 },
        },
      ],
    },
    { text: 'Hi', end: 'length', charged: [10, 5] },
  ],
  [
    'a blocked prompt in the second spelling',
    'xtekky/gpt4free #2341',
    { body: { prompt_feedback: { block_reason: 'SAFETY' }, usage_metadata: { prompt_token_count: 10 } } },
    { end: 'refused' },
  ],
  [
    'thought: "true"',
    'higress-group/higress #2408',
    { body: candidate([{ text: 'hm', thought: 'true' }, { text: 'Hi' }], 'STOP') },
    { text: 'Hi', thought: 'hm' },
  ],
  [
    'content as a list',
    'BoundaryML/baml #865',
    { body: { candidates: [{ content: [{ role: 'model', parts: [{ text: 'Hi' }] }], finishReason: 'STOP' }] } },
    { text: 'Hi', charged: 'counted' },
  ],
  [
    'no parts and another end',
    'BerriAI/litellm #24462',
    { body: { candidates: [{ content: { parts: [] }, finishReason: 'stop' }] } },
    { fails: 'empty' },
  ],
  [
    'a mark of the end of another dialect',
    'liuw1535/antigravity2api-nodejs #73',
    { events: [candidate([{ text: 'Hi' }], 'STOP'), 'data: [DONE]\n\n'] },
    { text: 'Hi', charged: [10, 5] },
  ],
  ['no candidates', 'maximhq/bifrost #1408', { body: { candidates: [] } }, { fails: 'empty' }],
  [
    'an error in HTTP 200',
    'maximhq/bifrost #1408',
    { body: { error: { code: 503, status: 'UNAVAILABLE', message: 'no' } } },
    { fails: 'failure' },
  ],
  [
    'a stream of an error',
    'maximhq/bifrost #1408',
    { events: [{ error: { code: 503, message: 'no' } }] },
    { fails: 'error' },
  ],
  [
    'a stream without an end',
    'ahmadrosid/nakama #1189',
    { events: [candidate([{ text: 'Hi' }])] },
    { text: 'Hi', fails: 'cut' },
  ],
].map(([name, source, sent, expected]) => ({ name, source, ...(sent as object), expected }) as Deviation);

/** Deviations of upstreams that speak Gemini's API. */
export const GEMINI_UPSTREAMS: readonly Deviation[] = [...reasons, ...others];
