import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { it } from 'node:test';
import { mp4Of, wavOf } from '../../../test/vendors/media-samples.ts';
import { isAppError } from '../platform/app-error.ts';
import { VENDOR_ADAPTERS } from '../vendors/registry.ts';
import { InputResolver, SourceVideos } from './input-resolver.ts';

const FILES: Readonly<Record<string, Buffer>> = {
  'https://media.example/three.mp4': mp4Of(3),
  'https://media.example/two.wav': wavOf(2),
  'https://media.example/page.html': Buffer.from('<html>'),
};
const [THREE, TWO, PAGE] = Object.keys(FILES);
const BY_INPUT = { lines: [{ per_input_second: 10 }] };

async function secondsOf(vendor: string, metadata: object, price: object = BY_INPUT) {
  const adapter = VENDOR_ADAPTERS.find(({ name }) => name === vendor);
  assert.ok(adapter);
  const fetched: string[] = [];
  const resolver = new InputResolver({
    finders: [],
    outbound: {
      async requestUntrusted({ url }: { url: string }) {
        fetched.push(url);
        return { status: FILES[url] ? 200 : 404, headers: {}, body: Readable.from([FILES[url] ?? '']) };
      },
    } as never,
  });
  const use = { model: 'a', operation: 'generate', capability: undefined } as const;
  const terms = { adapter, price: price as typeof BY_INPUT };
  const { inputSeconds } = await resolver.resolve({ metadata: { ...metadata } }, { userId: 1 }, use, terms);
  return [inputSeconds, fetched.length];
}

it('measures clips that metadata names, where the price depends on their length', async () => {
  const wan = { input: { video_url: THREE, audio_url: TWO } };
  assert.deepEqual(await secondsOf('wan', wan), [5, 2]);
  assert.deepEqual(await secondsOf('kling', { video_list: [{ video_url: THREE }] }), [3, 1]);
  const content = [
    { type: 'text', text: 'a' },
    { type: 'video_url', video_url: { url: THREE } },
    { type: 'video', video: ` ${THREE}` },
    { type: 'audio_url', audio_url: TWO },
    { type: 'image_url', image_url: { url: PAGE } },
  ];
  assert.deepEqual(await secondsOf('seedance', { content }), [8, 3]);
  assert.deepEqual(await secondsOf('wan', wan, { per_second: 10 }), [undefined, 0]);
  assert.deepEqual(await secondsOf('wan', { input: { video_url: 'oss://bucket/a.mp4' } }), [undefined, 0]);
  for (const metadata of [{ input: 'text' }, { video_list: [null] }, { content: {} }])
    for (const vendor of ['wan', 'kling', 'seedance', 'vidu'])
      assert.deepEqual(await secondsOf(vendor, metadata), [undefined, 0]);
});

it('refuses a clip in metadata that cannot be measured, by its path', async () => {
  for (const [vendor, metadata, param] of [
    ['wan', { input: { video_url: PAGE } }, 'metadata.input.video_url'],
    [
      'kling',
      { video_list: [{ video_url: THREE }, { video_url: `${THREE}.gone` }] },
      'metadata.video_list.1.video_url',
    ],
    ['seedance', { content: [{ type: 'video_url', video_url: PAGE }] }, 'metadata.content.0.video_url'],
  ] as const)
    await assert.rejects(
      secondsOf(vendor, metadata),
      (error) => isAppError(error, 'invalid_request') && error.options.param === param,
    );
});

