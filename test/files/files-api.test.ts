import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import fs from 'node:fs';
import { mkdtemp, open, rm } from 'node:fs/promises';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { after, before, describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import OpenAI, { toFile } from 'openai';
import { bytesBelow, CLIP } from '../artifacts/artifact-fixture.ts';
import { forEachDatabase } from '../for-each-database.ts';
import { startTestService, type TestService } from '../test-service.ts';

const PNG = Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), randomBytes(5_000)]);
/** A file of EBML (RFC 8794) with a document type and a segment of 200 bytes. */
function ebmlOf(documentType: string): Buffer {
  const type = Buffer.concat([Buffer.from([0x42, 0x82, 0x80 + documentType.length]), Buffer.from(documentType)]);
  const header = Buffer.concat([Buffer.from('1a45dfa3', 'hex'), Buffer.from([0x80 + type.length]), type]);
  return Buffer.concat([header, Buffer.from('1853806701000000000000c8', 'hex'), Buffer.alloc(200)]);
}
const LINES = Buffer.from('{"custom_id":"a"}\n{"custom_id":"b"}\n');
const MB = 1024 ** 2;
const BOUNDARY = 'x-boundary';

/** A form as raw bytes, so that the order and the completeness of its parts are the test's. */
function formOf(
  parts: readonly { name: string; filename?: string; content: string | Buffer }[],
  end = `--${BOUNDARY}--\r\n`,
) {
  const pieces = parts.flatMap(({ name, filename, content }) => [
    `--${BOUNDARY}\r\nContent-Disposition: form-data; name="${name}"${filename === undefined ? '' : `; filename="${filename}"`}\r\n\r\n`,
    content,
    '\r\n',
  ]);
  return Buffer.concat([...pieces, end].map((piece) => Buffer.from(piece as string)));
}

