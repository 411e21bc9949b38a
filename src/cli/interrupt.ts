/** The user pressed Ctrl-C, possibly at a prompt. */
export class InterruptedError extends Error {
  /** A task that was started before and continues. */
  readonly taskId: string | undefined;

  constructor(taskId?: string) {
    super('Interrupted.');
    this.name = 'Interrupted';
    this.taskId = taskId;
  }
}

/** Aborted by the first Ctrl-C; a second one ends the process at once. */
export function createInterruptSignal(): AbortSignal {
  const controller = new AbortController();
  process.once('SIGINT', () => controller.abort(new InterruptedError()));
  return controller.signal;
}
