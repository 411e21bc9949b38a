import { Button, Group, PasswordInput, Stack } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { putSelf } from '../../../contract/accounts.ts';
import { call } from '../../data/client.ts';
import { useSelf } from '../../data/queries.ts';
import { Failure } from '../../parts/failure.tsx';
import { useNotices } from '../../parts/notices.tsx';
import { Section } from '../../parts/section.tsx';

export function PasswordSection() {
  const { t } = useTranslation('account');
  const { data: self } = useSelf();
  const queries = useQueryClient();
  const notices = useNotices();
  const [original, setOriginal] = useState('');
  const [next, setNext] = useState('');
  const change = useMutation({
    mutationFn: () => call(putSelf, { body: { password: next, original_password: original } }),
    onSuccess: async () => {
      setOriginal('');
      setNext('');
      notices.done(t('security.changed'));
      await queries.invalidateQueries({ queryKey: ['sessions'] });
    },
  });
  return (
    <Section title={t('security.password')} lead={t('security.passwordText')}>
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
          <PasswordInput
            label={t('security.next')}
            description={t('register.passwordHint')}
            autoComplete="new-password"
            minLength={8}
            maxLength={128}
            required
            value={next}
            onChange={(event) => setNext(event.currentTarget.value)}
          />
          <Failure error={change.error} />
          <Group>
            <Button type="submit" loading={change.isPending} disabled={original === '' || next === ''}>
              {t('security.change')}
            </Button>
          </Group>
        </Stack>
      </form>
    </Section>
  );
}
