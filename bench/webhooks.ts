/**
 * `node bench/webhooks.ts`: delivery delay of events at a steady rate, while other receivers never respond. Prints one
 * JSON line: events, rate, milliseconds from the commit of an event to the arrival of its first delivery.
 */

import type { AddressInfo } from 'node:net';
import { createServer, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type { TestUser } from '../test/accounts/test-user-client.ts';
import { startTestService } from '../test/test-service.ts';
import { WebhookReceiver } from '../test/webhooks/receiver.ts';
import { quantile } from './support/quantile.ts';
import { reportFigure } from './support/report-figure.ts';

const { values } = parseArgs({
  options: {
    rate: { type: 'string', default: '500' },
    seconds: { type: 'string', default: '10' },
    dead: { type: 'string', default: '100' },
    database: { type: 'string', default: 'sqlite::memory:' },
  },
});
const [rate, seconds, dead] = [Number(values.rate), Number(values.seconds), Number(values.dead)];
const ACCOUNTS = 20;
const PER_ACCOUNT = 10;
const TICK_MS = 20;

const sockets = new Set<Socket>();
const tarpit = createServer((socket) => {
  sockets.add(socket);
  socket.on('error', () => {});
});
await new Promise<void>((resolve) => tarpit.listen(0, '127.0.0.1', resolve));
const deadHost = `127.0.0.1:${(tarpit.address() as AddressInfo).port}`;
const receiver = await new WebhookReceiver().listen();
const service = await startTestService(values.database, { WEBHOOK_PRIVATE_HOSTS: `${receiver.host},${deadHost}` });
const { database, events } = service.app;

const healthy: TestUser[] = [];
for (let index = 0; index < ACCOUNTS; index++) {
  const person = await service.signUp(`healthy-${index}`);
  await person.ok('POST', '/api/webhooks', { url: receiver.url() });
  healthy.push(person);
}
const unreachable: TestUser[] = [];
for (let index = 0; index < dead / PER_ACCOUNT; index++) {
  const person = await service.signUp(`dead-${index}`);
  for (let each = 0; each < PER_ACCOUNT; each++)
    await person.ok('POST', '/api/webhooks', { url: `http://${deadHost}/` });
  unreachable.push(person);
}

const committedAt: number[] = [];
let number = 0;
const report = async (userId: number, counted: boolean): Promise<void> => {
  const mine = counted ? number++ : -1;
  await database.transaction((trx) =>
    events.eventLog.write(trx, { type: 'wallet.low', userId, subject: `n:${mine}`, data: { number: mine } }),
  );
  if (counted) committedAt[mine] = performance.now();
};
// The dead receivers are occupied before the others start.
for (const person of unreachable) for (let each = 0; each < 5; each++) await report(person.id, false);
await delay(1_000);

const begun = performance.now();
const pending: Promise<void>[] = [];
for (let sent = 0; sent < rate * seconds; ) {
  const due = Math.min(rate * seconds, Math.floor(((performance.now() - begun) / 1000) * rate));
  for (; sent < due; sent++) pending.push(report(healthy[sent % ACCOUNTS]?.id ?? 0, true));
  await delay(TICK_MS);
}
await Promise.all(pending);
const writtenMs = performance.now() - begun;
while (receiver.received.length < number) await delay(TICK_MS);
const latencies = new Map<number, number>();
for (const { body, at } of receiver.received) {
  const { number: which } = JSON.parse(body).data as { number: number };
  if (!latencies.has(which)) latencies.set(which, Math.max(0, at - (committedAt[which] ?? 0)));
}
const latencyAt = (share: number): number => Math.round(quantile([...latencies.values()], share));
reportFigure({ subject: 'webhook delivery, p50', unit: 'ms', measured: latencyAt(0.5) });
reportFigure({ subject: 'webhook delivery, p99', unit: 'ms', measured: latencyAt(0.99), asked: 1_000 });
console.log(
  JSON.stringify({
    events: number,
    perSecond: Math.round((number / writtenMs) * 1000),
    dead,
    p50: latencyAt(0.5),
    p99: latencyAt(0.99),
    max: latencyAt(1),
  }),
);
for (const socket of sockets) socket.destroy();
await service.stop();
await receiver.close();
tarpit.close();
process.exit(0);
