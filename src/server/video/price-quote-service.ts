import type { Static } from 'typebox';
import { toReceiptLines } from '../../contract/compute-receipt-lines.ts';
import { toSeconds } from '../../contract/time-units.ts';
import type { Quote } from '../../contract/video-quotes.ts';
import type { AffordableCallCounts } from '../plans/affordable-calls.ts';
import type { GenerationRequest } from './submit/generation-request.ts';
import type { AddHeaders, SubmitCaller, SubmitService } from './submit/submit-service.ts';

/** What videos would cost. */
export class PriceQuoteService {
  readonly #submitter: Pick<SubmitService, 'quote'>;
  readonly #outlook: Pick<AffordableCallCounts, 'of'>;
  constructor(submitter: Pick<SubmitService, 'quote'>, outlook: Pick<AffordableCallCounts, 'of'>) {
    this.#submitter = submitter;
    this.#outlook = outlook;
  }

  /** @throws AppError for whatever a submit would refuse before it reserves */
  async quote(
    caller: SubmitCaller,
    request: GenerationRequest,
    addHeaders?: AddHeaders,
  ): Promise<Static<typeof Quote>> {
    const { price, terms, model } = await this.#submitter.quote(caller, request, addHeaders);
    const outlook = await this.#outlook.of(caller, price);
    return {
      quota: price,
      model,
      facts: terms.facts,
      lines: toReceiptLines(terms.price, terms.facts, price),
      affordable: outlook.now === undefined || outlook.now > 0,
      from_allowance: outlook.fromAllowance,
      from_wallet: price - outlook.fromAllowance,
      how_many_now: outlook.now ?? null,
      how_many_today: outlook.today ?? null,
      balance: outlook.balance,
      windows: outlook.windows.map(({ kind, limit, left, endsAt, howMany }) => ({
        kind,
        limit,
        left,
        full_again: toSeconds(endsAt),
        how_many: howMany ?? null,
      })),
      key_left: outlook.keyLeft ?? null,
    };
  }
}
