import { SMTPServer } from 'smtp-server';
import type { Authenticate } from './auth-types-and-plain-credentials.ts';
import type { MailStore } from './mail-store.ts';
import type { Certificate } from './self-signed-certificate.ts';

export interface SmtpOptions {
  readonly domain: string;
  readonly authenticate: Authenticate;
  /** Whether mail for the recipient is accepted. */
  mailboxExists(address: string): Promise<boolean>;
}

const MAX_MESSAGE_BYTES = 25 * 1024 * 1024;

/** SMTP over TLS for logged-in users of one domain; no mail is sent to other servers. */
export function makeSmtpServer(options: SmtpOptions, tls: Certificate, store: MailStore): SMTPServer {
  const fail = (code: number, text: string) => Object.assign(new Error(text), { responseCode: code });
  const server = new SMTPServer({
    ...tls,
    secure: true,
    size: MAX_MESSAGE_BYTES,
    authMethods: ['PLAIN', 'LOGIN'],
    disableReverseLookup: true,
    closeTimeout: 100,
    onAuth({ username, password }, _session, done) {
      const address = (username ?? '').toLowerCase();
      options.authenticate(address, password ?? '', 'smtp').then(
        (admitted) =>
          admitted
            ? done(null, { user: address })
            : done(admitted === undefined ? fail(454, '4.7.0 Try again later') : fail(535, '5.7.8 Wrong password')),
        () => done(fail(454, '4.7.0 Try again later')),
      );
    },
    onMailFrom({ address }, session, done) {
      // A login may send only as its own e-mail address.
      done(address.toLowerCase() === session.user ? null : fail(553, '5.7.1 Sender is not yours'));
    },
    onRcptTo({ address }, _session, done) {
      const to = (address ?? '').toLowerCase();
      if (!to.endsWith(`@${options.domain}`)) return done(fail(550, '5.7.1 Mail does not leave this server'));
      options.mailboxExists(to).then(
        (known) => done(known ? null : fail(550, '5.1.1 No such mailbox')),
        () => done(fail(451, '4.3.0 Try again later')),
      );
    },
    onData(stream, session, done) {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        if (stream.sizeExceeded) return done(fail(552, '5.3.4 Too large'));
        const raw = Buffer.concat(chunks);
        for (const { address } of session.envelope.rcptTo) store.deliver(address.toLowerCase(), raw);
        done(null, 'Delivered');
      });
    },
  });
  // Clients that disconnect are not logged.
  server.on('error', () => undefined);
  return server;
}
