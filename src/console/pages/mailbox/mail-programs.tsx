import { Alert, Badge, Button, Group, SimpleGrid, Skeleton, Stack, Text, Title } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import type { PartOf } from '../../../contract/endpoint.ts';
import { getAppPassword, regenerateAppPassword } from '../../../contract/mailbox.ts';
import { call } from '../../data/client.ts';
import { Confirm } from '../../parts/confirm.tsx';
import { Copy } from '../../parts/copy.tsx';
import { Failure } from '../../parts/failure.tsx';
import { useNotices } from '../../parts/notices.tsx';
import { SecretField } from '../../parts/secret-field.tsx';
import { Section } from '../../parts/section.tsx';

type AppPassword = PartOf<typeof getAppPassword, 'answer'>['data'];

/** The application password, whether it still works, and what a mail program wants to know, ready to copy. */
export function MailPrograms() {
  const { t } = useTranslation('mailbox');
  const queries = useQueryClient();
  const notices = useNotices();
  const key = ['mailbox', 'app-password'];
  const known = useQuery({
    queryKey: key,
    queryFn: async ({ signal }) => (await call(getAppPassword, {}, { signal })).data,
    staleTime: 0,
    gcTime: 0,
  });
  const make = useMutation({
    mutationFn: async () => (await call(regenerateAppPassword, {})).data,
    onSuccess: (data) => {
      queries.setQueryData(key, data);
      notices.done(t('regenerated'));
    },
  });
  const data = known.data;
  return (
    <Section title={t('app')} lead={t('appText')}>
      <Stack>
        <Failure error={known.error ?? make.error} retry={() => void known.refetch()} />
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
              <SecretField label={t('appPassword')} text={data.app_password} />
              <Badge color={data.consistent ? 'teal' : 'red'} mb={6}>
                {data.consistent ? t('consistent') : t('lost')}
              </Badge>
            </Group>
            {data.consistent ? null : <Alert color="red">{t('lostText')}</Alert>}
            <Settings data={data} />
            <Group>
              <Confirm
                title={t('regenerateTitle')}
                action={t('regenerate')}
                onConfirm={() => make.mutateAsync()}
                trigger={(open) => (
                  <Button variant="default" onClick={open}>
                    {t('regenerate')}
                  </Button>
                )}
              >
                {t('regenerateText')}
              </Confirm>
            </Group>
          </>
        ) : null}
      </Stack>
    </Section>
  );
}

function Settings({ data }: { readonly data: AppPassword }) {
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
            <Fact name={t('server')} value={host} />
            <Fact name={t('port')} value={String(port)} />
            <Fact name={t('security')} value={t('tls')} />
            <Fact name={t('username')} value={data.email} />
          </Stack>
        ))}
      </SimpleGrid>
      <Text size="xs" c="dimmed" mt="xs">
        {t('protocols', { list: data.protocols.map((each) => each.toUpperCase()).join(', ') })}
      </Text>
    </div>
  );
}

function Fact({ name, value }: { readonly name: string; readonly value: string }) {
  return (
    <Group gap={6} wrap="nowrap">
      <Text size="sm" c="dimmed" w={88}>
        {name}
      </Text>
      <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
        {value}
      </Text>
      <Copy text={value} label={`${name}: ${value}`} />
    </Group>
  );
}
