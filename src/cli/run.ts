import type { Command } from 'commander';
import { tell } from './failures.ts';
import { Interrupted } from './interrupted.ts';
import { Output } from './output.ts';
import { type GlobalOptions, openSession, type Session } from './session.ts';

/** Runs a command's work: opens the session, tells failures, sets the exit status. */
export type RunCommand = (command: Command, work: (session: Session) => Promise<void>) => Promise<void>;

export const run: RunCommand = async (command, work) => {
  const options = command.optsWithGlobals<GlobalOptions>();
  const output = new Output({ json: options.json === true, quiet: options.quiet === true });
  let session: Session | undefined;
  try {
    session = await openSession(options, output);
    await work(session);
  } catch (error) {
    // Whatever broke off because of Ctrl-C, and in whichever words.
    const isInterrupted = session?.interrupted.aborted === true && !(error instanceof Interrupted);
    const told = tell(isInterrupted ? new Interrupted() : error, session?.caller.proof);
    output.failure(told);
    process.exitCode = told.status;
  }
};
