import { Alert, Anchor, Button, Group, Skeleton, Stack, Text, TextInput } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { applyForMailbox, getMailbox } from '../../../contract/mailbox-credentials.ts';
import { CopyField } from '../../components/copy-button.tsx';
import { ErrorAlert } from '../../components/error-alert.tsx';
import { Page } from '../../components/page.tsx';
import { SecretField } from '../../components/secret-field.tsx';
import { SettingsSection } from '../../components/settings-section.tsx';
import { useToasts } from '../../components/toasts.tsx';
import { callApi } from '../../data/api-client.ts';
import { useSelf } from '../../data/signed-in-user-and-site-queries.ts';
import { AppPasswordSection } from './app-password-section.tsx';

/** Secrets are fetched when the page is opened and discarded when the user leaves it. */
const NO_CACHE = { staleTime: 0, gcTime: 0 } as const;

export function MailboxPage() {
  const { t } = useTranslation('mailbox');
  const mailbox = useQuery({
    queryKey: ['mailbox'],
    queryFn: async ({ signal }) => (await callApi(getMailbox, {}, { signal })).data,
    ...NO_CACHE,
  });
  return (
    <Page title={t('title')} subtitle={t('lead')} size="md">
      <ErrorAlert error={mailbox.error} retry={() => void mailbox.refetch()} />
      {mailbox.data === undefined ? (
        mailbox.error === null ? (
          <Skeleton h={240} radius="lg" />
        ) : null
      ) : mailbox.data.has_mailbox ? (
        <Stack gap="lg">
          <SettingsSection title={t('address')}>
            <Stack gap="sm">
              <CopyField text={mailbox.data.email} />
              {mailbox.data.password === '' ? (
                <Text size="sm" c="dimmed">
                  {t('account')}
                </Text>
              ) : (
                <SecretField label={t('password')} text={mailbox.data.password} />
              )}
              <Text size="sm" c="dimmed">
                {mailbox.data.message}
              </Text>
            </Stack>
          </SettingsSection>
          <AppPasswordSection />
        </Stack>
      ) : (
        <MailboxApplication />
      )}
    </Page>
  );
}

function MailboxApplication() {
  const { t } = useTranslation('mailbox');
  const { data: self } = useSelf();
  const queries = useQueryClient();
  const toasts = useToasts();
  const [name, setName] = useState('');
  const apply = useMutation({
    mutationFn: () => callApi(applyForMailbox, { body: name.trim() === '' ? {} : { local_part: name.trim() } }),
    onSuccess: async () => {
      toasts.success(t('created'));
      await queries.invalidateQueries({ queryKey: ['mailbox'] });
    },
  });
  const bound = self === undefined || self.phone_bound || self.messaging_bound;
  return (
    <SettingsSection title={t('applyTitle')} subtitle={t('applyText')}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          apply.mutate();
        }}
      >
        <Stack maw={460}>
          {bound ? null : (
            <Alert color="yellow">
              {t('needsBinding')}{' '}
              <Anchor size="sm" c="inherit" renderRoot={(props) => <Link to="/account/profile" {...props} />}>
                {t('bind')}
              </Anchor>
            </Alert>
          )}
          <TextInput
            label={t('localPart')}
            description={t('localPartHint')}
            autoCapitalize="none"
            maxLength={30}
            value={name}
            onChange={(event) => setName(event.currentTarget.value.toLowerCase())}
          />
          <ErrorAlert error={apply.error} />
          <Group>
            <Button type="submit" loading={apply.isPending} disabled={!bound}>
              {t('apply')}
            </Button>
          </Group>
        </Stack>
      </form>
    </SettingsSection>
  );
}
