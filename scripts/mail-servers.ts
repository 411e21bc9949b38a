/**
 * Runs a real Dovecot and Postfix from one folder on high loopback ports, configured by the same code as production.
 * Needs root and Debian's packages (docs/mail.md). To run manually:
 * `node scripts/mail-servers.ts /path/to/reelgate.db`.
 */
import { execFileSync } from 'node:child_process';
import { randomBytes, randomInt } from 'node:crypto';
import { once } from 'node:events';
import {
  chownSync,
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { makeCertificate } from '../src/sandbox/mail/mail-server.ts';
import { isDovecotUp } from '../src/server/mailbox/backends/dovecot.ts';
import {
  type MailServerConfigOptions,
  type MailServerDatabase,
  socketPaths,
  writeMailServerConfig,
} from '../src/server/mailbox/backends/server-config.ts';

/** A running Dovecot and Postfix. */
export interface RealMailServer {
  readonly ports: { readonly imap: number; readonly pop3: number; readonly smtp: number };
  /**
   * Port on which Postfix accepts mail for the domain from any sender, as from other servers: SMTP with STARTTLS, no
   * login.
   */
  readonly mx: number;
  /** Certificate for clients to trust. */
  readonly ca: string;
  /** Values for this server of MAIL_DOVECOT_AUTH_SOCKET and of the two parts of MAIL_API_URL. */
  readonly auth: string;
  readonly adminUrl: string;
  readonly adminKey: string;
  /** Stops only Dovecot, simulating an outage. */
  stopDovecot(): Promise<void>;
  startDovecot(): Promise<void>;
  /** Stops both servers and removes the folder. */
  stop(): Promise<void>;
}

/** Options of the mail servers. */
export interface RealMailOptions {
  readonly domain: string;
  readonly database: MailServerDatabase;
  readonly webmailNetworks?: readonly string[];
  readonly operator?: string;
  readonly slowsGuessing?: boolean;
  /** Default: {@link choosePorts}. */
  readonly choosePorts?: () => Promise<MailPorts>;
}

type MailPorts = MailServerConfigOptions['ports'];

/** Required programs missing from this machine. */
export const missingPrograms = (): string[] =>
  ['/usr/sbin/dovecot', '/usr/sbin/postfix', '/usr/bin/doveadm'].filter((path) => !existsSync(path));

const MAX_ATTEMPTS = 5;

/**
 * Starts Dovecot and Postfix, with new ports if another program has taken one of the chosen ports.
 *
 * @throws an error with all that both servers have logged
 */
export async function startRealMail(options: RealMailOptions): Promise<RealMailServer> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await startOnPorts(options, await (options.choosePorts ?? choosePorts)());
    } catch (error) {
      if (attempt === MAX_ATTEMPTS || !/Address already in use/.test(String(error))) throw error;
    }
  }
}

