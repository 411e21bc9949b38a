import { Anchor, Group, Skeleton, Stack, Switch, Text } from '@mantine/core';
import { IconLock } from '@tabler/icons-react';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { putPreferences, type Topic } from '../../../contract/notifications.ts';
import { ErrorAlert } from '../../components/error-alert.tsx';
import { Page } from '../../components/page.tsx';
import { SettingsSection } from '../../components/settings-section.tsx';
import { callApi } from '../../data/api-client.ts';
import { mailSettingsQuery, preferencesQuery } from '../../data/notification-queries.ts';
import { MailScheduleSection } from './mail-schedule-section.tsx';

type Channel = 'topics' | 'mail';

/** What this account wants to hear of, in the console and by mail. Each switch counts at once. */
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
  /** Of the topic. */
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
        {isLocked ? `${channel}: ${t('always')}` : channel}
      </Text>
      {isLocked ? (
        <IconLock size={15} aria-hidden />
      ) : (
        <Switch
          checked={isOn}
          aria-label={`${name}: ${channel}`}
          onChange={({ currentTarget: { checked } }) => onChange(checked)}
        />
      )}
    </Group>
  );
}
