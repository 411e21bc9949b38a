import { createConnection, type Socket } from 'node:net';
import type { OutboundClient } from '../../platform/outbound/outbound.ts';
import { BackendError, type CheckResult, type MailBackend, type MailProtocol } from '../mail-backend.ts';

interface DovecotSettings {
  readonly auth: AuthEndpoint;
  /** Without it, open sessions stay open until their mail program reconnects. */
  readonly doveadm?: DoveadmSettings;
}

const HANDSHAKE_TIMEOUT_MS = 3_000;

/**
 * Dovecot and Postfix that read our database through the views `mail_auth_mailbox` and `mail_auth_app`.
 *
 * The mail server sees our committed changes at its next query. Creating and replacing therefore only check that the
 * server is reachable: otherwise a new password could be shown that does not work.
 */
export function createDovecotBackend(settings: DovecotSettings, outbound: OutboundClient): MailBackend {
  const assertUp = async () => {
    if (!(await isDovecotUp(settings.auth, HANDSHAKE_TIMEOUT_MS)))
      throw new BackendError('unavailable', "Dovecot's auth service does not answer");
  };
  return {
    id: 'dovecot',
    revokeLagSeconds: 0,
    ensureMailbox: assertUp,
    setAppPassword: assertUp,
    removeAppPassword: () => Promise.resolve(),
    check: (address, { secret, protocols }, signal) =>
      logInToDovecot(settings.auth, { user: address, secret, protocols }, signal),
    endSessions: async (address) => {
      if (settings.doveadm === undefined) return;
      // Our configuration of Dovecot disables the cache; if an operator enabled it, a flush removes the cached logins.
      await run(settings.doveadm, 'authCacheFlush', { user: [address] });
      await run(settings.doveadm, 'kick', { mask: [address] });
    },
    // Our transaction deletes the rows; whether to keep or delete the mail itself is up to the operator (docs/mail.md).
    removeMailbox: () => Promise.resolve(),
    list: () => Promise.resolve(undefined),
  };

  async function run(to: DoveadmSettings, command: string, parameters: Readonly<Record<string, unknown>>) {
    const exitCode = await runDoveadm(outbound, to, command, parameters);
    if (exitCode !== 0 && exitCode !== DOVEADM_NOT_FOUND)
      throw new BackendError('rejected', `doveadm ${command}: exit code ${exitCode}`);
  }
}

/** Address of Dovecot's auth service: a Unix socket's path, or `host:port` on a private network. */
type AuthEndpoint = string;

/**
 * Asks Dovecot's own auth service whether it would accept a login, once per protocol.
 *
 * Uses the line protocol of Dovecot's doc "Authentication Protocol" 1.2, as Postfix does. Unlike a probe by IMAP login,
 * it is exempt from the penalty Dovecot applies to an IP with wrong passwords (`no-penalty`), and it distinguishes a
 * refusal from a failure of Dovecot's database (`temp_fail`). A refusal takes `auth_failure_delay`.
 *
 * @returns a verdict for every requested protocol; `unknown` for those not finished when the signal aborted
 */
export async function logInToDovecot(
  address: AuthEndpoint,
  login: { user: string; secret: string; protocols: readonly MailProtocol[] },
  signal: AbortSignal,
): Promise<Map<MailProtocol, CheckResult>> {
  const verdicts = new Map<MailProtocol, CheckResult>(login.protocols.map((protocol) => [protocol, 'unknown']));
  if (signal.aborted || /[\0\t\r\n]/.test(login.user + login.secret)) return verdicts;
  const socket = connect(address);
  const stop = () => socket.destroy();
  signal.addEventListener('abort', stop, { once: true });
  try {
    await runAuthDialogue(socket, login, verdicts);
  } catch {
    // After a broken conversation, missing verdicts stay `unknown`.
  } finally {
    signal.removeEventListener('abort', stop);
    socket.destroy();
  }
  return verdicts;
}

/** Whether Dovecot's auth service is reachable and completes its handshake. */
export async function isDovecotUp(address: AuthEndpoint, timeoutMs: number): Promise<boolean> {
  const socket = connect(address);
  const timer = setTimeout(() => socket.destroy(), timeoutMs);
  try {
    for await (const line of readLines(socket)) if (line === 'DONE') return true;
    return false;
  } catch {
    return false;
  } finally {
    clearTimeout(timer);
    socket.destroy();
  }
}

