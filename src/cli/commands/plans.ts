import type { Command } from 'commander';
import { formatListPrice } from '../../contract/amounts.ts';
import type { PlanInfo, RedemptionResult, SubscriptionInfo } from '../../sdk/index.ts';
import { type CreditFormat, creditFormatOf, loadAmountUnit, loadCreditFormat } from '../credit-format.ts';
import {
  dateTime,
  formatDateTime,
  formatDuration,
  formatKeyValues,
  formatTable,
  joinTexts,
  phrase,
  type Rendering,
  relativeTime,
  type Text,
  word,
} from '../output.ts';
import type { RunCommand } from '../run-command.ts';

/** `reelgate plans …` and `reelgate redeem` */
export function addPlanCommands(program: Command, run: RunCommand): void {
  const plans = program
    .command('plans')
    .alias('packages')
    .description('Plans on offer, and what is left of yours')
    .addHelpText(
      'after',
      '\nExamples:\n  $ reelgate plans\n  $ reelgate plans show\n  $ reelgate redeem 7KM2P-9QX4D-…',
    );

  plans
    .command('list', { isDefault: true })
    .description('List the plans on offer')
    .action((_options: unknown, command: Command) =>
      run(command, async ({ reelgate, output }) => {
        const offered = await reelgate.plans.list();
        const unit = await loadAmountUnit(reelgate);
        const credits = creditFormatOf(unit);
        const table = formatTable(
          ['CODE', 'NAME', 'LEVEL', 'PRICE', 'DAYS', 'ALLOWANCE', 'ABOUT'],
          offered.map((plan) => [
            plan.package_code,
            plan.name,
            String(plan.level),
            formatListPrice(plan.price_amount, unit, 'en'),
            String(plan.duration_days),
            formatAllowance(plan, credits),
            plan.description.length > 60 ? `${plan.description.slice(0, 59)}…` : plan.description,
          ]),
        );
        output.list(offered, table, 'No plans are offered here.');
      }),
    );

  plans
    .command('show')
    .description('Show your plan: remaining allowance, next reset and rate of use')
    .action((_options: unknown, command: Command) =>
      run(command, async ({ reelgate, output }) => {
        const own = await reelgate.plans.current();
        output.result(own, formatSubscription(own, await loadCreditFormat(reelgate)));
      }),
    );

  program
    .command('redeem')
    .argument('<code...>', 'the code; spaces and dashes do not matter')
    .description('Redeem a code')
    .action((code: string[], _options: unknown, command: Command) =>
      run(command, async ({ reelgate, output }) => {
        const redeemed = await reelgate.plans.redeem(code.join(' '));
        output.result(redeemed, formatRedemption(redeemed, await loadCreditFormat(reelgate)));
      }),
    );
}

function formatAllowance(plan: PlanInfo, credits: CreditFormat): Rendering {
  const { refresh_interval_seconds: seconds, weekly_quota_limit: weekly, monthly_quota_limit: monthly = 0 } = plan;
  const main =
    seconds > 0
      ? phrase`${credits(plan.interval_quota)} per ${formatDuration(seconds)}`
      : phrase`${credits(plan.daily_quota)} a day`;
  const caps = [
    ...(weekly > 0 ? [phrase`at most ${credits(weekly)} a week`] : []),
    ...(monthly > 0 ? [phrase`at most ${credits(monthly)} in 30 days`] : []),
  ];
  return joinTexts([main, ...caps], ', ');
}

const PERIOD = { day: 'Today', interval: 'This period', week: 'This week', month: 'This month' } as const;

function formatSubscription(own: SubscriptionInfo, credits: CreditFormat): Rendering {
  return formatKeyValues({
    Plan: own.name === own.package_code ? own.name : phrase`${word(own.name)} (${own.package_code})`,
    Expires: own.expires_at === 0 ? undefined : describeTime(own.expires_at),
    Models: own.models.length === 0 ? word('all') : own.models.join(', '),
    ...Object.fromEntries(own.windows.map((window) => [PERIOD[window.kind], formatAllowanceWindow(window, credits)])),
    Balance: credits(own.wallet),
    Next:
      own.waiting.length === 0
        ? undefined
        : joinTexts(
            own.waiting.map(({ name, starts_at }) => phrase`${name} from ${formatDateTime(starts_at)}`),
            ', ',
          ),
  });
}

/** Absolute and relative time for people, only the exact time for programs. */
const describeTime =
  (seconds: number): Rendering =>
  (target) =>
    target.isTerminal ? `${formatDateTime(seconds)}, ${relativeTime(seconds)(target)}` : dateTime(seconds)(target);

function formatAllowanceWindow(window: SubscriptionInfo['windows'][number], credits: CreditFormat): Text {
  const resets = relativeTime(window.refreshes_at);
  const left = phrase`${credits(window.left)} of ${credits(window.limit)} left, resets ${resets}`;
  const isUsedUp = window.runs_out_at === 0 || window.left === 0;
  return isUsedUp ? left : phrase`${left}; used up at this rate ${relativeTime(window.runs_out_at)}`;
}

function formatRedemption(
  { outcome, package_code: code, quota: amount, package_expires_at: end }: RedemptionResult,
  credits: CreditFormat,
): string {
  switch (outcome) {
    case 'credited':
      return `${credits(amount)} were added to your balance.`;
    case 'waiting':
      return `The plan ${code} starts when your current plan ends, on ${formatDateTime(end)}.`;
    case 'extended':
      return `Your plan ${code} was extended to ${formatDateTime(end)}.`;
    default:
      return `The plan ${code} is active until ${formatDateTime(end)}.`;
  }
}
