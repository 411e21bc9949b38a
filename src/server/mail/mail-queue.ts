import { setTimeout as delay } from 'node:timers/promises';
import type { Selectable } from 'kysely';
import type { createTransport, Transporter } from 'nodemailer';
import { LOCALES, type Locale } from '../../contract/messages/format-message.ts';
import { HOUR_MS } from '../../contract/time-units.ts';
import { AppError } from '../platform/app-error.ts';
import type { Clock } from '../platform/clock.ts';
import { afterCommit, type Database } from '../platform/db/database.ts';
import { evaluatedOnce, wasChanged } from '../platform/db/sql.ts';
import type { Log } from '../platform/log.ts';
import { randomText } from '../platform/tokens.ts';
import type { Executor, Tables, Trx } from '../tables.ts';

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
  /** The service's own address, whose host introduces it to the server. */
  readonly baseUrl?: string;
}

const PORT_OF_TLS = '465';
const PORTS_OF_STARTTLS = new Set(['25', '587']);

/**
 * How to connect: the standard ports decide between TLS and STARTTLS (RFC 8314), since the other scheme on them only
 * leads to a time-out or "wrong version number". A password must not be sent in clear, except to this machine.
 */
export function toConnection(given: string): { readonly url: string; readonly requireTLS: boolean } {
  const url = new URL(given);
  const isTls = url.protocol === 'smtps:';
  if (url.port === PORT_OF_TLS) url.protocol = 'smtps:';
  if (PORTS_OF_STARTTLS.has(url.port)) url.protocol = 'smtp:';
  const isLocal = /^(localhost|127\.|\[::1\])/.test(url.hostname);
  return { url: url.href, requireTLS: isTls || (url.username !== '' && !isLocal) };
}

/**
 * Without a name, nodemailer introduces a container as `[127.0.0.1]`, at which relays such as Google's end the connection
 * with "421 Try again later".
 */
function nameOf(baseUrl = ''): string | undefined {
  const host = URL.parse(baseUrl)?.hostname ?? '';
  return /\.[a-z][a-z0-9-]*$/i.test(host) ? host : undefined;
}

const TIMEOUT_MS = 30_000;
/**
 * A server may process a mail before it accepts it. A client that stops waiting sends a mail again that was accepted,
 * so it waits ten minutes for the reply (RFC 5321 section 4.5.3.2.6).
 */
const REPLY_TIMEOUT_MS = 10 * 60_000;
/**
 * Errors of the session rather than the mail, like a refused sender: a retry may succeed once the operator has corrected
 * the settings.
 */
const SESSION_ERRORS = new Set(['EAUTH', 'ETLS', 'ECONNECTION', 'ESOCKET', 'ETIMEDOUT', 'EDNS', 'EPROTOCOL']);

/** An error of nodemailer; `command` is the SMTP command that was refused. */
type SmtpFailure = Error & { readonly code?: string; readonly command?: string; readonly responseCode?: number };

/** Sends mail with nodemailer. */
export class SmtpSender implements MailSender {
  readonly #options: Parameters<typeof createTransport>[0];
  readonly #from: string;
  #transport: Promise<Transporter> | undefined;

