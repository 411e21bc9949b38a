import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { CHANNEL_PRESETS, modelListOf } from '../../src/server/channels/channel-presets.ts';
import { parseBaseUrl } from '../../src/server/channels/credentials.ts';
import {
  ANTHROPIC_MESSAGES_DIALECT,
  CHAT_DIALECT,
  EMBEDDINGS_DIALECT,
  GEMINI_DIALECT,
  IMAGES_DIALECT,
  RESPONSES_DIALECT,
} from '../../src/server/chat/dialects.ts';
import { isAppError } from '../../src/server/platform/app-error.ts';
import { endpointUrl, openaiUrl, withoutVersion } from '../../src/server/upstreams/upstream.ts';
import { VendorRegistry } from '../../src/server/vendors/registry.ts';
import { callModelApi } from '../call-model-api.ts';
import { eventsOf } from '../chat/chat-fixture.ts';
import { type ScriptedUpstream, startScriptedUpstream } from '../chat/scripted-upstream.ts';
import { forEachDatabase } from '../for-each-database.ts';
import { type SandboxService, startSandboxService } from '../service-with-sandbox.ts';
import { fixedResponseContext } from '../vendors/adapter-context.ts';

const geminiPath = GEMINI_DIALECT.upstreamPath?.('gemini-x', true) ?? '';
const OPENAI_PATHS = [CHAT_DIALECT, RESPONSES_DIALECT, EMBEDDINGS_DIALECT, IMAGES_DIALECT].map(({ path }) => path);

/** Pasted forms, the stored form of each, and the root of the dialect's endpoints. */
const OPENAI_FORMS: readonly (readonly [pasted: string, stored: string, root: string])[] = [
  ['https://api.x.ai', 'https://api.x.ai', 'https://api.x.ai/v1'],
  [' https://api.x.ai/ ', 'https://api.x.ai', 'https://api.x.ai/v1'],
  ['\u200bhttps://api.x.ai/v1\u200b\n', 'https://api.x.ai/v1', 'https://api.x.ai/v1'],
  ['https://api.x.ai/v1', 'https://api.x.ai/v1', 'https://api.x.ai/v1'],
  ['https://api.x.ai/v1/', 'https://api.x.ai/v1', 'https://api.x.ai/v1'],
  ['https://api.x.ai/v1/chat/completions', 'https://api.x.ai/v1', 'https://api.x.ai/v1'],
  ['https://api.x.ai/v1/models', 'https://api.x.ai/v1', 'https://api.x.ai/v1'],
  ['https://api.x.ai/chat/completions/', 'https://api.x.ai', 'https://api.x.ai/v1'],
  ['https://openrouter.ai/api', 'https://openrouter.ai/api', 'https://openrouter.ai/api/v1'],
  ['https://openrouter.ai/api/v1', 'https://openrouter.ai/api/v1', 'https://openrouter.ai/api/v1'],
  ['https://openrouter.ai//api/v1//responses', 'https://openrouter.ai/api/v1', 'https://openrouter.ai/api/v1'],
  ['https://api.groq.com/openai', 'https://api.groq.com/openai', 'https://api.groq.com/openai/v1'],
  ['https://api.groq.com/openai/v1/embeddings', 'https://api.groq.com/openai/v1', 'https://api.groq.com/openai/v1'],
  ['https://d.cn/compatible-mode/v1', 'https://d.cn/compatible-mode/v1', 'https://d.cn/compatible-mode/v1'],
  ['https://d.cn/compatible-mode', 'https://d.cn/compatible-mode', 'https://d.cn/compatible-mode/v1'],
  ['https://z.cn/api/paas/v4/chat/completions', 'https://z.cn/api/paas/v4', 'https://z.cn/api/paas/v4'],
  ['https://ark.cn/api/v3', 'https://ark.cn/api/v3', 'https://ark.cn/api/v3'],
  ['https://ark.cn/api/v3/images/generations', 'https://ark.cn/api/v3', 'https://ark.cn/api/v3'],
  ['https://g.com/v1beta/openai', 'https://g.com/v1beta/openai', 'https://g.com/v1beta/openai'],
  ['https://g.com/v1beta/openai/chat/completions', 'https://g.com/v1beta/openai', 'https://g.com/v1beta/openai'],
  ['https://v1.example.com', 'https://v1.example.com', 'https://v1.example.com/v1'],
  ['https://relay.com/models', 'https://relay.com/models', 'https://relay.com/models/v1'],
  ['https://relay.com/v1/team-a', 'https://relay.com/v1/team-a', 'https://relay.com/v1/team-a/v1'],
];

