import assert from 'node:assert/strict';
import { test } from 'node:test';
import { videoRequest } from '../../../../test/vendors/adapter-context.ts';
import { UnsupportedRequestError } from '../../upstreams/upstream.ts';
import type { VideoRequest } from '../adapter.ts';
import { toEncoded, toVeoBody, type VeoRoute, veoBillingFactors } from './request.ts';

const encoded = { data: 'iVBORw0KGgo=', mimeType: 'image/png' };
const file = { bytes: Buffer.from('iVBORw0KGgo=', 'base64'), mediaType: 'image/png' };
const image = { bytesBase64Encoded: 'iVBORw0KGgo=', mimeType: 'image/png' };
const make = (request: Partial<VideoRequest>, images = 0, route: VeoRoute = 'gemini', options = {}) =>
  toVeoBody(
    videoRequest({ model: 'veo-3.1-generate-preview', ...request }),
    { images: Array(images).fill(encoded), videos: [] },
    route,
    options,
  );
const refused = (param: string, ...args: Parameters<typeof make>) =>
  assert.throws(
    () => make(...args),
    (error) => error instanceof UnsupportedRequestError && error.param === param,
  );

test('minimal request: one instance, eight seconds, 720p', () => {
  const { prompt } = videoRequest({ model: 'veo' });
  assert.deepEqual(make({}), {
    instances: [{ prompt }],
    parameters: { sampleCount: 1, durationSeconds: 8, resolution: '720p' },
  });
  assert.deepEqual(make({ model: 'veo-2.0-generate-001', seconds: 5 }).parameters, {
    sampleCount: 1,
    durationSeconds: 5,
  });
});

test('one image is the first frame, two are first and last, three are references', () => {
  const { prompt } = videoRequest({ model: 'veo' });
  assert.deepEqual(make({}, 1).instances, [{ prompt, image }]);
  assert.deepEqual(make({}, 2).instances, [{ prompt, image, lastFrame: image }]);
  const reference = { image, referenceType: 'asset' };
  assert.deepEqual(make({}, 3).instances, [{ prompt, referenceImages: [reference, reference, reference] }]);
  refused('images', { model: 'veo-3.0-generate-001' }, 2);
  refused('images', { model: 'veo-3.1-lite-generate-preview' }, 3);
  refused('images', {}, 4);
});

test('only the keys of the native table are sent', () => {
  const metadata = {
    aspectRatio: '9:16',
    durationSeconds: 8,
    negativePrompt: 'text',
    personGeneration: 'allow_adult',
    resolution: '1080P',
    sampleCount: 4,
    storageUri: 'gs://theirs/',
    seed: 3,
    base_url: 'https://canary.example',
  };
  assert.deepEqual(make({ metadata, seconds: 4, size: '1280x720' }).parameters, {
    sampleCount: 1,
    durationSeconds: 8,
    aspectRatio: '9:16',
    resolution: '1080p',
    negativePrompt: 'text',
    personGeneration: 'allow_adult',
  });
});

test('the cloud platform accepts a few more keys', () => {
  const metadata = {
    seed: 3,
    generateAudio: false,
    enhancePrompt: true,
    compressionQuality: 'lossless',
    sampleCount: 1,
  };
  assert.deepEqual(make({ metadata }, 0, 'vertex').parameters, {
    sampleCount: 1,
    durationSeconds: 8,
    resolution: '720p',
    seed: 3,
    generateAudio: false,
    enhancePrompt: true,
    compressionQuality: 'lossless',
  });
  refused('metadata.sampleCount', { metadata: { sampleCount: 2 } }, 0, 'vertex');
});

