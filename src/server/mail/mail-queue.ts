import { setTimeout as delay } from 'node:timers/promises';
import { LOCALES, type Locale } from '../../contract/localized-messages/format-message.ts';
import { HOUR_MS } from '../../contract/time-units.ts';
import type { Clock } from '../platform/clock.ts';
import { afterCommit } from '../platform/db/database.ts';
import type { Log } from '../platform/log.ts';
import { randomText } from '../platform/tokens.ts';
import type { Trx } from '../tables.ts';
import type { MailStore, OutgoingMail } from './outgoing-mail-store.ts';
import { type MailSender, SmtpError } from './smtp-sender.ts';

/** An e-mail to be sent. `kind` names the renderer, which gets the rest. */
export interface MailRequest {
  readonly kind: string;
  readonly recipient: string;
  readonly locale: Locale;
  readonly params?: Readonly<Record<string, string>>;
  /** Unix milliseconds; what could not be sent by then is dropped. */
  readonly expiresAt: number;
  /** Of the mail, for `isScheduled`; random by default. */
  readonly id?: string;
  /** Unix milliseconds; default: at once. */
  readonly sendAt?: number;
}

export interface MailText {
  readonly subject: string;
  readonly text: string;
}

/** What a renderer gets. */
export type RenderedMail = Required<Omit<MailRequest, 'id' | 'sendAt'>>;

/** Writes a mail at the moment it is sent. Undefined: it is not needed any more and is dropped. */
export type MailRenderer = (mail: RenderedMail) => Promise<MailText | undefined>;

/** How capabilities send e-mail. */
export interface Mailer {
  /** Whether an SMTP server is configured. Without one `enqueue` drops everything. */
  readonly isEnabled: boolean;
  registerKind(kind: string, render: MailRenderer): void;
  /** In the transaction of the change that causes the mail. @returns whether there was room for it */
  enqueue(trx: Trx, mail: MailRequest): Promise<boolean>;
  /** Whether a mail still waits for its time; if so, nobody sends it before the transaction has ended. */
  isScheduled(trx: Trx, id: string, sendAt: number): Promise<boolean>;
}

export interface MailQueueDependencies {
  readonly store: MailStore;
  /** Undefined: the service sends no mail. */
  readonly sender: MailSender | undefined;
  /** Host name of the service, for Message-IDs. */
  readonly hostname: string;
  readonly clock: Clock;
  readonly log: Log;
}

/** Mails that may wait at a time; rate limits keep the number far below, unless the SMTP server is away for long. */
export const MAX_WAITING = 10_000;
const BATCH = 20;
const LEASE_MS = 5 * 60_000;
const POLL_MS = 5_000;
const STOP_MS = 5_000;
/** Waits after the first, second, … failed try; the last one repeats. */
const RETRY_MS = [10_000, 60_000, 300_000, 900_000, HOUR_MS] as const;

/**
 * Sends mail outside of the transaction that asked for it, and again until it is taken or has expired, over restarts too.
 * A mail is sent twice when the process dies between the server's reply and the removal of the row; both have one Message-ID.
 */
export class MailQueue implements Mailer {
  readonly #dependencies: MailQueueDependencies;
  readonly #renderers = new Map<string, MailRenderer>();
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;
  #isStopping = false;
  #lastError: string | undefined;

  constructor(dependencies: MailQueueDependencies) {
    this.#dependencies = dependencies;
  }

  get isEnabled(): boolean {
    return this.#dependencies.sender !== undefined;
  }

  /** What the SMTP server said when a mail was last not sent; undefined after a success. */
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

  /** Resolves when the mails that are being sent have been sent or refused, or after a few seconds: they are sent again then. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    clearInterval(this.#timer);
    const { sender, log } = this.#dependencies;
    const running = this.#running?.catch((error: unknown) => log.error({ err: error }, 'mails could not be sent'));
    await Promise.race([running, delay(STOP_MS, undefined, { ref: false })]);
    sender?.close();
  }

  /** Sends what is due now; resolves when nothing is due any more. */
  sendDue(): Promise<void> {
    this.#running ??= this.#sendAll().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  #wake(): void {
    // Not started: a command beside the service, or a test that sends by itself.
    if (this.#timer === undefined || this.#isStopping) return;
    const { log } = this.#dependencies;
    // A run that is about to end may have missed the row that caused this call.
    const next = this.#running === undefined ? this.sendDue() : this.#running.then(() => this.sendDue());
    next.catch((error: unknown) => log.error({ err: error }, 'mails could not be sent'));
  }

  async #sendAll(): Promise<void> {
    const { store, clock } = this.#dependencies;
    while (!this.#isStopping) {
      const mails = await store.claimDue(clock.now(), LEASE_MS, BATCH);
      if (mails.length === 0) return;
      await Promise.all(mails.map((mail) => this.#send(mail)));
    }
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
      const text = await render(toRequest(mail));
      if (text !== undefined) {
        const messageId = `<${mail.id}@${hostname}>`;
        await sender.send({ messageId, to: mail.recipient, ...text });
        this.#lastError = undefined;
      }
      await store.delete(mail.id);
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
