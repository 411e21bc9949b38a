import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import { EXIT, UsageError } from '../errors.ts';
import {
  formatBytes,
  formatTable,
  joinTexts,
  type Output,
  padToWidth,
  phrase,
  type Rendering,
  render,
  type Style,
  sentence,
  styled,
  word,
} from '../output.ts';
import { askPassword, canPrompt, readStandardInput } from '../prompts.ts';
import type { RunCommand } from '../run-command.ts';

interface ResetOptions {
  readonly stdin?: boolean;
  readonly withoutTwoFactor?: boolean;
}

/** Maintenance functions that work on the server's database; imported only by commands that need them. */
const importServerMaintenance = () => import('../../server/commands/accounts.ts');

/** `reelgate admin …` */
export function addAdminCommands(program: Command, run: RunCommand): void {
  const admin = program
    .command('admin')
    .description('On the server itself: works on the database of DATABASE_URL (environment or .env), running or not')
    .addHelpText(
      'after',
      `
Examples:
  $ reelgate admin reset-password root
  $ printf '%s' "$NEW_PASSWORD" | reelgate admin reset-password root --stdin
  $ reelgate admin check
  $ reelgate admin backup reelgate.backup
  $ reelgate admin adopt-mailbox ada ada.lovelace
  $ reelgate admin copy-database --from sqlite:./data/reelgate.db --to postgres://reelgate@db.example.com/reelgate`,
    );
  addAdminDatabaseCommands(admin, run);

  admin
    .command('reset-password')
    .argument('<name>', 'user name or e-mail')
    .option('--stdin', 'read the new password from standard input; else one is generated and shown once')
    .option('--without-two-factor', 'also remove two-step verification and passkeys, for an owner who lost them')
    .description('Set a new password for an account and end all its sign-ins')
    .action((name: string, { stdin, withoutTwoFactor }: ResetOptions, command: Command) =>
      run(command, async ({ output, interruptSignal }) => {
        const password = stdin === true ? await readPassword(interruptSignal) : undefined;
        const { resetPassword } = await importServerMaintenance();
        const reset = await resetPassword(name, { withoutTwoFactor: withoutTwoFactor === true, password });
        output.info(`${reset.username} has a new password; all sign-ins of the account have ended.`);
        if (password !== undefined) return output.result({ username: reset.username }, '');
        output.info('It is shown only now:');
        output.result(reset, reset.password);
      }),
    );

  admin
    .command('reseal')
    .description('Re-encrypt with MASTER_KEY what a key of MASTER_KEY_PREVIOUS encrypted')
    .action((_options: unknown, command: Command) =>
      run(command, async ({ output }) => {
        const { resealSecrets } = await importServerMaintenance();
        const count = await resealSecrets();
        output.result(
          { resealed: count },
          `Values re-encrypted: ${count}. Nothing is encrypted with another key any more.`,
        );
      }),
    );

  admin
    .command('move-artifacts')
    .description('Move stored videos from ARTIFACTS_DIR to the bucket of ARTIFACTS=s3; may be interrupted and repeated')
    .action((_options: unknown, command: Command) =>
      run(command, async ({ output }) => {
        const { moveArtifactsToS3 } = await import('../../server/commands/move-artifacts.ts');
        const report = await moveArtifactsToS3();
        const { moved, bytes, skipped, bad } = report;
        output.result(report, `Moved ${moved} (${formatBytes(bytes)}); ${skipped} were there already.`);
        if (bad.length > 0)
          throw new Error(`Left ${bad.length} that are damaged or missing as they are: ${bad.join(', ')}`);
      }),
    );

  admin
    .command('adopt-mailbox')
    .argument('<name>', 'user name or e-mail of the account')
    .argument('<local-part>', 'the part of the address before the @')
    .description('Register a mailbox an account had before this service; it opens with the password of the account')
    .action((name: string, localPart: string, _options: unknown, command: Command) =>
      run(command, async ({ output }) => {
        const { adoptMailbox } = await importServerMaintenance();
        const email = await adoptMailbox(name, localPart);
        output.result({ email }, `${name} has ${email}; the mail server learns of it within a minute.`);
      }),
    );
}

/** Reads standard input to its end and strips one trailing line break. */
async function readPassword(interruptSignal: AbortSignal): Promise<string> {
  if (process.stdin.isTTY === true)
    throw new UsageError('With --stdin, pipe the password in; typed here it would be visible.');
  return (await readStandardInput(interruptSignal)).replace(/\r?\n$/, '');
}

// Imported lazily because it loads the server.
const importBackup = () => import('../../server/commands/database-backup.ts');

interface CopyOptions {
  readonly from: string;
  readonly to: string;
  readonly verify?: boolean;
}

