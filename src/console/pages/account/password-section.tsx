import { Button, Group, PasswordInput, Stack } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { putSelf } from '../../../contract/accounts.ts';
import { ErrorAlert } from '../../components/error-alert.tsx';
import { NewPasswordInput } from '../../components/new-password-input.tsx';
import { SettingsSection } from '../../components/settings-section.tsx';
import { useToasts } from '../../components/toasts.tsx';
import { callApi } from '../../data/api-client.ts';
import { useSelf } from '../../data/signed-in-user-and-site-queries.ts';

export function PasswordSection() {
  const { t } = useTranslation(['account', 'sign-in']);
  const { data: self } = useSelf();
  const queries = useQueryClient();
  const toasts = useToasts();
  const [original, setOriginal] = useState('');
  const [next, setNext] = useState('');
  const change = useMutation({
    mutationFn: () => callApi(putSelf, { body: { password: next, original_password: original } }),
    onSuccess: async () => {
      setOriginal('');
      setNext('');
      toasts.success(t('security.changed'));
      await queries.invalidateQueries({ queryKey: ['sessions'] });
    },
  });
  return (
    <SettingsSection title={t('security.password')} subtitle={t('security.passwordText')}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          change.mutate();
        }}
      >
        <Stack maw={420}>
          {/* Password managers look for the name the password belongs to. */}
          <input type="text" autoComplete="username" value={self?.username ?? ''} readOnly hidden />
          <PasswordInput
            label={t('security.original')}
            autoComplete="current-password"
            required
            value={original}
            onChange={(event) => setOriginal(event.currentTarget.value)}
          />
          <NewPasswordInput
            label={t('security.next')}
            description={t('sign-in:register.passwordHint')}
            required
            value={next}
            onChange={(event) => setNext(event.currentTarget.value)}
          />
          <ErrorAlert error={change.error} />
          <Group>
            <Button type="submit" loading={change.isPending} disabled={original === '' || next === ''}>
              {t('security.change')}
            </Button>
          </Group>
        </Stack>
      </form>
    </SettingsSection>
  );
}
