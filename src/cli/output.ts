import { hasColor } from './has-color.ts';
import { type Rendering, type RenderTarget, render, styled, type Text } from './render-output-text.ts';
import { replaceControlCharacters } from './terminal-text.ts';
import type { ErrorReport } from './to-error-report.ts';

export interface OutputOptions {
  /** One JSON document on standard output and nothing else. */
  readonly json: boolean;
  readonly quiet: boolean;
}

const PLAIN: RenderTarget = { isTerminal: false, hasColor: false };

/** Results go to standard output, progress and errors to standard error, so that output can be piped. */
export class Output {
  readonly #options: OutputOptions;
  #live = false;
  #pieces = false;
  #last = '';
  readonly #out: RenderTarget = { isTerminal: process.stdout.isTTY === true, hasColor: hasColor(process.stdout) };
  readonly #err: RenderTarget = { isTerminal: process.stderr.isTTY === true, hasColor: hasColor(process.stderr) };
  constructor(options: OutputOptions) {
    this.#options = options;
  }

  /** Whether standard error is a terminal. */
  get isInteractive(): boolean {
    return this.#err.isTerminal;
  }

  /** The result: `text` for users and pipes, `value` with --json. */
  result(value: unknown, text: Text): void {
    this.#endStatusLine();
    if (this.#options.json) process.stdout.write(`${JSON.stringify(value)}\n`);
    else if (text !== '') process.stdout.write(`${render(text, this.#out)}\n`);
  }

  /** A list as the result. An empty one prints `none` on a terminal; a pipe gets no line, as it would be taken for a row. */
  list(value: unknown, table: Rendering, isEmpty: boolean, none: string): void {
    if (!isEmpty || this.#options.json || this.#out.isTerminal) this.result(value, isEmpty ? none : table);
    else this.info(none);
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

  info(line: Text): void {
    if (!this.#options.quiet && !this.#options.json) this.notice(line);
  }

  /** Like `info`, but printed with --quiet and --json too: the user must see it to continue. */
  notice(line: Text): void {
    this.#endStatusLine();
    process.stderr.write(`${render(line, this.#err)}\n`);
  }

  /** A status line, overwritten by the next one on a terminal; elsewhere only changes of `plain` are printed. */
  status(line: Text, plain = typeof line === 'string' ? line : line(PLAIN)): void {
    if (this.#options.quiet || this.#options.json) return;
    if (this.isInteractive) {
      process.stderr.write(`\r\u001b[2K${render(line, this.#err)}`);
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
    this.notice((target) => `${styled('bad', 'Error:')(target)} ${render(message, target)}`);
    if (advice !== undefined) this.notice(advice);
    if (requestId !== undefined && (code.startsWith('http_5') || code === 'internal_error'))
      this.notice(`Request: ${requestId}`);
  }

  #endStatusLine(): void {
    if (this.#live) process.stderr.write('\n');
    this.#live = false;
  }
}
