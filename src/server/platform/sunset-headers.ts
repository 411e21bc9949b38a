import { toSeconds } from '../../contract/time-units.ts';

/** When something ends and since when that is known, Unix milliseconds. */
interface End {
  readonly at: number;
  readonly knownSince: number;
}

/** Tells programs that what they asked for ends: RFC 9745 (`Deprecation`) and RFC 8594 (`Sunset`). Nothing where it does not. */
export const toSunsetHeaders = (end: End | undefined): Record<string, string> =>
  end === undefined ? {} : { deprecation: `@${toSeconds(end.knownSince)}`, sunset: new Date(end.at).toUTCString() };

/** Sets the headers on the answer to a request for a model. */
export async function announceEnd(
  channels: { retirement(model: string): Promise<End | undefined> },
  model: string,
  reply: { headers(headers: Record<string, string>): unknown },
): Promise<void> {
  reply.headers(toSunsetHeaders(await channels.retirement(model)));
}
