import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts';
import { veo, veoVertex } from '../../src/sandbox/vendors/veo.ts';
import type { TestUser } from '../accounts/test-user-client.ts';
import { forEachDatabase } from '../for-each-database.ts';
import { startTestService, type TestService } from '../test-service.ts';

const NATIVE = 'veo-3.1-generate-preview';
const CLOUD = 'veo-3.1-generate-001';
const GIVEN = 100_000_000;
/** Eight seconds at the base price of both models. */
const PRICE = 8 * 200_000;

type Fields = Record<string, unknown>;

describe('Veo by both routes', () => {
  forEachDatabase((_name, _open, freshUrl) => {
    let sandbox: Sandbox;
    let service: TestService;
    let viewer: TestUser;
    let key: string;
    before(async () => {
      sandbox = await startSandbox({ simulators: [veo, veoVertex] });
      service = await startTestService(await freshUrl(), { NEW_USER_QUOTA: String(GIVEN) });
      for (const [name, model] of [
        ['veo', NATIVE],
        ['veo-vertex', CLOUD],
      ] as const)
        await addChannel(name, model);
      viewer = await service.signUp('viewer');
      key = (await viewer.ok<{ key: string }>('POST', '/api/tokens', { name: 'flow' })).key;
    });
    after(async () => {
      await service.stop();
      await sandbox.stop();
    });

    const addChannel = (name: string, model: string, more: Fields = {}) =>
      service.root.ok('POST', '/api/admin/channels', {
        name: `${name} ${model}`,
        vendor: 'veo',
        base_url: sandbox.url(name),
        credentials: sandbox.credentials(name),
        models: [model],
        options: { private: true },
        ...more,
      });
    const ask = (path: string, headers: Record<string, string> = {}) =>
      fetch(`${service.url}${path}`, { headers: { authorization: `Bearer ${key}`, ...headers } });
    const read = async (path: string) => (await (await ask(path)).json()) as Fields;
    const post = (path: string, body: Fields) =>
      fetch(`${service.url}${path}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ prompt: 'A kite', ...body }),
      });
    async function submit(model: string, prompt: string): Promise<Fields> {
      const answer = await post('/v1/videos', { model, prompt });
      assert.equal(answer.status, 200);
      return (await answer.json()) as Fields;
    }
    /**
     * Polls until the end. A query refreshes at most once per second, so the final state is seen by the second query at
     * the latest.
     */
    async function toTheEnd(id: unknown): Promise<Fields> {
      for (let polls = 0; polls < 20; polls += 1) {
        const video = await read(`/v1/videos/${String(id)}`);
        if (video.status === 'completed' || video.status === 'failed') return video;
        await sleep(250);
      }
      return assert.fail('the video did not end');
    }
    const balance = async () => (await viewer.ok<{ quota: number }>('GET', '/api/user/self')).quota;
    const isVideo = (bytes: ArrayBuffer) => Buffer.from(bytes).toString('latin1', 4, 8) === 'ftyp';

    it('native: no public URL, a file at the content endpoint', async () => {
      const submitted = await submit(NATIVE, 'A kite');
      assert.equal(submitted.id, submitted.task_id);
      assert.equal(submitted.object, 'video');
      const video = await toTheEnd(submitted.id);
      assert.equal(video.status, 'completed');
      assert.equal('metadata' in video, false);
      const unified = (await read(`/v1/video/generations/${String(submitted.id)}`)).data as Fields;
      assert.equal(unified.status, 'succeeded');
      assert.match(String(unified.fail_reason), new RegExp(`/v1/videos/${String(submitted.id)}/content$`));
      const file = await ask(`/v1/videos/${String(submitted.id)}/content`, { range: 'bytes=0-99' });
      assert.deepEqual([file.status, file.headers.get('content-type')], [206, 'video/mp4']);
      assert.ok(isVideo(await file.arrayBuffer()));
      // The API key must not be forwarded to the storage host of the redirect.
      assert.equal(
        sandbox.control.requests({ operation: 'content' }).some((request) => request.path.startsWith('/veo/')),
        true,
      );
      for (const request of sandbox.control.requests({ operation: 'content' })) {
        if (request.path.startsWith('/veo/')) assert.equal(request.headers['x-goog-api-key'], undefined);
      }
    });

    it('cloud platform: {task_id} alone, no URL anywhere, and the file nevertheless', async () => {
      const submitted = await submit(CLOUD, 'A kite');
      assert.deepEqual(Object.keys(submitted), ['task_id']);
      const video = await toTheEnd(submitted.task_id);
      assert.equal(video.status, 'completed');
      assert.equal('metadata' in video, false);
      const unified = (await read(`/v1/video/generations/${String(submitted.task_id)}`)).data as Fields;
      assert.deepEqual([unified.status, unified.fail_reason], ['succeeded', '']);
      const file = await ask(`/v1/videos/${String(submitted.task_id)}/content`);
      assert.equal(file.status, 200);
      assert.ok(isVideo(await file.arrayBuffer()));
      assert.equal(sandbox.control.requests({ operation: 'token' }).length, 1, 'one token for all of it');
      const polls = () => sandbox.control.requests({ vendor: 'veo-vertex', operation: 'query' }).length;
      const before = polls();
      const parts = await Promise.all(
        [0, 100, 200, 300].map(async (first) => {
          const range = `bytes=${first}-${first + 99}`;
          const part = await ask(`/v1/videos/${String(submitted.task_id)}/content`, { range });
          assert.equal(part.status, 206);
          return Buffer.from(await part.arrayBuffer());
        }),
      );
      const whole = await ask(`/v1/videos/${String(submitted.task_id)}/content`);
      const bytes = Buffer.from(await whole.arrayBuffer());
      assert.ok(bytes.subarray(0, 400).equals(Buffer.concat(parts)));
      assert.equal(polls(), before, 'what came inside an answer is fetched once for all its parts');
    });

    it('metadata that only one route has is named as dropped over the other, or refused where it changes the price', async () => {
      const droppedOf = async (model: string, metadata: Fields, path = '/v1/videos') => {
        const answer = await post(path, { model, metadata });
        assert.equal(answer.status, 200, await answer.text());
        return answer.headers.get('x-reelgate-dropped');
      };
      const metadata = { seed: 7, enhancePrompt: true, task: 'extend' };
      for (const path of ['/v1/videos', '/v1/videos/quote']) {
        const names = 'metadata.task, metadata.seed, metadata.enhancePrompt';
        assert.equal(await droppedOf(NATIVE, metadata, path), names);
        assert.equal(await droppedOf(CLOUD, metadata, path), 'metadata.task');
      }
      for (const path of ['/v1/videos', '/v1/videos/quote']) {
        const answer = await post(path, { model: NATIVE, metadata: { generateAudio: false } });
        const { error } = (await answer.json()) as { readonly error: Fields };
        assert.deepEqual([answer.status, error.param], [400, 'metadata.generateAudio']);
      }
      const before = await balance();
      assert.equal(await droppedOf(CLOUD, { generateAudio: false }), null);
      assert.equal(before - (await balance()), PRICE / 2);
    });

    it('of two channels the one that is sent the request decides what is dropped; a quote names what either drops', async () => {
      const model = 'veo-anywhere';
      const price = { per_call: 1, per_second: 0 };
      await service.root.ok('POST', '/api/admin/models', { id: model, vendor: 'veo', kind: 'video', price });
      for (const [name, target, priority] of [
        ['veo', NATIVE, 1],
        ['veo-vertex', CLOUD, 0],
      ] as const)
        await addChannel(name, model, { priority, model_mapping: { [model]: target } });
      const send = async (metadata: Fields, path = '/v1/videos') => {
        sandbox.control.clearRequests();
        const answer = await post(path, { model, metadata });
        assert.equal(answer.status, 200, await answer.text());
        const sent = sandbox.control.requests({ operation: 'submit' }).map(({ vendor }) => vendor);
        return [sent.at(-1), answer.headers.get('x-reelgate-dropped')];
      };
      assert.deepEqual(await send({ seed: 7 }), ['veo', 'metadata.seed']);
      assert.deepEqual(await send({ seed: 7 }, '/v1/videos/quote'), [undefined, 'metadata.seed']);
      assert.deepEqual(await send({ seed: 7, generateAudio: false }), ['veo-vertex', null]);
      sandbox.control.fault({ vendor: 'veo', operation: 'submit', kind: '503' });
      assert.deepEqual(await send({ seed: 7 }), ['veo-vertex', null]);
    });

    for (const model of [NATIVE, CLOUD]) {
      it(`${model}: a filtered video is refunded once, whichever process sees it first, and the reason stays`, async () => {
        const before = await balance();
        const submitted = await submit(model, '[filtered] a kite');
        assert.equal(await balance(), before - PRICE);
        const id = submitted.id ?? submitted.task_id;
        await sleep(200);
        const seen = await Promise.all(Array.from({ length: 10 }, () => toTheEnd(id)));
        for (const video of seen) {
          assert.equal(video.status, 'failed');
          assert.match((video.error as { message: string }).message, /safety filters/);
        }
        assert.equal(await balance(), before);
      });
    }
  });
});
