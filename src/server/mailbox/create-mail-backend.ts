import type { Clock } from '../platform/clock.ts';
import type { Config } from '../platform/config.ts';
import type { OutboundClient } from '../platform/outbound/outbound.ts';
import { ConfigError } from '../platform/setting-readers.ts';
import { createDovecotBackend } from './backends/dovecot.ts';
import { createMailcowBackend, MailcowApi } from './backends/mailcow.ts';
import type { MailBackend } from './mail-backend.ts';

export type MailConfig = Pick<
  Config,
  | 'mailBackend'
  | 'mailDomain'
  | 'mailHost'
  | 'mailImapPort'
  | 'mailSmtpPort'
  | 'mailPop3Port'
  | 'mailAppPasswordProtocols'
  | 'webmailUrl'
  | 'mailDovecotAuthSocket'
  | 'mailDovecotAdminUrl'
  | 'mailDovecotAdminKey'
  | 'mailMailcowUrl'
  | 'mailMailcowKey'
  | 'mailMailcowQuotaMb'
>;

/**
 * The mail server the settings name, the sandbox's apart; undefined where there is none.
 * @throws ConfigError naming a setting that is missing
 */
export function createMailBackend(config: MailConfig, outbound: OutboundClient, clock: Clock): MailBackend | undefined {
  const need = (setting: string, value: string | undefined): string => {
    if (value === undefined) throw new ConfigError(setting, `is required with MAIL_BACKEND=${config.mailBackend}`);
    return value;
  };
  if (config.mailBackend === 'dovecot') {
    const { mailDovecotAdminUrl: url, mailDovecotAdminKey: key } = config;
    return createDovecotBackend(
      {
        auth: need('MAIL_DOVECOT_AUTH_SOCKET', config.mailDovecotAuthSocket),
        doveadm: url === undefined ? undefined : { url, apiKey: need('MAIL_DOVECOT_ADMIN_KEY', key) },
      },
      outbound,
    );
  }
  if (config.mailBackend === 'mailcow') {
    const url = need('MAIL_MAILCOW_URL', config.mailMailcowUrl);
    const apiKey = need('MAIL_MAILCOW_KEY', config.mailMailcowKey);
    return createMailcowBackend(new MailcowApi({ url, apiKey }, outbound, clock), {
      quotaMib: config.mailMailcowQuotaMb,
    });
  }
  return undefined;
}
