import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import fc from 'fast-check';
import { TOOLS } from '../../src/contract/mcp.ts';
import { arbitraryMutatedJson } from '../arbitrary-mutated-json.ts';
import { startVideoService, type VideoService } from '../flows/video-fixture.ts';
import { envelopeOf, headersOf, postMcp, toolCall } from './mcp-fixture.ts';

const RUNS = 400;
const STATUSES = [200, 202, 400, 404, 413, 415];

/** Valid messages of all versions. */
const MESSAGES = [
  { jsonrpc: '2.0', id: 0, method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {} } },
  { jsonrpc: '2.0', id: 1, method: 'tools/list', params: { _meta: envelopeOf() } },
  { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1, _meta: envelopeOf() } },
  { jsonrpc: '2.0', id: 2, method: 'tasks/get', params: { taskId: 'x', _meta: envelopeOf({ extensions: {} }) } },
  ...Object.keys(TOOLS).map((name) =>
    toolCall(name, { id: 'x', prompt: 'a cat', model: 'none', inputs: [{ type: 'image' }] }),
  ),
  toolCall('create_video', { prompt: 'x', seconds: '5', metadata: { a: [1] }, idempotency_key: 'k' }),
  toolCall('list_videos', { limit: 5, after: 'x' }),
];

describe('malformed messages over MCP', () => {
  let service: VideoService;
  before(async () => {
    service = await startVideoService('sqlite::memory:', {}, []);
  });
  after(() => service.stop());

  it('are refused as JSON-RPC, never by an internal error, and change nothing', async () => {
    const { quota } = await service.operator.quota();
    const headers = fc.oneof(
      fc.constant({}),
      fc.constantFrom('tools/list', 'tools/call', 'tasks/get', 'x').map((method) => headersOf(method, 'x')),
      fc.record({ 'mcp-protocol-version': fc.constantFrom('2025-06-18', '2025-11-25', '2026-07-28', '9', 'null') }),
    );
    const property = fc.asyncProperty(arbitraryMutatedJson(MESSAGES), headers, async (message, sent) => {
      const { status, body } = await postMcp(service.baseUrl, service.caller.key, JSON.stringify(message), sent);
      assert.ok(STATUSES.includes(status), `${status} ${JSON.stringify(body)}`);
      assert.notEqual(body.error?.code, -32603, JSON.stringify(body));
      if (status === 202) assert.deepEqual(body, {});
      else assert.ok('id' in body && 'result' in body !== 'error' in body, JSON.stringify(body));
      if (status !== 200 && status !== 202) assert.ok(Number.isInteger(body.error?.code));
    });
    await fc.assert(property, { numRuns: RUNS });
    assert.equal((await service.operator.quota()).quota, quota);
  });
});
