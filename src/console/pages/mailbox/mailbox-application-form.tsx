import { Alert, Anchor, Button, Group, Stack, TextInput } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { applyForMailbox } from '../../../contract/mailbox.ts';
import { ErrorAlert } from '../../components/error-alert.tsx';
import { SettingsSection } from '../../components/settings-section.tsx';
import { useToasts } from '../../components/toasts.tsx';
import { callApi } from '../../data/api-client.ts';
import { useSelf } from '../../data/signed-in-user-and-site-queries.ts';

export function MailboxApplicationForm() {
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
