import { once } from 'node:events';
import { createInterface } from 'node:readline';

/**
 * Reads the process's instruction: the first line of its input. Never resolves, so that the process ends, if its parent
 * has ended before.
 */
export async function readInstruction<Order>(): Promise<Order> {
  const input = createInterface({ input: process.stdin });
  const [line] = (await once(input, 'line')) as [string];
  input.close();
  process.stdin.destroy();
  return JSON.parse(line) as Order;
}
