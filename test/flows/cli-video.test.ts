import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { CliMachine, parseJsonOutput } from '../cli-process-harness.ts';
import { FlakyProxy } from '../flaky-proxy.ts';
import { forOneDatabase } from '../for-each-database.ts';
import { type SandboxService, startSandboxService } from '../service-with-sandbox.ts';

interface Failure {
  readonly error: { code: string; message: string; status: number; task_id?: string };
}
const SORA = ['--model', 'sora-2', '--every', '1'];
const hashOf = (path: string): string => createHash('sha256').update(readFileSync(path)).digest('hex');

describe('videos from a terminal', () => {
  forOneDatabase((_name, _open, freshUrl) => {
    let service: SandboxService;
    let proxy: FlakyProxy;
    let mine: CliMachine;
    let key: string;
    const file = (name: string): string => join(mine.folder, name);
    const quota = async () => (await service.operator.quota()).quota;

    before(async () => {
      service = await startSandboxService(await freshUrl());
      await service.addChannel('sora', ['sora-2']);
      await service.operator.grantQuota(1_000_000_000);
      proxy = await FlakyProxy.start(service.baseUrl);
      key = await service.operator.makeToken();
      mine = new CliMachine(proxy.url, { REELGATE_API_KEY: key });
    });
    after(async () => {
      await proxy.stop();
      await service.stop();
      mine.remove();
    });

    it('are created, followed and saved; none is started that could not be saved', async () => {
      const before = await quota();
      const out = file('cat.mp4');
      const made = await mine.run('video', 'create', 'a cat', ...SORA, '--out', out);
      assert.equal(made.code, 0, made.stderr);
      assert.match(made.stderr, /^Task video_\w+\n/);
      assert.match(made.stderr, /completed\n/);
      assert.match(made.stdout, /^Saved .*cat\.mp4 \(\d+ KB\)\.\n$/);
      assert.equal(readFileSync(out).subarray(4, 8).toString(), 'ftyp');
      const paid = await quota();
      assert.ok(paid < before);

      const again = await mine.run('video', 'create', 'a cat', ...SORA, '--out', out);
      assert.equal(again.code, 2);
      assert.match(again.stderr, /--force/);
      const nowhere = await mine.run('video', 'create', 'a cat', ...SORA, '--out', '/nowhere/cat.mp4');
      assert.equal(nowhere.code, 1);
      assert.match(nowhere.stderr, /no such file or folder/);
      assert.equal(await quota(), paid, 'nothing was started that could not be saved');
    });

    it('print one JSON document each: started, waited for, shown, listed, downloaded, deleted', async () => {
      const { id } = parseJsonOutput<{ id: string }>(
        await mine.run('video', 'create', 'a kite', ...SORA, '--no-wait', '--json'),
      );
      const waited = await mine.run('video', 'wait', id, '--every', '1', '--json');
      assert.equal(waited.stderr, '');
      assert.deepEqual([parseJsonOutput(waited).id, parseJsonOutput(waited).status], [id, 'completed']);
      assert.equal(parseJsonOutput(await mine.run('video', 'get', id, '--json')).status, 'completed');
      const rows = parseJsonOutput<{ id: string }[]>(await mine.run('video', 'list', '--limit', '5', '--json'));
      assert.match((await mine.run('video', 'list')).stdout, /\ta (cat|kite)\t/);
      assert.equal(rows[0]?.id, id);
      const fetched = parseJsonOutput(await mine.run('video', 'download', id, '--out', file('kite.mp4'), '--json'));
      assert.equal(fetched.bytes, statSync(file('kite.mp4')).size);
      const named = parseJsonOutput(await mine.run('video', 'download', id, '--json'));
      assert.deepEqual(named, { id, file: `${id}.mp4`, bytes: fetched.bytes });
      assert.equal(hashOf(file(`${id}.mp4`)), hashOf(file('kite.mp4')));
      assert.equal((await mine.run('video', 'download', id)).code, 2, 'it replaces no file unasked');
      assert.equal((await mine.run('video', 'download', id, '--force')).code, 0);
      assert.equal(parseJsonOutput(await mine.run('video', 'delete', id, '--json')).deleted, true);
      const gone = await mine.run('video', 'get', id, '--json');
      assert.deepEqual([gone.code, parseJsonOutput<Failure>(gone).error.code], [1, 'task_not_exist']);
    });

    it('are edited and continued from a file on this computer, which is uploaded first', async () => {
      const source = file('source.mp4');
      await mine.run('video', 'create', 'a sail', ...SORA, '--out', source);
      const storing = await startSandboxService(await freshUrl(), {
        env: { ARTIFACTS: 'disk', ARTIFACTS_DIR: file('stored'), ARTIFACTS_MIN_FREE_GB: '0' },
      });
      const other = new CliMachine(storing.baseUrl);
      try {
        await storing.addChannel('wan', ['wan2.7-videoedit', 'wan2.7-i2v']);
        await storing.operator.grantQuota(1_000_000_000);
        other.env.REELGATE_API_KEY = await storing.operator.makeToken();
        const vague = await other.run('video', 'edit', source, 'at night');
        assert.deepEqual([vague.code, vague.stderr], [2, 'Error: A file needs a model: choose one with --model.\n']);
        for (const [change, model] of [
          ['edit', 'wan2.7-videoedit'],
          ['extend', 'wan2.7-i2v'],
        ] as const) {
          const out = file(`${change}.mp4`);
          const options = ['--model', model, '--every', '1', '--out', out];
          const made = await other.run('video', change, source, 'at night', ...options);
          assert.equal(made.code, 0, made.stderr);
          assert.match(made.stderr, /^File file-\w+\nTask \w+\n/);
          assert.equal(readFileSync(out).subarray(4, 8).toString(), 'ftyp');
        }
      } finally {
        await storing.stop();
        other.remove();
      }
    });

    it('an interrupted download resumes where it stopped, in the same run and in a later one', async () => {
      const id = (await mine.run('video', 'create', 'a boat', ...SORA, '--no-wait')).stdout.trim();
      assert.equal((await mine.run('video', 'wait', id, '--every', '1')).code, 0);
      const whole = file('whole.mp4');
      await mine.run('video', 'download', id, '--out', whole);
      proxy.ranges.length = 0;
      const grown = (size: number) => async () => {
        while ((statSync(file(`cut.mp4.${id}.part`), { throwIfNoEntry: false })?.size ?? 0) < size) await pause(20);
      };
      proxy.truncations.push({ after: 10_000, arrived: grown(10_000) }, { after: 7_000, arrived: grown(17_000) });
      const cut = await mine.run('video', 'download', id, '--out', file('cut.mp4'));
      assert.equal(cut.code, 0, cut.stderr);
      assert.deepEqual(proxy.ranges, ['', 'bytes=10000-', 'bytes=17000-'], 'what had arrived is not fetched again');
      assert.equal(hashOf(file('cut.mp4')), hashOf(whole));

      writeFileSync(file(`later.mp4.${id}.part`), readFileSync(whole).subarray(0, 5000));
      proxy.ranges.length = 0;
      await mine.run('video', 'download', id, '--out', file('later.mp4'));
      assert.deepEqual(proxy.ranges, ['bytes=5000-']);
      assert.equal(hashOf(file('later.mp4')), hashOf(whole));

      writeFileSync(file(`odd.mp4.${id}.part`), readFileSync(whole).subarray(0, 5000));
      proxy.ranges.length = 0;
      proxy.wrongStarts.push(4000);
      const odd = await mine.run('video', 'download', id, '--out', file('odd.mp4'));
      assert.equal(odd.code, 0, odd.stderr);
      assert.deepEqual(proxy.ranges, ['bytes=5000-', ''], 'another part than was requested is not appended');
      assert.equal(hashOf(file('odd.mp4')), hashOf(whole));
      assert.ok(!readdirSync(mine.folder).some((name) => name.endsWith('.part')));
    });

    it('an outage does not end the wait', async () => {
      const making = mine.start('video', 'create', 'a lighthouse', ...SORA);
      await making.waitForStderr(/queued|in progress/);
      proxy.isDown = true;
      await making.waitForStderr(/cannot be reached\. The task continues/);
      proxy.isDown = false;
      const ended = await making.exited;
      assert.equal(ended.code, 0, ended.stderr);
    });

    it('Ctrl-C keeps the task running and says how to resume', async () => {
      for (const format of [[], ['--json']]) {
        const making = mine.start('video', 'create', 'a [stuck] clock', ...SORA, ...format);
        await (format.length === 0
          ? making.waitForStderr(/queued|in progress/)
          : proxy.untilForwarded(/^\/v1\/videos\/video_/));
        making.interrupt();
        const ended = await making.exited;
        assert.equal(ended.code, 130, ended.stderr);
        if (format.length === 0) assert.match(ended.stderr, /continues.*reelgate video wait video_\w+/);
        else assert.match(String(parseJsonOutput<Failure>(ended).error.task_id), /^video_/);
      }
    });

    it('the exit status identifies the outcome', async () => {
      const ends: readonly [code: number, word: string, ...args: string[]][] = [
        [5, 'task_failed', 'video', 'create', 'it will [fail]', ...SORA],
        [6, 'timeout', 'video', 'create', 'it is [stuck]', ...SORA, '--timeout', '1'],
        [1, 'model_not_found', 'video', 'create', 'x', '--model', 'none-such'],
        [1, 'task_not_exist', 'video', 'wait', 'task_none'],
        [1, 'file', 'video', 'create', 'x', ...SORA, '--image', file('none.png')],
        [2, 'usage', 'video', 'create', 'x'],
        [2, 'usage', 'video', 'create', 'x', ...SORA, '--seed', '7'],
        [1, 'invalid_value', 'video', 'create', 'x', ...SORA, '--seconds', '7'],
        [2, 'usage', 'video'],
        [2, 'usage', 'no-such-command'],
        [7, 'network', 'video', 'list', '--url', 'http://127.0.0.1:9'],
      ];
      const all = await Promise.all(ends.map(([, , ...args]) => mine.run(...args, '--json')));
      for (const [index, [code, word, ...args]] of ends.entries()) {
        const ended = all[index] ?? assert.fail();
        const { error } = parseJsonOutput<Failure>(ended);
        assert.deepEqual([ended.code, error.code, error.status], [code, word, code], args.join(' '));
        assert.equal(ended.stderr, '');
        assert.equal(error.task_id !== undefined, code === 5 || code === 6, args.join(' '));
        assert.ok(!ended.stdout.includes(key));
      }
      const poor = await service.operator.makeToken({ quota_limit: 10 });
      const spent = await new CliMachine(proxy.url, { REELGATE_API_KEY: poor }).run('video', 'create', 'x', ...SORA);
      assert.equal(spent.code, 4, spent.stderr);
      const unauthorized = await new CliMachine(proxy.url, { REELGATE_API_KEY: 'sk-wrong' }).run('video', 'list');
      assert.equal(unauthorized.code, 3);
      assert.match(unauthorized.stderr, /REELGATE_API_KEY was used/);
      const nobody = await new CliMachine(proxy.url).run('video', 'list');
      assert.equal(nobody.code, 3);
      assert.match(nobody.stderr, /not signed in.*\n.*reelgate login/);
      assert.equal(existsSync(file('none.png')), false);
    });
  });
});
