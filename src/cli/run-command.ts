import type { Command } from 'commander';
import type { CommandContext, GlobalOptions } from './command-context.ts';
import { toErrorReport } from './error-report.ts';
import { InterruptedError } from './errors.ts';
import { Output } from './output.ts';

/** Runs a command's work: opens the context, reports errors, sets the exit status. */
export type RunCommand = (command: Command, work: (context: CommandContext) => Promise<void>) => Promise<void>;

export const runCommand: RunCommand = async (command, work) => {
  const options = command.optsWithGlobals<GlobalOptions>();
  const output = new Output({ json: options.json === true, quiet: options.quiet === true });
  let context: CommandContext | undefined;
  try {
    // Loaded when a command runs: printing help does not need it.
    const { createCommandContext } = await import('./command-context.ts');
    context = await createCommandContext(options, output);
    await work(context);
  } catch (error) {
    // Ctrl-C makes whatever was running fail with an error of its own.
    const isInterrupted = context?.interruptSignal.aborted === true && !(error instanceof InterruptedError);
    const report = toErrorReport(
      isInterrupted ? new InterruptedError() : error,
      context?.credentialProvider.lastSource,
    );
    output.error(report);
    process.exitCode = report.exitCode;
  }
};
