import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { ALL_MODELS, BASE_URL, CHAT, CHAT_COMPLETIONS_ONLY } from './service-setup.ts';

/**
 * OpenAI's Codex, one non-interactive task over each kind of upstream: a command runs, then the turn ends. Codex also
 * declares server-side tools, which no upstream here offers.
 */
const run = promisify(execFile);
const program = fileURLToPath(new URL('node_modules/@openai/codex/bin/codex.js', import.meta.url));

const OWN_PROVIDER = `
model_provider = "reelgate"
[model_providers.reelgate]
name = "Reelgate"
base_url = "${BASE_URL}"
env_key = "SERVICE_KEY"
wire_api = "responses"
`;
/** Codex's own provider at another address, which tries a WebSocket first. */
const BUILT_IN_PROVIDER = `openai_base_url = "${BASE_URL}"`;

const runs = [...ALL_MODELS, CHAT_COMPLETIONS_ONLY].map((model) => [model, OWN_PROVIDER] as const);
for (const [model, provider] of [...runs, [CHAT, BUILT_IN_PROVIDER] as const]) {
  const home = mkdtempSync(join(tmpdir(), 'codex-'));
  try {
    writeFileSync(join(home, 'config.toml'), `model = "${model}"\n${provider}`);
    const key = process.env.SERVICE_KEY;
    const env = { PATH: process.env.PATH, HOME: home, CODEX_HOME: home, SERVICE_KEY: key, CODEX_API_KEY: key };
    const prompt = '[call=exec_command] [chunks=3]';
    const parameters = ['exec', '--json', '--skip-git-repo-check', '--sandbox', 'read-only', prompt];
    const started = run(process.execPath, [program, ...parameters], { cwd: home, env, timeout: 180_000 });
    started.child.stdin?.end();
    const events = (await started).stdout
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line));
    // Such as "Reconnecting... 2/5".
    assert.deepEqual(
      events.filter(({ type }) => type === 'error'),
      [],
      model,
    );
    const items = events.filter(({ type }) => type === 'item.completed').map(({ item }) => item);
    // The simulated model invents the command, which exists on no machine.
    const command = items.find(({ type }) => type === 'command_execution');
    assert.ok(command?.exit_code !== 0 && /Paris/.test(command?.command), `${model}: ${JSON.stringify(items)}`);
    assert.equal(items.at(-1)?.text, 'the light of', model);
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}
