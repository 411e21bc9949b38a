import assert from 'node:assert/strict';
import { it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { forEachDatabase } from '../../../test/databases.ts';
import type { Database } from '../platform/db/database.ts';
import { openLog } from '../platform/log.ts';
import type { Tables } from '../tables.ts';
import { makeInboxes } from './inbox.ts';
import { addNotification, countIn } from './store.ts';
import { makeStreams, type Sink } from './stream.ts';

const until = async (what: () => boolean): Promise<void> => {
  for (let looks = 0; looks < 500; looks += 1) {
    if (what()) return;
    await pause(10);
  }
  assert.fail('it did not come about');
};

/** A reader that writes down what it is sent. */
class Reading implements Sink {
  readonly titles: string[] = [];
  unreadCount = -1;
  beats = 0;
  ended = false;
  allowed: () => Promise<boolean> = async () => true;
  free: Promise<void> = Promise.resolve();
  notification: Sink['notification'] = ({ row }) => void this.titles.push(row.title_en);
  unread: Sink['unread'] = (count) => {
    this.unreadCount = count;
  };
  beat = (): void => {
    this.beats += 1;
  };
  ready = (): Promise<void> => this.free;
  isAllowed = (): Promise<boolean> => this.allowed();
  end = (): void => {
    this.ended = true;
  };
}

forEachDatabase((_name, open) => {
  const begin = async (beatMs: number) => {
    const database = await open();
    const listeners = new Set<(userId: number) => void>();
    const news = {
      tell: (userId: number) => {
        for (const listener of listeners) listener(userId);
      },
      listen: (listener: (userId: number) => void) => {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
    };
    const standing = { find: async () => ({ created_at: 0 }) as never };
    const inboxes = makeInboxes(database, standing, news);
    const streams = makeStreams({ database, inboxes, news, log: openLog('silent'), beatMs });
    const listen = async (userId: number, sink: Reading): Promise<AbortController> => {
      const gone = new AbortController();
      await streams.open({ userId, withAdmin: false }, undefined, sink, gone.signal);
      await until(() => sink.unreadCount >= 0 || sink.ended);
      return gone;
    };
    return { database, news, streams, listen };
  };
  const write = (database: Database<Tables>, userId: number, title: string) =>
    database.transaction(async (trx) => {
      await countIn(trx, userId, 0, 1);
      await addNotification(trx, {
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
        once_key: null,
        created_at: 1,
      });
    });

  it('ends the stream of whoever may not read any more, and keeps it while the database cannot tell', async () => {
    const { streams, listen } = await begin(80);
    const [one, other] = [new Reading(), new Reading()];
    other.allowed = () => Promise.reject(new Error('the database is away'));
    await Promise.all([listen(1, one), listen(2, other)]);
    await until(() => one.beats > 1 && other.beats > 1);
    one.allowed = async () => false;
    await until(() => one.ended);
    assert.deepEqual([other.ended, streams.size], [false, 1]);
    streams.close();
    assert.deepEqual([other.ended, streams.size], [true, 0]);
  });

  it('finds by itself what no signal told of', async () => {
    const { database, streams, listen } = await begin(80);
    const reading = new Reading();
    await listen(1, reading);
    await write(database, 1, 'unsignalled');
    await write(database, 0, 'announced in silence');
    await until(() => reading.unreadCount === 2);
    assert.deepEqual(reading.titles, ['unsignalled', 'announced in silence']);
    streams.close();
  });

  it('waits for a slow reader, and then sends all there is, in order', async () => {
    const { database, news, streams, listen } = await begin(60_000);
    const slow = new Reading();
    await listen(1, slow);
    let free = (): void => {};
    slow.free = new Promise((resolve) => {
      free = resolve;
    });
    const wanted = Array.from({ length: 250 }, (_, index) => `n${index}`);
    for (const title of wanted) {
      await write(database, 1, title);
      news.tell(1);
    }
    await until(() => slow.titles.length > 0);
    await pause(50);
    // One look is under way and waits: nothing piles up for a reader that does not read.
    assert.ok(slow.titles.length <= 100, String(slow.titles.length));
    free();
    await until(() => slow.unreadCount === wanted.length && slow.titles.length === wanted.length);
    assert.deepEqual(slow.titles, wanted);
    streams.close();
  });

  it('sends each announcement once to every stream, also to those that open meanwhile', async () => {
    const { database, news, streams, listen } = await begin(60_000);
    const early = Array.from({ length: 300 }, () => new Reading());
    await Promise.all(early.map((reading, index) => listen(1 + index, reading)));
    const late: Reading[] = [];
    for (let round = 0; round < 10; round += 1) {
      const opening = Array.from({ length: 10 }, (_, index) => {
        const reading = new Reading();
        late.push(reading);
        return listen(10_000 + round * 10 + index, reading);
      });
      await write(database, 0, `a${round}`);
      news.tell(0);
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

  it('lets go of whoever left while it was opened', async () => {
    const { streams } = await begin(60_000);
    const gone = new AbortController();
    const reading = new Reading();
    const opening = streams.open({ userId: 1, withAdmin: false }, undefined, reading, gone.signal);
    gone.abort();
    await opening;
    assert.deepEqual([streams.size, reading.ended, reading.titles], [0, true, []]);
    streams.close();
  });
});
