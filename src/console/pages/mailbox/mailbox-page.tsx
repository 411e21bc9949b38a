import {
  ActionIcon,
  Alert,
  Anchor,
  Badge,
  Button,
  Code,
  Group,
  SimpleGrid,
  Skeleton,
  Stack,
  Text,
  TextInput,
  Title,
  Tooltip,
} from '@mantine/core';
import { IconEye, IconEyeOff } from '@tabler/icons-react';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { EndpointPart } from '../../../contract/endpoint.ts';
import { applyForMailbox, getAppPassword, getMailbox, regenerateAppPassword } from '../../../contract/mailbox.ts';
import { CopyField, CopyIconButton } from '../../components/copy-button.tsx';
import { ConfirmDialog } from '../../components/dialog.tsx';
import { ErrorAlert, QueryError } from '../../components/error-alert.tsx';
import { Page } from '../../components/page.tsx';
import { SettingsSection } from '../../components/panel.tsx';
import { useToasts } from '../../components/toasts.tsx';
import { callApi } from '../../data/api-client.ts';
import { formatLabelled, formatNames } from '../../data/format-values.ts';
import { useSelf } from '../../data/self.ts';

/** Secrets are fetched when the page opens and dropped when the user leaves it. */
const NO_CACHE = { staleTime: 0, gcTime: 0 } as const;

/** The account's mailbox, or the form to apply for one. */
export function MailboxPage() {
  const { t } = useTranslation('account');
  const mailbox = useQuery({
    queryKey: ['mailbox'],
    queryFn: async ({ signal }) => (await callApi(getMailbox, {}, { signal })).data,
    ...NO_CACHE,
  });
  return (
    <Page title={t('mailbox.title')} subtitle={t('mailbox.lead')} size="md">
      <QueryError query={mailbox} />
      {mailbox.data === undefined ? (
        mailbox.error === null ? (
          <Skeleton h={240} radius="lg" />
        ) : null
      ) : mailbox.data.has_mailbox ? (
        <Stack gap="lg">
          <SettingsSection title={t('mailbox.address')}>
            <Stack gap="sm">
              <CopyField text={mailbox.data.email} />
              {mailbox.data.password === '' ? (
                <Text size="sm" c="dimmed">
                  {t('mailbox.account')}
                </Text>
              ) : (
                <RevealableSecretText label={t('mailbox.password')} text={mailbox.data.password} />
              )}
              <Text size="sm" c="dimmed">
                {mailbox.data.message}
              </Text>
            </Stack>
          </SettingsSection>
          <AppPasswordAndMailServerSettings />
        </Stack>
      ) : (
        <MailboxApplicationForm />
      )}
    </Page>
  );
}

function MailboxApplicationForm() {
  const { t } = useTranslation('account');
  const { data: self } = useSelf();
  const queries = useQueryClient();
  const toasts = useToasts();
  const [name, setName] = useState('');
  const apply = useMutation({
    mutationFn: () => callApi(applyForMailbox, { body: name.trim() === '' ? {} : { local_part: name.trim() } }),
    onSuccess: async () => {
      toasts.success(t('mailbox.created'));
      await queries.invalidateQueries({ queryKey: ['mailbox'] });
    },
  });
  const bound = self === undefined || self.phone_bound || self.messaging_bound;
  return (
    <SettingsSection title={t('mailbox.applyTitle')} subtitle={t('mailbox.applyText')}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          apply.mutate();
        }}
      >
        <Stack maw={460}>
          {bound ? null : (
            <Alert color="yellow">
              {t('mailbox.needsBinding')}{' '}
              <Anchor size="sm" c="inherit" renderRoot={(props) => <Link to="/account/profile" {...props} />}>
                {t('mailbox.bind')}
              </Anchor>
            </Alert>
          )}
          <TextInput
            label={t('mailbox.localPart')}
            description={t('mailbox.localPartHint')}
            autoCapitalize="none"
            maxLength={30}
            value={name}
            onChange={(event) => setName(event.currentTarget.value.toLowerCase())}
          />
          <ErrorAlert error={apply.error} />
          <Group>
            <Button type="submit" loading={apply.isPending} disabled={!bound}>
              {t('mailbox.apply')}
            </Button>
          </Group>
        </Stack>
      </form>
    </SettingsSection>
  );
}

