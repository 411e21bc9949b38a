import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { startVideoService, type VideoService } from '../flows/video-fixture.ts';
import { forEachDatabase } from '../for-each-database.ts';
import { envelopeOf, headersOf, postMcp, type RawReply, toolCall } from './mcp-fixture.ts';

const RETRIES = 20;

describe('a repeated call over MCP', () => {
  forEachDatabase((_name, _open, freshUrl) => {
    let service: VideoService;
    before(async () => {
      service = await startVideoService(await freshUrl(), {}, [
        { name: 'kling', model: 'kling-v1-6' },
        { name: 'sora', model: 'sora-2' },
      ]);
    });
    after(() => service.stop());

    const post = (body: unknown, headers: Record<string, string> = {}) =>
      postMcp(service.baseUrl, service.caller.key, body, headers);
    const jobs = (prompt: string): number =>
      service.sandbox.control.jobs('kling').filter((job) => job.prompt === prompt).length;
    const idOf = ({ body }: RawReply): unknown => {
      assert.equal(body.result?.isError, undefined, JSON.stringify(body));
      return body.result?.structuredContent?.id;
    };
    const repeat = async (body: unknown, headers: Record<string, string> = {}): Promise<unknown> => {
      const replies = await Promise.all(Array.from({ length: RETRIES }, () => post(body, headers)));
      const ids = new Set(replies.map(idOf));
      assert.equal(ids.size, 1);
      return [...ids][0];
    };
    const video = (prompt: string, more: object = {}) => ({ model: 'kling-v1-6', prompt, ...more });

    /** Lets time pass for the calls that are remembered without a key. */
    const age = (minutes: number) =>
      service.app.database.kysely
        .updateTable('idempotency_keys')
        .set((row) => ({ created_at: row('created_at', '-', minutes * 60_000) }))
        .where('key', 'like', 'mcp call %')
        .execute();

    it('T141: starts one video, by idempotency_key', async () => {
      const { quota } = await service.operator.quota();
      const given = video('by key', { idempotency_key: 'one of a kind' });
      const id = await repeat(toolCall('create_video', given));
      assert.equal(jobs('by key'), 1);
      const price = quota - (await service.operator.quota()).quota;
      // Another conversation, with another id, and members in another order.
      const { prompt, ...rest } = given;
      assert.equal(idOf(await post(toolCall('create_video', { ...rest, prompt }, 'other'))), id);
      assert.equal(jobs('by key'), 1);
      assert.equal(quota - (await service.operator.quota()).quota, price);
      const other = await post(toolCall('create_video', { ...given, prompt: 'another by key' }));
      assert.equal(other.body.result?._meta?.error?.code, 'idempotency_mismatch');
      assert.equal(jobs('another by key'), 0);
    });

    it('T141: starts one video, by its id inside a session', async () => {
      const session = { 'mcp-session-id': 'session-1' };
      const call = toolCall('create_video', video('by session'), 4);
      const id = await repeat(call, session);
      assert.equal(jobs('by session'), 1);
      assert.equal(idOf(await post(call, session)), id);
      assert.notEqual(idOf(await post({ ...call, id: 5 }, session)), id);
      assert.notEqual(idOf(await post({ ...call, id: '4' }, session)), id);
      assert.notEqual(idOf(await post(call, { 'mcp-session-id': 'session-2' })), id);
      assert.equal(jobs('by session'), 4);
      assert.notEqual(idOf(await post(toolCall('create_video', video('by session, then'), 4), session)), id);
      await age(10);
      assert.equal(idOf(await post(call, session)), id);
    });

    it('T141: starts one video, by id and arguments without a session', async () => {
      const body = {
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: { name: 'create_video', arguments: video('stateless'), _meta: envelopeOf() },
      };
      const headers = headersOf('tools/call', 'create_video');
      const id = await repeat(body, headers);
      assert.equal(jobs('stateless'), 1);
      // A session id means nothing to 2026-07-28.
      assert.equal(idOf(await post(body, { ...headers, 'mcp-session-id': 'x' })), id);
      const other = { ...body, params: { ...body.params, arguments: video('stateless', { seconds: 10 }) } };
      assert.notEqual(idOf(await post(other, headers)), id);
      assert.notEqual(idOf(await post({ ...body, id: 2 }, headers)), id);
      await age(9);
      assert.equal(idOf(await post(body, headers)), id);
      await age(1);
      assert.notEqual(idOf(await post(body, headers)), id, 'another conversation, ten minutes later');
    });

    it('starts one edit and one extension', async () => {
      const source = String((await service.caller.submit({ model: 'sora-2', prompt: 'to be changed' })).id);
      await service.caller.waitUntilEnded(source);
      for (const tool of ['edit_video', 'extend_video'] as const) {
        const seconds = tool === 'edit_video' ? {} : { seconds: 4 };
        const call = toolCall(tool, { id: source, prompt: tool, ...seconds, idempotency_key: tool });
        const replies = await Promise.all(Array.from({ length: 5 }, () => post(call)));
        assert.equal(new Set(replies.map(idOf)).size, 1);
        const [reply] = replies;
        assert.equal(reply?.body.result?.structuredContent?.source_video_id, source);
        assert.equal(service.sandbox.control.jobs('sora').filter((job) => job.prompt === tool).length, 1);
      }
    });

    it('of a refused call starts nothing, and says what is left', async () => {
      const { quota } = await service.operator.quota();
      const poor = await service.operator.makeToken({ quota_limit: 1 });
      const call = toolCall('create_video', video('too dear'));
      const refused = await postMcp(service.baseUrl, poor, call);
      assert.match(refused.body.result?.content?.[0]?.text ?? '', /needed.*0\.000002 credits left/);
      assert.equal(refused.body.result?._meta?.error?.code, 'quota_not_enough');
      const left = await postMcp(service.baseUrl, poor, toolCall('balance', {}));
      assert.deepEqual(left.body.result?.structuredContent?.key_left, 1);
      const limited = await service.operator.makeToken({ requests_per_minute: 1 });
      await postMcp(service.baseUrl, limited, toolCall('create_video', video('first [stuck]')));
      const second = await postMcp(service.baseUrl, limited, toolCall('create_video', video('second'), 2));
      assert.equal(second.body.result?._meta?.error?.code, 'rate_limit_exceeded');
      const bound = await service.operator.makeToken({ models: ['sora-2'] });
      const other = await postMcp(service.baseUrl, bound, call);
      assert.equal(other.body.result?._meta?.error?.code, 'model_not_allowed');
      await service.operator.grantQuota(-(await service.operator.quota()).quota);
      const none = await post(toolCall('create_video', video('too poor')));
      assert.match(none.body.result?.content?.[0]?.text ?? '', /needed.*0\.00 credits left/);
      await service.operator.grantQuota(quota);
      assert.equal(jobs('too dear') + jobs('second') + jobs('too poor'), 0);
      // The refusal has left nothing behind that a retry would meet.
      idOf(await post(toolCall('create_video', video('too poor'))));
      assert.equal(jobs('too poor'), 1);
    });
  });
});
