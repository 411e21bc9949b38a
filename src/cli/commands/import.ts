import { writeFileSync } from 'node:fs';
import { Argument, type Command } from 'commander';
import { parsePositiveInteger } from '../argument-parsers.ts';
import { EXIT, UsageError } from '../errors.ts';
import {
  alignColumns,
  formatProgressBar,
  joinTexts,
  Output,
  phrase,
  type Rendering,
  render,
  sentence,
  styled,
  type Text,
  word,
} from '../output.ts';
import type { RunCommand } from '../run-command.ts';

type ImporterModule = typeof import('@reelgate/importer');

const IMPORTER_MISSING =
  'The importer is not installed. It comes separately: run "npm install --global reelgate-importer-VERSION.tgz" with the file of this release, or "npm ci" in a checkout. See docs/move-from-new-api.md.';

/**
 * Loads the optional package of this command. @throws Error with installation instructions if the package is missing
 */
async function loadImporter(): Promise<ImporterModule> {
  try {
    return await import('@reelgate/importer');
  } catch (error) {
    // Also thrown if a dependency of the package is missing.
    if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error;
    throw new Error(IMPORTER_MISSING, { cause: error });
  }
}

interface ImportOptions {
  readonly from: string;
  readonly dryRun?: boolean;
  readonly apply?: boolean;
  readonly verify?: boolean;
  readonly undo?: boolean;
  readonly keepRoles?: boolean;
  readonly report?: string;
  readonly watch: number;
}

type Report = Awaited<ReturnType<ImporterModule['runImport']>>;

type ImportProgress = Parameters<Parameters<ImporterModule['runImport']>[2]['onProgress']>[0];

const DEFAULT_WATCH_SECONDS = 6;

/** `reelgate import` */
export function addImportCommand(program: Command, run: RunCommand): void {
  program
    .command('import')
    .addArgument(new Argument('<program>', 'where the accounts come from').choices(['new-api', 'one-api']))
    .requiredOption('--from <url>', 'its database: sqlite:PATH, postgres://… or mysql://…; it is only read')
    .option('--dry-run', 'say what would happen and write nothing; this is the default')
    .option('--apply', 'import, or continue an import that was interrupted')
    .option('--verify', 'compare everything that was imported with the source')
    .option('--undo', 'remove what was imported and has not been used since')
    .option('--keep-roles', 'keep the ranks of administrators and root; without it every account is an ordinary user')
    .option('--report <file>', 'write the report, as a page (.html) or for programs (.json)')
    .option(
      '--watch <seconds>',
      'how long to watch the source for changes first',
      parsePositiveInteger,
      DEFAULT_WATCH_SECONDS,
    )
    .description('On the server itself: bring accounts, keys, channels, prices and codes of another gateway here')
    .action((name: 'new-api' | 'one-api', options: ImportOptions, command: Command) =>
      run(command, async ({ output }) => {
        const { from, watch, keepRoles } = options;
        const request = { program: name, from, watchMs: watch * 1000, keepRoles };
        const hooks = {
          onProgress: (progress: ImportProgress) =>
            output.status(formatProgress(progress), `${progress.phase} ${progress.table}`),
        };
        const mode = modeOf(options);
        const importer = await loadImporter();
        if (mode === 'undo') {
          const undone = await importer.undoImport(request, hooks);
          output.clearStatus();
          return output.result(undone, describeUndo(undone));
        }
        const report = await importer.runImport(mode, request, hooks);
        output.clearStatus();
        if (options.report !== undefined)
          writeFileSync(
            options.report,
            options.report.endsWith('.html')
              ? importer.toReportPage(report, Output.translation)
              : `${JSON.stringify(report, null, 2)}\n`,
            { mode: 0o600 },
          );
        describeReport(output, report, options.report);
        if ((report.proof?.discrepancies.length ?? 0) > 0) process.exitCode = EXIT.failed;
      }),
    );
}

