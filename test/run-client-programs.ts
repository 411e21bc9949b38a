import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { type ChatService, PRICE, startChat } from './chat/chat-fixture.ts';
import { type RecordingProxy, startRecordingProxy } from './feature-recording-proxy.ts';

const run = promisify(execFile);
const folder = join(import.meta.dirname, '..', 'clients');
const isInstalled = existsSync(join(folder, 'node_modules'));
const PLATFORM = `${process.platform}-${process.arch}`;

/** Only this machine is reached: whatever else a program asks for goes to a proxy that nobody runs. */
const NOWHERE = 'http://127.0.0.1:1';
const ISOLATED = {
  ...{ HTTPS_PROXY: NOWHERE, NO_PROXY: '127.0.0.1,localhost', NODE_USE_ENV_PROXY: '1' },
  ...{ DO_NOT_TRACK: '1', MASTRA_TELEMETRY_DISABLED: '1' },
};

/** Models of the other kinds of chat upstreams, by their vendors and the options of their channels. */
const CHAT_MODELS = [
  ['sandbox-claude', 'anthropic', {}],
  ['sandbox-gemini', 'gemini', {}],
  ['sandbox-chat-mini', 'openai', { responses: false }],
] as const;

const VIDEO_MODELS = [
  ['sora', 'sora-2'],
  ['hailuo', 'MiniMax-H3'],
] as const;

/**
 * Runs programs of `clients/` as their users do, with only base URL and key changed, and compares what they did with their section of
 * clients/README.md. A file of tests has its own section, since each file has a time limit.
 *
 * @param clients Program and arguments by the client's name
 * @param platform The only platform the programs are published for, or whose executables the lock contains
 */
export function runClientPrograms(
  section: string,
  clients: Readonly<Record<string, readonly string[]>>,
  platform = PLATFORM,
): void {
  const MATRIX = join(import.meta.dirname, '..', 'clients', 'README.md');
  const reason = platform === PLATFORM ? 'they are not installed: npm ci --prefix clients' : `they need ${platform}`;
  describe(section, { skip: isInstalled && platform === PLATFORM ? false : reason }, () => {
    let service: ChatService;
    let observer: RecordingProxy;
    const done = new Set<string>();
    before(async () => {
      service = await startChat('sqlite::memory:');
      for (const [vendor, id] of VIDEO_MODELS) {
        const video = { id, vendor, kind: 'video', price: { per_call: 1_000 } };
        await service.operator.requestData('POST', '/api/admin/models', video).catch(() => undefined);
        await service.addChannel(vendor, [id]);
      }
      for (const [id, vendor, options] of CHAT_MODELS) {
        await service.operator.requestData('POST', '/api/admin/models', { id, vendor, kind: 'chat', price: PRICE });
        await service.addChannel(vendor, [id], { options: { private: true, ...options } });
      }
      observer = await startRecordingProxy(service.baseUrl);
    });
    after(async () => {
      await observer.stop();
      await service.stop();
    });

    for (const [name, [program = '', ...parameters]] of Object.entries(clients)) {
      it(name, { timeout: 400_000 }, async () => {
        observer.begin(name);
        const addresses = { SERVICE_URL: observer.url, SERVICE_KEY: service.key };
        const env = { ...process.env, ...ISOLATED, ...addresses, NODE_OPTIONS: '' };
        const started = run(process.execPath, ['--no-warnings', program, ...parameters], { cwd: folder, env });
        const failure = await started.then(
          () => '',
          (error: { stderr?: string; stdout?: string }) => `${error.stdout ?? ''}\n${error.stderr ?? ''}`,
        );
        assert.equal(failure, '');
        done.add(name);
      });
    }

    it('clients/README.md lists what they did', () => {
      const absent = Object.keys(clients).filter((name) => !done.has(name));
      assert.deepEqual(absent, [], 'all have run and succeeded; the table is of all of them');
      const document = readFileSync(MATRIX, 'utf8');
      const start = document.indexOf(`## ${section}\n`);
      assert.notEqual(start, -1, `no section “${section}”`);
      const next = document.indexOf('\n## ', start + 1);
      const table = `## ${section}\n\n| Client | Dialect | Models | Besides text |\n| --- | --- | --- | --- |\n${observer.render()}\n`;
      const end = next === -1 ? document.length : next;
      if (process.env.WRITE_MATRIX === '1')
        writeFileSync(MATRIX, document.slice(0, start) + table + document.slice(end));
      else assert.equal(withoutAlignment(document.slice(start, end)), withoutAlignment(table));
    });
  });
}

/** The formatter aligns the columns of Markdown tables. */
const withoutAlignment = (text: string): string => text.replaceAll(/ +/g, ' ').replaceAll(/-{3,}/g, '---');
