import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { AdminClient } from '../admin-client.ts';
import { callModelApi } from '../call-model-api.ts';
import { type ChatService, chatBody, startChat } from '../chat/chat-fixture.ts';
import { forEachDatabase } from '../for-each-database.ts';

const LOGIN = { username: 'second', password: 'second-password-1' };
/** Prompts the simulated vendors refuse, as a firewall in front of them would. */
const REFUSED = 'drop table';

forEachDatabase((_name, _open, freshUrl) => {
  let service: ChatService;
  let secondKey: string;
  before(async () => {
    service = await startChat(await freshUrl());
    await service.operator.requestData('POST', '/api/admin/users', { ...LOGIN, quota: 100_000_000 });
    secondKey = await (await new AdminClient(service.baseUrl).signIn(LOGIN)).makeToken();
  });
  after(() => service.stop());

  for (const [vendor, path, toBody] of [
    ['openai', '/v1/chat/completions', (text: string) => chatBody(text)],
    ['kling', '/v1/videos', (text: string) => ({ model: 'kling-v1-6', prompt: text })],
  ] as const)
    it(`does not disable a channel of ${vendor} temporarily for other users`, async () => {
      const { operator, baseUrl, sandbox } = service;
      const id = vendor === 'kling' ? await service.addChannel('kling', ['kling-v1-6']) : 1;
      const conditionOf = async () =>
        (await operator.requestData<{ condition: string }>('GET', `/api/admin/channels/${id}`)).condition;
      const ask = async (key: string, text: string) =>
        (await callModelApi(baseUrl, key, 'POST', path, toBody(text))).status;
      sandbox.control.fault({ kind: '401', vendor, match: REFUSED, times: 100 });

      for (let round = 0; round < 7; round += 1) {
        if (round % 3 === 0) assert.equal(await ask(service.key, 'hello'), 200);
        assert.equal(await ask(secondKey, 'good morning'), 200);
        assert.ok((await ask(secondKey, REFUSED)) >= 500);
        assert.notEqual(await conditionOf(), 'resting');
      }
      // A successful poll proves that the account is accepted, so the final state for videos depends on its timing.
      if (vendor === 'kling') return;
      assert.ok((await ask(service.key, REFUSED)) >= 500);
      assert.ok((await ask(secondKey, REFUSED)) >= 500);
      assert.equal(await conditionOf(), 'resting');
    });
});
