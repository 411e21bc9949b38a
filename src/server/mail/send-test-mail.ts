import type { Locale } from '../../contract/localized-messages/format-message.ts';
import { HOUR_MS } from '../../contract/time-units.ts';
import { AppError } from '../platform/app-error.ts';
import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/db/database.ts';
import type { Tables } from '../tables.ts';
import type { Mailer, MailText } from './mail-queue.ts';

const KIND = 'test';
const EXPIRES_MS = HOUR_MS;

const TEXTS: Readonly<Record<Locale, MailText>> = {
  en: { subject: 'Test mail from Reelgate', text: 'The SMTP settings of your Reelgate work.\n' },
  'zh-CN': { subject: 'Reelgate 测试邮件', text: '您的 Reelgate 的 SMTP 设置可以正常使用。\n' },
};

export interface TestMailSenderDependencies {
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
