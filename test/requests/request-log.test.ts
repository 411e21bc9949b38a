import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import type { EndpointPart } from '../../src/contract/endpoint.ts';
import type { getAllRequestStatistics, listAllRequests } from '../../src/contract/request-log.ts';
import { DAY_MS } from '../../src/contract/time-units.ts';
import { type ChatService, startChat } from '../chat/chat-fixture.ts';
import { forEachDatabase } from '../for-each-database.ts';

type Row = EndpointPart<typeof listAllRequests, 'response'>['data'][number];
type Figures = EndpointPart<typeof getAllRequestStatistics, 'response'>['data'][number];

const PROMPT = 'a secret question about herons';
const VIDEO = { id: 'sora-2', vendor: 'sora', kind: 'video', price: { per_second: 100 } };

forEachDatabase((_name, _open, freshUrl) => {
  let service: ChatService;
  before(async () => {
    service = await startChat(await freshUrl(), { env: { TRUST_PROXY: '', SYNC_PERIOD_SECONDS: '1' } });
    await service.operator.requestData('PUT', '/api/admin/models/sora-2', { price: VIDEO.price });
    await service.addChannel('sora', ['sora-2']);
  });
  after(() => service.stop());

  const page = async (query = ''): Promise<{ data: Row[]; next: string | null }> => {
    const answer = await service.operator.request<Row[]>('GET', `/api/admin/requests?${query}`);
    assert.equal(answer.success, true, JSON.stringify(answer));
    return answer as unknown as { data: Row[]; next: string | null };
  };
  const waitForRows = async (query: string, count: number): Promise<Row[]> => {
    for (let tries = 0; tries < 400; tries++) {
      const { data } = await page(query);
      if (data.length >= count) return data;
      await pause(25);
    }
    assert.fail(`${count} rows for ${query}`);
  };

  it('has a row for each call with its cost, duration and caller, and no text', async () => {
    assert.equal((await service.ask(PROMPT, {}, { 'user-agent': 'heron-app/1.0 '.repeat(20) })).status, 200);
    await (await service.stream(PROMPT)).text();
    const [streamed, plain] = await waitForRows('kind=chat&status=ok', 2);
    const [ledger] = await service.waitUntilSettled();
    assert.ok(plain && streamed && ledger);
    assert.equal(streamed.ref, ledger.ref);
    assert.equal(streamed.quota, ledger.charged);
    assert.deepEqual([plain.stream, plain.first_token_ms], [false, null]);
    assert.equal(streamed.stream, true);
    assert.ok((streamed.first_token_ms ?? -1) >= 0 && streamed.duration_ms >= (streamed.first_token_ms ?? 0));
    assert.equal(plain.client, 'heron-app/1.0 '.repeat(20).slice(0, 64));
    assert.equal(plain.token_name, 'test');
    assert.ok(plain.channel_id > 0 && plain.input_tokens > 0 && plain.output_tokens > 0);
    const stored = await service.app.database.kysely.selectFrom('requests').selectAll().execute();
    assert.ok(!JSON.stringify(stored).includes('secret question'));
  });

  it('refuses an unreadable limit or cursor instead of sending the first page again', async () => {
    const { operator } = service;
    for (const query of [
      'limit=0',
      'limit=x',
      'limit=1e1',
      'limit=-1',
      'limit=',
      'after=nonsense',
      'after=1.2.3',
      'after=',
    ])
      for (const path of ['/api/requests', '/api/admin/requests', '/api/events', '/api/webhooks/callbacks'])
        assert.equal((await operator.request('GET', `${path}?${query}`)).success, false, `${path}?${query}`);
    assert.deepEqual((await page('after=-5.-7&limit=9999')).data, []);
  });

  it('T46: opens a limited number of live views per account, and more once some have ended', async () => {
    const open = async () => {
      const ended = new AbortController();
      const response = await fetch(`${service.baseUrl}/api/requests/stream`, {
        headers: service.operator.headers,
        signal: ended.signal,
      });
      // An unread error would hold its connection.
      if (response.status !== 200) await response.text();
      // A garbage-collected response would end its view, so each is retained.
      return { response, status: response.status, end: () => ended.abort() };
    };
    const views = await Promise.all(Array.from({ length: 40 }, open));
    assert.ok(views.some(({ status }) => status === 429));
    for (const { end } of views) end();
    for (let tries = 0; ; tries++) {
      const again = await open();
      again.end();
      if (again.status === 200) break;
      assert.ok(tries < 200);
      await pause(25);
    }
  });

  it('has calls refused before a reservation, within a second', async () => {
    assert.equal((await service.ask('hi', { model: 'no-such-model' })).status, 404);
    const [refused] = await waitForRows('model=no-such-model', 1);
    assert.deepEqual(
      [refused?.status, refused?.error_code, refused?.quota, refused?.channel_id],
      ['failed', 'model_not_found', 0, 0],
    );
  });

  it('has a video once it has ended, with its length', async () => {
    const submitted = await fetch(`${service.baseUrl}/v1/videos`, {
      method: 'POST',
      headers: { authorization: `Bearer ${service.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'sora-2', prompt: PROMPT, seconds: '8' }),
    });
    const { id } = (await submitted.json()) as { id: string };
    const [row] = await waitForRows('kind=video', 1);
    assert.deepEqual([row?.ref, row?.seconds, row?.quota, row?.status, row?.model], [id, 8, 800, 'ok', 'sora-2']);
  });

  it('is filtered and paged without gaps, also for the owner', async () => {
    for (let index = 0; index < 7; index++) assert.equal((await service.ask(`call ${index}`)).status, 200);
    await service.waitUntilSettled();
    const all = (await page('limit=100')).data.map(({ ref }) => ref);
    const paged: string[] = [];
    let after = '';
    do {
      const { data, next } = await page(`limit=3${after === '' ? '' : `&after=${after}`}`);
      paged.push(...data.map(({ ref }) => ref));
      after = next ?? '';
    } while (after !== '');
    assert.deepEqual(paged, all);
    assert.equal(new Set(all).size, all.length);
    const own = await service.operator.request<Row[]>('GET', '/api/requests?limit=100');
    assert.deepEqual(
      own.data.map(({ ref }) => ref),
      all,
    );
    assert.ok(own.data[0] !== undefined && !('channel_id' in own.data[0]));
    assert.deepEqual((await page('user_id=999')).data, []);
    const from = Math.floor(Date.now() / 1000) + 60;
    assert.deepEqual((await page(`from=${from}`)).data, []);
    assert.equal((await page(`to=${from}&limit=100`)).data.length, all.length);
  });

  it('is exported as CSV without formulas', async () => {
    await service.ask('hi', {}, { 'user-agent': '=cmd()' });
    await service.waitUntilSettled();
    for (const path of ['/api/admin/requests.csv', '/api/requests.csv']) {
      const response = await fetch(`${service.baseUrl}${path}`, { headers: service.operator.headers });
      assert.equal(response.headers.get('content-type'), 'text/csv; charset=utf-8');
      const [head = '', ...lines] = (await response.text()).trimEnd().split('\r\n');
      assert.match(head, /^\uFEFF?ref,time,kind,model,/);
      assert.equal(lines.length, (await page('limit=100')).data.length);
      assert.ok(lines.some((line) => line.includes("'=cmd()")));
    }
  });

  it('reports success rate, percentiles and cost by model and channel', async () => {
    const rows = (await page('model=sandbox-chat&limit=100')).data;
    const statistics = await service.operator.requestData<Figures[]>('GET', '/api/admin/requests/statistics?by=model');
    const figures = statistics.find(({ key }) => key === 'sandbox-chat');
    const succeeded = rows.filter(({ status }) => status === 'ok');
    const durations = succeeded.map(({ duration_ms }) => duration_ms).sort((a, b) => a - b);
    assert.equal(figures?.requests, rows.length);
    assert.equal(figures?.succeeded, succeeded.length);
    assert.equal(
      figures?.quota,
      rows.reduce((sum, { quota }) => sum + quota, 0),
    );
    assert.equal(figures?.p50_ms, durations[Math.ceil(durations.length * 0.5) - 1]);
    assert.equal(figures?.p95_ms, durations[Math.ceil(durations.length * 0.95) - 1]);
    assert.equal(figures?.first_token_p50_ms, rows.find(({ stream }) => stream)?.first_token_ms);
    assert.equal(statistics.find(({ key }) => key === 'no-such-model')?.success_rate, 0);
    const channels = await service.operator.requestData<Figures[]>(
      'GET',
      '/api/admin/requests/statistics?by=channel&kind=chat&status=ok',
    );
    assert.equal(channels[0]?.name, 'openai');
    const tokens = await service.operator.requestData<Figures[]>('GET', '/api/requests/statistics?by=token');
    assert.equal(tokens[0]?.name, 'test');
  });

  it('can be followed live', async () => {
    const end = new AbortController();
    const response = await fetch(`${service.baseUrl}/api/admin/requests/stream?kind=chat`, {
      headers: service.operator.headers,
      signal: end.signal,
    });
    assert.equal(response.headers.get('content-type'), 'text/event-stream; charset=utf-8');
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    let seen = '';
    const read = async (mark: string): Promise<void> => {
      while (!seen.includes(mark)) {
        const { value, done } = (await reader?.read()) ?? { value: '', done: true };
        assert.ok(!done, `the stream ended before ${mark}`);
        seen += value;
      }
    };
    await read(': open');
    await service.ask('hi', {}, { 'user-agent': 'live-app' });
    await read('live-app');
    assert.equal(seen.match(/event: request/g)?.length, 1, 'rows that were there before are not sent');
    end.abort();
  });

  it('deletes rows past their retention', async () => {
    const { kysely } = service.app.database;
    const old = Date.now() - 31 * DAY_MS;
    const { ref } = await kysely.selectFrom('requests').select('ref').orderBy('seq').limit(1).executeTakeFirstOrThrow();
    await kysely.updateTable('requests').set({ created_at: old }).where('ref', '=', ref).execute();
    await kysely.updateTable('scheduled_jobs').set({ due_at: 0 }).execute();
    await service.app.runDueJobs();
    const left = await kysely.selectFrom('requests').select('ref').execute();
    assert.ok(left.length > 0 && left.every((row) => row.ref !== ref));
  });
});
