import type { Transform } from 'node:stream';
import { constants, createBrotliDecompress, createGunzip, createInflate, createZstdDecompress } from 'node:zlib';
import { OutboundError } from './outbound.ts';

const DECODERS: Readonly<Record<string, () => Transform>> = {
  gzip: () => createGunzip({ finishFlush: constants.Z_SYNC_FLUSH }),
  'x-gzip': () => createGunzip({ finishFlush: constants.Z_SYNC_FLUSH }),
  deflate: () => createInflate(),
  br: () => createBrotliDecompress(),
  zstd: () => createZstdDecompress(),
};

/** The content coding of a response; undefined if there is none. */
export function codingOf(headers: Readonly<Record<string, string>>): string | undefined {
  const coding = headers['content-encoding']?.trim().toLowerCase();
  return coding === undefined || coding === '' || coding === 'identity' ? undefined : coding;
}

/** Receives decoded bytes; exactly one of `end` and `fail` comes last. */
export interface DecodedHandler {
  chunk(bytes: Buffer): void;
  end(): void;
  fail(error: OutboundError): void;
}

/**
 * Decodes a response as it arrives, for upstreams that compress despite a request for `identity`. The handler limits
 * how much it accepts; after `destroy` it receives nothing more.
 */
export class ContentDecoder {
  readonly #stream: Transform | undefined;
  readonly #handler: DecodedHandler;

  constructor(coding: string, handler: DecodedHandler, onDrain: () => void) {
    this.#handler = handler;
    this.#stream = Object.hasOwn(DECODERS, coding) ? DECODERS[coding]?.() : undefined;
    this.#stream?.on('data', (bytes: Buffer) => handler.chunk(bytes));
    this.#stream?.on('drain', onDrain);
    this.#stream?.once('end', () => handler.end());
    this.#stream?.once('error', (cause) =>
      handler.fail(new OutboundError('body', 'the answer could not be decoded', { cause })),
    );
  }

  /** False when more bytes wait to be decoded than should. */
  write(bytes: Buffer): boolean {
    return this.#stream?.write(bytes) ?? true;
  }

  end(): void {
    if (this.#stream === undefined)
      this.#handler.fail(new OutboundError('body', 'the answer has a content coding that was not asked for'));
    else this.#stream.end();
  }

  destroy(): void {
    this.#stream
      ?.removeAllListeners('data')
      .removeAllListeners('end')
      .on('error', () => {});
    this.#stream?.destroy();
  }
}
