import { Badge, Button, Group, PasswordInput, Skeleton, Stack, Text, TextInput } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { putSelf } from '../../../contract/accounts.ts';
import { ErrorAlert } from '../../components/error-alert.tsx';
import { Page } from '../../components/page.tsx';
import { SettingsSection } from '../../components/settings-section.tsx';
import { useToasts } from '../../components/toasts.tsx';
import { callApi } from '../../data/api-client.ts';
import { formatDate } from '../../data/format-times-and-durations.ts';
import { emailQuery } from '../../data/session-email-and-device-queries.ts';
import { type Self, selfQuery, useSelf, useStatus } from '../../data/signed-in-user-and-site-queries.ts';
import { BindMessagingAppForm, BindPhoneForm } from './bind-phone-and-messaging-app-forms.tsx';
import { EmailUnconfirmedNotice } from './email-unconfirmed-notice.tsx';

export function ProfilePage() {
  const { t } = useTranslation('account');
  const self = useSelf();
  const { data: status } = useStatus();
  return (
    <Page title={t('profile.title')} size="md">
      <ErrorAlert error={self.error} retry={() => void self.refetch()} />
      {self.data === undefined ? (
        self.error === null ? (
          <Skeleton h={320} radius="lg" />
        ) : null
      ) : (
        <Stack gap="lg">
          <NameAndEmailForm self={self.data} />
          <SettingsSection
            title={t('profile.account')}
            aside={<Badge color="gray">{t(`profile.roles.${self.data.role as 'user'}`)}</Badge>}
            subtitle={`${self.data.username} · ${t('profile.since')} ${formatDate(self.data.created_time)}`}
          />
          <SettingsSection title={t('profile.bindings')} subtitle={t('profile.bindingsText')}>
            <Stack gap="lg">
              <BindingStatus name={t('profile.phone')} bound={self.data.phone_bound}>
                <BindPhoneForm />
              </BindingStatus>
              {status?.messaging_binding === true || self.data.messaging_bound ? (
                <BindingStatus name={t('profile.messaging')} bound={self.data.messaging_bound}>
                  <BindMessagingAppForm />
                </BindingStatus>
              ) : null}
            </Stack>
          </SettingsSection>
        </Stack>
      )}
    </Page>
  );
}

function BindingStatus({
  name,
  bound,
  children,
}: {
  readonly name: string;
  readonly bound: boolean;
  readonly children: ReactNode;
}) {
  const { t } = useTranslation('account');
  return (
    <div>
      <Group gap="xs" mb="xs">
        <Text fw={600} size="sm">
          {name}
        </Text>
        <Badge color={bound ? 'teal' : 'gray'}>{bound ? t('profile.bound') : t('profile.notBound')}</Badge>
      </Group>
      {children}
    </div>
  );
}

function NameAndEmailForm({ self }: { readonly self: Self }) {
  const { t } = useTranslation(['account', 'app']);
  const queries = useQueryClient();
  const toasts = useToasts();
  const [name, setName] = useState(self.display_name);
  const [email, setEmail] = useState(self.email);
  const [password, setPassword] = useState('');
  const needsPassword = useStatus().data?.mail === true && email !== self.email;
  const save = useMutation({
    mutationFn: () =>
      callApi(putSelf, {
        body: {
          display_name: name === self.display_name ? undefined : name,
          email: email === self.email ? undefined : email,
          original_password: needsPassword ? password : undefined,
        },
      }),
    onSuccess: async () => {
      toasts.success(t('app:saved'));
      setPassword('');
      await queries.invalidateQueries({ queryKey: selfQuery.queryKey });
      await queries.invalidateQueries({ queryKey: emailQuery.queryKey });
    },
  });
  return (
    <SettingsSection title={t('profile.title')}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          save.mutate();
        }}
      >
        <Stack maw={420}>
          <TextInput
            label={t('profile.displayName')}
            description={t('profile.displayNameHint', { username: self.username })}
            maxLength={60}
            required
            withAsterisk={false}
            value={name}
            onChange={(event) => setName(event.currentTarget.value)}
          />
          <TextInput
            type="email"
            label={t('profile.email')}
            description={t('profile.emailHint')}
            autoComplete="email"
            value={email}
            onChange={(event) => setEmail(event.currentTarget.value)}
          />
          <EmailUnconfirmedNotice />
          {needsPassword ? (
            <PasswordInput
              label={t('profile.emailPassword')}
              description={t('profile.emailPasswordHint')}
              autoComplete="current-password"
              required
              withAsterisk={false}
              value={password}
              onChange={(event) => setPassword(event.currentTarget.value)}
            />
          ) : null}
          <ErrorAlert error={save.error} />
          <Group>
            <Button
              type="submit"
              loading={save.isPending}
              disabled={name === self.display_name && email === self.email}
            >
              {t('app:save')}
            </Button>
          </Group>
        </Stack>
      </form>
    </SettingsSection>
  );
}
