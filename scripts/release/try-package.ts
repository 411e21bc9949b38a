import { type ExecFileSyncOptionsWithStringEncoding, execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * Installs a packed file globally, into a separate folder, with the machine's Node and npm, and runs the command line
 * and the quickstart from there as a user would, without access to development packages or files of the repository.
 *
 * @throws Error if the package cannot be installed, reports another version, or generates no first video
 */
export async function tryPackage(file: string, version: string): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'reelgate-release-'));
  try {
    const prefix = join(folder, 'global');
    const work = join(folder, 'work');
    mkdirSync(work);
    // Excludes the repository's pinned Node, which npm scripts put first.
    const path = (process.env.PATH ?? '')
      .split(':')
      .filter((entry) => !entry.includes('node_modules'))
      .join(':');
    const env = { ...process.env, PATH: `${join(prefix, 'bin')}:${path}` };
    for (const name of Object.keys(env)) if (name.startsWith('npm_')) delete (env as NodeJS.ProcessEnv)[name];
    const options: ExecFileSyncOptionsWithStringEncoding = {
      cwd: work,
      env,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'inherit'],
    };
    execFileSync('npm', ['install', '--global', '--prefix', prefix, '--no-audit', '--no-fund', file], options);
    const named = execFileSync('reelgate', ['--version'], options).trim();
    if (named !== version) throw new Error(`the package says it is ${named}`);
    const commands = execFileSync('reelgate', ['--help'], options);
    if (!commands.includes('video')) throw new Error(`the command line is not whole: ${commands}`);
    const output = execFileSync('reelgate', ['quickstart', '--exit'], { ...options, timeout: 180_000 });
    if (!existsSync(join(work, 'data', 'first-video.mp4'))) throw new Error(`no first video: ${output}`);
    console.log(
      `installed globally under Node ${execFileSync('node', ['--version'], options).trim()}; a first video was made`,
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
