import type { Command } from 'commander';
import type { OwnPackage, PackageCardInfo, Redeemed } from '../../sdk/index.ts';
import type { RunCommand } from '../run.ts';
import { toAge, toFacts, toSpan, toTable, toTime } from '../text.ts';

/** `reelgate packages …` and `reelgate redeem` */
export function addPackageCommands(program: Command, run: RunCommand): void {
  const packages = program
    .command('packages')
    .description('Packages there are, and what is left of yours')
    .addHelpText(
      'after',
      '\nExamples:\n  $ reelgate packages\n  $ reelgate packages show\n  $ reelgate redeem 7KM2P-9QX4D-…',
    );

  packages
    .command('list', { isDefault: true })
    .description('List the packages to be had')
    .action((_options: unknown, command: Command) =>
      run(command, async ({ reelgate, output }) => {
        const cards = await reelgate.packages.list();
        output.result(
          cards,
          cards.length === 0
            ? 'No packages are offered here.'
            : toTable(
                ['CODE', 'NAME', 'LEVEL', 'PRICE', 'DAYS', 'ALLOWANCE', 'ABOUT'],
                cards.map((card) => [
                  card.package_code,
                  card.name,
                  String(card.level),
                  String(card.price_amount),
                  String(card.duration_days),
                  toAllowance(card),
                  card.description.length > 60 ? `${card.description.slice(0, 59)}…` : card.description,
                ]),
              ),
        );
      }),
    );

  packages
    .command('show')
    .description('Show your package: what is left, when it refreshes, how fast it goes')
    .action((_options: unknown, command: Command) =>
      run(command, async ({ reelgate, output }) => {
        const own = await reelgate.packages.own();
        output.result(own, tellOwn(own));
      }),
    );

  program
    .command('redeem')
    .argument('<code...>', 'the code, however it is spaced')
    .description('Use a redemption code')
    .action((code: string[], _options: unknown, command: Command) =>
      run(command, async ({ reelgate, output }) => {
        const redeemed = await reelgate.packages.redeem(code.join(' '));
        output.result(redeemed, tellRedeemed(redeemed));
      }),
    );
}

const quota = (amount: number): string => amount.toLocaleString('en');

function toAllowance(card: PackageCardInfo): string {
  const { refresh_interval_seconds: seconds, weekly_quota_limit: weekly } = card;
  const main =
    seconds > 0 ? `${quota(card.interval_quota)} per ${toSpan(seconds)}` : `${quota(card.daily_quota)} a day`;
  return weekly > 0 ? `${main}, at most ${quota(weekly)} a week` : main;
}

const PERIOD = { day: 'Today', interval: 'This period', week: 'This week' } as const;

function tellOwn(own: OwnPackage): string {
  return toFacts({
    Package: own.name === own.package_code ? own.name : `${own.name} (${own.package_code})`,
    Until: own.expires_at === 0 ? undefined : `${toTime(own.expires_at)}, ${toAge(own.expires_at)}`,
    Models: own.models.length === 0 ? 'all' : own.models.join(', '),
    ...Object.fromEntries(own.windows.map((window) => [PERIOD[window.kind], tellWindow(window)])),
    Wallet: `${quota(own.wallet)} quota`,
    Next: own.waiting.map(({ name, starts_at }) => `${name} from ${toTime(starts_at)}`).join(', '),
  });
}

function tellWindow(window: OwnPackage['windows'][number]): string {
  const left = `${quota(window.left)} of ${quota(window.limit)} left, full again ${toAge(window.refreshes_at)}`;
  return window.runs_out_at === 0 || window.left === 0
    ? left
    : `${left}; at this pace gone ${toAge(window.runs_out_at)}`;
}

function tellRedeemed({ outcome, package_code: code, quota: amount, package_expires_at: end }: Redeemed): string {
  switch (outcome) {
    case 'credited':
      return `${quota(amount)} quota are in your wallet now.`;
    case 'waiting':
      return `The package ${code} waits until the one that runs ends, ${toTime(end)}.`;
    case 'extended':
      return `Your package ${code} runs until ${toTime(end)} now.`;
    default:
      return `The package ${code} runs now, until ${toTime(end)}.`;
  }
}
