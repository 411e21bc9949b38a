import assert from 'node:assert/strict';
import { programOf, runInTemporaryHome } from './run-program.ts';
import { API_KEY, BASE_URL, CHAT, OTHER_DIALECT_MODELS } from './service-setup.ts';

/**
 * Cline's command line, one non-interactive task over two kinds of upstream: a tool reads a file, then the turn ends.
 */
const program = programOf('@cline/cli', 'cline');
const eventsOf = (stdout: string) =>
  stdout
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line));

for (const model of [CHAT, ...OTHER_DIALECT_MODELS.slice(0, 1)])
  await runInTemporaryHome('cline', async (home, run) => {
    const settings = ['--data-dir', `${home}/data`];
    await run(program, ['auth', 'openai-compatible', ...settings, '-k', API_KEY, '-m', model, '-b', BASE_URL]);
    const chosen = ['--json', '-P', 'openai-compatible'];
    const events = eventsOf(await run(program, [...settings, ...chosen, '[call=read_files] [chunks=3]']));
    const read = events.find(({ event }) => event?.type === 'content_end' && event.contentType === 'tool');
    assert.equal(read?.event.output[0].result, '1 | sunny', model);
    const end = events.find(({ type }) => type === 'run_result');
    assert.deepEqual([end?.text, end?.finishReason, end?.iterations], ['the light of', 'completed', 2], model);
  });