async function runAuthDialogue(
  socket: Socket,
  login: { user: string; secret: string; protocols: readonly MailProtocol[] },
  verdicts: Map<MailProtocol, CheckResult>,
): Promise<void> {
  const response = Buffer.from(`\0${login.user}\0${login.secret}`, 'utf8').toString('base64');
  let open = login.protocols.length;
  socket.write(`VERSION\t1\t2\nCPID\t${process.pid}\n`);
  for await (const line of readLines(socket)) {
    const [command, id, ...fields] = line.split('\t');
    if (command === 'DONE') {
      // `resp` must be the last field of the line.
      for (const [index, protocol] of login.protocols.entries())
        socket.write(`AUTH\t${index + 1}\tPLAIN\tservice=${protocol}\tsecured\tno-penalty\tresp=${response}\n`);
    }
    const protocol = login.protocols[Number(id) - 1];
    if (protocol === undefined || (command !== 'OK' && command !== 'FAIL')) continue;
    verdicts.set(protocol, command === 'OK' ? 'accepted' : isTemporaryFailure(fields) ? 'unknown' : 'refused');
    if (--open === 0) return;
  }
}

/** `code=temp_fail` since Dovecot 2.3, plain `temp` before. */
function isTemporaryFailure(fields: readonly string[]): boolean {
  return fields.includes('code=temp_fail') || fields.includes('temp');
}

function connect(address: AuthEndpoint): Socket {
  const [, host, port] = /^([^/]+):(\d+)$/.exec(address) ?? [];
  return host === undefined ? createConnection(address) : createConnection(Number(port), host);
}

/** Ends or throws with the socket; an incomplete line is dropped. */
async function* readLines(socket: Socket): AsyncGenerator<string> {
  let rest = '';
  socket.setEncoding('utf8');
  for await (const chunk of socket as AsyncIterable<string>) {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    yield* lines;
  }
}

interface DoveadmSettings {
  /** `http://127.0.0.1:18081`: the listener of Dovecot's `service doveadm`, on loopback or behind TLS. */
  readonly url: string;
  /** `doveadm_api_key`. */
  readonly apiKey: string;
}

/** doveadm's exit code for a missing object (EX_NOHOST): no session to kick, no such user. */
const DOVEADM_NOT_FOUND = 68;

/**
 * Runs one command over Dovecot's HTTP API (doc "Doveadm HTTP API"): an array of `[command, parameters, tag]` in, an
 * array of `["doveadmResponse", …]` or `["error", {exitCode}]` out, HTTP 200 either way.
 *
 * @returns the exit code, 0 for success
 */
async function runDoveadm(
  outbound: OutboundClient,
  settings: DoveadmSettings,
  command: string,
  parameters: Readonly<Record<string, unknown>>,
): Promise<number> {
  const answer = await outbound
    .requestJson({
      method: 'POST',
      url: `${settings.url.replace(/\/$/, '')}/doveadm/v1`,
      headers: {
        authorization: `X-Dovecot-API ${Buffer.from(settings.apiKey).toString('base64')}`,
        'content-type': 'application/json',
      },
      body: JSON.stringify([[command, parameters, 'reelgate']]),
      private: true,
      connectTimeoutMs: 2_000,
      totalTimeoutMs: 5_000,
    })
    .catch((cause: unknown) => {
      throw new BackendError('unavailable', `doveadm ${command}: no answer`, { cause });
    });
  if (answer.status !== 200) throw new BackendError('rejected', `doveadm ${command}: HTTP ${answer.status}`);
  return readExitCode(answer.json, command);
}

function readExitCode(json: unknown, command: string): number {
  const [kind, payload] = Array.isArray(json) && Array.isArray(json[0]) ? (json[0] as unknown[]) : [];
  if (kind === 'doveadmResponse') return 0;
  const exitCode = (payload as { exitCode?: unknown } | undefined)?.exitCode;
  if (kind === 'error' && typeof exitCode === 'number') return exitCode;
  throw new BackendError('rejected', `doveadm ${command}: unreadable answer`);
}
