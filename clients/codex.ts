import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { BASE_URL, CHAT } from './environment.ts';

/** OpenAI's Codex, one task without a person. It lists tools of the server's, which nobody here has. */
const home = mkdtempSync(join(tmpdir(), 'codex-'));
const config = `
model = "${CHAT}"
model_provider = "reelgate"
[model_providers.reelgate]
name = "Reelgate"
base_url = "${BASE_URL}"
env_key = "SERVICE_KEY"
wire_api = "responses"
`;
try {
  writeFileSync(join(home, 'config.toml'), config);
  const bin = fileURLToPath(new URL('node_modules/@openai/codex/bin/codex.js', import.meta.url));
  const parameters = ['exec', '--skip-git-repo-check', '--sandbox', 'read-only', '[chunks=3]'];
  const env = { PATH: process.env.PATH, HOME: home, CODEX_HOME: home, SERVICE_KEY: process.env.SERVICE_KEY };
  const output = execFileSync(process.execPath, [bin, ...parameters], { cwd: home, env, encoding: 'utf8', input: '' });
  assert.match(output, /the light of/);
} finally {
  rmSync(home, { recursive: true, force: true });
}
