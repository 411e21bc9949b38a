import type { Config } from '../config.ts';

/** What everyone may know of the service, before signing in too: `GET /api/status` says it, and the page of the console has it inside. */
export const readPublicServiceSettings = (config: Config, version: string) => ({
  version,
  sandbox: config.sandbox,
  site_name: config.siteName,
  sign_in_notice: config.signInNotice ?? '',
  registration: config.registration,
  quota_per_unit: config.quotaPerUnit,
  currency: config.currency ?? '',
  api_user_header: config.apiUserHeader,
  server_address: config.baseUrl,
  phone_codes: config.phoneDriver === 'http' ? ('sms' as const) : ('log' as const),
  mail: config.smtpUrl !== undefined,
  messaging_binding: config.messagingVerifyUrl !== undefined,
});
