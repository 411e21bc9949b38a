import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { runInTemporaryHome } from './run-program.ts';
import { API_KEY, BASE_URL, CHAT, OTHER_DIALECT_MODELS } from './service-setup.ts';

/** Qwen Code, one non-interactive task over two kinds of upstream: a tool reads a file, then the turn ends. */
const program = fileURLToPath(new URL('node_modules/@qwen-code/qwen-code/cli-entry.js', import.meta.url));
const SETTINGS = {
  security: { auth: { selectedType: 'openai' } },
  privacy: { usageStatisticsEnabled: false },
  telemetry: { enabled: false },
  general: { enableAutoUpdate: false },
};

for (const model of [CHAT, ...OTHER_DIALECT_MODELS.slice(0, 1)])
  await runInTemporaryHome('qwen-code', async (home, run) => {
    mkdirSync(`${home}/.qwen`);
    writeFileSync(`${home}/.qwen/settings.json`, JSON.stringify(SETTINGS));
    const env = { OPENAI_API_KEY: API_KEY, OPENAI_BASE_URL: BASE_URL, OPENAI_MODEL: model };
    const parameters = ['-p', '[call=read_file] [chunks=3]', '--output-format', 'json'];
    const stdout = await run(process.execPath, [program, ...parameters], env);
    const end = JSON.parse(stdout).at(-1);
    assert.deepEqual([end.result, end.is_error, end.num_turns], ['the light of', false, 2], model);
    assert.equal(end.stats.tools.byName.read_file.count, 1, model);
  });
