import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type ChatService, PRICE, startChat } from './chat-fixture.ts';

interface Body {
  readonly object?: string;
  readonly type?: string;
  readonly id?: string;
  readonly lifecycle?: string;
  readonly data?: readonly { readonly id: string; readonly created_at: string }[];
  readonly models?: readonly { readonly name: string }[];
  readonly first_id?: string;
  readonly last_id?: string;
  readonly has_more?: boolean;
  readonly nextPageToken?: string;
  readonly error?: { readonly type: string; readonly status?: string };
}

/** Lists the models a token may call in the formats of three vendors' clients. */
describe('model lists', { concurrency: false }, () => {
  const CHAT = ['sandbox-chat', 'sandbox-chat-mini', 'sandbox-embedding'];
  let service: ChatService;
  before(async () => {
    service = await startChat('sqlite::memory:');
    const mini = { id: 'sandbox-chat-mini', vendor: 'openai', kind: 'chat', price: PRICE };
    await service.operator.requestData('POST', '/api/admin/models', mini);
    await service.addChannel('openai', ['sandbox-chat-mini']);
  });
  after(() => service.stop());

  const get = async (path: string, headers: Record<string, string> = {}) => {
    const response = await fetch(`${service.baseUrl}${path}`, {
      headers: { authorization: `Bearer ${service.key}`, ...headers },
    });
    return {
      status: response.status,
      headers: response.headers,
      body: (await response.json()) as Body,
    };
  };
  const ANTHROPIC = { 'anthropic-version': '2023-06-01' };

  test("Anthropic's format, selected by its header, with pages in both directions and chat models only", async () => {
    const { body } = await get('/v1/models?limit=2', ANTHROPIC);
    assert.deepEqual(
      [body.data?.map(({ id }) => id), body.first_id, body.last_id, body.has_more],
      [CHAT.slice(0, 2), CHAT[0], CHAT[1], true],
    );
    assert.match(body.data?.[0]?.created_at ?? '', /^\d{4}-\d\d-\d\dT/);
    const rest = (await get(`/v1/models?limit=2&after_id=${CHAT[1]}`, ANTHROPIC)).body;
    assert.deepEqual([rest.data?.length, rest.has_more], [1, false]);
    const back = (await get(`/v1/models?limit=1&before_id=${CHAT[2]}`, ANTHROPIC)).body;
    assert.deepEqual([back.first_id, back.has_more], [CHAT[1], true]);
    const one = (await get(`/v1/models/${CHAT[0]}`, ANTHROPIC)).body;
    assert.deepEqual([one.type, one.id, one.lifecycle], ['model', CHAT[0], 'active']);
    const google = { 'x-goog-api-key': service.key };
    const listed = (await get('/v1/models?pageSize=1', google)).body;
    assert.deepEqual(
      [listed.models?.length, typeof listed.nextPageToken],
      [1, 'string'],
      "Google's client asks here too",
    );
    assert.match(JSON.stringify((await get(`/v1/models/${CHAT[0]}`, google)).body), /"name":"models\//);
    assert.equal((await get('/v1/models/nothing', google)).body.error?.status, 'NOT_FOUND');
    const plain = (await get('/v1/models')).body;
    assert.equal(plain.object, 'list');
    assert.ok(plain.data?.some(({ id }) => id === 'sandbox-image'));
  });

  test("Google's format, with pages and a single model", async () => {
    const first = (await get('/v1beta/models?pageSize=2')).body;
    assert.deepEqual(
      first.models?.map(({ name }) => name),
      [`models/${CHAT[0]}`, `models/${CHAT[1]}`],
    );
    const rest = (await get(`/v1beta/models?pageSize=2&pageToken=${first.nextPageToken}`)).body;
    assert.deepEqual([rest.models?.length, rest.nextPageToken], [1, undefined]);
    const one = (await get('/v1beta/models/sandbox-chat')).body;
    assert.deepEqual(one, {
      name: 'models/sandbox-chat',
      displayName: 'sandbox-chat',
      supportedGenerationMethods: ['generateContent', 'streamGenerateContent', 'countTokens'],
    });
  });

  test('errors use the format of the list', async () => {
    const anthropic = await get('/v1/models?limit=0', ANTHROPIC);
    assert.deepEqual(
      [anthropic.status, anthropic.body.type, anthropic.body.error?.type],
      [400, 'error', 'invalid_request_error'],
    );
    assert.equal((await get('/v1/models?after_id=nothing', ANTHROPIC)).status, 400);
    const unknown = await get('/v1/models/none', ANTHROPIC);
    assert.deepEqual([unknown.status, unknown.body.error?.type], [404, 'not_found_error']);
    const gemini = await get('/v1beta/models/none');
    assert.deepEqual([gemini.status, gemini.body.error?.status], [404, 'NOT_FOUND']);
    assert.equal((await get('/v1beta/models?pageToken=junk')).status, 400);
    const refused = await get('/v1/models', { ...ANTHROPIC, authorization: 'Bearer sk-wrong' });
    assert.deepEqual([refused.status, refused.body.error?.type], [401, 'authentication_error']);
    assert.equal((await get('/v1/models/none')).body.type, undefined);
  });
});
