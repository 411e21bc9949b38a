import type { createTransport, Transporter } from 'nodemailer';

export interface SmtpMail {
  readonly messageId: string;
  readonly to: string;
  readonly subject: string;
  readonly text: string;
}

/**
 * Why a mail was not sent. `permanent`: the server refused this mail with a 5xx reply (RFC 5321 section 4.2.1), and
 * another try would end the same way.
 */
export class SmtpError extends Error {
  readonly permanent: boolean;
  constructor(message: string, permanent: boolean, cause: unknown) {
    super(message, { cause });
    this.name = 'SmtpError';
    this.permanent = permanent;
  }
}

/** Hands mails to the operator's SMTP server. */
export interface MailSender {
  /** Resolves once the server has taken the mail over. @throws SmtpError */
  send(mail: SmtpMail): Promise<void>;
  close(): void;
}

export interface SmtpOptions {
  /** `smtp://` (STARTTLS where offered) or `smtps://`, with user and password where the server asks for them. */
  readonly url: string;
  /** Address of the sender, with or without a name. */
  readonly from: string;
}

const TIMEOUT_MS = 30_000;
/** Refusals of the session or the sender: the next mail may well be taken once the operator has mended the settings. */
const SESSION_ERRORS = new Set(['EAUTH', 'ETLS', 'ECONNECTION', 'ESOCKET', 'ETIMEDOUT', 'EDNS', 'EPROTOCOL']);

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
      // A password must not travel in clear, except to this machine.
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
        // As a structure: an address is never parsed again, so that a comma or an angle bracket in it stays what it is.
        to: { name: '', address: to },
        subject,
        text,
        messageId,
        // RFC 3834: no out-of-office reply, please.
        headers: { 'auto-submitted': 'auto-generated' },
      });
    } catch (error) {
      const { code = '', responseCode = 0, message } = error as { code?: string; responseCode?: number } & Error;
      throw new SmtpError(message, responseCode >= 500 && !SESSION_ERRORS.has(code), error);
    }
  }

  /** Connects and signs in, and sends nothing. @throws Error with what the mail server refused */
  async verify(): Promise<void> {
    await (await this.#open()).verify();
  }

  close(): void {
    void this.#transport?.then((transport) => transport.close());
  }

  /** The package is loaded with the first mail: it takes 8 MB, and most services send none for a while or at all. */
  #open(): Promise<Transporter> {
    this.#transport ??= import('nodemailer').then(({ createTransport }) => createTransport(this.#options));
    return this.#transport;
  }
}
