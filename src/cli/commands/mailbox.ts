import type { Command } from 'commander';
import type { AppPasswordInfo } from '../../sdk/index.ts';
import { formatKeyValues, type Output, phrase, word } from '../output.ts';
import { reauthenticate } from '../reauthenticate.ts';
import type { RunCommand } from '../run-command.ts';

/** `reelgate mailbox …` */
export function addMailboxCommands(program: Command, run: RunCommand): void {
  const mailbox = program
    .command('mailbox')
    .description('Your mailbox, its passwords and what mail programs need')
    .addHelpText(
      'after',
      `
Examples:
  $ reelgate mailbox
  $ reelgate mailbox apply ada
  $ reelgate mailbox app-password`,
    );

  mailbox
    .command('show', { isDefault: true })
    .option('--reveal', 'show the password')
    .description('Show the address')
    .action((options: { reveal?: boolean }, command: Command) =>
      run(command, async ({ reelgate, output }) => {
        const facts = await reelgate.mailbox.get();
        const { password, ...open } = facts;
        if (!facts.has_mailbox) return output.result(open, NONE);
        const own = options.reveal === true ? password : word('hidden; add --reveal');
        output.result(
          options.reveal === true ? facts : open,
          formatKeyValues({
            Address: facts.email,
            Password: facts.password_source === 'account' ? word('the password of your account') : own,
            Note: facts.message,
          }),
        );
      }),
    );

  mailbox
    .command('apply')
    .argument('[local-part]', 'the part before the @; default: chosen by the service')
    .description('Get a mailbox')
    .action((localPart: string | undefined, _options: unknown, command: Command) =>
      run(command, async ({ reelgate, output }) => {
        const made = await reelgate.mailbox.apply(localPart);
        output.info(made.password === undefined ? 'You have this mailbox already.' : 'Your mailbox is ready.');
        output.result(made, formatKeyValues({ Address: made.email, Password: made.password }));
        output.info('For mail programs make an application password: "reelgate mailbox app-password --regenerate".');
      }),
    );

  mailbox
    .command('app-password')
    .option('--regenerate', 'create a new one; the old one is revoked at once')
    .description('Show the password for mail programs, with hosts and ports')
    .action((options: { regenerate?: boolean }, command: Command) =>
      run(command, async (session) => {
        const { reelgate, output } = session;
        if (options.regenerate !== true) return printAppPassword(output, await reelgate.mailbox.appPassword());
        printAppPassword(
          output,
          await reauthenticate(session, (owner) =>
            owner.reelgate.mailbox.regenerateAppPassword({ headers: owner.headers }),
          ),
        );
      }),
    );
}

function printAppPassword(output: Output, facts: AppPasswordInfo): void {
  if (facts.has_app_password && !facts.consistent)
    output.info(`The mail server does not accept this password. ${MAKE}`);
  output.result(
    facts,
    facts.has_app_password
      ? formatKeyValues({
          'User name': facts.email,
          Password: facts.app_password,
          IMAP: phrase`${facts.imap_host}, port ${facts.imap_port}, SSL/TLS`,
          SMTP: phrase`${facts.smtp_host}, port ${facts.smtp_port}, SSL/TLS`,
          'Works for': facts.protocols.join(', ').toUpperCase(),
          Note: facts.message,
        })
      : facts.email === ''
        ? NONE
        : `No application password yet. ${MAKE}`,
  );
}

const NONE = 'No mailbox yet. Apply for one with "reelgate mailbox apply".';
const MAKE = 'Make a new one with "reelgate mailbox app-password --regenerate".';
