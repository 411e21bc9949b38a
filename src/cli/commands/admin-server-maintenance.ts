import type { Command } from 'commander';
import { defined } from '../../contract/objects.ts';
import { UsageError } from '../errors.ts';
import { formatBytes } from '../format-times-and-sizes.ts';
import type { RunCommand } from '../run-command.ts';
import { addAdminDatabaseCommands } from './admin-database.ts';

interface ResetOptions {
  readonly stdin?: boolean;
  readonly withoutTwoFactor?: boolean;
}

/** The server's maintenance functions, which work on its database; imported only by the commands that need them. */
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
    .option('--without-two-factor', 'turn two-step verification off too, where it was lost as well')
    .description('Set a new password for an account and end all its sign-ins')
    .action((name: string, { stdin, withoutTwoFactor }: ResetOptions, command: Command) =>
      run(command, async ({ output }) => {
        const password = stdin === true ? await readPassword() : undefined;
        const { resetPassword } = await importServerMaintenance();
        const reset = await resetPassword(name, {
          withoutTwoFactor: withoutTwoFactor === true,
          ...defined({ password }),
        });
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
          `${count} value${count === 1 ? '' : 's'} re-encrypted; nothing is encrypted with another key any more.`,
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
        output.result(report, `${moved} moved (${formatBytes(bytes)}), ${skipped} were there already.`);
        if (bad.length > 0)
          throw new Error(`${bad.length} are damaged or nowhere and were left as they are: ${bad.join(', ')}`);
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
        output.result({ email }, `${name} has ${email}; the mail server is told within a minute.`);
      }),
    );
}

/** Reads standard input to its end, without one trailing line end. */
async function readPassword(): Promise<string> {
  if (process.stdin.isTTY === true)
    throw new UsageError('With --stdin, pipe the password in; typed here it would be visible.');
  let text = '';
  for await (const chunk of process.stdin.setEncoding('utf8')) text += chunk;
  return text.replace(/\r?\n$/, '');
}
