import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { CliMachine } from '../cli-process-harness.ts';
import { fixtureProgram } from '../fixture-programs.ts';

const MAIN = fixtureProgram('src/cli/main.ts');
const CTRL_C = '\u0003';
const CTRL_D = '\u0004';

const sendChunk = (response: ServerResponse, content: string): void => {
  const choices = [{ index: 0, delta: { content }, finish_reason: null }];
  if (!response.headersSent) response.setHeader('content-type', 'text/event-stream');
  response.write(`data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', choices })}\n\n`);
};
const endAnswer = (response: ServerResponse): void => {
  const choices = [{ index: 0, delta: {}, finish_reason: 'stop' }];
  response.end(`data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', choices })}\n\ndata: [DONE]\n\n`);
};

/** Runs code when a command begins to listen to Ctrl-C, which from then on is no longer the end of any process. */
const whenListening = (code: string) => ({
  NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(
    `process.on('newListener',(name)=>name==='SIGINT'&&${code})`,
  )}`,
});
const ANNOUNCE_LISTENER = whenListening(`console.error('listening')`);
const INTERRUPT_EARLY = whenListening(`queueMicrotask(()=>process.emit('SIGINT'))`);

/** A command on a pseudo-terminal. */
class TerminalProcess {
  readonly #child: ChildProcess;
  readonly exited: Promise<number | null>;
  text = '';

  /** @param file receives the standard output; default: the terminal */
  constructor(env: Readonly<Record<string, string>>, args: readonly string[], file?: string) {
    const words = [process.execPath, MAIN, ...args].map((word) => `'${word}'`).join(' ');
    // Without a size, prompts are wrapped after every letter.
    const command = `stty cols 80 rows 24; ${words}${file === undefined ? '' : ` > '${file}'`}`;
    this.#child = spawn('script', ['--quiet', '--return', '--command', command, '/dev/null'], {
      env: { ...env, TERM: 'xterm' },
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    this.#child.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
      this.text += chunk;
    });
    this.exited = once(this.#child, 'close').then(([code]) => code as number | null);
  }

  type(keys: string): void {
    this.#child.stdin?.write(keys);
  }

  /** Waits until a text was shown so many times. */
  async waitFor(shown: string, times = 1): Promise<void> {
    while (this.text.split(shown).length <= times) if (this.#child.stdout) await once(this.#child.stdout, 'data');
  }
}

describe('a command that is interrupted, or whose reader leaves', () => {
  let server: Server;
  let serve: (...call: Parameters<RequestListener>) => unknown;
  let machine: CliMachine;
  beforeEach(async () => {
    server = createServer((request, response) => void serve(request, response));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    machine = new CliMachine(url, { REELGATE_API_KEY: 'sk-any' });
  });
  afterEach(async () => {
    machine.remove();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });

  it('ends at the first Ctrl-C, also while the service does not respond', async () => {
    const arrived = Promise.withResolvers<void>();
    serve = () => arrived.resolve();
    const command = machine.start('whoami');
    await arrived.promise;
    command.interrupt();
    assert.deepEqual(await command.exited, { code: 130, stdout: '', stderr: '' });
  });

  it('ends at Ctrl-C while another process works on the sign-ins', async () => {
    mkdirSync(join(machine.folder, 'settings'));
    using lock = new DatabaseSync(`${machine.credentialsPath}.lock`);
    lock.exec('begin immediate');
    Object.assign(machine.env, ANNOUNCE_LISTENER);
    const command = machine.start('logout');
    await command.waitForStderr(/listening/);
    command.interrupt();
    assert.equal((await command.exited).code, 130);
  });

  it('continues when its progress has lost its reader', async () => {
    let polls = 0;
    serve = (request, response) => {
      if (!request.url?.startsWith('/v1/videos/task_1')) return response.writeHead(404).end('{}');
      polls += 1;
      const status = polls < 3 ? 'in_progress' : 'completed';
      const video = { id: 'task_1', status, progress: polls, model: 'm', metadata: { url: 'https://a.example/v' } };
      return response.end(JSON.stringify(video));
    };
    const child = spawn(process.execPath, [MAIN, 'video', 'wait', 'task_1', '--every', '1'], { env: machine.env });
    child.stderr.destroy();
    child.stdout.resume();
    assert.deepEqual(await once(child, 'close'), [0, null]);
  });

  it('reports a full disk at once', async () => {
    let downloads = 0;
    serve = (_, response) => {
      downloads += 1;
      response.end('bytes of a video');
    };
    const file = join(machine.folder, 'full.mp4');
    symlinkSync('/dev/full', `${file}.task_1.part`);
    const { code, stderr } = await machine.run('video', 'download', 'task_1', '--out', file);
    assert.deepEqual([code, downloads], [1, 1]);
    assert.match(stderr, /full\.mp4\.task_1\.part: the disk is full\./);
  });

  it('names the video that was started if it cannot be saved', async () => {
    const file = join(machine.folder, 'lost.mp4');
    serve = (request, response) => {
      if (request.method === 'POST') return response.end('{"id":"task_1"}');
      if (request.url?.endsWith('/content')) return response.end('bytes of a video');
      if (request.url !== '/v1/videos/task_1') return response.writeHead(404).end('{}');
      symlinkSync('/dev/full', `${file}.task_1.part`);
      return response.end('{"id":"task_1","status":"completed","progress":100,"model":"m"}');
    };
    const { code, stdout } = await machine.run('video', 'create', 'a cat', '--model', 'm', '--out', file, '--json');
    assert.equal(code, 1);
    assert.deepEqual(JSON.parse(stdout).error, {
      message: `${file}.task_1.part: the disk is full.`,
      code: 'file',
      advice: 'The task continues. Wait for it with "reelgate video wait task_1".',
      task_id: 'task_1',
      status: 1,
    });
  });

  it('leaves no incomplete file behind, and the previous one in place', async () => {
    serve = (_, response) => {
      response.writeHead(200, { 'content-length': '1000' });
      response.write('begun', () => response.destroy());
    };
    const path = join(machine.folder, 'saved.csv');
    writeFileSync(path, 'previous');
    machine.env.REELGATE_ACCESS_TOKEN = 'any';
    machine.env.REELGATE_USER_ID = '1';
    for (const command of [
      ['files', 'download', 'file-1'],
      ['batch', 'results', 'batch_1'],
    ]) {
      const { code, stderr } = await machine.run(...command, '--out', path, '--force');
      assert.deepEqual([code, stderr.split('\n')[0]], [7, 'Error: The connection was lost during the download.']);
      assert.equal(readFileSync(path, 'utf8'), 'previous');
      assert.deepEqual(
        readdirSync(machine.folder).filter((name) => name.startsWith('saved')),
        ['saved.csv'],
      );
    }
    serve = (_, response) => response.end('whole');
    assert.equal((await machine.run('files', 'download', 'file-1', '--out', path, '--force')).code, 0);
    assert.equal(readFileSync(path, 'utf8'), 'whole');
  });

  it('reports an answer that breaks off, and the page of a proxy', async () => {
    serve = (_, response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' });
      response.write('{"choices":', () => response.destroy());
    };
    const ask = async () => {
      const { code, stderr } = await machine.run('chat', 'a question', '-m', 'any', '--no-stream');
      return [code, stderr.split('\n')[0]];
    };
    assert.deepEqual(await ask(), [1, 'Error: The response ended too early.']);
    serve = (_, response) => response.end('<html>Log in to this network</html>');
    assert.deepEqual(await ask(), [7, 'Error: The service did not respond with JSON. Is the URL right?']);
  });

  it('follows calls until Ctrl-C', async () => {
    const followed = Promise.withResolvers<void>();
    serve = (request, response) => {
      if (request.url?.startsWith('/api/status')) {
        response.end('{"success":true,"data":{"quota_per_unit":1,"currency":""}}');
      } else if (request.url?.includes('/stream')) {
        response.setHeader('content-type', 'text/event-stream');
        response.write(': open\n\n');
        followed.resolve();
      } else response.end('{"success":true,"data":[],"next":null}');
    };
    machine.env.REELGATE_ACCESS_TOKEN = 'any';
    machine.env.REELGATE_USER_ID = '1';
    const command = machine.start('requests', '--follow');
    await followed.promise;
    command.interrupt();
    assert.deepEqual(await command.exited, { code: 130, stdout: '', stderr: '' });
  });

  it('follows the calls that ended before its connection opened', async () => {
    const row = (ref: string) => ({ ref, time: 1, model: 'm', error_code: '', status: 'ok', kind: 'chat', quota: 1 });
    const rows = [row('req_known')];
    serve = (request, response) => {
      if (request.url?.startsWith('/api/status')) {
        response.end('{"success":true,"data":{"quota_per_unit":1,"currency":""}}');
      } else if (request.url?.includes('/stream')) {
        rows.unshift(row('req_missed'));
        response.setHeader('content-type', 'text/event-stream');
        response.write(`event: request\ndata: ${JSON.stringify(row('req_live'))}\n\n`);
      } else response.end(JSON.stringify({ success: true, data: rows, next: null }));
    };
    machine.env.REELGATE_ACCESS_TOKEN = 'any';
    machine.env.REELGATE_USER_ID = '1';
    const command = machine.start('requests', '--follow', '--json');
    while (!command.stdout.includes('req_live')) await pause(20);
    command.interrupt();
    const { stdout } = await command.exited;
    assert.deepEqual(stdout.match(/req_\w+/g), ['req_known', 'req_missed', 'req_live']);
  });

  it('reports a lost connection while it follows calls', async () => {
    serve = (request, response) => {
      if (request.url?.startsWith('/api/status')) {
        response.end('{"success":true,"data":{"quota_per_unit":1,"currency":""}}');
      } else if (request.url?.includes('/stream')) {
        response.setHeader('content-type', 'text/event-stream');
        response.write(': open\n\n', () => response.destroy());
      } else response.end('{"success":true,"data":[],"next":null}');
    };
    machine.env.REELGATE_ACCESS_TOKEN = 'any';
    machine.env.REELGATE_USER_ID = '1';
    const command = machine.start('requests', '--follow');
    await command.waitForStderr(/The connection to the service was lost\. Trying again …/);
    command.interrupt();
    assert.equal((await command.exited).code, 130);
  });

  it('says at Ctrl-C that a video may have been started whose id has not arrived', async () => {
    for (const more of [[], ['--no-wait', '--json']]) {
      const sent = Promise.withResolvers<void>();
      serve = () => sent.resolve();
      const command = machine.start('video', 'create', 'a cat', '--model', 'm', ...more);
      await sent.promise;
      command.interrupt();
      const { code, stderr } = await command.exited;
      assert.deepEqual([code, stderr], [130, 'The video may have been started: see "reelgate video list".\n']);
    }
  });

  it('takes a Ctrl-C that the terminal and npx both send for one', async () => {
    const polled = Promise.withResolvers<void>();
    const aborted = Promise.withResolvers<void>();
    serve = (_, response) => {
      response.once('close', () => aborted.resolve());
      polled.resolve();
    };
    const command = machine.start('video', 'wait', 'task_1');
    await polled.promise;
    command.interrupt();
    await aborted.promise;
    command.interrupt();
    const { code, stderr } = await command.exited;
    assert.equal(code, 130);
    assert.match(stderr, /The task continues\. Wait for it with "reelgate video wait task_1"\./);
  });

  it('reads a text typed on the terminal until Ctrl-D, and ends at Ctrl-C before', async () => {
    const received = Promise.withResolvers<string>();
    serve = async (request, response) => {
      received.resolve(await text(request));
      response.end('{"success":true,"message":"","data":{"id":3}}');
    };
    const env = { ...machine.env, REELGATE_ACCESS_TOKEN: 'any', REELGATE_USER_ID: '1' };
    const written = new TerminalProcess(env, ['tickets', 'reply', '12', '-']);
    written.type(`Both of them.\r${CTRL_D}`);
    assert.equal(await written.exited, 0, written.text);
    assert.deepEqual(JSON.parse(await received.promise), { content: 'Both of them.\n' });

    const listening = { ...env, ...ANNOUNCE_LISTENER };
    for (const command of [
      ['tickets', 'reply', '12', '-'],
      ['chat', '-', '-m', 'any'],
    ]) {
      const left = new TerminalProcess(listening, command);
      await left.waitFor('listening');
      left.type(CTRL_C);
      assert.equal(await left.exited, 130, left.text);
    }
  });

  describe('a command that asks for the password', () => {
    const file = () => join(machine.folder, 'keys.json');
    /** Serves a login with a second step, and the list of keys. */
    const serveKeys: typeof serve = ({ url = '' }, response) => {
      const isLogin = url.endsWith('/login');
      if (url.includes('/login')) response.setHeader('set-cookie', `session=${isLogin ? 'first' : 'second'}; Path=/`);
      const data = { login: { require_2fa: true }, '2fa': { id: 7 } }[url.split('/').at(-1) ?? ''] ?? [];
      response.end(JSON.stringify({ success: true, data, total: 0, page: 1, page_size: 50 }));
    };
    const start = () => new TerminalProcess(machine.env, ['keys', '--json'], file());
    async function answerLogin(keys: TerminalProcess): Promise<void> {
      await keys.waitFor('User name');
      keys.type('ada\r');
      await keys.waitFor('Password of ada');
      keys.type('secret\r');
    }
    beforeEach(() => {
      serve = serveKeys;
    });

    it('shows its prompts on the terminal if the result goes to a file', async () => {
      const keys = start();
      await answerLogin(keys);
      await keys.waitFor('Code of your authenticator app');
      keys.type('123456\r');
      assert.equal(await keys.exited, 0, keys.text);
      assert.equal(readFileSync(file(), 'utf8'), '[]\n');
    });

    it('tells a wrong password from a service that cannot check it', async () => {
      for (const [status, body, code] of [
        [200, '{"success":false,"message":"Wrong password."}', 3],
        [429, '{"success":false,"message":"Too many requests."}', 1],
        [200, '<html>Log in to this network</html>', 7],
      ] as const) {
        serve = (_, response) => response.writeHead(status).end(body);
        const keys = start();
        await answerLogin(keys);
        assert.equal(await keys.exited, code, keys.text);
      }
    });
  });

  it('a command on the server ends at Ctrl-C before it asks anything', { timeout: 20_000 }, async () => {
    const database = join(machine.folder, 'reelgate.db');
    writeFileSync(database, '');
    const server = { DATABASE_URL: `sqlite:${database}`, MASTER_KEY: Buffer.alloc(32).toString('base64') };
    const env = { ...machine.env, ...server, ...INTERRUPT_EARLY };
    const backup = new TerminalProcess(env, ['admin', 'backup', 'all.backup']);
    assert.equal(await backup.exited, 130, backup.text);
  });

  it('a conversation cancels the answer at Ctrl-C', async () => {
    const closed = Promise.withResolvers<void>();
    serve = (_, response) => {
      response.once('close', () => closed.resolve());
      sendChunk(response, 'begun');
    };
    const chat = new TerminalProcess(machine.env, ['chat', '-m', 'any']);
    await chat.waitFor('> ');
    chat.type('a question\r');
    await chat.waitFor('begun');
    chat.type(CTRL_C);
    assert.equal(await chat.exited, 130);
    await closed.promise;
  });

  it('a conversation asks the lines of a paste together, and those typed during an answer afterwards', async () => {
    const asked: string[] = [];
    serve = async (request, response) => {
      const { messages } = JSON.parse(await text(request)) as { messages: { content: string }[] };
      asked.push(messages.at(-1)?.content ?? '');
      sendChunk(response, `answer ${asked.length}.`);
      if (asked.length > 1) return endAnswer(response);
      await chat.waitFor('answer 1.');
      chat.type('typed\rearly\r');
      await chat.waitFor('early');
      return endAnswer(response);
    };
    const chat = new TerminalProcess(machine.env, ['chat', '-m', 'any']);
    await chat.waitFor('> ');
    chat.type('a\rlong\rques');
    await chat.waitFor('ques');
    chat.type('tion\r');
    await chat.waitFor('answer 2.');
    chat.type(CTRL_D);
    assert.equal(await chat.exited, 0, chat.text);
    assert.deepEqual(asked, ['a\nlong\nquestion', 'typed\nearly']);
  });

  it('a conversation sends the image again with a question that failed', async () => {
    const bodies: string[] = [];
    serve = async (request, response) => {
      bodies.push(await text(request));
      if (bodies.length === 1)
        return response.writeHead(400, { 'content-type': 'application/json' }).end('{"error":{"message":"too large"}}');
      sendChunk(response, 'seen.');
      return endAnswer(response);
    };
    const chat = new TerminalProcess(machine.env, ['chat', '-m', 'any', '--image', 'https://a.example/i.png']);
    await chat.waitFor('> ');
    chat.type('what is it?\r');
    await chat.waitFor('> ', 2);
    chat.type('and now?\r');
    await chat.waitFor('seen.');
    chat.type(CTRL_D);
    await chat.exited;
    assert.match(bodies[1] ?? '', /i\.png/);
  });

  it('a conversation of many questions has no warnings, and ends with Ctrl-D, also during an answer', async () => {
    const QUESTIONS = 12;
    let asked = 0;
    serve = (_, response) => {
      asked += 1;
      sendChunk(response, `answer ${asked}.`);
      if (asked < QUESTIONS) return endAnswer(response);
      chat.type(CTRL_D);
      return endAnswer(response);
    };
    const chat = new TerminalProcess(machine.env, ['chat', '-m', 'any']);
    for (let question = 1; question <= QUESTIONS; question++) {
      await chat.waitFor('> ', question);
      chat.type('next\r');
      await chat.waitFor(`answer ${question}.`);
    }
    assert.equal(await chat.exited, 0, chat.text);
    assert.doesNotMatch(chat.text, /Warning|closed/);
  });
});