interface PassphraseOptions {
  readonly passphraseFile?: string;
  readonly force?: boolean;
}

/** Commands of `reelgate admin` that process a whole database. */
function addAdminDatabaseCommands(admin: Command, run: RunCommand): void {
  addBackupCommands(admin, run);
  addCheckCommand(admin, run);
  addCopyCommand(admin, run);
}

function addBackupCommands(admin: Command, run: RunCommand): void {
  admin
    .command('backup')
    .argument('<file>', 'the file to make')
    .option('--passphrase-file <file>', 'the passphrase that seals the master key; else REELGATE_BACKUP_PASSPHRASE')
    .option('--without-key', 'leave the master key out')
    .option('--force', 'replace a file that exists')
    .description(
      'Back up a SQLite database with its key while the service runs; for PostgreSQL print the pg_dump command',
    )
    .action((file: string, options: PassphraseOptions & { readonly withoutKey?: boolean }, command: Command) =>
      run(command, async ({ output }) => {
        const { backUpDatabase } = await importBackup();
        const report = await backUpDatabase(file, {
          askPassphrase: () => readPassphrase(options, true),
          withoutKey: options.withoutKey === true,
          force: options.force === true,
        });
        if ('command' in report)
          return printCommand(
            output,
            report,
            'pg_dump makes backups of PostgreSQL, without an interruption. Keep MASTER_KEY too, in another place:',
          );
        const { bytes, seconds, withKey } = report;
        output.result(
          report,
          withKey
            ? `${file} has the database and, under the passphrase, its key: ${formatBytes(bytes)} in ${seconds.toFixed(1)} s.`
            : `${file} has the database: ${formatBytes(bytes)} in ${seconds.toFixed(1)} s.`,
        );
        if (!withKey)
          output.info('Keep the master key in another place: without it, what is encrypted cannot be read.');
      }),
    );

  admin
    .command('restore')
    .argument('<file>', 'a file made by "reelgate admin backup"')
    .option('--passphrase-file <file>', 'the passphrase of its key; else REELGATE_BACKUP_PASSPHRASE')
    .option('--force', 'move a database that is there aside')
    .description('Put a backup in the place of the database; for PostgreSQL print the pg_restore command')
    .action((file: string, options: PassphraseOptions, command: Command) =>
      run(command, async ({ output }) => {
        const { restoreDatabase } = await importBackup();
        const report = await restoreDatabase(file, {
          askPassphrase: () => readPassphrase(options, false),
          force: options.force === true,
        });
        if ('command' in report)
          return printCommand(output, report, 'pg_restore restores PostgreSQL, into an empty database:');
        output.result(report, `Restored the backup of ${report.madeAt} (release ${report.version}).`);
        if (report.replaced !== undefined) output.info(`What was there is now ${report.replaced}.`);
        if (report.keyFile !== undefined) output.info(`The master key is in ${report.keyFile}.`);
        output.info('"reelgate admin check" checks all of it; then start the service.');
      }),
    );
}

function addCheckCommand(admin: Command, run: RunCommand): void {
  admin
    .command('check')
    .description('Check the ledger, references between rows, and whether the master key decrypts stored secrets')
    .action((_options: unknown, command: Command) =>
      run(command, async ({ output }) => {
        const { checkDatabase } = await import('../../server/commands/check-database.ts');
        const findings = await checkDatabase();
        const table = formatTable(
          ['RULE', 'AT', 'EXPECTED', 'FOUND'],
          findings.map(({ rule, at, expected, found }) => [rule, at, String(expected ?? ''), String(found ?? '')]),
        );
        output.result(
          { ok: findings.length === 0, findings },
          findings.length === 0 ? styled('good', word('Everything is in order.')) : table,
        );
        if (findings.length > 0) process.exitCode = EXIT.failed;
      }),
    );
}

function addCopyCommand(admin: Command, run: RunCommand): void {
  admin
    .command('copy-database')
    .requiredOption('--from <url>', 'the SQLite database, sqlite:PATH; stop the service first')
    .requiredOption('--to <url>', 'an empty PostgreSQL database, postgres://…')
    .option('--verify', 'compare every row of the copy with its original too')
    .description('Move from SQLite to PostgreSQL: copy everything, compare the numbers of rows, audit both ledgers')
    .action(({ from, to, verify }: CopyOptions, command: Command) =>
      run(command, async ({ output }) => {
        const { copyDatabase } = await import('../../server/commands/copy-database.ts');
        const report = await copyDatabase({ from, to, verify: verify === true }, (progress) =>
          showProgress(output, progress),
        );
        output.clearStatus();
        const isConsistent = report.targetFindings.length === 0 && report.sourceFindings.length === 0;
        const compared = report.verified ? 'Every row is the same on both.' : 'The numbers of rows agree.';
        const audited = isConsistent
          ? 'The ledger is consistent on both.'
          : 'The audit of the ledger found something: see "reelgate admin check" on either database.';
        output.result(
          report,
          joinTexts(
            [
              phrase`Copied ${formatCount(report.rows)} rows of ${report.tables.length} tables in ${report.seconds.toFixed(1)} s.`,
              word(compared),
              word(audited),
            ],
            ' ',
          ),
        );
        output.info(
          report.keyFile === undefined
            ? 'Start the service with DATABASE_URL set to the copy and the same MASTER_KEY.'
            : `Start the service with DATABASE_URL set to the copy and MASTER_KEY to the key in ${report.keyFile}.`,
        );
        if (!isConsistent) process.exitCode = EXIT.failed;
      }),
    );
}

