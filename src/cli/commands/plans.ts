import type { Command } from 'commander';
import type { PlanInfo, RedemptionResult, SubscriptionInfo } from '../../sdk/index.ts';
import { formatDateTime, formatDuration, formatKeyValues, formatRelativeTime, formatTable } from '../format.ts';
import type { RunCommand } from '../run-command.ts';

/** `reelgate packages …` and `reelgate redeem` */
export function addPlanCommands(program: Command, run: RunCommand): void {
  const packages = program
    .command('packages')
    .description('Packages on offer, and what is left of yours')
    .addHelpText(
      'after',
      '\nExamples:\n  $ reelgate packages\n  $ reelgate packages show\n  $ reelgate redeem 7KM2P-9QX4D-…',
    );

  packages
    .command('list', { isDefault: true })
    .description('List the packages on offer')
    .action((_options: unknown, command: Command) =>
      run(command, async ({ reelgate, output }) => {
        const cards = await reelgate.plans.list();
        output.result(
          cards,
          cards.length === 0
            ? 'No packages are offered here.'
            : formatTable(
                ['CODE', 'NAME', 'LEVEL', 'PRICE', 'DAYS', 'ALLOWANCE', 'ABOUT'],
                cards.map((card) => [
                  card.package_code,
                  card.name,
                  String(card.level),
                  String(card.price_amount),
                  String(card.duration_days),
                  formatAllowance(card),
                  card.description.length > 60 ? `${card.description.slice(0, 59)}…` : card.description,
                ]),
              ),
        );
      }),
    );

  packages
    .command('show')
    .description('Show your package: what is left, when it resets, how fast it is used')
    .action((_options: unknown, command: Command) =>
      run(command, async ({ reelgate, output }) => {
        const own = await reelgate.plans.current();
        output.result(own, formatSubscription(own));
      }),
    );

  program
    .command('redeem')
    .argument('<code...>', 'the code; spaces and dashes do not matter')
    .description('Redeem a code')
    .action((code: string[], _options: unknown, command: Command) =>
      run(command, async ({ reelgate, output }) => {
        const redeemed = await reelgate.plans.redeem(code.join(' '));
        output.result(redeemed, formatRedemption(redeemed));
      }),
    );
}

const quota = (amount: number): string => amount.toLocaleString('en');

function formatAllowance(card: PlanInfo): string {
  const { refresh_interval_seconds: seconds, weekly_quota_limit: weekly } = card;
  const main =
    seconds > 0 ? `${quota(card.interval_quota)} per ${formatDuration(seconds)}` : `${quota(card.daily_quota)} a day`;
  return weekly > 0 ? `${main}, at most ${quota(weekly)} a week` : main;
}

const PERIOD = { day: 'Today', interval: 'This period', week: 'This week' } as const;

function formatSubscription(own: SubscriptionInfo): string {
  return formatKeyValues({
    Package: own.name === own.package_code ? own.name : `${own.name} (${own.package_code})`,
    Until:
      own.expires_at === 0 ? undefined : `${formatDateTime(own.expires_at)}, ${formatRelativeTime(own.expires_at)}`,
    Models: own.models.length === 0 ? 'all' : own.models.join(', '),
    ...Object.fromEntries(own.windows.map((window) => [PERIOD[window.kind], formatAllowanceWindow(window)])),
    Wallet: `${quota(own.wallet)} quota`,
    Next: own.waiting.map(({ name, starts_at }) => `${name} from ${formatDateTime(starts_at)}`).join(', '),
  });
}

function formatAllowanceWindow(window: SubscriptionInfo['windows'][number]): string {
  const left = `${quota(window.left)} of ${quota(window.limit)} left, resets ${formatRelativeTime(window.refreshes_at)}`;
  return window.runs_out_at === 0 || window.left === 0
    ? left
    : `${left}; at this rate used up ${formatRelativeTime(window.runs_out_at)}`;
}

function formatRedemption({
  outcome,
  package_code: code,
  quota: amount,
  package_expires_at: end,
}: RedemptionResult): string {
  switch (outcome) {
    case 'credited':
      return `${quota(amount)} quota are in your wallet now.`;
    case 'waiting':
      return `The package ${code} waits until the one that runs ends, ${formatDateTime(end)}.`;
    case 'extended':
      return `Your package ${code} runs until ${formatDateTime(end)} now.`;
    default:
      return `The package ${code} runs now, until ${formatDateTime(end)}.`;
  }
}
