import { execFile, execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';

const run = promisify(execFile);
const PROGRAM = join(import.meta.dirname, '../../clients/node_modules/@anthropic-ai/claude-code/bin/claude.exe');
const SCREEN_WAIT_MS = 30_000;
const RUN_WAIT_MS = 120_000;
const USER_CODE = /\b[A-Z]{4}-[A-Z]{4}\b/;

/** Why the program cannot be tried here; undefined if it can. */
export function whyUnavailable(): string | undefined {
  if (!existsSync(PROGRAM)) return 'the clients are not installed: npm ci --prefix clients';
  try {
    execFileSync('tmux', ['-V'], { stdio: 'ignore' });
    execFileSync('unshare', [...NAMESPACE, 'true'], { stdio: 'ignore' });
    return undefined;
  } catch {
    if (process.env.CI) throw new Error('tmux or mount namespaces are missing');
    return 'tmux or mount namespaces are missing';
  }
}

/** A mount namespace of its own; other users than root need a user namespace for it. */
const NAMESPACE = process.getuid?.() === 0 ? ['--mount'] : ['--map-root-user', '--mount'];

/** Gives the program a copy of /etc in memory that has the managed settings; the machine's stays untouched. */
const WITH_OWN_ETC = `mount -t tmpfs tmpfs "$1" && cp -a /etc/. "$1" 2>/dev/null
mkdir -p "$1/claude-code" && cp "$2" "$1/claude-code/managed-settings.json" && mount --bind "$1" /etc
shift 2 && exec "$@"`;

/** The gateway's part of the program's credential file. */
interface Credential {
  readonly jwt: string;
  readonly idpRefreshToken?: string;
  readonly expiresAt: number;
}

/** A computer on which Claude Code is used: a home folder, managed settings that name the gateway, terminals. */
export class ClaudeComputer {
  readonly #home = mkdtempSync(join(tmpdir(), 'claude-computer-'));
  readonly #etc = join(this.#home, '.etc');
  readonly #settings = join(this.#home, '.managed-settings.json');
  readonly #socket = join(this.#home, '.tmux');
  readonly #project = join(this.#home, 'project');

  constructor(gatewayUrl: string) {
    for (const folder of [this.#etc, this.#project]) mkdirSync(folder);
    const settings = { forceLoginMethod: 'gateway', forceLoginGatewayUrl: gatewayUrl };
    writeFileSync(this.#settings, JSON.stringify(settings));
    // The simulated model asks to read this file.
    writeFileSync(join(this.#project, 'Paris'), 'sunny\n');
  }

  get #environment(): NodeJS.ProcessEnv {
    return {
      PATH: process.env.PATH,
      HOME: this.#home,
      TERM: 'xterm-256color',
      LANG: 'C.UTF-8',
      // Nothing but this machine is reached, and no browser is opened.
      HTTPS_PROXY: 'http://127.0.0.1:1',
      NO_PROXY: '127.0.0.1,localhost',
      BROWSER: 'true',
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      DISABLE_AUTOUPDATER: '1',
    };
  }

  #start(command: readonly string[], timeout: number) {
    const parameters = [...NAMESPACE, 'sh', '-c', WITH_OWN_ETC, 'sh', this.#etc, this.#settings, ...command];
    const started = run('unshare', parameters, { cwd: this.#project, env: this.#environment, timeout });
    started.child.stdin?.end();
    return started;
  }

  /** Runs one task without a terminal and returns the program's JSON report. */
  async ask(prompt: string): Promise<{ result: string; num_turns: number; is_error: boolean }> {
    const parameters = ['-p', prompt, '--output-format', 'json', '--allowedTools', 'Read'];
    const { stdout } = await this.#start([PROGRAM, ...parameters], RUN_WAIT_MS).catch((error) => error);
    return JSON.parse(stdout);
  }

  async #openTerminal(): Promise<void> {
    const session = ['new-session', '-d', '-x', '120', '-y', '45', PROGRAM];
    // The last screen of a program that has ended says why.
    const keepScreen = [';', 'set-option', 'remain-on-exit', 'on'];
    await this.#start(['tmux', '-S', this.#socket, '-f', '/dev/null', ...session, ...keepScreen], 20_000);
  }

  /**
   * Presses the keys of a new user from the first start of the program to its prompt.
   *
   * @param approve confirms the code, as the person does in a browser
   */
  async signIn(approve: (userCode: string) => Promise<unknown>): Promise<void> {
    await this.#openTerminal();
    await this.waitFor(/Choose the text style/);
    await this.press('Enter');
    await this.waitFor(/Enter to connect/);
    await this.press('Enter');
    await this.waitFor(/Trust gateway 127\.0\.0\.1\?/);
    await this.choose('Yes, trust this gateway');
    const [code = ''] = USER_CODE.exec(await this.waitFor(USER_CODE)) ?? [];
    await approve(code);
    await this.waitFor(/Connected to Cloud gateway/);
    await this.press('Enter');
    await this.waitFor(/Security notes|Claude can make mistakes/);
    await this.press('Enter');
    await this.waitFor(/trust this folder/);
    await this.choose('Yes, I trust this folder');
    await this.waitFor(/shift\+tab|\? for shortcuts/);
  }

  async #screen(): Promise<string> {
    return (await run('tmux', ['-S', this.#socket, 'capture-pane', '-p'])).stdout;
  }

  /** Waits until the terminal shows a text and returns the screen. */
  async waitFor(text: RegExp): Promise<string> {
    const end = Date.now() + SCREEN_WAIT_MS;
    for (;;) {
      const screen = await this.#screen();
      if (text.test(screen)) return screen;
      if (Date.now() > end) throw new Error(`the terminal does not show ${text}:\n${screen}`);
      await delay(200);
    }
  }

  /** Presses keys, by their names in tmux. */
  async press(...keys: string[]): Promise<void> {
    await run('tmux', ['-S', this.#socket, 'send-keys', ...keys]);
  }

  /** Moves the cursor of a dialog to an answer and confirms it; a dialog ignores keys until it is drawn. */
  async choose(answer: string): Promise<void> {
    const isChosen = async () => (await this.#screen()).includes(`❯ ${answer}`);
    for (let polls = 0; polls < 300 && !(await isChosen()); polls++) {
      // Rarely: a second key before the dialog has drawn the first would move the cursor past the answer.
      if (polls % 50 === 5) await this.press('Down');
      await delay(200);
    }
    await this.press('Enter');
  }

  get #credentialFile(): string {
    return join(this.#home, '.claude/.credentials.json');
  }

  /** Undefined after a sign-out. */
  get credential(): Credential | undefined {
    return JSON.parse(readFileSync(this.#credentialFile, 'utf8')).enterpriseGateway;
  }

  /** Lets the program believe that its token expires within five minutes, when it renews it. */
  expireSoon(): void {
    const file = JSON.parse(readFileSync(this.#credentialFile, 'utf8'));
    file.enterpriseGateway.expiresAt = Date.now() + 60_000;
    writeFileSync(this.#credentialFile, JSON.stringify(file));
  }

  async remove(): Promise<void> {
    await run('tmux', ['-S', this.#socket, 'kill-server']).catch(() => undefined);
    rmSync(this.#home, { recursive: true, force: true });
  }
}
