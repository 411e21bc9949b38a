import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';
import { startVideoService, type VideoService } from '../flows/video-fixture.ts';
import { fetchMetrics, METRICS_TOKEN } from '../operations/fetch-metrics.ts';
import { envelopeOf, headersOf, postMcp, type RawReply, toolCall } from './mcp-fixture.ts';

const TASKS = 'io.modelcontextprotocol/tasks';
const FOLLOWED_PER_KEY = 20;

const videoIdOf = ({ result }: RawReply['body']): string => String(result?.structuredContent?.id);

describe('waiting for a video over MCP', () => {
  let service: VideoService;
  let key: string;
  let id: string;
  before(async () => {
    service = await startVideoService('sqlite::memory:', { env: { METRICS_TOKEN } }, [
      { name: 'kling', model: 'kling-v1-6' },
    ]);
  });
  after(() => service.stop());

  const post = (body: unknown, headers: Record<string, string> = {}, signal?: AbortSignal) =>
    postMcp(service.baseUrl, key, body, headers, signal);
  const create = async (prompt: string): Promise<string> => {
    key = await service.operator.makeToken();
    const { body } = await post(toolCall('create_video', { model: 'kling-v1-6', prompt }));
    return String(body.result?.structuredContent?.id);
  };
  const wait = (call: string | number = 1, headers = {}, signal?: AbortSignal) =>
    post(toolCall('get_video', { id, wait_seconds: 45 }, call), headers, signal);

  it('T142: ends for all that have gone, and frees their places', async () => {
    id = await create('left alone [stuck]');
    const [gone, staying] = [new AbortController(), new AbortController()];
    const first = wait('first', {}, staying.signal).then(
      () => 'over',
      () => 'gone',
    );
    const waits = Array.from({ length: FOLLOWED_PER_KEY - 1 }, (_, index) => wait(index, {}, gone.signal));
    const left = Promise.allSettled(waits);
    const codeOfNext = async () =>
      (await post(toolCall('get_video', { id, wait_seconds: 1 }))).body.result?._meta?.error?.code;
    while ((await codeOfNext()) !== 'too_many_streams');
    gone.abort();
    assert.ok((await left).every(({ status }) => status === 'rejected'));
    while ((await codeOfNext()) !== undefined);
    assert.equal(await codeOfNext(), undefined);
    // The others would have waited longer than this one.
    staying.abort();
    assert.equal(await first, 'gone', 'their places are free before their time is over');
  });

  it('ends when its session cancels the call', async () => {
    id = await create('cancelled [stuck]');
    const session = { 'mcp-session-id': 'a session' };
    const waiting = wait('w', session);
    const cancel = (headers: Record<string, string>) =>
      post({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'w' } }, headers);
    let isOver = false;
    void waiting.then(() => (isOver = true));
    while (!isOver) assert.equal((await cancel(session)).status, 202);
    assert.equal((await waiting).body.result?.structuredContent?.id, id);
  });

  it('is a task for clients that know tasks', async () => {
    key = await service.operator.makeToken();
    const meta = envelopeOf({ extensions: { [TASKS]: {} } });
    const send = async (method: string, params: { readonly [name: string]: unknown }, name: string) => {
      const body = { jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: meta } };
      return (await post(body, headersOf(method, name))).body as {
        result?: Record<string, unknown>;
        error?: { code: number };
      };
    };
    const start = (prompt: string) =>
      send('tools/call', { name: 'create_video', arguments: { model: 'kling-v1-6', prompt } }, 'create_video');
    const { result: task } = await start('as a task');
    assert.deepEqual([task?.resultType, task?.status, task?.ttlMs], ['task', 'working', null]);
    const taskId = String(task?.taskId);
    const untilEnded = async (of: string): Promise<Record<string, unknown>> => {
      for (;;) {
        const { result = {} } = await send('tasks/get', { taskId: of }, of);
        assert.equal(result.resultType, 'complete');
        if (result.status !== 'working') return result;
      }
    };
    const { status, result } = (await untilEnded(taskId)) as {
      status: string;
      result: { structuredContent: { id: string; url: string } };
    };
    assert.deepEqual([status, result.structuredContent.id], ['completed', taskId]);
    assert.match(result.structuredContent.url, /\/play\//);
    for (const method of ['tasks/update', 'tasks/cancel']) {
      assert.equal((await send(method, { taskId }, taskId)).result?.resultType, 'complete');
      assert.equal((await send(method, { taskId: 'task_x' }, 'task_x')).error?.code, -32602);
    }
    const failed = String((await start('doomed [fail]')).result?.taskId);
    const ended = (await untilEnded(failed)) as { status: string; result: { isError: boolean } };
    assert.deepEqual([ended.status, ended.result.isError], ['completed', true]);
    const refused = await send(
      'tools/call',
      { name: 'create_video', arguments: { prompt: 'x', model: 'none' } },
      'create_video',
    );
    assert.deepEqual([refused.result?.resultType, refused.result?.isError], ['complete', true]);
  });

  it('T143: shows a video to the key that made it only', async () => {
    const made = await create('private');
    key = await service.operator.makeToken();
    const codeOf = async (tool: string, given: object) =>
      (await post(toolCall(tool, given))).body.result?._meta?.error?.code;
    assert.equal(await codeOf('get_video', { id: made }), 'task_not_exist');
    assert.equal(await codeOf('edit_video', { id: made, prompt: 'x' }), 'task_not_exist');
    assert.equal(await codeOf('extend_video', { id: made, prompt: 'x' }), 'task_not_exist');
    const list = await post(toolCall('list_videos', {}));
    assert.deepEqual(list.body.result?.structuredContent?.videos, []);
    const params = { taskId: made, _meta: envelopeOf({ extensions: { [TASKS]: {} } }) };
    const task = await post({ jsonrpc: '2.0', id: 1, method: 'tasks/get', params }, headersOf('tasks/get', made));
    assert.equal(task.body.error?.code, -32602);
  });

  it('appears in the request log under its key, with the name of the client', async () => {
    key = await service.operator.makeToken();
    const params = { name: 'create_video', arguments: { model: 'kling-v1-6', prompt: 'logged' }, _meta: envelopeOf() };
    const { body } = await post(
      { jsonrpc: '2.0', id: 1, method: 'tools/call', params },
      headersOf('tools/call', 'create_video'),
    );
    const made = videoIdOf(body);
    while (
      (await post(toolCall('get_video', { id: made, wait_seconds: 45 }))).body.result?.structuredContent?.status !==
      'completed'
    );
    const rows = await service.operator.requestData<{ ref: string; client: string; token_id: number }[]>(
      'GET',
      '/api/requests',
    );
    const row = rows.find(({ ref }) => ref === made);
    assert.deepEqual([row?.client, (row?.token_id ?? 0) > 0], ['raw 1', true]);
    const page = await fetchMetrics(service.baseUrl);
    assert.match(page, /reelgate_mcp_tool_calls_total\{[^}]*tool="create_video"[^}]*\} [1-9]/);
  });
});

describe('a process that stops', () => {
  let service: VideoService | undefined;
  afterEach(() => service?.stop());

  it('answers all that wait at once, with the state of their videos', async () => {
    service = await startVideoService('sqlite::memory:', {}, [{ name: 'kling', model: 'kling-v1-6' }]);
    const { baseUrl, caller } = service;
    const send = (body: unknown) => postMcp(baseUrl, caller.key, body);
    const made = await send(toolCall('create_video', { model: 'kling-v1-6', prompt: 'never [stuck]' }));
    const id = videoIdOf(made.body);
    const overMcp = send(toolCall('get_video', { id, wait_seconds: 45 }));
    const overHttp = caller.request('GET', `/v1/videos/${id}?wait=60`);
    // Both wait once a further one is refused or the vendor has been polled.
    await caller.video(id);
    const stopped = service.app.close(30_000);
    assert.equal((await overMcp).body.result?.structuredContent?.id, id);
    assert.equal((await overHttp).status, 200);
    await stopped;
    await service.sandbox.stop();
    service = undefined;
  });
});
