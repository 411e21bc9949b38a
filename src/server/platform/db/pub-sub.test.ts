import assert from 'node:assert/strict';
import { it } from 'node:test';
import { sql } from 'kysely';
import { forEachDatabase } from '../../../../test/for-each-database.ts';
import { openDatabase } from './open-database.ts';
import { openPubSub, type PubSub } from './pub-sub.ts';

/** Resolves with the next message. */
function next(signals: PubSub, channel: string): Promise<string> {
  return new Promise((resolve) => {
    const stop = signals.subscribe(channel, (payload) => {
      stop();
      resolve(payload);
    });
  });
}

forEachDatabase((name, _open, freshUrl) => {
  it('delivers a message to current listeners of its channel only', async () => {
    const signals = openPubSub(await freshUrl());
    const heard: string[] = [];
    const stop = signals.subscribe('tasks', (payload) => heard.push(`tasks ${payload}`));
    signals.subscribe('tokens', (payload) => heard.push(`tokens ${payload}`));
    signals.subscribe('broken', () => {
      throw new Error('no');
    });
    signals.publish('broken', '');
    signals.publish('tasks', "it's 1");
    signals.publish('tokens', '2');
    await nextAfter(signals);
    stop();
    signals.publish('tasks', '3');
    await nextAfter(signals);
    assert.deepEqual(heard, ["tasks it's 1", 'tokens 2']);
    await signals.close();
  });

  it('refuses an invalid channel name and an oversized message', async () => {
    const signals = openPubSub(await freshUrl());
    assert.throws(() => signals.publish('a; drop table x', ''), TypeError);
    assert.throws(() => signals.subscribe('"', () => {}), TypeError);
    assert.throws(() => signals.publish('tasks', 'x'.repeat(8_000)), RangeError);
    await signals.close();
  });

  // SQLite serves a single process.
  if (name === 'sqlite') return;
  it('reaches other processes, reconnects after a broken connection, and reports the gap', async () => {
    const url = await freshUrl();
    const [one, other] = [openPubSub(url), openPubSub(url)];
    const gaps = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const;
    one.subscribe('tasks', () => {}, gaps[0].resolve);
    other.subscribe('tasks', () => {}, gaps[1].resolve);
    await Promise.all([nextAfter(one), nextAfter(other)]);
    const first = next(one, 'tasks');
    other.publish('tasks', 'before');
    assert.equal(await first, 'before');

    const database = openDatabase<object>(url);
    await sql`select pg_terminate_backend(pid) from pg_stat_activity
      where application_name = 'reelgate signals' and datname = current_database()`.execute(database.kysely);
    // Both must have reconnected: messages sent while a break is still unnoticed may be lost.
    await Promise.all(gaps.map((gap) => gap.promise));
    const second = next(one, 'tasks');
    other.publish('tasks', 'after');
    assert.equal(await second, 'after');
    await Promise.all([one.close(), other.close(), database.close()]);
  });
});

/** Resolves when everything sent before has been delivered, because our own message arrives last. */
async function nextAfter(signals: PubSub): Promise<void> {
  const arrived = next(signals, 'last');
  signals.publish('last', '');
  await arrived;
}
