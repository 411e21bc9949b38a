import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { VENDORS } from '../../src/contract/model-kinds.ts';
import { type Fields, idOf, startVideoService, VENDOR_MODELS, type VideoService } from './video-fixture.ts';

/** Runs the curl calls of docs/models/*.md as documented, so that a copied call generates a video. */
const folder = new URL('../../docs/models/', import.meta.url);
const calls = readdirSync(folder).flatMap((file) =>
  [...readFileSync(new URL(file, folder), 'utf8').matchAll(/^```sh\n([\s\S]*?)^```/gm)].map(([, call = '']) => ({
    name: file.replace('.md', ''),
    call,
    model: /"model": "([^"]+)"/.exec(call)?.[1] ?? '',
  })),
);
const served = [
  ...VENDOR_MODELS,
  ...calls.filter(({ model }) => VENDOR_MODELS.every((other) => other.model !== model)),
];
const run = promisify(execFile);

describe('the documented call of every vendor', { concurrency: 8 }, () => {
  let service: VideoService;
  before(async () => {
    service = await startVideoService('sqlite::memory:', {}, served);
  });
  after(() => service.stop());

  it('exists', () => assert.equal(calls.length, VENDORS.length));

  for (const { call, model } of calls)
    it(model, async () => {
      const env = { PATH: process.env.PATH, REELGATE: service.baseUrl, KEY: service.caller.key };
      const { stdout } = await run('sh', ['-c', call.replace('curl ', 'curl -sS --noproxy "*" ')], { env });
      const video = await service.caller.waitUntilEnded(idOf(JSON.parse(stdout) as Fields));
      assert.equal(video.status, 'completed', stdout);
    });
});
