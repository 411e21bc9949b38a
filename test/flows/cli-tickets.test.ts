import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { type LiveNotification, Reelgate, ReelgateError } from '../../src/sdk/index.ts';
import { CliMachine, type ProcessResult } from '../cli-process-harness.ts';
import { forOneDatabase } from '../for-each-database.ts';
import { type SandboxService, startSandboxService } from '../service-with-sandbox.ts';

const parse = <T>({ stdout }: ProcessResult): T => JSON.parse(stdout) as T;

describe('notifications and tickets from a terminal', () => {
  forOneDatabase((_name, _open, freshUrl) => {
    let service: SandboxService;
    let mine: CliMachine;
    let reelgate: Reelgate;
    before(async () => {
      service = await startSandboxService(await freshUrl());
      mine = new CliMachine(service.baseUrl);
      await mine.storeCredentials(service.operator);
      const { accessToken } = mine.storedTokens();
      reelgate = new Reelgate({
        baseUrl: service.baseUrl,
        credentials: { ...(accessToken === undefined ? {} : { accessToken }), userId: service.operator.id },
      });
    });
    after(async () => {
      mine.remove();
      await service.stop();
    });
    const announce = (title: string) =>
      service.operator.requestData<{ id: number }>('POST', '/api/admin/announcements', {
        title,
        content: 'Tonight\nat ten.',
      });

    it('a ticket is opened, answered and closed, with its notifications', async () => {
      const { id } = parse<{ id: number }>(
        await mine.run('tickets', 'new', 'Too dark', 'It is black.', '--category', 'video', '--json'),
      );
      await service.operator.requestData('POST', `/api/admin/tickets/${id}/replies`, {
        content: 'Which one?\u001b[2J',
      });
      const replied = await mine.runWithInput('The first.\n', 'tickets', 'reply', String(id), '-');
      assert.equal(replied.code, 0, replied.stderr);
      const { stdout } = await mine.run('tickets', 'show', String(id));
      assert.match(
        stdout,
        /Too dark[\s\S]*It is black\.[\s\S]*Support, [\s\S]*Which one\?[\s\S]*You, [\s\S]*The first\./,
      );
      assert.ok(!stdout.includes('\u001b'));
      assert.match((await mine.run('tickets')).stdout, new RegExp(`${id}\\topen\\tsupport\\t.*Too dark`));
      assert.equal((await mine.run('tickets', 'close', String(id))).code, 0);
      const late = await mine.run('tickets', 'reply', String(id), 'more');
      assert.deepEqual([late.code, /closed/.test(late.stderr)], [1, true]);
      const foreign = await mine.run('tickets', 'show', '99999');
      assert.deepEqual([foreign.code, /No such ticket/.test(foreign.stderr)], [1, true]);

      const { notifications } = parse<{ notifications: { id: number; type: string }[] }>(
        await mine.run('notifications', '--unread', '--json'),
      );
      const reply = notifications.find(({ type }) => type === 'ticket_reply');
      const before = await reelgate.notifications.unreadCount();
      const read = await mine.run('notifications', 'read', String(reply?.id), '--json');
      assert.deepEqual(parse(read), { unread_count: before - 1 });
      assert.match((await mine.run('notifications')).stdout, /Reply to “Too dark”/);
      assert.deepEqual(parse(await mine.run('notifications', 'read', '--all', '--json')), { unread_count: 0 });
      const none = await mine.run('notifications', '--unread');
      assert.deepEqual([none.stdout, none.stderr], ['', 'No notifications.\n']);
      assert.match((await mine.run('notifications', 'read', '987654321')).stderr, /Invalid notification ID/);
    });

    it('watch prints one JSON document per line until interrupted', async () => {
      const watching = mine.start('notifications', '--watch', '--json');
      const people = mine.start('notifications', '--watch');
      await people.waitForStderr(/Waiting for notifications/);
      const until = async (text: string, on: typeof watching) => {
        for (let attempts = 0; attempts < 300 && !on.stdout.includes(text); attempts += 1) await pause(20);
        assert.ok(on.stdout.includes(text), on.stderr);
      };
      // With --json the command does not print when it has connected.
      for (let tries = 0; tries < 100 && service.app.notifications.streams.size < 2; tries += 1) await pause(20);
      await announce('first');
      await announce('second');
      await until('second', watching);
      await until('second', people);
      watching.interrupt();
      people.interrupt();
      const [ended, told] = await Promise.all([watching.exited, people.exited]);
      assert.deepEqual(
        ended.stdout
          .trim()
          .split('\n')
          .map((line) => (JSON.parse(line) as { title: string }).title),
        ['first', 'second'],
      );
      assert.match(told.stdout, /^\d{4}-\d\d-\d\d \d\d:\d\d {2}first\n {2}Tonight\n {2}at ten\.\n/);
      assert.deepEqual([ended.code, told.code], [130, 130]);
    });

    it('the SDK resumes after the last event, and stops when signed out', async () => {
      const stop = new AbortController();
      const seen: LiveNotification[] = [];
      for await (const event of reelgate.notifications.follow({ signal: stop.signal })) {
        seen.push(event);
        if (event.kind === 'gap') await announce('while open');
        if (event.kind === 'notification') stop.abort();
      }
      const last = seen.at(-1);
      assert.equal(last?.kind === 'notification' && last.notification.title, 'while open');
      await announce('while away');
      const again = new AbortController();
      const later: string[] = [];
      const lastEventId = last?.kind === 'notification' ? last.id : '';
      for await (const event of reelgate.notifications.follow({ lastEventId, signal: again.signal })) {
        later.push(event.kind === 'notification' ? event.notification.title : event.kind);
        if (event.kind === 'notification') again.abort();
      }
      assert.ok(later.includes('while away') && !later.includes('while open') && !later.includes('gap'));
      const nobody = new Reelgate({ baseUrl: service.baseUrl });
      const follow = nobody.notifications.follow({ signal: new AbortController().signal });
      await assert.rejects(follow.next(), (error) => error instanceof ReelgateError && error.status === 401);
      await reelgate.notifications.setPreferences({ 'task.finished': false });
      const off = (await reelgate.notifications.preferences()).filter(({ in_app }) => !in_app);
      assert.deepEqual(
        off.map(({ topic }) => topic),
        ['task.finished'],
      );
      const id = await reelgate.betaApplications.apply('longer videos', 'Films.');
      assert.equal((await reelgate.betaApplications.list())[0]?.id, id);
    });
  });
});

it('an invalid command line is refused before a request is sent', async () => {
  const mine = new CliMachine('http://127.0.0.1:9');
  const calls = [
    ['notifications', 'read'],
    ['notifications', 'read', '1', '--all'],
    ['notifications', '--page', '0'],
    ['tickets', 'show', '0'],
    ['tickets', 'new', 'x', '  '],
  ];
  const ended = await Promise.all(calls.map((args) => mine.run(...args)));
  assert.deepEqual(
    ended.map(({ code }) => code),
    calls.map(() => 2),
  );
  mine.remove();
});
