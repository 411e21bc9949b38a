import { useTranslation } from 'react-i18next';
import { formatListPrice, type SpendPeriod } from '../../../../contract/amounts.ts';
import { useAmountUnit, useFormatCredits } from '../../../components/credit-amount.tsx';
import { describeBrowser } from '../../../components/describe-browser.ts';
import {
  type NameLookup,
  useChannelNames,
  useClientNames,
  usePlanNames,
  useVendors,
  vendorTitle,
} from '../../../data/admin.ts';
import { formatAside, formatDateTime, formatDuration, formatNames } from '../../../data/format-values.ts';
import { useModelTitle } from '../../../data/self.ts';
import { currentLanguage } from '../../../strings/language.ts';
import type { Credential } from '../channels/channel-form-values.ts';
import { credentialLabel } from '../channels/channel-form-values.ts';
import { ACCOUNT_FIELDS, isSetting, toSnakeCase } from './audit-entry.ts';

/** Kinds of values that are not shown as they are stored. */
type ValueKind = keyof ReturnType<typeof useValueKinds>['kinds'];
const KIND_BY_FIELD: ReadonlyMap<string, ValueKind> = new Map(
  Object.entries<ValueKind>({
    quota: 'amount',
    daily_quota: 'amount',
    interval_quota: 'amount',
    weekly_quota_limit: 'amount',
    monthly_quota_limit: 'amount',
    spend_limit_amount: 'amount',
    quota_delta: 'change',
    price_amount: 'listPrice',
    refresh_interval_seconds: 'duration',
    overlap_seconds: 'duration',
    duration_days: 'days',
    storage_days: 'days',
    storage_gb: 'gigabytes',
    purchasable: 'switch',
    prompts_visible_to_admins: 'switch',
    status: 'status',
    role: 'role',
    kind: 'kind',
    on_retirement: 'retirement',
    vendor: 'vendor',
    models: 'model',
    alias_of: 'model',
    DEFAULT_VIDEO_MODEL: 'model',
    PROMPT_MODEL: 'model',
    channels: 'channel',
    package_code: 'plan',
    NEW_USER_PLAN: 'plan',
    category: 'category',
    include: 'thing',
    outcome: 'outcome',
    state: 'codeState',
    credentials: 'replaced',
    password: 'replaced',
    credential_list: 'credential',
    spend_limit: 'spendLimit',
    zh_cn: 'announcement',
    user_agent: 'browser',
    client: 'client',
    ...Object.fromEntries(ACCOUNT_FIELDS.map((field) => [field, 'account' as const])),
  }),
);

/** Formats a value of a field as pages show it. */
export type ValueText = (field: string, value: unknown) => string;

/** Writes values in words: names instead of ids, amounts with their unit, times and switches. @param accounts names by id */
export function useValueText(accounts: NameLookup): ValueText {
  const { t } = useTranslation('audit');
  const { kinds, describeSetting } = useValueKinds(accounts);
  const toText: ValueText = (field, value) => {
    if (value === undefined || value === null || value === '') return t('none');
    if (value === true || value === false) return t(value ? 'yes' : 'no');
    const list = toList(value);
    if (list !== undefined) return list.length === 0 ? t('none') : formatNames(list.map((each) => toText(field, each)));
    const kind = KIND_BY_FIELD.get(isSetting(field) ? field : toSnakeCase(field));
    if (kind !== undefined) return kinds[kind](value);
    if (toSnakeCase(field).endsWith('_at')) return Number(value) > 0 ? formatDateTime(Number(value) / 1000) : t('none');
    const text = typeof value === 'string' ? value : JSON.stringify(value, null, 1);
    return isSetting(field) ? describeSetting(field, text) : text;
  };
  return toText;
}

/** Whether the value is an object for which there are no words. */
export const isStructured = (field: string, value: unknown): boolean =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !KIND_BY_FIELD.has(field);