function printCommand(output: Output, report: { readonly command: string }, line: string): void {
  output.info(line);
  output.result(report, report.command);
}

/**
 * Reads the passphrase from --passphrase-file, REELGATE_BACKUP_PASSPHRASE or the terminal, which prompts twice for a
 * new one.
 */
async function readPassphrase({ passphraseFile }: PassphraseOptions, isNew: boolean): Promise<string> {
  const given =
    passphraseFile === undefined ? process.env.REELGATE_BACKUP_PASSPHRASE : readFileSync(passphraseFile, 'utf8');
  if (given !== undefined && given !== '') return given.replace(/\r?\n$/, '');
  if (!canPrompt())
    throw new UsageError('Give the passphrase of the key with --passphrase-file or REELGATE_BACKUP_PASSPHRASE.');
  const first = await askPassword('Passphrase for the key in the backup');
  if (isNew && (await askPassword('Once more')) !== first) throw new UsageError('The two passphrases differ.');
  return first;
}

const formatCount = (count: number): string => count.toLocaleString('en-US');

function showProgress(
  output: Output,
  progress: { readonly table: string; readonly rows: number; readonly totalRows: number; readonly characters: number },
): void {
  const { table, rows, totalRows, characters } = progress;
  const megabytes = (characters / 1e6).toFixed(0);
  const line = phrase`${table}: ${formatCount(rows)} of ${formatCount(totalRows)} rows, ${megabytes} MB in all`;
  // Without a terminal one line per table is enough.
  output.status(line, table);
}

/** Imported when the command runs, because it loads much of the server. */
const importDoctor = () => import('../../server/commands/doctor.ts');
type Doctor = Awaited<ReturnType<typeof importDoctor>>;
type Diagnosis = Awaited<ReturnType<Doctor['runDoctor']>>[number];

const MARKS: Readonly<Record<Diagnosis['state'], { readonly mark: string; readonly style: Style }>> = {
  ok: { mark: '✓', style: 'good' },
  warning: { mark: '!', style: 'warning' },
  error: { mark: '✗', style: 'bad' },
};

/**
 * `reelgate serve` and `reelgate quickstart`: only their help and completion. bin/reelgate.js starts them itself, without
 * loading the command line.
 */
export function addServiceCommands(program: Command, run: RunCommand): void {
  const action = (command: Command): Promise<void> =>
    run(command, async () => {
      const name = command.name();
      throw new UsageError(`"reelgate ${name}" works only on the server, and takes no other options.`);
    });
  program
    .command('serve')
    .description('On the server itself: start the service, configured by the environment or .env')
    .action((_options: unknown, command: Command) => action(command));
  program
    .command('quickstart')
    .option('--exit', 'stop after the video')
    .description('Start the service here with simulated vendors and generate a first video')
    .action((_options: unknown, command: Command) => action(command));
}

/** `reelgate doctor` */
export function addDoctorCommand(program: Command, run: RunCommand): void {
  program
    .command('doctor')
    .description('On the server itself: check configuration, database, vendors, mail and proxy, and say what to do')
    .action((_options: unknown, command: Command) =>
      run(command, async ({ output }) => {
        const { runDoctor } = await importDoctor();
        const found = await runDoctor();
        output.result(found, joinTexts(found.map(formatDiagnosis), '\n'));
        if (found.some(({ state }) => state === 'error')) process.exitCode = EXIT.failed;
      }),
    );
}

const SUBJECT_WIDTH = 13;

function formatDiagnosis({ subject, state, message, advice }: Diagnosis): Rendering {
  const { mark, style } = MARKS[state];
  const title: Rendering = (target) => padToWidth(render(word(subject), target), SUBJECT_WIDTH);
  const line = joinTexts([styled(style, mark), title, sentence(message)], ' ');
  if (advice === undefined) return line;
  return joinTexts([line, joinTexts([' '.repeat(SUBJECT_WIDTH + 2), '→', sentence(advice)], ' ')], '\n');
}
