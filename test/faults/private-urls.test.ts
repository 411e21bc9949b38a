import assert from 'node:assert/strict';
import { createServer, type Server } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { loadMedia } from '../../src/sandbox/media.ts';
import { openOutbound } from '../../src/server/platform/outbound/client.ts';
import { hostileUrls } from '../../src/server/platform/outbound/hostile-urls.fixture.ts';
import { startVideoService, VENDOR_MODELS, type VideoService } from '../flows/video-fixture.ts';
import { assertLedgerConsistent } from './ledger-assertions.ts';

/**
 * Covers every field in which a caller can pass a URL, with a canary server on loopback that none of these URLs may
 * reach.
 */
type Body = Readonly<Record<string, unknown>>;
type Field = readonly [name: string, put: (address: string) => Body];

const COMMON: readonly Field[] = [
  ['image', (image) => ({ image })],
  ['images.0', (address) => ({ images: [address] })],
  ['images.1', (address) => ({ images: ['https://images.example/a.png', address] })],
  ['input_reference', (input_reference) => ({ input_reference })],
  ['input_reference.image_url', (image_url) => ({ input_reference: { image_url } })],
  ['inputs', (url) => ({ inputs: [{ type: 'image', url }] })],
  ['inputs as a text', (url) => ({ inputs: JSON.stringify([{ type: 'image', image_url: { url } }]) })],
  ['an unknown field', (address) => ({ webhook: { deeper: [address] } })],
];
const metadata = (name: string, put: (address: string) => Body): Field => [
  `metadata ${name}`,
  (address) => ({ metadata: put(address) }),
];
const OWN: Readonly<Record<string, readonly Field[]>> = {
  kling: [
    metadata('image_tail', (image_tail) => ({ image_tail })),
    metadata('static_mask', (static_mask) => ({ static_mask })),
    metadata('static_mask[]', (address) => ({ static_mask: [address] })),
    metadata('dynamic_masks', (dynamic_masks) => ({ dynamic_masks })),
    metadata('dynamic_masks[]', (mask) => ({ dynamic_masks: [{ mask, trajectories: [{ x: 1, y: 1 }] }] })),
  ],
  hailuo: [
    metadata('first_frame_image', (first_frame_image) => ({ first_frame_image })),
    metadata('last_frame_image', (last_frame_image) => ({ last_frame_image })),
    metadata('subject_reference', (address) => ({ subject_reference: [{ type: 'character', image: [address] }] })),
  ],
  seedance: [
    metadata('content image', (url) => ({ content: [{ type: 'image_url', image_url: { url } }] })),
    metadata('content image text', (image_url) => ({ content: [{ type: 'image_url', image_url }] })),
    metadata('content video', (url) => ({ content: [{ type: 'video', video: { url } }] })),
    metadata('content video_url', (video_url) => ({ content: [{ type: 'video_url', video_url }] })),
  ],
  wan: ['first_frame_url', 'last_frame_url', 'audio_url'].map((key) =>
    metadata(`input.${key}`, (address) => ({ input: { [key]: address } })),
  ),
  'veo-vertex': [metadata('storageUri', (storageUri) => ({ storageUri }))],
  sora: [
    ['a native field', (url) => ({ video: { url } })],
    ['a native field named like prose', (url) => ({ text: { url } })],
    ['a list named like prose', (url) => ({ negative_prompt: [url] })],
  ],
};
const KLING_TEXT = '/kling/v1/videos/text2video';
const KLING_IMAGE = '/kling/v1/videos/image2video';
const JIMENG = '/jimeng/?Action=CVSync2AsyncSubmitTask&Version=2022-08-31';
const image = loadMedia('image.png').bytes.toString('base64');
const kling = { model_name: 'kling-v1-6', prompt: 'official' };
const jimeng = { req_key: 'jimeng_t2v_v30', prompt: 'official' };
const OFFICIAL: readonly [path: string, name: string, put: (address: string) => Body][] = [
  [KLING_IMAGE, 'image', (image) => ({ ...kling, image })],
  [KLING_IMAGE, 'image_tail', (image_tail) => ({ ...kling, image, image_tail })],
  [KLING_IMAGE, 'static_mask', (static_mask) => ({ ...kling, image, static_mask })],
  [KLING_IMAGE, 'dynamic_masks', (mask) => ({ ...kling, image, dynamic_masks: [{ mask, trajectories: [] }] })],
  [KLING_TEXT, 'callback_url', (callback_url) => ({ ...kling, callback_url })],
  [JIMENG, 'image_urls', (address) => ({ ...jimeng, image_urls: [address] })],
  [JIMENG, 'binary_data_base64', (address) => ({ ...jimeng, binary_data_base64: [address] })],
  [JIMENG, 'callback_url', (callback_url) => ({ ...jimeng, callback_url })],
];

