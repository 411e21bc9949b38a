import * as lines from '../../contract/mailbox.ts';
import { type MessageKey, toText } from '../../contract/messages/messages.ts';
import { ok } from '../../contract/schemas.ts';
import { AppError } from '../platform/errors.ts';
import type { AccountCaller } from '../platform/http/caller.ts';
import type { RequestContext } from '../platform/http/request-context.ts';
import type { Routes } from '../platform/http/routes.ts';
import { isLocalPart } from './names.ts';
import type { Trace } from './publishing.ts';
import type { AppPassword, Mailboxes } from './service.ts';

/** What mail programs are told to connect to. */
export interface MailDoor {
  readonly host: string;
  readonly imapPort: number;
  readonly smtpPort: number;
}

export interface MailboxRouteParts {
  readonly mailboxes: Mailboxes;
  readonly door: MailDoor;
  /** Shown where there is one. */
  readonly webmailUrl: string;
  /** How long a replaced password may still open new sessions, in seconds. */
  readonly revokeLagSeconds: number;
}

/** The four endpoints of the mailbox. Whose mailbox it is comes from the credential alone. */
export function addMailboxRoutes(routes: Routes, parts: MailboxRouteParts): void {
  const { mailboxes, door } = parts;

  routes.add(lines.getMailbox, async ({ caller, request }) => {
    const own = await mailboxes.own(caller.userId, traceOf(caller, request));
    const text = (key: MessageKey) => toText(key, request.locale, { webmail: parts.webmailUrl });
    return {
      success: true as const,
      data: {
        has_mailbox: own !== undefined,
        email: own?.email ?? '',
        password: own?.password ?? '',
        password_source: own?.source ?? ('mailbox' as const),
        message: text(own === undefined ? 'mailbox_none' : own.source === 'account' ? 'mailbox_legacy' : 'mailbox_own'),
      },
    };
  });

  routes.add(lines.applyForMailbox, async ({ caller, body, request }) => {
    const { local_part } = body;
    if (local_part !== undefined && !isLocalPart(local_part))
      throw new AppError('invalid_local_part', { param: 'local_part' });
    const made = await mailboxes.apply(caller.userId, local_part, traceOf(caller, request));
    const { email, password, source } = made;
    return made.created
      ? ok({ email, password, password_source: source }, toText('mailbox_created', request.locale))
      : ok({ email }, toText('mailbox_exists', request.locale));
  });

  const toRecord = (found: AppPassword | undefined, message: string) => ({
    success: true as const,
    data: {
      has_app_password: found?.password !== undefined,
      email: found?.email ?? '',
      app_password: found?.password ?? '',
      imap_host: door.host,
      smtp_host: door.host,
      imap_port: door.imapPort,
      smtp_port: door.smtpPort,
      protocols: [...(found?.protocols ?? [])],
      consistent: found?.consistent ?? true,
      message,
    },
  });

  routes.add(lines.getAppPassword, async ({ caller, request }) => {
    const found = await mailboxes.appPassword(caller.userId, traceOf(caller, request));
    return toRecord(found, toText(messageFor(found), request.locale));
  });

  routes.add(lines.regenerateAppPassword, async ({ caller, request }) => {
    const made = await mailboxes.regenerate(caller.userId, traceOf(caller, request));
    const key = parts.revokeLagSeconds === 0 ? 'app_password_new' : 'app_password_new_later';
    return toRecord(made, toText(key, request.locale, { minutes: Math.ceil(parts.revokeLagSeconds / 60) }));
  });
}

function messageFor(found: AppPassword | undefined): MessageKey {
  if (found === undefined) return 'mailbox_none';
  if (found.password === undefined) return 'app_password_none';
  return found.consistent ? 'app_password_ok' : 'app_password_lost';
}

const traceOf = (caller: AccountCaller, request: RequestContext): Trace => ({
  actorId: caller.userId,
  address: request.address,
  requestId: request.id,
});