/** `importing users  █████░░░░░  45 %  45,000 of 100,000` */
function formatProgress({ phase, table, rows, total }: ImportProgress): Rendering {
  const share = total === 0 ? 1 : Math.min(1, rows / total);
  const [done = '', all = ''] = [rows, total].map((count) => count.toLocaleString('en-US'));
  const parts = [
    joinTexts([word(phase), table], ' '),
    formatProgressBar(share),
    `${Math.floor(share * 100)} %`,
    phrase`${done} of ${all}`,
  ];
  return joinTexts(parts, '  ');
}

function modeOf({ dryRun, apply, verify, undo }: ImportOptions): 'dry-run' | 'apply' | 'verify' | 'undo' {
  const named = (
    [
      [dryRun, 'dry-run'],
      [apply, 'apply'],
      [verify, 'verify'],
      [undo, 'undo'],
    ] as const
  ).filter(([given]) => given === true);
  if (named.length > 1) throw new UsageError('Give one of --dry-run, --apply, --verify and --undo.');
  return named[0]?.[1] ?? 'dry-run';
}

const MAX_LINES = 20;

function describeReport(output: Output, report: Report, file: string | undefined): void {
  const { counts, sums, findings, proof, warnings } = report;
  const head = [word('KIND'), word('READ'), word(report.mode === 'dry-run' ? 'WOULD COME' : 'HERE'), word('SKIPPED')];
  const rows: readonly (readonly Text[])[] = [
    head.map((name) => styled('heading', name)),
    ...Object.entries(counts).map(([kind, { read, imported, skipped }]) => [
      word(kind),
      `${read}`,
      `${imported}`,
      `${skipped}`,
    ]),
  ];
  // Aligned in a pipe too: the table is part of prose that no program reads.
  const table: Rendering = (target) => alignColumns(rows.map((row) => row.map((cell) => render(cell, target))));
  const money = phrase`Balances: ${sums.balance} = ${sums.granted} of balances less ${sums.debts} of debts; ${sums.leftBehind} stays with accounts that do not come.`;
  const remarks = findings.slice(0, MAX_LINES).map(describeFinding);
  const more = findings.length - remarks.length;
  const proved = proof?.discrepancies.slice(0, MAX_LINES).map(describeFinding);
  const lines = [
    `${report.program} (${report.generation})`,
    table,
    money,
    ...warnings.map(sentence),
    ...(findings.length === 0 ? [] : [word('Different, or left behind:'), ...remarks]),
    ...(more > 0
      ? [file === undefined ? phrase`  and ${more} more; --report FILE has all of them` : phrase`  and ${more} more`]
      : []),
    ...(proved === undefined ? [word('Nothing was written. --apply imports.')] : []),
    ...(proved?.length === 0
      ? [word('Proved: each account has what it had, each key works for its account, the ledger adds up.')]
      : []),
    ...(proved === undefined || proved.length === 0
      ? []
      : [phrase`${proof?.discrepancies.length ?? 0} rows do not agree:`, ...proved]),
    ...describeChanges(proof?.changes ?? []),
  ];
  output.result(report, joinTexts(lines, '\n'));
}

const describeFinding = ({
  kind,
  source,
  text,
}: { readonly [name in 'kind' | 'source' | 'text']: string }): Rendering =>
  phrase`  ${word(kind)} ${source}: ${sentence(text)}`;

function describeChanges(changes: NonNullable<Report['proof']>['changes']): Text[] {
  if (changes.length === 0) return [];
  return [phrase`${changes.length} changed here since:`, ...changes.slice(0, MAX_LINES).map(describeFinding)];
}

function describeUndo({ removed, kept }: Awaited<ReturnType<ImporterModule['undoImport']>>): Rendering {
  const gone = Object.entries(removed).map(([kind, count]) => {
    const name = count === 1 ? kind : `${kind}s`;
    return joinTexts([`${count}`, word(name)], ' ');
  });
  const stays = kept
    .slice(0, MAX_LINES)
    .map(({ kind, source, name }) => joinTexts(['  ', word(kind), ` ${source} ${name}`], ''));
  const lines = [
    phrase`Removed: ${gone.length === 0 ? word('nothing') : joinTexts(gone, ', ')}.`,
    ...(kept.length === 0 ? [] : [phrase`${kept.length} stay, because they were used or changed since:`, ...stays]),
  ];
  return joinTexts(lines, '\n');
}
