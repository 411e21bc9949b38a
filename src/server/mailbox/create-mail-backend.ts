import type { Clock } from '../platform/clock.ts';
import type { Config } from '../platform/config.ts';
import type { OutboundClient } from '../platform/outbound/outbound.ts';
import { ConfigError } from '../platform/setting-readers.ts';
import { createDovecotBackend } from './backends/dovecot.ts';
import { createMailcowBackend, MailcowApi } from './backends/mailcow.ts';
import type { MailBackend } from './mail-backend.ts';

/** Settings that select and configure the mail server. */
export type MailConfig = Pick<
  Config,
  'mailBackend' | 'mailDomain' | 'mailHost' | 'webmailUrl' | 'mailDovecotAuthSocket' | 'mailApiUrl'
>;

/** Size of a new mailbox on mailcow; an administrator of the mailcow can change it there. */
const MAILCOW_QUOTA_MIB = 1_024;

/**
 * The configured mail server, except the sandbox's; undefined if none is configured.
 * @throws ConfigError naming a missing setting
 */
export function createMailBackend(config: MailConfig, outbound: OutboundClient, clock: Clock): MailBackend | undefined {
  const need = <T>(setting: string, value: T | undefined): T => {
    if (value === undefined) throw new ConfigError(setting, `is required with MAIL_BACKEND=${config.mailBackend}`);
    return value;
  };
  if (config.mailBackend === 'dovecot') {
    const { mailApiUrl: api } = config;
    return createDovecotBackend(
      {
        auth: need('MAIL_DOVECOT_AUTH_SOCKET', config.mailDovecotAuthSocket),
        doveadm: api && { url: api.url, apiKey: api.key },
      },
      outbound,
    );
  }
  if (config.mailBackend === 'mailcow') {
    const { url, key: apiKey } = need('MAIL_API_URL', config.mailApiUrl);
    return createMailcowBackend(new MailcowApi({ url, apiKey }, outbound, clock), {
      quotaMib: MAILCOW_QUOTA_MIB,
    });
  }
  return undefined;
}
