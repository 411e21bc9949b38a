import { once } from 'node:events';
import { createInterface } from 'node:readline';

/** What a process is to do: the first line it is given. Never resolves, and so ends the process, when its parent has ended before. */
export async function readInstruction<Order>(): Promise<Order> {
  const input = createInterface({ input: process.stdin });
  const [line] = (await once(input, 'line')) as [string];
  input.close();
  process.stdin.destroy();
  return JSON.parse(line) as Order;
}
