/**
 * `node scripts/try-container-image.ts`, part of `npm run hammer`: builds the image of deploy/Dockerfile on bases that
 * mmdebstrap creates from Debian packages, starts it with a read-only root and without root privileges, generates a
 * first video with simulated vendors, and prints the image's size. Needs root, buildah, mmdebstrap and some gigabytes;
 * all files are in one temporary folder (or in FOLDER, whose bases are kept).
 */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Reelgate } from '../src/sdk/index.ts';

const root = join(import.meta.dirname, '..');
const kept = process.env.FOLDER;
const folder = kept ?? mkdtempSync(join(tmpdir(), 'rg-image-'));
const IMAGE = 'localhost/reelgate-trial';
const USER = '10001:10001';
const PORT = 38_417;

const buildah = (...args: string[]): string =>
  execFileSync(
    'buildah',
    ['--root', join(folder, 'storage'), '--runroot', join(folder, 'run'), '--storage-driver', 'vfs', ...args],
    { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'], maxBuffer: 1024 ** 3 },
  ).trim();

/** Creates an image of Debian with only these packages. */
function makeBase(name: string, suite: string, packages: string): string {
  const tar = join(folder, `${name}.tar`);
  if (!existsSync(tar)) {
    const args = ['--variant=minbase', `--include=${packages}`, '--quiet', suite, tar];
    execFileSync('mmdebstrap', args, { stdio: ['ignore', 'ignore', 'inherit'] });
  }
  const image = `localhost/reelgate-${name}`;
  const container = buildah('from', 'scratch');
  buildah('add', '--quiet', container, tar, '/');
  buildah('commit', '--quiet', '--rm', container, image);
  return image;
}

function buildImage(): void {
  const args = [
    'bud',
    '--isolation',
    'chroot',
    '--network',
    'host',
    '--format',
    'docker',
    '-f',
    'deploy/Dockerfile',
    '-t',
    IMAGE,
  ];
  const bases = {
    // npm under an older Node omits the console's build tools, which are optional and require Node 20.19.
    BUILD_BASE: makeBase('build-base', 'trixie', 'nodejs,npm,ca-certificates,libatomic1'),
    BASE: makeBase('base', 'bookworm', 'libstdc++6'),
  };
  for (const [name, image] of Object.entries(bases)) args.push('--build-arg', `${name}=${image}`);
  // Debian's npm warns about each package that its old Node could not run.
  const settings = ['loglevel=error'];
  // Some networks have their own certificate authority.
  const authority = process.env.NODE_EXTRA_CA_CERTS;
  if (authority !== undefined) {
    settings.push('cafile=/run/authority.pem');
    args.push('--volume', `${authority}:/run/authority.pem:ro`);
  }
  writeFileSync(join(folder, 'npmrc'), `${settings.join('\n')}\n`);
  args.push('--volume', `${join(folder, 'npmrc')}:/root/.npmrc:ro`);
  buildah(...args, '.');
}

/**
 * Starts the image as a container engine would with `--read-only --tmpfs /tmp -v DATA:/data`, in this machine's
 * network.
 */
async function runImage(): Promise<void> {
  const container = buildah('from', IMAGE);
  const mounted = buildah('mount', container);
  const { OCIv1 } = JSON.parse(buildah('inspect', '--type', 'image', IMAGE)) as {
    OCIv1: { config: { Env: string[]; Cmd: string[]; User: string } };
  };
  if (OCIv1.config.User !== USER) throw new Error(`it runs as ${OCIv1.config.User}`);
  const data = join(folder, 'data');
  mkdirSync(data, { recursive: true });
  execFileSync('chown', [USER, data]);
  // Runs in its own mount namespace, so that nothing stays mounted after it ends.
  const script = `
    set -e
    mount --bind "$ROOT" "$ROOT"
    mount -o remount,bind,ro "$ROOT"
    mount -t tmpfs tmpfs "$ROOT/tmp"
    mount --bind "$DATA" "$ROOT/data"
    mount -t tmpfs tmpfs "$ROOT/dev" && mknod -m 666 "$ROOT/dev/null" c 1 3 && mknod -m 666 "$ROOT/dev/urandom" c 1 9
    if touch "$ROOT/app/written" 2>/dev/null; then echo 'the root can be written'; exit 1; fi
    exec chroot --userspec=${USER} "$ROOT" /usr/bin/env -i "$@"
  `;
  const env = [...OCIv1.config.Env, `PORT=${PORT}`, 'HOST=127.0.0.1', 'SANDBOX=1', 'SYNC_PERIOD_SECONDS=1'];
  const args = ['--mount', 'bash', '-c', script, 'run', ...env, 'ADMIN_PASSWORD=trial-password-1', ...OCIv1.config.Cmd];
  const child = spawn('unshare', args, {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { PATH: process.env.PATH, ROOT: mounted, DATA: data },
  });
  const ended = once(child, 'exit');
  try {
    await makeVideo(`http://127.0.0.1:${PORT}`);
    const owner = readFileSync(`/proc/${child.pid}/status`, 'utf8').match(/^Uid:\s+(\d+)/m)?.[1];
    if (owner !== '10001') throw new Error(`the process belongs to ${owner}`);
  } finally {
    child.kill('SIGTERM');
    const [code] = (await ended) as [number | null];
    console.log(`stopped with ${code}`);
  }
}

async function makeVideo(baseUrl: string): Promise<void> {
  for (let tries = 0; ; tries += 1) {
    const isReady = await fetch(`${baseUrl}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    );
    if (isReady) break;
    if (tries === 300) throw new Error('it did not become ready');
    await pause(200);
  }
  const page = await fetch(baseUrl);
  if (!page.ok || !(await page.text()).includes('<script')) throw new Error('there is no console');
  const login = await fetch(`${baseUrl}/api/user/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ username: 'root', password: 'trial-password-1' }),
  });
  const { data } = (await login.json()) as { data: { id: number } };
  const headers = {
    cookie: (login.headers.get('set-cookie') ?? '').split(';', 1)[0] ?? '',
    'service-api-user': String(data.id),
    'content-type': 'application/json',
  };
  await fetch(`${baseUrl}/api/admin/users/${data.id}`, {
    method: 'PUT',
    headers,
    body: JSON.stringify({ quota_delta: 1e9, note: 'trial' }),
  });
  const token = await fetch(`${baseUrl}/api/tokens`, { method: 'POST', headers, body: '{"name":"trial"}' });
  const { key } = ((await token.json()) as { data: { key: string } }).data;
  const reelgate = new Reelgate({ baseUrl, credentials: { apiKey: key } });
  const { id } = await reelgate.videos.create({ model: 'kling-v3', prompt: 'a paper boat' });
  const video = await reelgate.videos.wait(id, {});
  const file = await fetch(`${baseUrl}/v1/videos/${id}/content`, { headers: { authorization: `Bearer ${key}` } });
  console.log(`a first video: ${video.status}, ${(await file.arrayBuffer()).byteLength} bytes`);
}

try {
  const since = performance.now();
  buildImage();
  const megabytes = (path: string): number =>
    Math.round(Number(execFileSync('du', ['-sb', path], { encoding: 'utf8' }).split('\t')[0]) / 1e6);
  const container = buildah('from', IMAGE);
  const mounted = buildah('mount', container);
  const parts = ['app', 'usr/local/bin/node'].map((part) => `${part} ${megabytes(join(mounted, part))} MB`);
  console.log(
    `built in ${Math.round((performance.now() - since) / 1_000)} s; ${megabytes(mounted)} MB: ${parts.join(', ')}`,
  );
  buildah('rm', container);
  await runImage();
} finally {
  buildah('rm', '--all');
  if (kept === undefined) rmSync(folder, { recursive: true, force: true });
}
