import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const start = promisify(execFile);

/** Path of an executable in a package that is published once per platform. */
export const programOf = (name: string, executable: string): string =>
  fileURLToPath(new URL(`node_modules/${name}-${process.platform}-${process.arch}/bin/${executable}`, import.meta.url));

/** Runs a program and returns its standard output; a failure's message contains both outputs. */
export type Run = (program: string, parameters: readonly string[], env?: NodeJS.ProcessEnv) => Promise<string>;

/** Runs programs in an empty home folder with a file named "Paris", which the simulated model asks to read. */
export async function runInTemporaryHome(name: string, task: (home: string, run: Run) => Promise<void>): Promise<void> {
  const home = mkdtempSync(join(tmpdir(), `${name}-`));
  const { PATH, HTTPS_PROXY, NO_PROXY, NODE_USE_ENV_PROXY } = process.env;
  const shared = { PATH, HTTPS_PROXY, NO_PROXY, NODE_USE_ENV_PROXY, HOME: home, DO_NOT_TRACK: '1' };
  try {
    writeFileSync(join(home, 'Paris'), 'sunny\n');
    await task(home, async (program, parameters, env = {}) => {
      const started = start(program, [...parameters], { cwd: home, env: { ...shared, ...env }, timeout: 180_000 });
      started.child.stdin?.end();
      const { stdout } = await started.catch((error) => {
        throw new Error(`${program}: ${error.stdout}\n${error.stderr}`, { cause: error });
      });
      return stdout;
    });
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}
