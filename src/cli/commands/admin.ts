import type { Command } from 'commander';
import { EXIT } from '../exit-codes.ts';
import { UsageError } from '../failures.ts';
import type { RunCommand } from '../run.ts';
import { toTable } from '../text.ts';

interface ResetOptions {
  readonly stdin?: boolean;
  readonly withoutTwoFactor?: boolean;
}

/** The part of the server that works on its database without it; loaded only where it is used. */
const loadServer = () => import('../../server/admin.ts');

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
  $ reelgate admin check-books`,
    );

  admin
    .command('reset-password')
    .argument('<name>', 'user name or e-mail')
    .option('--stdin', 'read the new password from standard input; else one is made and shown once')
    .option('--without-two-factor', 'turn two-step verification off too, for somebody who lost both')
    .description('Give an account a new password and end everything it is signed in with')
    .action((name: string, { stdin, withoutTwoFactor }: ResetOptions, command: Command) =>
      run(command, async ({ output }) => {
        const given = stdin === true ? await readPassword() : undefined;
        const { resetPassword } = await loadServer();
        const reset = await resetPassword(name, {
          withoutTwoFactor: withoutTwoFactor === true,
          ...(given === undefined ? {} : { password: given }),
        });
        output.say(`${reset.username} has a new password; all sign-ins of the account have ended.`);
        if (given !== undefined) return output.result({ username: reset.username }, '');
        output.say('It is shown this once:');
        output.result(reset, reset.password);
      }),
    );

  admin
    .command('check-books')
    .description('Prove that every balance is the sum of its entries')
    .action((_options: unknown, command: Command) =>
      run(command, async ({ output }) => {
        const { checkBooks } = await loadServer();
        const found = await checkBooks();
        output.result(
          { ok: found.length === 0, findings: found },
          found.length === 0
            ? 'The books add up.'
            : toTable(
                ['RULE', 'AT', 'EXPECTED', 'FOUND'],
                found.map(({ rule, at, expected, found: is }) => [rule, at, String(expected), String(is)]),
              ),
        );
        if (found.length > 0) process.exitCode = EXIT.failed;
      }),
    );

  admin
    .command('reseal')
    .description('Encrypt anew under MASTER_KEY what a key of MASTER_KEY_PREVIOUS encrypted')
    .action((_options: unknown, command: Command) =>
      run(command, async ({ output }) => {
        const { reseal } = await loadServer();
        const count = await reseal();
        output.result(
          { resealed: count },
          `${count} value${count === 1 ? '' : 's'} encrypted anew; nothing is left under another key.`,
        );
      }),
    );
}

/** Standard input to its end, one closing line end apart. */
async function readPassword(): Promise<string> {
  if (process.stdin.isTTY === true) throw new UsageError('With --stdin, pipe the password in; it would be seen here.');
  let text = '';
  for await (const chunk of process.stdin.setEncoding('utf8')) text += chunk;
  return text.replace(/\r?\n$/, '');
}
