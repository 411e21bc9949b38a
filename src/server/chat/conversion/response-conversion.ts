import { asObject } from '../../../contract/is-object.ts';
import { extractData, splitEvents } from '../sse-events.ts';
import { tryParse } from '../try-parse-json.ts';
import type { Codec } from './dialect-codecs.ts';
import type { ResponseEvent } from './neutral-form.ts';
import type { ResponseContext, ResponseReader, StreamWriter } from './response-reader-and-writer.ts';

/** Turns one response of an upstream into the caller's dialect. */
export class ResponseConversion {
  readonly #reader: ResponseReader;
  readonly #target: Codec;
  readonly #context: ResponseContext;
  #writer: StreamWriter | undefined;

  constructor(source: Codec, target: Codec, context: ResponseContext) {
    this.#reader = source.createReader();
    this.#target = target;
    this.#context = context;
  }

  /** @param body a complete response, JSON */
  convert(body: Buffer): string {
    const events = this.#reader.readComplete(asObject(tryParse(body.toString('utf8'))) ?? {});
    return JSON.stringify(this.#target.writeResponse(events, this.#context));
  }

  /** @param events whole events of the upstream's stream @returns those of the caller's, possibly none */
  push(events: Buffer): string {
    let text = '';
    for (const event of splitEvents(events.toString('utf8'))) {
      const value = asObject(tryParse(extractData(event)));
      if (value !== undefined) text += this.#write(this.#reader.readEvent(value));
    }
    return text;
  }

  /** The end of a stream that is complete. */
  finish(): string {
    return this.#write(this.#reader.finish());
  }

  #write(events: readonly ResponseEvent[]): string {
    this.#writer ??= this.#target.createWriter(this.#context);
    let text = '';
    for (const event of events) text += this.#writer.write(event);
    return text;
  }
}
