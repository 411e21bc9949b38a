import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { UntrustedObject } from '../../../contract/objects.ts';
import { isAppError } from '../../platform/app-error.ts';
import {
  ANTHROPIC_MESSAGES_DIALECT,
  CHAT_DIALECT,
  type Dialect,
  GEMINI_DIALECT,
  RESPONSES_DIALECT,
} from '../dialects.ts';
import { findCodec } from './convert.ts';
import { DroppedFields } from './fields.ts';
import { withUniqueCallIds } from './neutral-form.ts';

interface Sent {
  readonly messages: readonly { readonly content: readonly UntrustedObject[] }[];
  readonly [member: string]: unknown;
}

/**
 * Converts a request, by default of OpenAI's chat completions, for an upstream of another dialect; returns it with the
 * paths named as dropped.
 */
function convert(body: object, to: Dialect = ANTHROPIC_MESSAGES_DIALECT, model = 'm', from: Dialect = CHAT_DIALECT) {
  const notes = new DroppedFields();
  const conversation = findCodec(from)?.readRequest({ messages: HI, ...body } as UntrustedObject, notes);
  assert.ok(conversation);
  const target = { model, maxTokens: 4_096, maxTokensKey: 'max_tokens', stream: false };
  const messages = withUniqueCallIds(conversation.messages);
  const written = findCodec(to)?.writeRequest({ ...conversation, messages }, target, notes);
  // Typed in its JSON form.
  return { sent: JSON.parse(JSON.stringify(written)) as Sent, dropped: notes.dropped };
}

const HI = [{ role: 'user', content: 'hi' }];
const call = (args: unknown) => ({
  role: 'assistant',
  tool_calls: [{ id: 'c', type: 'function', function: { name: 'ls', arguments: args } }],
});
const result = { role: 'tool', tool_call_id: 'c', content: 'invalid arguments' };
const refuses = (body: object, path: string) =>
  assert.throws(
    () => convert(body),
    (error) => isAppError(error, 'invalid_request') && error.options.param === path,
    JSON.stringify(body),
  );

