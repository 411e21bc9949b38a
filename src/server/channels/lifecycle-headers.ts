import { toSeconds } from '../../contract/time.ts';
import type { ChannelDirectory, Retirement } from './channel-directory.ts';

/** Tells programs that a model ends: RFC 9745 (`Deprecation`) and RFC 8594 (`Sunset`). Nothing for one that does not. */
export const toLifecycleHeaders = (retirement: Retirement | undefined): Record<string, string> =>
  retirement === undefined
    ? {}
    : { deprecation: `@${toSeconds(retirement.knownSince)}`, sunset: new Date(retirement.at).toUTCString() };

interface HeaderTarget {
  headers(headers: Record<string, string>): unknown;
}

/** Sets the headers on the answer to a request for a model. */
export async function announceEnd(
  channels: Pick<ChannelDirectory, 'retirement'>,
  model: string,
  reply: HeaderTarget,
): Promise<void> {
  reply.headers(toLifecycleHeaders(await channels.retirement(model)));
}
