import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import type { ModelLifecycles } from '../../src/server/channels/retirements.ts';
import { type ChatService, startChat } from '../chat/chat-fixture.ts';
import { forEachDatabase } from '../for-each-database.ts';

/** Every host retires these models on this day. */
const ENDING = new Set(['sandbox-chat', 'kling-v1', 'jimeng_v30', 'sora-2']);
const lifecycles: ModelLifecycles = {
  hostOf: () => 'host.example',
  of: (_vendor, model) =>
    ENDING.has(model)
      ? [
          {
            route: 'host.example',
            stage: 'deprecated',
            retiresOn: '2099-03-01',
            source: 'https://vendor.example/models',
            confirmedOn: '2026-11-20',
            checkedOn: '2026-11-20',
          },
        ]
      : [],
};

const KLING = { model_name: 'kling-v1', prompt: 'herons' };
const JIMENG = { req_key: 'jimeng_t2v_v30', prompt: 'herons' };
const CHAT = { model: 'sandbox-chat', messages: [{ role: 'user', content: 'hello' }] };

forEachDatabase((_name, _open, freshUrl) => {
  let service: ChatService;
  before(async () => {
    service = await startChat(await freshUrl(), { overrides: { lifecycles }, quota: 1_000_000_000 });
    await service.addChannel('kling', ['kling-v1', 'kling-v3']);
    await service.addChannel('jimeng', ['jimeng_v30']);
    await service.addChannel('sora', ['sora-2', 'sora-nine']);
  });
  after(() => service.stop());

  const headersOf = async (path: string, body: object): Promise<readonly (string | null)[]> => {
    const response = await fetch(service.baseUrl + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${service.key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    const text = await response.text();
    assert.equal(response.status, 200, `${path}: ${text}`);
    return [response.headers.get('deprecation'), response.headers.get('sunset')];
  };
  const ENDS = [`@${Date.parse('2026-11-20') / 1_000}`, 'Sun, 01 Mar 2099 00:00:00 GMT'];

  it('every response, in every format, announces that a model will be retired', async () => {
    for (const [path, body] of [
      ['/v1/videos', { model: 'sora-2', prompt: 'herons' }],
      ['/v1/video/generations', { model: 'kling-v1', prompt: 'herons' }],
      ['/kling/v1/videos/text2video', KLING],
      ['/kling/native/v1/videos/text2video', KLING],
      ['/v1/chat/completions', CHAT],
      ['/v1/chat/completions', { ...CHAT, stream: true }],
    ] as const)
      assert.deepEqual(await headersOf(path, body), ENDS, path);
    const mapped = { ...JIMENG, model: 'jimeng_v30' };
    assert.deepEqual(await headersOf('/v1/videos', { model: 'jimeng_v30', prompt: mapped.prompt }), ENDS);
    assert.deepEqual(await headersOf('/v1/videos', { model: 'kling-v3', prompt: 'herons' }), [null, null]);
  });

  it("compares a channel with its upstream's model list and with known retirements", async () => {
    const channels = await service.operator.requestData<{ id: number; vendor: string }[]>('GET', '/api/admin/channels');
    const test = async (vendor: string) => {
      const id = channels.find((channel) => channel.vendor === vendor)?.id;
      return service.operator.requestData<{ ok: boolean; missing_models: string[]; ending_models: object[] }>(
        'POST',
        `/api/admin/channels/${id}/test`,
      );
    };
    const kling = await test('kling');
    assert.deepEqual(
      [kling.ok, kling.missing_models, kling.ending_models],
      [true, [], [{ model: 'kling-v1', retires_on: '2099-03-01', successor: null, confirmed: true }]],
    );
    const openai = await test('openai');
    assert.deepEqual([openai.ok, openai.missing_models], [true, []]);
  });
});
