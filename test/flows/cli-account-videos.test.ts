import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { stripVTControlCharacters } from 'node:util';
import { CliMachine, parseJsonOutput } from '../cli-process-harness.ts';
import { fixtureProgram } from '../fixture-programs.ts';
import { forOneDatabase } from '../for-each-database.ts';
import { type SandboxService, startSandboxService } from '../service-with-sandbox.ts';

const QUICK = ['--every', '1'];
const MAIN = fixtureProgram('src/cli/main.ts');

describe('videos of a signed-in user', () => {
  const folder = mkdtempSync(join(tmpdir(), 'rg-terminal-'));
  let service: SandboxService;
  let mine: CliMachine;
  before(async () => {
    service = await startSandboxService(`sqlite:${join(folder, 'reelgate.db')}`);
    await service.addChannel('vidu', ['viduq2']);
    await service.operator.grantQuota(1_000_000_000);
    mine = new CliMachine(service.baseUrl);
    await mine.storeCredentials(service.operator);
    // Five finished videos are the minimum for measured durations. They finish before anything queries them.
    const start = () => service.operator.requestData('POST', '/api/videos', { model: 'viduq2', prompt: 'a boat' });
    await Promise.all(Array.from({ length: 5 }, start));
    const finished = () => service.operator.requestData<unknown[]>('GET', '/api/videos?status=SUCCESS');
    while ((await finished()).length < 5) await pause(100);
  });
  after(async () => {
    await service.stop();
    mine.remove();
    rmSync(folder, { recursive: true, force: true });
  });

  /** Runs a command on a pseudo-terminal; stdout and stderr arrive combined. */
  const runOnTerminal = (args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<string> => {
    const command = [process.execPath, MAIN, ...args].map((word) => `'${word}'`).join(' ');
    const child = spawn('script', ['--quiet', '--return', '--command', command, '/dev/null'], {
      env: { ...mine.env, TERM: 'xterm-256color', ...env },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let text = '';
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
    });
    return new Promise((resolve) => child.once('close', () => resolve(text)));
  };

  it('a default model, options by name, the price before and the cost after', async () => {
    assert.equal((await mine.run('video', 'create', 'a kite')).code, 2, 'no model yet');
    assert.equal((await mine.run('config', 'set', 'video-model', 'viduq2')).code, 0);
    assert.match((await mine.run('config')).stdout, /^video-model\tviduq2$/m);
    const quote = parseJsonOutput<{ quota: number; how_many_today: number | null }>(
      await mine.run('video', 'create', 'a kite', '--dry-run', '--seconds', '4', '--json'),
    );
    const made = await mine.run('video', 'create', 'a kite', '--seconds', '4', '--seed', '7', ...QUICK, '--json');
    assert.equal(parseJsonOutput<{ quota: number }>(made).quota, quote.quota, made.stderr);
    const { id } = parseJsonOutput<{ id: string }>(made);
    const [sent] = parseJsonOutput<{ id: string; request?: unknown }[]>(await mine.run('video', 'list', '--json'));
    assert.equal(sent?.id, id);
    const shown = parseJsonOutput<{ request: { metadata?: unknown } }>(await mine.run('video', 'get', id, '--json'));
    assert.deepEqual(shown.request.metadata, { seed: 7 });
    const without = await mine.run('video', 'create', 'a kite', '--negative', 'rain');
    assert.deepEqual([without.code, without.stderr], [2, 'Error: viduq2 has no --negative.\n']);
    const wrong = await mine.run('video', 'create', 'a kite', '--seconds', '99');
    assert.match(wrong.stderr, /--seconds/);
  });

  it('are grouped in collections, whose deletion keeps them', async () => {
    const run = async (...args: readonly string[]): Promise<string> => {
      const { code, stdout, stderr } = await mine.run(...args);
      assert.equal(code, 0, stderr);
      return stdout;
    };
    const ids = parseJsonOutput<{ id: string }[]>(await mine.run('video', 'list', '--json')).map(({ id }) => id);
    const [one = '', two = ''] = ids;
    const collection = (await run('collections', 'create', 'Boats')).trim();
    await run('collections', 'add', collection, one, two);
    await run('collections', 'rename', collection, 'Ships');
    await run('collections', 'remove', collection, one);
    assert.match(await run('collections'), new RegExp(`^${collection}\\tShips\\t1\\t`, 'm'));
    const listed = await mine.run('video', 'list', '--collection', collection, '--json');
    assert.deepEqual(
      parseJsonOutput<{ id: string }[]>(listed).map(({ id }) => id),
      [two],
    );
    await run('collections', 'delete', collection);
    assert.notEqual((await mine.run('collections', 'delete', collection)).code, 0);
    assert.equal(parseJsonOutput<unknown[]>(await mine.run('video', 'list', '--json')).length, ids.length);
  });

  it('a failure in our own words, with the remedy, and that it was not charged', async () => {
    const failed = await mine.run('video', 'create', 'a kite [fail]', ...QUICK);
    assert.equal(failed.code, 5);
    assert.match(failed.stderr, /Error: .*\n.*\nIt was not charged\.\nThe vendor's message: /);
  });

  it('on a terminal: colours, an aligned table, measured durations while waiting; in a pipe none of these', async () => {
    const waited = await runOnTerminal(['video', 'create', 'a boat', ...QUICK]);
    assert.match(waited, /usually take \d+ seconds?; nine of ten/);
    assert.match(
      stripVTControlCharacters(waited),
      /░ {2}0:0\d {2}(about \d+ seconds? left|almost done|slower than usual)/,
    );
    assert.match(waited, /It cost [\d.]+ credits/);
    const table = await runOnTerminal(['models', '--kind', 'video', '--search', 'VIDU q2']);
    assert.match(
      stripVTControlCharacters(table),
      /^MODEL +KIND +VENDOR +PRICE +USUALLY TAKES\r\nviduq2 +video +Vidu +.*credits/,
    );
    assert.ok(table.includes('\u001b[1mMODEL'));
    assert.ok(!(await runOnTerminal(['models'], { NO_COLOR: '1' })).includes('\u001b['));
    const piped = await mine.run('models', '--kind', 'video');
    assert.match(piped.stdout, /^viduq2\tvideo\tVidu\t[^\t]*credits[^\t]*\t\d+ seconds?\t\n/);
    assert.equal((await mine.run('models', '--search', 'none such')).stdout, '');
    const forced = await new CliMachine(service.baseUrl, { ...mine.env, FORCE_COLOR: '1' }).run('video', 'list');
    assert.ok(forced.stdout.includes('\u001b[32mcompleted'));
  });

  it('an unreachable service is reported before a missing sign-in', async () => {
    const away = await new CliMachine('http://127.0.0.1:9').run('video', 'list', '--json');
    assert.equal(parseJsonOutput<{ error: { code: string } }>(away).error.code, 'network');
  });
});

describe('videos of an account', () => {
  forOneDatabase((_name, _open, freshUrl) => {
    let service: SandboxService;
    const machines: CliMachine[] = [];
    const machine = (env: Record<string, string> = {}): CliMachine => {
      const made = new CliMachine(service.baseUrl, env);
      machines.push(made);
      return made;
    };
    before(async () => {
      service = await startSandboxService(await freshUrl());
      await service.operator.grantQuota(1_000_000_000);
      await service.addChannel('kling', ['kling-v1-6']);
    });
    after(async () => {
      await service.stop();
      for (const each of machines) each.remove();
    });

    it('lists the videos of the whole account, with model, prompt and cost', async () => {
      const key = await service.operator.makeToken();
      const program = machine({ REELGATE_API_KEY: key });
      const started = await program.run('video', 'create', 'a kite', '--model', 'kling-v1-6', '--every', '1', '--json');
      const id = String(parseJsonOutput(started).id);
      const mine = machine();
      await mine.storeCredentials(service.operator);
      const rows = parseJsonOutput<{ id: string; model: string }[]>(await mine.run('video', 'list', '--json'));
      assert.deepEqual([rows[0]?.id, rows[0]?.model], [id, 'kling-v1-6']);
      const shown = await mine.run('video', 'get', id);
      assert.match(shown.stdout, /^Status\tcompleted\nModel\tkling-v1-6\nPrompt\ta kite\nCost\t[\d.]+ credits\n/m);
      assert.equal((await mine.run('video', 'list', '--after', id)).code, 2);
      assert.equal((await program.run('video', 'list', '--page', '2')).code, 2);
      assert.match((await program.run('video', 'list')).stdout, /\ta kite\t/, 'a key shows prompts too');
    });
  });
});
