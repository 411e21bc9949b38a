import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { ALL_MODELS, API_KEY, ORIGIN } from './service-setup.ts';

/**
 * Google's Gemini CLI, one non-interactive task over each kind of upstream: a tool reads a file, then the turn ends.
 */
const run = promisify(execFile);
const program = fileURLToPath(new URL('node_modules/@google/gemini-cli/bundle/gemini.js', import.meta.url));
const SETTINGS = {
  security: { auth: { selectedType: 'gemini-api-key' } },
  privacy: { usageStatisticsEnabled: false },
  general: { disableAutoUpdate: true },
};

for (const model of ALL_MODELS) {
  const home = mkdtempSync(join(tmpdir(), 'gemini-cli-'));
  try {
    mkdirSync(join(home, '.gemini'));
    writeFileSync(join(home, '.gemini', 'settings.json'), JSON.stringify(SETTINGS));
    writeFileSync(join(home, 'Paris'), 'sunny\n');
    const env = { PATH: process.env.PATH, HOME: home, GOOGLE_GEMINI_BASE_URL: ORIGIN, GEMINI_API_KEY: API_KEY };
    const prompt = '[call=read_file] [chunks=3]';
    const parameters = ['--skip-trust', '-m', model, '-p', prompt, '--output-format', 'json'];
    const started = run(process.execPath, [program, ...parameters], { cwd: home, env, timeout: 180_000 });
    started.child.stdin?.end();
    const { stdout } = await started;
    const { response, stats } = JSON.parse(stdout.slice(stdout.indexOf('{')));
    assert.deepEqual([response, stats.tools.byName.read_file.success], ['the light of', 1], model);
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}
