import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { TestUser } from '../accounts/test-user-client.ts';
import { type ChatService, PRICE, startChat } from '../chat/chat-fixture.ts';
import { freePort } from '../device-auth/device-auth-fixture.ts';
import { ClaudeComputer, whyUnavailable } from './claude-computer.ts';
import { GatewayClient } from './gateway-client.ts';

const MODEL = 'sandbox-claude';
const TASK = '[call=Read] [chunks=3]';

describe('the real Claude Code', { skip: whyUnavailable() ?? false }, () => {
  let service: ChatService;
  let gateway: GatewayClient;
  let person: TestUser;
  let computer: ClaudeComputer;
  before(async () => {
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    const env = { PORT: String(port), BASE_URL: url, CLAUDE_CODE_SIGN_IN: '1' };
    service = await startChat('sqlite::memory:', { env });
    const { operator, app } = service;
    await operator.requestData('POST', '/api/admin/models', {
      id: MODEL,
      vendor: 'anthropic',
      kind: 'chat',
      price: PRICE,
    });
    await service.addChannel('anthropic', [MODEL], { options: { private: true } });
    const value = { model: MODEL, availableModels: [MODEL] };
    await operator.requestData('PUT', '/api/admin/settings/CLAUDE_CODE_MANAGED_SETTINGS', { value });
    gateway = new GatewayClient(app.http.fastify);
    person = new TestUser(app.http.fastify, '127.0.0.1');
    await person.register('ada');
    await person.logIn('ada');
    await operator.requestData('PUT', `/api/admin/users/${person.id}`, { quota_delta: 100_000_000, note: 'test' });
    computer = new ClaudeComputer(`${url}/claude-code`);
  });
  after(async () => {
    await computer.remove();
    await service.stop();
  });

  const signIns = async () =>
    (await service.operator.requestData('GET', '/api/admin/claude-code')) as { username: string; program: string }[];

  it('signs in with the code that the person confirms', async () => {
    await computer.signIn((user_code) => person.ok('POST', '/api/auth/device/approve', { user_code }));
    const [signIn] = await signIns();
    assert.equal(signIn?.username, 'ada');
    assert.match(signIn?.program ?? '', /^claude-code\/\d/);
  });

  it('uses a tool with the model of the managed settings, at the expense of the person', async () => {
    const { result, num_turns: turns, is_error: isError } = await computer.ask(TASK);
    assert.deepEqual([result, turns, isError], ['the light of', 2, false]);
    const logged = await person.ok<{ model: string; token_name: string }[]>('GET', '/api/requests');
    assert.ok(logged.length >= 2);
    for (const { model, token_name: name } of logged) assert.deepEqual([model, name], [MODEL, 'Claude Code']);
  });

  it('shows under /usage what the person has spent of a limit', async () => {
    const limit = { amount: 1_000_000_000, period: 'month' };
    await service.operator.requestData('PUT', `/api/admin/users/${person.id}`, { spend_limit: limit });
    await computer.press('/usage');
    await computer.waitFor(/\/usage/);
    await computer.press('Enter');
    await computer.waitFor(/CRD [\d.]+ \/ CRD 2,000\.00 spent this month/);
    await computer.press('Escape');
  });

  it('renews its token before it expires', async () => {
    const before = computer.credential;
    computer.expireSoon();
    assert.equal((await computer.ask(TASK)).result, 'the light of');
    const renewed = computer.credential;
    assert.notEqual(renewed?.jwt, before?.jwt);
    assert.notEqual(renewed?.idpRefreshToken, before?.idpRefreshToken);
    assert.ok(Number(renewed?.expiresAt) > Date.now() + 3_000_000);
  });

  it('two processes that renew the same token at once both continue and stay signed in', async () => {
    for (let round = 0; round < 2; round++) {
      computer.expireSoon();
      const answers = await Promise.all([computer.ask(TASK), computer.ask(TASK)]);
      for (const { result } of answers) assert.equal(result, 'the light of');
      // The program that was refused writes the file again.
      for (let tries = 0; tries < 50 && computer.credential?.idpRefreshToken === undefined; tries++)
        await new Promise((resolve) => setTimeout(resolve, 100));
      assert.notEqual(computer.credential?.idpRefreshToken, undefined);
      assert.equal((await signIns()).length, 1);
    }
  });

  it('signs out, which ends its tokens', async () => {
    const token = computer.credential?.jwt ?? '';
    assert.equal(await gateway.statusOf(token), 200);
    await computer.press('/logout');
    await computer.waitFor(/logout/i);
    await computer.press('Enter');
    for (let tries = 0; tries < 100 && (await signIns()).length > 0; tries++)
      await new Promise((resolve) => setTimeout(resolve, 200));
    assert.deepEqual(await signIns(), []);
    assert.equal(await gateway.statusOf(token), 401);
    assert.equal((await computer.ask(TASK)).is_error, true);
  });
});
