import assert from 'node:assert/strict';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { MAX_SHARES, MAX_SHARES_PER_VIDEO } from '../../src/contract/video-shares.ts';
import { makeApp } from '../../src/server/app.ts';
import { parseConfig } from '../../src/server/platform/config.ts';
import { openLog } from '../../src/server/platform/log.ts';
import { CLIP } from '../artifacts/artifact-fixture.ts';
import { idOf, startVideoService, type VideoService } from '../flows/video-fixture.ts';
import { forEachDatabase } from '../for-each-database.ts';
import { testEnvironment } from '../service-with-sandbox.ts';

interface Share {
  readonly id: number;
  readonly url: string;
  readonly expires_at: number | null;
}

describe('share links', () => {
  forEachDatabase((name, _open, freshUrl) => {
    let service: VideoService;
    let folder: string;
    let url: string;
    let env: Record<string, string>;
    before(async () => {
      folder = await mkdtemp(join(tmpdir(), 'rg-shares-'));
      env = { ARTIFACTS: 'disk', ARTIFACTS_DIR: folder, ARTIFACTS_MIN_FREE_GB: '0' };
      url = await freshUrl();
      service = await startVideoService(url, { env, overrides: { ffmpeg: join(folder, 'none') } }, [
        { name: 'kling', model: 'kling-v1-6' },
        { name: 'vidu', model: 'viduq2' },
      ]);
    });
    after(async () => {
      await service.stop();
      await rm(folder, { recursive: true, force: true });
    });

    const finished = async (prompt: string, model = 'kling-v1-6'): Promise<string> => {
      const id = idOf(await service.caller.submit({ model, prompt }));
      assert.equal((await service.caller.waitUntilEnded(id)).status, 'completed');
      return id;
    };
    const share = (id: string, body?: object) =>
      service.operator.requestData<Share>('POST', `/api/videos/${id}/shares`, body);
    const send = (method: string, path: string, body?: unknown) => service.operator.request(method, path, body);
    /** Opens the link without any other credential. */
    const visit = (url: string, headers: Record<string, string> = {}, base = service.baseUrl) =>
      fetch(`${base}${new URL(url).pathname}${new URL(url).search}`, { headers, redirect: 'manual' });
    const unlock = (url: string, password: string, headers: Record<string, string> = {}) =>
      fetch(`${service.baseUrl}${new URL(url).pathname}`, {
        method: 'POST',
        redirect: 'manual',
        headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
        body: new URLSearchParams({ password }),
      });
    /** Starts to read a file and then pauses. */
    const openSlowly = async (url: string, base = service.baseUrl) => {
      const { hostname, port } = new URL(base);
      const socket = connect(Number(port), hostname).on('error', () => {});
      const closed = new Promise<void>((resolve) => void socket.once('close', () => resolve()));
      socket.write(`GET ${new URL(url).pathname}/video HTTP/1.1\r\nHost: ${hostname}:${port}\r\n\r\n`);
      await new Promise((resolve) => socket.once('data', resolve));
      socket.pause();
      return {
        closed: closed.then(() => true),
        resume: () => void socket.resume(),
        destroy: () => void socket.destroy(),
      };
    };

    it('show the video, its poster and Open Graph tags, in both languages, without a name or a script', async () => {
      const id = await finished('a fox that nobody is told of', 'viduq2');
      const made = await share(id, { title: 'A fox <in> the "snow"', expires_in_seconds: 3_600 });
      assert.match(made.url, /\/s\/[A-Za-z0-9]{24}$/);
      assert.ok(made.expires_at !== null && Math.abs(made.expires_at - Date.now() / 1000 - 3_600) < 60);
      const page = await visit(made.url, { 'accept-language': 'en' });
      const text = await page.text();
      assert.equal(page.status, 200);
      assert.match(text, /<html lang="en">/);
      assert.match(text, /<h1>A fox &#60;in&#62; the &#34;snow&#34;<\/h1>/);
      const { pathname } = new URL(made.url);
      assert.ok(text.includes(`<meta property="og:image" content="${made.url}/poster">`));
      assert.ok(text.includes(`<meta property="og:video" content="${made.url}/video">`));
      assert.match(text, /<meta property="og:title" content="A fox/);
      assert.match(text, new RegExp(`<video [^>]*src="${pathname}/video" poster="${pathname}/poster"`));
      assert.doesNotMatch(text.replace(/<style>.*<\/style>/s, ''), /<script|nobody is told|viduq2|root/i);
      const chinese = await (await visit(`${made.url}?lang=zh-CN`)).text();
      assert.match(chinese, /<html lang="zh-CN">.*下载/s);
      assert.match(text, /This link works until \w{3} \d+, \d{4}, \d\d:\d\d UTC \(in 1 hour\)/);
      const week = await share(id, { expires_in_seconds: 7 * 86_400 });
      assert.match(await (await visit(week.url, { 'accept-language': 'en' })).text(), / UTC \(in 7 days\)/);
      const file = await visit(`${made.url}/video`);
      assert.deepEqual(Buffer.from(await file.arrayBuffer()), CLIP);
      assert.match(text, new RegExp(`href="${pathname}/video" download>`));
      assert.match(file.headers.get('content-disposition') ?? '', /^inline; filename="a-fox-in-the-snow\.mp4"/);
      const part = await visit(`${made.url}/video`, { range: 'bytes=5-9' });
      assert.deepEqual([part.status, Buffer.from(await part.arrayBuffer())], [206, CLIP.subarray(5, 10)]);
      assert.equal((await visit(`${made.url}/poster`)).headers.get('content-type'), 'image/webp');
    });

    it('name the file by the media type of the copy', async () => {
      const id = await finished('a fox');
      const made = await share(id, { title: 'A fox' });
      const { kysely } = service.app.database;
      const ofVideo = kysely.selectFrom('tasks').select('id').where('public_id', '=', id);
      const stored = () =>
        kysely.updateTable('artifacts').set({ mime_type: 'video/quicktime' }).where('task_id', 'in', ofVideo);
      while ((await stored().where('state', '=', 'stored').executeTakeFirst()).numUpdatedRows === 0n) await pause(20);
      assert.match(await (await visit(made.url)).text(), /og:video:type" content="video\/quicktime">/);
      const { play_url: play } = await service.operator.requestData<{ play_url: string }>('GET', `/api/videos/${id}`);
      for (const [file, name] of [
        [await visit(`${made.url}/video`), 'a-fox'],
        [await fetch(`${service.baseUrl}${play}&name=my+fox`), 'my-fox'],
        [await service.caller.fetchRaw(`/v1/videos/${id}/content`), id],
      ] as const) {
        assert.match(file.headers.get('content-disposition') ?? '', new RegExp(`filename="${name}\\.mov"`));
        await file.body?.cancel();
      }
    });

    it('name the marks of generated content in the stored file', async () => {
      const id = await finished('a marked video');
      const { kysely } = service.app.database;
      const findRow = () =>
        kysely
          .selectFrom('artifacts')
          .innerJoin('tasks', 'tasks.id', 'artifacts.task_id')
          .select(['artifacts.id', 'artifacts.bytes'])
          .where('tasks.public_id', '=', id)
          .where('artifacts.state', '=', 'stored')
          .executeTakeFirst();
      let row = await findRow();
      for (; row === undefined; row = await findRow()) await pause(50);
      const names = await readdir(folder, { recursive: true });
      const file = names.find((each) => each.includes(row.id)) ?? '';
      const box = (type: string, content: Buffer, size: number) => {
        const bytes = Buffer.alloc(size);
        bytes.writeUInt32BE(size);
        bytes.write(type, 4);
        content.copy(bytes, 8);
        return bytes;
      };
      const manifest = box('uuid', Buffer.from('d8fec3d61b0e483c92975828877ec481', 'hex'), 64);
      const labelled = box('moov', Buffer.from('AIGC'), Number(row.bytes) - 64);
      await writeFile(join(folder, file), Buffer.concat([manifest, labelled]));
      const made = await share(id);
      assert.match(await (await visit(`${made.url}?lang=en`)).text(), /Origin: C2PA manifest, AIGC metadata\./);
      assert.match(await (await visit(`${made.url}?lang=zh-CN`)).text(), /来源标识：C2PA 清单、AIGC 元数据。/);
      const locked = await share(id, { password: 'open sesame' });
      assert.doesNotMatch(await (await visit(locked.url)).text(), /C2PA/);
    });

    it('T97: cannot be guessed, indexed, framed, revealed to other sites or read in the database', async () => {
      const id = await finished('a video to watch');
      const made = await share(id);
      const token = new URL(made.url).pathname.slice('/s/'.length);
      for (const target of [made.url, `${made.url}/video`])
        assert.match((await visit(target)).headers.get('x-robots-tag') ?? '', /noindex/);
      const { headers } = await visit(made.url);
      assert.equal(headers.get('referrer-policy'), 'no-referrer');
      assert.equal(headers.get('cache-control'), 'no-store');
      assert.equal(headers.get('x-frame-options'), 'DENY');
      const policy = headers.get('content-security-policy') ?? '';
      for (const part of ["default-src 'none'", "media-src 'self'", "frame-ancestors 'none'", "form-action 'self'"])
        assert.ok(policy.includes(part), part);
      assert.doesNotMatch(policy, /script-src|unsafe|https?:/);
      assert.equal((await visit(`${made.url}/video`)).headers.get('cache-control'), 'private, no-cache');
      const changed = token.replace(/^./, token.startsWith('a') ? 'b' : 'a');
      const unknown = await visit(made.url.replace(token, changed));
      assert.equal(unknown.status, 404);
      assert.match(await (await visit(made.url)).text(), /generated with AI/);
      assert.doesNotMatch(await unknown.text(), /generated with AI/, 'nothing is claimed of a video that is not there');
      assert.equal((await visit(`${made.url.replace(token, changed)}/video`)).status, 404);
      const rows = await service.app.database.kysely.selectFrom('video_shares').selectAll().execute();
      assert.ok(rows.length > 0 && !JSON.stringify(rows).includes(token));
      // The owner can read the link again.
      const [listed] = await service.operator.requestData<Share[]>('GET', `/api/videos/${id}/shares`);
      assert.equal(listed?.url, made.url);
    });

    it('T97: end at their expiry, by their owner, with the video and with a ban, including playback in progress', async () => {
      const id = await finished('a video that ends');
      const short = await share(id, { expires_in_seconds: 1 });
      const removed = await share(id);
      const kept = await share(id);
      assert.equal((await visit(removed.url)).status, 200);
      await pause(1_100);
      assert.equal((await visit(short.url)).status, 404);
      assert.equal((await visit(`${short.url}/video`)).status, 404);
      await service.operator.requestData('DELETE', `/api/videos/${id}/shares/${removed.id}`);
      assert.equal((await visit(removed.url)).status, 404);
      assert.equal((await visit(`${removed.url}/video`)).status, 404);
      assert.equal((await visit(`${removed.url}/poster`)).status, 404);
      assert.deepEqual(
        (await service.operator.requestData<Share[]>('GET', `/api/videos/${id}/shares`)).map((each) => each.id),
        [kept.id],
      );
      const { kysely } = service.app.database;
      const setStatus = (status: 1 | 2) => kysely.updateTable('accounts').set({ status }).where('id', '=', 1).execute();
      await setStatus(2);
      assert.equal((await visit(kept.url)).status, 404);
      await setStatus(1);
      assert.equal((await visit(kept.url)).status, 200);
      assert.equal((await service.caller.request('DELETE', `/v1/videos/${id}`)).status, 200);
      assert.equal((await visit(kept.url)).status, 404);
      await service.app.runMaintenance();
      const left = await kysely
        .selectFrom('video_shares')
        .select('id')
        .where('id', 'in', [short.id, kept.id])
        .execute();
      assert.deepEqual(left, []);
    });

    it('T97: a download by a link ends with the link, on every process', async (t) => {
      // The file never ends, so only the end of the link can end the download.
      service.sandbox.control.fault({ kind: 'slow', operation: 'content', times: Number.POSITIVE_INFINITY });
      t.after(() => service.sandbox.control.clearFaults());
      const id = await finished('a long download');
      const bases = [service.baseUrl];
      if (name !== 'sqlite') {
        const second = await makeApp(parseConfig(testEnvironment(url, env)), { log: openLog('silent') });
        t.after(() => second.close(1_000));
        bases.push(`http://127.0.0.1:${(await second.listen()).port}`);
      }
      const made = await share(id);
      const downloads = await Promise.all(bases.map((base) => openSlowly(made.url, base)));
      t.after(() => {
        for (const each of downloads) each.destroy();
      });
      await service.operator.requestData('DELETE', `/api/videos/${id}/shares/${made.id}`);
      for (const download of downloads) {
        download.resume();
        assert.equal(await Promise.race([download.closed, pause(10_000, false, { ref: false })]), true);
      }
      for (const base of bases) assert.equal((await visit(made.url, {}, base)).status, 404);
    });

    it('T98: reveal nothing before their password is given, which is stored as a slow hash', async () => {
      const id = await finished('a secret video');
      const made = await share(id, { password: 'open sesame', title: 'The treasure' });
      const locked = await (await visit(made.url)).text();
      assert.doesNotMatch(locked, /treasure|<video|og:video|og:image/);
      assert.match(locked, /type="password"/);
      assert.equal((await visit(`${made.url}/video`)).status, 403);
      assert.equal((await visit(`${made.url}/poster`)).status, 403);
      const wrong = await unlock(made.url, 'open barley');
      assert.deepEqual([wrong.status, wrong.headers.get('set-cookie')], [403, null]);
      const right = await unlock(made.url, 'open sesame');
      assert.equal(right.status, 303);
      const [cookie = ''] = (right.headers.get('set-cookie') ?? '').split(';', 1);
      assert.match(right.headers.get('set-cookie') ?? '', /HttpOnly/);
      assert.match(right.headers.get('set-cookie') ?? '', new RegExp(`Path=${new URL(made.url).pathname}(;|$)`));
      assert.match(await (await visit(made.url, { cookie })).text(), /<h1>The treasure<\/h1>/);
      const file = await visit(`${made.url}/video`, { cookie, range: 'bytes=0-3' });
      assert.deepEqual([file.status, Buffer.from(await file.arrayBuffer())], [206, CLIP.subarray(0, 4)]);
      const row = await service.app.database.kysely
        .selectFrom('video_shares')
        .selectAll()
        .where('id', '=', made.id)
        .executeTakeFirstOrThrow();
      assert.match(row.password_hash ?? '', /^\$argon2id\$/);
      // One link's proof opens no other link, and a changed proof opens none.
      const other = await share(id, { password: 'open sesame' });
      assert.equal((await visit(`${other.url}/video`, { cookie })).status, 403);
      assert.equal((await visit(`${made.url}/video`, { cookie: cookie.replace('share=', 'share=9') })).status, 403);
      assert.equal((await visit(`${made.url}/video`, { cookie: `${cookie.slice(0, -2)}AA` })).status, 403);
    });

    it('T98: limit password guesses, including the right one', async () => {
      const id = await finished('a guessed video');
      const made = await share(id, { password: 'not guessed' });
      const statuses = [];
      for (let index = 0; index < 12; index += 1) statuses.push((await unlock(made.url, `guess ${index}`)).status);
      assert.deepEqual(statuses, [...Array(10).fill(403), 429, 429]);
      const late = await unlock(made.url, 'not guessed');
      assert.equal(late.status, 429);
      assert.ok(Number(late.headers.get('retry-after')) > 0);
      assert.match(await late.text(), /type="password"/);
    });

    it("are created only for the owner's finished videos, up to the limit", async () => {
      const id = await finished('a much shared video');
      const running = idOf(await service.caller.submit({ model: 'kling-v1-6', prompt: '[stuck] not yet' }));
      assert.equal((await send('POST', `/api/videos/${running}/shares`)).success, false);
      assert.equal((await send('POST', '/api/videos/task_other/shares')).success, false);
      for (const body of [{ expires_in_seconds: 0 }, { expires_in_seconds: 'x' }, { password: '' }, { title: 'a\nb' }])
        assert.equal((await send('POST', `/api/videos/${id}/shares`, body)).success, false);
      for (let index = 1; index < MAX_SHARES_PER_VIDEO; index += 1) await share(id);
      const last = await Promise.all([1, 2, 3].map(() => send('POST', `/api/videos/${id}/shares`)));
      assert.equal(last.filter(({ success }) => success).length, 1);
      const full = await send('POST', `/api/videos/${id}/shares`);
      assert.equal(full.success, false);
      assert.match(String(full.message), new RegExp(String(MAX_SHARES_PER_VIDEO)));
      const all = await send('GET', '/api/shares?page_size=5');
      assert.equal((all.data as unknown[]).length, 5);
      assert.ok(Number(all.total) >= MAX_SHARES_PER_VIDEO);
    });

    it('are at most 1,000 of an account, of which expired ones are none', async () => {
      const [one, other] = [await finished('shared once'), await finished('shared very often')];
      const { id } = await share(one);
      const { kysely } = service.app.database;
      const row = await kysely.selectFrom('video_shares').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
      const task = await kysely
        .selectFrom('tasks')
        .select('id')
        .where('public_id', '=', other)
        .executeTakeFirstOrThrow();
      const { total } = await send('GET', '/api/shares');
      const rows = Array.from({ length: MAX_SHARES - Number(total) - 1 }, (_, index) => {
        const { id: _id, ...columns } = row;
        return { ...columns, task_id: task.id, token_hash: `many-${index}` };
      });
      for (let from = 0; from < rows.length; from += 100)
        await kysely
          .insertInto('video_shares')
          .values(rows.slice(from, from + 100))
          .execute();
      await share(one);
      assert.match(String((await send('POST', `/api/videos/${one}/shares`)).message), /1000/);
      await kysely.updateTable('video_shares').set({ expires_at: 1 }).where('task_id', '=', task.id).execute();
      await share(one);
    });

    it('are in the audit log, without their tokens', async () => {
      const id = await finished('an audited video');
      const made = await share(id, { password: 'of the link', expires_in_seconds: 3_600 });
      await service.operator.requestData('DELETE', `/api/videos/${id}/shares/${made.id}`);
      const open = await share(id);
      const logOf = (share: number) =>
        service.operator.requestData<{ action: string; after: { expiresAt: number | null } }[]>(
          'GET',
          `/api/admin/audit?target=share:${share}`,
        );
      const [ended, created, ...others] = await logOf(made.id);
      assert.deepEqual([ended?.action, created?.action, others], ['share.delete', 'share.create', []]);
      const expiresAt = created?.after.expiresAt ?? 0;
      assert.deepEqual(created?.after, { task: id, expiresAt, hasPassword: true });
      assert.equal(Math.floor(expiresAt / 1000), made.expires_at);
      assert.deepEqual((await logOf(open.id))[0]?.after, { task: id, expiresAt: null, hasPassword: false });
    });
  });
});
