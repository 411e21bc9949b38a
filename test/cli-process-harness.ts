import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CredentialStore } from '../src/cli/credentials.ts';
import { CLI_OAUTH_CLIENT, pollDeviceToken } from '../src/contract/device-auth.ts';
import { Reelgate } from '../src/sdk/index.ts';
import type { AdminClient } from './admin-client.ts';
import { CHILD_PROCESS_ENVIRONMENT } from './child-process-environment.ts';
import { fixtureProgram } from './fixture-programs.ts';

const MAIN = fixtureProgram('src/cli/main.ts');

/** The exit code and output of a finished process; `code` is null if a signal ended it. */
export interface ProcessResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Parses the output of a command with --json: one document on one line. */
export function parseJsonOutput<T = Record<string, unknown>>({ stdout }: ProcessResult): T {
  if (!/^[^\n]+\n$/.test(stdout)) throw new Error(`no single line of JSON: ${stdout}`);
  return JSON.parse(stdout) as T;
}

/** A running CLI command in its own process, without a terminal. */
export class CliProcess {
  readonly #child: ChildProcess;
  readonly exited: Promise<ProcessResult>;
  stdout = '';
  stderr = '';

  constructor(child: ChildProcess) {
    this.#child = child;
    child.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
      this.stdout += chunk;
    });
    child.stderr?.setEncoding('utf8').on('data', (chunk: string) => {
      this.stderr += chunk;
    });
    this.exited = new Promise((resolve) =>
      child.once('close', (code) => resolve({ code, stdout: this.stdout, stderr: this.stderr })),
    );
  }

  /** Waits for the first match in stderr. @throws Error if the process ends without one */
  async waitForStderr(pattern: RegExp): Promise<string> {
    for (;;) {
      const found = pattern.exec(this.stderr);
      if (found !== null) return found[1] ?? found[0];
      const isOver = await Promise.race([
        this.exited.then(() => true),
        new Promise<false>((resolve) => this.#child.stderr?.once('data', () => resolve(false))),
      ]);
      if (isOver && !pattern.test(this.stderr)) throw new Error(`ended without ${pattern}:\n${this.stderr}`);
    }
  }

  interrupt(): void {
    this.#child.kill('SIGINT');
  }
}

interface CredentialFile {
  readonly entries: Record<
    string,
    { secrets: { accessToken: string; accessExpiresAt: number } & Record<string, string> }
  >;
}

/** A user's machine: its own settings folder and environment. */
export class CliMachine {
  readonly folder = mkdtempSync(join(tmpdir(), 'rg-cli-'));
  readonly env: Record<string, string>;

  constructor(baseUrl: string, env: Record<string, string> = {}) {
    this.env = {
      ...CHILD_PROCESS_ENVIRONMENT,
      HOME: this.folder,
      REELGATE_URL: baseUrl,
      REELGATE_CONFIG_DIR: join(this.folder, 'settings'),
      REELGATE_KEYCHAIN: '0',
      ...env,
    };
  }

  start(...args: string[]): CliProcess {
    return new CliProcess(
      spawn(process.execPath, [MAIN, ...args], { cwd: this.folder, env: this.env, stdio: ['ignore', 'pipe', 'pipe'] }),
    );
  }

  run(...args: string[]): Promise<ProcessResult> {
    return this.start(...args).exited;
  }

  /** Runs a command with the given standard input. */
  runWithInput(input: string, ...args: string[]): Promise<ProcessResult> {
    const child = spawn(process.execPath, [MAIN, ...args], { env: this.env });
    child.stdin.end(input);
    return new CliProcess(child).exited;
  }

  /** Stores credentials as `reelgate login` does, without its waits between polls. */
  async storeCredentials(operator: AdminClient): Promise<void> {
    const baseUrl = this.env.REELGATE_URL ?? '';
    const { transport, deviceAuth } = new Reelgate({ baseUrl });
    const credentials = new CredentialStore({
      folder: this.env.REELGATE_CONFIG_DIR ?? '',
      keychain: async () => undefined,
    });
    await credentials.runExclusive(async () => {
      const code = await deviceAuth.start({ name: 'a machine', id: await credentials.deviceId() });
      await operator.requestData('POST', '/api/auth/device/approve', { user_code: code.user_code });
      const client = { client_id: CLI_OAUTH_CLIENT.id, client_secret: CLI_OAUTH_CLIENT.secret };
      const { data } = await transport.call(pollDeviceToken, { body: { ...client, device_code: code.device_code } });
      const signIn = {
        userId: data.user_id,
        username: data.username,
        displayName: data.display_name,
        userHeader: 'Service-Api-User',
        accessToken: data.access_token,
        refreshToken: data.refresh_token,
        llmToken: data.llm_token,
        accessExpiresAt: Date.now() + data.expires_in * 1000,
      };
      await credentials.write(baseUrl, signIn, 'best');
    });
  }

  /** Starts a sign-in and resolves when the code is displayed. */
  async startLogin(...args: string[]): Promise<{ readonly command: CliProcess; readonly code: string }> {
    const command = this.start('login', '--force', ...args);
    return { command, code: await command.waitForStderr(/Code +(\w{4}-\w{4})\n/) };
  }

  get credentialsPath(): string {
    return join(this.folder, 'settings', 'credentials.json');
  }

  /** Reads the tokens from disk. */
  storedTokens() {
    const [entry] = Object.values((JSON.parse(readFileSync(this.credentialsPath, 'utf8')) as CredentialFile).entries);
    if (entry === undefined) throw new Error('nobody is signed in');
    return entry.secrets;
  }

  /** Expires the access token as if 30 days had passed. */
  expireAccessToken(): void {
    const kept = JSON.parse(readFileSync(this.credentialsPath, 'utf8')) as CredentialFile;
    for (const entry of Object.values(kept.entries)) entry.secrets.accessExpiresAt = 1;
    writeFileSync(this.credentialsPath, JSON.stringify(kept));
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}
