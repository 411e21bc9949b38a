import { type Command, Option } from 'commander';
import type { ReconciledAccountInfo, ReconciliationInfo } from '../../sdk/index.ts';
import { parseRowId } from '../argument-parsers.ts';
import { type CreditFormat, loadCreditFormat } from '../credit-format.ts';
import { dateTime, formatTable, phrase, type Rendering, word } from '../output.ts';
import type { RunCommand } from '../run-command.ts';

interface ListOptions {
  readonly channel?: number;
  readonly by: 'reading' | 'day';
}

/** `reelgate reconciliation …` */
export function addReconciliationCommands(program: Command, run: RunCommand): void {
  const reconciliation = program
    .command('reconciliation')
    .description(
      'For administrators, with REELGATE_ACCESS_TOKEN: what was settled against what vendors took from their accounts',
    );

  reconciliation
    .command('accounts', { isDefault: true })
    .description("List accounts that can be compared, when they were read, and whether a day's figures agree")
    .action((_options: unknown, command: Command) =>
      run(command, async ({ reelgate, output }) => {
        const accounts = await reelgate.reconciliations.accounts();
        output.list(accounts, formatAccounts(accounts), 'No account can be compared.');
      }),
    );

  reconciliation
    .command('list')
    .description('List the newest readings')
    .option('--channel <id>', 'only this channel', parseRowId)
    .addOption(
      new Option('--by <group>', 'single readings, or days of UTC').choices(['reading', 'day']).default('reading'),
    )
    .action(({ channel, by }: ListOptions, command: Command) =>
      run(command, async ({ reelgate, output }) => {
        const query = channel === undefined ? { by } : { by, channelId: channel };
        const { data } = await reelgate.reconciliations.list(query);
        const credits = await loadCreditFormat(reelgate);
        output.list(data, formatReadings(data, credits), 'No readings yet.');
      }),
    );

  reconciliation
    .command('read')
    .argument('<channel>', 'its number', parseRowId)
    .description("Read a channel's account now and compare")
    .action((channel: number, _options: unknown, command: Command) =>
      run(command, async ({ reelgate, output }) => {
        const reading = await reelgate.reconciliations.read(channel);
        const rows = reading === null ? [] : [reading];
        const table = formatReadings(rows, await loadCreditFormat(reelgate));
        output.list(rows, table, 'The vendor has no endpoint that tells what it took.', reading);
      }),
    );
}

const toResult = ({ error, judged }: ReconciledAccountInfo): Rendering => {
  if (error !== '') return phrase`not read: ${error}`;
  if (judged === null) return word('not enough data yet');
  return judged.unexplained_units === 0 ? word('agrees') : phrase`${judged.unexplained_units} not explained`;
};

const formatAccounts = (accounts: readonly ReconciledAccountInfo[]): Rendering =>
  formatTable(
    ['CHANNEL', 'NAME', 'VENDOR', 'LAST READ', 'SETTLED', 'BILLED', 'UNIT', 'RESULT'],
    accounts.map((account) => [
      String(account.channel_id),
      account.channel_name,
      account.vendor,
      account.read_at === null ? '–' : dateTime(account.read_at),
      account.judged === null ? '–' : String(account.judged.settled_units),
      account.judged === null ? '–' : String(account.judged.billed_units),
      word(account.unit),
      toResult(account),
    ]),
  );

const formatReadings = (readings: readonly ReconciliationInfo[], credits: CreditFormat): Rendering =>
  formatTable(
    ['UNTIL', 'CHANNEL', 'VIDEOS', 'SETTLED', 'BILLED', 'DIFFERENCE', 'UNIT', 'CHARGED'],
    readings.map((reading) => [
      dateTime(reading.to),
      reading.channel_name || String(reading.channel_id),
      String(reading.videos),
      String(reading.settled_units),
      reading.billed_units === null ? '–' : String(reading.billed_units),
      reading.difference === null ? '–' : String(reading.difference),
      word(reading.unit),
      credits(reading.settled_quota),
    ]),
  );
