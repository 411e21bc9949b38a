import { runClientPrograms } from './run-client-programs.ts';

/** Programs for the terminal by the makers of the three dialects, and the SDK that starts one of them. */
runClientPrograms('Coding agents of the vendors', {
  'Claude Code': ['claude-code.ts'],
  Codex: ['codex.ts'],
  'Gemini CLI': ['gemini-cli.ts'],
  'Claude Agent SDK': ['claude-agent-sdk.ts'],
});
