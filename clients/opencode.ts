import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { programOf, runInTemporaryHome } from './run-program.ts';
import { API_KEY, BASE_URL, CHAT, OTHER_DIALECT_MODELS } from './service-setup.ts';

/** opencode, one non-interactive task over two kinds of upstream: a tool reads a file, then the turn ends. */
const program = programOf('opencode', 'opencode');
const MODELS = [CHAT, ...OTHER_DIALECT_MODELS.slice(0, 1)];
const CONFIG = {
  autoupdate: false,
  share: 'disabled',
  enabled_providers: ['reelgate'],
  small_model: `reelgate/${CHAT}`,
  provider: {
    reelgate: {
      npm: '@ai-sdk/openai-compatible',
      name: 'Reelgate',
      options: { baseURL: BASE_URL, apiKey: '{env:REELGATE_KEY}' },
      models: Object.fromEntries(MODELS.map((model) => [model, {}])),
    },
  },
};
const env = {
  REELGATE_KEY: API_KEY,
  OPENCODE_DISABLE_MODELS_FETCH: '1',
  OPENCODE_DISABLE_AUTOUPDATE: '1',
  OPENCODE_DISABLE_LSP_DOWNLOAD: '1',
  OPENCODE_DISABLE_DEFAULT_PLUGINS: '1',
};

await runInTemporaryHome('opencode', async (home, run) => {
  writeFileSync(`${home}/opencode.json`, JSON.stringify(CONFIG));
  for (const model of MODELS) {
    const parameters = ['run', '--auto', '--format', 'json', '--model', `reelgate/${model}`];
    const stdout = await run(program, [...parameters, '[call=read] [chunks=3]'], env);
    const parts = stdout.split('\n').flatMap((line) => (line.startsWith('{') ? [JSON.parse(line).part] : []));
    const read = parts.find((part) => part?.type === 'tool');
    assert.deepEqual([read?.tool, read?.state.status], ['read', 'completed'], model);
    assert.match(read?.state.output, /sunny/);
    assert.equal(parts.findLast((part) => part?.type === 'text')?.text, 'the light of', model);
  }
});
