import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'undici';
import { CLI_OAUTH_CLIENT } from '../src/contract/device-auth.ts';
import { startService } from './support/child-processes.ts';
import { reportFigure } from './support/report-figure.ts';
import { seedNotifications } from './support/seed-notifications.ts';

/**
 * 10,000 people behind one IP address sign in a device each, on the ordinary server with SQLite (synchronous=FULL):
 * `node bench/office-sign-in.ts`. A device requests its code and polls it, its owner, signed in to the console,
 * approves it, and the device collects its tokens. The only raised setting is `DEVICE_CODES_PER_ADDRESS`.
 */
const PEOPLE = 10_000;
const AT_ONCE = 64;
const ASKED_SECONDS = 60;
const { id: client_id, secret: client_secret } = CLI_OAUTH_CLIENT;

const folder = mkdtempSync(join(tmpdir(), 'reelgate-bench-'));
// The first start creates the tables.
await (await startService(4_325, { KEEP: '1' }, folder)).stop();
const people = await seedNotifications(`sqlite:${join(folder, 'bench.db')}`, {
  accounts: PEOPLE,
  listeners: PEOPLE,
  notifications: 0,
  announcements: 0,
});
const service = await startService(4_325, {}, folder);
const setting = '/api/admin/settings/DEVICE_CODES_PER_ADDRESS';
await service.operator.requestData('PUT', setting, { value: String(PEOPLE) });

async function post(http: Client, path: string, body: object, headers: Readonly<Record<string, string>> = {}) {
  const response = await http.request({
    method: 'POST',
    path,
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
  return (await response.body.json()) as { success: boolean; error?: string; message?: string; data?: unknown };
}

async function signIn(http: Client, person: (typeof people)[number]): Promise<void> {
  const made = await post(http, '/api/auth/device/code', { client_id, device_id: `device-${person.userId}` });
  if (!made.success) throw new Error(`no code: ${made.message}`);
  const { device_code, user_code } = made.data as { device_code: string; user_code: string };
  const poll = () => post(http, '/api/auth/device/token', { device_code, client_id, client_secret });
  const early = await poll();
  if (early.error !== 'authorization_pending') throw new Error(`a pending code answered ${early.error}`);
  const owner = { authorization: `Bearer ${person.token}`, 'service-api-user': String(person.userId) };
  const approved = await post(http, '/api/auth/device/approve', { user_code }, owner);
  if (!approved.success) throw new Error(`not approved: ${approved.message}`);
  if (!(await poll()).success) throw new Error('no tokens');
}

try {
  const waiting = [...people];
  const startedAt = performance.now();
  const worker = async (): Promise<void> => {
    const http = new Client(service.origin);
    for (let person = waiting.pop(); person !== undefined; person = waiting.pop()) await signIn(http, person);
    await http.close();
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  const seconds = (performance.now() - startedAt) / 1_000;
  process.stdout.write(`${PEOPLE} people signed in within ${seconds.toFixed(1)} s\n`);
  reportFigure({
    subject: '10,000 people behind one address sign in',
    unit: 's',
    measured: seconds,
    asked: ASKED_SECONDS,
  });
} finally {
  await service.stop();
}
