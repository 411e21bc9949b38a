import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import net, { type AddressInfo } from 'node:net';

const program = ['valkey-server', 'redis-server'].find((name) => spawnSync(name, ['--version']).status === 0);

/** The reason to skip a suite; false if the program is installed. */
export const VALKEY_IS_MISSING = program === undefined ? 'neither Valkey nor Redis is installed' : false;

/** Starts a private Valkey or Redis on a free port, without persistence. */
export async function startValkey(): Promise<{ url: string; process: ChildProcess }> {
  const holder = net.createServer().listen(0, '127.0.0.1');
  await once(holder, 'listening');
  const { port } = holder.address() as AddressInfo;
  holder.close();
  const options = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'];
  const child = spawn(program ?? '', options, { stdio: 'ignore' });
  return { url: `redis://127.0.0.1:${port}`, process: child };
}
