import type { CreateVideoRequest, VideoDuration, VideoQuote } from '../sdk/index.ts';
import type { CommandContext } from './command-context.ts';
import { type CreditFormat, loadCreditFormat } from './credit-format.ts';
import { addOptionToError } from './generation-options.ts';
import { formatDateTime, formatDuration, formatKeyValues, type Rendering } from './output.ts';
import { findTypicalGenerationTime } from './typical-time.ts';

const count = (howMany: number | null): string => (howMany === null ? 'any number' : String(howMany));

/** Prints the estimated cost of a video and the number of videos the account can afford. Nothing is started. */
export async function showQuote(context: CommandContext, request: CreateVideoRequest): Promise<void> {
  const { reelgate, output } = context;
  const quote = await reelgate.videos.quote(request).catch((error: unknown) => {
    throw addOptionToError(error);
  });
  const [credits, typical] = await Promise.all([
    loadCreditFormat(reelgate),
    findTypicalGenerationTime(context, request.model),
  ]);
  output.result({ ...quote, typical: typical ?? null }, formatQuote(quote, typical, credits));
}

const formatQuote = (quote: VideoQuote, typical: VideoDuration | undefined, credits: CreditFormat): Rendering =>
  formatKeyValues({
    Cost: credits(quote.quota),
    'From the allowance': quote.windows.length === 0 ? undefined : credits(quote.from_allowance),
    'From the balance': credits(quote.from_wallet),
    'You can make': `${count(quote.how_many_now)} now, ${count(quote.how_many_today)} today`,
    ...Object.fromEntries(
      quote.windows.map((window) => [
        `Allowance of the ${window.kind}`,
        `${credits(window.left)} of ${credits(window.limit)} left, full again ${formatDateTime(window.full_again)}`,
      ]),
    ),
    Balance: credits(quote.balance),
    'Left of the key': quote.key_left === null ? undefined : credits(quote.key_left),
    ...Object.fromEntries(
      quote.spend_limits.map((limit) => [
        `Spend limit of the ${limit.of}`,
        `${credits(limit.left)} of ${credits(limit.amount)} left, renews ${formatDateTime(limit.renews_at)}`,
      ]),
    ),
    'Usually takes': typical === undefined ? undefined : formatDuration(typical.p50_seconds),
  });
