import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { VENDORS } from '../../src/contract/model-kinds.ts';
import { VENDOR_ADAPTERS } from '../../src/server/vendors/registry.ts';
import { type Fields, idOf, startVideoService, VENDOR_MODELS, type VideoService } from './video-fixture.ts';

/** Runs the curl calls of docs/models.md as documented, so that a copied call generates a video. */
const document = readFileSync(new URL('../../docs/models.md', import.meta.url), 'utf8');
const calls = [...document.matchAll(/^```sh\n([\s\S]*?)^```/gm)].map(([, call = '']) => {
  const model = /"model": "([^"]+)"/.exec(call)?.[1] ?? '';
  const vendor = VENDOR_ADAPTERS.find(({ models }) => models.some(({ id }) => id === model));
  return { name: vendor?.name ?? '', call, model };
});
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

  it('exists', () => assert.equal(new Set(calls.map(({ name }) => name)).size, VENDORS.length));

  for (const { call, model } of calls)
    it(model, async () => {
      const env = { PATH: process.env.PATH, REELGATE: service.baseUrl, KEY: service.caller.key };
      const { stdout } = await run('sh', ['-c', call.replace('curl ', 'curl -sS --noproxy "*" ')], { env });
      const video = await service.caller.waitUntilEnded(idOf(JSON.parse(stdout) as Fields));
      assert.equal(video.status, 'completed', stdout);
    });
});
