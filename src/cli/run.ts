import type { Command } from 'commander';
import { EXIT } from './exit-codes.ts';
import { tell } from './failures.ts';
import { Output } from './output.ts';
import { type GlobalOptions, openSession, type Session } from './session.ts';

/** Runs a command's work: opens the session, tells failures, sets the exit status. */
export type RunCommand = (command: Command, work: (session: Session) => Promise<void>) => Promise<void>;

export const run: RunCommand = async (command, work) => {
  const options = command.optsWithGlobals<GlobalOptions>();
  const output = new Output({ json: options.json === true, quiet: options.quiet === true });
  try {
    await work(await openSession(options, output));
  } catch (error) {
    if (error instanceof Error && error.message === 'interrupted') {
      output.clear();
      process.exitCode = EXIT.interrupted;
      return;
    }
    const told = tell(error);
    output.failure(told);
    process.exitCode = told.status;
  }
};
