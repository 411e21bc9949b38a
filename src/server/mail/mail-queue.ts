import { setTimeout as delay } from 'node:timers/promises';
import type { Selectable } from 'kysely';
import { LOCALES, type Locale } from '../../contract/messages/format-message.ts';
import { HOUR_MS } from '../../contract/time-units.ts';
import { AppError } from '../platform/app-error.ts';
import type { Clock } from '../platform/clock.ts';
import { afterCommit, type Database } from '../platform/db/database.ts';
import { wasChanged } from '../platform/db/sql.ts';
import type { Log } from '../platform/log.ts';
import { randomText } from '../platform/tokens.ts';
import type { Executor, Tables, Trx } from '../tables.ts';
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

interface MailQueueDependencies {
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

  /** Mails that wait but for their time, counted no further than `most`. */
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

  /** Locks a mail that is to be sent at `sendAt`. @returns false when it is gone or being sent */
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

  /** Claims due mails for this process until `now + leaseMs`; each is claimed by one process. */
  claimDue(now: number, leaseMs: number, limit: number): Promise<OutgoingMail[]> {
    return this.#database.transaction((trx) =>
      trx
        .updateTable('outgoing_mails')
        .set({ next_try_at: now + leaseMs })
        .where('id', 'in', (from) =>
          from
            .selectFrom('outgoing_mails')
            .select('id')
            .where('next_try_at', '<=', now)
            .orderBy('next_try_at')
            .limit(limit)
            .forUpdate()
            .skipLocked(),
        )
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

/** A mail an administrator sends to see whether the SMTP settings work. */
export class TestMailSender {
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
