import type { Command } from 'commander';
import { type AppPasswordInfo, ReelgateError } from '../../sdk/index.ts';
import type { RunCommand } from '../main.ts';

/** `reelgate mailbox …` */
export function addMailboxCommands(program: Command, run: RunCommand): void {
  const mailbox = program
    .command('mailbox')
    .description('Show your mailbox')
    .action((_options: unknown, command: Command) =>
      run(command, async ({ reelgate, output }) => {
        const found = await reelgate.mailbox.get();
        output.result(
          found,
          found.has_mailbox
            ? toTable([
                ['Address', found.email],
                ['Password', found.password_source === 'account' ? 'the password of your account' : found.password],
              ])
            : 'You have no mailbox yet. Apply for one with "reelgate mailbox apply".',
        );
      }),
    );

  mailbox
    .command('apply')
    .argument('[name]', 'the part before the @; made from your user name when left out')
    .description('Apply for a mailbox')
    .action((name: string | undefined, _options: unknown, command: Command) =>
      run(command, async ({ reelgate, output }) => {
        const made = await reelgate.mailbox.apply(name);
        output.result(
          made,
          made.password === undefined
            ? `You have ${made.email} already.`
            : toTable([
                ['Address', made.email],
                ['Password', made.password],
              ]),
        );
      }),
    );

  mailbox
    .command('app-password')
    .option('--new', 'replace it; mail programs need the new one then')
    .description('Show the password and the servers for mail programs')
    .action((options: { new?: boolean }, command: Command) =>
      run(command, async ({ reelgate, output }) => {
        const found = options.new
          ? await replace(() => reelgate.mailbox.regenerateAppPassword())
          : await reelgate.mailbox.appPassword();
        if (!found.consistent) output.say(found.message);
        output.result(
          found,
          found.has_app_password ? toSettings(found) : `${found.message}\nreelgate mailbox app-password --new`,
        );
      }),
    );
}

/** A sign-in of this command line may read the password, not replace it: it would outlive the sign-in. */
async function replace(regenerate: () => Promise<AppPasswordInfo>): Promise<AppPasswordInfo> {
  try {
    return await regenerate();
  } catch (error) {
    if (error instanceof ReelgateError && error.status === 403)
      throw new Error(
        'Replace it in the console, or set REELGATE_ACCESS_TOKEN and REELGATE_USER_ID to your user access token and id.',
        {
          cause: error,
        },
      );
    throw error;
  }
}

const toSettings = (found: AppPasswordInfo): string =>
  toTable([
    ['User name', found.email],
    ['Password', found.app_password],
    ['IMAP', `${found.imap_host}, port ${found.imap_port}, SSL/TLS`],
    ['SMTP', `${found.smtp_host}, port ${found.smtp_port}, SSL/TLS`],
    ['Protocols', found.protocols.join(', ')],
  ]);

function toTable(rows: readonly (readonly [string, string])[]): string {
  const width = Math.max(...rows.map(([name]) => name.length));
  return rows.map(([name, value]) => `${name.padEnd(width)}  ${value}`).join('\n');
}
