import { type MailSender, SmtpError, type SmtpMail } from '../../src/server/mail/mail-queue.ts';
import { type ManualClock, manualClock } from '../../src/server/platform/clock.ts';
import { startTestService, type TestService } from '../test-service.ts';
import { TestUser } from './test-user-client.ts';

/** Stores e-mails instead of sending them; refuses them while `refusal` is set. */
export class CapturingSender implements MailSender {
  readonly sent: SmtpMail[] = [];
  refusal: 'temporary' | 'permanent' | undefined;

  async send(mail: SmtpMail): Promise<void> {
    if (this.refusal !== undefined) throw new SmtpError('refused', this.refusal === 'permanent', undefined);
    this.sent.push(mail);
  }

  close(): void {}
}

/** The token in the link of an e-mail. */
export const tokenOf = (mail: Pick<SmtpMail, 'text'> | undefined): string => /#(\S+)/.exec(mail?.text ?? '')?.[1] ?? '';

/** A service whose e-mails stay in memory, with a manual clock. */
export interface EmailFixture extends TestService {
  readonly clock: ManualClock;
  readonly sender: CapturingSender;
  /** E-mails sent to an address so far, after everything due was sent. */
  mailsTo(address: string): Promise<SmtpMail[]>;
  /** A client with an empty cookie jar and its own IP address. */
  visitor(): TestUser;
  /** Registers with an e-mail address and logs in; the address is not confirmed yet. */
  join(username: string): Promise<TestUser>;
}

/** The whole service, with e-mails stored in memory. */
export async function startEmailService(
  databaseUrl: string,
  env: Readonly<Record<string, string>> = {},
): Promise<EmailFixture> {
  const clock = manualClock();
  const sender = new CapturingSender();
  const service = await startTestService(databaseUrl, env, { clock, mailSender: sender });
  const { queue } = service.app.mail;
  let visitors = 0;
  const visitor = () => new TestUser(service.app.http.fastify, `10.0.0.${++visitors}`);
  return {
    ...service,
    clock,
    sender,
    visitor,
    async mailsTo(address) {
      // The first call may only wait for a run that started before the e-mail was queued.
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
