import { toSeconds } from '../../contract/time.ts';
import type { Retirement } from '../channels/channel-directory.ts';

/** Tells programs that a model ends: RFC 9745 (`Deprecation`) and RFC 8594 (`Sunset`). Nothing for one that does not. */
export const toLifecycleHeaders = (retirement: Retirement | undefined): Record<string, string> =>
  retirement === undefined
    ? {}
    : { deprecation: `@${toSeconds(retirement.knownSince)}`, sunset: new Date(retirement.at).toUTCString() };
