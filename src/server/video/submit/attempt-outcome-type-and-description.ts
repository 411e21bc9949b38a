import { maskSecrets } from '../../platform/log.ts';
import { toWellFormedText } from '../../platform/text.ts';
import type { UnsupportedRequestError } from '../../upstreams/vendor-errors.ts';
import type { SubmitOutcome } from '../../vendors/adapter.ts';
import type { FailedAttempt } from '../task-admin-store.ts';

const MAX_MESSAGE = 500;

/** How one attempt at a submit ended. */
export type AttemptOutcome =
  | SubmitOutcome
  /** The request did not arrive: another channel may be tried. */
  | { readonly kind: 'unreachable' }
  /** It may have arrived: no other channel is tried, and polling finds out. */
  | { readonly kind: 'unknown' }
  /** The vendor cannot serve such a request; nothing was sent. */
  | { readonly kind: 'unfit'; readonly error: UnsupportedRequestError };

/** How an attempt ended, for administrators. */
export function describeOutcome(
  outcome: Exclude<AttemptOutcome, { kind: 'accepted' }>,
): Pick<FailedAttempt, 'outcome' | 'code' | 'message'> {
  if (outcome.kind === 'refused') {
    const { reason, code, message } = outcome.error;
    return { outcome: reason, code: sanitizeText(code), message: sanitizeText(message) };
  }
  return {
    outcome: outcome.kind,
    code: '',
    message: outcome.kind === 'unfit' ? sanitizeText(outcome.error.message) : '',
  };
}

const sanitizeText = (text: string): string => maskSecrets(toWellFormedText(text)).slice(0, MAX_MESSAGE);
