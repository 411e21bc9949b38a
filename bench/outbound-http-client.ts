/**
 * Compares the outbound client with undici's bare dispatch: CPU time of the calling process per request of about 600
 * bytes, 64 in flight, against a server in another process on loopback. Run
 * `node bench/outbound-http-client.ts [requests]`.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import process, { argv, cpuUsage } from 'node:process';
import { Agent, request } from 'undici';
import { openOutbound } from '../src/server/platform/outbound/client.ts';

const ANSWER = JSON.stringify({
  id: 'chatcmpl-1',
  object: 'chat.completion',
  choices: [{ index: 0, message: { role: 'assistant', content: 'word '.repeat(90) }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 12, completion_tokens: 90, total_tokens: 102 },
});
const BODY = JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'hello '.repeat(20) }] });
const HEADERS = { authorization: 'Bearer sk-0123456789', 'content-type': 'application/json' };
const AT_ONCE = 64;
const ROUNDS = 5;

if (argv[2] === 'serve') {
  const server = http.createServer((incoming, response) => {
    incoming.resume();
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': ANSWER.length }).end(ANSWER);
  });
  server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port));
} else {
  await measure(Number(argv[2] ?? 30_000));
}

async function measure(requests: number): Promise<void> {
  const server = fork(import.meta.filename, ['serve']);
  const [port] = (await once(server, 'message')) as [number];
  const origin = `http://127.0.0.1:${port}`;
  const url = `${origin}/v1/chat/completions`;
  const agent = new Agent({ pipelining: 1 });
  const client = openOutbound();
  const order = { method: 'POST', url, headers: HEADERS, body: BODY, private: true } as const;

  const subjects: { readonly [name: string]: () => Promise<unknown> } = {
    'bare dispatch + JSON.parse': () =>
      new Promise((resolve, reject) => {
        const chunks: Buffer[] = [];
        agent.dispatch(
          { origin, path: '/v1/chat/completions', method: 'POST', headers: HEADERS, body: BODY },
          {
            onRequestStart() {},
            onResponseStart() {},
            onResponseData: (_control, chunk) => void chunks.push(chunk),
            onResponseEnd: () => resolve(JSON.parse(Buffer.concat(chunks).toString())),
            onResponseError: (_control, error) => reject(error),
          },
        );
      }),
    'client.json': () => client.requestJson(order),
    'client.stream': () =>
      new Promise((resolve, reject) => {
        let size = 0;
        client.stream(order, {
          head() {},
          chunk(bytes) {
            size += bytes.length;
          },
          end: () => resolve(size),
          fail: reject,
        });
      }),
    'client.configured': async () => (await client.request(order)).body.resume().toArray(),
    'undici.request + json()': async () =>
      (await request(url, { dispatcher: agent, method: 'POST', headers: HEADERS, body: BODY })).body.json(),
  };

  const results = new Map(Object.keys(subjects).map((name) => [name, [] as number[]]));
  for (let round = 0; round <= ROUNDS; round++) {
    for (const [name, ask] of Object.entries(subjects)) {
      const perRequest = await cpuOf(ask, round === 0 ? requests / 4 : requests);
      if (round > 0) results.get(name)?.push(perRequest);
    }
  }
  for (const [name, values] of results) {
    const sorted = values.toSorted((a, b) => a - b);
    console.log(`${name.padEnd(28)} ${sorted[Math.floor(sorted.length / 2)]?.toFixed(1)} µs CPU a request`);
  }
  await client.close();
  await agent.close();
  server.kill();
}

async function cpuOf(ask: () => Promise<unknown>, requests: number): Promise<number> {
  let left = requests;
  const before = cpuUsage();
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      while (left-- > 0) await ask();
    }),
  );
  const { user, system } = cpuUsage(before);
  return (user + system) / requests;
}
