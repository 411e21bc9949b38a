import { Alert, Anchor, Button, PasswordInput, Stack, Text, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { login, register } from '../../../contract/accounts.ts';
import { call } from '../../data/client.ts';
import { useStatus } from '../../data/queries.ts';
import { rememberUser, safePath } from '../../data/session.ts';
import { Failure } from '../../parts/failure.tsx';
import { SignInFrame } from './sign-in-frame.tsx';

export function RegisterPage() {
  const { t } = useTranslation(['account', 'shell']);
  const { back } = useSearch({ from: '/register' });
  const navigate = useNavigate();
  const { data: status } = useStatus();
  const [form, setForm] = useState({ username: '', email: '', password: '' });
  const create = useMutation({
    mutationFn: async () => {
      const { username, email, password } = form;
      await call(register, { body: { username, password, ...(email === '' ? {} : { email }) } });
      const { data } = await call(login, { body: { username, password } });
      if ('id' in data) rememberUser(data.id);
    },
    onSuccess: () => navigate({ href: safePath(back) }),
  });
  const field = (name: keyof typeof form) => ({
    value: form[name],
    onChange: (event: { currentTarget: { value: string } }) => {
      const { value } = event.currentTarget;
      setForm((known) => ({ ...known, [name]: value }));
    },
  });
  return (
    <SignInFrame title={t('account:register.title')}>
      {status?.registration === 'closed' ? (
        <Alert color="gray">{t('account:register.closed')}</Alert>
      ) : (
        <form
          onSubmit={(event) => {
            event.preventDefault();
            create.mutate();
          }}
        >
          <Stack>
            <TextInput
              label={t('account:register.username')}
              description={t('account:register.usernameHint')}
              autoComplete="username"
              autoCapitalize="none"
              pattern="[a-z0-9_\-]{3,30}"
              autoFocus
              required
              {...field('username')}
            />
            <TextInput
              label={`${t('account:register.email')} (${t('shell:optional')})`}
              type="email"
              autoComplete="email"
              {...field('email')}
            />
            <PasswordInput
              label={t('account:register.password')}
              description={t('account:register.passwordHint')}
              autoComplete="new-password"
              minLength={8}
              maxLength={128}
              required
              {...field('password')}
            />
            <Failure error={create.error} />
            <Button type="submit" loading={create.isPending}>
              {t('account:register.action')}
            </Button>
          </Stack>
        </form>
      )}
      <Text size="sm" c="dimmed" mt="md">
        {t('account:register.haveAccount')}{' '}
        <Anchor renderRoot={(props) => <Link to="/sign-in" search={back === undefined ? {} : { back }} {...props} />}>
          {t('account:register.signIn')}
        </Anchor>
      </Text>
    </SignInFrame>
  );
}