  constructor({ url, from, baseUrl }: SmtpOptions, replyTimeoutMs = REPLY_TIMEOUT_MS) {
    this.#from = from;
    this.#options = {
      ...toConnection(url),
      name: nameOf(baseUrl),
      pool: true,
      maxConnections: 4,
      connectionTimeout: TIMEOUT_MS,
      greetingTimeout: TIMEOUT_MS,
      socketTimeout: replyTimeoutMs,
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
      const { code = '', command, responseCode = 0, message } = error as SmtpFailure;
      const isOfSettings = SESSION_ERRORS.has(code) || command === 'MAIL FROM';
      throw new SmtpError(message, responseCode >= 500 && !isOfSettings, error);
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

/** An e-mail to send. `kind` selects the renderer, which receives the other fields. */
export interface MailRequest {
  readonly kind: string;
  readonly recipient: string;
  readonly locale: Locale;
  readonly params?: Readonly<Record<string, string>>;
  /** Unix milliseconds; a mail not sent by then is dropped. */
  readonly expiresAt: number;
  /** Id of the mail, for `isScheduled`; random by default. */
  readonly id?: string;
  /** Unix milliseconds; default: immediately. */
  readonly sendAt?: number;
}

/** Subject and body of a mail. */
export interface MailText {
  readonly subject: string;
  readonly text: string;
  /** The address to send to if it is another than at the time of the request. */
  readonly recipient?: string;
}

/** The input of a renderer. */
export type RenderedMail = Required<Omit<MailRequest, 'id' | 'sendAt'>>;

/** Renders a mail when it is sent. Undefined: the mail is no longer needed and is dropped. */
export type MailRenderer = (mail: RenderedMail) => Promise<MailText | undefined>;

/** Sends e-mail for the other capabilities. */
export interface Mailer {
  /** Whether an SMTP server is configured. Without one `enqueue` drops every mail. */
  readonly isEnabled: boolean;
  registerKind(kind: string, render: MailRenderer): void;
  /** Enqueues a mail in the transaction of the change that causes it. @returns false if the queue is full */
  enqueue(trx: Trx, mail: MailRequest): Promise<boolean>;
  /** Whether a mail is still waiting for its time; if so, it is not sent before the transaction has ended. */
  isScheduled(trx: Trx, id: string, sendAt: number): Promise<boolean>;
}

interface MailQueueDependencies {
  readonly store: MailStore;
  /** Undefined: the service sends no mail. */
  readonly sender: MailSender | undefined;
  /** Host name of the service, for Message-IDs. */
  readonly hostname: string;
  readonly clock: Clock;
  readonly log: Log;
}

/** Maximum number of queued mails. Rate limits keep the queue far shorter unless the SMTP server is down for long. */
const MAX_WAITING = 10_000;
const BATCH = 20;
const LEASE_MS = 5 * 60_000;
const RENEW_MS = 60_000;
const POLL_MS = 5_000;
const STOP_MS = 5_000;
/** Delays after the first, second, … failed attempt; the last one repeats. */
const RETRY_MS = [10_000, 60_000, 300_000, 900_000, HOUR_MS] as const;

/**
 * Sends mail outside of the transaction that enqueued it, and retries until the mail is accepted or has expired, across
 * restarts. A mail is sent twice if the process dies between the server's acceptance and the removal of the row, or if
 * the server's reply is lost; both copies have the same Message-ID.
 */
export class MailQueue implements Mailer {
  readonly #dependencies: MailQueueDependencies;
  readonly #renderers = new Map<string, MailRenderer>();
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;
  /** Mails being sent, of which a slow one does not hold up the others. */
  readonly #inFlight = new Map<OutgoingMail, Promise<void>>();
  /** Mails that the server has accepted and whose rows could not be deleted. */
  readonly #accepted = new Set<string>();
  #woken = Promise.withResolvers<void>();
  #isStopping = false;
  #lastError: string | undefined;

  constructor(dependencies: MailQueueDependencies) {
    this.#dependencies = dependencies;
  }

  get isEnabled(): boolean {
    return this.#dependencies.sender !== undefined;
  }

  /** The SMTP server's error for the last failed mail; undefined after a success. */
  get lastError(): string | undefined {
    return this.#lastError;
  }

  registerKind(kind: string, render: MailRenderer): void {
    this.#renderers.set(kind, render);
  }

  async enqueue(trx: Trx, mail: MailRequest): Promise<boolean> {
    const { store, clock } = this.#dependencies;
    const now = clock.now();
    const { kind, recipient, locale, params = {}, expiresAt, id = randomText(24), sendAt = now } = mail;
    if (!this.isEnabled || (await store.countDue(now, MAX_WAITING, trx)) >= MAX_WAITING) return false;
    await store.insert(trx, {
      id,
      kind,
      recipient,
      locale,
      params: JSON.stringify(params),
      tries: 0,
      next_try_at: sendAt,
      created_at: now,
      expires_at: expiresAt,
    });
    afterCommit(trx, () => this.#wake());
    return true;
  }

  isScheduled(trx: Trx, id: string, sendAt: number): Promise<boolean> {
    return this.#dependencies.store.lockScheduled(trx, id, sendAt);
  }

  start(): void {
    if (!this.isEnabled) return;
    this.#timer = setInterval(() => this.#wake(), POLL_MS);
    this.#wake();
  }

  /**
   * Resolves when the mails in flight have been sent or refused, or after a few seconds; the rest is retried at the
   * next start.
   */
  async stop(): Promise<void> {
    this.#isStopping = true;
    clearInterval(this.#timer);
    const { sender, log } = this.#dependencies;
    const running = this.#running?.catch((error: unknown) => log.error({ err: error }, 'mails could not be sent'));
    await Promise.race([running, delay(STOP_MS, undefined, { ref: false })]);
    sender?.close();
  }

  /** Sends the mails that are due; resolves when none is left. */
  sendDue(): Promise<void> {
    this.#running ??= this.#sendAll().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  #wake(): void {
    // Not started: a command that runs beside the service, or a test that triggers sending.
    if (this.#timer === undefined || this.#isStopping) return;
    this.#woken.resolve();
    const { log } = this.#dependencies;
    // A run that is about to end may have missed the row that caused this call.
    const next = this.#running === undefined ? this.sendDue() : this.#running.then(() => this.sendDue());
    next.catch((error: unknown) => log.error({ err: error }, 'mails could not be sent'));
  }

  async #sendAll(): Promise<void> {
    const { store, clock } = this.#dependencies;
    const renewal = setInterval(() => this.#renew(), RENEW_MS);
    try {
      while (!this.#isStopping) {
        this.#woken = Promise.withResolvers();
        const room = BATCH - this.#inFlight.size;
        const mails = room === 0 ? [] : await store.claimDue(clock.now(), LEASE_MS, room);
        for (const mail of mails)
          this.#inFlight.set(
            mail,
            this.#send(mail)
              .catch((error: unknown) => this.#dependencies.log.error({ err: error }, 'a mail is claimed again later'))
              .finally(() => this.#inFlight.delete(mail)),
          );
        if (this.#inFlight.size === 0) return;
        await Promise.race([this.#woken.promise, ...this.#inFlight.values()]);
      }
      await Promise.all(this.#inFlight.values());
    } finally {
      clearInterval(renewal);
    }
  }

  /** Keeps other processes from claiming mails whose server takes long. */
  #renew(): void {
    const { store, clock, log } = this.#dependencies;
    store
      .renew([...this.#inFlight.keys()], clock.now() + LEASE_MS)
      .catch((error: unknown) => log.warn({ err: error }, 'the claims of mails could not be renewed'));
  }

  async #send(mail: OutgoingMail): Promise<void> {
    const { store, sender, clock, hostname, log } = this.#dependencies;
    const render = this.#renderers.get(mail.kind);
    const now = clock.now();
    if (sender === undefined || render === undefined || mail.expires_at <= now) {
      log.warn({ kind: mail.kind, mailId: mail.id }, 'a mail was dropped: it could not be sent in time');
      return store.delete(mail.id);
    }
    try {
      const text = this.#accepted.has(mail.id) ? undefined : await render(toRequest(mail));
      if (text !== undefined) {
        const messageId = `<${mail.id}@${hostname}>`;
        const { recipient: to = mail.recipient, ...content } = text;
        await sender.send({ messageId, to, ...content });
        this.#accepted.add(mail.id);
        this.#lastError = undefined;
      }
      await store.delete(mail.id);
      this.#accepted.delete(mail.id);
    } catch (error) {
      await this.#handleFailure(mail, error);
    }
  }

  async #handleFailure(mail: OutgoingMail, error: unknown): Promise<void> {
    const { store, clock, log } = this.#dependencies;
    if (error instanceof SmtpError) this.#lastError = error.message;
    log.warn({ err: error, kind: mail.kind, mailId: mail.id, tries: mail.tries + 1 }, 'a mail could not be sent');
    if (error instanceof SmtpError && error.permanent) return store.delete(mail.id);
    const waitMs = RETRY_MS[Math.min(mail.tries, RETRY_MS.length - 1)] ?? 0;
    await store.reschedule(mail.id, mail.tries + 1, clock.now() + waitMs);
  }
}

const toRequest = ({ kind, recipient, locale, params, expires_at }: OutgoingMail): RenderedMail => ({
  kind,
  recipient,
  locale: LOCALES.find((each) => each === locale) ?? 'en',
  params: JSON.parse(params) as Record<string, string>,
  expiresAt: expires_at,
});

type OutgoingMail = Selectable<Tables['outgoing_mails']>;

/** SQL of `outgoing_mails`. */
export class MailStore {
  readonly #database: Database<Tables>;
  constructor(database: Database<Tables>) {
    this.#database = database;
  }

  async insert(trx: Trx, mail: OutgoingMail): Promise<void> {
    await trx.insertInto('outgoing_mails').values(mail).execute();
  }

  /** Number of mails that are due, counted up to `most`. */
  async countDue(now: number, most: number, db: Executor = this.#database.kysely): Promise<number> {
    const waiting = db
      .selectFrom('outgoing_mails')
      .select('id')
      .where(({ or, eb }) => or([eb('next_try_at', '<=', now), eb('tries', '>', 0)]))
      .limit(most)
      .as('waiting');
    const row = await db
      .selectFrom(waiting)
      .select(({ fn }) => fn.countAll<number>().as('count'))
      .executeTakeFirstOrThrow();
    return Number(row.count);
  }

  /** Locks a mail scheduled for `sendAt`. @returns false if it no longer exists or is being sent */
  async lockScheduled(trx: Trx, id: string, sendAt: number): Promise<boolean> {
    const result = await trx
      .updateTable('outgoing_mails')
      .set({ next_try_at: sendAt })
      .where('id', '=', id)
      .where('next_try_at', '=', sendAt)
      .where('tries', '=', 0)
      .executeTakeFirst();
    return wasChanged(result);
  }

  /** Extends claims; a mail that has been sent or rescheduled meanwhile is left alone. */
  async renew(mails: readonly OutgoingMail[], until: number): Promise<void> {
    for (const { id, tries } of mails)
      await this.#database.kysely
        .updateTable('outgoing_mails')
        .set({ next_try_at: until })
        .where('id', '=', id)
        .where('tries', '=', tries)
        .execute();
  }

  /** Claims due mails for this process until `now + leaseMs`; each is claimed by one process. */
  claimDue(now: number, leaseMs: number, limit: number): Promise<OutgoingMail[]> {
    return this.#database.transaction((trx) =>
      trx
        .with(evaluatedOnce('due'), (from) =>
          from
            .selectFrom('outgoing_mails')
            .select('id')
            .where('next_try_at', '<=', now)
            .orderBy('next_try_at')
            .limit(limit)
            .forUpdate()
            .skipLocked(),
        )
        .updateTable('outgoing_mails')
        .set({ next_try_at: now + leaseMs })
        .where('id', 'in', ({ selectFrom }) => selectFrom('due').select('due.id'))
        .returningAll()
        .execute(),
    );
  }

  async delete(id: string): Promise<void> {
    await this.#database.kysely.deleteFrom('outgoing_mails').where('id', '=', id).execute();
  }

  async reschedule(id: string, tries: number, at: number): Promise<void> {
    await this.#database.kysely
      .updateTable('outgoing_mails')
      .set({ tries, next_try_at: at })
      .where('id', '=', id)
      .execute();
  }
}

const KIND = 'test';
const EXPIRES_MS = HOUR_MS;

const TEXTS: Readonly<Record<Locale, MailText>> = {
  en: { subject: 'Test mail from Reelgate', text: 'The SMTP settings of your Reelgate work.\n' },
  'zh-CN': { subject: 'Reelgate 测试邮件', text: '您的 Reelgate 的 SMTP 设置可以正常使用。\n' },
};

interface TestMailSenderDependencies {
  readonly database: Database<Tables>;
  readonly mailer: Mailer;
  readonly clock: Clock;
}

/** Sends an administrator's test mail, to check the SMTP settings. */
class TestMailSender {
  readonly #dependencies: TestMailSenderDependencies;
  constructor(dependencies: TestMailSenderDependencies) {
    this.#dependencies = dependencies;
    dependencies.mailer.registerKind(KIND, async ({ locale }) => TEXTS[locale]);
  }

  /** @throws mail_off, unavailable */
  async send(recipient: string, locale: Locale): Promise<void> {
    const { database, mailer, clock } = this.#dependencies;
    if (!mailer.isEnabled) throw new AppError('mail_off');
    const expiresAt = clock.now() + EXPIRES_MS;
    const isQueued = await database.transaction((trx) =>
      mailer.enqueue(trx, { kind: KIND, recipient, locale, expiresAt }),
    );
    if (!isQueued) throw new AppError('unavailable');
  }
}

interface MailDependencies {
  readonly config: {
    readonly smtpUrl: string | undefined;
    readonly smtpFrom: string | undefined;
    readonly baseUrl: string;
  };
  readonly database: Database<Tables>;
  readonly clock: Clock;
  readonly log: Log;
  /** Replaces the SMTP server; used by tests. */
  readonly sender?: MailSender;
}

/** The part of this capability that its own routes, other capabilities and app.ts use. */
export interface Mail {
  readonly queue: MailQueue;
  readonly testMail: TestMailSender;
  countWaiting(): Promise<number>;
}

/** Constructs the mail capability. */
export function makeMail({ config, database, clock, log, ...given }: MailDependencies): Mail {
  const { smtpUrl: url, smtpFrom: from, baseUrl } = config;
  const store = new MailStore(database);
  const sender =
    given.sender ?? (url === undefined || from === undefined ? undefined : new SmtpSender({ url, from, baseUrl }));
  const queue = new MailQueue({ store, sender, hostname: new URL(baseUrl).hostname, clock, log });
  return {
    queue,
    testMail: new TestMailSender({ database, mailer: queue, clock }),
    countWaiting: () => store.countDue(clock.now(), MAX_WAITING),
  };
}
