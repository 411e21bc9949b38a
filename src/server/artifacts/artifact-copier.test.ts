import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { VideoFrameExtractor } from './artifact-copier.ts';

const folder = mkdtempSync(join(tmpdir(), 'rg-frames-'));
after(() => rmSync(folder, { recursive: true }));
const { signal } = new AbortController();
const install = (path: string): void => writeFileSync(path, '#!/bin/sh\nprintf image\n', { mode: 0o755 });

describe('frames of videos', () => {
  it('are the output of ffmpeg', async () => {
    const path = join(folder, 'there');
    install(path);
    assert.equal(String(await new VideoFrameExtractor(path).read('/none.mp4', signal)), 'image');
  });

  it('cause no further start attempts for a while if ffmpeg is not installed', async () => {
    const path = join(folder, 'absent');
    const frames = new VideoFrameExtractor(path);
    assert.equal(await frames.read('/none.mp4', signal), undefined);
    install(path);
    assert.equal(await frames.read('/none.mp4', signal), undefined);
    assert.equal(String(await new VideoFrameExtractor(path).read('/none.mp4', signal)), 'image');
  });
});
