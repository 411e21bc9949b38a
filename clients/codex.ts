import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { ALL_MODELS, BASE_URL, CHAT_COMPLETIONS_ONLY } from './service-setup.ts';

/**
 * OpenAI's Codex, one non-interactive task over each kind of upstream: a command runs, then the turn ends. Codex also
 * declares server-side tools, which no upstream here offers.
 */
const run = promisify(execFile);
const program = fileURLToPath(new URL('node_modules/@openai/codex/bin/codex.js', import.meta.url));

for (const model of [...ALL_MODELS, CHAT_COMPLETIONS_ONLY]) {
  const home = mkdtempSync(join(tmpdir(), 'codex-'));
  const config = `
model = "${model}"
model_provider = "reelgate"
[model_providers.reelgate]
name = "Reelgate"
base_url = "${BASE_URL}"
env_key = "SERVICE_KEY"
wire_api = "responses"
`;
  try {
    writeFileSync(join(home, 'config.toml'), config);
    const env = { PATH: process.env.PATH, HOME: home, CODEX_HOME: home, SERVICE_KEY: process.env.SERVICE_KEY };
    const prompt = '[call=exec_command] [chunks=3]';
    const parameters = ['exec', '--json', '--skip-git-repo-check', '--sandbox', 'read-only', prompt];
    const started = run(process.execPath, [program, ...parameters], { cwd: home, env, timeout: 180_000 });
    started.child.stdin?.end();
    const items = (await started).stdout
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line))
      .filter(({ type }) => type === 'item.completed')
      .map(({ item }) => item);
    // The simulated model invents the command, which exists on no machine.
    const command = items.find(({ type }) => type === 'command_execution');
    assert.ok(command?.exit_code !== 0 && /Paris/.test(command?.command), `${model}: ${JSON.stringify(items)}`);
    assert.equal(items.at(-1)?.text, 'the light of', model);
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}
