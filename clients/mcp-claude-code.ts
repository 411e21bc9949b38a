import assert from 'node:assert/strict';
import { fileURLToPath } from 'node:url';
import { runInTemporaryHome } from './run-program.ts';
import { API_KEY, CHAT, ORIGIN } from './service-setup.ts';

/** Claude Code: `claude mcp add` as docs/mcp.md says, then a turn in which the model calls a tool of the service. */
const claude = fileURLToPath(new URL('node_modules/@anthropic-ai/claude-code/cli-wrapper.cjs', import.meta.url));
const TOOL = 'mcp__reelgate__balance';

await runInTemporaryHome('mcp-claude-code', async (_home, run) => {
  const env = {
    ANTHROPIC_BASE_URL: ORIGIN,
    ANTHROPIC_AUTH_TOKEN: API_KEY,
    ANTHROPIC_MODEL: CHAT,
    ANTHROPIC_DEFAULT_HAIKU_MODEL: CHAT,
    ANTHROPIC_DEFAULT_SONNET_MODEL: CHAT,
    ANTHROPIC_DEFAULT_OPUS_MODEL: CHAT,
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    DISABLE_AUTOUPDATER: '1',
    // The simulated model calls a tool only if it is offered, not found by a search.
    ENABLE_TOOL_SEARCH: 'false',
  };
  const start = (...parameters: string[]) => run(process.execPath, [claude, ...parameters], env);
  const header = `Authorization: Bearer ${API_KEY}`;
  await start('mcp', 'add', '--transport', 'http', 'reelgate', `${ORIGIN}/mcp`, '--header', header);
  assert.match(await start('mcp', 'list'), /reelgate: .*\/mcp \(HTTP\) - .*Connected/);
  const parameters = ['--output-format', 'stream-json', '--verbose', '--allowedTools', TOOL];
  const events = await start('-p', `[call=${TOOL}] [chunks=3]`, ...parameters);
  // The text of the tool's result, as Claude Code hands it to the model.
  assert.match(events, /"tool_result"[^\n]*\\?"balance\\?\\?":/);
  assert.doesNotMatch(events, /"is_error":true/);
});
