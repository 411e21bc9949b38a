import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { startPostgres } from '../test/start-postgres.ts';
import { type Service, startService } from './support/child-processes.ts';
import { load } from './support/http-load.ts';
import { NotificationStreamClient } from './support/notification-stream-client.ts';
import { memoryMb } from './support/process-usage.ts';
import { quantile } from './support/quantile.ts';
import { reportFigure } from './support/report-figure.ts';
import { type Listener, seedNotifications } from './support/seed-notifications.ts';

/**
 * The notification center with a million accounts:
 * `node bench/notifications.ts [--database postgres] [--accounts 1000000] [--notifications 100000] [--streams 10000]
 * [--seconds 3]`. Sends one announcement to every account; reads list and counts of an account with many notifications,
 * sequentially over one connection; opens many streams, each for a different account, and measures how long the
 * announcement takes to reach all of them.
 */
const { values } = parseArgs({
  options: {
    database: { type: 'string', default: 'sqlite' },
    accounts: { type: 'string', default: '1000000' },
    notifications: { type: 'string', default: '100000' },
    streams: { type: 'string', default: '10000' },
    seconds: { type: 'string', default: '3' },
  },
});
const streams = Number(values.streams);
const print = (line: string): void => void process.stdout.write(`${line}\n`);
const quantileMs = (times: readonly number[], share: number): string => quantile(times, share).toFixed(2);

const postgres = values.database === 'postgres' ? await startPostgres() : undefined;
const folder = mkdtempSync(join(tmpdir(), 'reelgate-bench-'));
const url = postgres?.url ?? `sqlite:${join(folder, 'bench.db')}`;
const env = { DATABASE_URL: url, METRICS_TOKEN: 'bench' };
// The first start creates the tables and the account used for every measurement.
await (await startService(4320, { ...env, KEEP: '1' }, folder)).stop();
const listeners = await seedNotifications(url, {
  accounts: Number(values.accounts),
  listeners: streams,
  notifications: Number(values.notifications),
  announcements: 50,
});
const service = await startService(4320, env, folder);
try {
  print(`${values.database}: ${values.accounts} accounts, one of them with ${values.notifications} notifications`);
  await measureAnnouncements(service);
  await measureReading(service);
  await measureStreams(service, listeners);
} finally {
  await service.stop();
  await postgres?.stop();
}

async function announce(title: string): Promise<void> {
  await service.operator.requestData('POST', '/api/admin/announcements', { title, content: 'Tonight at ten.' });
}

async function measureAnnouncements({ operator }: Service): Promise<void> {
  const count = async () => (await operator.request('GET', '/api/admin/announcements')).total ?? 0;
  const before = await count();
  const times: number[] = [];
  for (let index = 0; index < 50; index += 1) {
    const startedAt = performance.now();
    await announce(`Maintenance ${index}`);
    times.push(performance.now() - startedAt);
  }
  const rows = ((await count()) - before) / times.length;
  reportFigure({
    subject: `announcement to ${values.accounts} accounts, p50`,
    unit: 'ms',
    measured: quantile(times, 0.5),
    asked: 100,
  });
  print(`announcement: p50 ${quantileMs(times, 0.5)} ms, slowest ${quantileMs(times, 1)} ms, ${rows} row each`);
}

async function measureReading({ operator, origin }: Service): Promise<void> {
  const { access_token } = await operator.requestData<{ access_token: string }>('POST', '/api/user/token');
  const headers = { authorization: `Bearer ${access_token}`, 'service-api-user': String(operator.id) };
  const paths = {
    list: '/api/notifications/',
    'list, unread': '/api/notifications/?status=unread',
    'list, page 100': '/api/notifications/?page=100',
    'list, page 2500': '/api/notifications/?page=2500',
    'unread-count': '/api/notifications/unread-count',
    'pending-count': '/api/notifications/pending-count',
  };
  for (const [name, path] of Object.entries(paths)) {
    const request = () => ({ method: 'GET' as const, path, headers });
    const result = await load({ origin, connections: 1, seconds: Number(values.seconds), request });
    const { p50Ms, p99Ms, failures, firstFailure } = result;
    if (name === 'list' || name === 'unread-count')
      reportFigure({ subject: `notifications, ${name}, p50`, unit: 'ms', measured: p50Ms, asked: 5 });
    print(`${name}: p50 ${p50Ms.toFixed(2)} ms, p99 ${p99Ms.toFixed(2)} ms${failures > 0 ? ` ${firstFailure}` : ''}`);
  }
}

async function measureStreams({ pid, origin }: Service, from: readonly Listener[]): Promise<void> {
  const port = Number(new URL(origin).port);
  const before = memoryMb(pid);
  const open: NotificationStreamClient[] = [];
  const startedAt = performance.now();
  for (let start = 0; start < from.length; start += 100) {
    const batch = from.slice(start, start + 100).map((listener) => new NotificationStreamClient(port, listener));
    open.push(...batch);
    await Promise.all(batch.map((stream) => stream.received('event: unread')));
  }
  const seconds = (performance.now() - startedAt) / 1000;
  print(
    `${open.length} streams opened in ${seconds.toFixed(1)} s; memory ${before} MB before, ${memoryMb(pid)} MB after`,
  );
  // Covers two heartbeats, at each of which every stream's authorization is checked again.
  let most = 0;
  for (let attempts = 0; attempts < 45; attempts += 1) {
    await pause(1_000);
    most = Math.max(most, memoryMb(pid));
  }
  const told: number[] = [];
  for (let round = 0; round < 5; round += 1) {
    const all = Promise.all(
      open.map(async (stream) => {
        await stream.received(`To all ${round}`);
        return performance.now();
      }),
    );
    const sentAt = performance.now();
    await announce(`To all ${round}`);
    told.push(...(await all).map((heardAt) => heardAt - sentAt));
    most = Math.max(most, memoryMb(pid));
  }
  const text = await (await fetch(`${origin}/metrics`, { headers: { authorization: 'Bearer bench' } })).text();
  const delay = Number(/^nodejs_eventloop_lag_max_seconds (\S+)/m.exec(text)?.[1] ?? Number.NaN) * 1000;
  reportFigure({ subject: `${open.length} open notification streams, memory`, unit: 'MB', measured: most, asked: 400 });
  reportFigure({
    subject: `announcement to ${open.length} streams, the last`,
    unit: 'ms',
    measured: quantile(told, 1),
  });
  print(
    `announcement to all of them: p50 ${quantileMs(told, 0.5)} ms, last ${quantileMs(told, 1)} ms; memory at most ${most} MB; event-loop delay at most ${delay.toFixed(0)} ms`,
  );
  for (const { socket } of open) socket.destroy();
}
