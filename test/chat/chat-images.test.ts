import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { callModelApi } from '../call-model-api.ts';
import { assertLedgerConsistent } from '../faults/ledger-assertions.ts';
import { forOneDatabase } from '../for-each-database.ts';
import { type ChatService, contentOf, eventsOf, startChat } from './chat-fixture.ts';
import { startScriptedUpstream } from './scripted-upstream.ts';

const LINK = /^!\[image\]\(http:\/\/127\.0\.0\.1:\d+\/jimeng\/[^ ()]+\)$/;

forOneDatabase((name, _open, freshUrl) => {
  let service: ChatService;
  before(async () => {
    service = await startChat(await freshUrl(), { overrides: { chatTimeLimits: { keepAliveMs: 1_000 } } });
    await service.addChannel('jimeng', ['jimeng_t2i_v30', 'jimeng_i2i_v30']);
  });
  after(async () => {
    await assertLedgerConsistent(service.app.database);
    await service.stop();
  });
  const image = { model: 'jimeng_t2i_v30', size: '1024x1024' };

  test(`${name}: an image is returned as a Markdown link and costs its price`, async () => {
    const { status, body } = await service.ask('a lantern', image);
    assert.equal(status, 200);
    const [choice] = body.choices as unknown as { message: { content: string }; finish_reason: string }[];
    assert.match(choice?.message.content ?? '', LINK);
    assert.equal(choice?.finish_reason, 'stop');
    assert.deepEqual((await service.waitUntilSettled())[0]?.charged, 14_000);
    const job = service.sandbox.control.jobs('jimeng').at(-1);
    assert.equal((job?.input as { width: number } | undefined)?.width, 1024);
  });

  test(`${name}: streams an image, with comments while it is generated`, async () => {
    const text = await (await service.stream('a lantern [slow]', image)).text();
    assert.match(contentOf(text), LINK);
    assert.equal(eventsOf(text).at(-1), '[DONE]');
  });

  test(`${name}: an image comes in completions and chunks with every member that OpenAI sends`, async () => {
    const { body } = await service.ask('a lantern', image);
    const [choice] = body.choices as unknown as { message: { refusal: null }; logprobs: null }[];
    assert.deepEqual([choice?.message.refusal, choice?.logprobs], [null, null]);
    assert.equal((body as { system_fingerprint?: null }).system_fingerprint, null);
    const ask = { ...image, stream_options: { include_usage: true } };
    const text = await (await service.stream('a lantern', ask)).text();
    const chunks = eventsOf(text)
      .slice(0, -1)
      .map((data) => JSON.parse(data));
    for (const { choices, usage } of chunks.slice(0, -1)) assert.deepEqual([choices[0].logprobs, usage], [null, null]);
    assert.equal(chunks.at(-1).usage.completion_tokens_details.reasoning_tokens, 0);
  });

  test(`${name}: generates an image from one the caller sends`, async () => {
    const content = [
      { type: 'text', text: 'at night' },
      { type: 'image_url', image_url: { url: 'https://media.example.test/a.png' } },
    ];
    const { status } = await service.ask('', { model: 'jimeng_i2i_v30', messages: [{ role: 'user', content }] });
    assert.equal(status, 200);
  });

  test(`${name}: charges each image of a response with several, and requests only one`, async () => {
    const upstream = await startScriptedUpstream();
    const { operator } = service;
    const id = await operator.addChannel({
      vendor: 'jimeng',
      base_url: upstream.url,
      credentials: { access_key: 'a', secret_key: 'b' },
      models: ['jimeng_t2i_v40'],
    });
    const image_urls = [1, 2, 3].map((index) => `https://media.example.test/${index}.png`);
    upstream.respondWith((response, { path }) => {
      const data = path.includes('SubmitTask') ? { task_id: '7' } : { status: 'done', image_urls };
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ code: 10_000, data }));
    });
    const { body } = await service.ask('three cats', { model: 'jimeng_t2i_v40' });
    const [choice] = body.choices as unknown as { message: { content: string } }[];
    assert.equal(choice?.message.content.match(/!\[image\]/g)?.length, 3);
    assert.equal((await service.waitUntilSettled())[0]?.charged, 3 * 14_000);
    assert.equal(JSON.parse(upstream.requests[0]?.body ?? '').force_single, true);
    await operator.requestData('DELETE', `/api/admin/channels/${id}`);
    await upstream.stop();
  });

  test(`${name}: charges the images that a chat upstream generated, not those requested`, async () => {
    const upstream = await startScriptedUpstream();
    const { operator, baseUrl, key } = service;
    const price = { per_call: 1_000, per_second: 0 };
    await operator.requestData('POST', '/api/admin/models', { id: 'pieces', vendor: 'openai', kind: 'image', price });
    await operator.addChannel({
      vendor: 'openai',
      base_url: upstream.url,
      credentials: { api_key: 'sk-pieces' },
      models: ['pieces'],
      options: { private: true },
    });
    const make = async (more: object, data: readonly object[]) => {
      upstream.respondWith((response) =>
        response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ created: 1, data })),
      );
      const { status, body } = await callModelApi(baseUrl, key, 'POST', '/v1/images/generations', {
        model: 'pieces',
        prompt: 'a cat',
        ...more,
      });
      const [entry] = await service.waitUntilSettled();
      return { status, param: (body.error as { param?: string } | undefined)?.param, charged: entry?.charged };
    };
    const url = { url: 'https://media.example.test/a.png' };
    const withheld = { error: { code: 'OutputImageSensitiveContentDetected', message: 'withheld' } };
    const encoded = { b64_json: 'A'.repeat(600_000), revised_prompt: 'a "b64_json": "cat"' };
    for (const [asked, data, charged] of [
      [{ n: 4 }, [url, url, withheld, withheld], 2_000],
      [{ parameters: { n: 3 } }, [url, url, url], 3_000],
      [{ n: 3 }, [encoded, encoded, encoded], 3_000],
      [{ n: 2 }, [{ link: 'elsewhere' }, { link: 'elsewhere' }], 2_000],
    ] as const)
      assert.deepEqual(await make(asked, data), { status: 200, param: undefined, charged });
    for (const more of [{ batch_size: 4 }, { num_images: 2 }, { sequential_image_generation: 'auto' }]) {
      const { status, param } = await make(more, [url]);
      assert.deepEqual([status, param], [400, Object.keys(more)[0]]);
    }
    assert.equal((await make({ batch_size: 1, sequential_image_generation: 'disabled' }, [url])).charged, 1_000);
    await upstream.stop();
  });

  test(`${name}: the images endpoint returns OpenAI's format and never streams`, async () => {
    const make = (more: object) =>
      callModelApi(service.baseUrl, service.key, 'POST', '/v1/images/generations', {
        model: 'jimeng_t2i_v30',
        prompt: 'a lantern [slow]',
        ...more,
      });
    const { status, body } = await make({});
    assert.equal(status, 200);
    assert.match((body.data as unknown as { url: string }[])[0]?.url ?? '', /^http:/);
    const entries = (await service.waitUntilSettled()).length;
    const streamed = await make({ stream: true });
    assert.deepEqual([streamed.status, (streamed.body.error as unknown as { param: string }).param], [400, 'stream']);
    assert.equal((await service.waitUntilSettled()).length, entries);
  });

  test(`${name}: refused and failed images state the reason and are refunded`, async () => {
    for (const [text, status] of [
      ['[policy] a lantern', 400],
      ['[fail] a lantern', 502],
      ['[filtered] a lantern', 400],
    ] as const) {
      const { status: got, body } = await service.ask(text, image);
      assert.equal(got, status, `${text} ${JSON.stringify(body)}`);
      assert.equal((await service.waitUntilSettled())[0]?.kind, 'refund', text);
    }
  });
});
