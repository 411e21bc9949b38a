import type { ErrorReport } from './error-report.ts';
import { replaceControlCharacters } from './format.ts';

export interface OutputOptions {
  /** One JSON document on standard output and nothing else. */
  readonly json: boolean;
  readonly quiet: boolean;
}

/** Results go to standard output, progress and errors to standard error, so that output can be piped. */
export class Output {
  readonly #options: OutputOptions;
  #live = false;
  #pieces = false;
  #last = '';
  constructor(options: OutputOptions) {
    this.#options = options;
  }

  /** Whether standard error is a terminal. */
  get isInteractive(): boolean {
    return process.stderr.isTTY === true;
  }

  /** The result: `text` for users, `value` for programs. */
  result(value: unknown, text: string): void {
    this.#endStatusLine();
    process.stdout.write(
      this.#options.json ? `${JSON.stringify(value)}\n` : text === '' ? '' : `${replaceControlCharacters(text)}\n`,
    );
  }

  /** A part of a result that is streamed; `endChunks` follows. With --json the complete result is printed there. */
  writeChunk(text: string): void {
    if (this.#options.json) return;
    this.#endStatusLine();
    this.#pieces = true;
    process.stdout.write(replaceControlCharacters(text));
  }

  /** Ends the streamed result; `value` is the result for programs, omitted when there is none. */
  endChunks(value?: unknown): void {
    if (this.#options.json && value !== undefined) process.stdout.write(`${JSON.stringify(value)}\n`);
    if (this.#pieces) process.stdout.write('\n');
    this.#pieces = false;
  }

  info(line: string): void {
    if (!this.#options.quiet && !this.#options.json) this.notice(line);
  }

  /** Like `info`, but printed with --quiet and --json too: the user must see it to continue. */
  notice(line: string): void {
    this.#endStatusLine();
    process.stderr.write(`${replaceControlCharacters(line)}\n`);
  }

  /** A status line, overwritten by the next one on a terminal; elsewhere only changes of `plain` are printed. */
  status(line: string, plain = line): void {
    if (this.#options.quiet || this.#options.json) return;
    if (this.isInteractive) {
      process.stderr.write(`\r\u001b[2K${replaceControlCharacters(line)}`);
      this.#live = true;
    } else if (plain !== this.#last) process.stderr.write(`${replaceControlCharacters(plain)}\n`);
    this.#last = plain;
  }

  /** Erases the status line. */
  clearStatus(): void {
    if (this.#live) process.stderr.write('\r\u001b[2K');
    this.#live = false;
  }

  /** Prints what went wrong and what to do. */
  error({ message, advice, code, requestId, taskId, exitCode }: ErrorReport): void {
    // After Ctrl-C the user knows why the command ended.
    if (code === 'interrupted') this.clearStatus();
    this.#endStatusLine();
    if (this.#options.json) {
      const error = { message, code, advice, request_id: requestId, task_id: taskId, status: exitCode };
      process.stdout.write(`${JSON.stringify({ error })}\n`);
      return;
    }
    if (code === 'interrupted') return;
    process.stderr.write(
      `${replaceControlCharacters(`Error: ${message}`)}\n${advice === undefined ? '' : `${advice}\n`}`,
    );
    if (code.startsWith('http_5') || code === 'internal_error')
      process.stderr.write(requestId === undefined ? '' : `Request: ${replaceControlCharacters(requestId)}\n`);
  }

  #endStatusLine(): void {
    if (this.#live) process.stderr.write('\n');
    this.#live = false;
  }
}