/** A list, also one that its row stores as a text. */
function toList(value: unknown): readonly unknown[] | undefined {
  if (Array.isArray(value)) return value;
  if (typeof value !== 'string' || !/^\[.*\]$/s.test(value)) return undefined;
  try {
    const parsed: unknown = JSON.parse(value);
    return Array.isArray(parsed) ? parsed : undefined;
  } catch {
    return undefined;
  }
}

const UNLIMITED = -1;

/** Formats by the kind of a value. */
function useValueKinds(accounts: NameLookup) {
  const { t } = useTranslation([
    'audit',
    'admin',
    'admin-channels',
    'admin-plans',
    'admin-settings',
    'organizations',
    'support',
  ]);
  const credits = useFormatCredits();
  const unit = useAmountUnit();
  const titleOf = useModelTitle();
  const vendors = useVendors();
  const channels = useChannelNames();
  const planName = usePlanNames();
  const clientName = useClientNames();
  const kinds = {
    amount: (value) => (Number(value) === UNLIMITED ? t('unlimited') : credits(Number(value))),
    change: (value) => `${Number(value) > 0 ? '+' : '−'}${credits(Math.abs(Number(value)))}`,
    listPrice: (value) => formatListPrice(Number(value), unit, currentLanguage()),
    duration: (value) => formatDuration(Number(value)),
    days: (value) => t('admin-plans:days', { count: Number(value) }),
    gigabytes: (value) => `${Number(value)} GB`,
    switch: (value) => t(Number(value) === 1 ? 'yes' : 'no'),
    status: (value) => t(`statuses.${value as 'open'}`, { defaultValue: String(value) }),
    role: (value) => t(`roles.${value as 'user'}`, { defaultValue: String(value) }),
    kind: (value) => t(`admin-channels:kinds.${value as 'video'}`, { defaultValue: String(value) }),
    retirement: (value) => t(`admin-channels:models.retirement.${value as 'refuse'}`, { defaultValue: String(value) }),
    vendor: (value) => vendorTitle(vendors, String(value)),
    model: (value) => titleOf(String(value)),
    channel: (value) => channels(Number(value)) ?? `#${Number(value)}`,
    plan: (value) => (value === 'none' ? t('none') : planName(String(value))),
    account: (value) => accounts(Number(value)) ?? `#${Number(value)}`,
    category: (value) => t(`support:categories.${value as 'other'}`, { defaultValue: String(value) }),
    thing: (value) => t(`organizations:transfer.things.${value as 'keys'}`, { defaultValue: String(value) }),
    outcome: (value) => t(`outcomes.${value as 'active'}`, { defaultValue: String(value) }),
    codeState: (value) => t(`admin-plans:codes.states.${value as 'unused'}`, { defaultValue: String(value) }),
    replaced: () => t('replaced'),
    credential: (value) => {
      const credential = value as Pick<Credential, 'id' | 'name' | 'enabled'>;
      const label = credentialLabel(credential);
      return credential.enabled ? label : formatAside(label, t('statuses.2'));
    },
    spendLimit: (value) => {
      const { amount, period } = value as { readonly amount: number; readonly period: SpendPeriod };
      return t(`limits.${period}`, { amount: credits(amount) });
    },
    announcement: (value) => {
      const { title, content } = value as { readonly title: string; readonly content: string };
      return `${title}\n${content}`;
    },
    client: (value) => clientName(String(value)),
    browser: (value) => describeBrowser(String(value)),
  } satisfies Readonly<Record<string, (value: unknown) => string>>;
  const describeSetting = (name: string, text: string): string => {
    if (name.endsWith('_QUOTA')) return credits(Number(text));
    if (isSwitch(name) && (text === '0' || text === '1')) return t(text === '1' ? 'yes' : 'no');
    return t(`admin-settings:choices.${text as 'open'}`, { defaultValue: text });
  };
  return { kinds, describeSetting };
}

/** A setting that is on or off, and not a number of days, megabytes, credits or codes. */
const isSwitch = (name: string): boolean => !/_(DAYS|MB|QUOTA|ADDRESS)$/.test(name);
