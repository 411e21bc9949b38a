import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { chatBody } from '../chat/chat-fixture.ts';
import { CLI } from '../device-auth/device-auth-fixture.ts';
import { startVideoService, type VideoService } from '../flows/video-fixture.ts';
import { forEachDatabase } from '../for-each-database.ts';
import { assertLedgerConsistent } from './ledger-assertions.ts';
import { addChatModel, untilAllEnded, VIDEO_MODELS } from './submit-steps.ts';

const EACH = 25;
const VENDORS = [{ name: 'kling', model: VIDEO_MODELS.kling }] as const;

forEachDatabase((name, _open, freshUrl) => {
  // SQLite uses a single write connection anyway.
  if (name === 'sqlite') return;
  let service: VideoService;
  before(async () => {
    service = await startVideoService(await freshUrl(), { overrides: { poolMax: 1 } }, VENDORS);
    await addChatModel(service);
  });
  after(() => service.stop());

  // A request that held a connection while acquiring a second one would deadlock with itself.
  it('a single database connection serves all callers', async () => {
    const { operator, caller } = service;
    const signIn = async (n: number): Promise<number> => {
      const { data } = await operator.request<{ user_code: string; device_code: string }>(
        'POST',
        '/api/auth/device/code',
        {
          client_id: CLI.client_id,
          device_id: `device-${n}`,
        },
      );
      await operator.requestData('POST', '/api/auth/device/approve', { user_code: data.user_code });
      const body = { device_code: data.device_code, ...CLI };
      const answer = await operator.request<{ access_token: string }>('POST', '/api/auth/device/token', body);
      return answer.data.access_token === '' ? 500 : 200;
    };
    const account = async (n: number): Promise<number> => {
      const body = { username: `guest-${n}`, password: 'guest-password-1' };
      return (await operator.request('POST', '/api/admin/users', { ...body, quota: 1_000 })).success ? 200 : 500;
    };
    const ways: readonly ((n: number) => Promise<number>)[] = [
      async (n) =>
        (await caller.request('POST', '/v1/videos', { model: VIDEO_MODELS.kling, prompt: `one ${n}` })).status,
      async (n) => (await caller.request('POST', '/v1/chat/completions', chatBody(`one ${n}`))).status,
      async () => (await caller.request('GET', '/v1/videos')).status,
      async (n) =>
        (await operator.request('POST', '/api/tickets', { title: `one ${n}`, content: 'text' })).success ? 200 : 500,
      async (n) =>
        (await operator.request('POST', '/api/admin/announcements', { title: `${n}`, content: 'text' })).success
          ? 200
          : 500,
      (n) => (n < 6 ? account(n) : Promise.resolve(200)),
      (n) => (n < 9 ? signIn(n) : Promise.resolve(200)),
    ];
    const asked = ways.flatMap((way, index) =>
      Array.from({ length: EACH }, async (_, n) => [index, await way(n)] as const),
    );
    const refused = (await Promise.all(asked)).filter(([, status]) => status !== 200);
    assert.deepEqual(refused, []);
    await untilAllEnded(service.app.database);
    await assertLedgerConsistent(service.app.database);
  });
});
