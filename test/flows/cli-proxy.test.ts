import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { it, type TestContext } from 'node:test';
import { CliMachine } from '../cli-process-harness.ts';

/** A server, and the targets of the requests it receives. */
async function listen(t: TestContext) {
  const targets: string[] = [];
  const server = createServer(({ url = '' }, response) => {
    targets.push(url);
    response.writeHead(404, { 'content-type': 'application/json' }).end('{"error":{"message":"none"}}');
  });
  server.on('connect', ({ url = '' }, socket) => {
    targets.push(url);
    socket.end('HTTP/1.1 502 Bad Gateway\r\n\r\n');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, targets };
}

it('the command line uses the proxy of the environment, but not for this machine', async (t) => {
  const [proxy, service] = [await listen(t), await listen(t)];
  const run = async (url: string, env: Record<string, string>) => {
    const machine = new CliMachine(url, {
      REELGATE_API_KEY: 'sk-key',
      HTTP_PROXY: proxy.url,
      HTTPS_PROXY: proxy.url,
      ...env,
    });
    t.after(() => machine.remove());
    return machine.run('models');
  };
  await run('http://gate.example', {});
  assert.match(proxy.targets.join(), /^http:\/\/gate\.example\/v1/);
  proxy.targets.length = 0;
  await run('https://gate.example', {});
  assert.match(proxy.targets.join(), /^gate\.example:443/);
  proxy.targets.length = 0;
  await run('http://gate.example', { HTTP_PROXY: new URL(proxy.url).host });
  assert.match(proxy.targets.join(), /^http:\/\/gate\.example\/v1/);
  proxy.targets.length = 0;
  await run(service.url, {});
  await run(service.url.replace('127.0.0.1', 'localhost'), { NO_PROXY: 'gate.example' });
  assert.ok(service.targets.length >= 1 && proxy.targets.length === 0, proxy.targets.join());
  for (const HTTP_PROXY of ['no proxy', 'ftp://proxy.example']) {
    const { code, stderr } = await run('http://gate.example', { HTTP_PROXY });
    assert.equal(code, 2);
    assert.match(stderr, /HTTP_PROXY or HTTPS_PROXY names no proxy/);
  }
});
