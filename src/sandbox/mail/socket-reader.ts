import type { Readable } from 'node:stream';

/** A socket read by lines and by counts of bytes, whichever the protocol asks for next. */
export class SocketReader {
  readonly #chunks: AsyncIterator<Buffer>;
  readonly #mostBytes: number;
  #held: Buffer = Buffer.alloc(0);

  constructor(stream: Readable, mostBytes: number) {
    this.#chunks = stream[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
    this.#mostBytes = mostBytes;
  }

  /** The next line without its end; undefined when the client has disconnected or the line is too long. */
  async readLine(): Promise<string | undefined> {
    let end = this.#held.indexOf('\n');
    while (end < 0) {
      if (this.#held.length > 65_536 || !(await this.#more())) return undefined;
      end = this.#held.indexOf('\n');
    }
    const line = this.#held.subarray(0, end).toString('utf8').replace(/\r$/, '');
    this.#held = this.#held.subarray(end + 1);
    return line;
  }

  async readBytes(count: number): Promise<Buffer | undefined> {
    if (count > this.#mostBytes) return undefined;
    while (this.#held.length < count) if (!(await this.#more())) return undefined;
    const bytes = Buffer.from(this.#held.subarray(0, count));
    this.#held = this.#held.subarray(count);
    return bytes;
  }

  async #more(): Promise<boolean> {
    try {
      const { value, done } = await this.#chunks.next();
      if (done) return false;
      this.#held = Buffer.concat([this.#held, value]);
      return true;
    } catch {
      // A broken connection ends the session like a closed one.
      return false;
    }
  }
}
