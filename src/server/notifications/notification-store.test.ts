import assert from 'node:assert/strict';
import { it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { forEachDatabase } from '../../../test/for-each-database.ts';
import type { Account } from '../accounts/account-store.ts';
import type { Database } from '../platform/db/database.ts';
import { openLog } from '../platform/log.ts';
import type { Tables } from '../tables.ts';
import { InboxService, PreferenceStore, ReadStateStore } from './inbox.ts';
import { NotificationStore } from './notification-store.ts';
import { NotificationStreams, type StreamSink } from './streams.ts';

const until = async (isTrue: () => boolean): Promise<void> => {
  for (let attempt = 0; attempt < 500; attempt += 1) {
    if (isTrue()) return;
    await pause(10);
  }
  assert.fail('the condition did not become true');
};

/** Records the events sent to it. */
class RecordingSink implements StreamSink {
  readonly titles: string[] = [];
  unreadCount = -1;
  beats = 0;
  ended = false;
  free: Promise<void> = Promise.resolve();
  sendNotification: StreamSink['sendNotification'] = ({ row }) => void this.titles.push(row.title_en);
  sendUnreadCount: StreamSink['sendUnreadCount'] = (count) => {
    this.unreadCount = count;
  };
  sendHeartbeat = (): void => {
    this.beats += 1;
  };
  whenWritable = (): Promise<void> => this.free;
  end = (): void => {
    this.ended = true;
  };
}

forEachDatabase((_name, open) => {
  const begin = async (heartbeatMs: number) => {
    const database = await open();
    const listeners = new Set<(userId: number) => void>();
    const changeSignals = {
      notifyChanged: (userId: number) => {
        for (const listener of listeners) listener(userId);
      },
      subscribe: (listener: (userId: number) => void) => {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
    };
    const stores = {
      notifications: new NotificationStore(database),
      readStates: new ReadStateStore(database),
      preferences: new PreferenceStore(database),
    };
    const access = { findEnabled: async () => ({ created_at: 0 }) as Account };
    const inboxService = new InboxService({ ...stores, database, access, changeSignals });
    const log = openLog('silent');
    const streams = new NotificationStreams({ ...stores, inboxService, changeSignals, log, heartbeatMs });
    const listen = async (userId: number, sink: RecordingSink): Promise<AbortController> => {
      const ended = new AbortController();
      await streams.open({ userId, withAdmin: false }, undefined, sink, ended.signal);
      await until(() => sink.unreadCount >= 0 || sink.ended);
      return ended;
    };
    return { database, changeSignals, streams, listen };
  };
  const write = (database: Database<Tables>, userId: number, title: string) =>
    database.transaction(async (trx) => {
      await new ReadStateStore(database).adjustCounts(trx, userId, 0, 1);
      await new NotificationStore(database).insert(trx, {
        user_id: userId,
        for_admin: 0,
        type: 'system',
        topic: 'system',
        title_en: title,
        content_en: 'x',
        title_zh: null,
        content_zh: null,
        target_url: '',
        related_id: 0,
        deduplication_key: null,
        created_at: 1,
      });
    });

  it('closes a stream when its access ends, and all streams when the service stops', async () => {
    const { streams, listen } = await begin(80);
    const [one, other] = [new RecordingSink(), new RecordingSink()];
    const [access] = await Promise.all([listen(1, one), listen(2, other)]);
    await until(() => one.beats > 1 && other.beats > 1);
    access.abort();
    assert.deepEqual([one.ended, other.ended, streams.size], [true, false, 1]);
    streams.close();
    assert.deepEqual([other.ended, streams.size], [true, 0]);
  });

  it('delivers notifications that no signal announced', async () => {
    const { database, streams, listen } = await begin(80);
    const reading = new RecordingSink();
    await listen(1, reading);
    await write(database, 1, 'unsignalled');
    await write(database, 0, 'unsignalled announcement');
    await until(() => reading.unreadCount === 2);
    assert.deepEqual(reading.titles, ['unsignalled', 'unsignalled announcement']);
    streams.close();
  });

  it('waits for a slow reader, then sends everything in order', async () => {
    const { database, changeSignals, streams, listen } = await begin(60_000);
    const slow = new RecordingSink();
    await listen(1, slow);
    let free = (): void => {};
    slow.free = new Promise((resolve) => {
      free = resolve;
    });
    const wanted = Array.from({ length: 250 }, (_, index) => `n${index}`);
    for (const title of wanted) {
      await write(database, 1, title);
      changeSignals.notifyChanged(1);
    }
    await until(() => slow.titles.length > 0);
    await pause(50);
    // One page is waiting to be sent: no further pages are buffered for a reader that does not read.
    assert.ok(slow.titles.length <= 100, String(slow.titles.length));
    free();
    await until(() => slow.unreadCount === wanted.length && slow.titles.length === wanted.length);
    assert.deepEqual(slow.titles, wanted);
    streams.close();
  });

  it('sends each announcement once to every stream, including streams opened meanwhile', async () => {
    const { database, changeSignals, streams, listen } = await begin(60_000);
    const early = Array.from({ length: 300 }, () => new RecordingSink());
    await Promise.all(early.map((reading, index) => listen(1 + index, reading)));
    const late: RecordingSink[] = [];
    for (let round = 0; round < 10; round += 1) {
      const opening = Array.from({ length: 10 }, (_, index) => {
        const reading = new RecordingSink();
        late.push(reading);
        return listen(10_000 + round * 10 + index, reading);
      });
      await write(database, 0, `a${round}`);
      changeSignals.notifyChanged(0);
      await Promise.all(opening);
    }
    await until(() => early.every(({ titles }) => titles.length >= 10));
    for (const { titles } of early)
      assert.deepEqual(
        titles,
        Array.from({ length: 10 }, (_, round) => `a${round}`),
      );
    await until(() => late.every(({ unreadCount }) => unreadCount === 10));
    for (const { titles } of late) assert.equal(new Set(titles).size, titles.length);
    for (const { titles } of late) if (titles.length > 0) assert.equal(titles.at(-1), 'a9');
    streams.close();
  });

  it('releases a stream whose client disconnected while it was opened', async () => {
    const { streams } = await begin(60_000);
    const ended = new AbortController();
    const reading = new RecordingSink();
    const opening = streams.open({ userId: 1, withAdmin: false }, undefined, reading, ended.signal);
    ended.abort();
    await opening;
    assert.deepEqual([streams.size, reading.ended, reading.titles], [0, true, []]);
    streams.close();
  });
});
