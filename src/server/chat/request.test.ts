import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isAppError } from '../platform/app-error.ts';
import { JsonBoundsScanner, parseDecodingImages } from '../platform/json.ts';
import { CHAT_DIALECT, type Dialect, GEMINI_DIALECT, IMAGES_DIALECT } from './dialects.ts';
import { parseChatRequest, toUpstreamBody } from './request.ts';

const read = (dialect: Dialect, text: string) => parseChatRequest(dialect, Buffer.from(text), JSON.parse(text));
const chat = (rest: string) => read(CHAT_DIALECT, `{"model":"m","messages":[{}]${rest}}`);

describe('tokens reserved for a call', () => {
  it('are computed from the largest given limit, whichever the upstream applies', () => {
    assert.equal(chat(',"max_completion_tokens":1,"max_tokens":50000').maxOutputTokens, 50_000);
    assert.equal(chat(',"max_completion_tokens":700,"max_tokens":null').maxOutputTokens, 700);
    assert.equal(chat(',"max_tokens":7,"n":3').maxOutputTokens, 21);
    assert.equal(chat('').maxOutputTokens, 4_096);
    assert.equal(chat(',"max_tokens":0').maxOutputTokens, 4_096, 'upstreams take 0 as no bound');
    assert.equal(chat(',"max_tokens":0,"max_completion_tokens":5').maxOutputTokens, 5);
    assert.equal(
      read(IMAGES_DIALECT, '{"model":"m","prompt":"a cat","n":2}').maxOutputTokens,
      8_192,
      'images may be paid by tokens',
    );
  });

  it('include every part of the prompt', () => {
    const said = (content: unknown) => chat(`,"x":${JSON.stringify(content)}`).estimatedPromptTokens;
    const image = (url: string) => said([{ type: 'image_url', image_url: { url } }]);
    assert.ok(said(`data: ${'word '.repeat(30_000)}`) > 40_000, 'text is text, however it begins');
    assert.ok(said('f'.repeat(90_000)) >= 30_000);
    assert.ok(image(`data:image/png;base64,${'A'.repeat(90_000)}`) < 2_000);
    assert.ok(image('https://media.example.test/a.png') > 1_500, 'an image costs as much by its address');
  });

  it('include the largest given reasoning budget, in any spelling', () => {
    const gemini = (config: string) => {
      const body = `{"contents":[],"generationConfig":${config}}`;
      return parseChatRequest(GEMINI_DIALECT, Buffer.from(body), JSON.parse(body), { model: 'g' }).thinkingBudget;
    };
    assert.equal(gemini('{"thinking_config":{"thinking_budget":60000}}'), 60_000);
    assert.equal(gemini('{"thinkingConfig":{"thinking_budget":"60000"}}'), 60_000);
    assert.equal(gemini('{"thinkingConfig":{"thinkingBudget":-1}}'), 0);
    for (const member of [
      '"thinking_budget":9',
      '"thinkingBudget":9',
      '"thinking":{"budgetTokens":9,"budget_tokens":1}',
      '"reasoning":{"max_tokens":9}',
      '"chat_template_kwargs":{"thinking_budget":9}',
    ])
      assert.equal(chat(`,${member}`).thinkingBudget, 9, member);
    assert.equal(chat(',"max_tokens":-1').requestedLimit, 0);
    const asText = chat(',"max_tokens":"100","n":"2"');
    assert.deepEqual([asText.requestedLimit, asText.choiceCount], [100, 2]);
    assert.match(asText.rawBody.toString(), /"max_tokens":100,"n":2/);
  });

  it('are computed only from names that every parser reads alike', () => {
    for (const twice of ['"size":"1024x1024","Size":"4096x4096"', '"quality":"low","quality":"high"'])
      assert.throws(
        () => read(IMAGES_DIALECT, `{"model":"m","prompt":"a cat",${twice}}`),
        (error) => isAppError(error, 'invalid_request'),
        twice,
      );
  });
});

describe('the limit sent to an upstream', () => {
  it('is written once, whatever the caller wrote', () => {
    const sent = (limits: string): string => {
      const bytes = Buffer.from(`{"model":"m","messages":[{}]${limits}}`);
      const scanner = new JsonBoundsScanner();
      scanner.push(bytes);
      const { rootMembers, values } = scanner;
      const request = parseChatRequest(CHAT_DIALECT, bytes, parseDecodingImages(bytes, scanner).value, {
        rootMembers,
        values,
      });
      const limit = { key: 'max_tokens', tokens: 9 };
      return toUpstreamBody(request, { model: 'm', limit, droppedTools: [] }).toString();
    };
    assert.equal(sent(''), '{"max_tokens":9,"model":"m","messages":[{}]}');
    for (const none of ['null', '0', '-1'])
      assert.equal(sent(`,"max_tokens":${none}`), '{"model":"m","messages":[{}],"max_tokens":9}', none);
    for (const none of ['"max_completion_tokens":null', '"max\\u005ftokens":null'])
      assert.deepEqual(sent(`,${none}`).match(/9/g), ['9'], none);
    assert.doesNotMatch(sent(',"max_completion_tokens":null'), /max_completion_tokens/);
  });
});
