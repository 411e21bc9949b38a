import { Readable } from 'node:stream';
import type { ExchangeControl, ExchangeHandler, OutboundError, OutboundResponse } from './outbound-types.ts';

/** A response body as a stream that pauses the socket while it is not read and aborts the exchange when destroyed. */
class ResponseBody extends Readable {
  readonly #control: ExchangeControl;
  constructor(control: ExchangeControl, highWaterMark: number) {
    super({ highWaterMark });
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

/**
 * Gives the memory of a chunk back at once, after its last use. The garbage collector comes later, and with many downloads at a
 * time most of their memory waits for it. Nobody else holds the chunks of this client's bodies; one that shares its memory
 * with the next, and those of other streams, are left alone.
 */
export function freeChunk(body: Readable, { buffer, byteLength }: Buffer): void {
  if (body instanceof ResponseBody && buffer instanceof ArrayBuffer && buffer.byteLength === byteLength)
    buffer.transfer(0);
}

const READ_AHEAD_BYTES = 64 * 1024;

/** Turns the handler style into a promise of head and body; `onOver` runs once, however the exchange ends. */
export function streamingHandler(
  resolve: (response: OutboundResponse) => void,
  reject: (error: OutboundError) => void,
  onOver: () => void = () => {},
  readAheadBytes = READ_AHEAD_BYTES,
): ExchangeHandler {
  let body: ResponseBody | undefined;
  return {
    head(status, headers, control) {
      body = new ResponseBody(control, readAheadBytes);
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
