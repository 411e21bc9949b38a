import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Process } from '../support/child-processes.ts';

const SCRIPT = join(import.meta.dirname, '../node_modules/@portkey-ai/gateway/build/start-server.js');
const PORT = 4_390;

/**
 * Starts npm @portkey-ai/gateway, which manages neither keys nor money. Undefined if `cd bench && npm ci` was not run.
 */
export async function startPortkey(): Promise<(Process & { readonly port: number }) | undefined> {
  if (!existsSync(SCRIPT)) return undefined;
  const child = spawn(process.execPath, [SCRIPT, `--port=${PORT}`, '--headless'], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { PATH: process.env.PATH, TRUSTED_CUSTOM_HOSTS: '127.0.0.1,localhost', NODE_ENV: 'production' },
  });
  const { pid } = child;
  if (pid === undefined) return undefined;
  const origin = `http://127.0.0.1:${PORT}`;
  for (let tries = 0; tries < 100; tries++) {
    if (
      await fetch(origin).then(
        () => true,
        () => false,
      )
    )
      break;
    await pause(100);
  }
  return { pid, port: PORT, origin, stop: async () => void child.kill('SIGKILL') };
}

/** Headers that select the upstream. */
export const portkeyHeaders = (upstream: string, provider = 'openai'): Record<string, string> => ({
  'x-portkey-provider': provider,
  'x-portkey-custom-host': `${upstream}/v1`,
});
