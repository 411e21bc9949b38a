import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { Check, Errors } from 'typebox/value';
import { TOOLS, type ToolName } from '../../src/contract/mcp.ts';
import { TASK_STATUS, type TaskStatus } from '../../src/contract/task-states.ts';
import { startVideoService, type VideoService } from '../flows/video-fixture.ts';

interface ToolResult {
  readonly structuredContent: { readonly id: string; readonly status: string };
  readonly isError?: boolean;
}

const SORA = 'sora-2';
const KLING = 'kling-v1-6';

let service: VideoService;
let client: Client;
const checked = new Set<ToolName>();
before(async () => {
  service = await startVideoService('sqlite::memory:', {}, [
    { name: 'kling', model: KLING },
    { name: 'sora', model: SORA },
  ]);
  const { operator } = service;
  // A key with every limit that `balance` describes.
  const key = await operator.makeToken({ quota_limit: 1e8, spend_limit: { amount: 1e8, period: 'week' } });
  client = new Client({ name: 'reelgate-test', version: '1.0.0' });
  const requestInit = { headers: { authorization: `Bearer ${key}` } };
  const url = new URL(`${service.baseUrl}/mcp`);
  await client.connect(new StreamableHTTPClientTransport(url, { requestInit }) as never);
  // From here on the client checks every result against the schema that the list contains.
  await client.listTools();
});
after(async () => {
  await client.close();
  await service.stop();
});

/** Calls a tool; its result fits the output schema as the contract has it, and as the client received it. */
async function call(tool: ToolName, given: Record<string, unknown> = {}): Promise<ToolResult['structuredContent']> {
  const result = (await client.callTool({ name: tool, arguments: given })) as unknown as ToolResult;
  assert.notEqual(result.isError, true, JSON.stringify(result));
  const { output } = TOOLS[tool];
  assert.ok(Check(output, result.structuredContent), JSON.stringify(Errors(output, result.structuredContent)));
  checked.add(tool);
  return result.structuredContent;
}

it('every tool returns what its output schema says, in every state of a video', async () => {
  await call('list_models');
  for (const model of [KLING, SORA]) {
    await call('list_models', { model });
    await call('quote_video', { model, prompt: 'x' });
  }
  const made = async (model: string, prompt: string): Promise<string> => {
    const started = await call('create_video', { model, prompt });
    const ended = await call('get_video', { id: started.id, wait_seconds: 45 });
    assert.match(ended.status, /^(?:completed|failed)$/);
    return started.id;
  };
  const source = await made(SORA, 'a source');
  await made(SORA, 'doomed [fail]');
  await made(KLING, 'doomed [fail]');
  await made(KLING, 'done');
  const edit = await call('edit_video', { id: source, prompt: 'changed' });
  const extension = await call('extend_video', { id: source, prompt: 'longer', seconds: 4 });
  for (const { id } of [edit, extension]) await call('get_video', { id, wait_seconds: 45 });
  const { kysely } = service.app.database;
  const statuses = new Set<string>();
  for (const model of [KLING, SORA]) {
    const { id } = await call('create_video', { model, prompt: 'stays [stuck]' });
    for (const status of Object.keys(TASK_STATUS) as TaskStatus[]) {
      await kysely.updateTable('tasks').set({ status }).where('public_id', '=', id).execute();
      statuses.add((await call('get_video', { id })).status);
      await call('list_videos', { limit: 1 });
      if (status === 'SUCCESS' || status === 'FAILURE') continue;
      await call('get_video', { id, wait_seconds: 1 });
    }
  }
  assert.deepEqual([...statuses].toSorted(), ['completed', 'failed', 'in_progress', 'queued']);
  const odd = JSON.stringify({ completed_at: 1_764_000_000.25, progress: '100%', seconds: 4, size: 720 });
  await kysely.updateTable('tasks').set({ data: odd }).where('public_id', '=', source).execute();
  await call('get_video', { id: source });
  await call('list_videos', { limit: 100 });
  await call('list_videos', { after: source });
  await call('balance');
  assert.deepEqual([...checked].toSorted(), Object.keys(TOOLS).toSorted());
});

it('a refusal has no structured content, which no schema describes', async () => {
  for (const [tool, given] of [
    ['list_models', { model: 'none' }],
    ['quote_video', { prompt: 'x', model: 'none' }],
    ['create_video', {}],
    ['get_video', { id: 'task_none' }],
    ['list_videos', { limit: 0 }],
    ['edit_video', { id: 'task_none', prompt: 'x' }],
    ['extend_video', { id: 'task_none', prompt: 'x' }],
    ['balance', { more: 1 }],
  ] as const satisfies readonly (readonly [ToolName, Record<string, unknown>])[]) {
    const { isError, structuredContent } = await client.callTool({ name: tool, arguments: given });
    assert.deepEqual([isError, structuredContent], [true, undefined], tool);
  }
});