async function startOnPorts(options: RealMailOptions, ports: MailPorts): Promise<RealMailServer> {
  const root = mkdtempSync(join(tmpdir(), 'rg-mail-'));
  const tls = { certFile: join(root, 'tls/cert.pem'), keyFile: join(root, 'tls/key.pem') };
  const certificate = await makeCertificate(options.domain);
  mkdirSync(join(root, 'tls'), { mode: 0o700 });
  writeFileSync(tls.certFile, certificate.cert);
  writeFileSync(tls.keyFile, certificate.key, { mode: 0o600 });
  const layout: MailServerConfigOptions = {
    root,
    domain: options.domain,
    hostname: 'localhost',
    listen: '127.0.0.1',
    ports,
    tls,
    database: options.database,
    doveadmKey: randomBytes(24).toString('hex'),
    mailUid: 5000,
    authGroup: 'root',
    webmailNetworks: options.webmailNetworks ?? [],
    operator: options.operator,
    slowsGuessing: options.slowsGuessing ?? false,
    sendsOutside: false,
  };
  await writeMailServerConfig(layout);
  // Mail and queues do not belong to root, so every user must be able to traverse the folder.
  execFileSync('chmod', ['755', root]);
  chownSync(join(root, 'mail'), layout.mailUid, layout.mailUid);
  execFileSync('chown', ['postfix', join(root, 'postfix/data')]);

  const run = (command: string, args: readonly string[]) => {
    // The daemons keep inherited files open; a pipe would keep its reader waiting indefinitely.
    const log = openSync(join(root, 'log/start.log'), 'a');
    try {
      execFileSync(command, args, { stdio: ['ignore', log, log], timeout: 30_000 });
    } catch (cause) {
      throw new Error(`${command} ${args.join(' ')}\n${readLogs(root)}`, { cause });
    } finally {
      closeSync(log);
    }
  };
  const dovecotConf = join(root, 'etc/dovecot.conf');
  const postfixConf = join(root, 'postfix/conf');
  const auth = socketPaths(root).reelgate;
  const startDovecot = async () => {
    run('/usr/sbin/dovecot', ['-c', dovecotConf]);
    for (let attempt = 0; attempt < 100; attempt++) {
      if (await isDovecotUp(auth, 1_000)) return;
      await delay(50);
    }
    throw new Error(`Dovecot does not answer\n${readLogs(root)}`);
  };
  const stopDovecot = async () => {
    const pidFile = join(root, 'dovecot-run/master.pid');
    if (!existsSync(pidFile)) return;
    run('/usr/bin/doveadm', ['-c', dovecotConf, 'stop']);
    for (let attempt = 0; attempt < 100 && existsSync(pidFile); attempt++) await delay(50);
  };
  const abandon = () => {
    for (const stop of [
      () => run('/usr/bin/doveadm', ['-c', dovecotConf, 'stop']),
      () => run('/usr/sbin/postfix', ['-c', postfixConf, 'stop']),
    ]) {
      try {
        stop();
      } catch {
        // The server was not running.
      }
    }
    rmSync(root, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  };
  process.once('exit', abandon);

  const stop = async () => {
    process.off('exit', abandon);
    abandon();
  };
  try {
    // Postfix starts first, because it creates the folder for two of Dovecot's sockets.
    run('/usr/sbin/postfix', ['-c', postfixConf, 'start']);
    await startDovecot();
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    ports: { imap: ports.imaps, pop3: ports.pop3s, smtp: ports.smtps },
    mx: ports.mx,
    ca: certificate.cert,
    auth,
    adminUrl: `http://127.0.0.1:${ports.doveadm}`,
    adminKey: layout.doveadmKey,
    stopDovecot,
    startDovecot,
    stop,
  };
}

/** The output of the start commands and the logs of both servers; Postfix reports failures only in its log. */
const readLogs = (root: string): string =>
  readdirSync(join(root, 'log'))
    .map((name) => `${name}:\n${readFileSync(join(root, 'log', name), 'utf8')}`)
    .join('\n');

/** Below the range from which Linux takes ports for connections and for servers on port 0, such as other tests'. */
const PORTS = { first: 10_000, end: 32_768 };

/** Ports that are free on loopback. */
export async function choosePorts(): Promise<MailPorts> {
  const servers: Server[] = [];
  while (servers.length < 5) {
    const server = createServer().listen(randomInt(PORTS.first, PORTS.end), '127.0.0.1');
    // A port may be in use: another one is tried.
    const isFree = await once(server, 'listening').then(
      () => true,
      () => false,
    );
    if (isFree) servers.push(server);
  }
  const [imaps, pop3s, smtps, mx, doveadm] = servers.map((server) => (server.address() as AddressInfo).port) as [
    number,
    number,
    number,
    number,
    number,
  ];
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return { imaps, pop3s, smtps, mx, doveadm };
}

if (import.meta.main) {
  const [file] = process.argv.slice(2);
  if (file === undefined || missingPrograms().length > 0) {
    console.error(
      `usage: node scripts/mail-servers.ts DATABASE-FILE; missing: ${missingPrograms().join(' ') || 'nothing'}`,
    );
    process.exit(2);
  }
  const server = await startRealMail({
    domain: process.env.MAIL_DOMAIN ?? 'mail.localhost',
    database: { kind: 'sqlite', file },
  });
  console.log(`MAIL_BACKEND=dovecot
# IMAP on port ${server.ports.imap}, SMTP on ${server.ports.smtp}, POP3 on ${server.ports.pop3}
MAIL_DOVECOT_AUTH_SOCKET=${server.auth}
MAIL_API_URL=${server.adminUrl.replace('://', `://:${encodeURIComponent(server.adminKey)}@`)}`);
  process.on('SIGINT', () => process.exit(0)).on('SIGTERM', () => process.exit(0));
  setInterval(() => {}, 60_000);
}
