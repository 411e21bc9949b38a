/** Ctrl-C, or a question that was left with it. */
export class Interrupted extends Error {
  /** A task that was started before and goes on. */
  readonly taskId: string | undefined;

  constructor(taskId?: string) {
    super('Interrupted.');
    this.name = 'Interrupted';
    this.taskId = taskId;
  }
}

/** Aborted by the first Ctrl-C; a second one ends the process at once. */
export function interruptSignal(): AbortSignal {
  const controller = new AbortController();
  process.once('SIGINT', () => controller.abort(new Interrupted()));
  return controller.signal;
}
