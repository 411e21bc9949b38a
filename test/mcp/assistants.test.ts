import { runClientPrograms } from '../run-client-programs.ts';

/** Programs that let their model use the tools of the service. */
runClientPrograms('Assistants over MCP', {
  'Claude Code over MCP': ['mcp-claude-code.ts'],
  'the MCP inspector': ['mcp-inspector.ts'],
});
