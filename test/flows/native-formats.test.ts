import assert from 'node:assert/strict';
import { createHash, createHmac } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { loadMedia } from '../../src/sandbox/media.ts';
import { forEachDatabase } from '../for-each-database.ts';
import { type Fields, startVideoService, type VideoService } from './video-fixture.ts';

const image = loadMedia('image.png').bytes.toString('base64');
const TEXT = '/kling/native/v1/videos/text2video';
const IMAGE = '/kling/native/v1/videos/image2video';
const OMNI = '/kling/native/v1/videos/omni-video';
const ACTION = '?Action=CVSync2AsyncSubmitTask&Version=2022-08-31';
const RESULT = '?Action=CVSync2AsyncGetResult&Version=2022-08-31';

interface Reply {
  readonly status: number;
  readonly body: Fields & { readonly data?: unknown };
}

/** A token as created by Kling's own samples: HS256 over `iss`, `exp` and `nbf`. */
function klingToken(accessKey: string, secretKey: string): string {
  const now = Math.floor(Date.now() / 1000);
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const signed = `${encode({ alg: 'HS256', typ: 'JWT' })}.${encode({ iss: accessKey, exp: now + 1800, nbf: now - 5 })}`;
  return `${signed}.${createHmac('sha256', secretKey).update(signed).digest('base64url')}`;
}

/** Headers as sent by `@volcengine/openapi` 1.36, which signs two headers and names the scope in `Authorization`. */
function volcengineHeaders(accessKey: string, secretKey: string, query: string, body: string): Record<string, string> {
  const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
  const hmac = (key: string | Buffer, text: string) => createHmac('sha256', key).update(text).digest();
  const date = new Date().toISOString().replace(/[-:]|\.\d{3}/g, '');
  const scope = `${date.slice(0, 8)}/cn-north-1/cv/request`;
  const names = 'x-content-sha256;x-date';
  const canonical = ['POST', '/', query, `x-content-sha256:${sha256(body)}\nx-date:${date}\n`, names, sha256(body)];
  const key = ['cn-north-1', 'cv', 'request'].reduce<Buffer>(hmac, hmac(secretKey, date.slice(0, 8)));
  const signature = hmac(key, ['HMAC-SHA256', date, scope, sha256(canonical.join('\n'))].join('\n')).toString('hex');
  return {
    'x-date': date,
    'x-content-sha256': sha256(body),
    'content-type': 'application/json; charset=utf-8',
    'user-agent': 'volc-sdk-nodejs/v1.36.2',
    authorization: `HMAC-SHA256 Credential=${accessKey}/${scope}, SignedHeaders=${names}, Signature=${signature}`,
  };
}

