import { ReelgateError } from '../sdk/index.ts';
import { EXIT } from './exit-codes.ts';

export interface OutputOptions {
  /** One JSON document on standard output and nothing else. */
  readonly json: boolean;
  readonly quiet: boolean;
}

/** Results go to standard output, everything said on the way to standard error, so that pipes stay clean. */
export class Output {
  readonly #options: OutputOptions;
  #live = false;
  constructor(options: OutputOptions) {
    this.#options = options;
  }

  get json(): boolean {
    return this.#options.json;
  }

  /** The result: `text` for people, `value` for programs. */
  result(value: unknown, text: string): void {
    this.#endLive();
    process.stdout.write(this.#options.json ? `${JSON.stringify(value)}\n` : text === '' ? '' : `${text}\n`);
  }

  say(line: string): void {
    this.#endLive();
    if (!this.#options.quiet && !this.#options.json) process.stderr.write(`${line}\n`);
  }

  /** A line that is written over by the next one on a terminal; elsewhere only changes are worth a line. */
  live(line: string): void {
    if (this.#options.quiet || this.#options.json) return;
    if (!process.stderr.isTTY) {
      if (line !== this.#last) process.stderr.write(`${line}\n`);
    } else {
      process.stderr.write(`\r\u001b[2K${line}`);
      this.#live = true;
    }
    this.#last = line;
  }
  #last = '';

  /** Says what went wrong and what to do, and answers the exit status. */
  failure(error: unknown): number {
    this.#endLive();
    const known = error instanceof ReelgateError ? error : undefined;
    const message = error instanceof Error ? error.message : String(error);
    const status = known === undefined ? EXIT.failed : exitOf(known);
    if (this.#options.json)
      process.stdout.write(
        `${JSON.stringify({ error: { message, code: known?.code ?? 'failed', request_id: known?.requestId } })}\n`,
      );
    else {
      const advice = known === undefined ? undefined : ADVICE[known.code];
      process.stderr.write(`Error: ${message}\n${advice === undefined ? '' : `${advice}\n`}`);
      if (known?.requestId !== undefined && known.status >= 500) process.stderr.write(`Request: ${known.requestId}\n`);
    }
    return status;
  }

  #endLive(): void {
    if (this.#live) process.stderr.write('\n');
    this.#live = false;
  }
}

const ADVICE: Readonly<Record<string, string>> = {
  network: 'Is it running? Set the address with --url or REELGATE_URL.',
  invalid_api_key: 'Sign in with "reelgate login", or set REELGATE_API_KEY.',
  unauthorized: 'Sign in with "reelgate login".',
  quota_not_enough: 'Redeem a code with "reelgate redeem CODE", or ask the administrator for quota.',
  model_not_found: 'See what there is with "reelgate models".',
  timeout: 'The task goes on. Wait for it with "reelgate video wait ID".',
};

const EXIT_OF_CODE: Readonly<Record<string, number>> = {
  network: EXIT.network,
  timeout: EXIT.timeout,
  task_failed: EXIT.taskFailed,
  quota_not_enough: EXIT.quota,
  token_quota_not_enough: EXIT.quota,
  invalid_api_key: EXIT.signIn,
  unauthorized: EXIT.signIn,
};

const exitOf = (error: ReelgateError): number =>
  EXIT_OF_CODE[error.code] ?? (error.status === 401 ? EXIT.signIn : EXIT.failed);
