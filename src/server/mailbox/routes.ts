import * as endpoints from '../../contract/mailbox.ts';
import { formatMessage, type MessageKey } from '../../contract/messages/format-message.ts';
import { isObject } from '../../contract/objects.ts';
import { ok } from '../../contract/responses.ts';
import {
  type AccountCaller,
  type RequestContext,
  type RouteRegistry,
  toActor,
} from '../platform/http/route-registry.ts';
import { MAIL_PORTS } from './mail-backend.ts';
import type { AppPassword, MailboxRequest, MailboxService, OwnMailbox } from './mailbox-service.ts';

/** Connection settings for mail programs. */
export interface MailClientSettings {
  readonly host: string;
  /** Where the sandbox's mail server listens if it could not have the standard ports. */
  readonly sandboxPorts?: { readonly imap: number; readonly smtp: number };
}

/** Dependencies of the mailbox endpoints. */
export interface MailboxRouteDependencies {
  readonly mailboxes: MailboxService;
  readonly clientSettings: MailClientSettings;
  /** Empty: no webmail is configured. */
  readonly webmailUrl: string;
  /** How long a replaced password may still open new sessions, in seconds. */
  readonly revokeLagSeconds: number;
}

/** Registers the endpoints of the caller's own mailbox, which is determined by the credential alone. */
export function addMailboxRoutes(routes: RouteRegistry, dependencies: MailboxRouteDependencies): void {
  const { mailboxes, clientSettings, webmailUrl, revokeLagSeconds } = dependencies;
  // Responses always state the standard ports, so the message says where a sandbox really listens.
  const portNote = (locale: RequestContext['locale']): string =>
    clientSettings.sandboxPorts === undefined
      ? ''
      : formatMessage('mailbox_sandbox_ports', locale, clientSettings.sandboxPorts);

  routes.add(endpoints.getMailbox, async ({ caller, request }) => {
    const own = await mailboxes.getOwn(toMailboxRequest(caller, request));
    return {
      success: true as const,
      data: {
        has_mailbox: own !== undefined,
        email: own?.email ?? '',
        password: own?.password ?? '',
        password_source: own?.source ?? ('mailbox' as const),
        message: joinSentences([
          formatMessage(mailboxMessageKey(own), request.locale),
          own && portNote(request.locale),
          own && webmailUrl,
        ]),
      },
    };
  });

  routes.add(endpoints.applyForMailbox, async ({ caller, body, request }) => {
    const localPart: unknown = isObject(body) ? body.local_part : null;
    const result = await mailboxes.apply(toMailboxRequest(caller, request), localPart);
    const { email, password, source } = result;
    return result.created
      ? ok({ email, password, password_source: source }, formatMessage('mailbox_created', request.locale))
      : ok({ email }, formatMessage('mailbox_exists', request.locale));
  });

  const toResponse = (found: AppPassword | undefined, message: string, { locale }: RequestContext) => ({
    success: true as const,
    data: {
      has_app_password: found?.password !== undefined,
      email: found?.email ?? '',
      app_password: found?.password ?? '',
      imap_host: clientSettings.host,
      smtp_host: clientSettings.host,
      imap_port: MAIL_PORTS.imap,
      smtp_port: MAIL_PORTS.smtp,
      protocols: [...(found?.protocols ?? [])],
      consistent: found?.consistent ?? true,
      message: joinSentences([message, found && portNote(locale)]),
    },
  });

  routes.add(endpoints.getAppPassword, async ({ caller, request }) => {
    const found = await mailboxes.getAppPassword(toMailboxRequest(caller, request));
    return toResponse(found, formatMessage(appPasswordMessageKey(found), request.locale), request);
  });

  routes.add(endpoints.regenerateAppPassword, async ({ caller, request }) => {
    const created = await mailboxes.regenerateAppPassword(toMailboxRequest(caller, request));
    const key = revokeLagSeconds === 0 ? 'app_password_new' : 'app_password_new_later';
    const minutes = Math.ceil(revokeLagSeconds / 60);
    return toResponse(created, formatMessage(key, request.locale, { minutes }), request);
  });
}

const joinSentences = (sentences: readonly (string | undefined)[]): string => sentences.filter(Boolean).join(' ');

function mailboxMessageKey(own: OwnMailbox | undefined): MessageKey {
  if (own === undefined) return 'mailbox_none';
  return own.source === 'account' ? 'mailbox_legacy' : 'mailbox_own';
}

function appPasswordMessageKey(found: AppPassword | undefined): MessageKey {
  if (found === undefined) return 'mailbox_none';
  if (found.password === undefined) return 'app_password_none';
  return found.consistent ? 'app_password_ok' : 'app_password_lost';
}

const toMailboxRequest = (caller: AccountCaller, request: RequestContext): MailboxRequest => ({
  userId: caller.userId,
  actor: toActor(caller, request),
  authorizationId: caller.kind === 'device' ? caller.authorizationId : undefined,
});
