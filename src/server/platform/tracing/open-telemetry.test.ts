import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer, type Socket } from 'node:net';
import { it } from 'node:test';
import { openOpenTelemetry } from './open-telemetry.ts';

it('stops without waiting for a collector that does not respond', async (t) => {
  const connected = Promise.withResolvers<Socket>();
  const collector = createServer(connected.resolve).listen(0, '127.0.0.1');
  await once(collector, 'listening');
  t.after(async () => {
    (await connected.promise).destroy();
    collector.close();
  });
  const settings = {
    otelSdkDisabled: false,
    otelExporterOtlpEndpoint: undefined,
    otelExporterOtlpTracesEndpoint: undefined,
    otelExporterOtlpHeaders: {},
    otelServiceName: undefined,
    otelResourceAttributes: {},
    otelTracesSampler: 'always_on',
    otelTracesSamplerArg: undefined,
  };
  const { port } = collector.address() as AddressInfo;
  const tracing = openOpenTelemetry(`http://127.0.0.1:${port}/v1/traces`, settings, { instance: 'a', version: '1' });
  tracing.start({ name: 'call', kind: 'server' })?.end();
  await tracing.close();
  const socket = await connected.promise;
  // The exporter would have given up and closed the connection.
  assert.equal(socket.readableEnded || socket.destroyed, false);
});
