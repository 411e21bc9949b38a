import { toSeconds } from '../../contract/time-units.ts';

/** The end of a model, and when it was announced. Unix milliseconds. */
interface End {
  readonly at: number;
  readonly knownSince: number;
}

/**
 * Headers that announce the end of a resource to programs: RFC 9745 (`Deprecation`) and RFC 8594 (`Sunset`). Empty if
 * no end is known.
 */
export const toSunsetHeaders = (end: End | undefined): Record<string, string> =>
  end === undefined ? {} : { deprecation: `@${toSeconds(end.knownSince)}`, sunset: new Date(end.at).toUTCString() };

/** Adds the headers to the response to a request for a model. */
export async function announceEnd(
  channels: { retirement(model: string): Promise<End | undefined> },
  model: string,
  reply: { headers(headers: Record<string, string>): unknown },
): Promise<void> {
  reply.headers(toSunsetHeaders(await channels.retirement(model)));
}
