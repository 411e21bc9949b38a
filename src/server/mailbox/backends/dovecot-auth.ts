import { createConnection, type Socket } from 'node:net';
import type { MailProtocol, Verdict } from '../backend.ts';

/** Where Dovecot's auth service listens: a unix socket's path, or `host:port` on a private network. */
export type AuthAddress = string;

/**
 * Asks Dovecot's own auth service whether it would let a login in, once for each protocol.
 *
 * The line protocol of Dovecot's doc "Authentication Protocol" 1.2, as Postfix speaks it. Unlike a probe by IMAP login
 * it is exempt from the penalty that Dovecot lays on an address with wrong passwords (`no-penalty`), and it tells a
 * refusal from a failure of the database behind (`temp_fail`). A refusal takes `auth_failure_delay`.
 *
 * @returns a verdict for every protocol asked; `unknown` for those the signal cut short
 */
export async function askDovecot(
  address: AuthAddress,
  login: { user: string; secret: string; protocols: readonly MailProtocol[] },
  signal: AbortSignal,
): Promise<Map<MailProtocol, Verdict>> {
  const verdicts = new Map<MailProtocol, Verdict>(login.protocols.map((protocol) => [protocol, 'unknown']));
  if (signal.aborted || /[\0\t\r\n]/.test(login.user + login.secret)) return verdicts;
  const socket = connect(address);
  const stop = () => socket.destroy();
  signal.addEventListener('abort', stop, { once: true });
  try {
    await converse(socket, login, verdicts);
  } catch {
    // A broken conversation leaves the verdicts that were not given at `unknown`.
  } finally {
    signal.removeEventListener('abort', stop);
    socket.destroy();
  }
  return verdicts;
}

/** Whether Dovecot's auth service answers at all. */
export async function isDovecotUp(address: AuthAddress, timeoutMs: number): Promise<boolean> {
  const socket = connect(address);
  const timer = setTimeout(() => socket.destroy(), timeoutMs);
  try {
    for await (const line of linesOf(socket)) if (line === 'DONE') return true;
    return false;
  } catch {
    return false;
  } finally {
    clearTimeout(timer);
    socket.destroy();
  }
}

async function converse(
  socket: Socket,
  login: { user: string; secret: string; protocols: readonly MailProtocol[] },
  verdicts: Map<MailProtocol, Verdict>,
): Promise<void> {
  const response = Buffer.from(`\0${login.user}\0${login.secret}`, 'utf8').toString('base64');
  let open = login.protocols.length;
  socket.write(`VERSION\t1\t2\nCPID\t${process.pid}\n`);
  for await (const line of linesOf(socket)) {
    const [command, id, ...fields] = line.split('\t');
    if (command === 'DONE') {
      // `resp` has to be the last field of the line.
      for (const [index, protocol] of login.protocols.entries())
        socket.write(`AUTH\t${index + 1}\tPLAIN\tservice=${protocol}\tsecured\tno-penalty\tresp=${response}\n`);
    }
    const protocol = login.protocols[Number(id) - 1];
    if (protocol === undefined || (command !== 'OK' && command !== 'FAIL')) continue;
    verdicts.set(protocol, command === 'OK' ? 'accepted' : isTemporary(fields) ? 'unknown' : 'refused');
    if (--open === 0) return;
  }
}

/** `code=temp_fail` since Dovecot 2.3, plain `temp` before. */
function isTemporary(fields: readonly string[]): boolean {
  return fields.includes('code=temp_fail') || fields.includes('temp');
}

function connect(address: AuthAddress): Socket {
  const [, host, port] = /^([^/]+):(\d+)$/.exec(address) ?? [];
  return host === undefined ? createConnection(address) : createConnection(Number(port), host);
}

/** Ends or throws when the socket does; a line that was not finished is dropped. */
async function* linesOf(socket: Socket): AsyncGenerator<string> {
  let rest = '';
  socket.setEncoding('utf8');
  for await (const chunk of socket as AsyncIterable<string>) {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    yield* lines;
  }
}
