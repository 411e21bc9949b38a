import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import OpenAI, { toFile } from 'openai';
import { loadMedia } from '../../src/sandbox/media.ts';
import { type Fields, idOf, startVideoService, type VideoService } from '../flows/video-fixture.ts';

describe('a video that a caller waits for', () => {
  let service: VideoService;
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'rg-waiting-'));
    const env = { ARTIFACTS: 'disk', ARTIFACTS_DIR: folder, ARTIFACTS_MIN_FREE_GB: '0' };
    service = await startVideoService(`sqlite:${join(folder, 'test.db')}`, { env }, [
      { name: 'hailuo', model: 'MiniMax-H3' },
      { name: 'kling', model: 'kling-v3-omni' },
    ]);
  });
  after(async () => {
    await service.stop();
    await rm(folder, { recursive: true, force: true });
  });

  it('is returned once it has ended, within the time asked for', async () => {
    const { caller } = service;
    const id = idOf(await caller.submit({ model: 'MiniMax-H3', prompt: 'a video waited for' }));
    const { status, body } = await caller.request('GET', `/v1/videos/${id}?wait=60`);
    assert.deepEqual([status, body.status], [200, 'completed']);
    // Ended already: no wait.
    assert.equal((await caller.request('GET', `/v1/videos/${id}?wait=60`)).body.status, 'completed');
    for (const wait of ['61', '-1', '1.5', 'x', '']) {
      const refused = await caller.request('GET', `/v1/videos/${id}?wait=${wait}`);
      const { param } = refused.body.error as unknown as Fields;
      assert.deepEqual([refused.status, param], [400, 'wait'], wait);
    }
    assert.equal((await caller.request('GET', '/v1/videos/video_unknown?wait=5')).body.code, 'task_not_exist');
  });

  it('is sent as events until it has ended', async () => {
    const { caller } = service;
    const id = idOf(await caller.submit({ model: 'kling-v3-omni', prompt: 'a video followed' }));
    const response = await caller.fetchRaw(`/v1/videos/${id}/events`);
    assert.match(response.headers.get('content-type') ?? '', /^text\/event-stream/);
    const events = [...(await response.text()).matchAll(/^event: (.+)\ndata: (.+)$/gm)];
    const last = events.at(-1);
    assert.equal(last?.[1], 'video.completed');
    assert.deepEqual(JSON.parse(last[2] ?? ''), await caller.video(id));
    for (const [, name, data] of events) assert.equal(name, `video.${JSON.parse(data ?? '').status}`);
    assert.equal((await caller.fetchRaw('/v1/videos/video_unknown/events')).status, 400);
  });

  it('is made at two vendors from one uploaded file', async () => {
    const { caller, sandbox } = service;
    const openai = new OpenAI({ apiKey: caller.key, baseURL: `${caller.baseUrl}/v1`, maxRetries: 0 });
    const { bytes } = loadMedia('image.png');
    const file = await openai.files.create({ file: await toFile(bytes, 'cat.png'), purpose: 'vision' });
    const base64 = bytes.toString('base64');
    for (const [vendor, model] of [
      ['hailuo', 'MiniMax-H3'],
      ['kling', 'kling-v3-omni'],
    ] as const) {
      await caller.submit({ model, prompt: vendor, inputs: [{ type: 'image', role: 'reference', file_id: file.id }] });
      const sent = sandbox.control.requests().filter((each) => each.vendor === vendor && each.method === 'POST');
      assert.ok(sent.at(-1)?.body.toString().includes(base64), vendor);
    }
    const other = await caller.request('POST', '/v1/videos', {
      model: 'MiniMax-H3',
      prompt: 'x',
      inputs: [{ type: 'image', role: 'reference', file_id: `${file.id}x` }],
    });
    assert.deepEqual([other.status, (other.body.error as unknown as Fields).param], [400, 'inputs[0].file_id']);
  });
});
