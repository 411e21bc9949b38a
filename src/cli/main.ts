import { readFileSync } from 'node:fs';
import { Command } from 'commander';
import { addMailboxCommands } from './commands/mailbox.ts';
import { addModelsCommand } from './commands/models.ts';
import { addVideoCommands } from './commands/video.ts';
import { EXIT } from './exit-codes.ts';
import { Output } from './output.ts';
import { type GlobalOptions, openSession, type Session } from './session.ts';

/** Runs a command's work: opens the session, tells failures, sets the exit status. */
export type RunCommand = (command: Command, work: (session: Session) => Promise<void>) => Promise<void>;

const run: RunCommand = async (command, work) => {
  const options = command.optsWithGlobals<GlobalOptions>();
  const output = new Output({ json: options.json === true, quiet: options.quiet === true });
  try {
    await work(await openSession(options));
  } catch (error) {
    const interrupted = error instanceof Error && error.message === 'interrupted';
    process.exitCode = interrupted ? EXIT.interrupted : output.failure(error);
  }
};

const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  version: string;
};

const program = new Command('reelgate')
  .description('Videos, chat and mail of a Reelgate service from the command line')
  .version(version)
  .option('--url <address>', 'the service; else REELGATE_URL, the last sign-in, http://127.0.0.1:3000')
  .option('--json', 'one JSON document on standard output')
  .option('-q, --quiet', 'only the result')
  .showHelpAfterError('(add --help for the options)')
  .exitOverride((error) => process.exit(error.exitCode === 0 ? EXIT.done : EXIT.usage));

addVideoCommands(program, run);
addModelsCommand(program, run);
addMailboxCommands(program, run);

await program.parseAsync();
