import type { Static } from 'typebox';
import type { EndpointPart } from '../contract/endpoint.ts';
import {
  type AppPassword as AppPasswordSchema,
  applyForMailbox,
  getAppPassword,
  getMailbox,
  type Mailbox as MailboxSchema,
  regenerateAppPassword,
} from '../contract/mailbox.ts';
import type { CallOptions, Transport } from './transport.ts';

/** The mailbox with its password in clear text. */
export type MailboxInfo = Static<typeof MailboxSchema>;
/** Password for mail programs in clear text, and the servers they connect to. */
export type AppPasswordInfo = Static<typeof AppPasswordSchema>;

/** A newly created mailbox, or the address of the existing one. */
export type AppliedMailbox = EndpointPart<typeof applyForMailbox, 'response'>['data'];

/** The account's mailbox. Every response contains passwords in clear text: keep them out of logs. */
export class Mailbox {
  readonly #transport: Transport;
  /** @internal */
  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * E-mail address and password; `has_mailbox` is false without a mailbox.
   *
   * @throws ReelgateError `refused` (mailbox_off, mailbox_unreachable)
   */
  async get(): Promise<MailboxInfo> {
    return (await this.#transport.call(getMailbox, {})).data;
  }

  /**
   * Applies for a mailbox. If one exists already, returns only its e-mail address.
   *
   * @param localPart part before the @; derived from the user name if omitted
   * @throws ReelgateError `refused` (mailbox_taken, mailbox_off, mailbox_unreachable)
   */
  async apply(localPart?: string): Promise<AppliedMailbox> {
    const body = localPart === undefined ? {} : { local_part: localPart };
    return (await this.#transport.call(applyForMailbox, { body })).data;
  }

  /**
   * Application password for mail programs, verified with the mail server (up to three seconds).
   *
   * @throws ReelgateError `refused` (mailbox_missing, mailbox_unreachable)
   */
  async appPassword(): Promise<AppPasswordInfo> {
    return (await this.#transport.call(getAppPassword, {})).data;
  }

  /**
   * Replaces the application password. Needs a session or a user access token, because a device sign-in may only read
   * it.
   *
   * @throws ReelgateError `refused` (mailbox_missing, mailbox_unreachable)
   */
  async regenerateAppPassword(options: CallOptions = {}): Promise<AppPasswordInfo> {
    return (await this.#transport.call(regenerateAppPassword, {}, options)).data;
  }
}
