import { setTimeout as delay } from 'node:timers/promises';
import { ImapFlow } from 'imapflow';
import Pop3Command from 'node-pop3';
import { createTransport } from 'nodemailer';
import SmtpConnection from 'nodemailer/lib/smtp-connection';

/** Where a mail server listens on this machine, and the certificate to trust. */
export interface MailServerEndpoint {
  readonly ports: { readonly imap: number; readonly pop3: number; readonly smtp: number };
  readonly ca: string;
}

/** User name and password of a mail account. */
export interface MailLogin {
  readonly user: string;
  readonly pass: string;
}

/** Result of a login; `later`: a temporary refusal. */
export type LoginOutcome = 'in' | 'refused' | 'later';

const host = '127.0.0.1';

/** An IMAP client over TLS, not connected yet. */
export function imapClient(server: MailServerEndpoint, auth: MailLogin): ImapFlow {
  const client = new ImapFlow({
    host,
    port: server.ports.imap,
    secure: true,
    auth,
    logger: false,
    tls: { ca: server.ca },
  });
  client.on('error', () => undefined);
  return client;
}

/** An SMTP transport over TLS. */
export function smtpClient(server: MailServerEndpoint, auth: MailLogin) {
  return createTransport({ host, port: server.ports.smtp, secure: true, auth, tls: { ca: server.ca } });
}

/** A POP3 client over TLS. */
export function pop3Client(server: MailServerEndpoint, { user, pass }: MailLogin): Pop3Command {
  return new Pop3Command({
    user,
    password: pass,
    host,
    port: server.ports.pop3,
    tls: true,
    tlsOptions: { ca: server.ca },
    servername: 'localhost',
    timeout: 20_000,
  });
}

/** Logs in over one protocol with a widely used client library. */
const LOGINS: Readonly<
  Record<'imap' | 'pop3' | 'smtp', (server: MailServerEndpoint, auth: MailLogin) => Promise<unknown>>
> = {
  imap: async (server, auth) => {
    const client = imapClient(server, auth);
    try {
      await client.connect();
      await client.logout();
    } finally {
      // A refused login leaves the connection open.
      client.close();
    }
  },
  pop3: async (server, auth) => {
    const client = pop3Client(server, auth);
    try {
      await client.STAT();
    } finally {
      await client.QUIT();
    }
  },
  smtp: (server, auth) =>
    new Promise<void>((resolve, reject) => {
      const client = new SmtpConnection({ host, port: server.ports.smtp, secure: true, tls: { ca: server.ca } });
      // A transport would keep the connection of a refused login open.
      const end = (error?: Error | null) => {
        client.close();
        if (error) reject(error);
        else resolve();
      };
      client.once('error', end);
      client.connect(() => client.login({ user: auth.user, pass: auth.pass, credentials: auth }, end));
    }),
};

/** Tries all three protocols and distinguishes a temporary refusal from a wrong password. */
export async function tryLogins(
  server: MailServerEndpoint,
  auth: MailLogin,
): Promise<Record<'imap' | 'pop3' | 'smtp', LoginOutcome>> {
  const attempt = async (protocol: 'imap' | 'pop3' | 'smtp'): Promise<LoginOutcome> => {
    try {
      await LOGINS[protocol](server, auth);
      return 'in';
    } catch (error) {
      return toOutcome(error);
    }
  };
  const [imap, pop3, smtp] = await Promise.all([attempt('imap'), attempt('pop3'), attempt('smtp')]);
  return { imap, pop3, smtp };
}

function toOutcome(error: unknown): LoginOutcome {
  const { message, responseCode, serverResponseCode, authenticationFailed } = error as {
    message: string;
    responseCode?: number;
    serverResponseCode?: string;
    authenticationFailed?: boolean;
  };
  if (serverResponseCode === 'UNAVAILABLE' || responseCode === 454 || /SYS\/TEMP/.test(message)) return 'later';
  if (authenticationFailed || responseCode === 535 || /\[AUTH\]|Authentication failed/i.test(message)) return 'refused';
  throw error;
}

export const ALL_ACCEPTED = { imap: 'in', pop3: 'in', smtp: 'in' } as const;
export const ALL_REFUSED = { imap: 'refused', pop3: 'refused', smtp: 'refused' } as const;

/**
 * Sends a message to the account's own mailbox over SMTP and reads it over IMAP and POP3.
 * @returns the two texts
 */
export async function sendAndRead(server: MailServerEndpoint, auth: MailLogin, subject: string, text: string) {
  const sender = smtpClient(server, auth);
  await sender.sendMail({
    from: auth.user,
    to: auth.user,
    subject,
    text,
    attachments: [{ filename: 'note.txt', content: 'x' }],
  });
  sender.close();
  return { imap: await readByImap(server, auth, subject), pop3: await readByPop3(server, auth, subject) };
}

/** Waits for a message with this subject in the inbox and returns its text. */
export async function readByImap(server: MailServerEndpoint, auth: MailLogin, subject: string): Promise<string> {
  const client = imapClient(server, auth);
  await client.connect();
  try {
    const lock = await client.getMailboxLock('INBOX');
    try {
      for (let attempt = 0; attempt < 100; attempt++) {
        const found = await client.search({ subject }, { uid: true });
        const uid = (found || [])[0];
        if (uid !== undefined) {
          const message = await client.fetchOne(`${uid}`, { envelope: true, bodyStructure: true }, { uid: true });
          if (!message || message.envelope?.subject !== subject) throw new Error('another message came back');
          const { content } = await client.download(`${uid}`, '1', { uid: true });
          return (await Array.fromAsync(content ?? [])).join('').trim();
        }
        await delay(50);
        await client.noop();
      }
      throw new Error('the message never arrived');
    } finally {
      lock.release();
    }
  } finally {
    await client.logout();
  }
}

async function readByPop3(server: MailServerEndpoint, auth: MailLogin, subject: string): Promise<string> {
  const client = pop3Client(server, auth);
  try {
    const list = await client.UIDL();
    for (const [number] of list) {
      const raw = await client.RETR(Number(number));
      if (raw.includes(`Subject: ${subject}`)) return raw;
    }
    throw new Error('the message is not in the maildrop');
  } finally {
    await client.QUIT();
  }
}
