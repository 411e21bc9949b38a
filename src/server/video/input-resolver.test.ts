import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { it } from 'node:test';
import { mp4Of, wavOf } from '../../../test/vendors/media-samples.ts';
import { isAppError } from '../platform/app-error.ts';
import { VENDOR_ADAPTERS } from '../vendors/registry.ts';
import { InputResolver } from './input-resolver.ts';

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
