import assert from 'node:assert/strict';
import { it } from 'node:test';
import { isAppError } from '../platform/app-error.ts';
import { NO_IMAGES } from '../platform/json.ts';
import type { ModelCapability } from '../vendors/adapter.ts';
import { parseGenerationRequest } from './generation-request.ts';
import { arrangeMedia, type MediaUse } from './request-media.ts';

type Roles = ModelCapability['images']['roles'];
const FRAMES: Roles = ['first_frame', 'last_frame'];
const ALL: Roles = ['first_frame', 'last_frame', 'reference'];
const url = (name: string) => `https://a.example/${name}.png`;
const PNG = Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), Buffer.alloc(64)]);
const upload = (field: string) => ({ field, filename: 'a.png', mimeType: 'image/png', bytes: PNG });

interface Given {
  readonly body: Readonly<Record<string, unknown>>;
  readonly roles?: Roles;
  readonly files?: readonly string[];
  readonly use?: Partial<MediaUse>;
}

function arrange({ body, roles = ALL, files = [], use = {} }: Given) {
  const { media } = parseGenerationRequest(
    { model: 'm', prompt: 'a', ...body },
    { files: files.map(upload), bodyImages: NO_IMAGES },
    undefined,
  );
  assert.ok(media !== undefined);
  const capability = { images: { min: 0, max: 9, roles }, ways: [] };
  return arrangeMedia(media, { model: 'm', capability, isDeclared: () => false, passthrough: false, ...use });
}

const addresses = (given: Given): string[] =>
  arrange(given).images.map((image) => ('url' in image ? image.url.slice(18, -4) : 'file'));

it('accepts an image from every field and form with a clear meaning', () => {
  const forms = [
    url('a'),
    { url: url('a') },
    { image_url: url('a') },
    { type: 'image_url', image_url: { url: url('a'), detail: 'high' } },
    [url('a')],
    [{ url: url('a') }, null, ''],
    { 0: url('a') },
  ];
  for (const field of [
    'image',
    'images',
    'input_reference',
    'image_url',
    'imageUrls',
    'input_image',
    'first_frame_image',
  ])
    for (const form of forms)
      assert.deepEqual(addresses({ body: { [field]: form } }), ['a'], `${field} ${JSON.stringify(form)}`);
});

it('puts frames and references in the order adapters expect', () => {
  const [a, b, c] = [url('a'), url('b'), url('c')];
  for (const [body, expected] of [
    [{ last_frame_image: b, first_frame_image: a }, ['a', 'b']],
    [{ end_image_url: b, image: a }, ['a', 'b']],
    [
      {
        images: [
          { url: b, role: 'last_frame' },
          { url: a, role: 'first_frame' },
        ],
      },
      ['a', 'b'],
    ],
    [{ image: a, image_tail: a }, ['a', 'a']],
    [{ image: a, image_url: a, images: [a, b] }, ['a', 'b']],
    [{ images: [a, a] }, ['a', 'a']],
    [{ image: a, images: [a, a] }, ['a', 'a']],
    [{ image: a, images: [a, b, a] }, ['a', 'b', 'a']],
    [{ reference_images: [a, b, c] }, ['a', 'b', 'c']],
  ] as const)
    assert.deepEqual(addresses({ body }), expected, JSON.stringify(body));
  assert.deepEqual(addresses({ body: { reference_image: a }, roles: ['reference'] }), ['a']);
  const named = arrange({ body: { image: b, reference_images: [a] } }).images;
  assert.deepEqual(
    named.map(({ role }) => role),
    ['reference', 'reference'],
  );
  assert.deepEqual(addresses({ body: {}, files: ['image[]', 'file'] }), ['file', 'file']);
});

it('counts empty media as absent', () => {
  for (const empty of ['', [], null, {}, [''], [null], { url: '' }.url])
    for (const field of ['image', 'images', 'input_reference', 'image_url', 'video_url', 'mask'])
      assert.deepEqual(addresses({ body: { [field]: empty } }), [], field);
});

