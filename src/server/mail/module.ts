import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/db/database.ts';
import type { Log } from '../platform/log.ts';
import type { Tables } from '../tables.ts';
import { MAX_WAITING, MailQueue, MailStore, TestMailSender } from './mail-queue.ts';
import { type MailSender, SmtpSender } from './smtp-sender.ts';

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
  const sender = given.sender ?? (url === undefined || from === undefined ? undefined : new SmtpSender({ url, from }));
  const queue = new MailQueue({ store, sender, hostname: new URL(baseUrl).hostname, clock, log });
  return {
    queue,
    testMail: new TestMailSender({ database, mailer: queue, clock }),
    countWaiting: () => store.countDue(clock.now(), MAX_WAITING),
  };
}