const OTHER_FORMS: readonly (readonly [path: string, pasted: string, url: string])[] = [
  ...['https://a.com', 'https://a.com/v1', 'https://a.com/v1/messages', 'https://a.com/messages'].map(
    (pasted) => [ANTHROPIC_MESSAGES_DIALECT.path, pasted, 'https://a.com/v1/messages'] as const,
  ),
  [ANTHROPIC_MESSAGES_DIALECT.path, 'https://m.io/anthropic', 'https://m.io/anthropic/v1/messages'],
  [ANTHROPIC_MESSAGES_DIALECT.path, 'https://m.io/anthropic/v1/messages', 'https://m.io/anthropic/v1/messages'],
  ['/v1/messages/count_tokens', 'https://m.io/anthropic/v1', 'https://m.io/anthropic/v1/messages/count_tokens'],
  ['/v1/models?limit=200', 'https://m.io/anthropic/v1', 'https://m.io/anthropic/v1/models?limit=200'],
  ...[
    'https://g.com',
    'https://g.com/v1beta',
    'https://g.com/v1beta/models',
    'https://g.com/v1beta/models/gemini-x:generateContent',
  ].map((pasted) => [geminiPath, pasted, `https://g.com${geminiPath}`] as const),
  [geminiPath, 'https://g.com/v1', 'https://g.com/v1/models/gemini-x:streamGenerateContent?alt=sse'],
  [geminiPath, 'https://relay.com/gemini', `https://relay.com/gemini${geminiPath}`],
  ['/v1/videos/task_1', 'https://relay.com/openai/v1/videos', 'https://relay.com/openai/v1/videos/task_1'],
  ['/v1/videos/text2video', 'https://relay.com/kling', 'https://relay.com/kling/v1/videos/text2video'],
  [
    '/v1/videos/text2video',
    'https://relay.com/kling/v1/videos/text2video',
    'https://relay.com/kling/v1/videos/text2video',
  ],
  ['/ent/v2/tasks/1', 'https://relay.com/vidu/ent/v2/img2video', 'https://relay.com/vidu/ent/v2/tasks/1'],
  ['/ent/v2/tasks/1', 'https://relay.com/vidu', 'https://relay.com/vidu/ent/v2/tasks/1'],
  ['/api/v3/contents/generations/tasks', 'https://ark.cn/api/v3', 'https://ark.cn/api/v3/contents/generations/tasks'],
  ['/api/v3/contents/generations/tasks', 'https://r.com/ark', 'https://r.com/ark/api/v3/contents/generations/tasks'],
  [
    '/api/v1/tasks/1',
    'https://d.cn/api/v1/services/aigc/video-generation/video-synthesis',
    'https://d.cn/api/v1/tasks/1',
  ],
  ['/v1/text_to_video', 'https://relay.com/runway/v1/text_to_video', 'https://relay.com/runway/v1/text_to_video'],
];

const refusedFor = (reason: RegExp) => (error: unknown) =>
  isAppError(error) && error.code === 'invalid_request' && reason.test(JSON.stringify(error.options.params));

