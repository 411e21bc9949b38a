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
import { type NotificationPreference, preferencesQuery } from '../../data/notification-queries.ts';

/** What this account wants to hear of. Each switch counts at once. */
export function PreferencesPage() {
  const { t } = useTranslation('notifications');
  const queries = useQueryClient();
  const known = useQuery(preferencesQuery);
  const set = useMutation({
    mutationFn: async ({ topic, on }: { topic: string; on: boolean }) =>
      (await callApi(putPreferences, { body: { topics: { [topic]: on } } })).data,
    onSuccess: (rows) => queries.setQueryData(preferencesQuery.queryKey, rows),
  });
  const isOn = ({ topic, in_app }: NotificationPreference): boolean =>
    set.isPending && set.variables.topic === topic ? set.variables.on : in_app;
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
                  <Text size="sm" fw={600} id={`topic-${row.topic}`}>
                    {t(`topics.${row.topic as Topic}.name`)}
                  </Text>
                  <Text size="xs" c="dimmed">
                    {t(`topics.${row.topic as Topic}.text`)}
                  </Text>
                </div>
                {row.locked ? (
                  <Group gap={4} wrap="nowrap" c="dimmed">
                    <IconLock size={15} />
                    <Text size="xs" style={{ whiteSpace: 'nowrap' }}>
                      {t('always')}
                    </Text>
                  </Group>
                ) : (
                  <Switch
                    checked={isOn(row)}
                    aria-labelledby={`topic-${row.topic}`}
                    onChange={({ currentTarget: { checked } }) => set.mutate({ topic: row.topic, on: checked })}
                  />
                )}
              </Group>
            ))}
          </Stack>
        </SettingsSection>
      )}
    </Page>
  );
}
