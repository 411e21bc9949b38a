import type { Channel } from '../channels/directory.ts';
import type { ChatRequest } from './chat-request.ts';
import { applyOptionRules, NO_VERDICT, refusedOption } from './refuse-or-charge-request-options.ts';

/** The channels that may serve a request. */
export interface ChannelsPermittingOptions {
  readonly candidates: readonly Channel[];
  /** Whole quota that the most expensive of their rules add to the price. */
  readonly surcharge: number;
  /** Tools the first one leaves out, by index. */
  readonly droppedTools: readonly number[];
}

/**
 * The channels whose rules let the request pass, with what those add to its price and leave out of it.
 *
 * @throws AppError `invalid_request` that names the option, where no channel lets it pass
 */
export function channelsPermittingOptions(
  { governedOptions }: ChatRequest,
  serving: readonly Channel[],
): ChannelsPermittingOptions {
  if (governedOptions.length === 0) return { candidates: serving, ...NO_VERDICT };
  const verdicts = serving.map((channel) => ({ channel, verdict: applyOptionRules(governedOptions, channel) }));
  const permitted = verdicts.filter(({ verdict }) => verdict.refused === undefined);
  const [first] = verdicts;
  if (permitted.length === 0 && first?.verdict.refused !== undefined) throw refusedOption(first.verdict.refused);
  return {
    candidates: permitted.map(({ channel }) => channel),
    surcharge: Math.max(0, ...permitted.map(({ verdict }) => verdict.surcharge)),
    droppedTools: permitted[0]?.verdict.droppedTools ?? [],
  };
}
