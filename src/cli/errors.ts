/** Wrong usage of the command; has its own exit status. */
export class UsageError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'UsageError';
  }
}

/** The keychain with the tokens cannot be opened now. */
export class KeychainError extends Error {
  readonly advice: string;

  constructor(keychain: string, details: { readonly cause?: unknown; readonly advice?: string } = {}) {
    super(`The tokens of this sign-in are in ${keychain}, which cannot be opened from here.`, { cause: details.cause });
    this.name = 'KeychainError';
    this.advice =
      details.advice ??
      'Unlock it, or sign in again with REELGATE_KEYCHAIN=0, which keeps the tokens in a file only you can read.';
  }
}

/** A video failed; the message contains the reason in words common to all vendors. */
export class VideoFailedError extends Error {
  readonly taskId: string;
  /** Advice for the user, one or more lines. Empty: none. */
  readonly advice: string;

  constructor(message: string, taskId: string, advice: string) {
    super(message);
    this.name = 'VideoFailedError';
    this.taskId = taskId;
    this.advice = advice;
  }
}

/** Exit statuses, so that scripts can distinguish outcomes. */
export const EXIT = {
  done: 0,
  failed: 1,
  usage: 2,
  signIn: 3,
  quota: 4,
  taskFailed: 5,
  timeout: 6,
  network: 7,
  interrupted: 130,
} as const;

/** The user pressed Ctrl-C, possibly at a prompt. */
export class InterruptedError extends Error {
  /** A task that was started earlier and continues. */
  readonly taskId: string | undefined;

  constructor(taskId?: string) {
    super('Interrupted.');
    this.name = 'Interrupted';
    this.taskId = taskId;
  }
}

/** Where a shell has replaced itself by the command, npx passes on the Ctrl-C that the terminal has sent already. */
const SAME_KEY_PRESS_MS = 1_000;

/** Aborts at the first Ctrl-C; another one ends the process immediately. */
export function createInterruptSignal(): AbortSignal {
  const controller = new AbortController();
  const interrupt = (): void => {
    if (controller.signal.aborted) return;
    controller.abort(new InterruptedError());
    setTimeout(() => process.off('SIGINT', interrupt), SAME_KEY_PRESS_MS).unref();
  };
  process.on('SIGINT', interrupt);
  return controller.signal;
}
