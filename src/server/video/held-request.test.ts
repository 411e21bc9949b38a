import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Base64Text } from '../platform/base64.ts';
import type { VideoRequest } from '../vendors/adapter.ts';
import { fromHeldRequest, toHeldRequest } from './queue-store.ts';

const request: VideoRequest = {
  taskId: 'task_1',
  model: 'a-model',
  prompt: 'a cat',
  images: [
    { bytes: Buffer.from([1, 2, 3]), mediaType: 'image/png', role: 'first_frame' },
    { url: 'https://example.com/cat.png', role: 'reference' },
  ],
  videos: [{ bytes: Buffer.from('a video'), mediaType: 'video/mp4', role: 'source' }],
  seconds: 5,
  metadata: { seed: 7, nested: { $bytes: 0 }, list: [{ $base64: [0, ''] }, { $escaped: { $bytes: 1 } }] },
  extraFields: [{ path: 'input.image', value: new Base64Text(Buffer.from('an image'), 'data:image/png;base64,') }],
  officialBody: { image: new Base64Text(Buffer.from('another')), list: [1, null, 'x'] },
  sourceHandle: { id: 'v1' },
};

describe('requests of waiting videos', () => {
  it('come back as they were, with their bytes', async () => {
    const held = await toHeldRequest(request);
    assert.deepEqual(fromHeldRequest(held), request);
    assert.equal(held.parts.length, 4);
    assert.ok(!held.json.includes(Buffer.from('a video').toString('base64')));
  });

  it('leave out the content of files of the account', async () => {
    const file = {
      bytes: Buffer.from('from a file'),
      mediaType: 'image/png',
      role: 'reference',
      fileId: 'file-1',
    } as const;
    const held = await toHeldRequest({ ...request, images: [file], videos: [] });
    const [image] = fromHeldRequest(held).images;
    assert.deepEqual(image, { url: '', role: 'reference', fileId: 'file-1' });
  });
});
