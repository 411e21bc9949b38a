import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { loadMedia } from '../../src/sandbox/media.ts';
import { forOneDatabase } from '../for-each-database.ts';
import { type Fields, startVideoService, type VideoService } from './video-fixture.ts';

const IMAGE = '/kling/v1/videos/image2video';
const NATIVE_IMAGE = '/kling/native/v1/videos/image2video';
const JIMENG = '/jimeng/?Action=CVSync2AsyncSubmitTask&Version=2022-08-31';

const large = (fill: string): string =>
  Buffer.concat([loadMedia('image.png').bytes, Buffer.alloc(90_000, fill)]).toString('base64');
const [first, second] = [large('first'), large('second')];

describe('large images in the formats of Kling and Jimeng', () => {
  forOneDatabase((_name, _open, freshUrl) => {
    let service: VideoService;
    before(async () => {
      service = await startVideoService(await freshUrl(), {}, [
        { name: 'kling', model: 'kling-v1-6' },
        { name: 'jimeng', model: 'jimeng_i2v_first_v30' },
      ]);
    });
    after(() => service.stop());
    const sentToKling = (prompt: string) => (service.job('kling', prompt).input as { readonly body: Fields }).body;

    for (const path of [IMAGE, NATIVE_IMAGE])
      it(`are sent in full: ${path}`, async () => {
        const body = { model_name: 'kling-v1-6', prompt: `by ${path}`, image: first, image_tail: second };
        assert.equal((await service.caller.request('POST', path, body)).status, 200);
        const sent = sentToKling(`by ${path}`);
        assert.deepEqual([sent.image === first, sent.image_tail === second], [true, true]);
      });

    it('are sent in full in a list, and in a signed request', async () => {
      const body = { req_key: 'jimeng_i2v_first_v30', prompt: 'signed', binary_data_base64: [first] };
      assert.equal((await service.caller.request('POST', JIMENG, body)).status, 200);
      const sent = service.job('jimeng', 'signed').input as { readonly binary_data_base64: unknown[] };
      assert.equal(sent.binary_data_base64[0] === first, true);
    });

    it('are sent in full in fields declared by a media schema', async () => {
      await service.operator.requestData('POST', '/api/admin/models', {
        id: 'kling-with-tail',
        alias_of: 'kling-v1-6',
        input_schema: { type: 'object', properties: { prompt: { type: 'string' }, image_tail: { type: 'string' } } },
      });
      const body = { model_name: 'kling-with-tail', prompt: 'declared', image: first, image_tail: second };
      assert.equal((await service.caller.request('POST', IMAGE, body)).status, 200);
      assert.equal(sentToKling('declared').image_tail === second, true);
    });

    it('are refused if they are private URLs after long whitespace, or not images', async () => {
      const blanks = ' '.repeat(70_000);
      for (const image of [
        `${blanks}http://127.0.0.1/`,
        `${blanks}file:///etc/passwd`,
        `http://127.0.0.1/${'a'.repeat(70_000)}`,
      ])
        for (const [path, body] of [
          [IMAGE, { model_name: 'kling-v1-6', prompt: 'private', image: first, image_tail: image }],
          [IMAGE, { model_name: 'kling-v1-6', prompt: 'private', image }],
          [NATIVE_IMAGE, { model_name: 'kling-v1-6', prompt: 'private', image: first, image_tail: image }],
          [JIMENG, { req_key: 'jimeng_i2v_first_v30', prompt: 'private', binary_data_base64: [image] }],
          ['/v1/videos', { model: 'kling-v1-6', prompt: 'private', image }],
          ['/v1/videos', { model: 'kling-v1-6', prompt: 'private', metadata: { image_tail: image } }],
        ] as const)
          assert.equal((await service.caller.request('POST', path, body)).status, 400, `${path} ${Object.keys(body)}`);
      assert.equal(service.sandbox.control.jobs('kling').filter(({ prompt }) => prompt === 'private').length, 0);
    });

    it('a long string that is not Base64 is refused, like a short one', async () => {
      for (const text of [second, 'short'])
        for (const field of ['image', 'image_tail'] as const) {
          const images = { image: first, image_tail: second, [field]: `data:image/png;base64,${text}é` };
          const body = { model_name: 'kling-v1-6', prompt: 'not Base64', ...images };
          const { status, body: answer } = await service.caller.request('POST', IMAGE, body);
          assert.equal(status, 400, JSON.stringify(answer));
          assert.match(JSON.stringify(answer), new RegExp(`${field} must be`));
        }
    });
  });
});
