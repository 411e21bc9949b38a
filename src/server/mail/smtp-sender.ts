import type { createTransport, Transporter } from 'nodemailer';

/** A mail as it is handed to the SMTP server. */
export interface SmtpMail {
  readonly messageId: string;
  readonly to: string;
  readonly subject: string;
  readonly text: string;
}

/**
 * Why a mail was not sent. `permanent`: the server refused this mail with a 5xx reply (RFC 5321 section 4.2.1), so a
 * retry would fail as well.
 */
export class SmtpError extends Error {
  readonly permanent: boolean;
  constructor(message: string, permanent: boolean, cause: unknown) {
    super(message, { cause });
    this.name = 'SmtpError';
    this.permanent = permanent;
  }
}

/** Submits mails to the operator's SMTP server. */
export interface MailSender {
  /** Resolves once the server has accepted the mail. @throws SmtpError */
  send(mail: SmtpMail): Promise<void>;
  close(): void;
}

/** Connection and sender of the SMTP server. */
export interface SmtpOptions {
  /** `smtp://` (STARTTLS if offered) or `smtps://`, with user and password if the server requires them. */
  readonly url: string;
  /** Address of the sender, with or without a name. */
  readonly from: string;
}

const TIMEOUT_MS = 30_000;
/**
 * Errors of the session or the sender rather than the mail: a retry may succeed once the operator has corrected the
 * settings.
 */
const SESSION_ERRORS = new Set(['EAUTH', 'ETLS', 'ECONNECTION', 'ESOCKET', 'ETIMEDOUT', 'EDNS', 'EPROTOCOL']);

/** Sends mail with nodemailer. */
export class SmtpSender implements MailSender {
  readonly #options: Parameters<typeof createTransport>[0];
  readonly #from: string;
  #transport: Promise<Transporter> | undefined;

  constructor({ url, from }: SmtpOptions) {
    this.#from = from;
    const { username, hostname } = new URL(url);
    this.#options = {
      url,
      pool: true,
      maxConnections: 4,
      // A password must not be sent in clear, except to this machine.
      requireTLS: username !== '' && !/^(localhost|127\.|\[::1\])/.test(hostname),
      connectionTimeout: TIMEOUT_MS,
      greetingTimeout: TIMEOUT_MS,
      socketTimeout: TIMEOUT_MS,
      disableFileAccess: true,
      disableUrlAccess: true,
    } as Parameters<typeof createTransport>[0];
  }

  async send({ messageId, to, subject, text }: SmtpMail): Promise<void> {
    try {
      const transport = await this.#open();
      await transport.sendMail({
        from: this.#from,
        // A structured address is not parsed again, so that a comma or an angle bracket in it is not misread.
        to: { name: '', address: to },
        subject,
        text,
        messageId,
        // Suppresses out-of-office replies (RFC 3834).
        headers: { 'auto-submitted': 'auto-generated' },
      });
    } catch (error) {
      const { code = '', responseCode = 0, message } = error as { code?: string; responseCode?: number } & Error;
      throw new SmtpError(message, responseCode >= 500 && !SESSION_ERRORS.has(code), error);
    }
  }

  /** Connects and authenticates without sending a mail. @throws Error with the mail server's refusal */
  async verify(): Promise<void> {
    await (await this.#open()).verify();
  }

  close(): void {
    void this.#transport?.then((transport) => transport.close());
  }

  /** Loads the package with the first mail: it takes 8 MB, and many services send no mail for a while or at all. */
  #open(): Promise<Transporter> {
    this.#transport ??= import('nodemailer').then(({ createTransport }) => createTransport(this.#options));
    return this.#transport;
  }
}
