import type { CreateVideoRequest, VideoQuote } from '../../sdk/index.ts';
import type { CommandContext } from '../command-context.ts';
import { formatDateTime, formatKeyValues, formatQuota } from '../format.ts';

const count = (howMany: number | null): string => (howMany === null ? 'any number' : String(howMany));

/** What a video would cost, and how many can be made. Nothing is started. */
export async function showQuote({ reelgate, output }: CommandContext, request: CreateVideoRequest): Promise<void> {
  const quote = await reelgate.videos.quote(request);
  const { getStatus } = await import('../../contract/service.ts');
  const { data: status } = await reelgate.transport.call(getStatus, {});
  output.result(quote, formatQuote(quote, status.quota_per_unit));
}

const formatQuote = (quote: VideoQuote, quotaPerUnit: number): string =>
  formatKeyValues({
    Cost: formatQuota(quote.quota, quotaPerUnit),
    'From the allowance': quote.windows.length === 0 ? undefined : quote.from_allowance.toLocaleString('en'),
    'From the wallet': quote.from_wallet.toLocaleString('en'),
    'You can make': `${count(quote.how_many_now)} now, ${count(quote.how_many_today)} today`,
    ...Object.fromEntries(
      quote.windows.map((window) => [
        `Allowance of the ${window.kind}`,
        `${window.left.toLocaleString('en')} of ${window.limit.toLocaleString('en')} left, full again ${formatDateTime(window.full_again)}`,
      ]),
    ),
    'Left of the key': quote.key_left === null ? undefined : quote.key_left.toLocaleString('en'),
  });
