import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  ANTHROPIC_MESSAGES_DIALECT,
  CHAT_DIALECT,
  type Dialect,
  GEMINI_DIALECT,
  RESPONSES_DIALECT,
} from '../dialects.ts';
import { parseChatRequest } from '../request.ts';
import { withoutForeignParts, withoutRefusedReasoning } from './foreign-parts.ts';

/** The body that is sent, and the paths of its dropped parts. */
function send(dialect: Dialect, body: object, model: string) {
  const bytes = Buffer.from(JSON.stringify(body));
  const { request, dropped } = withoutForeignParts(
    parseChatRequest(dialect, bytes, body, dialect === GEMINI_DIALECT ? { model, stream: false } : {}),
    model,
  );
  return { sent: JSON.parse(request.rawBody.toString()), dropped, isSame: request.rawBody.equals(bytes) };
}

const user = { role: 'user', content: 'x' };
const use = { type: 'tool_use', id: 't', name: 'read', input: {} };
const result = { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't', content: 'ok' }] };
const thought = (signature: string) => ({ type: 'thinking', thinking: 'hm', signature });

describe('parts of other vendors', () => {
  const asClaude = (turn: readonly object[], more: object = {}, model = 'claude-opus-4-6') =>
    send(
      ANTHROPIC_MESSAGES_DIALECT,
      { model, max_tokens: 9, messages: [user, { role: 'assistant', content: turn }, result], ...more },
      model,
    );

  it('are not sent to Claude, which reasons again in its next turn', () => {
    const { sent, dropped } = asClaude([thought('reelgate-openai:abc'), use], {
      thinking: { type: 'adaptive' },
      context_management: { edits: [] },
      output_config: { effort: 'low' },
    });
    assert.deepEqual(sent, {
      model: 'claude-opus-4-6',
      max_tokens: 9,
      messages: [user, { role: 'assistant', content: [use] }, result],
      output_config: { effort: 'low' },
    });
    assert.deepEqual(dropped, ['messages.1.content.0', 'thinking', 'context_management']);
  });

  it('are removed beside its own reasoning, which allows more', () => {
    const own = thought('EqQB');
    const redacted = { type: 'redacted_thinking', data: 'reelgate-gemini:x' };
    const { sent, dropped } = asClaude([redacted, own, use], { thinking: { type: 'adaptive' } });
    assert.deepEqual(sent.messages[1].content, [own, use]);
    assert.deepEqual(sent.thinking, { type: 'adaptive' });
    assert.deepEqual(dropped, ['messages.1.content.0']);
  });

  it('leave no empty message', () => {
    const body = {
      model: 'claude',
      max_tokens: 9,
      messages: [user, { role: 'assistant', content: [thought('')] }, user],
    };
    assert.deepEqual(send(ANTHROPIC_MESSAGES_DIALECT, body, 'claude').sent.messages, [user, user]);
  });

  it('without a signature are kept for other upstreams of the dialect, which may require them', () => {
    assert.equal(asClaude([thought(''), use], {}, 'deepseek-v4').isSame, true);
    assert.equal(asClaude([thought('reelgate-openai:'), use], {}, 'deepseek-v4').isSame, false);
  });

  // deepseek-ai/awesome-deepseek-integration #639, YishenTu/claudian #708
  it('include ids of calls that Mistral and OpenAI refuse', () => {
    const body = (id: string) => ({
      model: 'm',
      messages: [
        user,
        { role: 'assistant', tool_calls: [{ id, type: 'function', function: { name: 'f', arguments: '{}' } }] },
        { role: 'tool', tool_call_id: id, content: 'ok' },
      ],
    });
    // anomalyco/opencode #1680, mnfst/llm-gateway #1186
    for (const model of ['mistral-large-latest', 'mistralai/Devstral-Small-2', 'open-mixtral-8x22b']) {
      const { sent } = send(CHAT_DIALECT, body('call_PTLP8xhu3uwZk4l3nlnrrJha'), model);
      const [, turn, answer] = sent.messages;
      assert.match(turn.tool_calls[0].id, /^[a-zA-Z0-9]{9}$/);
      assert.equal(answer.tool_call_id, turn.tool_calls[0].id);
      assert.equal(send(CHAT_DIALECT, body('D681PevKs'), model).isSame, true);
    }
    const long = `call_${'x'.repeat(60)}`;
    assert.ok(send(CHAT_DIALECT, body(long), 'gpt-4o').sent.messages[2].tool_call_id.length <= 40);
    assert.equal(send(CHAT_DIALECT, body(long), 'gemini-3-pro').isSame, true);
  });

  it('include system turns, which few models accept', () => {
    const system = { role: 'system', content: 'Be brief.' };
    const body = { model: 'm', max_tokens: 9, thinking: { type: 'adaptive' }, messages: [user, system] };
    const { sent, dropped } = send(ANTHROPIC_MESSAGES_DIALECT, body, 'deepseek-v4-pro');
    assert.deepEqual(sent, { ...body, messages: [user, { ...system, role: 'user' }] });
    assert.deepEqual(dropped, ['messages.1.role']);
    assert.equal(send(ANTHROPIC_MESSAGES_DIALECT, body, 'claude-opus-4-7').isSame, false);
    assert.equal(send(ANTHROPIC_MESSAGES_DIALECT, body, 'claude-opus-4-8').isSame, true);
  });

  it('are distinguished from its own citations', () => {
    const cite = (encrypted_index: string) => ({
      type: 'web_search_result_location',
      url: 'https://a.com',
      encrypted_index,
    });
    const text = { type: 'text', text: 'x' };
    const { sent, dropped } = asClaude([
      { ...text, citations: [cite(''), cite('Eo8')] },
      { ...text, citations: [cite('')] },
      { ...text, citations: [cite('Eo8')] },
    ]);
    assert.deepEqual(sent.messages[1].content, [
      { ...text, citations: [cite('Eo8')] },
      text,
      { ...text, citations: [cite('Eo8')] },
    ]);
    assert.deepEqual(dropped, ['messages.1.content.0.citations', 'messages.1.content.1.citations']);
  });

  it('include ids of calls that Anthropic refuses', () => {
    const body = (id: string) => ({
      max_tokens: 9,
      messages: [
        user,
        { role: 'assistant', content: [{ ...use, id }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: 'ok' }] },
      ],
    });
    const given = { model: 'claude', ...body('functions.read:0') };
    assert.deepEqual(send(ANTHROPIC_MESSAGES_DIALECT, given, 'claude').sent, {
      model: 'claude',
      ...body('functions_read_0'),
    });
    assert.equal(send(ANTHROPIC_MESSAGES_DIALECT, given, 'kimi-k2.5').isSame, true);
    assert.equal(send(ANTHROPIC_MESSAGES_DIALECT, { ...given, ...body('toolu_1-A') }, 'claude').isSame, true);
  });

  it('are not sent to Responses or chat completions', () => {
    const foreign = { type: 'reasoning', summary: [], encrypted_content: 'reelgate-anthropic:c2ln' };
    const own = { type: 'reasoning', summary: [], encrypted_content: 'gAAAA' };
    const unsigned = { ...foreign, id: 'rs_1', encrypted_content: 'reelgate-none:' };
    const input = [user, foreign, unsigned, own, user];
    assert.deepEqual(send(RESPONSES_DIALECT, { model: 'gpt-5', input }, 'gpt-5'), {
      sent: { model: 'gpt-5', input: [user, own, user] },
      dropped: ['input.1', 'input.2'],
      isSame: false,
    });
    const said = { role: 'assistant', content: 'y' };
    const details = [{ type: 'reasoning.text', text: 'hm', signature: 'reelgate-anthropic:c2ln' }];
    const kept = [{ type: 'reasoning.encrypted', data: 'x' }];
    const messages = [
      user,
      { ...said, reasoning_details: details },
      { ...said, reasoning_details: [...details, ...kept] },
      user,
    ];
    assert.deepEqual(send(CHAT_DIALECT, { model: 'm', messages }, 'm').sent.messages, [
      user,
      said,
      { ...said, reasoning_details: kept },
      user,
    ]);
  });

  it('are replaced in calls for Gemini 3, which requires a signature', () => {
    const call = { functionCall: { name: 'read', args: {} } };
    const asked = { role: 'user', parts: [{ text: 'x' }] };
    const contents = [
      asked,
      { role: 'model', parts: [{ ...call, thoughtSignature: 'reelgate-openai:a' }, call] },
      { role: 'model', parts: [{ text: '', thought_signature: 'reelgate-openai:a' }] },
    ];
    const sentTo = (model: string) => send(GEMINI_DIALECT, { contents }, model).sent.contents;
    assert.deepEqual(sentTo('gemini-2.5-pro'), [asked, { role: 'model', parts: [call, call] }]);
    assert.deepEqual(sentTo('gemini-3-pro'), [
      asked,
      { role: 'model', parts: [{ ...call, thoughtSignature: 'skip_thought_signature_validator' }, call] },
    ]);
  });

  it('are looked for, and nothing else is touched', () => {
    const spaced = Buffer.from(
      '{ "model":"claude", "max_tokens": 9,"messages":[{"role":"user","content":"reelgate-x \\u0041"}]}',
    );
    const request = parseChatRequest(ANTHROPIC_MESSAGES_DIALECT, spaced, JSON.parse(spaced.toString()));
    assert.equal(withoutForeignParts(request, 'claude').request, request);
  });
});

