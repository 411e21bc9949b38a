import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { TestUser } from '../../../test/accounts/test-user-client.ts';
import { forEachDatabase } from '../../../test/for-each-database.ts';
import { type SandboxService, startSandboxService } from '../../../test/service-with-sandbox.ts';
import { insertTask } from '../../../test/video/task-fixture.ts';
import { formatMessage } from '../../contract/messages/format-message.ts';
import { type Collection, MAX_COLLECTIONS, MAX_FAVOURITES } from '../../contract/own-videos.ts';
import { MAX_SEARCHED_TASKS } from './task-store.ts';

interface Row {
  readonly task_id: string;
}

describe('an account’s own videos', () => {
  forEachDatabase((_name, _open, freshUrl) => {
    let service: SandboxService;
    let ada: TestUser;
    let eve: TestUser;

    before(async () => {
      service = await startSandboxService(await freshUrl(), { env: { SYNC_PERIOD_SECONDS: '3600' } });
      [ada, eve] = [await join('ada'), await join('eve')];
    });
    after(() => service.stop());

    async function join(name: string): Promise<TestUser> {
      const person = new TestUser(service.app.http.fastify, '127.0.0.1');
      await person.register(name);
      await person.logIn(name);
      return person;
    }
    let made = 0;
    async function film(prompt: string, owner: TestUser = ada): Promise<string> {
      made += 1;
      const id = `task_${made}`;
      const ended = { status: 'SUCCESS', next_poll_at: null } as const;
      await insertTask(service.app.database, { id, user_id: owner.id, prompt, ...ended });
      return id;
    }
    const found = async (query: Readonly<Record<string, string>>, person = ada): Promise<string[]> => {
      const { body } = await person.send('GET', `/api/videos?${new URLSearchParams(query)}`);
      assert.equal(body.success, true, JSON.stringify(body));
      const ids = (body.data as Row[]).map(({ task_id: id }) => id);
      assert.equal(body.total, ids.length);
      return ids;
    };

    it('are found by words of their prompts, in any order and case', async () => {
      const fox = await film('A red Fox leaps through fresh SNOW');
      const owl = await film('An owl over the snow');
      await film('A red fox', eve);
      assert.deepEqual(await found({ q: 'snow' }), [owl, fox]);
      assert.deepEqual(await found({ q: ' SNOW  fox ' }), [fox]);
      assert.deepEqual(await found({ q: 'fox owl' }), []);
      assert.deepEqual(await found({ q: 'snow', status: 'FAILURE' }), []);
      assert.equal((await found({ q: '  ' })).length, 2);
    });

    it('T91: are found by literal wildcard characters, and by words in other scripts exactly as written', async () => {
      const each: [string, string][] = [];
      for (const word of ['100%', 'a_b', String.raw`C:\film`, "o'clock", '雨夜的纸船', 'Éclair', '🦊', '--', '"'])
        each.push([word, await film(`Shot with ${word} in it`)]);
      for (const [word, id] of each) assert.deepEqual(await found({ q: word }), [id], word);
      assert.deepEqual(await found({ q: '100_' }), []);
      assert.deepEqual(await found({ q: 'a%b' }), []);
      assert.deepEqual(await found({ q: '纸船' }), await found({ q: '雨夜的纸船' }));
    });

    it('reject search texts of more than 200 characters', async () => {
      const { status, body } = await ada.send('GET', `/api/videos?q=${'x'.repeat(201)}`);
      assert.deepEqual([status, body.success], [400, false]);
      assert.deepEqual(await found({ q: 'zzz '.repeat(50) }), []);
    });

    it('can be marked and unmarked as favourites repeatedly', async () => {
      const [one, two] = [await film('first star'), await film('second star')];
      for (const id of [one, two, one]) await ada.ok('PUT', `/api/videos/${id}/favourite`);
      assert.deepEqual(await ada.ok('GET', '/api/videos/favourites'), [two, one]);
      assert.deepEqual(await found({ favourite: 'true' }), [two, one]);
      assert.deepEqual(await found({ favourite: 'true', q: 'FIRST' }), [one]);
      for (const id of [one, one]) await ada.ok('DELETE', `/api/videos/${id}/favourite`);
      assert.deepEqual(await ada.ok('GET', '/api/videos/favourites'), [two]);
      await ada.ok('DELETE', `/api/videos/${two}`);
      assert.deepEqual(await ada.ok('GET', '/api/videos/favourites'), []);
      assert.deepEqual(await found({ favourite: 'true' }), []);
    });

    it('do not affect other accounts', async () => {
      const id = await film('mine alone');
      await ada.ok('PUT', `/api/videos/${id}/favourite`);
      for (const method of ['PUT', 'DELETE'] as const) {
        const refused = await eve.send(method, `/api/videos/${id}/favourite`);
        const none = await eve.send(method, '/api/videos/task_none/favourite');
        assert.equal(refused.body.success, false);
        assert.deepEqual(refused.body, none.body);
      }
      assert.deepEqual(await eve.ok('GET', '/api/videos/favourites'), []);
      assert.deepEqual(await ada.ok('GET', '/api/videos/favourites'), [id]);
    });

    it('can be favourites up to a limit; unmarking one makes room', async () => {
      const collector = await join('collector');
      const { kysely } = service.app.database;
      const rows = Array.from({ length: MAX_FAVOURITES + 1 }, (_, index) => ({ id: `task_c${index}` }));
      for (const { id } of rows)
        await insertTask(service.app.database, { id, user_id: collector.id, next_poll_at: null });
      const tasks = await kysely.selectFrom('tasks').select('seq').where('user_id', '=', collector.id).execute();
      const stars = tasks.slice(0, MAX_FAVOURITES).map(({ seq }) => ({ user_id: collector.id, task_seq: seq }));
      await kysely.insertInto('favourite_videos').values(stars).execute();
      const last = `/api/videos/task_c${MAX_FAVOURITES}/favourite`;
      const { status, body } = await collector.send('PUT', last);
      assert.deepEqual([status, body.message], [200, formatMessage('favourites_full', 'en', { most: MAX_FAVOURITES })]);
      // Adding an existing favourite again does not count towards the limit.
      await collector.ok('PUT', '/api/videos/task_c0/favourite');
      await collector.ok('DELETE', '/api/videos/task_c0/favourite');
      await collector.ok('PUT', last);
      assert.equal((await collector.ok<string[]>('GET', '/api/videos/favourites')).length, MAX_FAVOURITES);
    });

    describe('in collections', () => {
      const create = async (name: string, person = ada): Promise<number> =>
        (await person.ok<{ id: number }>('POST', '/api/collections', { name })).id;
      const named = async (query = '', person = ada) =>
        (await person.ok<Collection[]>('GET', `/api/collections${query}`)).map(
          ({ created_at: _, id: __, ...shown }) => shown,
        );
      const path = (id: number, action = ''): string => `/api/collections/${id}${action}`;
      const refusal = async (person: TestUser, method: string, at: string, body?: object): Promise<unknown> => {
        const { body: answer } = await person.send(method as 'POST', at, body);
        assert.equal(answer.success, false, JSON.stringify(answer));
        return answer.message;
      };

      it('are added, listed, filtered and removed several at once, and survive the collection', async () => {
        const [one, two, three] = [await film('beach'), await film('sea'), await film('city')];
        const summer = await create(' Summer spots ');
        await create('Autumn');
        for (const ids of [[one, two], [two], [two, two]])
          await ada.ok('POST', path(summer, '/videos'), { task_ids: ids });
        assert.deepEqual(await named(), [
          { name: 'Autumn', videos: 0 },
          { name: 'Summer spots', videos: 2 },
        ]);
        assert.deepEqual(
          (await named(`?task_id=${one}`)).map(({ contains }) => contains),
          [false, true],
        );
        assert.deepEqual(await found({ collection: String(summer) }), [two, one]);
        assert.deepEqual(await found({ collection: String(summer), q: 'SEA' }), [two]);
        await ada.ok('PUT', path(summer), { name: 'Winter' });
        await ada.ok('POST', path(summer, '/videos/remove'), { task_ids: [one, three, 'task_none'] });
        assert.deepEqual(await found({ collection: String(summer) }), [two]);
        await ada.ok('DELETE', `/api/videos/${two}`);
        assert.deepEqual((await named())[1], { name: 'Winter', videos: 0 });
        await ada.ok('POST', path(summer, '/videos'), { task_ids: [three] });
        await ada.ok('DELETE', path(summer));
        assert.deepEqual(await named(), [{ name: 'Autumn', videos: 0 }]);
        assert.ok((await found({ q: 'city' })).includes(three));
        assert.deepEqual(await found({ collection: String(summer) }), []);
        const left = await service.app.database.kysely.selectFrom('collection_videos').selectAll().execute();
        assert.deepEqual(left, []);
      });

      it('are added all or none, and bad requests change nothing', async () => {
        const [mine, other] = [await film('mine'), await film('not mine', eve)];
        const id = await create('Careful');
        for (const task_ids of [[mine, other], [mine, 'task_none'], [], [mine, 7], Array(101).fill(mine), null])
          await refusal(ada, 'POST', path(id, '/videos'), { task_ids });
        assert.deepEqual(await found({ collection: String(id) }), []);
        for (const name of ['', '   ', 'x'.repeat(81), 5, null]) {
          await refusal(ada, 'POST', '/api/collections', { name });
          await refusal(ada, 'PUT', path(id), { name });
        }
        await create('Twice');
        const taken = formatMessage('already_exists', 'en', { what: 'collection' });
        assert.equal(await refusal(ada, 'POST', '/api/collections', { name: 'Twice' }), taken);
        assert.equal(await refusal(ada, 'PUT', path(id), { name: 'Twice' }), taken);
        assert.ok((await named()).some(({ name }) => name === 'Careful'));
        assert.equal((await ada.send('GET', '/api/videos?collection=1e3')).status, 400);
      });

      it('of another account are as unknown as missing ones', async () => {
        const [mine, hers] = [await film('private'), await film('public', eve)];
        const id = await create('Private');
        const own = await create('Hers', eve);
        await ada.ok('POST', path(id, '/videos'), { task_ids: [mine] });
        for (const [method, action, body] of [
          ['PUT', '', { name: 'Mine' }],
          ['DELETE', '', undefined],
          ['POST', '/videos', { task_ids: [hers] }],
          ['POST', '/videos/remove', { task_ids: [mine] }],
        ] as const)
          assert.equal(
            await refusal(eve, method, path(id, action), body),
            await refusal(eve, method, path(999_999, action), body),
          );
        assert.deepEqual(await found({ collection: String(id) }, eve), []);
        assert.deepEqual(await found({ collection: String(id) }), [mine]);
        assert.deepEqual(await named('', eve), [{ name: 'Hers', videos: 0 }]);
        await eve.ok('DELETE', path(own));
      });

      it('change alone', async () => {
        const [kept, gone] = [await film('kept'), await film('gone')];
        const [one, other] = [await create('One'), await create('Other')];
        for (const id of [one, other]) await ada.ok('POST', path(id, '/videos'), { task_ids: [kept, gone] });
        await ada.ok('POST', path(one, '/videos/remove'), { task_ids: [gone] });
        assert.deepEqual(await found({ collection: String(other) }), [gone, kept]);
        await ada.ok('DELETE', path(one));
        assert.deepEqual(await found({ collection: String(other) }), [gone, kept]);
        await ada.ok('DELETE', `/api/videos/${gone}`);
        await refusal(ada, 'POST', path(other, '/videos'), { task_ids: [gone] });
        await ada.ok('DELETE', path(other));
      });

      it('of an organization belong to its members', async () => {
        await eve.ok('POST', '/api/organizations', { slug: 'reels', name: 'Reels' });
        const inside = { 'x-organization': 'reels' };
        await eve.ok('POST', '/api/collections', { name: 'Shared' }, inside);
        const shared = await eve.ok<Collection[]>('GET', '/api/collections', undefined, inside);
        assert.deepEqual(
          shared.map(({ name }) => name),
          ['Shared'],
        );
        assert.deepEqual(await named('', eve), []);
      });

      it('are limited', async () => {
        const collector = await join('curator');
        const rows = Array.from({ length: MAX_COLLECTIONS }, (_, index) => ({
          user_id: collector.id,
          name: `c${index}`,
          created_at: 0,
        }));
        await service.app.database.kysely.insertInto('collections').values(rows.slice(1)).execute();
        await create('the last', collector);
        const full = formatMessage('collections_full', 'en', { most: MAX_COLLECTIONS });
        assert.equal(await refusal(collector, 'POST', '/api/collections', { name: 'one more' }), full);
      });
    });

    it('are searched among the newest only', async () => {
      const { kysely } = service.app.database;
      const old = await film('the oldest needle', eve);
      const { task } = await insertTask(service.app.database, { id: 'task_hay', user_id: eve.id, next_poll_at: null });
      const { seq: _, ...row } = task;
      const hay = Array.from({ length: MAX_SEARCHED_TASKS - 3 }, (__, index) => `task_hay${index}`);
      for (let start = 0; start < hay.length; start += 500) {
        const rows = hay.slice(start, start + 500).map((id) => ({ ...row, id, public_id: id }));
        await kysely.insertInto('tasks').values(rows).execute();
      }
      assert.deepEqual(await found({ q: 'needle' }, eve), [old]);
      await film('one too many', eve);
      await film('and another', eve);
      assert.deepEqual(await found({ q: 'needle' }, eve), []);
    });
  });
});