describe('URLs passed by callers', () => {
  let service: VideoService;
  let canary: Server;
  let port: number;
  let connections = 0;
  before(async () => {
    canary = createServer((socket) => {
      connections += 1;
      socket.destroy();
    });
    await new Promise<void>((resolve) => canary.listen(0, '127.0.0.1', resolve));
    port = (canary.address() as { port: number }).port;
    service = await startVideoService('sqlite::memory:', {
      overrides: {
        // Public-looking names that resolve to a private IP address at the first or at the second DNS lookup.
        outbound: openOutbound({
          resolveConfigured: async () => Promise.reject(new Error('no names here')),
          resolveUntrusted: async () => [{ address: '127.0.0.1', family: 4 }],
          untrustedPorts: [80, 443, port],
        }),
      },
      sandbox: { keepRequests: 20_000 },
    });
    await service.operator.requestData('POST', '/api/admin/models', {
      id: 'by-schema',
      alias_of: 'kling-v1-6',
      input_schema: {
        type: 'object',
        properties: { prompt: { type: 'string' }, tail: { type: 'string', 'x-upstream': 'image_tail' } },
      },
    });
  });
  after(async () => {
    await service.stop();
    canary.close();
  });

  const quota = async () => (await service.operator.quota()).quota;
  /** Addresses that no field of any vendor may carry, in many spellings. */
  const literal = () => [
    `http://127.0.0.1:${port}/`,
    `http://2130706433:${port}/`,
    `HTTP://0x7f.1:${port}/a.png`,
    `http://①②⑦.0.0.1:${port}/`,
    ` http://127.1:${port}/`,
    `ht\ntp://127.0.0.1:${port}/`,
    `http:/\\127.0.0.1:${port}/`,
    `http://[::1]:${port}/`,
    `http://[::ffff:7f00:1]:${port}/`,
    `http://localhost:${port}/`,
    'http://169.254.169.254/latest/meta-data/',
    'http://metadata.google.internal/computeMetadata/v1/',
    'https://10.0.0.7/',
    'http://redis:6379/',
    `//127.0.0.1:${port}/x`,
    `\u00a0http://127.0.0.1:${port}/`,
    `\ufeffhttp://127.0.0.1:${port}/`,
    `${' '.repeat(100)}http://127.0.0.1:${port}/`,
    `file:///etc/passwd`,
    `gopher://127.0.0.1:${port}/`,
  ];
  const refused = async (path: string, body: Body, address: string) => {
    const answer = await service.caller.request('POST', path, body);
    assert.equal(answer.status, 400, `${address}: ${JSON.stringify(answer.body).slice(0, 200)}`);
  };

  for (const { name, model } of VENDOR_MODELS) {
    for (const [field, put] of [...COMMON, ...(OWN[name] ?? [])]) {
      it(`${name}: ${field}`, async () => {
        const before = await quota();
        for (const address of literal())
          await refused('/v1/video/generations', { model, prompt: 'x', ...put(address) }, address);
        assert.equal(await quota(), before, 'nothing is reserved');
      });
    }
  }

  for (const [path, field, put] of OFFICIAL) {
    it(`${path.split('?')[0]} ${field}`, async () => {
      const before = await quota();
      for (const address of literal()) await refused(path, put(address), address);
      assert.equal(await quota(), before, 'nothing is reserved');
    });
  }

  it('a parameter of a media schema', async () => {
    for (const address of literal())
      await refused('/v1/videos', { model: 'by-schema', prompt: 'x', tail: address }, address);
  });

  it('a prompt may mention addresses', async () => {
    const prompt = 'http://localhost:3000 drawn as graffiti';
    await service.caller.submit({ model: 'kling-v1-6', prompt, metadata: { negative_prompt: 'http://127.0.0.1' } });
    service.job('kling', prompt);
  });

  it('every known spelling, for images that the service itself fetches', async () => {
    const before = await quota();
    // A blank URL counts as absent.
    for (const address of hostileUrls(port).filter((each) => each.trim() !== '')) {
      const body = { model: 'veo-3.1-generate-preview', prompt: 'x', image: address };
      const answer = await service.caller.request('POST', '/v1/video/generations', body);
      assert.equal(answer.status, 400, `${address}: ${JSON.stringify(answer.body)}`);
      assert.match(String(answer.body.code), /^[a-z_]+$/);
    }
    // Jimeng receives all images as bytes as soon as one of several is passed as bytes.
    const mixed = { model: 'jimeng_v30', prompt: 'x', images: [image, `http://rebind.example:${port}/a.png`] };
    assert.equal((await service.caller.request('POST', '/v1/videos', mixed)).status, 400);
    assert.equal(await quota(), before, 'all of it was given back');
  });

  it('a response that names a private address yields no file', async () => {
    const { id } = await service.caller.submit({ model: 'viduq1', prompt: 'inside' });
    await service.caller.waitUntilEnded(id);
    const { kysely } = service.app.database;
    const place = (address: string) =>
      kysely
        .updateTable('tasks')
        .set({ artifact: JSON.stringify({ kind: 'url', url: address }) })
        .where('public_id', '=', String(id))
        .execute();
    const codeOf = async () => {
      const { status, body } = await service.caller.request('GET', `/v1/videos/${String(id)}/content`);
      return [status, body.code];
    };
    // An upstream in a private network may keep its files there, but not at a cloud's metadata service.
    for (const address of ['http://169.254.169.254/latest/', 'http://[::ffff:a9fe:a9fe]/', 'http://100.100.100.200/']) {
      await place(address);
      assert.deepEqual(await codeOf(), [502, 'content_unavailable'], address);
    }
    const channels = await service.operator.requestData<{ id: number; vendor: string }[]>('GET', '/api/admin/channels');
    const { id: channel } = channels.find(({ vendor }) => vendor === 'vidu') ?? { id: 0 };
    const change = { base_url: 'https://vidu.example', options: {} };
    await service.operator.requestData('PUT', `/api/admin/channels/${channel}`, change);
    for (const address of literal()) {
      await place(address);
      assert.deepEqual(await codeOf(), [502, 'content_unavailable'], address);
    }
  });

  it('no request reached the canary, and the ledger is consistent', async () => {
    assert.equal(connections, 0);
    assert.ok(service.sandbox.control.requests().every(({ body }) => !body.includes(`:${port}`)));
    await assertLedgerConsistent(service.app.database);
  });
});
