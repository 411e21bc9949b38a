import { Readable } from 'node:stream';
import type { ExchangeControl, ExchangeHandler, OutboundError, OutboundResponse } from './outbound.ts';

/** A response body as a stream that pauses the socket while it is not read and aborts the exchange when destroyed. */
class ResponseBody extends Readable {
  readonly #control: ExchangeControl;
  constructor(control: ExchangeControl) {
    super({ highWaterMark: 64 * 1024 });
    this.#control = control;
    // A body may fail before its receiver has been given it; the error waits there and must not end the process.
    this.on('error', () => {});
  }
  override _read(): void {
    this.#control.resume();
  }
  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    this.#control.abort();
    callback(error);
  }
}

/** Turns the handler style into a promise of head and body; `onOver` runs once, however the exchange ends. */
export function streamingHandler(
  resolve: (response: OutboundResponse) => void,
  reject: (error: OutboundError) => void,
  onOver: () => void = () => {},
): ExchangeHandler {
  let body: ResponseBody | undefined;
  return {
    head(status, headers, control) {
      body = new ResponseBody(control);
      resolve({ status, headers, body });
    },
    chunk(bytes, control) {
      if (body?.push(bytes) === false) control.pause();
    },
    end() {
      onOver();
      body?.push(null);
    },
    fail(error) {
      onOver();
      if (body === undefined) reject(error);
      // A receiver that destroyed the body needs no error; others get it.
      else if (!body.destroyed) body.destroy(error);
    },
  };
}
