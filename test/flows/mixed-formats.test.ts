import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { loadMedia } from '../../src/sandbox/media.ts';
import { forOneDatabase } from '../for-each-database.ts';
import { type Fields, idOf, startVideoService, type VideoService } from './video-fixture.ts';

const image = loadMedia('image.png').bytes.toString('base64');
const JIMENG = '/jimeng/?Action=';
const VERSION = '&Version=2022-08-31';

describe('requests in the formats of Kling and Jimeng with unified responses', () => {
  forOneDatabase((_name, _open, freshUrl) => {
    let service: VideoService;
    before(async () => {
      service = await startVideoService(await freshUrl(), {}, [
        { name: 'kling', model: 'kling-v1-6' },
        { name: 'jimeng', model: 'jimeng_t2v_v30' },
        { name: 'sora', model: 'sora-2' },
      ]);
    });
    after(() => service.stop());

    /** The JSON body that the vendor received for a prompt. */
    const received = (vendor: string, prompt: string): Fields => {
      const input = service.job(vendor, prompt).input as Fields;
      return (vendor === 'kling' ? input.body : input) as Fields;
    };
    const refused = async (path: string, body: unknown, word: RegExp) => {
      const { quota } = await service.operator.quota();
      const answer = await service.caller.request('POST', path, body);
      assert.equal(answer.status, 400, JSON.stringify(answer.body));
      assert.deepEqual(Object.keys(answer.body).sort(), ['code', 'data', 'message']);
      assert.equal(answer.body.data, null);
      assert.match(String(answer.body.message), word);
      assert.equal((await service.operator.quota()).quota, quota);
    };

    it('A: the official body arrives unchanged, and the response is in our format', async () => {
      const body = {
        model_name: 'kling-v1-6',
        prompt: 'official text',
        negative_prompt: 'blur',
        cfg_scale: 0.3,
        aspect_ratio: '9:16',
        duration: '10',
        mode: 'pro',
        camera_control: {
          type: 'simple',
          config: { horizontal: 0, vertical: 0, pan: 0, tilt: 0, roll: 0, zoom: 3 },
        },
      };
      const before = (await service.operator.quota()).quota;
      const submitted = await service.caller.submit(body, '/kling/v1/videos/text2video');
      assert.match(idOf(submitted), /^task_/);
      const { external_task_id: external, ...sent } = received('kling', 'official text');
      assert.deepEqual(sent, body);
      assert.equal(external, submitted.task_id);
      // Ten seconds of "pro".
      assert.equal(before - (await service.operator.quota()).quota, 28_000 * 10 * 1.75);
      await service.caller.waitUntilEnded(idOf(submitted));
      const task = await service.caller.unified(idOf(submitted), '/kling/v1/videos/text2video');
      assert.deepEqual(task, await service.caller.unified(idOf(submitted)));
      assert.deepEqual([task.status, task.progress, task.action], ['SUCCESS', '100%', 'textGenerate']);
    });

    it('A: from images', async () => {
      const body = { model_name: 'kling-v1-6', prompt: 'official image', image, image_tail: image };
      const submitted = await service.caller.submit(body, '/kling/v1/videos/image2video');
      const sent = received('kling', 'official image');
      assert.deepEqual([sent.image, sent.image_tail], [image, image]);
      const task = await service.caller.unified(idOf(submitted), '/kling/v1/videos/image2video');
      assert.equal(task.action, 'firstTailGenerate');
    });

    it('A and B: numeric strings and numbers, empty images and data URLs are converted to the vendor’s form', async () => {
      const data = `data:image/jpg;charset=utf-8;base64,${image}`;
      const kling = { model_name: 'kling-v1-6', prompt: 'loose kling', duration: 10, cfg_scale: '0.5', image: data };
      await service.caller.submit({ ...kling, image_tail: '' }, '/kling/v1/videos/image2video');
      const sent = received('kling', 'loose kling');
      assert.deepEqual([sent.duration, sent.cfg_scale, sent.image], ['10', 0.5, image]);
      assert.equal('image_tail' in sent, false);
      const jimeng = { req_key: 'jimeng_t2v_v30', prompt: 'loose jimeng', seed: '7', frames: '241', image_urls: [] };
      await service.caller.submit(jimeng, `${JIMENG}CVSync2AsyncSubmitTask${VERSION}`);
      const { image_urls: _, ...rest } = jimeng;
      assert.deepEqual(received('jimeng', 'loose jimeng'), { ...rest, seed: 7, frames: 241 });
    });

    it('A: unsupported requests are refused before anything is charged', async () => {
      const path = '/kling/v1/videos/text2video';
      await refused('/kling/v1/videos/image2video', { model_name: 'kling-v1-6', prompt: 'x' }, /image is required/);
      await refused(path, { model_name: 'kling-v1-6', prompt: 'x', duration: true }, /duration must be a string/);
      await refused(path, { model_name: 'kling-v1-6', prompt: 'x', duration: '5.5' }, /duration/);
      await refused(path, { model_name: 'kling-v1-6', prompt: 'x', callback_url: 'ftp://a.example/' }, /callback_url/);
      await refused(path, { model_name: 'sora-2', prompt: 'x' }, /not a model of this vendor/);
      await refused(path, { model_name: 'kling-v1-6' }, /prompt is required/);
    });

    it('B: submit and query by Action', async () => {
      const body = { req_key: 'jimeng_t2v_v30', prompt: 'official jimeng', seed: 7, frames: 241, aspect_ratio: '16:9' };
      const submitted = await service.caller.submit(body, `${JIMENG}CVSync2AsyncSubmitTask${VERSION}`);
      assert.match(idOf(submitted), /^task_/);
      assert.deepEqual(received('jimeng', 'official jimeng'), body);
      await service.caller.waitUntilEnded(idOf(submitted));
      const query = { req_key: body.req_key, task_id: idOf(submitted) };
      const { status, body: answer } = await service.caller.request(
        'POST',
        `${JIMENG}CVSync2AsyncGetResult${VERSION}`,
        query,
      );
      assert.equal(status, 200);
      assert.deepEqual(answer, {
        code: 'success',
        message: '',
        data: await service.caller.unified(idOf(submitted)),
      });
      assert.equal((answer.data as Fields).status, 'SUCCESS');
    });

    it('B: unsupported requests are refused', async () => {
      const body = { req_key: 'jimeng_t2v_v30', prompt: 'x' };
      const path = `${JIMENG}CVSync2AsyncSubmitTask${VERSION}`;
      await refused(`${JIMENG}CVProcess${VERSION}`, body, /Action/);
      await refused(`${JIMENG}CVSync2AsyncSubmitTask&Version=2020-01-01`, body, /Version/);
      await refused('/jimeng/', body, /Action/);
      await refused(path, { prompt: 'x' }, /req_key/);
      await refused(path, { ...body, image_urls: 'https://a.example/a.png' }, /image_urls/);
      await refused(path, { ...body, frames: 'all' }, /frames/);
      await refused(path, { ...body, req_key: 'kling-v1-6' }, /not a model of this vendor/);
      await refused(`${JIMENG}CVSync2AsyncGetResult${VERSION}`, { req_key: 'jimeng_t2v_v30' }, /task_id/);
    });

    it('an unknown task has the documented body on all of these paths', async () => {
      const expected = { status: 400, body: { code: 'task_not_exist', message: 'task_not_exist', data: null } };
      for (const [method, path, body] of [
        ['GET', '/kling/v1/videos/text2video/none', undefined],
        ['GET', '/kling/v1/videos/image2video/none', undefined],
        ['POST', `${JIMENG}CVSync2AsyncGetResult${VERSION}`, { req_key: 'jimeng_t2v_v30', task_id: 'none' }],
        ['GET', '/v1/videos/none', undefined],
        ['GET', '/v1/video/generations/none', undefined],
      ] as const) {
        const { status, body: answer } = await service.caller.request(method, path, body);
        assert.deepEqual({ status, body: answer }, expected, path);
      }
    });
  });
});