type AppPassword = EndpointPart<typeof getAppPassword, 'response'>['data'];

/** The app password with its status, and the settings for an e-mail program, with copy buttons. */
function AppPasswordAndMailServerSettings() {
  const { t } = useTranslation('account');
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
      toasts.success(t('mailbox.regenerated'));
    },
  });
  const data = known.data;
  return (
    <SettingsSection title={t('mailbox.app')} subtitle={t('mailbox.appText')}>
      <Stack>
        <ErrorAlert error={known.error ?? make.error} retry={() => void known.refetch()} />
        {data === undefined && known.error === null ? <Skeleton h={120} /> : null}
        {data?.has_app_password === false ? (
          <Group>
            <Button loading={make.isPending} onClick={() => make.mutate()}>
              {t('mailbox.makeApp')}
            </Button>
          </Group>
        ) : null}
        {data?.has_app_password === true ? (
          <>
            <Group align="flex-end" gap="sm">
              <RevealableSecretText label={t('mailbox.appPassword')} text={data.app_password} />
              <Badge color={data.consistent ? 'teal' : 'red'} mb={6}>
                {data.consistent ? t('mailbox.consistent') : t('mailbox.lost')}
              </Badge>
            </Group>
            {data.consistent ? null : <Alert color="red">{t('mailbox.lostText')}</Alert>}
            <ServerSettings data={data} />
            <Group>
              <ConfirmDialog
                title={t('mailbox.regenerateTitle')}
                confirmLabel={t('mailbox.regenerate')}
                onConfirm={() => make.mutateAsync()}
                trigger={(open) => (
                  <Button variant="default" onClick={open}>
                    {t('mailbox.regenerate')}
                  </Button>
                )}
              >
                {t('mailbox.regenerateText')}
              </ConfirmDialog>
            </Group>
          </>
        ) : null}
      </Stack>
    </SettingsSection>
  );
}

function ServerSettings({ data }: { readonly data: AppPassword }) {
  const { t } = useTranslation('account');
  const servers = [
    [t('mailbox.incoming'), data.imap_host, data.imap_port],
    [t('mailbox.outgoing'), data.smtp_host, data.smtp_port],
  ] as const;
  return (
    <div>
      <Title order={3} mb="xs">
        {t('mailbox.settings')}
      </Title>
      <SimpleGrid cols={{ base: 1, sm: 2 }}>
        {servers.map(([name, host, port]) => (
          <Stack key={name} gap={2}>
            <Text size="sm" fw={600}>
              {name}
            </Text>
            <SettingRow name={t('mailbox.server')} value={host} />
            <SettingRow name={t('mailbox.port')} value={String(port)} />
            <SettingRow name={t('mailbox.security')} value={t('mailbox.tls')} />
            <SettingRow name={t('mailbox.username')} value={data.email} />
          </Stack>
        ))}
      </SimpleGrid>
      <Text size="xs" c="dimmed" mt="xs">
        {t('mailbox.protocols', { list: formatNames(data.protocols.map((each) => each.toUpperCase())) })}
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
      <CopyIconButton text={value} label={formatLabelled(name, value)} />
    </Group>
  );
}

/** A secret hidden until revealed, so that bystanders cannot read it from the screen. */
function RevealableSecretText({ label, text }: { readonly label: string; readonly text: string }) {
  const { t } = useTranslation('account');
  const [shown, setShown] = useState(false);
  return (
    <div>
      <Text size="sm" fw={500} mb={2}>
        {label}
      </Text>
      <Group gap={4} wrap="nowrap" maw="100%">
        <Code fz="sm" px="sm" py={6} style={{ overflowWrap: 'anywhere' }}>
          {shown ? text : '•'.repeat(16)}
        </Code>
        <Tooltip label={shown ? t('mailbox.hide') : t('mailbox.show')}>
          <ActionIcon
            aria-label={formatLabelled(shown ? t('mailbox.hide') : t('mailbox.show'), label)}
            onClick={() => setShown(!shown)}
          >
            {shown ? <IconEyeOff size={16} /> : <IconEye size={16} />}
          </ActionIcon>
        </Tooltip>
        <CopyIconButton text={text} />
      </Group>
    </div>
  );
}
