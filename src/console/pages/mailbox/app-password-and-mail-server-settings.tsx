import { Alert, Badge, Button, Group, SimpleGrid, Skeleton, Stack, Text, Title } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import type { EndpointPart } from '../../../contract/endpoint.ts';
import { getAppPassword, regenerateAppPassword } from '../../../contract/mailbox.ts';
import { ConfirmDialog } from '../../components/confirm-dialog.tsx';
import { CopyIconButton } from '../../components/copy-button-and-field.tsx';
import { ErrorAlert } from '../../components/error-alert.tsx';
import { RevealableSecretText } from '../../components/revealable-secret-text.tsx';
import { SettingsSection } from '../../components/settings-section.tsx';
import { useToasts } from '../../components/toasts.tsx';
import { callApi } from '../../data/api-client.ts';

type AppPassword = EndpointPart<typeof getAppPassword, 'response'>['data'];

/** The application password, whether it still works, and what a mail program wants to know, ready to copy. */
export function AppPasswordAndMailServerSettings() {
  const { t } = useTranslation('mailbox');
  const queries = useQueryClient();
  const toasts = useToasts();
  const key = ['mailbox', 'app-password'];
  const known = useQuery({
    queryKey: key,
    queryFn: async ({ signal }) => (await callApi(getAppPassword, {}, { signal })).data,
    staleTime: 0,
    gcTime: 0,
  });
  const make = useMutation({
    mutationFn: async () => (await callApi(regenerateAppPassword, {})).data,
    onSuccess: (data) => {
      queries.setQueryData(key, data);
      toasts.success(t('regenerated'));
    },
  });
  const data = known.data;
  return (
    <SettingsSection title={t('app')} subtitle={t('appText')}>
      <Stack>
        <ErrorAlert error={known.error ?? make.error} retry={() => void known.refetch()} />
        {data === undefined && known.error === null ? <Skeleton h={120} /> : null}
        {data?.has_app_password === false ? (
          <Group>
            <Button loading={make.isPending} onClick={() => make.mutate()}>
              {t('makeApp')}
            </Button>
          </Group>
        ) : null}
        {data?.has_app_password === true ? (
          <>
            <Group align="flex-end" gap="sm">
              <RevealableSecretText label={t('appPassword')} text={data.app_password} />
              <Badge color={data.consistent ? 'teal' : 'red'} mb={6}>
                {data.consistent ? t('consistent') : t('lost')}
              </Badge>
            </Group>
            {data.consistent ? null : <Alert color="red">{t('lostText')}</Alert>}
            <ServerSettings data={data} />
            <Group>
              <ConfirmDialog
                title={t('regenerateTitle')}
                confirmLabel={t('regenerate')}
                onConfirm={() => make.mutateAsync()}
                trigger={(open) => (
                  <Button variant="default" onClick={open}>
                    {t('regenerate')}
                  </Button>
                )}
              >
                {t('regenerateText')}
              </ConfirmDialog>
            </Group>
          </>
        ) : null}
      </Stack>
    </SettingsSection>
  );
}

function ServerSettings({ data }: { readonly data: AppPassword }) {
  const { t } = useTranslation('mailbox');
  const servers = [
    [t('incoming'), data.imap_host, data.imap_port],
    [t('outgoing'), data.smtp_host, data.smtp_port],
  ] as const;
  return (
    <div>
      <Title order={3} mb="xs">
        {t('settings')}
      </Title>
      <SimpleGrid cols={{ base: 1, sm: 2 }}>
        {servers.map(([name, host, port]) => (
          <Stack key={name} gap={2}>
            <Text size="sm" fw={600}>
              {name}
            </Text>
            <SettingRow name={t('server')} value={host} />
            <SettingRow name={t('port')} value={String(port)} />
            <SettingRow name={t('security')} value={t('tls')} />
            <SettingRow name={t('username')} value={data.email} />
          </Stack>
        ))}
      </SimpleGrid>
      <Text size="xs" c="dimmed" mt="xs">
        {t('protocols', { list: data.protocols.map((each) => each.toUpperCase()).join(', ') })}
      </Text>
    </div>
  );
}

function SettingRow({ name, value }: { readonly name: string; readonly value: string }) {
  return (
    <Group gap={6} wrap="nowrap">
      <Text size="sm" c="dimmed" w={88}>
        {name}
      </Text>
      <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
        {value}
      </Text>
      <CopyIconButton text={value} label={`${name}: ${value}`} />
    </Group>
  );
}
