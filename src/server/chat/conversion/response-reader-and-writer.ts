import type { UntrustedObject } from '../../../contract/is-object.ts';
import type { ResponseEvent, ToolOrigin } from './neutral-form.ts';
import type { ResponseBuilder } from './response-builder.ts';

/** What a response in the caller's dialect has that does not come from the upstream. */
export interface ResponseContext {
  /** Of the request, without a prefix. */
  readonly id: string;
  /** As the caller named it. */
  readonly model: string;
  /** Unix seconds. */
  readonly created: number;
  /** The caller asked for the usage of a stream, where that is a choice. */
  readonly wantsUsage: boolean;
  /** The request's body, of which some dialects repeat members. */
  readonly asked: UntrustedObject;
  /** What the functions of these names are to the caller. */
  readonly origins: ReadonlyMap<string, ToolOrigin>;
}

/**
 * Reads one response, complete or event by event, into neutral events. Total: whatever an upstream sends is used, replaced by what we
 * write ourselves, or named as dropped; `RESPONSE_MEMBERS` lists each member.
 */
export interface ResponseReader {
  readonly builder: ResponseBuilder;
  readComplete(body: UntrustedObject): ResponseEvent[];
  readEvent(event: UntrustedObject): ResponseEvent[];
  /** The stream has ended well; its figures may come behind the reason of its end. */
  finish(): ResponseEvent[];
}

/** Writes a stream; none of an event's text is held back. */
export interface StreamWriter {
  write(event: ResponseEvent): string;
}
