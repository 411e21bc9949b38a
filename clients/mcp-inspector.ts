import assert from 'node:assert/strict';
import { fileURLToPath } from 'node:url';
import { runInTemporaryHome } from './run-program.ts';
import { API_KEY, ORIGIN, VIDEO } from './service-setup.ts';

/** The inspector of the Model Context Protocol, in its command line form; `--strict` fails for schemas few clients read. */
const inspector = fileURLToPath(
  new URL('node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js', import.meta.url),
);

interface ToolResult {
  readonly isError?: boolean;
  readonly structuredContent: Readonly<Record<string, unknown>>;
  readonly content: readonly { readonly type: string }[];
}

await runInTemporaryHome('mcp-inspector', async (_home, run) => {
  const target = [`${ORIGIN}/mcp`, '--transport', 'http', '--header', `Authorization: Bearer ${API_KEY}`];
  const ask = async <R>(...parameters: string[]): Promise<R> =>
    JSON.parse(await run(process.execPath, [inspector, '--cli', ...target, ...parameters])) as R;
  const call = (tool: string, ...pairs: string[]) =>
    ask<ToolResult>('--method', 'tools/call', '--tool-name', tool, ...pairs.flatMap((pair) => ['--tool-arg', pair]));

  const { tools } = await ask<{ tools: { name: string; inputSchema: object; outputSchema?: object }[] }>(
    '--method',
    'tools/list',
    '--strict',
  );
  assert.ok(tools.some(({ name }) => name === 'create_video'));
  for (const { name, outputSchema } of tools) assert.ok(outputSchema !== undefined, name);

  const created = await call('create_video', 'prompt=A paper boat', `model=${VIDEO}`, 'idempotency_key=inspector-1');
  assert.notEqual(created.isError, true, JSON.stringify(created));
  const id = String(created.structuredContent.id);
  const again = await call('create_video', 'prompt=A paper boat', `model=${VIDEO}`, 'idempotency_key=inspector-1');
  assert.equal(again.structuredContent.id, id);
  const video = await call('get_video', `id=${id}`, 'wait_seconds=45');
  assert.equal(video.structuredContent.status, 'completed');
  assert.ok(video.content.some(({ type }) => type === 'resource_link'));
});
