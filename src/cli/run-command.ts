import type { Command } from 'commander';
import type { CommandContext, GlobalOptions } from './command-context.ts';
import { toErrorReport } from './error-report.ts';
import { InterruptedError } from './errors.ts';
import { Output } from './output.ts';
import type { ReauthenticatedClient } from './reauthenticate.ts';

/** Runs a command: creates the context, does the work, reports errors and sets the exit status. */
export type RunCommand = (command: Command, work: (context: CommandContext) => Promise<void>) => Promise<void>;

/** Runs a command of the program. */
export const runCommand: RunCommand = async (command, work) => {
  const options = command.optsWithGlobals<GlobalOptions>();
  const output = new Output({ json: options.json === true, quiet: options.quiet === true });
  let context: CommandContext | undefined;
  try {
    // Imported when a command runs, because printing help does not need it.
    const { createCommandContext } = await import('./command-context.ts');
    context = await createCommandContext(options, output);
    await work(context);
  } catch (error) {
    // After Ctrl-C the running operation fails with its own error, which is replaced.
    const isInterrupted = context?.interruptSignal.aborted === true && !(error instanceof InterruptedError);
    const report = toErrorReport(
      isInterrupted ? new InterruptedError() : error,
      context?.credentialProvider.lastSource,
    );
    output.error(report);
    process.exitCode = report.exitCode;
  }
};

/** Loads reauthenticate.ts on demand, because help and most commands do not need it. */
export async function reauthenticateLazily<T>(
  context: CommandContext,
  work: (owner: ReauthenticatedClient) => Promise<T>,
): Promise<T> {
  const { reauthenticate } = await import('./reauthenticate.ts');
  return reauthenticate(context, work);
}
