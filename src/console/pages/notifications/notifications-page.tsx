import { Anchor, Button, Group, Paper, Select, Skeleton, Stack, Switch, Text, TextInput } from '@mantine/core';
import { IconBell, IconChecks, IconLock, IconSettings } from '@tabler/icons-react';
import { keepPreviousData, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { LOCALES, type Locale } from '../../../contract/messages/locales.ts';
import { putMailSettings, putPreferences, type Topic } from '../../../contract/notifications.ts';
import { ErrorAlert } from '../../components/error-alert.tsx';
import { useMarkAllRead } from '../../components/notification-item.tsx';
import { NotificationList } from '../../components/notification-list.tsx';
import { EmptyState, Page } from '../../components/page.tsx';
import { Pager } from '../../components/pager.tsx';
import { SettingsSection } from '../../components/panel.tsx';
import { SaveForm, useFormValues } from '../../components/save-form.tsx';
import { SegmentedControl } from '../../components/segmented-control.tsx';
import { useToasts } from '../../components/toasts.tsx';
import { callApi } from '../../data/api-client.ts';
import { formatLabelled } from '../../data/format-values.ts';
import {
  type MailSettings,
  mailSettingsQuery,
  notificationsQuery,
  preferencesQuery,
} from '../../data/notifications.ts';

const PAGE_SIZE = 20;

/** All notifications of the account, newest first, updated live. */
export function NotificationsPage() {
  const { t } = useTranslation('notifications');
  const { page = 1, unread = false } = useSearch({ from: '/app/notifications' });
  const navigate = useNavigate();
  const list = useQuery({ ...notificationsQuery(page, PAGE_SIZE, unread), placeholderData: keepPreviousData });
  const readAll = useMarkAllRead();
  const show = (search: { page?: number; unread?: true }): void => void navigate({ to: '/notifications', search });
  const actions = (
    <>
      <Button
        variant="default"
        leftSection={<IconChecks size={16} />}
        loading={readAll.isPending}
        disabled={list.data === undefined || list.data.unread_count === 0}
        onClick={() => readAll.mutate()}
      >
        {t('readAll')}
      </Button>
      <Button
        variant="default"
        leftSection={<IconSettings size={16} />}
        renderRoot={(props) => <Link to="/notifications/settings" {...props} />}
      >
        {t('settings')}
      </Button>
    </>
  );
  return (
    <Page title={t('title')} subtitle={t('lead')} size="md" actions={actions}>
      <SegmentedControl
        mb="md"
        aria-label={t('show')}
        value={unread ? 'unread' : 'all'}
        onChange={(value) => show(value === 'unread' ? { unread: true } : {})}
        data={[
          { value: 'all', label: t('everything') },
          { value: 'unread', label: t('unreadCount', { count: list.data?.unread_count ?? 0 }) },
        ]}
      />
      <ErrorAlert error={readAll.error ?? list.error} retry={() => void list.refetch()} />
      {list.data === undefined && list.error === null ? (
        <Stack>
          {[0, 1, 2, 3].map((each) => (
            <Skeleton key={each} h={74} radius="lg" />
          ))}
        </Stack>
      ) : null}
      {list.data?.data.length === 0 ? (
        <EmptyState icon={<IconBell size={28} />} title={unread ? t('noneUnread') : t('emptyTitle')}>
          {unread ? t('noneUnreadText') : t('emptyText')}
        </EmptyState>
      ) : null}
      {(list.data?.data.length ?? 0) > 0 ? (
        <Paper withBorder style={{ overflow: 'hidden' }}>
          <NotificationList items={list.data?.data ?? []} />
        </Paper>
      ) : null}
      <Pager
        page={page}
        total={list.data?.total ?? 0}
        pageSize={PAGE_SIZE}
        onChange={(next) => show({ page: next, unread: unread || undefined })}
      />
    </Page>
  );
}

type Channel = 'topics' | 'mail';

/** Notification preferences of the account, in the console and by e-mail. Each switch is saved immediately. */
export function NotificationPreferencesPage() {
  const { t } = useTranslation('notifications');
  const queries = useQueryClient();
  const known = useQuery(preferencesQuery);
  const mail = useQuery(mailSettingsQuery);
  const set = useMutation({
    mutationFn: async ({ channel, topic, on }: { channel: Channel; topic: string; on: boolean }) =>
      (await callApi(putPreferences, { body: { [channel]: { [topic]: on } } })).data,
    onSuccess: (rows) => queries.setQueryData(preferencesQuery.queryKey, rows),
  });
  const toSwitch = (channel: Channel, topic: string, isOn: boolean, isLocked: boolean): TopicSwitchProps => {
    const changed = set.isPending ? set.variables : undefined;
    const isChanging = changed?.channel === channel && changed.topic === topic;
    return {
      name: t(`topics.${topic as Topic}.name`),
      channel: t(channel === 'mail' ? 'mail.channel' : 'console'),
      isOn: isChanging ? changed.on : isOn,
      isLocked,
      onChange: (on) => set.mutate({ channel, topic, on }),
    };
  };
  return (
    <Page title={t('settings')} size="sm">
      <Anchor size="sm" mb="md" display="inline-block" renderRoot={(props) => <Link to="/notifications" {...props} />}>
        {t('backToAll')}
      </Anchor>
      <ErrorAlert error={set.error ?? known.error} retry={() => void known.refetch()} />
      {known.data === undefined && known.error === null ? <Skeleton h={420} radius="lg" /> : null}
      {known.data === undefined ? null : (
        <SettingsSection title={t('topicsTitle')} subtitle={t('topicsLead')}>
          <Stack gap="md">
            {known.data.map((row) => (
              <Group key={row.topic} justify="space-between" wrap="nowrap" align="flex-start">
                <div>
                  <Text size="sm" fw={600}>
                    {t(`topics.${row.topic as Topic}.name`)}
                  </Text>
                  <Text size="xs" c="dimmed">
                    {t(`topics.${row.topic as Topic}.text`)}
                  </Text>
                </div>
                <Stack gap={6} align="flex-end">
                  <TopicSwitch {...toSwitch('topics', row.topic, row.in_app, row.locked)} />
                  {mail.data?.available === true ? (
                    <TopicSwitch {...toSwitch('mail', row.topic, row.mail, row.mail_locked)} />
                  ) : null}
                </Stack>
              </Group>
            ))}
          </Stack>
        </SettingsSection>
      )}
      <MailScheduleSection />
    </Page>
  );
}

interface TopicSwitchProps {
  /** Name of the topic. */
  readonly name: string;
  readonly channel: string;
  readonly isOn: boolean;
  readonly isLocked: boolean;
  readonly onChange: (on: boolean) => void;
}

function TopicSwitch({ name, channel, isOn, isLocked, onChange }: TopicSwitchProps) {
  const { t } = useTranslation('notifications');
  return (
    <Group gap={6} wrap="nowrap">
      <Text size="xs" c="dimmed" style={{ whiteSpace: 'nowrap' }}>
        {isLocked ? formatLabelled(channel, t('always')) : channel}
      </Text>
      {isLocked ? (
        <IconLock size={15} aria-hidden />
      ) : (
        <Switch
          checked={isOn}
          aria-label={formatLabelled(name, channel)}
          onChange={({ currentTarget: { checked } }) => onChange(checked)}
        />
      )}
    </Group>
  );
}

const LANGUAGE_NAMES: Readonly<Record<Locale, string>> = { en: 'English', 'zh-CN': '简体中文' };

/** Schedule of notification e-mails. Renders nothing if the service sends no e-mail. */
function MailScheduleSection() {
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
