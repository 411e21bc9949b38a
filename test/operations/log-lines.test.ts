import assert from 'node:assert/strict';
import { hostname } from 'node:os';
import { it } from 'node:test';
import { makeApp } from '../../src/server/app.ts';
import { VERSION } from '../../src/server/package-root.ts';
import { parseConfig } from '../../src/server/platform/config.ts';
import { testEnvironment } from '../service-with-sandbox.ts';

for (const [what, env, instance] of [
  ['the given name', { INSTANCE_NAME: 'replica-2' }, 'replica-2'],
  ['host and process', {}, `${hostname()}-${process.pid}`],
] as const) {
  it(`every log line names its process by ${what} and its version`, async () => {
    const lines: string[] = [];
    const config = parseConfig(testEnvironment('sqlite::memory:', { LOG_LEVEL: 'debug', ...env }));
    const app = await makeApp(config, { logDestination: { write: (line) => void lines.push(line) } });
    const { port } = await app.listen();
    await fetch(`http://127.0.0.1:${port}/api/status`);
    await app.close(0);
    assert.ok(lines.length >= 2, 'the start and a request are logged');
    for (const line of lines) {
      const { instance: named, version } = JSON.parse(line) as Record<string, unknown>;
      assert.deepEqual({ named, version }, { named: instance, version: VERSION }, line);
      assert.equal(JSON.stringify(JSON.parse(line)), line.trimEnd(), 'no member is there twice');
    }
  });
}