describe('requests of real clients', () => {
  it('have blank texts and stops, which are dropped and named', () => {
    const messages = [
      ...HI,
      { role: 'assistant', content: '\n' },
      {
        role: 'user',
        content: [
          { type: 'text', text: ' ' },
          { type: 'text', text: 'go' },
        ],
      },
      { role: 'assistant', content: 'Sure: ' },
    ];
    const { sent, dropped } = convert({ messages, stop: ['\n', '', 'END'] });
    assert.deepEqual(sent.messages, [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'hi' },
          { type: 'text', text: 'go' },
        ],
      },
      { role: 'assistant', content: [{ type: 'text', text: 'Sure:' }] },
    ]);
    assert.deepEqual(sent.stop_sequences, ['END']);
    assert.deepEqual([...dropped].sort(), ['messages.1.content', 'messages.2.content', 'messages.3.content', 'stop']);
    refuses({ messages: [{ role: 'user', content: ' ' }] }, 'messages');
  });

  it("have only a system prompt, which is then sent as the user's", () => {
    const messages = [{ role: 'system', content: 'Write a haiku.' }];
    const anthropic = convert({ messages });
    assert.deepEqual(
      [anthropic.sent.messages, anthropic.sent.system, anthropic.dropped],
      [[{ role: 'user', content: [{ type: 'text', text: 'Write a haiku.' }] }], undefined, ['messages.0.role']],
    );
    const gemini = convert({ messages }, GEMINI_DIALECT);
    assert.deepEqual(gemini.sent.contents, [{ role: 'user', parts: [{ text: 'Write a haiku.' }] }]);
    const { instructions, input } = convert({ messages }, RESPONSES_DIALECT).sent;
    const developer = { role: 'developer', content: [{ type: 'input_text', text: 'Write a haiku.' }] };
    assert.deepEqual([instructions, input], [undefined, [developer]], 'an empty input would be refused');
  });

  it('repeat arguments that are not JSON, or send the object itself', () => {
    for (const args of ['{"path": "/ho', 'null', '[]', '"x"']) {
      const { sent, dropped } = convert({ messages: [...HI, call(args), result] });
      assert.deepEqual(sent.messages[1]?.content[0]?.input, {}, args);
      assert.deepEqual(dropped, ['messages.1.tool_calls.0.function.arguments'], args);
    }
    for (const [args, input] of [
      [{ a: 1 }, { a: 1 }],
      [null, {}],
      [' ', {}],
    ]) {
      const { sent, dropped } = convert({ messages: [...HI, call(args), result] });
      assert.deepEqual(sent.messages[1]?.content[0]?.input, input);
      assert.deepEqual(dropped, []);
    }
  });

  it('send every field: neutral ones are ignored, unknown ones are named, and those with a meaning are refused', () => {
    const neutral = { logit_bias: {}, logprobs: false, top_logprobs: 0, functions: [], function_call: 'none', x: null };
    assert.deepEqual(convert(neutral).dropped, []);
    const unknown = { repetition_penalty: 1.1, min_p: 0.1, chat_template_kwargs: { a: 1 }, safe_prompt: true };
    assert.deepEqual(convert(unknown).dropped, Object.keys(unknown));
    for (const meant of [
      { logit_bias: { 1: 5 } },
      { logprobs: true },
      { functions: [{ name: 'f' }] },
      { guided_json: { a: 1 } },
    ])
      refuses(meant, Object.keys(meant)[0] ?? '');
  });

  it('have an image as a bare URL, as Mistral writes it', () => {
    const image = { type: 'image_url', image_url: 'data:image/png;base64,AAAA' };
    const { sent } = convert({ messages: [{ role: 'user', content: [image] }] });
    const source = { type: 'base64', media_type: 'image/png', data: 'AAAA' };
    assert.deepEqual(sent.messages[0]?.content, [{ type: 'image', source }]);
    refuses({ messages: [{ role: 'user', content: [{ ...image, image_url: 7 }] }] }, 'messages.0.content.0.image_url');
  });

  it('write arguments and results of tools in any form', () => {
    const turn = (args: unknown, content: unknown) => [
      ...HI,
      { role: 'assistant', tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: args } }] },
      { role: 'tool', tool_call_id: 'c', content },
    ];
    for (const args of [7, [1], true, '[1]', '{"a":']) {
      const { sent, dropped } = convert({ messages: turn(args, { a: 1 }) });
      const [call] = (sent.messages[1]?.content ?? []) as { input: unknown }[];
      assert.deepEqual(call?.input, {}, JSON.stringify(args));
      assert.deepEqual(dropped, ['messages.1.tool_calls.0.function.arguments'], JSON.stringify(args));
      assert.match(JSON.stringify(sent.messages[2]), /\{\\"a\\":1\}/);
    }
  });

  it('name media types by aliases, with parameters or not at all', () => {
    for (const type of [
      'image/jpg',
      'IMAGE/JPEG',
      'image/pjpeg',
      'image/jpeg;charset=utf-8',
      'image/jpeg;name=a.jpg',
      '',
    ]) {
      const url = `data:${type};base64,/9j/4AAQSkZJRg==`;
      const { sent } = convert({ messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }] });
      const source = { type: 'base64', media_type: 'image/jpeg', data: '/9j/4AAQSkZJRg==' };
      assert.deepEqual(sent.messages[0]?.content, [{ type: 'image', source }], type);
    }
  });

  it("have other vendors' names for reasoning and for a required tool", () => {
    const tools = [{ function: { name: 'f' } }];
    for (const choice of ['any', 'required', { type: 'any' }])
      assert.deepEqual(convert({ tools, tool_choice: choice }).sent.tool_choice, { type: 'any' });
    assert.deepEqual(convert({ tools, tool_choice: { type: 'auto' } }).sent.tool_choice, { type: 'auto' });
    const effort = (body: object) => convert(body, RESPONSES_DIALECT, 'gpt-5').sent.reasoning;
    assert.deepEqual(effort({ reasoning: { effort: 'high' } }), { effort: 'high' });
    assert.deepEqual(effort({ reasoning: { max_tokens: '3000' } }), { effort: 'low' });
    assert.deepEqual(effort({ thinking: { type: 'enabled', budget_tokens: 9_000 } }), { effort: 'medium' });
    for (const off of [
      { reasoning: { enabled: false } },
      { thinking: { type: 'disabled' } },
      { enable_thinking: false },
    ])
      assert.deepEqual(convert(off, GEMINI_DIALECT).sent.generationConfig, {
        maxOutputTokens: 4_096,
        thinkingConfig: { thinkingBudget: 0 },
      });
    assert.deepEqual(convert({ reasoning: { effort: 'low', exclude: true } }).dropped, ['reasoning.exclude']);
    assert.deepEqual(convert({ usage: { include: true } }).dropped, [], 'usage is always given');
  });

  // saurabhav88/EnviousWispr #1769, RooCodeInc/Roo-Code #4399, earendil-works/pi #3460
  it('have budgets of reasoning that no Gemini model of their upstream accepts, or switch it off where it cannot be', () => {
    const thinking = (body: object, model: string) => {
      const { sent, dropped } = convert(body, GEMINI_DIALECT, model);
      return [(sent.generationConfig as UntrustedObject).thinkingConfig, dropped];
    };
    const budget = (tokens: number) => ({ thinking: { type: 'enabled', budget_tokens: tokens } });
    const given = (tokens: number) => ({ includeThoughts: true, thinkingBudget: tokens });
    const off = { reasoning_effort: 'none' };
    assert.deepEqual(thinking(off, 'gemini-2.5-pro'), [
      { includeThoughts: false, thinkingBudget: 128 },
      ['reasoning_effort'],
    ]);
    assert.deepEqual(thinking(off, 'gemini-2.5-flash'), [{ thinkingBudget: 0 }, []]);
    assert.deepEqual(thinking(budget(31_999), 'gemini-2.5-flash'), [given(24_576), ['thinking']]);
    assert.deepEqual(thinking(budget(31_999), 'gemini-2.5-pro'), [given(31_999), []]);
    assert.deepEqual(thinking(budget(52_428), 'models/gemini-2.5-pro-preview-06-05'), [given(32_768), ['thinking']]);
    assert.deepEqual(thinking(budget(100), 'gemini-2.5-flash-lite'), [given(512), ['thinking']]);
    assert.deepEqual(thinking({ enable_thinking: true }, 'gemini-2.5-pro'), [given(-1), []]);
  });

  // maximhq/bifrost #4202, NousResearch/hermes-agent #96466
  it('have images in results of tools, which older Gemini models accept only beside the result', () => {
    const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' } };
    const messages = [
      ...HI,
      { role: 'assistant', content: [{ type: 'tool_use', id: 'c', name: 'ls', input: {} }] },
      {
        role: 'user',
        content: [{ type: 'tool_result', tool_use_id: 'c', content: [{ type: 'text', text: 'a' }, image] }],
      },
    ];
    const partsOf = (model: string) => {
      const { sent } = convert({ messages }, GEMINI_DIALECT, model, ANTHROPIC_MESSAGES_DIALECT);
      return (sent.contents as { parts: unknown }[])[2]?.parts;
    };
    const inlineData = { mimeType: 'image/png', data: 'iVBORw0KGgo=' };
    const functionResponse = { id: 'c', name: 'ls', response: { output: 'a' } };
    assert.deepEqual(partsOf('gemini-2.5-flash'), [{ functionResponse }, { inlineData }]);
    assert.deepEqual(partsOf('gemini-3-pro'), [{ functionResponse: { ...functionResponse, parts: [{ inlineData }] } }]);
  });

  // gajae-code #3913: only the newer models have the effort between high and max.
  it('have an effort that the oldest models with an effort refuse', () => {
    const effort = (model: string) =>
      convert({ reasoning_effort: 'xhigh' }, ANTHROPIC_MESSAGES_DIALECT, model).sent.output_config;
    assert.deepEqual(effort('claude-opus-4-6'), { effort: 'high' });
    assert.deepEqual(effort('claude-sonnet-4-6-20260217'), { effort: 'high' });
    assert.deepEqual(effort('claude-opus-4-8'), { effort: 'xhigh' });
    assert.deepEqual(effort('claude-sonnet-5'), { effort: 'xhigh' });
  });

  // openclaw/openclaw #31934, microsoft/autogen #6377
  it('have long ids of calls, which OpenAI refuses and gateways need back', () => {
    const id = `call_${'x'.repeat(90)}`;
    const messages = [
      ...HI,
      { role: 'assistant', content: [{ type: 'tool_use', id, name: 'ls', input: {} }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: 'a' }] },
    ];
    const idsOf = (model: string) => {
      const { sent } = convert({ messages }, CHAT_DIALECT, model, ANTHROPIC_MESSAGES_DIALECT);
      const [, call, result] = sent.messages as unknown as { tool_calls: { id: string }[]; tool_call_id: string }[];
      return [call?.tool_calls[0]?.id, result?.tool_call_id];
    };
    const [ofCall, ofResult] = idsOf('gpt-4o');
    assert.equal(ofCall, ofResult);
    assert.match(ofCall ?? '', /^.{1,40}$/);
    assert.deepEqual(idsOf('gemini-3-pro'), [id, id]);
    const [ofMistral, toMistral] = idsOf('mistral-small-latest');
    assert.equal(ofMistral, toMistral);
    assert.match(ofMistral ?? '', /^[a-zA-Z0-9]{9}$/);
  });

  // veryfront/veryfront-code #3918; Google's schemas have no member for it.
  it('have schemas of responses whose objects are open, which Anthropic refuses', () => {
    const inner = { type: 'object', properties: { b: { type: 'string' } } };
    const schema = { type: 'object', properties: { a: { type: 'array', items: inner } }, $defs: { inner } };
    const closed = { ...inner, additionalProperties: false };
    const { sent } = convert({ response_format: { type: 'json_schema', json_schema: { name: 'x', schema } } });
    assert.deepEqual(sent.output_config, {
      format: {
        type: 'json_schema',
        schema: {
          type: 'object',
          properties: { a: { type: 'array', items: closed } },
          $defs: { inner: closed },
          additionalProperties: false,
        },
      },
    });
  });

  // neovateai/neovate-code #745, LeenHawk/gproxy #209, and the rules of can1357/oh-my-pi
  it('have system messages between turns, which few Claude models accept, and only at the end of a turn', () => {
    const system = { role: 'system', content: 'Be brief.' };
    const said = (role: string, ...texts: string[]) => ({
      role,
      content: texts.map((text) => ({ type: 'text', text })),
    });
    const yes = { role: 'assistant', content: 'yes' };
    const sent = (model: string, ...messages: object[]) => {
      const written = convert({ messages }, ANTHROPIC_MESSAGES_DIALECT, model);
      return [written.sent.messages, written.dropped];
    };
    for (const model of ['claude-opus-4-8', 'claude-opus-5'])
      assert.deepEqual(sent(model, ...HI, system, yes, ...HI), [
        [said('user', 'hi'), said('system', 'Be brief.'), said('assistant', 'yes'), said('user', 'hi')],
        [],
      ]);
    for (const model of ['claude-opus-4-7', 'claude-sonnet-4-6', 'claude-haiku-4-5', 'kimi-k2'])
      assert.deepEqual(sent(model, ...HI, system), [[said('user', 'hi', 'Be brief.')], ['messages.1.role']]);
    assert.deepEqual(sent('claude-opus-4-8', ...HI, yes, system, ...HI), [
      [said('user', 'hi'), said('assistant', 'yes'), said('user', 'Be brief.', 'hi')],
      ['messages.2.role'],
    ]);
    const [turns] = sent('claude-opus-4-8', ...HI, call('{}'), system, result);
    assert.deepEqual(
      (turns as unknown as { role: string }[]).map(({ role }) => role),
      ['user', 'assistant', 'user'],
    );
  });

  it('have the deltas of reasoning, which are sent back as the one block that was signed', () => {
    const details = [
      { type: 'reasoning.text', text: 'h', index: 0 },
      { type: 'reasoning.text', text: 'm', index: 0 },
      { type: 'reasoning.text', signature: 'reelgate-anthropic:sig', index: 0 },
      { type: 'reasoning.encrypted', data: 'reelgate-anthropic:hidden', index: 1 },
    ];
    const { sent } = convert({
      messages: [...HI, { role: 'assistant', content: 'yes', reasoning_details: details }, ...HI],
    });
    assert.deepEqual(sent.messages[1]?.content, [
      { type: 'thinking', thinking: 'hm', signature: 'sig' },
      { type: 'redacted_thinking', data: 'hidden' },
      { type: 'text', text: 'yes' },
    ]);
  });

  // NVIDIA-NeMo/Switchyard #502, anomalyco/opencode #1279: upstreams that number the calls of every response from 0.
  it('repeat the ids of calls in later turns', () => {
    const turn = (...calls: (readonly [id: string, name: string])[]) => [
      {
        role: 'assistant',
        tool_calls: calls.map(([id, name]) => ({ id, type: 'function', function: { name, arguments: '{}' } })),
      },
      ...calls.map(([id, name]) => ({ role: 'tool', tool_call_id: id, content: `of ${name}` })),
    ];
    const messages = [
      ...HI,
      ...turn(['call_0', 'ls'], ['call_0', 'cat']),
      ...turn(['call_0', 'rm']),
      ...turn(['', 'mv']),
    ];
    const { sent } = convert({ messages });
    const blocks = sent.messages.flatMap(({ content }) => content);
    assert.deepEqual(
      blocks.filter(({ type }) => type === 'tool_use').map(({ id, name }) => [id, name]),
      [
        ['call_0', 'ls'],
        ['call_0_2', 'cat'],
        ['call_0_3', 'rm'],
        ['call', 'mv'],
      ],
    );
    assert.deepEqual(
      blocks.filter(({ type }) => type === 'tool_result').map((block) => [block.tool_use_id, block.content]),
      [
        ['call_0', [{ type: 'text', text: 'of ls' }]],
        ['call_0_2', [{ type: 'text', text: 'of cat' }]],
        ['call_0_3', [{ type: 'text', text: 'of rm' }]],
        ['call', [{ type: 'text', text: 'of mv' }]],
      ],
    );
    const contents = convert({ messages }, GEMINI_DIALECT).sent.contents as { parts: UntrustedObject[] }[];
    assert.deepEqual(
      contents.flatMap(({ parts }) => parts.flatMap(({ functionResponse: found }) => (found ? [found] : []))),
      [
        { id: 'call_0', name: 'ls', response: { output: 'of ls' } },
        { id: 'call_0_2', name: 'cat', response: { output: 'of cat' } },
        { id: 'call_0_3', name: 'rm', response: { output: 'of rm' } },
        { id: 'call', name: 'mv', response: { output: 'of mv' } },
      ],
    );
  });

  // agentscope-ai/agentscope #2675, patlux/pi-commandcode-provider PR #84.
  it('have images in the results of parallel calls, or a message of the user before a result', () => {
    const image = { type: 'input_image', image_url: 'data:image/png;base64,AAAA' };
    const calls = ['a', 'b'].map((id) => ({ type: 'function_call', call_id: id, name: 'view', arguments: '{}' }));
    const input = [
      { role: 'user', content: 'look' },
      ...calls,
      { type: 'function_call_output', call_id: 'a', output: [image] },
      { role: 'user', content: 'hurry' },
      { type: 'function_call_output', call_id: 'b', output: [image] },
      { role: 'assistant', content: 'done' },
    ];
    const { sent } = convert({ messages: undefined, input }, CHAT_DIALECT, 'm', RESPONSES_DIALECT);
    const url = { type: 'image_url', image_url: { url: image.image_url } };
    const [, , first, second, images, ...rest] = sent.messages;
    assert.deepEqual(
      [first, second].map((message) => (message as unknown as UntrustedObject).tool_call_id),
      ['a', 'b'],
    );
    assert.deepEqual(
      [images, ...rest],
      [
        { role: 'user', content: [url, url] },
        { role: 'user', content: 'hurry' },
        { role: 'assistant', content: 'done' },
      ],
    );
  });

  // github/copilot-cli #2223, icebear0828/codex-proxy PR #22, farion1231/cc-switch #5490.
  it('have tools of MCP servers whose schemas OpenAI refuses: without properties, type or items', () => {
    const list = { type: 'array' };
    const nested = {
      type: 'object',
      properties: { list: { type: ['array', 'null'] }, pair: { ...list, prefixItems: [] } },
    };
    for (const [given, sent] of [
      [{ type: 'object' }, { type: 'object', properties: {} }],
      [{}, { type: 'object', properties: {} }],
      [
        { type: null, properties: null },
        { type: 'object', properties: {} },
      ],
      [
        { type: 'object', properties: { list, nested, items: { anyOf: [list] } }, $defs: { list } },
        {
          type: 'object',
          properties: {
            list: { ...list, items: {} },
            nested: {
              type: 'object',
              properties: { list: { type: ['array', 'null'], items: {} }, pair: { ...list, prefixItems: [] } },
            },
            items: { anyOf: [{ ...list, items: {} }] },
          },
          $defs: { list: { ...list, items: {} } },
        },
      ],
    ] as const) {
      const tools = [{ name: 'f', input_schema: given }];
      const chat = convert({ max_tokens: 9, tools }, CHAT_DIALECT, 'gpt', ANTHROPIC_MESSAGES_DIALECT).sent.tools;
      assert.deepEqual((chat as unknown as UntrustedObject[])[0]?.function, { name: 'f', parameters: sent });
      const own = convert({ max_tokens: 9, tools }, RESPONSES_DIALECT, 'gpt', ANTHROPIC_MESSAGES_DIALECT).sent.tools;
      assert.deepEqual((own as unknown as UntrustedObject[])[0]?.parameters, sent);
    }
  });

  // mxyhi/token_proxy #307.
  it('list tools in items of the input, as Codex does', () => {
    const tool = { type: 'function', name: 'exec', parameters: { type: 'object', properties: {} } };
    const item = {
      type: 'additional_tools',
      role: 'developer',
      tools: [{ type: 'namespace', name: 'ns', tools: [tool] }],
    };
    const input = [item, { role: 'user', content: 'hi' }, item];
    const { sent, dropped } = convert(
      { messages: undefined, input, tools: [tool] },
      CHAT_DIALECT,
      'm',
      RESPONSES_DIALECT,
    );
    assert.deepEqual(sent.messages, [{ role: 'user', content: 'hi' }]);
    const tools = sent.tools as unknown as { readonly function: UntrustedObject }[];
    assert.deepEqual([tools.map((each) => each.function.name), dropped], [['exec', 'ns__exec'], []]);
  });

  // langgenius/dify-official-plugins and LangChain send files as bare Base64; Gemini's clients name types of audio.
  it('have files as bare Base64 and audio whose type OpenAI has another name for', () => {
    const file = { type: 'file', file: { filename: 'a.pdf', file_data: 'JVBERi0xLjQK' } };
    const { sent } = convert({ messages: [{ role: 'user', content: [file] }] });
    const source = { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0xLjQK' };
    assert.deepEqual(sent.messages[0]?.content, [{ type: 'document', source, title: 'a.pdf' }]);
    for (const [mimeType, format] of [
      ['audio/mpeg', 'mp3'],
      ['audio/x-wav', 'wav'],
      ['audio/mp3', 'mp3'],
      ['audio/flac', 'flac'],
    ]) {
      const contents = [{ role: 'user', parts: [{ inlineData: { mimeType, data: 'AAAA' } }] }];
      const chat = convert({ messages: undefined, contents }, CHAT_DIALECT, 'gpt', GEMINI_DIALECT).sent;
      assert.deepEqual(chat.messages[0]?.content, [{ type: 'input_audio', input_audio: { data: 'AAAA', format } }]);
    }
  });

  // BerriAI/litellm #38836, lsdefine/GenericAgent #707
  it('have an effort whose budget of reasoning would leave no token for the answer, or one that few know', () => {
    const budgetOf = (effort: string, to: Dialect) => {
      const { thinking, generationConfig } = convert({ reasoning_effort: effort }, to).sent as UntrustedObject;
      const { thinkingConfig } = (generationConfig ?? {}) as UntrustedObject;
      return (thinking ?? thinkingConfig) as UntrustedObject;
    };
    for (const effort of ['medium', 'high', 'xhigh', 'max', 'unknown'])
      assert.deepEqual(budgetOf(effort, ANTHROPIC_MESSAGES_DIALECT), { type: 'enabled', budget_tokens: 3_276 }, effort);
    for (const effort of ['medium', 'high', 'xhigh', 'max'])
      assert.deepEqual(budgetOf(effort, GEMINI_DIALECT), { includeThoughts: true, thinkingBudget: 3_276 }, effort);
    assert.deepEqual(budgetOf('low', ANTHROPIC_MESSAGES_DIALECT), { type: 'enabled', budget_tokens: 2_048 });
    assert.deepEqual(budgetOf('low', GEMINI_DIALECT), { includeThoughts: true, thinkingBudget: 2_048 });
  });

  // automazeio/vibeproxy #411, router-for-me/CLIProxyAPI #1165, lbjlaq/Antigravity-Manager #506
  it("have Anthropic's blocks and tools in chat completions, as Cursor's agent sends for models named like Claude", () => {
    const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' } };
    const use = { type: 'tool_use', id: 'toolu_1', name: 'ls', input: { path: '.' } };
    const found = { type: 'tool_result', tool_use_id: 'toolu_1', content: [{ type: 'text', text: 'a.txt' }] };
    const messages = [
      { role: 'user', content: [{ type: 'text', text: 'see' }, image] },
      { role: 'assistant', content: [{ type: 'text', text: 'I look.' }, use] },
      { role: 'user', content: [found, { type: 'text', text: 'go on' }] },
    ];
    const schema = { type: 'object', properties: { path: { type: 'string' } } };
    const tools = [{ name: 'ls', description: 'lists', input_schema: schema }];
    const body = { messages, tools, tool_choice: { type: 'tool', name: 'ls' } };
    const { sent, dropped } = convert(body);
    assert.deepEqual(sent.messages, messages);
    assert.deepEqual([sent.tools, sent.tool_choice, dropped], [tools, body.tool_choice, []]);
    const responses = convert(body, RESPONSES_DIALECT).sent;
    assert.deepEqual((responses.input as UntrustedObject[]).slice(2), [
      { type: 'function_call', call_id: 'toolu_1', name: 'ls', arguments: '{"path":"."}' },
      { type: 'function_call_output', call_id: 'toolu_1', output: 'a.txt' },
      { role: 'user', content: 'go on' },
    ]);
    for (const role of ['system', 'tool'])
      refuses({ messages: [...HI, { role, tool_call_id: 'c', content: [use] }] }, 'messages.1.content.0.type');
  });

  // BerriAI/litellm #39977, Portkey-AI/gateway #827, BoundaryML/baml #1499
  it('have images as bare Base64 or as files, and PDFs or texts as images or of no type', () => {
    const PNG = 'iVBORw0KGgo=';
    const PDF = 'JVBERi0xLjQK';
    const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PNG } };
    const document = { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: PDF } };
    const text = { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'a\n' } };
    for (const [given, expected] of [
      [PNG, image],
      [`data:application/octet-stream;base64,${PNG}`, image],
      [`data:application/pdf;base64,${PDF}`, document],
      [`data:application/octet-stream;base64,${PDF}`, document],
      ['data:text/markdown;base64,YQo=', text],
      ['https://a.example/a.png', { type: 'image', source: { type: 'url', url: 'https://a.example/a.png' } }],
    ] as const) {
      const parts = [
        { type: 'image_url', image_url: { url: given } },
        ...(given.startsWith('https') ? [] : [{ type: 'file', file: { file_data: given } }]),
      ];
      for (const part of parts)
        assert.deepEqual(convert({ messages: [{ role: 'user', content: [part] }] }).sent.messages[0]?.content, [
          expected,
        ]);
      const input = [{ role: 'user', content: [{ type: 'input_image', image_url: given }] }];
      const sent = convert({ messages: undefined, input }, undefined, 'm', RESPONSES_DIALECT).sent;
      assert.deepEqual(sent.messages[0]?.content, [expected], given);
    }
    const inline = convert(
      { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: PNG }] }] },
      GEMINI_DIALECT,
    );
    assert.deepEqual(inline.sent.contents, [
      { role: 'user', parts: [{ inlineData: { mimeType: 'image/png', data: PNG } }] },
    ]);
  });

  // musistudio/claude-code-router #849, cline/cline #7224; open-webui/pipelines PR #546; srtab/daiv PR #1405.
  it('set a temperature for models that refuse it, which is dropped and named', () => {
    const sampling = (body: object, to: Dialect, model: string) => {
      const { sent, dropped } = convert(
        body,
        to,
        model,
        to === CHAT_DIALECT ? ANTHROPIC_MESSAGES_DIALECT : CHAT_DIALECT,
      );
      return [sent.temperature, sent.top_p, sent.top_k, ...dropped];
    };
    for (const model of ['gpt-5.1', 'openai/o4-mini']) {
      assert.deepEqual(sampling({ temperature: 0 }, CHAT_DIALECT, model), [
        undefined,
        undefined,
        undefined,
        'temperature',
      ]);
      assert.deepEqual(sampling({ temperature: 1 }, CHAT_DIALECT, model), [undefined, undefined, undefined]);
      assert.deepEqual(sampling({ temperature: 0, top_p: 0.5 }, RESPONSES_DIALECT, model), [
        undefined,
        undefined,
        undefined,
        'temperature',
        'top_p',
      ]);
    }
    assert.deepEqual(sampling({ temperature: 0 }, CHAT_DIALECT, 'gpt-4o'), [0, undefined, undefined]);
    const both = { temperature: 0.5, top_p: 0.9 };
    const claude = (body: object, model: string) => sampling(body, ANTHROPIC_MESSAGES_DIALECT, model);
    for (const model of ['claude-opus-4-1-20250805', 'claude-sonnet-4-5', 'anthropic.claude-sonnet-4-6']) {
      assert.deepEqual(claude(both, model), [0.5, undefined, undefined, 'top_p']);
      assert.deepEqual(claude({ temperature: 1, top_p: 0.9 }, model), [undefined, 0.9, undefined]);
      assert.deepEqual(claude({ temperature: 0.5, top_p: 1 }, model), [0.5, undefined, undefined]);
    }
    for (const model of ['claude-3-5-sonnet-20241022', 'claude-sonnet-4-20250514', 'kimi-k2'])
      assert.deepEqual(claude({ ...both, top_k: 5 }, model), [0.5, 0.9, 5]);
    for (const model of ['claude-opus-4-7', 'claude-sonnet-5', 'claude-fable-5-1'])
      assert.deepEqual(claude({ ...both, top_k: 5 }, model), [
        undefined,
        undefined,
        undefined,
        'temperature',
        'top_p',
        'top_k',
      ]);
    const thinking = { reasoning_effort: 'low', top_k: 5 };
    assert.deepEqual(claude({ ...thinking, top_p: 0.9 }, 'claude-sonnet-4-5'), [
      undefined,
      undefined,
      undefined,
      'top_p',
      'top_k',
    ]);
    assert.deepEqual(claude({ ...thinking, top_p: 0.97 }, 'claude-sonnet-4-5'), [undefined, 0.97, undefined, 'top_k']);
  });

  // openai/codex #14355, decolua/9router #393: gateways that put signatures into the ids of calls.
  it('have ids of calls that are longer than the Responses API accepts', () => {
    const id = `call_a__thought__${'x'.repeat(1_300)}`;
    const messages = [
      ...HI,
      { role: 'assistant', tool_calls: [{ id, type: 'function', function: { name: 'ls', arguments: '{}' } }] },
      { role: 'tool', tool_call_id: id, content: 'a.txt' },
    ];
    const [, made, answered] = convert({ messages }, RESPONSES_DIALECT).sent.input as { call_id: string }[];
    assert.match(made?.call_id ?? '', /^call_[0-9a-f]{32}$/);
    assert.equal(answered?.call_id, made?.call_id);
  });

  // anomalyco/opencode #35516, dearlordylord/huly-mcp #66.
  it('have tools of MCP servers with alternatives at the top of their schemas', () => {
    const [text, number] = [{ type: 'string' }, { type: 'number' }];
    const schemaOf = (parameters: object) => {
      const { sent, dropped } = convert({ tools: [{ type: 'function', function: { name: 'f', parameters } }] });
      return [(sent.tools as { input_schema: object }[])[0]?.input_schema, dropped];
    };
    const one = { type: 'object', properties: { a: text, b: text }, required: ['a'] };
    assert.deepEqual(schemaOf(one), [one, []]);
    assert.deepEqual(schemaOf({ ...one, anyOf: [{ required: ['a'] }, { required: ['b'] }] }), [one, ['tools.0.anyOf']]);
    const branch = (kind: object, ...required: string[]) => ({
      type: 'object',
      properties: { id: text, value: kind },
      required,
    });
    const merged = { id: text, value: { anyOf: [text, number] } };
    assert.deepEqual(schemaOf({ oneOf: [branch(text, 'id', 'value'), branch(number, 'id')] }), [
      { type: 'object', properties: merged, required: ['id'] },
      ['tools.0.oneOf'],
    ]);
    assert.deepEqual(schemaOf({ allOf: [branch(text, 'id'), { required: ['value'] }], $defs: { x: text } }), [
      { type: 'object', $defs: { x: text }, properties: { id: text, value: text }, required: ['id', 'value'] },
      ['tools.0.allOf'],
    ]);
  });
});
