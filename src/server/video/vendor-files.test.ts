import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { fixedResponseContext } from '../../../test/vendors/adapter-context.ts';
import { AppError } from '../platform/app-error.ts';
import type { OutboundResponse } from '../platform/outbound/outbound.ts';
import { sora } from '../vendors/sora/adapter.ts';
import type { Task } from './task-store.ts';
import { VendorFiles, type VendorFilesDependencies } from './vendor-files.ts';

const FILM = 'https://cdn.example.test/film.mp4';
const toResponse = (type: string, text: string): OutboundResponse => ({
  status: 200,
  headers: { 'content-type': type },
  body: Readable.from([Buffer.from(text)], { objectMode: false }),
});

/** Opens the file of a finished Sora task whose upstream answers the request with `content`. */
async function openFile(content: OutboundResponse) {
  const untrusted: { readonly url: string; readonly headers?: object }[] = [];
  const upstream = {
    isConfirmed: true,
    account: { private: false, proxy: undefined },
    call: (_signal: AbortSignal, work: (...given: unknown[]) => unknown) =>
      work(sora, { id: 'video_1' }, fixedResponseContext({})),
  };
  const files = new VendorFiles({
    outbound: {
      request: async () => content,
      requestUntrusted: async (request: { readonly url: string; readonly headers?: object }) => {
        untrusted.push(request);
        return toResponse('video/mp4', 'the film');
      },
    },
    upstreams: { find: async () => upstream },
    log: { warn() {} },
  } as unknown as VendorFilesDependencies);
  const task = { id: 'task_1', artifact: '{"kind":"protected"}', data: '{"id":"video_1"}' } as unknown as Task;
  const file = await files.open(task, { signal: new AbortController().signal });
  return { untrusted, text: Buffer.concat(await file.body.toArray()).toString() };
}

test('a file that the upstream names in JSON instead of sending it is fetched without the key', async () => {
  const { untrusted, text } = await openFile(toResponse('application/json', JSON.stringify({ data: { url: FILM } })));
  assert.equal(text, 'the film');
  assert.deepEqual(
    untrusted.map(({ url, headers }) => [url, headers]),
    [[FILM, { 'accept-encoding': 'identity' }]],
  );
});

test('JSON that names no file, or never ends, is no video', async () => {
  for (const text of ['{"error":{"message":"not ready"}}', '{', `{"url":"${FILM}","more":"${'x'.repeat(65_536)}"}`]) {
    const opened = openFile(toResponse('application/json; charset=utf-8', text));
    await assert.rejects(opened, (error) => error instanceof AppError && error.code === 'content_unavailable');
  }
});
