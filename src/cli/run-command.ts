import type { Command } from 'commander';
import type { CommandContext, GlobalOptions } from './command-context.ts';
import { toErrorReport } from './error-report.ts';
import { EXIT, InterruptedError } from './errors.ts';
import { Output } from './output.ts';

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

/**
 * Runs a command that works on the server's own database or files. Ctrl-C ends the process at once, whatever it waits
 * for: such a command writes in transactions, so that one that dies half-way has changed nothing or can be repeated.
 */
export const runOnServer: RunCommand = async (command, work) => {
  await runCommand(command, async (context) => {
    const { interruptSignal: signal } = context;
    signal.throwIfAborted();
    const interrupted = Promise.withResolvers<never>();
    signal.addEventListener('abort', () => interrupted.reject(signal.reason), { once: true });
    await Promise.race([work(context), interrupted.promise]);
  });
  if (process.exitCode !== EXIT.interrupted) return;
  // A mere exit would wait for the threads of Node, one of which may be copying gigabytes.
  process.once('exit', () => process.removeAllListeners('SIGINT').kill(process.pid, 'SIGINT'));
  process.exit();
};
