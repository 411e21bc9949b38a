import type { Told } from './failures.ts';
import { toSafe } from './text.ts';

export interface OutputOptions {
  /** One JSON document on standard output and nothing else. */
  readonly json: boolean;
  readonly quiet: boolean;
}

/** Results go to standard output, everything said on the way to standard error, so that pipes stay clean. */
export class Output {
  readonly #options: OutputOptions;
  #live = false;
  #pieces = false;
  #last = '';
  constructor(options: OutputOptions) {
    this.#options = options;
  }

  /** Whether somebody may be looking at what is said on the way. */
  get isWatched(): boolean {
    return process.stderr.isTTY === true;
  }

  /** The result: `text` for people, `value` for programs. */
  result(value: unknown, text: string): void {
    this.#endLive();
    process.stdout.write(this.#options.json ? `${JSON.stringify(value)}\n` : text === '' ? '' : `${toSafe(text)}\n`);
  }

  /** A part of a result that arrives bit by bit; `endPieces` follows. Programs get the whole there. */
  piece(text: string): void {
    if (this.#options.json) return;
    this.#endLive();
    this.#pieces = true;
    process.stdout.write(toSafe(text));
  }

  /** Ends the line of the pieces; `value` is the result for programs, left out when there is none. */
  endPieces(value?: unknown): void {
    if (this.#options.json && value !== undefined) process.stdout.write(`${JSON.stringify(value)}\n`);
    if (this.#pieces) process.stdout.write('\n');
    this.#pieces = false;
  }

  say(line: string): void {
    if (!this.#options.quiet && !this.#options.json) this.ask(line);
  }

  /** As `say`, even where only the result is wanted: without it nothing goes on. */
  ask(line: string): void {
    this.#endLive();
    process.stderr.write(`${toSafe(line)}\n`);
  }

  /** A line that is written over by the next one on a terminal; elsewhere only changes are worth a line. */
  live(line: string, plain = line): void {
    if (this.#options.quiet || this.#options.json) return;
    if (this.isWatched) {
      process.stderr.write(`\r\u001b[2K${toSafe(line)}`);
      this.#live = true;
    } else if (plain !== this.#last) process.stderr.write(`${toSafe(plain)}\n`);
    this.#last = plain;
  }

  /** Takes the live line away. */
  clear(): void {
    if (this.#live) process.stderr.write('\r\u001b[2K');
    this.#live = false;
  }

  /** Says what went wrong and what to do. */
  failure({ message, advice, code, requestId, taskId, status }: Told): void {
    // What Ctrl-C stopped needs no line that says so.
    if (code === 'interrupted') this.clear();
    this.#endLive();
    if (this.#options.json) {
      const error = { message, code, advice, request_id: requestId, task_id: taskId, status };
      process.stdout.write(`${JSON.stringify({ error })}\n`);
      return;
    }
    if (code === 'interrupted') return;
    process.stderr.write(`${toSafe(`Error: ${message}`)}\n${advice === undefined ? '' : `${advice}\n`}`);
    if (code.startsWith('http_5') || code === 'internal_error')
      process.stderr.write(requestId === undefined ? '' : `Request: ${toSafe(requestId)}\n`);
  }

  #endLive(): void {
    if (this.#live) process.stderr.write('\n');
    this.#live = false;
  }
}
