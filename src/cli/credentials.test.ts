import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { CredentialStore, type Keychain, type StoredCredentials } from './credentials.ts';
import { toErrorReport } from './error-report.ts';
import { KeychainError } from './errors.ts';

const KEY = 'https://reelgate.example.com';
const signIn: StoredCredentials = {
  userId: 7,
  username: 'ada',
  displayName: 'Ada',
  userHeader: 'Service-Api-User',
  accessToken: 'rgat_secret',
  refreshToken: 'rgrt_secret',
  llmToken: 'sk-secret',
  accessExpiresAt: 1_800_000_000_000,
};

/** An in-memory keychain that can be locked. */
class Chain implements Keychain {
  readonly name = 'the test keychain';
  readonly kept = new Map<string, string>();
  isLocked = false;
  async get(account: string): Promise<string | undefined> {
    this.#open();
    return this.kept.get(account);
  }
  async set(account: string, secret: string): Promise<void> {
    this.#open();
    this.kept.set(account, secret);
  }
  async remove(account: string): Promise<void> {
    this.#open();
    this.kept.delete(account);
  }
  #open(): void {
    if (this.isLocked) throw new Error('locked');
  }
}

describe('storage of a sign-in', () => {
  let folder: string;
  let chain: Chain;
  const withChain = () => new CredentialStore({ folder, keychain: async () => chain });
  const withFile = () => new CredentialStore({ folder, keychain: async () => undefined });
  const onDisk = () => readFileSync(join(folder, 'credentials.json'), 'utf8');
  beforeEach(() => {
    folder = join(mkdtempSync(join(tmpdir(), 'rg-credentials-')), 'reelgate');
    chain = new Chain();
  });
  afterEach(() => rmSync(join(folder, '..'), { recursive: true, force: true }));

  it('uses the keychain if there is one and writes no token to disk', async () => {
    assert.equal(await withChain().write(KEY, signIn), 'the test keychain');
    assert.deepEqual(await withChain().read(KEY), signIn);
    assert.doesNotMatch(onDisk(), /secret/);
    await withChain().remove(KEY, { tokensRevoked: true });
    assert.equal(chain.kept.size, 0);
    assert.equal(await withChain().read(KEY), undefined);
  });

  it('otherwise uses a file and folder readable by their owner only, and reports that', async () => {
    const place = await withFile().write(KEY, signIn);
    assert.match(place, /credentials\.json \(only you can read it\)$/);
    assert.deepEqual(await withFile().read(KEY), signIn);
    assert.equal(statSync(folder).mode & 0o777, 0o700);
    assert.equal(statSync(join(folder, 'credentials.json')).mode & 0o777, 0o600);
    assert.deepEqual(readdirSync(folder), ['credentials.json'], 'no draft is left');
  });

  it('falls back to the file when the keychain refuses, and refreshes tokens where they are stored', async () => {
    chain.isLocked = true;
    assert.match(await withChain().write(KEY, signIn), /only you/);
    chain.isLocked = false;
    assert.match(await withChain().write(KEY, { ...signIn, accessToken: 'rgat_secret2' }), /only you/);
    assert.equal(chain.kept.size, 0);
    assert.equal(await withChain().write(KEY, signIn, 'best'), 'the test keychain');
    assert.doesNotMatch(onDisk(), /secret/);
  });

  it('reports a locked keychain as such, not as signed out, and can still delete the credential', async () => {
    await withChain().write(KEY, signIn);
    chain.isLocked = true;
    for (const credentials of [withChain(), withFile()]) {
      await assert.rejects(credentials.read(KEY), KeychainError);
      assert.equal(await credentials.has(KEY), true);
    }
    const told = toErrorReport(
      await withChain()
        .read(KEY)
        .catch((error: unknown) => error),
    );
    assert.deepEqual([told.exitCode, told.code], [3, 'keychain']);
    assert.match(`${told.message} ${told.advice}`, /the test keychain.*REELGATE_KEYCHAIN=0/);
    await withFile().remove(KEY, { tokensRevoked: true });
    assert.equal(await withFile().has(KEY), false);
  });

  it('keeps a sign-in with valid tokens while the keychain cannot be opened', async () => {
    await withChain().write(KEY, signIn);
    chain.isLocked = true;
    for (const store of [withChain(), withFile()]) {
      const error = await store.remove(KEY, { tokensRevoked: false }).catch((thrown: unknown) => thrown);
      assert.match(`${toErrorReport(error).advice}`, /still valid.*console under Devices/);
      assert.equal(await store.has(KEY), true);
    }
    chain.isLocked = false;
    await withChain().remove(KEY, { tokensRevoked: false });
    assert.deepEqual([chain.kept.size, await withChain().has(KEY)], [0, false]);
  });

  it('keeps one device_id per machine and several services, the latest first', async () => {
    const id = await withFile().deviceId();
    await withFile().write(KEY, signIn, 'best');
    await withFile().write('http://127.0.0.1:3000', signIn, 'best');
    assert.equal(await withFile().deviceId(), id);
    assert.equal(await withFile().currentUrl(), 'http://127.0.0.1:3000');
    // A refresh of another sign-in, as of a command with --url.
    await withFile().write(KEY, { ...signIn, accessToken: 'rgat_new' });
    assert.equal(await withFile().currentUrl(), 'http://127.0.0.1:3000');
    await withFile().remove('http://127.0.0.1:3000', { tokensRevoked: true });
    assert.equal(await withFile().currentUrl(), undefined);
    assert.equal(await withFile().has(KEY), true);
  });

  it('replaces a file that is not JSON, or not its own', async () => {
    for (const text of ['{"version":', '', 'null', '[]', '{"version":2}', '{"version":2,"entries":null}']) {
      await withFile().write(KEY, signIn);
      writeFileSync(join(folder, 'credentials.json'), text);
      assert.equal(await withFile().read(KEY), undefined, text);
      await withFile().write(KEY, signIn);
      assert.deepEqual(await withFile().read(KEY), signIn);
    }
  });
});