it('measures an uploaded file once, however many requests name it, and bounds what waits for others', async () => {
  const adapter = VENDOR_ADAPTERS.find(({ name }) => name === 'wan');
  assert.ok(adapter);
  let reads = 0;
  const held = Promise.withResolvers<void>();
  const resolver = new InputResolver({
    finders: [
      async (id) => ({
        mediaType: 'video/mp4',
        size: 1,
        key: id.replace(/^same-.*/, 'same'),
        address: async () => 'https://media.example/signed',
        async load() {
          reads += 1;
          if (id.startsWith('slow')) await held.promise;
          return mp4Of(3);
        },
      }),
    ],
    outbound: {} as never,
  });
  const use = { model: 'a', operation: 'generate', capability: undefined } as const;
  const resolve = (ids: readonly string[]) => {
    const inputs = ids.map((fileId, index) => ({ param: `inputs[${index}]`, role: undefined, source: { fileId } }));
    return resolver.resolve({ inputs: inputs as never }, { userId: 1 }, use, { adapter, price: BY_INPUT });
  };
  const twenty = Array.from({ length: 20 }, (_, index) => `same-${index}`);
  const found = await Promise.all(Array.from({ length: 16 }, () => resolve(twenty)));
  for (const { inputSeconds } of found) assert.equal(inputSeconds, 60);
  assert.equal(reads, 1);

  const slow = Array.from({ length: 1_100 }, (_, index) => resolve([`slow-${index}`]));
  const first = await Promise.race(
    slow.map((each) =>
      each.then(
        () => undefined,
        (error: unknown) => error,
      ),
    ),
  );
  assert.ok(isAppError(first, 'rate_limit_exceeded'));
  assert.deepEqual([first.options.params?.seconds, first.options.retryAfterSeconds], ['10', 10]);
  held.resolve();
  const settled = await Promise.allSettled(slow);
  assert.equal(settled.filter(({ status }) => status === 'fulfilled').length, 1_002);
});

it('reads a video made here once to measure it, however many quotes name it, and again only to send it', async () => {
  const whole = mp4Of(3, 1_000);
  let sent = 0;
  const opened: Readable[] = [];
  const own = new SourceVideos({
    store: { findForUser: async (id: string) => ({ id, public_id: id, status: 'SUCCESS' }) },
    contentDelivery: {
      open: async () => {
        const body = Readable.from([whole]).on('end', () => {
          sent += 1;
        });
        opened.push(body);
        return { status: 200, headers: { 'content-length': String(whole.length) }, body };
      },
    },
    playLinks: { create: () => '/play' },
    clock: { now: () => 0 },
    baseUrl: 'https://here.example',
  } as unknown as ConstructorParameters<typeof SourceVideos>[0]);
  const resolver = new InputResolver({ finders: [own.find], outbound: {} as never });
  const resolve = (vendor: string) => {
    const adapter = VENDOR_ADAPTERS.find(({ name }) => name === vendor);
    assert.ok(adapter);
    const inputs = [{ param: 'inputs[0]', role: undefined, source: { fileId: 'video_1' } }];
    const use = { model: 'a', operation: 'generate', capability: undefined } as const;
    return resolver.resolve({ inputs: inputs as never }, { userId: 1 }, use, { adapter, price: BY_INPUT });
  };
  for (const { inputSeconds } of await Promise.all(Array.from({ length: 8 }, () => resolve('wan'))))
    assert.equal(inputSeconds, 3);
  assert.equal(sent, 1);
  const { inputs } = await resolve('sora');
  assert.deepEqual([inputs[0]?.media, sent], [{ bytes: whole, mediaType: 'video/mp4' }, 2]);
  assert.ok(opened.every(({ destroyed }) => destroyed));
});

it('says that a video made here is unavailable if its file breaks off', async () => {
  const broken = async function* () {
    yield mp4Of(3);
    throw new Error('terminated');
  };
  for (const headers of [{}, { 'content-length': '5000' }]) {
    const own = new SourceVideos({
      store: { findForUser: async (id: string) => ({ id, status: 'SUCCESS' }) },
      contentDelivery: { open: async () => ({ status: 200, headers, body: Readable.from(broken()) }) },
    } as unknown as ConstructorParameters<typeof SourceVideos>[0]);
    await assert.rejects(
      async () => (await own.find('video_1', { userId: 1 }))?.load(),
      (error) => isAppError(error, 'content_unavailable'),
    );
  }
});

it('leaves clips unmeasured whose length counts only beside a video', async () => {
  const whenVideo = { lines: [{ when: { input_video: ['true'] }, per_input_second: 10 }, { per_second: 10 }] };
  assert.deepEqual(await secondsOf('wan', { input: { audio_url: TWO } }, whenVideo), [undefined, 0]);
  assert.deepEqual(await secondsOf('wan', { input: { audio_url: TWO, video_url: THREE } }, whenVideo), [5, 2]);
  assert.deepEqual(await secondsOf('kling', { video_list: [{ video_url: THREE }] }, whenVideo), [3, 1]);
});
