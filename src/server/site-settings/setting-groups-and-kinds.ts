import type { SiteSetting } from '../../contract/site-settings.ts';
import type { SettingName } from '../platform/setting-definitions.ts';

type Shape = Pick<SiteSetting, 'group' | 'kind'> & {
  /** Read at every use, so that a stored value takes effect without a restart. */
  readonly stored: boolean;
};

const stored = (group: Shape['group'], kind: Shape['kind'] = 'text'): Shape => ({ group, kind, stored: true });
/** Shown with where it comes from, and changed in the environment only. */
const shown = (group: Shape['group']): Shape => ({ group, kind: 'text', stored: false });

/** The settings of the page of settings, in its order. */
export const SITE_SETTINGS = {
  SITE_NAME: stored('site'),
  SITE_LOGO: stored('site', 'picture'),
  SITE_ACCENT: stored('site', 'choice'),
  SIGN_IN_NOTICE: stored('site', 'long-text'),
  REGISTRATION: stored('accounts', 'choice'),
  NEW_USER_QUOTA: stored('credits', 'number'),
  NEW_USER_PLAN: stored('credits'),
  LOW_QUOTA: stored('credits', 'number'),
  CURRENCY: stored('credits'),
  QUOTA_PER_UNIT: shown('credits'),
  RETENTION_TASK_DETAIL_DAYS: stored('retention', 'number'),
  RETENTION_REQUESTS_DAYS: stored('retention', 'number'),
  RETENTION_NOTIFICATIONS_DAYS: stored('retention', 'number'),
  RETENTION_AUDIT_DAYS: stored('retention', 'number'),
  RETENTION_LOGINS_DAYS: stored('retention', 'number'),
  RETENTION_EVENTS_DAYS: stored('retention', 'number'),
  RETENTION_LEDGER_DAYS: stored('retention', 'number'),
  PHONE_DRIVER: stored('phone', 'choice'),
  PHONE_HTTP_URL: stored('phone'),
  MESSAGING_VERIFY_URL: stored('messaging'),
  SMTP_URL: shown('mail'),
  SMTP_FROM: shown('mail'),
} as const satisfies Partial<Record<SettingName, Shape>>;

export type SiteSettingName = keyof typeof SITE_SETTINGS;

export const isSiteSetting = (name: string): name is SiteSettingName => Object.hasOwn(SITE_SETTINGS, name);
