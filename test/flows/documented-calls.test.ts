import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { VENDORS } from '../../src/contract/states.ts';
import { DOORS, type Fields, idOf, startVideoService, type VideoService } from './video-service.ts';

/** The calls of docs/models.md, run by curl as they stand there: a reader who copies one makes a video. */
const text = readFileSync(new URL('../../docs/models.md', import.meta.url), 'utf8');
const calls = [...text.matchAll(/^```sh\n([\s\S]*?)^```/gm)].map((match) => match[1] ?? '');
const run = promisify(execFile);

describe('the documented call of every vendor', { concurrency: 8 }, () => {
  let service: VideoService;
  before(async () => {
    service = await startVideoService('sqlite::memory:');
  });
  after(() => service.stop());

  it('is there', () => assert.equal(calls.length, VENDORS.length));

  for (const call of calls) {
    const model = /"model": "([^"]+)"/.exec(call)?.[1] ?? '';
    it(model, async () => {
      assert.ok(DOORS.some((door) => door.model === model));
      const env = { PATH: process.env.PATH, REELGATE: service.baseUrl, KEY: service.viewer.key };
      const { stdout } = await run('sh', ['-c', call.replace('curl ', 'curl -sS --noproxy "*" ')], { env });
      const video = await service.viewer.ended(idOf(JSON.parse(stdout) as Fields));
      assert.equal(video.status, 'completed', stdout);
    });
  }
});
