import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { CredentialStore } from './credentials.ts';
import { readSettings, writeSetting } from './default-models.ts';

it('no setting is lost if several processes write one each', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'rg-settings-'));
  const before = process.env.REELGATE_CONFIG_DIR;
  process.env.REELGATE_CONFIG_DIR = folder;
  t.after(() => {
    if (before === undefined) delete process.env.REELGATE_CONFIG_DIR;
    else process.env.REELGATE_CONFIG_DIR = before;
    rmSync(folder, { recursive: true });
  });
  const services = ['https://a.example', 'https://b.example', 'https://c.example'];
  const write = (baseUrl: string) =>
    writeSetting({ baseUrl, credentialStore: new CredentialStore({ folder }) }, 'video-model', 'kling-v3');
  await Promise.all(services.map(write));
  for (const baseUrl of services) assert.deepEqual(await readSettings(baseUrl), { 'video-model': 'kling-v3' }, baseUrl);
});
