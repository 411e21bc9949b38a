import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Agent, type Dispatcher } from 'undici';

/**
 * The minimal relay in Node, as the baseline for a gateway's cost: node:http in, undici's dispatch out, without keys,
 * money or validation. `UPSTREAM` names the upstream; prints `listening PORT`.
 */
const origin = process.env.UPSTREAM ?? '';
const agent = new Agent({ connections: 4_096, pipelining: 1 });

class Relay implements Dispatcher.DispatchHandler {
  readonly #response: ServerResponse;
  #control: Dispatcher.DispatchController | undefined;
  constructor(response: ServerResponse) {
    this.#response = response;
    response.on('drain', () => this.#control?.resume());
    response.once('close', () => {
      if (!response.writableFinished) this.#control?.abort(new Error('the caller left'));
    });
  }
  onRequestStart(control: Dispatcher.DispatchController): void {
    this.#control = control;
  }
  onResponseStart(_control: Dispatcher.DispatchController, status: number, headers: object): void {
    this.#response.writeHead(status, headers as Record<string, string>);
  }
  onResponseData(control: Dispatcher.DispatchController, chunk: Buffer): void {
    if (!this.#response.write(chunk)) control.pause();
  }
  onResponseEnd(): void {
    this.#response.end();
  }
  onResponseError(): void {
    this.#response.destroy();
  }
}

const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.once('end', () => {
    const { authorization = '', 'content-type': type = 'application/json' } = request.headers;
    agent.dispatch(
      {
        origin,
        path: request.url ?? '/',
        method: 'POST',
        headers: { authorization, 'content-type': type },
        body: chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks),
      },
      new Relay(response),
    );
  });
});
server.keepAliveTimeout = 600_000;
server.listen({ port: 0, host: '127.0.0.1', backlog: 4_096 }, () =>
  process.stdout.write(`listening ${(server.address() as AddressInfo).port}\n`),
);
