import { InterruptedError } from './errors.ts';
import { Output } from './output.ts';

/** Imported when a prompt is shown, because printing help does not need it. */
const importPrompts = () => import('@clack/prompts');

/** Prompts are shown on standard error, because standard output may be a file or a pipe. */
const output = process.stderr;

/** Whether a person can answer a prompt. */
export const canPrompt = (): boolean => process.stdin.isTTY === true && process.stderr.isTTY === true;

/** Asks for a line on the terminal. @throws InterruptedError after Ctrl-C */
export async function askText(message: string): Promise<string> {
  const { text } = await importPrompts();
  return toAnswer(await text({ message: Output.translation.message(message), output }));
}

/** Asks for a secret on the terminal, which is not shown. @throws InterruptedError after Ctrl-C */
export async function askPassword(message: string): Promise<string> {
  const { password } = await importPrompts();
  return toAnswer(await password({ message: Output.translation.message(message), output }));
}

function toAnswer(answer: string | symbol): string {
  if (typeof answer === 'symbol') throw new InterruptedError();
  return answer;
}

/** The text of an argument, which `-` takes from standard input. */
export const readTextArgument = async (argument: string, interruptSignal: AbortSignal): Promise<string> =>
  argument === '-' ? readStandardInput(interruptSignal) : argument;

/** Reads a text from standard input, as typed on a terminal or from a pipe, until its end or Ctrl-C. */
export async function readStandardInput(interruptSignal: AbortSignal): Promise<string> {
  // Only when needed, because every command loads this module.
  const [{ addAbortSignal }, { text }] = await Promise.all([import('node:stream'), import('node:stream/consumers')]);
  return text(addAbortSignal(interruptSignal, process.stdin));
}
