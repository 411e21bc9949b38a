import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { Client as NewClient, StreamableHTTPClientTransport as NewTransport } from '@modelcontextprotocol/client';
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as OldTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { McpVideo } from '../../src/contract/mcp.ts';
import { TOOLS } from '../../src/contract/mcp.ts';
import { startVideoService, type VideoService } from '../flows/video-fixture.ts';

/** What the tests use of both generations of the official client. */
interface McpClient {
  listTools(): Promise<{ readonly tools: readonly { readonly name: string }[] }>;
  callTool(params: { name: string; arguments: Record<string, unknown> }): Promise<unknown>;
  close(): Promise<void>;
}

interface ToolResult {
  readonly content: readonly { readonly type: string; readonly text?: string; readonly uri?: string }[];
  readonly structuredContent?: unknown;
  readonly isError?: boolean;
}

/** Proposes the version of clients from before November 2025, whose successor still speaks it. */
class EarlierTransport extends OldTransport {
  override send(...[message, options]: Parameters<OldTransport['send']>): Promise<void> {
    const isHandshake = !Array.isArray(message) && 'method' in message && message.method === 'initialize';
    if (!isHandshake) return super.send(message, options);
    return super.send({ ...message, params: { ...message.params, protocolVersion: '2025-06-18' } }, options);
  }
}

const ABOUT = { name: 'reelgate-test', version: '1.0.0' };

describe('official clients of the Model Context Protocol', () => {
  let service: VideoService;
  before(async () => {
    service = await startVideoService('sqlite::memory:', {}, [
      { name: 'kling', model: 'kling-v1-6' },
      { name: 'sora', model: 'sora-2' },
    ]);
  });
  after(() => service.stop());

  const address = () => new URL(`${service.baseUrl}/mcp`);
  const requestInit = () => ({ headers: { authorization: `Bearer ${service.caller.key}` } });

  const CLIENTS: Readonly<Record<string, () => Promise<McpClient>>> = {
    ...Object.fromEntries(
      (
        [
          ['2025-11-25', OldTransport],
          ['2025-06-18', EarlierTransport],
        ] as const
      ).map(([version, Transport]) => [
        `sdk 1.32, ${version}`,
        async () => {
          const client = new OldClient(ABOUT);
          const transport = new Transport(address(), { requestInit: requestInit() });
          await client.connect(transport as never);
          assert.equal(transport.protocolVersion, version);
          assert.match(client.getInstructions() ?? '', /get_video/);
          return client as never;
        },
      ]),
    ),
    ...Object.fromEntries(
      (['auto', 'legacy', { pin: '2026-07-28' }] as const).map((mode) => [
        `client 2.4, ${JSON.stringify(mode)}`,
        async () => {
          const client = new NewClient(ABOUT, { versionNegotiation: { mode } });
          await client.connect(new NewTransport(address(), { requestInit: requestInit() }));
          assert.equal(client.getServerVersion()?.name, 'reelgate');
          assert.equal(client.getNegotiatedProtocolVersion(), mode === 'legacy' ? '2025-11-25' : '2026-07-28');
          return client as never;
        },
      ]),
    ),
  };

  for (const [name, connect] of Object.entries(CLIENTS))
    it(`${name}: lists the tools, and creates a video and waits for it`, async () => {
      const client = await connect();
      const call = async (tool: string, given: Record<string, unknown> = {}): Promise<ToolResult> =>
        (await client.callTool({ name: tool, arguments: given })) as ToolResult;
      const { tools } = await client.listTools();
      assert.deepEqual(
        tools.map((tool) => tool.name),
        Object.keys(TOOLS),
      );
      const models = (await call('list_models')).structuredContent as { models: { id: string }[] };
      assert.ok(models.models.some(({ id }) => id === 'kling-v1-6'));
      const one = (await call('list_models', { model: 'sora-2' })).structuredContent as { models: object[] };
      assert.ok('parameters' in (one.models[0] ?? {}));
      const quote = (await call('quote_video', { prompt: name, model: 'kling-v1-6' })).structuredContent;
      const { quota } = quote as { readonly quota: number };
      const created = await call('create_video', { prompt: name, model: 'kling-v1-6', metadata: { nonsense: 1 } });
      assert.equal(created.isError, undefined, JSON.stringify(created));
      const { id, dropped, ...started } = created.structuredContent as McpVideo & { dropped: string[] };
      assert.deepEqual([started.quota, started.url, dropped], [quota, null, ['metadata.nonsense']]);
      const ended = await call('get_video', { id, wait_seconds: 45 });
      const video = ended.structuredContent as McpVideo;
      assert.deepEqual([video.status, video.progress, video.model], ['completed', 100, 'kling-v1-6']);
      const [text, link] = ended.content;
      assert.deepEqual(JSON.parse(text?.text ?? ''), video);
      assert.deepEqual([link?.type, link?.uri], ['resource_link', video.url]);
      const { pathname, search } = new URL(String(video.url));
      const file = await fetch(service.baseUrl + pathname + search);
      assert.deepEqual([file.status, file.headers.get('content-type')], [200, 'video/mp4']);
      await file.body?.cancel();
      const list = (await call('list_videos', { limit: 1 })).structuredContent as { videos: McpVideo[] };
      assert.deepEqual(
        list.videos.map((each) => each.id),
        [id],
      );
      const { balance } = (await call('balance')).structuredContent as { balance: number };
      assert.equal(balance, (await service.operator.quota()).quota);
      const refused = await call('create_video', { prompt: name, model: 'no-such-model' });
      assert.deepEqual([refused.isError, refused.structuredContent], [true, undefined]);
      assert.match(refused.content[0]?.text ?? '', /no-such-model/);
      await client.close();
    });
});
