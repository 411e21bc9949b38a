import { createConnection, type Socket } from 'node:net';
import type { CheckResult, MailProtocol } from '../mail-backend.ts';

/** Where Dovecot's auth service listens: a unix socket's path, or `host:port` on a private network. */
export type AuthEndpoint = string;

/**
 * Queries Dovecot's own auth service whether it would accept a login, once for each protocol.
 *
 * The line protocol of Dovecot's doc "Authentication Protocol" 1.2, which Postfix uses too. Unlike a probe by IMAP login
 * it is exempt from the penalty that Dovecot applies to an IP with wrong passwords (`no-penalty`), and it distinguishes a
 * refusal from a failure of Dovecot's database (`temp_fail`). A refusal takes `auth_failure_delay`.
 *
 * @returns a verdict for every protocol asked; `unknown` for those not finished when the signal aborted
 */
export async function authenticateWithDovecot(
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
    // A broken conversation leaves the verdicts that were not given at `unknown`.
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
      // `resp` has to be the last field of the line.
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

/** Ends or throws when the socket does; a line that was not finished is dropped. */
async function* readLines(socket: Socket): AsyncGenerator<string> {
  let rest = '';
  socket.setEncoding('utf8');
  for await (const chunk of socket as AsyncIterable<string>) {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    yield* lines;
  }
}
