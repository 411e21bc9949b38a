import type { IncomingMessage, ServerResponse } from 'node:http';

export type RequestHandler = (request: IncomingMessage, response: ServerResponse) => void;

/** A balancer without health checks sends requests as soon as the port is open; a start takes seconds. */
const MAX_WAIT_MS = 20_000;
const MAX_WAITING = 1_000;
const RETRY_AFTER_SECONDS = '2';

/** Answers health checks before the service is constructed, and lets everything else wait for it. */
export class RequestsDuringStart {
  readonly #waiting = new Map<ServerResponse, { readonly request: IncomingMessage; readonly timer: NodeJS.Timeout }>();
  readonly #maxWaitMs: number;

  constructor(maxWaitMs = MAX_WAIT_MS) {
    this.#maxWaitMs = maxWaitMs;
  }

  /** Nothing of the body is read before the service takes the request. */
  readonly handle: RequestHandler = (request, response) => {
    const path = request.url?.split('?', 1)[0];
    if (path === '/livez') return void response.writeHead(200, { 'content-type': 'text/plain' }).end('ok\n');
    if (path === '/readyz') return refuse(response, { ready: false, reason: 'migrating' });
    const tooLong = () => {
      this.#waiting.delete(response);
      refuse(response, { success: false, message: 'The service is starting. Try again in a few seconds.' });
    };
    if (this.#waiting.size >= MAX_WAITING) return tooLong();
    this.#waiting.set(response, { request, timer: setTimeout(tooLong, this.#maxWaitMs).unref() });
    response.once('close', () => this.#drop(response));
  };

  /** Hands over what has waited. */
  passTo(handler: RequestHandler): void {
    for (const [response, { request }] of [...this.#waiting]) {
      this.#drop(response);
      handler(request, response);
    }
  }

  #drop(response: ServerResponse): void {
    clearTimeout(this.#waiting.get(response)?.timer);
    this.#waiting.delete(response);
  }
}

function refuse(response: ServerResponse, body: object): void {
  const head = { 'content-type': 'application/json', 'cache-control': 'no-store', 'retry-after': RETRY_AFTER_SECONDS };
  response.writeHead(503, { ...head, connection: 'close' }).end(JSON.stringify(body));
}
