import { Group, Select, Switch, Text, TextInput } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { LOCALES, type Locale } from '../../../contract/messages/locales.ts';
import { putMailSettings } from '../../../contract/notifications.ts';
import { SaveForm } from '../../components/save-form.tsx';
import { SettingsSection } from '../../components/settings-section.tsx';
import { useToasts } from '../../components/toasts.tsx';
import { useFormValues } from '../../components/use-form-values.ts';
import { callApi } from '../../data/api-client.ts';
import { type MailSettings, mailSettingsQuery } from '../../data/notification-queries.ts';

const LANGUAGE_NAMES: Readonly<Record<Locale, string>> = { en: 'English', 'zh-CN': '简体中文' };

/** When notifications are mailed. Shows nothing where the service sends no mail. */
export function MailScheduleSection() {
  const { t } = useTranslation('notifications');
  const { data } = useQuery(mailSettingsQuery);
  if (data?.available !== true) return null;
  const { email, time_zone: zone } = data;
  return (
    <SettingsSection
      title={t('mail.title')}
      subtitle={email === null || zone === null ? t('mail.noAddress') : t('mail.lead', { email, zone })}
    >
      <MailScheduleForm settings={data} />
    </SettingsSection>
  );
}

function MailScheduleForm({ settings }: { readonly settings: MailSettings }) {
  const { t } = useTranslation(['notifications', 'app']);
  const queries = useQueryClient();
  const toasts = useToasts();
  const { draft, text, value, checked } = useFormValues({
    hasDigest: settings.digest_at !== null,
    digestAt: settings.digest_at ?? '08:00',
    hasQuietHours: settings.quiet_hours !== null,
    from: settings.quiet_hours?.from ?? '22:00',
    to: settings.quiet_hours?.to ?? '07:00',
    language: settings.language as string | null,
  });
  const save = async (): Promise<void> => {
    const body = {
      digest_at: draft.hasDigest ? draft.digestAt : null,
      quiet_hours: draft.hasQuietHours ? { from: draft.from, to: draft.to } : null,
      language: draft.language === 'zh-CN' ? ('zh-CN' as const) : ('en' as const),
    };
    queries.setQueryData(mailSettingsQuery.queryKey, (await callApi(putMailSettings, { body })).data);
    toasts.success(t('mail.saved'));
  };
  return (
    <SaveForm submitLabel={t('app:save')} save={save}>
      <Switch label={t('mail.digest')} description={t('mail.digestHint')} {...checked('hasDigest')} />
      {draft.hasDigest ? (
        <TextInput type="time" w={140} label={t('mail.digestAt')} required {...text('digestAt')} />
      ) : null}
      <Switch label={t('mail.quiet')} description={t('mail.quietHint')} {...checked('hasQuietHours')} />
      {draft.hasQuietHours ? (
        <Group>
          <TextInput type="time" w={140} label={t('mail.from')} required {...text('from')} />
          <TextInput type="time" w={140} label={t('mail.to')} required {...text('to')} />
        </Group>
      ) : null}
      <Select
        label={t('mail.language')}
        w={200}
        allowDeselect={false}
        data={LOCALES.map((locale) => ({ value: locale, label: LANGUAGE_NAMES[locale] }))}
        {...value('language')}
      />
      <Text size="xs" c="dimmed">
        {t('mail.urgent')}
      </Text>
    </SaveForm>
  );
}