test('results are only stored where the administrator permits it', () => {
  const options = { storage_uri: 'gs://ours/veo' };
  const at = (storageUri?: string) => make({ metadata: { storageUri } }, 0, 'vertex', options).parameters;
  assert.deepEqual((at() as { storageUri: string }).storageUri, 'gs://ours/veo/');
  assert.deepEqual((at('gs://ours/veo/team-a') as { storageUri: string }).storageUri, 'gs://ours/veo/team-a');
  for (const storageUri of ['gs://theirs/veo/', 'gs://ours/veo-secret/', 'gs://ours/veo/../x']) {
    refused('metadata.storageUri', { metadata: { storageUri } }, 0, 'vertex', options);
  }
  refused('metadata.storageUri', { metadata: { storageUri: 'gs://ours/veo/' } }, 0, 'vertex');
  refused('metadata.storageUri', { metadata: { storageUri: 'https://x' } }, 0, 'vertex', options);
});

for (const [size, aspectRatio, resolution] of [
  ['1280x720', '16:9', '720p'],
  ['720x1280', '9:16', '720p'],
  ['1792x1024', '16:9', '720p'],
  ['1024x1792', '9:16', '720p'],
  ['1920x1080', '16:9', '1080p'],
  ['3840x2160', '16:9', '4k'],
  ['1080P', undefined, '1080p'],
  ['9:16', '9:16', '720p'],
] as const) {
  test(`size ${size} is ${aspectRatio ?? 'any ratio'} at ${resolution}`, () => {
    const parameters = make({ size }).parameters as { aspectRatio?: string; resolution: string };
    assert.deepEqual([parameters.aspectRatio, parameters.resolution], [aspectRatio, resolution]);
  });
}

test('a field that cannot be expressed is refused by its name', () => {
  refused('mode', { mode: 'pro' });
  refused('size', { size: '1024x1024' });
  refused('size', { size: '3840x2160', model: 'veo-3.0-generate-001' });
  refused('size', { size: '1080p', model: 'veo-2.0-generate-001' });
  refused('duration', { seconds: 5 });
  refused('duration', { seconds: 4, size: '1920x1080' });
  refused('metadata.durationSeconds', { metadata: { durationSeconds: 7 } });
  refused('metadata.durationSeconds', { metadata: { durationSeconds: '8' } });
  refused('metadata.aspectRatio', { metadata: { aspectRatio: '1:1' } });
  refused('metadata.resolution', { metadata: { resolution: '8k' } });
});

test('the price follows the request as sent', () => {
  const meter = (request: Partial<VideoRequest>) =>
    veoBillingFactors(videoRequest({ model: 'veo-3.1-generate-preview', ...request }));
  assert.deepEqual(meter({}), { seconds: 8, factors: { resolution: '720p', audio: 'true' } });
  assert.deepEqual(meter({ seconds: 4 }).seconds, 4);
  const extra = [{ path: 'parameters.durationSeconds', value: 6 }];
  assert.deepEqual(meter({ seconds: 4, extraFields: extra }).seconds, 6);
  assert.equal(meter({ model: 'veo-2.0-generate-001' }).factors.audio, 'false');
});

test('files are sent as Base64; those given by URL were downloaded before', () => {
  assert.deepEqual(toEncoded([{ ...file, filename: 'b.png' }, file]), [encoded, encoded]);
  assert.throws(() => toEncoded([{ url: 'https://images.example/a.png' }]), UnsupportedRequestError);
});

test('Vertex AI extends a video by seven seconds at 720p, in its ratio', () => {
  const request = videoRequest({ model: 'veo-3.1-generate-001', operation: 'extend' });
  const media = { images: [], videos: [{ data: 'AAAA', mimeType: 'video/mp4' }] };
  const { instances, parameters } = toVeoBody(request, media, 'vertex');
  const video = { bytesBase64Encoded: 'AAAA', mimeType: 'video/mp4' };
  assert.deepEqual(instances, [{ prompt: request.prompt, video }]);
  assert.deepEqual(parameters, { sampleCount: 1, durationSeconds: 7, resolution: '720p' });
  assert.equal(veoBillingFactors(request).seconds, 7);
  for (const wrong of [{ seconds: 8 }, { size: '1080p' }])
    assert.throws(() => toVeoBody({ ...request, ...wrong }, media, 'vertex'), UnsupportedRequestError);
  assert.throws(() => toVeoBody(request, media, 'gemini'), UnsupportedRequestError);
});