describe('base URL of a channel', () => {
  it("leads to OpenAI's endpoints, whichever form of it was pasted", () => {
    for (const [pasted, stored, root] of OPENAI_FORMS) {
      const baseUrl = parseBaseUrl(pasted, false);
      assert.equal(baseUrl, stored, pasted);
      assert.equal(parseBaseUrl(baseUrl, false), stored, 'what is stored stays as it is');
      for (const path of [...OPENAI_PATHS, '/v1/models'])
        assert.equal(openaiUrl({ baseUrl, options: {} }, path), root + path.slice('/v1'.length), pasted);
    }
  });

  it('leads to those of the other dialects and of video vendors too', () => {
    for (const [path, pasted, url] of OTHER_FORMS)
      assert.equal(endpointUrl({ baseUrl: parseBaseUrl(pasted, false) }, path), url, `${path} below ${pasted}`);
    assert.equal(withoutVersion('https://relay.com/hailuo/v1'), 'https://relay.com/hailuo');
    assert.equal(withoutVersion('https://v1'), 'https://v1');
  });

  it('leads to the calls of every video vendor, whichever version it names', async () => {
    for (const [vendor, path, ...pasted] of [
      ['kling', '/v1/videos/text2video?pageNum=1&pageSize=1', '', '/v1', '/v1/videos/text2video'],
      ['jimeng', '/?Action=CVSync2AsyncGetResult&Version=2022-08-31', '', '/'],
      ['hailuo', '/v1/query/video_generation?task_id=0', '', '/v1', '/v2', '/v1/video_generation'],
      ['seedance', '/api/v3/contents/generations/tasks?page_num=1&page_size=1', '', '/api/v3'],
      ['wan', '/api/v1/tasks/00000000-0000-0000-0000-000000000000', '', '/api/v1', '/compatible-mode/v1'],
      ['veo', '/v1beta/models?pageSize=200', '', '/v1beta', '/v1beta/models/veo-3:predictLongRunning'],
      ['vidu', '/ent/v2/tasks/1/creations', '', '/ent/v2', '/ent/v2/text2video'],
      ['sora', '/v1/videos?limit=1', '', '/v1', '/v1/videos'],
      ['runway', '/v1/organization', '', '/v1', '/v1/text_to_video'],
    ] as const)
      for (const each of pasted) {
        const baseUrl = parseBaseUrl(`https://relay.com/team${each}`, false);
        const fixed = { ...fixedResponseContext({ json: {} }), baseUrl };
        const called: string[] = [];
        const context: typeof fixed = {
          ...fixed,
          credentials: vendor === 'veo' ? { api_key: 'key' } : fixed.credentials,
          sendJson: (request) => {
            called.push(request.url);
            return fixed.sendJson(request);
          },
        };
        await new VendorRegistry().get(vendor).checkCredentials(context);
        assert.equal(called[0], `https://relay.com/team${path}`, `${vendor} below ${each}`);
      }
  });

  it('leads to an Azure deployment, or to its v1 API', () => {
    const chat = '/v1/chat/completions';
    const resource = 'https://r.openai.azure.com';
    const dated = { api_version: '2024-10-21' };
    const query = '?api-version=2024-10-21';
    for (const [pasted, options, path, url] of [
      [resource, {}, chat, '/openai/v1/chat/completions'],
      [`${resource}/openai`, {}, chat, '/openai/v1/chat/completions'],
      [`${resource}/openai/v1`, {}, '/v1/embeddings', '/openai/v1/embeddings'],
      [`${resource}/openai/v1/`, { api_version: 'preview' }, '/v1/models', '/openai/v1/models?api-version=preview'],
      [resource, dated, chat, `/openai/deployments/my%2Fgpt/chat/completions${query}`],
      [`${resource}/openai`, dated, '/v1/embeddings', `/openai/deployments/my%2Fgpt/embeddings${query}`],
      [
        `${resource}/openai/deployments/four/chat/completions`,
        {},
        chat,
        `/openai/deployments/four/chat/completions${query}`,
      ],
      [
        `${resource}/openai/deployments/four`,
        dated,
        '/v1/images/generations',
        `/openai/deployments/four/images/generations${query}`,
      ],
      [resource, dated, '/v1/models', `/openai/models${query}`],
      [resource, dated, '/v1/responses', `/openai/responses${query}`],
      [resource, dated, '/v1/videos?limit=1', '/openai/v1/videos?limit=1&api-version=2024-10-21'],
    ] as const) {
      const baseUrl = parseBaseUrl(pasted, false);
      assert.equal(openaiUrl({ baseUrl, options }, path, 'my/gpt'), resource + url, `${path} below ${pasted}`);
    }
    const behind = { baseUrl: 'https://apim.example.com/team', options: { api: 'azure', ...dated } };
    assert.equal(
      openaiUrl(behind, chat, 'four'),
      `https://apim.example.com/team/openai/deployments/four/chat/completions${query}`,
    );
  });

  it('is refused with the name of the invalid part', () => {
    for (const [pasted, reason] of [
      ['https://a.com/v1?api-version=1', /base_url must have no query: an API version goes into options\.api_version/],
      ['https://a.com/v1?x=1', /base_url must have no query\./],
      ['https://a.com/v1?', /no query/],
      ['https://a.com/v1#top', /no fragment/],
      ['https://user:secret@a.com/v1', /must not hold credentials/],
      ['https://{resource}.openai.azure.com', /placeholder/],
      ['https://a.com/openai/deployments/{name}', /placeholder/],
      ['ftp://a.com/v1', /must start with https/],
      ['a.com/v1', /not a URL/],
      ['https://a.com/ v1', /not a URL/],
      ['http://a.com/v1', /options.private/],
      ['https://127.0.0.1/v1', /loopback or private/],
      ['https://10.0.0.1/api/v1', /loopback or private/],
      ['https://metadata.google.internal/v1', /cloud/],
    ] as const)
      assert.throws(() => parseBaseUrl(pasted, false), refusedFor(reason), pasted);
    assert.throws(() => parseBaseUrl('http://169.254.169.254/v1', true), refusedFor(/cloud/));
    assert.equal(parseBaseUrl('http://127.0.0.1:11434/v1', true), 'http://127.0.0.1:11434/v1');
  });

  it('of each preset is stored unchanged, and its model list is requested below it', () => {
    const ids = CHANNEL_PRESETS.map(({ id }) => id);
    assert.equal(new Set(ids).size, ids.length);
    for (const { id, baseUrl, options, dialect, keyPage } of CHANNEL_PRESETS) {
      const isPrivate = options.private === true;
      const filled = baseUrl.replace('{resource}', 'mine');
      assert.equal(parseBaseUrl(filled, isPrivate), filled, id);
      assert.equal(isPrivate || /^https:\/\//.test(keyPage), true, id);
      assert.match(modelListOf({ dialect, baseUrl, options }), /\/models(?:\?api-version=[\d-]+)?$/, id);
    }
    const documented = readFileSync(new URL('../../docs/channels.md', import.meta.url), 'utf8');
    for (const { title, baseUrl } of CHANNEL_PRESETS) {
      assert.ok(documented.includes(title), title);
      assert.ok(documented.includes(`\`${baseUrl}\``), baseUrl);
    }
    const list = (id: string) => CHANNEL_PRESETS.filter((preset) => preset.id === id).map(modelListOf)[0];
    assert.equal(list('ark'), 'https://ark.cn-beijing.volces.com/api/v3/models');
    assert.equal(list('gemini'), 'https://generativelanguage.googleapis.com/v1beta/models');
    assert.equal(list('azure-deployments'), 'https://{resource}.openai.azure.com/openai/models?api-version=2024-10-21');
  });
});

/** The location of a simulated provider's endpoints, and the URL pasted for it. */
interface Place {
  readonly name: string;
  /** Path below the origin. */
  readonly pasted: string;
  readonly options?: object;
  /** Prefix of the paths at which it is called. */
  readonly prefix: string;
  readonly query?: string;
  readonly keyHeader?: string;
  readonly models?: string;
}

const PLACES: readonly Place[] = [
  { name: 'OpenRouter', pasted: '/api/v1', prefix: '/api/v1' },
  { name: 'Groq', pasted: '/openai/v1/chat/completions', prefix: '/openai/v1' },
  { name: 'DashScope', pasted: '/compatible-mode/v1/', prefix: '/compatible-mode/v1' },
  { name: 'Zhipu', pasted: '/api/paas/v4', prefix: '/api/paas/v4' },
  { name: 'Ark', pasted: '/api/v3', prefix: '/api/v3' },
  { name: 'without a version', pasted: '/relay', prefix: '/relay/v1' },
  { name: 'plain', pasted: '', prefix: '/v1' },
  { name: 'Azure v1', pasted: '/openai/v1', options: { api: 'azure' }, prefix: '/openai/v1', keyHeader: 'api-key' },
  {
    name: 'Azure deployments',
    pasted: '',
    options: { api: 'azure', api_version: '2024-10-21' },
    prefix: '/openai/deployments/{model}',
    query: '?api-version=2024-10-21',
    keyHeader: 'api-key',
    models: '/openai/models',
  },
];

interface TestAnswer {
  readonly ok: boolean;
  readonly message: string;
  readonly models: readonly string[];
  readonly suggested_models: readonly {
    readonly id: string;
    readonly kind: string;
    readonly price: object;
    readonly source: string;
  }[];
}

describe('a channel to a provider behind a path', () => {
  forEachDatabase((_name, _open, freshUrl) => {
    let service: SandboxService;
    let upstream: ScriptedUpstream;
    let token: string;
    let place: Place = PLACES[0] as Place;

    before(async () => {
      service = await startSandboxService(await freshUrl());
      await service.operator.grantQuota(1_000_000_000);
      token = await service.operator.makeToken();
      upstream = await startScriptedUpstream();
      const simulator = service.sandbox.url('openai');
      const key = String(service.sandbox.credentials('openai').api_key);
      // The simulator, reachable only at this path, with model names that contain the path.
      upstream.respondWith(async (response, { path, headers, body }) => {
        const { prefix, query = '', keyHeader, name, models = `${prefix}/models` } = place;
        const mark = `${name.toLowerCase().replaceAll(' ', '-')}/`;
        const request = body === '' ? undefined : (JSON.parse(body) as { model: string });
        const root = prefix.replace('{model}', encodeURIComponent(request?.model ?? ''));
        const endpoint = path === models + query ? '/models' : path.slice(root.length, path.length - query.length);
        const sentKey = keyHeader === undefined ? headers.authorization : `Bearer ${headers[keyHeader]}`;
        if (root + endpoint + query !== path && path !== models + query) return void response.writeHead(404).end();
        const inner = request && JSON.stringify({ ...request, model: request.model.replace(mark, '') });
        const answer = await fetch(`${simulator}/v1${endpoint}`, {
          method: request === undefined ? 'GET' : 'POST',
          headers: { authorization: String(sentKey), 'content-type': 'application/json' },
          ...(inner === undefined ? {} : { body: inner }),
        });
        const text = await answer.text();
        response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? '' });
        response.end(endpoint === '/models' ? text.replaceAll('"id":"', `"id":"${mark}`) : text);
      });
      assert.notEqual(key, '');
    });
    after(async () => {
      await service.stop();
      await upstream.stop();
    });

    const addChannel = (more: object = {}) =>
      service.operator.addChannel({
        vendor: 'openai',
        base_url: upstream.url + place.pasted,
        credentials: service.sandbox.credentials('openai'),
        models: [],
        options: { private: true, ...place.options },
        ...more,
      });
    const test = (id: number) => service.operator.requestData<TestAnswer>('POST', `/api/admin/channels/${id}/test`);
    const call = (path: string, body: object) => callModelApi(service.baseUrl, token, 'POST', path, body);

    for (const each of PLACES)
      it(`goes from the key to answers: ${each.name}`, async () => {
        place = each;
        const mark = each.name.toLowerCase().replaceAll(' ', '-');
        const id = await addChannel();
        const { ok, message, models, suggested_models: suggested } = await test(id);
        assert.equal(ok, true, message);
        assert.ok(models.includes(`${mark}/sandbox-chat`));
        assert.deepEqual(
          suggested.map((model) => model.id),
          models,
        );
        const chat = suggested.find((model) => model.id === `${mark}/sandbox-chat`);
        assert.deepEqual(chat, {
          id: `${mark}/sandbox-chat`,
          kind: 'chat',
          price: { input_per_million: 1_500_000, output_per_million: 7_500_000 },
          source: 'suggested',
        });
        const ids = [`${mark}/sandbox-chat`, `${mark}/sandbox-embedding`];
        const before = upstream.requests.length;
        assert.deepEqual(await service.operator.requestData('POST', `/api/admin/channels/${id}/models`, { ids }), {
          created: ids,
          kept: [],
        });
        assert.equal(upstream.requests.length, before, 'the upstream is not asked again');

        const messages = [{ role: 'user', content: 'hello' }];
        const plain = await call('/v1/chat/completions', { model: ids[0], messages });
        assert.equal(plain.status, 200, JSON.stringify(plain.body));
        const streamed = await fetch(`${service.baseUrl}/v1/chat/completions`, {
          method: 'POST',
          headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
          body: JSON.stringify({ model: ids[0], messages, stream: true }),
        });
        assert.equal(eventsOf(await streamed.text()).at(-1), '[DONE]');
        const embedded = await call('/v1/embeddings', { model: ids[1], input: 'hello' });
        assert.equal(embedded.status, 200, JSON.stringify(embedded.body));
        const { prefix, query = '' } = each;
        const below = (model = '', endpoint = '') =>
          prefix.replace('{model}', encodeURIComponent(model)) + endpoint + query;
        assert.deepEqual(
          upstream.requests.slice(before).map(({ path }) => path),
          [below(ids[0], '/chat/completions'), below(ids[0], '/chat/completions'), below(ids[1], '/embeddings')],
        );
        for (const { headers } of upstream.requests.slice(before))
          assert.equal(headers['api-key'] === undefined, each.keyHeader === undefined);
        if (each.keyHeader !== undefined) assert.equal(upstream.requests.at(-1)?.headers.authorization, undefined);

        const again = await test(id);
        assert.equal(
          again.suggested_models.some((model) => ids.includes(model.id)),
          false,
          'what is served is not offered again',
        );
      });

    it('keeps the price of an existing model, and offers the model to another channel at that price', async () => {
      place = PLACES[0] as Place;
      const id = 'openrouter/sandbox-chat-mini';
      const price = { input_per_million: 7, output_per_million: 9 };
      await service.operator.requestData('POST', '/api/admin/models', { id, vendor: 'openai', kind: 'chat', price });
      const channel = await addChannel();
      const offered = (await test(channel)).suggested_models.find((model) => model.id === id);
      assert.deepEqual(offered, { id, kind: 'chat', price, source: 'shipped' });
      const add = (ids: readonly string[]) =>
        service.operator.requestData('POST', `/api/admin/channels/${channel}/models`, { ids });
      assert.deepEqual(await add([id, id]), { created: [], kept: [id] });
      assert.deepEqual(await add([id]), { created: [], kept: [id] });
      const row = await service.operator.requestData<{ price: object }>(
        'GET',
        `/api/admin/models/${id.replace('/', '~')}`,
      );
      assert.deepEqual(row.price, price);
      const shown = await service.operator.requestData<{ models: string[] }>('GET', `/api/admin/channels/${channel}`);
      assert.deepEqual(shown.models, [id]);
    });

    it('accepts only models it could serve, all or none', async () => {
      place = PLACES[0] as Place;
      const channel = await addChannel();
      const video = await addChannel({
        vendor: 'sora',
        base_url: service.sandbox.url('sora'),
        credentials: service.sandbox.credentials('sora'),
        models: ['sora-2'],
      });
      const add = (id: number, ids: unknown) =>
        service.operator.request('POST', `/api/admin/channels/${id}/models`, { ids });
      for (const [id, ids, reason] of [
        [channel, ['new-one', 'sora-2'], /of the vendor sora/],
        [video, ['sora-99'], /no shipped price/],
        [channel, [], /ids/],
        [channel, ['a b'], /ids/],
        [channel, Array.from({ length: 501 }, (_, index) => `m${index}`), /ids/],
        [999_999, ['new-one'], /No such channel/],
      ] as const) {
        const refused = await add(id, ids);
        assert.equal(refused.success, false, JSON.stringify(ids));
        assert.match(refused.message ?? '', reason);
      }
      assert.equal((await service.operator.request('GET', '/api/admin/models/new-one')).success, false);
      assert.deepEqual(
        (await service.operator.requestData<{ models: string[] }>('GET', `/api/admin/channels/${channel}`)).models,
        [],
      );
      await service.operator.requestData('PUT', `/api/admin/channels/${video}`, { models: [] });
      const report = await test(video);
      assert.deepEqual(report.suggested_models.find(({ id }) => id === 'sora-2')?.source, 'shipped');
      assert.deepEqual(
        await service.operator.requestData('POST', `/api/admin/channels/${video}/models`, { ids: ['sora-2'] }),
        {
          created: [],
          kept: ['sora-2'],
        },
      );
    });

    it('lists the presets', async () => {
      const presets = await service.operator.requestData<{ id: string; title: string; model_list: string }[]>(
        'GET',
        '/api/admin/channel-presets',
      );
      assert.ok(presets.length >= 20);
      for (const title of ['OpenAI', 'OpenRouter', 'DeepSeek', 'Groq', 'Ollama'])
        assert.ok(
          presets.some((preset) => preset.title === title),
          title,
        );
    });
  });
});
