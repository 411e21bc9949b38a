import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { VERSION } from '../../src/server/package-root.ts';
import { chatBody } from '../chat/chat-fixture.ts';
import { addScriptedModels } from '../chat/scripted-chat-fixture.ts';
import { startScriptedUpstream } from '../chat/scripted-upstream.ts';
import { addChatModel } from '../faults/submit-steps.ts';
import { startVideoService, type VideoService } from '../flows/video-fixture.ts';
import { forEachDatabase } from '../for-each-database.ts';
import { fetchMetrics, METRICS_TOKEN, parseMetrics, sumOf, waitForMetrics } from './fetch-metrics.ts';

const DOORS = [
  { name: 'kling', model: 'kling-v1-6' },
  { name: 'hailuo', model: 'MiniMax-Hailuo-02' },
];
/** Text that a caller can put into a request, none of which may become a label. */
const PROMPT = 'a-prompt-nobody-else-has';

forEachDatabase((name, _open, freshUrl) => {
  describe('metrics', () => {
    let service: VideoService;
    const read = async () => {
      const samples = parseMetrics(await fetchMetrics(service.baseUrl));
      return (metric: string, labels?: Record<string, string>) => sumOf(samples, metric, labels);
    };
    before(async () => {
      service = await startVideoService(await freshUrl(), { env: { METRICS_TOKEN } }, DOORS);
      await addChatModel(service);
    });
    after(() => service.stop());

    it("identify the build, the process's database and its requests", async () => {
      await fetch(`${service.baseUrl}/${PROMPT}`);
      const value = await read();
      assert.equal(value('build_info', { version: VERSION }), 1);
      assert.equal(value('database_up'), 1);
      assert.equal(value('listen_connected'), 1);
      assert.ok((value('db_query_seconds_count') ?? 0) > 10);
      assert.ok((value('http_request_duration_seconds_count', { route: 'none', status: '404' }) ?? 0) >= 1);
      assert.ok((value('http_request_duration_seconds_count', { route: '/api/user/login', method: 'POST' }) ?? 0) >= 1);
      if (name === 'postgres') {
        assert.ok((value('db_pool_connections', { state: 'idle' }) ?? 0) >= 1);
        assert.equal(value('db_pool_connections', { state: 'waiting' }), 0);
      } else {
        assert.equal(value('db_pool_connections'), undefined);
        assert.ok((value('disk_free_bytes', { volume: 'database' }) ?? 0) > 0);
      }
      assert.ok((value('disk_size_bytes', { volume: 'journal' }) ?? 0) > 0);
    });

    it('count videos from submit to settlement', async () => {
      const { id } = await service.caller.submit({ model: 'kling-v1-6', prompt: PROMPT });
      await service.caller.waitUntilEnded(id);
      service.sandbox.control.fault({ kind: 'job-fail', vendor: 'kling', operation: 'submit' });
      const failing = await service.caller.submit({ model: 'kling-v1-6', prompt: PROMPT });
      await service.caller.waitUntilEnded(failing.id);
      const value = await read();
      const kling = { vendor: 'kling', outcome: 'ok' };
      assert.equal(value('upstream_calls_total', { ...kling, kind: 'submit' }), 2);
      assert.ok((value('upstream_calls_total', { ...kling, kind: 'poll' }) ?? 0) >= 2);
      assert.equal(value('upstream_call_seconds_count', { vendor: 'kling', kind: 'submit' }), 2);
      assert.ok((value('upstream_call_seconds_sum', { vendor: 'kling', kind: 'submit' }) ?? 0) > 0);
      assert.equal(value('settlements_total', { kind: 'settle' }), 1);
      assert.equal(value('settlements_total', { kind: 'refund' }), 1);
    });

    it('count open and ambiguous videos, and refused keys', async () => {
      service.sandbox.control.fault({ kind: 'job-stuck', vendor: 'kling', operation: 'submit' });
      await service.caller.submit({ model: 'kling-v1-6', prompt: PROMPT });
      service.sandbox.control.fault({ kind: 'drop', vendor: 'hailuo', operation: 'submit' });
      await service.caller.submit({ model: 'MiniMax-Hailuo-02', prompt: PROMPT });
      await waitForMetrics(service.baseUrl, 'open videos', (value) => {
        const open = (vendor: string) => value('tasks_open', { vendor }) ?? 0;
        return open('kling') === 1 && open('hailuo') === 1 && value('tasks_ambiguous') === 1;
      });
      assert.equal((await read())('tasks_open', { vendor: 'hailuo', status: 'NOT_START' }), 1);
      assert.ok(((await read())('task_oldest_due_seconds') ?? -1) >= 0);

      service.sandbox.control.fault({ kind: 'unauthorized', vendor: 'hailuo', operation: 'submit' });
      const refused = await service.caller.request('POST', '/v1/videos', {
        model: 'MiniMax-Hailuo-02',
        prompt: PROMPT,
      });
      assert.equal(refused.status, 502);
      const value = await read();
      assert.equal(value('channel_state', { vendor: 'hailuo' }), 2);
      assert.equal(value('channel_state', { vendor: 'kling' }), 0);
      assert.equal(value('upstream_calls_total', { vendor: 'hailuo', kind: 'submit', outcome: 'auth' }), 1);
      assert.equal(value('upstream_calls_total', { vendor: 'hailuo', kind: 'submit', outcome: 'unreachable' }), 1);
    });

    it('count model calls, their errors and their open streams', async () => {
      const { status } = await service.caller.request('POST', '/v1/chat/completions', chatBody(PROMPT));
      assert.equal(status, 200);
      const upstream = await startScriptedUpstream();
      await addScriptedModels(service.operator, upstream, ['held-chat']);
      upstream.respondWith((response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write('data: {"choices":[{"index":0,"delta":{"content":"a"}}]}\n\n');
      });
      const leave = new AbortController();
      const streamed = await fetch(`${service.baseUrl}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${service.caller.key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ ...chatBody(PROMPT), model: 'held-chat', stream: true }),
        signal: leave.signal,
      });
      assert.equal(streamed.status, 200);
      assert.equal((await read())('streams_open', { kind: 'chat' }), 1);
      leave.abort();
      await waitForMetrics(service.baseUrl, 'no open stream', (value) => value('streams_open', { kind: 'chat' }) === 0);

      upstream.respondWith((response) => response.writeHead(500).end());
      const body = { ...chatBody(PROMPT), model: 'held-chat' };
      assert.equal((await service.caller.request('POST', '/v1/chat/completions', body)).status, 502);
      const value = await read();
      assert.ok((value('upstream_calls_total', { vendor: 'openai', kind: 'chat', outcome: 'ok' }) ?? 0) >= 1);
      assert.equal(value('upstream_calls_total', { vendor: 'openai', kind: 'chat', outcome: 'capacity' }), 1);
      await upstream.stop();
    });

    it('count open notification streams and downloads', async () => {
      const leave = new AbortController();
      const stream = await fetch(`${service.baseUrl}/api/notifications/stream`, {
        headers: service.operator.headers,
        signal: leave.signal,
      });
      assert.equal(stream.status, 200);
      await waitForMetrics(
        service.baseUrl,
        'a stream',
        (value) => value('streams_open', { kind: 'notifications' }) === 1,
      );
      leave.abort();
      await waitForMetrics(service.baseUrl, 'none', (value) => value('streams_open', { kind: 'notifications' }) === 0);
      assert.equal((await read())('streams_open', { kind: 'download' }), 0);
    });

    it('have no label written by a caller, and are all documented', async () => {
      const page = await fetchMetrics(service.baseUrl);
      assert.ok(!page.includes(PROMPT));
      assert.ok(!page.includes(service.caller.key));
      const documented = readFileSync(new URL('../../docs/metrics.md', import.meta.url), 'utf8');
      const names = [...page.matchAll(/^# TYPE (reelgate_\S+)/gm)].map((match) => match[1] ?? '');
      assert.deepEqual(
        names.filter((each) => !documented.includes(`\`${each}\``)),
        [],
      );
      const labels = new Set(
        parseMetrics(page)
          .filter((sample) => sample.name.startsWith('reelgate_'))
          .flatMap((sample) => Object.keys(sample.labels)),
      );
      labels.delete('le');
      assert.deepEqual(
        [...labels].filter((label) => !documented.includes(`\`${label}\``)),
        [],
      );
    });
  });
});

describe('the metrics page', () => {
  it('omits unreadable metrics and reports that the database is down', async () => {
    const { createMetrics } = await import('../../src/server/platform/metrics.ts');
    const metrics = createMetrics('1.2.3');
    metrics.register({ name: 'gone', help: 'h', read: () => Promise.reject(new Error('away')) });
    metrics.register({ name: 'late', help: 'h', read: () => new Promise(() => {}), otherwise: [{ value: 0 }] });
    const { body } = await metrics.render();
    const samples = parseMetrics(body);
    assert.equal(sumOf(samples, 'gone'), undefined);
    assert.equal(sumOf(samples, 'late'), 0);
    assert.equal(sumOf(samples, 'build_info', { version: '1.2.3' }), 1);
  });
});
