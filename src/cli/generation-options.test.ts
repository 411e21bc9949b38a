import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { CommandContext } from './command-context.ts';
import { type GenerationOptions, toCreateRequest } from './generation-options.ts';

const NO_MEDIA: GenerationOptions = { image: [], video: [], audio: [] };
/** Only needed for options whose position differs by vendor. */
const CONTEXT = {} as CommandContext;

const mediaOf = async (given: Partial<GenerationOptions>) => {
  const { model: _, prompt: __, ...media } = await toCreateRequest(CONTEXT, 'm', 'p', { ...NO_MEDIA, ...given });
  return media;
};

test('inputs are files, URLs, or ids of files and videos', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'rg-inputs-'));
  const path = join(folder, 'a.png');
  writeFileSync(path, 'bytes');
  const data = Buffer.from('bytes').toString('base64');
  const url = 'https://a.example/b.png';
  try {
    assert.deepEqual(await mediaOf({ image: [path] }), { image: data });
    assert.deepEqual(await mediaOf({ image: [path, url] }), { images: [data, url] });
    const typed = { image: [`ref=${path}`, 'ref=file-123'], video: ['source=task_1'], audio: [url] };
    assert.deepEqual(await mediaOf(typed), {
      inputs: [
        { type: 'image', role: 'reference', data },
        { type: 'image', role: 'reference', file_id: 'file-123' },
        { type: 'video', role: 'source', file_id: 'task_1' },
        { type: 'audio', url },
      ],
    });
    assert.deepEqual(await mediaOf({ image: ['file-123'] }), { inputs: [{ type: 'image', file_id: 'file-123' }] });
    assert.deepEqual(await mediaOf({ image: ['file-123', path] }), {
      inputs: [
        { type: 'image', role: 'first_frame', file_id: 'file-123' },
        { type: 'image', role: 'last_frame', data },
      ],
    });
    await assert.rejects(mediaOf({ image: ['missing.png'] }), { code: 'ENOENT' });
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('a file on this machine whose name looks like an id is that file', async (context) => {
  const folder = mkdtempSync(join(tmpdir(), 'rg-inputs-'));
  const before = process.cwd();
  context.after(() => {
    process.chdir(before);
    rmSync(folder, { recursive: true });
  });
  process.chdir(folder);
  writeFileSync('task_1', 'bytes');
  assert.deepEqual(await mediaOf({ image: ['task_1'] }), { image: Buffer.from('bytes').toString('base64') });
});
