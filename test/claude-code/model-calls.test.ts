import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { spendWindowOf } from '../../src/server/quota/spend-limits.ts';
import { TestUser } from '../accounts/test-user-client.ts';
import { addScriptedModels, type ScriptedChat, startScriptedChat } from '../chat/scripted-chat-fixture.ts';
import { startScriptedUpstream } from '../chat/scripted-upstream.ts';
import { GatewayClient, type GatewayResponse, type GatewayTokens } from './gateway-client.ts';

const MESSAGE = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'claude',
  content: [{ type: 'text', text: 'Hello.' }],
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage: { input_tokens: 10, output_tokens: 5 },
  safeguard_results: [{ type: 'auto_mode', allowed: true }],
};
const ASK = { model: 'claude', max_tokens: 50, messages: [{ role: 'user', content: 'Hi' }] };
/** As the program sends them, and what a later release may add. */
const HEADERS = {
  'anthropic-version': '2023-06-01',
  'anthropic-beta': 'claude-code-20250219,of-a-later-release-2027-01-01',
  'x-app': 'cli',
  'x-stainless-lang': 'js',
  'x-of-a-later-release': '1',
};

describe('model calls of Claude Code', () => {
  let chat: ScriptedChat;
  let gateway: GatewayClient;
  let person: TestUser;
  let tokens: GatewayTokens;
  before(async () => {
    chat = await startScriptedChat(['claude'], { vendor: 'anthropic' });
    const { operator, app } = chat.service;
    await operator.requestData('PUT', '/api/admin/settings/CLAUDE_CODE_SIGN_IN', { value: '1' });
    gateway = new GatewayClient(app.http.fastify);
    person = new TestUser(app.http.fastify, '127.0.0.1');
    await person.register('ada');
    await person.logIn('ada');
    await operator.requestData('PUT', `/api/admin/users/${person.id}`, { quota_delta: 1_000_000, note: 'test' });
    tokens = await gateway.signIn(person);
    chat.upstream.respondWith((response, { path }) => {
      response.writeHead(200, {
        'content-type': 'application/json',
        'anthropic-ratelimit-unified-status': 'allowed_warning',
        'anthropic-ratelimit-requests-remaining': '1',
        'anthropic-organization-id': 'operator',
      });
      response.end(JSON.stringify(path.includes('count_tokens') ? { input_tokens: 7 } : MESSAGE));
    });
  });
  after(async () => {
    await chat.upstream.stop();
    await chat.service.stop();
  });

  const call = (body: object = ASK, path = '/v1/messages?beta=true') =>
    gateway.send('POST', path, { token: tokens.access_token, body, headers: HEADERS });

  it('reach the upstream unchanged, without what identifies the caller, and its quota stays there', async () => {
    const safeguards = { auto_mode: { level: 'strict' } };
    const { status, json, headers } = await call({ ...ASK, safeguards, of_a_later_release: true });
    assert.equal(status, 200, JSON.stringify(json));
    assert.deepEqual(json?.safeguard_results, MESSAGE.safeguard_results);
    const sent = chat.upstream.requests.at(-1);
    assert.deepEqual(JSON.parse(sent?.body ?? ''), { ...ASK, safeguards, of_a_later_release: true });
    assert.equal(sent?.headers['anthropic-beta'], HEADERS['anthropic-beta']);
    assert.doesNotMatch(JSON.stringify(sent?.headers), new RegExp(tokens.access_token));
    const foreign = Object.keys(headers).filter((name) => /^anthropic-(ratelimit|organization)/.test(name));
    assert.deepEqual(foreign, []);
  });

  it('are charged to the person, logged under the device and have a receipt', async () => {
    const quota = async () => Number((await person.ok<{ quota: number }>('GET', '/api/user/self')).quota);
    await chat.service.waitUntilSettled();
    const before = await quota();
    const { headers } = await call();
    await chat.service.waitUntilSettled();
    assert.equal(before - (await quota()), 10 + 4 * 5);
    const id = String(headers['request-id']);
    const [logged] = await person.ok<{ token_name: string }[]>('GET', '/api/requests');
    assert.equal(logged?.token_name, 'Claude Code', JSON.stringify(logged));
    assert.ok(JSON.stringify(logged).includes(id), id);
  });

  it('count tokens and list models', async () => {
    chat.upstream.requests.length = 0;
    const count = await call({ model: ASK.model, messages: ASK.messages }, '/v1/messages/count_tokens?beta=true');
    assert.equal(count.status, 200);
    assert.equal(count.json?.input_tokens, 7);
    const { json } = await gateway.send('GET', '/v1/models?limit=1000', { token: tokens.access_token });
    const models = json?.data as unknown as { id: string; type: string; display_name: string }[];
    assert.ok(
      models.some(({ id, type, display_name: name }) => id === 'claude' && type === 'model' && name === 'claude'),
    );
    assert.equal(json?.has_more, false);
  });

  it('for an upstream of another vendor a safety check is refused by name, and nothing is charged', async () => {
    const other = await startScriptedUpstream();
    await addScriptedModels(chat.service.operator, other, ['gpt'], { vendor: 'openai' });
    const { status, error } = await call({ ...ASK, model: 'gpt', safeguards: { auto_mode: {} } });
    assert.deepEqual([status, error.type], [400, 'invalid_request_error']);
    assert.match(error.message ?? '', /safeguards/);
    assert.equal(other.requests.length, 0);
    await other.stop();
  });

  it('tell the program how much of its limits is used, and name the amounts on request', async () => {
    const usage = () => gateway.send('GET', '/api/oauth/usage', { token: tokens.access_token });
    const limitHeaders = ({ headers }: GatewayResponse) =>
      Object.fromEntries(
        Object.entries(headers).flatMap(([name, value]) => {
          const [, short] = /^anthropic-ratelimit-unified-(.+)/.exec(name) ?? [];
          return short === undefined ? [] : [[short, String(value)]];
        }),
      );
    assert.equal((await usage()).status, 404, 'no limit');
    assert.deepEqual(limitHeaders(await call()), {});
    await chat.service.waitUntilSettled();
    const { kysely } = chat.service.app.database;
    const subject = `account:${person.id}`;
    const { startsAt, endsAt } = spendWindowOf('week', Date.now(), 'UTC');
    await kysely.insertInto('spend_limits').values({ subject, amount: 1_000_000, period: 'week' }).execute();
    await kysely.insertInto('spend_windows').values({ subject, period_start: startsAt, spent: 0 }).execute();
    const reset = String(endsAt / 1_000);
    const shown = { 'representative-claim': 'overage', reset, 'overage-reset': reset };
    const warned = { ...shown, status: 'allowed_warning', 'overage-status': 'allowed_warning' };
    const resets_at = new Date(endsAt).toISOString();
    const shares = [
      [700_000, 70, 'normal', { ...shown, status: 'allowed', 'overage-status': 'allowed' }],
      [760_000, 76, 'warning', { ...warned, 'overage-surpassed-threshold': '0.75' }],
      [996_000, 99, 'critical', { ...warned, 'overage-surpassed-threshold': '0.95' }],
    ] as const;
    for (const [spent, percent, severity, headers] of shares) {
      await kysely.updateTable('spend_windows').set({ spent }).where('subject', '=', subject).execute();
      const used_credits = Math.floor(spent / 5_000);
      const extra_usage = { is_enabled: true, monthly_limit: 200, used_credits, utilization: percent, currency: 'CRD' };
      const active = { kind: 'spend', group: 'weekly', percent, resets_at, severity, is_active: true };
      const { json } = await usage();
      assert.deepEqual(json, {
        extra_usage,
        limits: [active],
      });
      const expected = { ...headers, 'overage-utilization': String(percent / 100) };
      assert.deepEqual(limitHeaders(await call()), expected);
      assert.deepEqual(limitHeaders(await call({ ...ASK, stream: true })), expected);
      assert.deepEqual(limitHeaders(await call({ ...ASK, model: 'none' })), {}, 'not with an error');
      await chat.service.waitUntilSettled();
    }
    await kysely.updateTable('spend_windows').set({ spent: 999_990 }).where('subject', '=', subject).execute();
    const refused = await call();
    assert.deepEqual([refused.status, refused.error.type], [429, 'billing_error']);
    assert.equal(refused.headers['x-should-retry'], 'false');
    assert.match(String(refused.headers['retry-after']), /^[1-9]\d*$/);
    const rejected = limitHeaders(refused);
    const { status, 'representative-claim': claim, 'overage-disabled-reason': why, reset: renewed } = rejected;
    assert.deepEqual([status, claim, why], ['rejected', undefined, 'org_spend_cap_reached']);
    // Rounded up twice, to whole seconds.
    assert.equal(Math.floor(Number(renewed) / 60), Math.floor(endsAt / 60_000));
    await kysely.deleteFrom('spend_limits').where('subject', '=', subject).execute();
  });

  it('a used-up balance is 429 with the headers that stop the program from repeating the request', async () => {
    const poor = new TestUser(chat.service.app.http.fastify, '127.0.0.1');
    await poor.register('poor');
    await poor.logIn('poor');
    const { access_token: token } = await gateway.signIn(poor);
    const { status, error, headers } = await gateway.send('POST', '/v1/messages', {
      token,
      body: ASK,
      headers: HEADERS,
    });
    assert.deepEqual([status, error.type], [429, 'billing_error']);
    assert.equal(headers['x-should-retry'], 'false');
    assert.equal(headers['anthropic-ratelimit-unified-status'], 'rejected');
    assert.match(String(headers['retry-after']), /^\d+$/);
    const reset = Number(headers['anthropic-ratelimit-unified-reset']);
    assert.ok(reset > Date.now() / 1_000, String(reset));
    assert.equal(headers['anthropic-ratelimit-unified-representative-claim'], undefined);
    assert.equal(headers['anthropic-ratelimit-unified-overage-disabled-reason'], 'out_of_credits');
  });

  it('an unknown model, a broken body and a missing token are refused in the form of the API', async () => {
    const errors: Readonly<Record<string, [Promise<GatewayResponse>, number, string]>> = {
      model: [call({ ...ASK, model: 'none' }), 404, 'not_found_error'],
      body: [call({ model: 'claude' }), 400, 'invalid_request_error'],
      token: [gateway.send('POST', '/v1/messages', { body: ASK }), 401, 'authentication_error'],
    };
    for (const [name, [answer, status, type]] of Object.entries(errors)) {
      const { status: shown, error } = await answer;
      assert.deepEqual([shown, error.type], [status, type], name);
    }
  });
});
