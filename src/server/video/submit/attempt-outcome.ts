import type { UnsupportedRequestError } from '../../upstreams/error.ts';
import type { SubmitOutcome } from '../../vendors/adapter.ts';

/** How one attempt at a submit ended. */
export type AttemptOutcome =
  | SubmitOutcome
  /** The request did not arrive: another channel may be tried. */
  | { readonly kind: 'unreachable' }
  /** It may have arrived: no other channel is tried, and polling finds out. */
  | { readonly kind: 'unknown' }
  /** The vendor cannot serve such a request; nothing was sent. */
  | { readonly kind: 'unfit'; readonly error: UnsupportedRequestError };
