import { Alert, Anchor, Button, Stack, Text, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { login, register } from '../../../contract/accounts.ts';
import { ErrorAlert } from '../../components/error-alert.tsx';
import { NewPasswordInput } from '../../components/new-password-input.tsx';
import { callApi } from '../../data/api-client.ts';
import { storeUserId } from '../../data/browser-storage.ts';
import { formatAside } from '../../data/format-values.ts';
import { toSafeRedirectPath } from '../../data/safe-redirect-path.ts';
import { useStatus } from '../../data/self.ts';
import { SignInFrame } from './sign-in-frame.tsx';

/** Creates an account. */
export function RegisterPage() {
  const { t } = useTranslation(['sign-in', 'app']);
  const { back } = useSearch({ from: '/register' });
  const navigate = useNavigate();
  const { data: status } = useStatus();
  const [form, setForm] = useState({ username: '', email: '', password: '' });
  const create = useMutation({
    mutationFn: async () => {
      const { username, email, password } = form;
      await callApi(register, { body: { username, password, email: email || undefined } });
      const { data } = await callApi(login, { body: { username, password } });
      if ('id' in data) storeUserId(data.id);
    },
    onSuccess: () => navigate({ href: toSafeRedirectPath(back) }),
  });
  const field = (name: keyof typeof form) => ({
    value: form[name],
    onChange: (event: { currentTarget: { value: string } }) => {
      const { value } = event.currentTarget;
      setForm((known) => ({ ...known, [name]: value }));
    },
  });
  return (
    <SignInFrame title={t('register.title')}>
      {status?.registration === 'closed' ? (
        <Alert color="gray">{t('register.closed')}</Alert>
      ) : (
        <form
          onSubmit={(event) => {
            event.preventDefault();
            create.mutate();
          }}
        >
          <Stack>
            <TextInput
              label={t('register.username')}
              description={t('register.usernameHint')}
              autoComplete="username"
              autoCapitalize="none"
              pattern="[a-z0-9_\-]{3,30}"
              autoFocus
              required
              {...field('username')}
            />
            <TextInput
              label={formatAside(t('register.email'), t('app:optional'))}
              type="email"
              autoComplete="email"
              {...field('email')}
            />
            <NewPasswordInput
              label={t('register.password')}
              description={t('register.passwordHint')}
              required
              {...field('password')}
            />
            <ErrorAlert error={create.error} />
            <Button type="submit" loading={create.isPending}>
              {t('register.action')}
            </Button>
          </Stack>
        </form>
      )}
      <Text size="sm" c="dimmed" mt="md">
        {t('register.haveAccount')}{' '}
        <Anchor renderRoot={(props) => <Link to="/sign-in" search={{ back }} {...props} />}>
          {t('register.signIn')}
        </Anchor>
      </Text>
    </SignInFrame>
  );
}