describe('reasoning that an upstream refuses', () => {
  const REFUSALS = [
    'messages.1.content.0: Invalid `signature` in `thinking` block',
    'messages.9.content.0.thinking: each thinking block must contain non-whitespace thinking',
    'messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`.',
    'Corrupted thought signature.',
    'Function call is missing a thought_signature in functionCall parts.',
    'The encrypted content gAAA could not be verified. Reason: Encrypted content could not be decrypted or parsed.',
    "Item with id 'rs_68' not found. Items are not persisted when `store` is set to false.",
    "'messages.2' : for 'role:assistant' the following must be satisfied[('messages.2' : property 'reasoning_content' is unsupported)]",
    'body.messages.31.assistant.reasoning_content: Extra inputs are not permitted',
    'Reasoning input is not enabled for this model',
  ];
  const OTHERS = [
    'The `reasoning_content` in the thinking mode must be passed back to the API.',
    "Unsupported parameter: 'reasoning_effort' is not supported with this model.",
    'thinking.enabled.budget_tokens: Input should be greater than or equal to 1024',
    '`temperature` may only be set to 1 when thinking is enabled.',
    'messages.1.content.0: unexpected `tool_use_id` found in `tool_result` blocks',
  ];
  const refused = (dialect: Dialect, body: object, refusal: string) => {
    const facts = dialect === GEMINI_DIALECT ? { model: 'm', stream: false } : {};
    const request = parseChatRequest(dialect, Buffer.from(JSON.stringify(body)), body, facts);
    const rest = withoutRefusedReasoning(request, 'gemini-3-pro', refusal);
    return rest && JSON.parse(rest.request.rawBody.toString());
  };
  const [refusal = ''] = REFUSALS;

  it('is recognized by the words of known upstreams', () => {
    const said = { role: 'assistant', content: 'y', reasoning_content: 'hm' };
    const body = { model: 'm', messages: [user, said, user] };
    assert.deepEqual(
      [...REFUSALS, ...OTHERS].filter((each) => refused(CHAT_DIALECT, body, each) !== undefined),
      REFUSALS,
    );
  });

  it('is no reason to repeat a request that only has other parts of other vendors', () => {
    const id = 'c'.repeat(50);
    const call = { role: 'assistant', content: null, tool_calls: [{ id, type: 'function', function: { name: 'f' } }] };
    const body = { model: 'm', messages: [user, call, { role: 'tool', tool_call_id: id, content: 'ok' }] };
    const request = parseChatRequest(CHAT_DIALECT, Buffer.from(JSON.stringify(body)), body, {});
    assert.equal(withoutRefusedReasoning(request, 'gpt-5', refusal), undefined);
    const messages = [user, { role: 'system', content: 'be brief' }];
    assert.equal(refused(ANTHROPIC_MESSAGES_DIALECT, { model: 'm', max_tokens: 9, messages }, refusal), undefined);
  });

  it('is removed for every signer, and nothing else is', () => {
    const said = { role: 'assistant', content: 'y', name: 'a' };
    const reasoning = { reasoning: 'hm', reasoning_details: [{ type: 'reasoning.text', text: 'hm' }] };
    assert.deepEqual(refused(CHAT_DIALECT, { model: 'm', messages: [user, { ...said, ...reasoning }] }, refusal), {
      model: 'm',
      messages: [user, said],
    });
    const item = { type: 'reasoning', id: 'rs_1', summary: [] };
    assert.deepEqual(refused(RESPONSES_DIALECT, { model: 'm', input: [user, item, user] }, refusal), {
      model: 'm',
      input: [user, user],
    });
    const call = { functionCall: { name: 'read', args: {} } };
    const turns = (thoughtSignature: string) => [
      { role: 'user', parts: [{ text: 'x' }] },
      { role: 'model', parts: [{ ...call, thoughtSignature }] },
    ];
    assert.deepEqual(refused(GEMINI_DIALECT, { contents: turns('c2ln') }, refusal), {
      contents: turns('skip_thought_signature_validator'),
    });
    const thoughts = [thought('EqQB'), { type: 'redacted_thinking', data: 'x' }, use];
    const body = { model: 'claude', max_tokens: 9, messages: [user, { role: 'assistant', content: thoughts }, result] };
    assert.deepEqual(refused(ANTHROPIC_MESSAGES_DIALECT, { ...body, thinking: { type: 'adaptive' } }, refusal), {
      ...body,
      messages: [user, { role: 'assistant', content: [use] }, result],
    });
    assert.equal(refused(CHAT_DIALECT, { model: 'm', messages: [user, said] }, refusal), undefined);
  });
});
