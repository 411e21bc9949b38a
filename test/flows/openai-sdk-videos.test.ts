import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import OpenAI, { APIError, BadRequestError, NotFoundError, PermissionDeniedError, toFile } from 'openai';
import type { Video } from 'openai/resources/videos';
import { loadMedia } from '../../src/sandbox/media.ts';
import { forOneDatabase } from '../for-each-database.ts';
import { startVideoService, VENDOR_MODELS, type VideoService } from './video-fixture.ts';

const isVideo = (bytes: ArrayBuffer): boolean => Buffer.from(bytes).toString('latin1', 4, 8) === 'ftyp';
const image = loadMedia('image.png').bytes;

/** OpenAI's own client in typical use; only its base URL differs. */
describe('the official openai client', () => {
  forOneDatabase((_name, _open, freshUrl) => {
    let service: VideoService;
    let openai: OpenAI;
    before(async () => {
      service = await startVideoService(await freshUrl());
      openai = clientOf(service.caller.key);
    });
    after(() => service.stop());

    const clientOf = (apiKey: string) =>
      new OpenAI({ apiKey, baseURL: `${service.baseUrl}/v1`, maxRetries: 0, timeout: 20_000 });

    async function ended(id: string): Promise<Video> {
      for (let attempts = 0; attempts < 200; attempts += 1) {
        const video = await openai.videos.retrieve(id);
        if (video.status === 'completed' || video.status === 'failed') return video;
        await pause(100);
      }
      return assert.fail(`${id} did not end`);
    }

    /** The error with which a call fails. */
    const errorOf = async (call: Promise<unknown>): Promise<APIError> => {
      const error = await call.then(
        () => assert.fail('it should have failed'),
        (reason: unknown) => reason,
      );
      assert.ok(error instanceof APIError, String(error));
      return error;
    };

    describe('with every vendor', { concurrency: VENDOR_MODELS.length }, () => {
      for (const { name, model } of VENDOR_MODELS) {
        it(`${name}: create, retrieve, list, downloadContent, delete`, async () => {
          const { id } = await openai.videos.create({ model, prompt: `openai ${name}` });
          const video = await ended(id);
          assert.deepEqual([video.model, video.prompt, video.error], [model, `openai ${name}`, null]);
          assert.deepEqual([video.id, video.object, video.status, video.progress], [id, 'video', 'completed', 100]);
          const file = await openai.videos.downloadContent(id);
          assert.equal(file.headers.get('content-type'), 'video/mp4');
          assert.ok(isVideo(await file.arrayBuffer()));
          const page = await openai.videos.list({ limit: 100 });
          assert.ok(page.data.some((each) => each.id === id));
          assert.deepEqual(await openai.videos.delete(id), { id, object: 'video.deleted', deleted: true });
          assert.ok((await errorOf(openai.videos.retrieve(id))) instanceof NotFoundError);
          assert.ok((await errorOf(openai.videos.downloadContent(id))) instanceof NotFoundError);
        });
      }
    });

    it('reads every page of a list', async () => {
      const made: string[] = [];
      for (const n of [1, 2, 3, 4, 5]) made.push((await openai.videos.create({ prompt: `page ${n} [stuck]` })).id);
      const seen: string[] = [];
      for await (const video of openai.videos.list({ limit: 2, order: 'asc' })) seen.push(video.id);
      assert.deepEqual(seen.slice(-5), made);
      assert.equal(new Set(seen).size, seen.length);
    });

    it('sends an image as a file, and as a URL', async () => {
      const file = await openai.videos.create({
        prompt: 'from a file',
        seconds: '8',
        size: '1280x720',
        input_reference: await toFile(image, 'start.png', { type: 'image/png' }),
      });
      assert.deepEqual([file.seconds, file.size], ['8', '1280x720']);
      const [upload] = service.sandbox.control
        .requests({ vendor: 'sora', operation: 'submit' })
        .filter(({ body }) => body.includes('from a file'));
      assert.match(String(upload?.headers['content-type']), /^multipart\/form-data/);
      assert.ok(upload?.body.includes(image));
      // Veo accepts bytes only; Wan accepts the data URL.
      for (const model of ['veo-3.1-generate-preview', 'wan2.5-i2v-preview']) {
        if (model.startsWith('wan')) await service.addChannel('wan', [model]);
        const image_url = `data:image/png;base64,${image.toString('base64')}`;
        const video = await openai.videos.create({ model, prompt: `with ${model}`, input_reference: { image_url } });
        assert.equal((await ended(video.id)).status, 'completed');
      }
    });

    it('remixes a video', async () => {
      const first = await openai.videos.create({ prompt: 'the first', seconds: '8' });
      const early = await errorOf(openai.videos.remix(first.id, { prompt: 'too early' }));
      assert.ok(early instanceof BadRequestError);
      await ended(first.id);
      const second = await openai.videos.remix(first.id, { prompt: 'now with rain' });
      assert.notEqual(second.id, first.id);
      assert.equal(second.remixed_from_video_id, first.id);
      assert.equal((await ended(second.id)).status, 'completed');
      const empty = await errorOf(openai.videos.remix(first.id, { prompt: '' }));
      assert.deepEqual([empty.status, empty.param], [400, 'prompt']);
      const kling = await openai.videos.create({ model: 'kling-v1-6', prompt: 'no remix here' });
      await ended(kling.id);
      assert.equal((await errorOf(openai.videos.remix(kling.id, { prompt: 'again' }))).code, 'remix_unsupported');
    });

    it('downloads the thumbnail of a video', async () => {
      const { id } = await openai.videos.create({ prompt: 'with images' });
      await ended(id);
      const thumbnail = await openai.videos.downloadContent(id, { variant: 'thumbnail' });
      assert.equal(thumbnail.headers.get('content-type'), 'image/webp');
      await thumbnail.body?.cancel();
    });

    it('shows the reason of every refusal', async () => {
      const wrongKey = await errorOf(clientOf('sk-wrong').videos.create({ prompt: 'x' }));
      assert.deepEqual([wrongKey.status, wrongKey.code], [401, 'invalid_api_key']);
      const unknown = await errorOf(openai.videos.create({ model: 'no-such-model', prompt: 'x' }));
      assert.deepEqual([unknown.code, unknown.param], ['model_not_found', 'model']);
      assert.match(unknown.message, /no-such-model/);
      const seconds = await errorOf(openai.videos.create({ prompt: 'x', seconds: '5' as '4' }));
      assert.equal(seconds.status, 400);
      assert.match(seconds.message, /seconds|Supported values/i);
      const refused = await errorOf(openai.videos.create({ prompt: 'a thing [policy]' }));
      assert.equal(refused.status, 400);
      assert.ok(refused.message.length > '400 '.length + 5 && !/no body/.test(refused.message), refused.message);
      const poor = await service.operator.makeToken({ quota_limit: 1 });
      const overLimit = await errorOf(clientOf(poor).videos.create({ prompt: 'x' }));
      assert.deepEqual([overLimit.status, overLimit.code], [403, 'quota_not_enough']);
      assert.match(overLimit.message, /This key’s limit is 0\.000002 credits/);
      const { quota } = await service.operator.quota();
      await service.operator.grantQuota(-quota);
      const noQuota = await errorOf(openai.videos.create({ prompt: 'x' }));
      await service.operator.grantQuota(quota);
      assert.ok(noQuota instanceof PermissionDeniedError);
      assert.equal(noQuota.code, 'quota_not_enough');
      const early = await openai.videos.create({ prompt: 'later [stuck]' });
      const notYet = await errorOf(openai.videos.downloadContent(early.id));
      assert.deepEqual([notYet.status, notYet.code], [400, 'task_not_completed']);
    });

    it('shows why a deleted video is missing, although the contract’s body for it has no error', async () => {
      const { id } = await openai.videos.create({ prompt: 'to be deleted' });
      await ended(id);
      assert.equal((await openai.videos.delete(id)).deleted, true);
      const missing = await errorOf(openai.videos.retrieve(id));
      assert.deepEqual([missing.status, missing.code], [404, 'task_not_exist']);
      assert.match(missing.message, /^404 There is no such video/);
      const remix = await errorOf(openai.videos.remix(id, { prompt: 'again' }));
      assert.deepEqual([remix.status, remix.code], [404, 'task_not_exist']);
      const plain = await service.caller.request('GET', `/v1/videos/${id}`);
      assert.deepEqual(plain.body, { code: 'task_not_exist', message: 'task_not_exist', data: null });
    });

    it('refuses edits, extensions and characters as unsupported', async () => {
      const video = await toFile(image, 'clip.mp4');
      for (const [operation, call] of [
        ['videos.createCharacter', () => openai.videos.createCharacter({ name: 'cat', video })],
        ['videos.getCharacter', () => openai.videos.getCharacter('char_1')],
      ] as const) {
        const refused = await errorOf(call());
        assert.deepEqual([refused.status, refused.code], [400, 'operation_unsupported'], operation);
        assert.ok(refused.message.includes(operation), refused.message);
      }
    });

    it('reads the reason of a failed video', async () => {
      const { id } = await openai.videos.create({ prompt: 'doomed [fail]' });
      const { status, error } = await ended(id);
      assert.equal(status, 'failed');
      assert.match(String(error?.message), /could not be generated/);
    });

    it('requests sora-2 unchanged, served by another vendor through an alias', async () => {
      await service.operator.requestData('PUT', '/api/admin/models/sora-2', { alias_of: 'veo-3.1-generate-preview' });
      const video = await openai.videos.create({
        model: 'sora-2',
        prompt: 'an old program',
        seconds: '8',
        size: '1280x720',
      });
      const done = await ended(video.id);
      assert.deepEqual([done.status, done.model], ['completed', 'sora-2']);
      assert.ok(isVideo(await (await openai.videos.downloadContent(video.id)).arrayBuffer()));
      assert.equal(service.job('veo', 'an old program').seconds, 8);
    });
  });
});
