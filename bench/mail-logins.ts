import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { connect } from 'node:tls';
import { startRealMail } from '../scripts/mail-servers.ts';
import { startService } from './support/child-processes.ts';
import { type LoadResult, load } from './support/http-load.ts';

/**
 * Mail programs logging in sequentially to a real Dovecot that reads the service's database, while users call the
 * service. Repeating the logins with a Dovecot that reads a copy separates the cost of shared cores from that of the
 * shared database. Run as root, with Debian's Dovecot and Postfix.
 */
const LOGINS = Number(process.env.LOGINS ?? 500);
const SECONDS = Number(process.env.SECONDS ?? 10);
const PORT = 4330;
const DOMAIN = 'mail.test';

interface Login {
  readonly email: string;
  readonly app_password: string;
}

/** One IMAP session over TLS: greeting, LOGIN, LOGOUT (RFC 9051). */
function logIn(port: number, ca: string, { email, app_password }: Login): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port, ca, servername: 'localhost' });
    let text = '';
    let isIn = false;
    socket.setEncoding('utf8').on('error', reject);
    socket.on('data', (chunk: string) => {
      text += chunk;
      if (/^a (NO|BAD)/m.test(text)) reject(new Error(text));
      if (!isIn && text.startsWith('* OK') && !text.includes('a '))
        socket.write(`a LOGIN ${email} ${app_password}\r\n`);
      if (!isIn && /^a OK/m.test(text)) {
        isIn = true;
        socket.write('b LOGOUT\r\n');
      }
    });
    socket.on('close', () => (isIn ? resolve() : reject(new Error(`closed: ${text}`))));
  });
}

/** Logs in `LOGINS` times sequentially and returns the duration. */
async function logInRepeatedly(
  server: { readonly ports: { readonly imap: number }; readonly ca: string },
  login: Login,
) {
  const startedAt = performance.now();
  for (let count = 0; count < LOGINS; count += 1) await logIn(server.ports.imap, server.ca, login);
  return (performance.now() - startedAt) / 1000;
}

const first = await startService(PORT, { KEEP: '1' });
const { folder } = first;
await first.stop();
const file = join(folder, 'bench.db');
const copy = join(folder, 'copy.db');
const ours = await startRealMail({ domain: DOMAIN, database: { kind: 'sqlite', file } });
const service = await startService(
  PORT,
  {
    MAIL_BACKEND: 'dovecot',
    MAIL_DOMAIN: DOMAIN,
    MAIL_DOVECOT_AUTH_SOCKET: ours.auth,
    MAIL_API_URL: ours.adminUrl.replace('://', `://:${encodeURIComponent(ours.adminKey)}@`),
  },
  folder,
);
const { operator } = service;
const database = new DatabaseSync(file);
database.exec('pragma busy_timeout = 5000');
database
  .prepare("insert into bindings (user_id, kind, value, created_at) values (?, 'phone', '+15550001', 0)")
  .run(operator.id);
await operator.requestData('POST', '/api/user/mailbox/apply', { local_part: 'repeated' });
const login = await operator.requestData<Login>('POST', '/api/user/mailbox/app-password');
database.prepare('vacuum into ?').run(copy);
database.close();
const theirs = await startRealMail({ domain: DOMAIN, database: { kind: 'sqlite', file: copy } });
const { access_token } = await operator.requestData<{ access_token: string }>('POST', '/api/user/token');

try {
  /** Reads a mailbox password, which decrypts it and durably writes a row of the audit log. */
  const use = (seconds: number): Promise<LoadResult> =>
    load({
      origin: service.origin,
      connections: 4,
      seconds,
      request: () => ({
        method: 'GET',
        path: '/api/user/mailbox',
        headers: { authorization: `Bearer ${access_token}`, 'service-api-user': String(operator.id) },
      }),
    });
  await use(2);
  await logInRepeatedly(ours, login);
  const rows: string[] = [];
  const report = (name: string, used: LoadResult | undefined, seconds?: number): void => {
    const took = seconds === undefined ? '' : `${seconds.toFixed(1)} s, ${Math.round(LOGINS / seconds)}/s`;
    const figures =
      used === undefined
        ? ' | | '
        : `${Math.round(used.perSecond)} | ${used.p50Ms.toFixed(2)} | ${used.p99Ms.toFixed(1)}`;
    rows.push(`| ${name} | ${took} | ${figures} |`);
    if ((used?.failures ?? 0) > 0) rows.push(`| | ${used?.failures} failed: ${used?.firstFailure} | | | |`);
  };
  report('nobody logs in', await use(SECONDS));
  report('nobody uses the service', undefined, await logInRepeatedly(ours, login));
  for (const [name, server] of [
    ['logins at a Dovecot with a copy', theirs],
    ['logins at our Dovecot', ours],
  ] as const) {
    const [used, seconds] = await Promise.all([use(SECONDS), logInRepeatedly(server, login)]);
    report(name, used, seconds);
  }
  process.stdout.write(
    `| ${LOGINS} logins in a row | took | requests/s | p50 ms | p99 ms |\n|---|---|---|---|---|\n${rows.join('\n')}\n`,
  );
} finally {
  await service.stop();
  await theirs.stop();
  await ours.stop();
}
