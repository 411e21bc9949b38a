import type { MailSender, SmtpMail } from '../../src/server/mail/smtp-sender.ts';
import { SmtpError } from '../../src/server/mail/smtp-sender.ts';
import { type ManualClock, manualClock } from '../../src/server/platform/clock.ts';
import { startTestService, type TestService } from '../test-service.ts';
import { TestUser } from './test-user-client.ts';

/** Keeps mails instead of sending them; refuses them while `refusal` is set. */
export class CapturingSender implements MailSender {
  readonly sent: SmtpMail[] = [];
  refusal: 'temporary' | 'permanent' | undefined;

  async send(mail: SmtpMail): Promise<void> {
    if (this.refusal !== undefined) throw new SmtpError('refused', this.refusal === 'permanent', undefined);
    this.sent.push(mail);
  }

  close(): void {}
}

/** The token in the link of a mail. */
export const tokenOf = (mail: Pick<SmtpMail, 'text'> | undefined): string => /#(\S+)/.exec(mail?.text ?? '')?.[1] ?? '';

export interface EmailFixture extends TestService {
  readonly clock: ManualClock;
  readonly sender: CapturingSender;
  /** Mails to an address so far, after everything due was sent. */
  mailsTo(address: string): Promise<SmtpMail[]>;
  /** Somebody with an empty cookie jar, at an address of their own. */
  visitor(): TestUser;
  /** Registers with an e-mail and logs in; the address is not confirmed yet. */
  join(username: string): Promise<TestUser>;
}

/** The whole service, whose mails are kept in memory. */
export async function startEmailService(databaseUrl: string): Promise<EmailFixture> {
  const clock = manualClock();
  const sender = new CapturingSender();
  const service = await startTestService(databaseUrl, {}, { clock, mailSender: sender });
  const { queue } = service.app.mail;
  let visitors = 0;
  const visitor = () => new TestUser(service.app.http.fastify, `10.0.0.${++visitors}`);
  return {
    ...service,
    clock,
    sender,
    visitor,
    async mailsTo(address) {
      // The first may only wait for a run that began before the mail was queued.
      await queue.sendDue();
      await queue.sendDue();
      return sender.sent.filter(({ to }) => to === address);
    },
    async join(username) {
      const person = visitor();
      const body = { username, password: 'correct horse battery', email: `${username}@example.org` };
      await person.ok('POST', '/api/user/register', body);
      await person.logIn(username);
      return person;
    },
  };
}