describe('files', () => {
  forEachDatabase((_name, _open, freshUrl) => {
    let service: TestService;
    let folder: string;
    let openai: OpenAI;
    let stranger: OpenAI;
    let key: string;
    before(async () => {
      folder = await mkdtemp(join(tmpdir(), 'rg-files-'));
      service = await startTestService(await freshUrl(), {
        ARTIFACTS: 'disk',
        ARTIFACTS_DIR: folder,
        ARTIFACTS_MIN_FREE_GB: '0',
        ALLOW_HTTP: '1',
      });
      for (const [kind, mb] of [
        ['IMAGE', '1'],
        ['AUDIO', '40'],
      ] as const)
        await service.setSiteSetting(`FILES_${kind}_MB`, mb);
      const clientOf = async (name: string) => {
        const person = await service.signUp(name);
        const { key: apiKey } = await person.ok<{ key: string }>('POST', '/api/tokens', { name: 'files' });
        return new OpenAI({ apiKey, baseURL: `${service.url}/v1`, maxRetries: 0 });
      };
      openai = await clientOf('anna');
      stranger = await clientOf('boris');
      key = String(openai.apiKey);
    });
    after(async () => {
      await service.stop();
      await rm(folder, { recursive: true, force: true });
    });

    const upload = async (bytes: Buffer, name: string, purpose = 'vision') =>
      openai.files.create({ file: await toFile(bytes, name), purpose: purpose as 'vision' });
    const post = (body: Buffer, type = `multipart/form-data; boundary=${BOUNDARY}`) =>
      fetch(`${service.url}/v1/files`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': type },
        body: new Uint8Array(body),
      });
    const refusal = async (response: Response) => {
      const { error } = (await response.json()) as { error: { code: string; param: string | null; message: string } };
      return [response.status, error.code, error.param];
    };

    it("OpenAI's client uploads, lists, reads, downloads and deletes", async () => {
      const image = await upload(PNG, 'cat.png');
      assert.deepEqual(
        { ...image, id: image.id.slice(0, 5), created_at: 0, expires_at: (image.expires_at ?? 0) - image.created_at },
        {
          id: 'file-',
          object: 'file',
          bytes: PNG.length,
          created_at: 0,
          expires_at: 2_592_000,
          filename: 'cat.png',
          purpose: 'vision',
          status: 'processed',
          mime_type: 'image/png',
          sha256: createHash('sha256').update(PNG).digest('hex'),
        },
      );
      const clip = await upload(CLIP, 'clip.mp4', 'user_data');
      const lines = await openai.files.create({
        file: await toFile(LINES, 'lines.jsonl'),
        purpose: 'batch',
        expires_after: { anchor: 'created_at', seconds: 3_600 },
      });
      assert.equal((lines.expires_at ?? 0) - lines.created_at, 3_600);
      assert.deepEqual(await openai.files.retrieve(image.id), image);
      const listed: string[] = [];
      for await (const file of openai.files.list({ limit: 2 })) listed.push(file.id);
      assert.deepEqual(listed, [lines.id, clip.id, image.id]);
      const batches = await openai.files.list({ purpose: 'batch' });
      assert.deepEqual(
        batches.data.map(({ id }) => id),
        [lines.id],
      );
      const content = await openai.files.content(clip.id);
      assert.equal(content.headers.get('content-type'), 'video/mp4');
      assert.deepEqual(Buffer.from(await content.arrayBuffer()), CLIP);
      for (const { id } of [image, clip, lines])
        assert.deepEqual(await openai.files.delete(id), { id, object: 'file', deleted: true });
      await assert.rejects(openai.files.retrieve(image.id), { status: 404, code: 'file_not_found' });
      while ((await bytesBelow(join(folder, 'files'))) > 0) await pause(20);
    });

    it("OpenAI's client deletes all files while it lists them in pages", async () => {
      const made = [];
      for (const name of ['a.png', 'b.png', 'c.png', 'd.png', 'e.png']) made.unshift((await upload(PNG, name)).id);
      const deleted: string[] = [];
      for await (const { id } of openai.files.list({ limit: 2 })) {
        await openai.files.delete(id);
        deleted.push(id);
      }
      assert.deepEqual(deleted, made);
    });

    it('serves ranges, and 304 for the ETag', async () => {
      const { id, sha256 } = (await upload(PNG, 'a.png')) as OpenAI.FileObject & { sha256: string };
      const read = (headers: Record<string, string>) =>
        fetch(`${service.url}/v1/files/${id}/content`, { headers: { authorization: `Bearer ${key}`, ...headers } });
      const part = await read({ range: 'bytes=10-19' });
      assert.deepEqual([part.status, Buffer.from(await part.arrayBuffer())], [206, PNG.subarray(10, 20)]);
      const etag = part.headers.get('etag') ?? '';
      assert.equal(etag, `"${sha256}"`);
      assert.equal((await read({ 'if-none-match': etag })).status, 304);
      await openai.files.delete(id);
    });

    it("another account's file is 404, byte for byte that of a file that never was", async () => {
      const { id } = await upload(PNG, 'secret.png');
      const answersOf = async (fileId: string) => {
        const answers = [];
        for (const [method, path] of [
          ['GET', ''],
          ['DELETE', ''],
          ['GET', '/content'],
        ] as const) {
          const response = await fetch(`${service.url}/v1/files/${fileId}${path}`, {
            method,
            headers: { authorization: `Bearer ${stranger.apiKey}`, 'x-request-id': 'same' },
          });
          const headers = [...response.headers].filter(([name]) => name !== 'date');
          answers.push({ status: response.status, headers, body: await response.text() });
        }
        return answers;
      };
      const answers = await answersOf(id);
      assert.ok(answers.every(({ status }) => status === 404));
      assert.deepEqual(answers, await answersOf(`file-${'x'.repeat(id.length - 5)}`));
      assert.deepEqual((await stranger.files.list()).data, []);
      assert.equal((await openai.files.retrieve(id)).id, id);
      await openai.files.delete(id);
    });

    it('takes the parts in any order and refuses what is no file of a known type, and keeps nothing of it', async () => {
      const file = { name: 'file', filename: 'x.png', content: PNG };
      const purpose = { name: 'purpose', content: 'vision' };
      for (const parts of [
        [file, purpose],
        [purpose, file],
        [{ ...file, content: ebmlOf('webm') }, purpose],
      ]) {
        const response = await post(formOf(parts));
        assert.equal(response.status, 200);
        await openai.files.delete(((await response.json()) as { id: string }).id);
      }
      const { content: _, ...named } = file;
      const refused: readonly (readonly [string, Buffer, readonly (string | number | null)[]])[] = [
        ['no purpose', formOf([file]), [400, 'invalid_request', 'purpose']],
        [
          'unknown purpose',
          formOf([file, { name: 'purpose', content: 'fine-tune' }]),
          [400, 'invalid_request', 'purpose'],
        ],
        ['no file', formOf([purpose]), [400, 'invalid_request', 'file']],
        ['empty', formOf([{ ...named, content: '' }, purpose]), [400, 'invalid_request', 'file']],
        ['SVG', formOf([{ ...named, content: '<svg xmlns="x"/>' }, purpose]), [400, 'invalid_request', 'file']],
        [
          'HTML',
          formOf([{ ...named, content: `<!doctype html>${' '.repeat(99)}` }, purpose]),
          [400, 'invalid_request', 'file'],
        ],
        [
          'archive',
          formOf([{ ...named, content: Buffer.from(`504b0304${'00'.repeat(99)}`, 'hex') }, purpose]),
          [400, 'invalid_request', 'file'],
        ],
        ['Matroska', formOf([{ ...named, content: ebmlOf('matroska') }, purpose]), [400, 'invalid_request', 'file']],
        [
          'cut WebM',
          formOf([{ ...named, content: ebmlOf('webm').subarray(0, -1) }, purpose]),
          [400, 'invalid_request', 'file'],
        ],
        [
          'cut video',
          formOf([{ ...named, content: CLIP.subarray(0, -100) }, purpose]),
          [400, 'invalid_request', 'file'],
        ],
        [
          'large image',
          formOf([{ ...named, content: Buffer.concat([PNG, Buffer.alloc(MB)]) }, purpose]),
          [400, 'invalid_request', 'file'],
        ],
        [
          'no UTF-8',
          formOf([
            { ...named, content: Buffer.from('{"a":"\xff"}', 'latin1') },
            { name: 'purpose', content: 'batch' },
          ]),
          [400, 'invalid_request', 'file'],
        ],
        ['JSONL for vision', formOf([{ ...named, content: LINES }, purpose]), [400, 'invalid_request', 'purpose']],
        ['image for batch', formOf([file, { name: 'purpose', content: 'batch' }]), [400, 'invalid_request', 'purpose']],
        ['other part', formOf([{ ...file, name: 'data' }, purpose]), [400, 'invalid_request', 'file']],
        ['cut form', formOf([purpose, file], ''), [400, 'invalid_request', null]],
        ...['60', '2592001', 'x', '-1'].map((seconds): (typeof refused)[number] => [
          `expires after ${seconds}`,
          formOf([file, purpose, { name: 'expires_after[seconds]', content: seconds }]),
          [400, 'invalid_request', 'expires_after.seconds'],
        ]),
      ];
      for (const [name, body, expected] of refused) assert.deepEqual(await refusal(await post(body)), expected, name);
      assert.deepEqual(await refusal(await post(Buffer.from('{}'), 'application/json')), [
        415,
        'unsupported_media_type',
        null,
      ]);
      assert.deepEqual((await openai.files.list()).data, []);
      assert.equal(await bytesBelow(folder), 0);
    });

    it('knows the type of a file whose first bytes arrive alone, and refuses another before its end', async () => {
      const start = (content: Buffer | string) => {
        const { promise, resolve } = Promise.withResolvers<IncomingMessage>();
        const sent = httpRequest(
          `${service.url}/v1/files`,
          {
            method: 'POST',
            headers: { authorization: `Bearer ${key}`, 'content-type': `multipart/form-data; boundary=${BOUNDARY}` },
          },
          resolve,
        );
        sent.on('error', () => {});
        const parts = [
          { name: 'purpose', content: 'vision' },
          { name: 'file', filename: 'x.png', content },
        ];
        // Without the line break behind the content.
        sent.write(formOf(parts, '').subarray(0, -2));
        return { sent, response: promise };
      };
      const slow = start(PNG.subarray(0, 3));
      await pause(50);
      slow.sent.end(Buffer.concat([PNG.subarray(3), Buffer.from(`\r\n--${BOUNDARY}--\r\n`)]));
      const kept = await slow.response;
      assert.equal(kept.statusCode, 200);
      const { id } = (await json(kept)) as { id: string };
      await openai.files.delete(id);
      const endless = start(`<html>${' '.repeat(100)}`);
      assert.equal((await endless.response).statusCode, 400);
      endless.sent.destroy();
      const empty = await post(formOf([{ name: 'file', filename: 'x.png', content: '' }]));
      assert.match(((await empty.json()) as { error: { message: string } }).error.message, /^file is empty/);
    });

    it('an upload whose client leaves in the middle keeps neither file nor space', async () => {
      const sent = httpRequest(`${service.url}/v1/files`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': `multipart/form-data; boundary=${BOUNDARY}` },
      });
      sent.on('error', () => {});
      sent.write(formOf([{ name: 'file', filename: 'x.mp4', content: CLIP.subarray(0, 4_000) }], ''));
      while ((await bytesBelow(folder)) === 0) await pause(10);
      sent.destroy();
      while ((await bytesBelow(folder)) > 0) await pause(10);
      assert.deepEqual((await openai.files.list()).data, []);
    });

    it('an upload that cannot be stored is told whether space is missing, or may be repeated', async (t) => {
      const fail = (code: string) => () => Promise.reject(Object.assign(new Error(code), { code }));
      const file = await open(folder, 'r');
      const handle = Object.getPrototypeOf(file) as typeof file;
      await file.close();
      const full = t.mock.method(handle, 'write', fail('ENOSPC'));
      await assert.rejects(upload(PNG, 'a.png'), { status: 409, code: 'storage_full' });
      full.mock.restore();
      const broken = t.mock.method(fs.promises, 'rename', fail('EIO'));
      syncBuiltinESMExports();
      t.after(() => {
        broken.mock.restore();
        syncBuiltinESMExports();
      });
      await assert.rejects(upload(PNG, 'a.png'), { status: 503, code: 'unavailable' });
      assert.equal(await bytesBelow(join(folder, 'incoming')), 0);
    });

    it('deleting a file ends its open downloads', async () => {
      // More than the sockets of both sides hold.
      const sound = Buffer.concat([Buffer.from('RIFF1234WAVE'), Buffer.alloc(32 * MB)]);
      const { id } = await upload(sound, 'sound.wav', 'user_data');
      const { promise: opened, resolve } = Promise.withResolvers<IncomingMessage>();
      httpRequest(
        `${service.url}/v1/files/${id}/content`,
        { headers: { authorization: `Bearer ${key}` } },
        resolve,
      ).end();
      const response = await opened;
      response.pause();
      await openai.files.delete(id);
      await pause(1_500);
      let received = 0;
      response.on('data', (chunk: Buffer) => {
        received += chunk.length;
      });
      response.resume();
      await assert.rejects(once(response, 'end'), { code: 'ECONNRESET' });
      assert.ok(received < sound.length, `${received} bytes`);
    });

    it('are at most 10,000 of an account, of which expired ones are none', async () => {
      const dora = await service.signUp('dora');
      const { key: apiKey } = await dora.ok<{ key: string }>('POST', '/api/tokens', { name: 'files' });
      const own = new OpenAI({ apiKey, baseURL: `${service.url}/v1`, maxRetries: 0 });
      const { kysely } = service.app.database;
      const file = {
        purpose: 'vision',
        filename: 'a.png',
        bytes: 1,
        sha256: '',
        mime_type: 'image/png',
        created_at: 1,
      };
      const rows = Array.from({ length: 10_000 }, (_, index) => ({
        ...{ id: `file-many-${index}`, user_id: dora.id, expires_at: Date.now() - 1_000 },
        ...file,
      }));
      for (let from = 0; from < rows.length; from += 500)
        await kysely
          .insertInto('files')
          .values(rows.slice(from, from + 500))
          .execute();
      const create = async () => own.files.create({ file: await toFile(PNG, 'a.png'), purpose: 'vision' });
      const { id } = await create();
      await own.files.delete(id);
      const later = Date.now() + 60_000;
      await kysely.updateTable('files').set({ expires_at: later }).where('user_id', '=', dora.id).execute();
      await assert.rejects(create(), { code: 'files_full' });
      await kysely.deleteFrom('files').where('user_id', '=', dora.id).execute();
    });

    it('counts in the space of the account', async () => {
      const anna = await service.signUp('carla');
      const { key: apiKey } = await anna.ok<{ key: string }>('POST', '/api/tokens', { name: 'files' });
      const own = new OpenAI({ apiKey, baseURL: `${service.url}/v1`, maxRetries: 0 });
      const used = async () => (await anna.ok<{ used_bytes: number }>('GET', '/api/storage')).used_bytes;
      const { id } = await own.files.create({ file: await toFile(PNG, 'a.png'), purpose: 'vision' });
      assert.equal(await used(), PNG.length);
      const listed = await anna.ok<{ data: { id: string; url: string }[] }>('GET', '/api/files');
      assert.deepEqual(
        listed.data.map((file) => file.id),
        [id],
      );
      const [{ url } = assert.fail()] = listed.data;
      const shown = await fetch(service.url + url);
      assert.deepEqual(Buffer.from(await shown.arrayBuffer()), PNG, 'the console shows it by its link');
      const one = await anna.ok<{ filename: string; url: string }>('GET', `/api/files/${id}`);
      assert.equal(one.filename, 'a.png');
      await anna.ok('DELETE', `/api/files/${id}`);
      assert.equal(await used(), 0);
      assert.equal((await fetch(service.url + one.url)).status, 404, 'the link ends with the file');
      assert.equal((await anna.send('GET', `/api/files/${id}`)).body.success, false);
    });
  });

  it('are refused by name where nothing is stored', async () => {
    const service = await startTestService('sqlite::memory:', { ALLOW_HTTP: '1' });
    try {
      const { key: apiKey } = await (await service.signUp('dora')).ok<{ key: string }>('POST', '/api/tokens', {
        name: 'x',
      });
      const openai = new OpenAI({ apiKey, baseURL: `${service.url}/v1`, maxRetries: 0 });
      await assert.rejects(openai.files.create({ file: await toFile(PNG, 'a.png'), purpose: 'vision' }), {
        status: 403,
        code: 'files_disabled',
      });
      assert.deepEqual((await openai.files.list()).data, []);
    } finally {
      await service.stop();
    }
  });
});
