import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { ALL_MODELS, API_KEY, ORIGIN } from './service-setup.ts';

/**
 * Anthropic's Claude Code, one non-interactive task over each kind of upstream: a tool reads a file, then the turn
 * ends.
 */
const run = promisify(execFile);
const program = fileURLToPath(new URL('node_modules/@anthropic-ai/claude-code/cli-wrapper.cjs', import.meta.url));

for (const model of ALL_MODELS) {
  const home = mkdtempSync(join(tmpdir(), 'claude-code-'));
  try {
    writeFileSync(join(home, 'Paris'), 'sunny\n');
    const env = {
      PATH: process.env.PATH,
      HOME: home,
      ANTHROPIC_BASE_URL: ORIGIN,
      ANTHROPIC_AUTH_TOKEN: API_KEY,
      ANTHROPIC_MODEL: model,
      ANTHROPIC_DEFAULT_HAIKU_MODEL: model,
      ANTHROPIC_DEFAULT_SONNET_MODEL: model,
      ANTHROPIC_DEFAULT_OPUS_MODEL: model,
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      DISABLE_AUTOUPDATER: '1',
    };
    const parameters = ['-p', '[call=Read] [chunks=3]', '--output-format', 'json', '--allowedTools', 'Read'];
    const started = run(process.execPath, [program, ...parameters], { cwd: home, env, timeout: 180_000 });
    started.child.stdin?.end();
    const { result, num_turns: turns, is_error: isError } = JSON.parse((await started).stdout);
    assert.deepEqual([result, turns, isError], ['the light of', 2, false], model);
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}