describe('the native APIs of Kling and Jimeng', () => {
  forEachDatabase((_name, _open, freshUrl) => {
    let service: VideoService;
    let folder: string;
    before(async () => {
      folder = await mkdtemp(join(tmpdir(), 'rg-native-'));
      const env = { ARTIFACTS: 'disk', ARTIFACTS_DIR: folder, ARTIFACTS_MIN_FREE_GB: '0', ALLOW_HTTP: '1' };
      service = await startVideoService(await freshUrl(), { env }, [
        { name: 'kling', model: 'kling-v1-6' },
        { name: 'kling', model: 'kling-v3-omni' },
        { name: 'jimeng', model: 'jimeng_t2v_v30' },
        { name: 'jimeng', model: 'jimeng_i2v_first_tail_v30' },
      ]);
    });
    after(async () => {
      await service.stop();
      await rm(folder, { recursive: true, force: true });
    });

    async function send(path: string, headers: Record<string, string>, body?: object): Promise<Reply> {
      const response = await fetch(`${service.baseUrl}${path}`, {
        method: body === undefined ? 'GET' : 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      return { status: response.status, body: (await response.json()) as Fields };
    }
    const kling = (path: string, body?: object, token = service.caller.key) =>
      send(path, { authorization: `Bearer ${token}` }, body);
    const dataOf = ({ status, body }: Reply): Fields => {
      assert.equal(status, 200, JSON.stringify(body));
      return body.data as Fields;
    };

    describe('Kling', () => {
      async function submit(body: object, path = TEXT): Promise<Fields> {
        const reply = await kling(path, { model_name: 'kling-v1-6', ...body });
        const data = dataOf(reply);
        assert.deepEqual(Object.keys(reply.body).sort(), ['code', 'data', 'message', 'request_id']);
        assert.deepEqual([reply.body.code, reply.body.message], [0, 'SUCCEED']);
        assert.deepEqual(Object.keys(data).sort(), ['created_at', 'task_id', 'task_info', 'task_status', 'updated_at']);
        assert.equal(data.task_status, 'submitted');
        assert.ok(Number(data.created_at) > 1_600_000_000_000, 'times are milliseconds');
        return data;
      }
      const ended = async (id: unknown, path = TEXT): Promise<Fields> => {
        await service.caller.waitUntilEnded(id);
        return dataOf(await kling(`${path}/${String(id)}`));
      };

      it('accepts a task, and is polled by id or by external_task_id until it succeeds', async () => {
        const body = { prompt: 'native text', external_task_id: 'mine-1', duration: '5', callback_url: null };
        const { task_id: id, task_info } = await submit(body);
        assert.deepEqual(task_info, { external_task_id: 'mine-1' });
        const task = await ended(id);
        assert.equal(task.task_status, 'succeed');
        assert.equal(task.task_id, id);
        const { videos } = task.task_result as { videos: Fields[] };
        assert.match(String(videos[0]?.url), /^http/);
        assert.match(String(videos[0]?.duration), /^\d/);
        assert.deepEqual(dataOf(await kling(`${TEXT}/mine-1`)), task);
        // The vendor knows the task by our id, not by the caller's.
        const input = service.job('kling', 'native text').input as { body: Fields };
        assert.equal(input.body.external_task_id, id);
        assert.equal('callback_url' in input.body, false);
      });

      it('grants an external_task_id to one of several concurrent submits, and refuses the others', async () => {
        const quota = async () => (await service.operator.quota()).quota;
        const start = await quota();
        const body = { model_name: 'kling-v1-6', prompt: 'native at once', external_task_id: 'at-once' };
        const replies = await Promise.all(Array.from({ length: 5 }, () => kling(TEXT, body)));
        assert.deepEqual(
          replies.map(({ status }) => status).sort((a, b) => a - b),
          [200, 400, 400, 400, 400],
        );
        for (const { status, body: refusal } of replies)
          if (status === 400) assert.match(String(refusal.message), /external_task_id is taken/);
        const afterFive = await quota();
        await submit({ model_name: 'kling-v1-6', prompt: 'native alone' });
        assert.equal(start - afterFive, afterFive - (await quota()), 'and one is paid');
      });

      it('reports a failed task in the task, a refused one by the vendor’s code', async () => {
        const { task_id: id } = await submit({ prompt: 'native doom [fail]' });
        const failed = await ended(id);
        assert.equal(failed.task_status, 'failed');
        assert.match(String(failed.task_status_msg), /\S/);
        const refused = await kling(TEXT, { model_name: 'kling-v1-6', prompt: 'native [policy]' });
        assert.equal(refused.status, 400);
        assert.ok([1300, 1301].includes(Number(refused.body.code)), JSON.stringify(refused.body));
      });

      it('uses the vendor’s statuses and codes for errors', async () => {
        const cases: readonly (readonly [Promise<Reply>, number, number])[] = [
          [kling(`${TEXT}/none`), 404, 1203],
          [kling(TEXT, { model_name: 'kling-v9', prompt: 'x' }), 404, 1203],
          [kling(TEXT, { model_name: 'kling-v1-6' }), 400, 1201],
          [kling(TEXT, { model_name: 'kling-v1-6', prompt: 'x', external_task_id: 'mine-1' }), 400, 1201],
          [kling(TEXT, undefined, 'sk-wrong'), 401, 1002],
        ];
        for (const [answer, status, code] of cases) {
          const reply = await answer;
          assert.deepEqual([reply.status, reply.body.code, reply.body.data], [status, code, null]);
          assert.match(String(reply.body.message), /\S/);
          assert.match(String(reply.body.request_id), /\S/);
        }
        const poor = await service.operator.makeToken({ quota_limit: 1 });
        const overLimit = await kling(TEXT, { model_name: 'kling-v1-6', prompt: 'x' }, poor);
        assert.deepEqual([overLimit.status, overLimit.body.code], [429, 1102]);
      });

      it('lists by family in pages, newest first', async () => {
        const { task_id: fromImage } = await submit({ model_name: 'kling-v1-6', image }, IMAGE);
        const { task_id: text } = await submit({ prompt: 'native listed' });
        const list = async (path: string) => dataOf(await kling(path)) as unknown as Fields[];
        assert.equal((await list(`${TEXT}?pageNum=1&pageSize=1`))[0]?.task_id, text);
        assert.equal((await list(IMAGE))[0]?.task_id, fromImage);
        assert.ok((await list(TEXT)).every(({ task_id: id }) => id !== fromImage));
        assert.equal((await list(`${TEXT}?pageNum=2&pageSize=500`)).length, 0);
      });

      it('accepts the token of a client with a key pair, whose access key is an API key of this service', async () => {
        const { key } = service.caller;
        const listed = await kling(TEXT, undefined, klingToken(key, key));
        assert.equal(listed.status, 200, JSON.stringify(listed.body));
        assert.equal((await kling(TEXT, undefined, klingToken('sk-wrong', key))).status, 401);
      });

      it('generates a video from an image without a prompt; from text it requires one', async () => {
        for (const path of [IMAGE, '/kling/v1/videos/image2video']) {
          const body = { model_name: 'kling-v1-6', image };
          assert.equal((await kling(path, body)).status, 200, path);
        }
        const { status, body } = await kling('/kling/v1/videos/text2video', { model_name: 'kling-v1-6' });
        assert.deepEqual([status, body.message], [400, 'prompt is required.']);
      });
    });

    describe('Kling in the contract’s own format', () => {
      const PATH = '/kling/v1/videos/text2video';
      const priceOf = async (body: object): Promise<number> => {
        const { quota } = await service.operator.quota();
        assert.equal((await kling(PATH, body)).status, 200);
        return quota - (await service.operator.quota()).quota;
      };

      it('accepts model as a synonym of model_name, and refuses different values', async () => {
        const prompt = 'spelled model';
        assert.equal(
          await priceOf({ model: 'kling-v1-6', prompt }),
          await priceOf({ model_name: 'kling-v1-6', prompt }),
        );
        const sent = service.sandbox.control.jobs('kling').filter((job) => job.prompt === prompt);
        assert.deepEqual(new Set(sent.map(({ model }) => model)), new Set(['kling-v1-6']));
        const { status, body } = await kling(PATH, { model: 'kling-v1', model_name: 'kling-v1-6', prompt });
        assert.deepEqual([status, body.message], [400, 'model and model_name contradict each other.']);
      });

      it('accepts a callback_url, which is not sent to the vendor, and refuses a non-public URL', async () => {
        const body = { model_name: 'kling-v1-6', prompt: 'called back' };
        assert.equal((await kling(PATH, { ...body, callback_url: 'https://caller.example/hook' })).status, 200);
        const input = service.job('kling', 'called back').input as { body: Fields };
        assert.equal('callback_url' in input.body, false);
        for (const callback_url of ['ftp://caller.example/', 'hook', 'http://127.0.0.1/', 7]) {
          const refused = await kling(PATH, { ...body, callback_url });
          assert.equal(refused.status, 400, String(callback_url));
          assert.match(String(refused.body.message), /callback_url|private|address/i);
        }
      });

      it('includes the model and the prompt of each task in lists', async () => {
        const { data } = (await service.caller.request('GET', '/v1/videos?limit=100')).body as unknown as {
          data: Fields[];
        };
        assert.deepEqual(new Set(data.map(({ model }) => model)), new Set(['kling-v1-6']));
        assert.ok(data.some(({ prompt: given }) => given === 'called back'));
      });
    });

    describe('Jimeng', () => {
      const path = '/jimeng/native/';
      const jimeng = (query: string, body: object, key = service.caller.key, to = path): Promise<Reply> =>
        send(`${to}${query}`, volcengineHeaders(key, 'any secret', query.slice(1), JSON.stringify(body)), body);
      const SHAPE = ['code', 'data', 'message', 'request_id', 'status', 'time_elapsed'];

      it('accepts and is polled by requests of its SDK, signed with a key pair', async () => {
        const submitted = await jimeng(ACTION, {
          req_key: 'jimeng_t2v_v30',
          prompt: 'native jimeng',
          seed: -1,
          frames: 121,
        });
        const { task_id: id } = dataOf(submitted);
        assert.deepEqual(Object.keys(submitted.body).sort(), SHAPE);
        assert.deepEqual(
          [submitted.body.code, submitted.body.status, submitted.body.message],
          [10_000, 10_000, 'Success'],
        );
        await service.caller.waitUntilEnded(id);
        const done = await jimeng(RESULT, { req_key: 'jimeng_t2v_v30', task_id: id });
        assert.deepEqual(Object.keys(done.body).sort(), SHAPE);
        const { status, video_url: url } = dataOf(done);
        assert.equal(status, 'done');
        assert.match(String(url), /^http/);
        // Without the trailing slash, and with a plain bearer key.
        const bare = await send(
          `/jimeng/native${RESULT}`,
          { authorization: `Bearer ${service.caller.key}` },
          {
            req_key: 'jimeng_t2v_v30',
            task_id: id,
          },
        );
        assert.deepEqual(bare.body.data, done.body.data);
      });

      it('reports failures by code, a missing task by state, a wrong key in the gateway’s envelope', async () => {
        const submitted = await jimeng(ACTION, { req_key: 'jimeng_t2v_v30', prompt: 'native [filtered]' });
        const { task_id: id } = dataOf(submitted);
        await service.caller.waitUntilEnded(id);
        const failed = await jimeng(RESULT, { req_key: 'jimeng_t2v_v30', task_id: id });
        assert.equal(failed.body.data, null);
        assert.match(String(failed.body.code), /^50\d{3}$/);
        assert.ok(failed.status >= 400);
        const broken = dataOf(await jimeng(ACTION, { req_key: 'jimeng_t2v_v30', prompt: 'native [fail]' }));
        await service.caller.waitUntilEnded(broken.task_id);
        const ended = await jimeng(RESULT, { req_key: 'jimeng_t2v_v30', task_id: broken.task_id });
        assert.deepEqual([ended.body.code, ended.body.data], [50_500, { status: 'done', video_url: '' }]);
        const missing = await jimeng(RESULT, { req_key: 'jimeng_t2v_v30', task_id: 'none' });
        assert.deepEqual([missing.status, missing.body.code], [200, 10_000]);
        assert.equal((missing.body.data as Fields).status, 'not_found');
        const wrong = await jimeng(RESULT, { req_key: 'jimeng_t2v_v30', task_id: 'none' }, 'AKLTwrong');
        assert.equal(wrong.status, 401);
        const metadata = wrong.body.ResponseMetadata as { Error: Fields };
        assert.equal(metadata.Error.Code, 'InvalidAccessKey');
        const unknown = await jimeng(ACTION, { req_key: 'jimeng_t9', prompt: 'x' });
        assert.deepEqual([unknown.status, unknown.body.code], [400, 50_200]);
      });

      it('requires its Version in the contract’s own format, with or without the slash', async () => {
        const body = { req_key: 'jimeng_t2v_v30', prompt: 'slashless' };
        const headers = { authorization: `Bearer ${service.caller.key}` };
        assert.equal((await send(`/jimeng${ACTION}`, headers, body)).status, 200);
        const without = await send('/jimeng/?Action=CVSync2AsyncSubmitTask', headers, body);
        assert.equal(without.status, 400);
        assert.deepEqual(Object.keys(without.body).sort(), ['code', 'data', 'message']);
        assert.match(String(without.body.message), /Version/);
      });
    });

    describe('media in the vendors’ own fields', () => {
      const URL = 'https://media.example/a.png';
      let file: string;
      let film: string;
      before(async () => {
        const form = new FormData();
        form.set('purpose', 'vision');
        form.set('file', new Blob([new Uint8Array(loadMedia('image.png').bytes)]), 'a.png');
        const headers = { authorization: `Bearer ${service.caller.key}` };
        const uploaded = await fetch(`${service.baseUrl}/v1/files`, { method: 'POST', body: form, headers });
        file = String(((await uploaded.json()) as Fields).id);
        film = String(dataOf(await kling(TEXT, { model_name: 'kling-v1-6', prompt: 'the source' })).task_id);
        await service.caller.waitUntilEnded(film);
      });
      const sentToKling = (prompt: string) => (service.job('kling', prompt).input as { readonly body: Fields }).body;

      it('are typed inputs: by URL, as Base64, or as the id of a file or video, in the caller’s order', async () => {
        const body = {
          ...{ model_name: 'kling-v3-omni', prompt: '<<<image_2>>> as <<<video_1>>>', mode: 'pro' },
          image_list: [{ image_url: file }, { image_url: URL, type: 'first_frame' }, { image_url: image }],
          video_list: [{ video_url: film, refer_type: 'feature', keep_original_sound: 'no' }],
        };
        const { task_id: id } = dataOf(await kling(OMNI, body));
        const { image_list: images, video_list: videos, prompt } = sentToKling(body.prompt);
        assert.deepEqual(images, [{ image_url: image }, { image_url: URL, type: 'first_frame' }, { image_url: image }]);
        const [{ video_url: url, ...rest } = {}] = videos as readonly Fields[];
        assert.deepEqual([rest, prompt], [{ refer_type: 'feature', keep_original_sound: 'no' }, body.prompt]);
        assert.match(String(url), /^http:\/\/127\.0\.0\.1:\d+\/play\/task_/);
        assert.equal((await service.caller.unified(id)).action, 'referenceGenerate');
        const frames = { model_name: 'kling-v1-6', prompt: 'frames by id', image: file, image_tail: URL };
        assert.equal((await kling(IMAGE, frames)).status, 200);
        const sent = sentToKling('frames by id');
        assert.deepEqual([sent.image, sent.image_tail], [image, URL]);
      });

      it('an edit costs the seconds of its source, and names it', async () => {
        const body = {
          model_name: 'kling-v3-omni',
          prompt: 'native edit',
          duration: '10',
          video_list: [{ video_url: film }],
        };
        const { task_id: id } = dataOf(await kling(OMNI, body));
        const { facts } = (await service.caller.request('GET', `/v1/videos/${String(id)}/receipt`)).body as unknown as {
          facts: Fields;
        };
        assert.equal(facts.seconds, facts.input_seconds);
        assert.notEqual(facts.seconds, 10);
        assert.equal((await service.caller.unified(id)).action, 'edit');
        const { metadata } = await service.caller.waitUntilEnded(id);
        assert.equal((metadata as Fields).source_video_id, film);
      });

      it('are refused before anything is reserved, by the names of the vendor’s fields', async () => {
        const balance = async () => (await service.operator.quota()).quota;
        const unfinished = async () =>
          (await service.operator.request('GET', '/api/admin/tasks?unfinished=true')).total;
        // Videos of earlier tests change the balance when they end.
        while ((await unfinished()) !== 0) await pause(50);
        const start = await balance();
        const reference = { image_url: URL };
        for (const [media, message] of [
          [{ image_list: Array(8).fill(reference) }, /^image_list\.7\.image_url cannot be used: there are more than/],
          [
            { image_list: [{ ...reference, type: 'end_frame' }] },
            /^image_list cannot be used: these do not go together/,
          ],
          [{ image_list: [{ image_url: 'file-unknown0000' }] }, /^image_list\.0\.image_url names no file of yours/],
          [{ image_list: 'picture' }, /^image_list must be a list of objects/],
          [{ image_list: [{ image_url: film }] }, /^image_list\.0\.image_url is image, but the file is of type video/],
          [{ video_list: [{ video_url: film }, { video_url: film }] }, /^video_list\.1\.video_url cannot be used/],
          [{ video_list: [{ video_url: 'clip' }] }, /^video_list\.0\.video_url must be an http/],
          [
            { video_list: [{ video_url: film }], image_list: [{ ...reference, type: 'first_frame' }] },
            /cannot be used/,
          ],
        ] as const) {
          const { status, body } = await kling(OMNI, { model_name: 'kling-v3-omni', prompt: 'refused', ...media });
          assert.deepEqual([status, body.code], [400, 1201], JSON.stringify(body));
          assert.match(String(body.message), message);
        }
        assert.equal(await balance(), start);
      });

      it('Jimeng gets all of them as Base64 as soon as one is a file', async () => {
        const body = { req_key: 'jimeng_i2v_first_tail_v30', prompt: 'native frames', image_urls: [file, file] };
        const headers = { authorization: `Bearer ${service.caller.key}` };
        assert.equal((await send(`/jimeng/native/${ACTION}`, headers, body)).status, 200);
        const { image_urls: urls, binary_data_base64: sent } = service.job('jimeng', 'native frames').input as Fields;
        assert.deepEqual([urls, sent], [undefined, [image, image]]);
        const one = await send(`/jimeng/native/${ACTION}`, headers, { ...body, image_urls: [URL] });
        assert.deepEqual([one.status, one.body.code], [400, 50_200]);
        assert.match(String(one.body.message), /image_urls/);
      });
    });
  });
});
