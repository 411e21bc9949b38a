import { readFileSync } from 'node:fs';
import { styleText } from 'node:util';
import { Command, type CommanderError } from 'commander';
import { addAdminCommands, addDoctorCommand, addServiceCommands } from './commands/admin.ts';
import { addBatchCommands } from './commands/batch.ts';
import { addChatCommand } from './commands/chat.ts';
import { addCollectionCommands } from './commands/collections.ts';
import { addCompletionCommand } from './commands/completion.ts';
import { addFileCommands } from './commands/files.ts';
import { addImportCommand } from './commands/import.ts';
import { addKeyCommands } from './commands/keys.ts';
import { addDeviceCommands, addLoginCommand, addLogoutCommand, addWhoamiCommand } from './commands/login.ts';
import { addMailboxCommands } from './commands/mailbox.ts';
import { addConfigCommands, addModelsCommand } from './commands/models.ts';
import { addNotificationCommands } from './commands/notifications.ts';
import { addOrganizationCommands } from './commands/organizations.ts';
import { addPlanCommands } from './commands/plans.ts';
import { addReconciliationCommands } from './commands/reconciliation.ts';
import { addReceiptCommand, addRequestsCommand } from './commands/requests.ts';
import { addTicketCommands } from './commands/tickets.ts';
import { addVideoCommands } from './commands/video.ts';
import { addListenCommand, addWebhookCommands } from './commands/webhooks.ts';
import { toErrorReport } from './error-report.ts';
import { EXIT, UsageError } from './errors.ts';
import { Output } from './output.ts';
import { runCommand, runOnServer } from './run-command.ts';

const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  version: string;
};

/** The end of the help. */
export const EPILOGUE = `
Environment:
  REELGATE_URL           the service
  REELGATE_API_KEY       an sk- key for videos, chat and models, in place of a sign-in
  REELGATE_ACCESS_TOKEN  a management access token for account commands; with REELGATE_USER_ID
  REELGATE_CONFIG_DIR    where the sign-in and the settings are kept
  REELGATE_KEYCHAIN=0    keep tokens in a file only you can read, not in the keychain
  HTTPS_PROXY, NO_PROXY  the proxy, and hosts reached without it; HTTP_PROXY for http:// URLs
  NO_COLOR, FORCE_COLOR  no colours; colours without a terminal too

Exit status:
  0 done   1 failed   2 wrong usage   3 sign in first   4 not enough credits   5 the video failed
  6 still running at the time-out   7 the service cannot be reached   130 interrupted

Start with:
  $ reelgate login --url https://reelgate.example.com
  $ reelgate video create "a cat on a red sofa" --model kling-v3 --out cat.mp4`;

/**
 * Creates the program with all commands, in the order of the help.
 *
 * @param asJson prints usage errors as JSON too
 * @param epilogue the end of the help
 */
export function createProgram(asJson: boolean, epilogue = EPILOGUE): Command {
  const root = new Command('reelgate')
    .description('Videos, chat, account and mailbox of a Reelgate service from the command line')
    .version(version)
    .option('--url <address>', 'the service; else REELGATE_URL, the last sign-in, http://127.0.0.1:3000')
    .option('--org <slug>', 'act for an organization; see "reelgate orgs"')
    .option('--json', 'one JSON document on standard output')
    .option('-q, --quiet', 'only the result')
    .configureHelp({ styleTitle: (title) => styleText('bold', title, { validateStream: false }) })
    .showHelpAfterError('(add --help for the options)')
    .addHelpText('after', epilogue)
    .exitOverride((error) => {
      if (error.exitCode === 0) process.exit(EXIT.done);
      if (asJson) new Output({ json: true, quiet: false }).error(toErrorReport(toUsageError(error)));
      process.exit(EXIT.usage);
    });
  // Scripts that request JSON read standard output only.
  if (asJson) root.configureOutput({ writeErr: () => {}, outputError: () => {} });
  for (const add of [
    addLoginCommand,
    addLogoutCommand,
    addWhoamiCommand,
    addVideoCommands,
    addCollectionCommands,
    addFileCommands,
    addBatchCommands,
    addChatCommand,
    addModelsCommand,
    addConfigCommands,
    addDeviceCommands,
    addKeyCommands,
    addOrganizationCommands,
    addMailboxCommands,
    addPlanCommands,
    addRequestsCommand,
    addReceiptCommand,
    addNotificationCommands,
    addTicketCommands,
    addWebhookCommands,
    addListenCommand,
    addCompletionCommand,
  ])
    add(root, runCommand);
  addServiceCommands(root, runOnServer);
  addDoctorCommand(root, runOnServer);
  addReconciliationCommands(root, runCommand);
  addAdminCommands(root, runOnServer);
  addImportCommand(root, runOnServer);
  for (const group of root.commands) refuseUnknownCommands(group);
  return root;
}

/** A misspelled command of a group that lists by default would otherwise pass for an argument of its list. */
function refuseUnknownCommands(group: Command): void {
  group.hook('preSubcommand', ({ args: [given = ''] }, command) => {
    const isNamed =
      given.startsWith('-') || group.commands.some((each) => [each.name(), ...each.aliases()].includes(given));
    if (given !== '' && given !== 'help' && !isNamed && command.registeredArguments.length === 0)
      group.error(`error: unknown command '${given}'`, { code: 'commander.unknownCommand' });
  });
}

/** `commander.help`: a command group was used without one of its commands. */
const toUsageError = ({ code, message }: CommanderError): UsageError =>
  new UsageError(code === 'commander.help' ? 'Name a command; --help lists them.' : message.replace(/^error: /, ''));
