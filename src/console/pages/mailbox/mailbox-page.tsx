import { Alert, Anchor, Button, Group, Skeleton, Stack, Text, TextInput } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { applyForMailbox, getMailbox } from '../../../contract/mailbox.ts';
import { call } from '../../data/client.ts';
import { useSelf } from '../../data/queries.ts';
import { CopyField } from '../../parts/copy.tsx';
import { Failure } from '../../parts/failure.tsx';
import { useNotices } from '../../parts/notices.tsx';
import { Page } from '../../parts/page.tsx';
import { SecretField } from '../../parts/secret-field.tsx';
import { Section } from '../../parts/section.tsx';
import { MailPrograms } from './mail-programs.tsx';

/** Secrets are asked for when the page is opened and forgotten when it is left. */
const FRESH = { staleTime: 0, gcTime: 0 } as const;

export function MailboxPage() {
  const { t } = useTranslation('mailbox');
  const mailbox = useQuery({
    queryKey: ['mailbox'],
    queryFn: async ({ signal }) => (await call(getMailbox, {}, { signal })).data,
    ...FRESH,
  });
  return (
    <Page title={t('title')} lead={t('lead')} size="md">
      <Failure error={mailbox.error} retry={() => void mailbox.refetch()} />
      {mailbox.data === undefined ? (
        mailbox.error === null ? (
          <Skeleton h={240} radius="lg" />
        ) : null
      ) : mailbox.data.has_mailbox ? (
        <Stack gap="lg">
          <Section title={t('address')}>
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
          </Section>
          <MailPrograms />
        </Stack>
      ) : (
        <Apply />
      )}
    </Page>
  );
}

function Apply() {
  const { t } = useTranslation('mailbox');
  const { data: self } = useSelf();
  const queries = useQueryClient();
  const notices = useNotices();
  const [name, setName] = useState('');
  const apply = useMutation({
    mutationFn: () => call(applyForMailbox, { body: name.trim() === '' ? {} : { local_part: name.trim() } }),
    onSuccess: async () => {
      notices.done(t('created'));
      await queries.invalidateQueries({ queryKey: ['mailbox'] });
    },
  });
  const bound = self === undefined || self.phone_bound || self.messaging_bound;
  return (
    <Section title={t('applyTitle')} lead={t('applyText')}>
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
          <Failure error={apply.error} />
          <Group>
            <Button type="submit" loading={apply.isPending} disabled={!bound}>
              {t('apply')}
            </Button>
          </Group>
        </Stack>
      </form>
    </Section>
  );
}