it('rejects unusable media with the name of the field', () => {
  const a = url('a');
  const cases: readonly (readonly [string, Given])[] = [
    ['video_url', { body: { video_url: 'https://a.example/a.mp4' } }],
    ['video', { body: { video: { url: 'https://a.example/a.mp4' } } }],
    ['audio', { body: { audio: ['https://a.example/a.mp3'] } }],
    ['mask_image', { body: { image: a, mask_image: a } }],
    ['content', { body: { content: [{ type: 'image_url', image_url: { url: a } }] } }],
    ['input', { body: { input: { img_url: a } } }],
    ['file_id', { body: { file_id: 'file-1' } }],
    ['video_ids', { body: { video_ids: ['v1'] } }],
    ['anything', { body: { anything: 'data:image/png;base64,iVBORw0KGgo' } }],
    ['mask', { body: {}, files: ['mask'] }],
    ['last_frame', { body: { last_frame: a } }],
    ['last_frame', { body: { image: a, last_frame: url('b') }, roles: ['first_frame'] }],
    ['reference_images', { body: { reference_images: [a, a, a] }, roles: FRAMES }],
    ['first_frame_image', { body: { first_frame_image: a, image: url('b') } }],
    ['image_url', { body: { image_url: a }, roles: [] }],
    ['image_url', { body: { image_url: 'no image' } }],
    ['images.0.role', { body: { images: [{ url: a, role: 'director' }] } }],
  ];
  for (const [param, given] of cases)
    assert.throws(
      () => arrange(given),
      (error) => isAppError(error, 'invalid_request') && error.options.param === param,
      JSON.stringify(given.body),
    );
});

it('leaves other members, arguments of a media schema, and passed-through members unchanged', () => {
  const harmless = { aspect_ratio: '16:9', image_size: '1024x1024', frames: 121, audio: true, video_quality: 'high' };
  assert.deepEqual(
    addresses({ body: { ...harmless, website: 'https://a.example/', webhook_url: 'https://a.example/' } }),
    [],
  );
  const body = { image_url: url('a'), video_url: url('b') };
  assert.deepEqual(addresses({ body, use: { isDeclared: () => true } }), []);
  const { images, fields } = arrange({ body, use: { passthrough: true } });
  assert.deepEqual([images.length, [...fields]], [1, ['image_url']]);
});

it('reads numbers sent as strings, JSON in a form, blank fields and media type names', () => {
  const read = (body: Readonly<Record<string, unknown>>) =>
    parseGenerationRequest({ model: 'm', prompt: 'a', ...body }, { files: [], bodyImages: NO_IMAGES }, undefined);
  for (const body of [{ seconds: 8 }, { seconds: ' 8 ' }, { duration: '8' }, { duration: 8, seconds: '8' }])
    assert.equal(read(body).seconds, 8, JSON.stringify(body));
  assert.deepEqual([read({ seconds: 8 }).body.seconds, read({ duration: '8' }).body.duration], ['8', 8]);
  const blank = read({ seconds: '', duration: ' ', size: '', mode: '', metadata: '' });
  assert.deepEqual([blank.seconds, blank.size, blank.mode, blank.metadata], [undefined, undefined, undefined, {}]);
  const metadata = { seed: 7, image_tail: 'data:IMAGE/JPG;charset=utf-8;base64,/9j/' };
  assert.deepEqual(read({ metadata: JSON.stringify(metadata) }).metadata, {
    seed: 7,
    image_tail: 'data:image/jpeg;base64,/9j/',
  });
  for (const body of [
    { seconds: 0 },
    { duration: '4000' },
    { metadata: '[]' },
    { metadata: '{' },
    { duration: 5, seconds: 6 },
  ])
    assert.throws(
      () => read(body),
      (error) => isAppError(error, 'invalid_request'),
      JSON.stringify(body),
    );
});
