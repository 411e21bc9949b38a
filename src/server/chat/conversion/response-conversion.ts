import { asObject, type UntrustedObject } from '../../../contract/is-object.ts';
import { extractData, parseEvent, splitEvents } from '../sse-events.ts';
import { tryParse } from '../try-parse-json.ts';
import type { Codec } from './dialect-codecs.ts';
import type { ResponseEvent } from './neutral-form.ts';
import type { ResponseContext, ResponseReader, StreamWriter } from './response-reader-and-writer.ts';

/** Turns one response of an upstream into the caller's dialect, and into the form the caller asked for: a stream, or one body. */
export class ResponseConversion {
  readonly #reader: ResponseReader;
  readonly #target: Codec;
  readonly #context: ResponseContext;
  #writer: StreamWriter | undefined;

  constructor(source: Codec, target: Codec, context: ResponseContext) {
    this.#reader = source.createReader(target.interleaves);
    this.#target = target;
    this.#context = context;
  }

  /** Paths of what the caller's dialect cannot say. */
  get dropped(): readonly string[] {
    return this.#reader.builder.dropped.dropped;
  }

  /** A reason to end that is no answer, once all was read. */
  get failure(): string | undefined {
    return this.#reader.builder.failure;
  }

  /** @param body a complete response, JSON @returns the caller's */
  convert(body: Buffer): string {
    return this.#collect(this.#readBody(body));
  }

  /** @param body a complete response, JSON @returns the caller's stream */
  convertToStream(body: Buffer): string {
    return this.#write(this.#readBody(body));
  }

  /** @param stream all events of an upstream's stream @returns the caller's body */
  convertToBody(stream: Buffer): string {
    const read: ResponseEvent[] = [];
    for (const event of splitEvents(stream.toString('utf8'))) {
      const value = asObject(parseEvent(extractData(event)));
      if (value !== undefined) read.push(...this.#reader.readEvent(value));
    }
    return this.#collect([...read, ...this.#reader.finish()]);
  }

  /** @param events whole events of the upstream's stream @returns those of the caller's, possibly none */
  push(events: Buffer): string {
    let text = '';
    for (const event of splitEvents(events.toString('utf8'))) {
      const value = asObject(parseEvent(extractData(event)));
      if (value !== undefined) text += this.#write(this.#reader.readEvent(value));
    }
    return text;
  }

  /** The end of a stream that is complete. */
  finish(): string {
    return this.#write(this.#reader.finish());
  }

  /** Google's streams of another form than events are lists of chunks. */
  #readBody(body: Buffer): ResponseEvent[] {
    const value = tryParse(body.toString('utf8'));
    const chunks: readonly UntrustedObject[] = (Array.isArray(value) ? value : [value]).map(
      (each) => asObject(each) ?? {},
    );
    const [only] = chunks;
    if (chunks.length === 1 && only !== undefined) return this.#reader.readComplete(only);
    return [...chunks.flatMap((chunk) => this.#reader.readEvent(chunk)), ...this.#reader.finish()];
  }

  #collect(events: readonly ResponseEvent[]): string {
    return JSON.stringify(this.#target.writeResponse(events, this.#context));
  }

  #write(events: readonly ResponseEvent[]): string {
    if (events.length === 0) return '';
    this.#writer ??= this.#target.createWriter(this.#context);
    let text = '';
    for (const event of events) {
      if (event.type !== 'end') text += this.#writer.write(event);
      // An end that is no answer is told by an error in its place.
      else if (event.reason !== 'failed') text += this.#nameDropped() + this.#writer.write(event);
    }
    return text;
  }

  /** The headers of a stream have left, so a comment says what its events leave out. */
  #nameDropped(): string {
    return this.dropped.length === 0 ? '' : `: x-reelgate-dropped: ${this.dropped.join(', ')}\n\n`;
  }
}
