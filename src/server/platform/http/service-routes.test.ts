import assert from 'node:assert/strict';
import type { AddressInfo } from 'node:net';
import { describe, it } from 'node:test';
import type { NotReadyReason } from '../../../contract/service.ts';
import type { Metrics } from '../metrics.ts';
import { addHealthStatusAndMetricsRoutes, type HealthRouteDependencies, startMetricsServer } from './service-routes.ts';
import { exchange, parseAnswer, startHttp } from './start-http-server.fixture.ts';

const CONFIG = {
  sandbox: false,
  quotaPerUnit: 5,
  apiUserHeader: 'x-user',
  baseUrl: 'http://gate.example',
};
const SITE = { siteName: 'Reelgate', registration: 'open' };
const metrics = { render: async () => ({ contentType: 'text/plain', body: 'up 1\n' }) } as unknown as Metrics;

async function serve(config: object, reason?: NotReadyReason, site: object = {}) {
  const http = await startHttp();
  const dependencies = {
    config: { ...CONFIG, ...config },
    settings: { current: () => ({ ...SITE, ...site }) },
    version: '1.2.3',
    metrics,
    notReadyReason: async () => reason,
  };
  addHealthStatusAndMetricsRoutes(http.routes, dependencies as unknown as HealthRouteDependencies);
  await http.start();
  return http;
}

describe('service information', () => {
  it('describes the configuration to clients', async () => {
    const status = async (site: object) => {
      const http = await serve({}, undefined, site);
      const { body } = await http.send('GET', '/api/status');
      await http.close(0);
      return (JSON.parse(body) as { data: Record<string, unknown> }).data;
    };
    const data = await status({});
    assert.deepEqual([data['version'], data['phone_codes'], data['messaging_binding']], ['1.2.3', 'log', false]);
    assert.equal(data['ready'], true);
    const set = await status({ phoneHttpUrl: 'http://sms.example', messagingVerifyUrl: 'http://chat.example' });
    assert.deepEqual([set['phone_codes'], set['messaging_binding']], ['sms', true]);
  });

  it('reports readiness to load balancers, with the reason if not ready', async () => {
    const ready = await serve({});
    assert.deepEqual(await ready.send('GET', '/livez').then(({ status, body }) => [status, body]), [200, 'ok\n']);
    const { status, body } = await ready.send('GET', '/readyz');
    assert.deepEqual([status, JSON.parse(body)], [200, { ready: true }]);
    await ready.close(0);
    const draining = await serve({}, 'draining');
    const refused = await draining.send('GET', '/readyz');
    assert.deepEqual([refused.status, JSON.parse(refused.body)], [503, { ready: false, reason: 'draining' }]);
    assert.equal((await draining.send('GET', '/livez')).status, 200);
    assert.equal(JSON.parse((await draining.send('GET', '/api/status')).body).data.ready, false);
    await draining.close(0);
  });

  it('serves metrics only with the token, and not at all if none is configured', async () => {
    const http = await serve({ metricsToken: 'secret' });
    const shown = await http.send('GET', '/metrics', '', { authorization: 'Bearer secret' });
    assert.deepEqual([shown.status, shown.body], [200, 'up 1\n']);
    assert.match(shown.headers['content-type'] ?? '', /^text\/plain/);
    assert.equal((await http.send('GET', '/metrics', '', { authorization: 'Bearer secre' })).status, 401);
    assert.equal((await http.send('GET', '/metrics')).status, 401);
    await http.close(0);
    const closed = await serve({});
    assert.equal((await closed.send('GET', '/metrics', '', { authorization: 'Bearer undefined' })).status, 404);
    await closed.close(0);
  });

  it('has a separate port for metrics', async () => {
    let broken = false;
    const render = async () => {
      if (broken) throw new Error('broken');
      return { contentType: 'text/plain', body: 'up 1\n' };
    };
    const server = await startMetricsServer({ host: '127.0.0.1', metricsToken: undefined }, 0, {
      render,
    } as unknown as Metrics);
    const { port } = server.address() as AddressInfo;
    const get = async (path: string) =>
      parseAnswer(await exchange(port, `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`));
    const shown = await get('/metrics');
    assert.deepEqual([shown.status, shown.headers['content-type']], [200, 'text/plain']);
    assert.match(shown.body, /up 1/);
    assert.equal((await get('/other')).status, 404);
    broken = true;
    assert.equal((await get('/metrics')).status, 500);
    server.close();
  });

  it('requires the token on the metrics port too, if one is configured (T45)', async () => {
    const render = async () => ({ contentType: 'text/plain', body: 'up 1\n' });
    const config = { host: '127.0.0.1', metricsToken: 'secret' };
    const server = await startMetricsServer(config, 0, { render } as unknown as Metrics);
    const { port } = server.address() as AddressInfo;
    const status = async (header: string) => {
      const request = `GET /metrics HTTP/1.1\r\nHost: x\r\n${header}Connection: close\r\n\r\n`;
      return parseAnswer(await exchange(port, request)).status;
    };
    assert.equal(await status(''), 401);
    assert.equal(await status('Authorization: Bearer secre\r\n'), 401);
    assert.equal(await status('Authorization: Bearer secret\r\n'), 200);
    server.close();
  });
});
