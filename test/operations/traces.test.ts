import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { makeApp } from '../../src/server/app.ts';
import { startTracing } from '../../src/server/foundation.ts';
import { VERSION } from '../../src/server/package-root.ts';
import { parseConfig } from '../../src/server/platform/config.ts';
import { openLog } from '../../src/server/platform/log.ts';
import { callModelApi } from '../call-model-api.ts';
import { addScriptedModels } from '../chat/scripted-chat-fixture.ts';
import { startScriptedUpstream } from '../chat/scripted-upstream.ts';
import { startVideoService, type VideoService } from '../flows/video-fixture.ts';
import { testEnvironment } from '../service-with-sandbox.ts';
import { type OtlpReceiver, startOtlpReceiver } from './otlp-receiver.ts';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const PARENT = '00f067aa0ba902b7';
const traceparent = `00-${TRACE}-${PARENT}-01`;

describe('traces', () => {
  const folder = mkdtempSync(join(tmpdir(), 'rg-traces-'));
  const url = `sqlite:${join(folder, 'a.db')}`;
  let receiver: OtlpReceiver;
  let upstream: Awaited<ReturnType<typeof startScriptedUpstream>>;
  let service: VideoService;
  let env: Record<string, string>;
  before(async () => {
    receiver = await startOtlpReceiver();
    upstream = await startScriptedUpstream();
    env = {
      OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
      OTEL_EXPORTER_OTLP_HEADERS: 'x-tenant=a%20b',
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
      INSTANCE_NAME: 'replica-1',
    };
    service = await startVideoService(url, { env }, [{ name: 'kling', model: 'kling-v1-6' }]);
    await addScriptedModels(service.operator, upstream, ['traced-chat']);
  });
  after(async () => {
    await service.sandbox.stop();
    await upstream.stop();
    await receiver.stop();
    rmSync(folder, { recursive: true });
  });

  it('continue the caller’s trace to the upstream, with the attribute names of generative AI', async () => {
    upstream.respondWith((response) =>
      response.writeHead(200, { 'content-type': 'application/json' }).end(
        JSON.stringify({
          choices: [{ index: 0, message: { role: 'assistant', content: 'hi' }, finish_reason: 'stop' }],
          usage: { prompt_tokens: 7, completion_tokens: 2, total_tokens: 9 },
        }),
      ),
    );
    const body = { model: 'traced-chat', messages: [{ role: 'user', content: 'a secret question' }] };
    const path = '/v1/chat/completions';
    const answer = await service.caller.request('POST', path, body, { traceparent });
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    const call = await receiver.waitFor(({ name }) => name === 'chat traced-chat');
    const request = await receiver.waitFor(({ spanId }) => spanId === call.parentSpanId);
    assert.deepEqual(
      [call.traceId, request.traceId, request.parentSpanId, request.name, request.kind, call.kind],
      [TRACE, TRACE, PARENT, 'POST /v1/chat/completions', 2, 3],
    );
    assert.equal(upstream.requests.at(-1)?.headers.traceparent, `00-${TRACE}-${call.spanId}-01`);
    const { attributes, resource } = call;
    assert.equal(attributes['gen_ai.operation.name'], 'chat');
    assert.equal(attributes['gen_ai.provider.name'], 'openai');
    assert.equal(attributes['gen_ai.request.model'], 'traced-chat');
    assert.equal(attributes['gen_ai.usage.input_tokens'], 7);
    assert.equal(attributes['gen_ai.usage.output_tokens'], 2);
    assert.equal(request.attributes['http.response.status_code'], 200);
    assert.deepEqual(
      [resource['service.name'], resource['service.version'], resource['service.instance.id']],
      ['reelgate', VERSION, 'replica-1'],
    );
    assert.equal(resource['deployment.environment.name'], 'test');
    assert.equal(receiver.headers['x-tenant'], 'a b');
    assert.ok(!JSON.stringify(receiver.spans).includes('a secret question'));
    assert.ok(!JSON.stringify(receiver.spans).includes(service.caller.key));
  });

  it('record an upstream failure, and start a new trace if the caller’s is ill-formed', async () => {
    upstream.respondWith((response) => response.writeHead(500).end());
    const body = { model: 'traced-chat', messages: [{ role: 'user', content: 'a' }] };
    const headers = { traceparent: `00-${'0'.repeat(32)}-${PARENT}-01` };
    await service.caller.request('POST', '/v1/chat/completions', body, headers);
    const failed = await receiver.waitFor(({ attributes }) => attributes['error.type'] === 'capacity');
    assert.match(failed.traceId, /^(?!0{32})[0-9a-f]{32}$/);
    assert.notEqual(failed.traceId, TRACE);
  });

  it('form one trace per video from submit to settlement, across a restart', async () => {
    service.sandbox.control.fault({ kind: 'job-slow', vendor: 'kling', operation: 'submit' });
    const video = { model: 'kling-v1-6', prompt: 'a cat' };
    const trace = 'a'.repeat(32);
    const headers = { traceparent: `00-${trace}-${PARENT}-01` };
    const { id } = await service.caller.submit(video, '/v1/videos', headers);
    await service.app.close(1_000);
    const before = receiver.spans.length;
    const second = await makeApp(parseConfig(testEnvironment(url, { ...env, INSTANCE_NAME: 'replica-2' })), {
      log: openLog('silent'),
    });
    const { port } = await second.listen();
    try {
      const settled = await receiver.waitFor(({ name, traceId }) => name === 'settle kling-v1-6' && traceId === trace);
      assert.equal(settled.resource['service.instance.id'], 'replica-2');
      const answer = await callModelApi(
        `http://127.0.0.1:${port}`,
        service.caller.key,
        'GET',
        `/v1/videos/${String(id)}`,
      );
      assert.equal(answer.body.status, 'completed');
    } finally {
      await second.close(1_000);
    }
    const steps = (spans: OtlpReceiver['spans']) =>
      new Set(spans.filter(({ traceId }) => traceId === trace).map(({ name }) => name));
    assert.ok(steps(receiver.spans.slice(0, before)).has('generate_content kling-v1-6'));
    assert.ok(steps(receiver.spans.slice(before)).has('poll kling-v1-6'));
    const submit = receiver.spans.find(({ name, traceId }) => traceId === trace && name.startsWith('generate'));
    assert.equal(submit?.attributes['gen_ai.provider.name'], 'kling');
  });

  it('that a collector refuses are reported', async (t) => {
    let status = 404;
    const collector = createServer((request, response) => {
      request.resume();
      response.writeHead(status).end();
    });
    await new Promise<void>((resolve) => collector.listen(0, '127.0.0.1', resolve));
    t.after(() => collector.close());
    const warnings: string[] = [];
    const log = openLog('warn', { write: (line: string) => void warnings.push(line) });
    const OTEL_EXPORTER_OTLP_ENDPOINT = `http://127.0.0.1:${(collector.address() as AddressInfo).port}`;
    const send = async () => {
      const tracing = await startTracing(
        parseConfig({ OTEL_EXPORTER_OTLP_ENDPOINT }),
        { instance: 'a', version: 'b' },
        log,
      );
      tracing.start({ name: 'one', kind: 'internal' })?.end();
      await tracing.close();
    };
    await send();
    assert.equal(warnings.length, 1, warnings.join());
    assert.match(warnings[0] ?? '', /not received.*4318/);
    status = 200;
    await send();
    assert.equal(warnings.length, 1);
  });

  it('load no SDK and send no header without a configured collector', async () => {
    const off = await startTracing(parseConfig({}), { instance: 'a', version: 'b' });
    assert.equal(off.start({ name: 'a', kind: 'internal' }), undefined);
    assert.equal(off.current(), undefined);
    const disabled = parseConfig({ ...env, OTEL_SDK_DISABLED: 'true' });
    assert.equal(await startTracing(disabled, { instance: 'a', version: 'b' }), off);
  });

  it('go to the URL that is configured for traces alone', async () => {
    const addresses = {
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1',
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${receiver.url}/v1/traces`,
    };
    const tracing = await startTracing(parseConfig(addresses), { instance: 'a', version: 'b' });
    tracing.start({ name: 'sent there', kind: 'internal' })?.end();
    await tracing.close();
    await receiver.waitFor(({ name }) => name === 'sent there');
  });

  it('have the service name of the resource attributes, unless OTEL_SERVICE_NAME is set', async () => {
    const named = { ...env, OTEL_RESOURCE_ATTRIBUTES: 'service.name=videos,service.instance.id=pod-1' };
    for (const [variables, name] of [
      [named, 'videos'],
      [{ ...named, OTEL_SERVICE_NAME: 'studio' }, 'studio'],
    ] as const) {
      const tracing = await startTracing(parseConfig(variables), { instance: 'a', version: 'b' });
      tracing.start({ name: `of ${name}`, kind: 'internal' })?.end();
      await tracing.close();
      const { resource } = await receiver.waitFor((span) => span.name === `of ${name}`);
      assert.deepEqual([resource['service.name'], resource['service.instance.id']], [name, 'pod-1']);
    }
  });
});
