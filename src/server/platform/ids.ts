import { randomText } from './secrets.ts';

/** A public task id: `task_` and 32 random letters and digits (190 bits), not to be guessed or counted. */
export function taskId(): string {
  return `task_${randomText(32)}`;
}
