import { Skeleton, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { getMailbox } from '../../../contract/mailbox.ts';
import { CopyField } from '../../components/copy-button-and-field.tsx';
import { ErrorAlert } from '../../components/error-alert.tsx';
import { Page } from '../../components/page.tsx';
import { RevealableSecretText } from '../../components/revealable-secret-text.tsx';
import { SettingsSection } from '../../components/settings-section.tsx';
import { callApi } from '../../data/api-client.ts';
import { AppPasswordAndMailServerSettings } from './app-password-and-mail-server-settings.tsx';
import { MailboxApplicationForm } from './mailbox-application-form.tsx';

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
                <RevealableSecretText label={t('password')} text={mailbox.data.password} />
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
