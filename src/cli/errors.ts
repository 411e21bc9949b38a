/** The command was called wrongly; reported with an exit status of its own. */
export class UsageError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'UsageError';
  }
}

/** The tokens are in a keychain that cannot be opened now. */
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

/** A video failed; the message says why in words common to all vendors. */
export class VideoFailedError extends Error {
  readonly taskId: string;
  /** What to do now; lines. Empty: nothing is known. */
  readonly advice: string;

  constructor(message: string, taskId: string, advice: string) {
    super(message);
    this.name = 'VideoFailedError';
    this.taskId = taskId;
    this.advice = advice;
  }
}
