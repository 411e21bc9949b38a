import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { replaceFolder } from '../../scripts/replace-folder.ts';
import { buildConsoleIfOutdated } from '../browser/build-console.ts';
import { freePort, ServerProcess } from './server-process.ts';

const run = promisify(execFile);
const ROOT = join(import.meta.dirname, '../..');

describe('a build below a running service', () => {
  let folder: string;
  let checkout: string;
  before(() => {
    buildConsoleIfOutdated();
    folder = mkdtempSync(join(tmpdir(), 'rg-rebuild-'));
    checkout = join(folder, 'checkout');
    mkdirSync(join(checkout, '.git'), { recursive: true });
    const copied = ['bin', 'dist', 'scripts', 'src', 'package.json', 'package-lock.json', 'tsconfig.json'];
    for (const path of copied)
      cpSync(join(ROOT, path), join(checkout, path), { recursive: true, preserveTimestamps: true });
    symlinkSync(join(ROOT, 'node_modules'), join(checkout, 'node_modules'));
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  it('npx, a new console and an emptied folder leave every asset of the running process in place', async () => {
    const names = readdirSync(join(checkout, 'dist/console/assets')).filter((name) => !/\.(br|gz)$/.test(name));
    assert.ok(names.length > 50);
    const server = new ServerProcess(`sqlite:${join(folder, 'x.db')}`, await freePort(), {}, [
      join(checkout, 'bin/server.js'),
    ]);
    try {
      await server.untilReady();
      const page = await (await fetch(server.baseUrl, { headers: { accept: 'text/html' } })).text();
      const missing: string[] = [];
      let rounds = 0;
      let isOver = false;
      const reading = (async () => {
        while (!isOver || rounds < 2) {
          for (const name of names) {
            const { status, body } = await fetch(`${server.baseUrl}/assets/${name}`);
            await body?.cancel();
            if (status !== 200) missing.push(`${status} ${name}`);
          }
          rounds += 1;
        }
      })();
      const builtAt = () => statSync(join(checkout, 'dist/console/index.html')).mtimeMs;
      const before = builtAt();
      const version = await run('npx', ['--no-install', 'reelgate', '--version'], { cwd: checkout });
      assert.match(version.stdout, /^\d+\.\d+\.\d+\n$/);
      assert.equal(builtAt(), before, 'npx builds nothing');
      await replaceFolder(join(checkout, 'dist/console'), (temporary) => {
        mkdirSync(join(temporary, 'assets'));
        writeFileSync(join(temporary, 'assets/other.js'), '');
        writeFileSync(join(temporary, 'index.html'), 'another console');
      });
      rmSync(join(checkout, 'dist/console'), { recursive: true });
      isOver = true;
      await reading;
      assert.deepEqual(missing, []);
      const status = /<meta name="status"[^>]*>/;
      const later = await (await fetch(server.baseUrl, { headers: { accept: 'text/html' } })).text();
      const withoutNonce = (text: string) => text.replace(status, '').replaceAll(/nonce="[^"]*"/g, '');
      assert.equal(withoutNonce(later), withoutNonce(page));
    } finally {
      await server.stop();
    }
  });

  it('a failed or killed build leaves the previous output unchanged and no other files', async () => {
    const target = join(folder, 'dist/console');
    mkdirSync(target, { recursive: true });
    writeFileSync(join(target, 'index.html'), 'old');
    const { pid: ended } = spawnSync(process.execPath, ['-e', '']);
    mkdirSync(join(folder, `dist/.console-${ended}`));
    const failing = replaceFolder(target, (temporary) => {
      writeFileSync(join(temporary, 'index.html'), 'half');
      throw new Error('it does not build');
    });
    await assert.rejects(failing, /does not build/);
    assert.deepEqual(readdirSync(join(folder, 'dist')), ['console']);
    assert.ok(existsSync(join(target, 'index.html')));
    await replaceFolder(target, (temporary) => writeFileSync(join(temporary, 'new.html'), 'new'));
    assert.deepEqual([readdirSync(target), readdirSync(join(folder, 'dist'))], [['new.html'], ['console']]);
  });
});
