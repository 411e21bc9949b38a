import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { Agent, request } from 'node:https';
import { after, before, describe, it } from 'node:test';
import { addScriptedModels } from '../chat/scripted-chat-fixture.ts';
import { startScriptedUpstream } from '../chat/scripted-upstream.ts';
import { startVideoService, type VideoService } from '../flows/video-fixture.ts';
import { METRICS_TOKEN } from './fetch-metrics.ts';
import { isInstalled, PROXY_NAMES, PUBLIC_HOST, type RunningProxy, startReverseProxy } from './reverse-proxies.ts';

/** The examples of deploy/ in front of the real service, with real traffic. */
for (const name of PROXY_NAMES) {
  const skip = isInstalled(name) || process.env.CI ? false : `${name} is not installed`;
  describe(`behind ${name}`, { skip }, () => {
    const agent = new Agent({ keepAlive: true, rejectUnauthorized: false, servername: PUBLIC_HOST });
    let service: VideoService;
    let proxy: RunningProxy;
    let upstream: Awaited<ReturnType<typeof startScriptedUpstream>>;

    async function call(method: string, path: string, body?: object, headers: Record<string, string> = {}) {
      const sent = request({
        host: '127.0.0.1',
        port: proxy.port,
        method,
        path,
        agent,
        headers: {
          host: PUBLIC_HOST,
          authorization: `Bearer ${service.caller.key}`,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...headers,
        },
      });
      sent.end(body === undefined ? undefined : JSON.stringify(body));
      const [response] = (await once(sent, 'response')) as [IncomingMessage];
      return response;
    }
    const textOf = async (response: IncomingMessage) => Buffer.concat(await response.toArray()).toString();

    before(async () => {
      upstream = await startScriptedUpstream();
      const env = { METRICS_TOKEN, BASE_URL: `https://${PUBLIC_HOST}`, TRUST_PROXY: '127.0.0.1' };
      service = await startVideoService('sqlite::memory:', { env }, [{ name: 'kling', model: 'kling-v1-6' }]);
      await addScriptedModels(service.operator, upstream, ['streamed-chat']);
      proxy = await startReverseProxy(name, new URL(service.baseUrl).host);
    });
    after(async () => {
      agent.destroy();
      await proxy?.stop();
      await service.stop();
      await upstream.stop();
    });

    it('generates a video and delivers its file in ranges', async () => {
      // HAProxy forwards nothing until its first health check has passed.
      let ready = await call('GET', '/api/status');
      for (; ready.statusCode === 503; ready = await call('GET', '/api/status')) await ready.toArray();
      assert.equal(ready.statusCode, 200, await textOf(ready));
      const submitted = await call('POST', '/v1/videos', { model: 'kling-v1-6', prompt: 'a cat' });
      const { id } = JSON.parse(await textOf(submitted)) as { id: string };
      await service.caller.waitUntilEnded(id);
      const part = await call('GET', `/v1/videos/${id}/content`, undefined, { range: 'bytes=0-99' });
      assert.equal(part.statusCode, 206);
      assert.equal(Buffer.concat(await part.toArray()).length, 100);
    });

    it('forwards each chunk of a stream immediately', async () => {
      const first = 'data: {"choices":[{"index":0,"delta":{"content":"a"}}]}\n\n';
      const rest = 'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n';
      const finish = Promise.withResolvers<void>();
      upstream.respondWith((response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write(first);
        void finish.promise.then(() => response.end(rest));
      });
      const body = { model: 'streamed-chat', stream: true, messages: [{ role: 'user', content: 'a' }] };
      const response = await call('POST', '/v1/chat/completions', body);
      assert.equal(response.statusCode, 200);
      // The upstream ends only after this chunk has come through: a buffering proxy would wait indefinitely.
      const [chunk] = (await once(response, 'data')) as [Buffer];
      assert.match(chunk.toString(), /"content":"a"/);
      finish.resolve();
      assert.match(await textOf(response), /\[DONE\]/);
    });

    it('accepts an image of many megabytes and does not expose the metrics', async () => {
      const image = `data:image/png;base64,${Buffer.alloc(9_000_000).toString('base64')}`;
      const large = await call('POST', '/v1/videos', { model: 'kling-v1-6', prompt: 'a cat', image });
      assert.notEqual(large.statusCode, 413, await textOf(large));
      const upload = request({
        host: '127.0.0.1',
        port: proxy.port,
        method: 'POST',
        path: '/v1/files',
        agent,
        headers: {
          host: PUBLIC_HOST,
          authorization: `Bearer ${service.caller.key}`,
          'content-type': 'multipart/form-data; boundary=x',
          'content-length': 500_000_000,
          connection: 'close',
        },
      });
      // Answered before its body: nothing is stored in this service.
      upload.flushHeaders();
      const [refused] = (await once(upload, 'response')) as [IncomingMessage];
      assert.match(await textOf(refused), /files_disabled/);
      upload.on('error', () => {}).destroy();
      const metrics = await call('GET', '/metrics', undefined, { authorization: `Bearer ${METRICS_TOKEN}` });
      assert.equal(metrics.statusCode, 404);
      await metrics.toArray();
    });
  });
}
