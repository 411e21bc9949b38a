import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

/** A delivery as it arrived. */
export interface ReceivedWebhook {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Time of `performance.now()`. */
  readonly at: number;
}

/** A receiver's response; `undefined`: it never responds. */
export interface ReceiverAnswer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** A program that receives webhooks: records the deliveries and responds as the test sets. */
export class WebhookReceiver {
  readonly received: ReceivedWebhook[] = [];
  answer: (webhook: ReceivedWebhook) => ReceiverAnswer | undefined | Promise<ReceiverAnswer> = () => ({ status: 204 });
  readonly #server: Server;
  readonly #waiting = new Set<() => void>();

  constructor() {
    this.#server = createServer((request, response) => void this.#take(request, response));
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const webhook = {
      path: request.url ?? '',
      headers: request.headers as Record<string, string>,
      body: await text(request),
      at: performance.now(),
    };
    this.received.push(webhook);
    const answering = this.answer(webhook);
    for (const check of this.#waiting) check();
    const answer = await answering;
    if (answer !== undefined) response.writeHead(answer.status, answer.headers).end(answer.body);
  }

  async listen(): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return this;
  }

  /** `host:port`, as in WEBHOOK_PRIVATE_HOSTS. */
  get host(): string {
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  url(path = '/hook'): string {
    return `http://${this.host}${path}`;
  }

  at(path: string): ReceivedWebhook[] {
    return this.received.filter((webhook) => webhook.path === path);
  }

  /** Resolves once this many deliveries have arrived at a path. */
  waitFor(path: string, count: number): Promise<ReceivedWebhook[]> {
    return new Promise((resolve) => {
      const check = (): void => {
        const found = this.at(path);
        if (found.length < count) return;
        this.#waiting.delete(check);
        resolve(found);
      };
      this.#waiting.add(check);
      check();
    });
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
