import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { generate } from 'selfsigned';
import { Reelgate } from '../sdk/index.ts';
import { toErrorReport } from './error-report.ts';

test('a URL that leads elsewhere is no failure of the command', async (context) => {
  const server = createServer((_, response) => response.writeHead(404).end('not found'));
  context.after(() => server.close());
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/console`;
  const error: unknown = await new Reelgate({ baseUrl }).plans.list().catch((thrown: unknown) => thrown);
  const { exitCode, advice = '' } = toErrorReport(error);
  assert.equal(exitCode, 7);
  assert.match(advice, /--url/);
});

test('advice for a failed connection names its cause', async (context) => {
  const { private: key, cert } = await generate([{ name: 'commonName', value: 'gate.example' }]);
  const ports = [];
  for (const server of [createServer(), createTlsServer({ key, cert })]) {
    context.after(() => server.close());
    await once(server.listen(0, '127.0.0.1'), 'listening');
    ports.push((server.address() as AddressInfo).port);
  }
  for (const [baseUrl, advice] of [
    [`https://127.0.0.1:${ports[0]}`, /TLS.*http:/],
    [`https://127.0.0.1:${ports[1]}`, /NODE_EXTRA_CA_CERTS/],
    ['https://gate.invalid', /cannot be resolved/],
  ] as const) {
    const error: unknown = await new Reelgate({ baseUrl }).deviceAuth.start().catch((thrown: unknown) => thrown);
    const report = toErrorReport(error);
    assert.deepEqual([report.code, report.exitCode], ['network', 7]);
    assert.match(report.advice ?? '', advice);
  }
});
