import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { forEachDatabase } from '../for-each-database.ts';
import { ApiCaller, type Fields, idOf, startVideoService, type VideoService } from './video-fixture.ts';

const VENDORS = [
  { name: 'kling', model: 'kling-v1-6' },
  { name: 'sora', model: 'sora-2' },
] as const;

/** Every endpoint that takes a task id, with the body it requires. */
const ADDRESSES = [
  ['GET', '/v1/videos/ID', undefined],
  ['GET', '/v1/video/generations/ID', undefined],
  ['GET', '/v1/videos/ID/content', undefined],
  ['HEAD', '/v1/videos/ID/content', undefined],
  ['POST', '/v1/videos/ID/remix', { prompt: 'mine now' }],
  ['DELETE', '/v1/videos/ID', undefined],
  ['GET', '/kling/v1/videos/text2video/ID', undefined],
  ['GET', '/kling/v1/videos/image2video/ID', undefined],
  ['POST', '/jimeng/?Action=CVSync2AsyncGetResult&Version=2022-08-31', { req_key: 'jimeng_t2v_v30', task_id: 'ID' }],
] as const;

describe('ownership of videos', () => {
  forEachDatabase((_name, _open, freshUrl) => {
    let service: VideoService;
    let other: ApiCaller;
    const videos: Record<string, string> = {};
    before(async () => {
      service = await startVideoService(await freshUrl(), {}, VENDORS);
      other = new ApiCaller(service.baseUrl, await service.operator.makeToken({ name: 'other' }));
      for (const { model, name } of VENDORS) {
        videos[name] = idOf(await service.caller.submit({ model, prompt: `owned ${name}` }));
        await service.caller.waitUntilEnded(videos[name]);
      }
    });
    after(() => service.stop());

    const answerOf = async (viewer: ApiCaller, [method, path, body]: (typeof ADDRESSES)[number], id: string) => {
      const response = await fetch(`${service.baseUrl}${path.replace('ID', id)}`, {
        method,
        headers: { authorization: `Bearer ${viewer.key}`, 'content-type': 'application/json', range: 'bytes=0-1' },
        ...(body === undefined ? {} : { body: JSON.stringify(body).replace('ID', id) }),
      });
      return { status: response.status, text: await response.text() };
    };

    for (const address of ADDRESSES) {
      it(`T39: ${address[0]} ${address[1]}: the task of another key is indistinguishable from a missing one`, async () => {
        for (const id of Object.values(videos)) {
          const foreign = await answerOf(other, address, id);
          assert.deepEqual(foreign, await answerOf(other, address, 'task_none'));
          assert.equal(foreign.status, address[1].includes('content') ? 404 : 400);
        }
      });
    }

    it('an id of any length that no task has is that of a missing task', async () => {
      const body = '{"code":"task_not_exist","message":"task_not_exist","data":null}';
      for (const address of ADDRESSES.filter(([method, path]) => method === 'GET' && path.endsWith('/ID')))
        for (const id of ['x', 'x'.repeat(200), 'x'.repeat(201), 'x'.repeat(4_000)])
          assert.deepEqual(await answerOf(other, address, id), { status: 400, text: body }, `${address[1]} ${id}`);
    });

    it('the owner sees the videos of all keys, and of no other account', async () => {
      const mine = await service.operator.requestData<Fields[]>('GET', '/api/videos');
      const ids = mine.map(({ task_id: id }) => id);
      for (const id of Object.values(videos)) assert.ok(ids.includes(id));
      for (const id of ['task_none', "'; drop table tasks", '%00']) {
        const answer = await service.operator.request('GET', `/api/videos/${encodeURIComponent(id)}`);
        assert.equal(answer.success, false);
      }
    });

    describe('lists', () => {
      let viewer: ApiCaller;
      const ids: string[] = [];
      before(async () => {
        viewer = new ApiCaller(service.baseUrl, await service.operator.makeToken({ name: 'lister' }));
        for (let index = 0; index < 7; index += 1) {
          const { model } = VENDORS[index % 2] ?? VENDORS[0];
          const prompt = `listed ${index}${index === 3 ? ' [fail]' : ''}`;
          ids.push(idOf(await viewer.submit({ model, prompt })));
        }
        for (const id of ids) await viewer.waitUntilEnded(id);
      });
      const list = async (query: string) => {
        const { status, body } = await viewer.request('GET', `/v1/videos?${query}`);
        assert.equal(status, 200, JSON.stringify(body));
        return body as unknown as { data: { id: string }[]; has_more: boolean; first_id: string; last_id: string };
      };

      it('of a key: newest first, in pages, both ways', async () => {
        for (const [order, expected] of [
          ['desc', ids.toReversed()],
          ['asc', ids],
        ] as const) {
          const found: string[] = [];
          let after = '';
          for (;;) {
            const page = await list(`limit=3&order=${order}${after === '' ? '' : `&after=${after}`}`);
            found.push(...page.data.map(({ id }) => id));
            assert.deepEqual([page.first_id, page.last_id], [page.data[0]?.id, page.data.at(-1)?.id]);
            if (!page.has_more) break;
            after = page.last_id;
          }
          assert.deepEqual(found, expected);
        }
        assert.deepEqual((await list('limit=7')).has_more, false);
      });

      it('of a key while its videos are deleted', async () => {
        const [{ model }] = VENDORS;
        const gone: string[] = [];
        for (const prompt of ['one', 'two', 'three']) gone.unshift(idOf(await viewer.submit({ model, prompt })));
        for (const id of gone) await viewer.waitUntilEnded(id);
        const found: string[] = [];
        for (let after = ''; found.length < gone.length; ) {
          const { data } = await list(`limit=1${after === '' ? '' : `&after=${after}`}`);
          after = data[0]?.id ?? 'none';
          found.push(after);
          await viewer.request('DELETE', `/v1/videos/${after}`);
        }
        assert.deepEqual(found, gone);
      });

      it('invalid values in the query of a list are refused', async () => {
        for (const query of [
          'limit=0',
          'limit=101',
          'limit=-1',
          'limit=1e1',
          'limit=',
          'limit=x',
          'order=up',
          'limit=%20 5',
        ]) {
          const { status, body } = await viewer.request('GET', `/v1/videos?${query}`);
          assert.equal(status, 400, query);
          assert.equal(body.code, 'invalid_request');
        }
        const unknown = await list('after=task_none');
        assert.deepEqual(unknown, { object: 'list', data: [], first_id: null, last_id: null, has_more: false });
      });

      it('a deleted video is gone everywhere, and its ledger entries stay', async () => {
        const [id = ''] = ids;
        const { quota } = await service.operator.quota();
        const { body } = await viewer.request('DELETE', `/v1/videos/${id}`);
        assert.deepEqual(body, { id, object: 'video.deleted', deleted: true });
        assert.equal((await viewer.request('GET', `/v1/videos/${id}`)).body.code, 'task_not_exist');
        assert.equal((await viewer.request('DELETE', `/v1/videos/${id}`)).body.code, 'task_not_exist');
        assert.equal((await viewer.fetchRaw(`/v1/videos/${id}/content`)).status, 404);
        assert.equal((await service.operator.request('GET', `/api/videos/${id}`)).success, false);
        assert.equal((await list('')).data.length, ids.length - 1);
        assert.equal((await service.operator.quota()).quota, quota);
      });

      it('deletion is forwarded to a vendor that supports it; an unfinished video stays', async () => {
        const [, byToken = '', , , , inConsole = ''] = ids;
        const atVendor = () => service.sandbox.control.jobs('sora').map(({ id }) => id);
        assert.deepEqual(
          [byToken, inConsole].filter((id) => !atVendor().includes(id)),
          [],
        );
        await viewer.request('DELETE', `/v1/videos/${byToken}`);
        await service.operator.requestData('DELETE', `/api/videos/${inConsole}`);
        const left = () => [byToken, inConsole].filter((id) => atVendor().includes(id));
        for (let attempts = 0; attempts < 100 && left().length > 0; attempts += 1)
          await new Promise((resolve) => setTimeout(resolve, 20));
        assert.deepEqual(left(), []);
        const running = idOf(await viewer.submit({ model: 'sora-2', prompt: 'running [stuck]' }));
        const { status, body } = await viewer.request('DELETE', `/v1/videos/${running}`);
        assert.deepEqual([status, body.code], [400, 'task_not_completed']);
      });

      it('of the account: filters, pages, totals', async () => {
        const find = async (query: string) => {
          const answer = await service.operator.request<Fields[]>('GET', `/api/videos?${query}`);
          assert.equal(answer.success, true, query);
          return answer;
        };
        const failed = await find('status=FAILURE');
        assert.deepEqual(
          failed.data.map(({ prompt }) => prompt),
          ['listed 3 [fail]'],
        );
        assert.deepEqual(Object.keys(failed.data[0] ?? {}).sort(), [
          'error_code',
          'fail_cause',
          'fail_reason',
          'finish_time',
          'imported',
          'model',
          'play_url',
          'poster_url',
          'progress',
          'prompt',
          'quota',
          'source',
          'status',
          'submit_time',
          'task_id',
        ]);
        assert.deepEqual(await find('status=failure'), failed);
        const sora = await find('model=sora-2&page_size=2&page=2');
        assert.ok(sora.data.every(({ model }) => model === 'sora-2') && (sora.total ?? 0) >= 3);
        const now = Math.floor(Date.now() / 1000);
        assert.equal((await find(`from=${now + 3_600}`)).total, 0);
        assert.equal((await find(`to=${now - 3_600}`)).total, 0);
        assert.equal((await find(`from=${now - 3_600}&to=${now + 3_600}`)).total, (await find('')).total);
        // Invalid paging parameters never fail a list.
        assert.deepEqual((await find('page=0')).data, (await find('page=1')).data);
        assert.deepEqual((await find('page_size=51')).data, (await find('page_size=50')).data);
        for (const junk of ['status=DONE', 'status=__proto__', 'from=yesterday', 'to=-1', 'from=1e9']) {
          const answer = await service.operator.request('GET', `/api/videos?${junk}`);
          assert.equal(answer.success, false, junk);
        }
      });

      it('of the account: one video, with its ledger entries', async () => {
        const rows = await service.operator.requestData<Fields[]>('GET', '/api/videos?status=FAILURE');
        const video = await service.operator.requestData<Fields>('GET', `/api/videos/${String(rows[0]?.task_id)}`);
        assert.deepEqual([video.refunded, video.play_url, video.status], [true, '', 'FAILURE']);
        assert.deepEqual(video.request, { model: 'sora-2', prompt: 'listed 3 [fail]' });
        for (const secret of ['channel', 'credential', 'sk-', 'token'])
          assert.equal(JSON.stringify(video).includes(secret), false, secret);
      });
    });
  });
});
