import type { Static } from 'typebox';
import {
  type AppPassword as AppPasswordSchema,
  applyForMailbox,
  getAppPassword,
  getMailbox,
  type Mailbox as MailboxSchema,
  regenerateAppPassword,
} from '../contract/mailbox.ts';
import type { CallOptions, Transport } from './transport.ts';

export type MailboxInfo = Static<typeof MailboxSchema>;
export type AppPasswordInfo = Static<typeof AppPasswordSchema>;

/** The account's mailbox. Every response contains passwords in clear text: keep them out of logs. */
export class Mailbox {
  readonly #transport: Transport;
  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** E-mail address and password; `has_mailbox` is false if there is no mailbox. */
  async get(): Promise<MailboxInfo> {
    return (await this.#transport.call(getMailbox, {})).data;
  }

  /**
   * Applies for a mailbox. When there is one already, returns its e-mail address only.
   *
   * @param localPart the part before the @; made from the user name when left out
   */
  async apply(localPart?: string) {
    const body = localPart === undefined ? {} : { local_part: localPart };
    return (await this.#transport.call(applyForMailbox, { body })).data;
  }

  /** The application password for mail programs, checked against the mail server (up to three seconds). */
  async appPassword(): Promise<AppPasswordInfo> {
    return (await this.#transport.call(getAppPassword, {})).data;
  }

  /** Replaces the application password. Needs a session or a user access token: a device sign-in may only read it. */
  async regenerateAppPassword(options: CallOptions = {}): Promise<AppPasswordInfo> {
    return (await this.#transport.call(regenerateAppPassword, {}, options)).data;
  }
}
