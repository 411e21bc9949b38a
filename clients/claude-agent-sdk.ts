import assert from 'node:assert/strict';
import { fileURLToPath } from 'node:url';
import { createSdkMcpServer, query, tool } from '@anthropic-ai/claude-agent-sdk';
import { z } from 'zod';
import { runInTemporaryHome } from './run-program.ts';
import { ALL_MODELS, API_KEY, ORIGIN } from './service-setup.ts';

/**
 * Anthropic's Claude Agent SDK over each kind of upstream, with a custom tool. It uses the executable of Claude Code.
 */
const pathToClaudeCodeExecutable = fileURLToPath(
  new URL(`node_modules/@anthropic-ai/claude-code-${process.platform}-${process.arch}/claude`, import.meta.url),
);

for (const model of [...ALL_MODELS, 'absent'])
  await runInTemporaryHome('claude-agent', async (home) => {
    const asked: unknown[] = [];
    const weather = tool('weather', 'the sky', { city: z.string() }, async (input) => {
      asked.push(input);
      return { content: [{ type: 'text', text: 'sunny' }] };
    });
    const options = {
      ...{
        model,
        cwd: home,
        pathToClaudeCodeExecutable,
        settingSources: [],
        maxTurns: 4,
        includePartialMessages: true,
      },
      mcpServers: { sky: createSdkMcpServer({ name: 'sky', tools: [weather] }) },
      allowedTools: ['mcp__sky__weather'],
      env: {
        ...{ PATH: process.env.PATH, HOME: home, ANTHROPIC_BASE_URL: ORIGIN, ANTHROPIC_AUTH_TOKEN: API_KEY },
        ...{ ANTHROPIC_DEFAULT_HAIKU_MODEL: model, CLAUDE_CODE_MAX_RETRIES: '0' },
        ...{ CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1', DISABLE_AUTOUPDATER: '1', ENABLE_TOOL_SEARCH: '0' },
      },
    };
    let streamed = '';
    let result = '';
    let failed = false;
    try {
      for await (const message of query({ prompt: '[call=mcp__sky__weather] [chunks=3]', options })) {
        if (message.type === 'stream_event' && message.event.type === 'content_block_delta')
          streamed += message.event.delta.type === 'text_delta' ? message.event.delta.text : '';
        if (message.type !== 'result') continue;
        failed = message.is_error;
        result = message.subtype === 'success' ? message.result : message.subtype;
      }
    } catch (error) {
      failed = true;
      result ||= String(error);
    }
    if (model === 'absent') {
      assert.ok(failed);
      assert.match(result, /absent/);
      return;
    }
    assert.deepEqual(
      [result, streamed, asked, failed],
      ['the light of', 'the light of', [{ city: 'Paris' }], false],
      model,
    );
  });
