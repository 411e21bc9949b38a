import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';

const deploy = join(import.meta.dirname, '../../deploy');
const read = (name: string) => readFileSync(join(deploy, name), 'utf8');
const numberIn = (name: string, pattern: RegExp) =>
  Number(pattern.exec(read(name))?.[1] ?? assert.fail(`${name}: ${pattern}`));

it("every deployment's stop timeout is longer than requests in flight may take", () => {
  for (const [name, pattern] of [
    ['compose.yaml', /reelgate\n[\s\S]*?stop_grace_period: (\d+)s/],
    ['reelgate.service', /TimeoutStopSec=(\d+)$/m],
    ['kubernetes.yaml', /terminationGracePeriodSeconds: (\d+)/],
  ] as const)
    assert.ok(numberIn(name, pattern) >= 45, name);
});

it('every proxy allows a model call the same time to its first byte as the service', () => {
  for (const [name, pattern] of [
    ['nginx.conf', /proxy_read_timeout (\d+)s/],
    ['haproxy.cfg', /timeout server (\d+)s/],
    ['Caddyfile', /response_header_timeout (\d+)s/],
    ['kubernetes.yaml', /proxy-read-timeout: "(\d+)"/],
  ] as const)
    assert.ok(numberIn(name, pattern) > 600, name);
});

it("every start command sets the same limit for V8's young generation", () => {
  const starts = [read('../package.json'), read('Dockerfile'), read('reelgate.service')];
  for (const text of starts)
    assert.match(
      text,
      /node(?:"?,? "?)--max-semi-space-size=8(?:"?,? "?)(?:\/(?:app|opt\/reelgate)\/)?bin\/server\.js/,
    );
});

it('containers run without root and write only to their volumes', () => {
  assert.match(read('Dockerfile'), /^USER 10001:10001$/m);
  assert.match(read('compose.yaml'), /read_only: true/);
  assert.match(read('kubernetes.yaml'), /runAsNonRoot: true[\s\S]*readOnlyRootFilesystem: true/);
});

it('every deployment keeps the journal of model calls where it outlives a crash', () => {
  for (const [name, state] of [
    ['Dockerfile', '/data/'],
    ['kubernetes.yaml', '/data/'],
    ['reelgate.service', '/var/lib/reelgate/'],
  ] as const)
    assert.equal(/JOURNAL_DIR(?:=|: )(\/\S+\/)/.exec(read(name))?.[1], state, name);
});

it('only example hosts and loopback are named, and the documents mention every file', () => {
  const documents = readFileSync(join(deploy, '../docs/deploy.md'), 'utf8');
  for (const path of globSync('**/*.*', { cwd: deploy })) {
    const hosts = [...read(path).matchAll(/https?:\/\/([a-z0-9.-]+)/g)].map((match) => match[1] ?? '');
    for (const host of hosts)
      assert.match(host, /^(?:127\.0\.0\.1|localhost|reelgate.*|prometheus)$/, `${path} names ${host}`);
    if (!path.startsWith('grafana/')) assert.ok(documents.includes(`deploy/${path}`), path);
  }
  assert.ok(documents.includes('deploy/Dockerfile'));
});

it('systemd accepts the unit and rates it as well confined', () => {
  if (spawnSync('systemd-analyze', ['--version']).error !== undefined && !process.env.CI) return;
  const folder = mkdtempSync(join(tmpdir(), 'rg-unit-'));
  try {
    const unit = join(folder, 'reelgate.service');
    writeFileSync(unit, read('reelgate.service'));
    const verified = spawnSync('systemd-analyze', ['verify', unit], { encoding: 'utf8' });
    assert.equal(verified.status, 0, verified.stderr);
    assert.equal(verified.stderr, '');
    // Of 100; a service without any confinement has an exposure of 96.
    const security = ['security', '--offline=true', '--threshold=20', unit];
    const confined = spawnSync('systemd-analyze', security, { encoding: 'utf8' });
    assert.equal(confined.status, 0, confined.stdout);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
