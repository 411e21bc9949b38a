import { Alert, Badge, Button, Group, PasswordInput, Skeleton, Stack, Text, TextInput } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { bindMessaging, bindPhone, putSelf, resendConfirmation, sendPhoneCode } from '../../../contract/accounts.ts';
import { ErrorAlert, QueryError } from '../../components/error-alert.tsx';
import { Page } from '../../components/page.tsx';
import { SettingsSection } from '../../components/panel.tsx';
import { hasSingleKeys } from '../../components/shortcut-keys.ts';
import { SingleKeysSwitch } from '../../components/shortcuts-dialog.tsx';
import { useToasts } from '../../components/toasts.tsx';
import { emailQuery } from '../../data/account-queries.ts';
import { callApi } from '../../data/api-client.ts';
import { formatDate } from '../../data/format-values.ts';
import { type Self, selfQuery, useSelf, useStatus } from '../../data/self.ts';

/** Profile of the account, and its linked e-mail, phone and messaging app. */
export function ProfilePage() {
  const { t } = useTranslation('account');
  const self = useSelf();
  const { data: status } = useStatus();
  return (
    <Page title={t('profile.title')} size="md">
      <QueryError query={self} />
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
          <ShortcutSettings />
        </Stack>
      )}
    </Page>
  );
}

/** The switch for single-key shortcuts, stored in this browser. */
function ShortcutSettings() {
  const { t } = useTranslation('keyboard');
  const [isOn, setOn] = useState(hasSingleKeys);
  return (
    <SettingsSection title={t('shortcuts.title')} subtitle={t('shortcuts.settingsText')}>
      <SingleKeysSwitch isOn={isOn} onChange={setOn} />
    </SettingsSection>
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

/**
 * Notice that the e-mail address is not confirmed, with a button to resend the link. Renders nothing if no action is
 * needed.
 */
function EmailUnconfirmedNotice() {
  const { t } = useTranslation('account');
  const { data } = useQuery(emailQuery);
  const resend = useMutation({ mutationFn: () => callApi(resendConfirmation, {}) });
  if (data === undefined || data.email === '' || data.confirmed || !data.can_confirm) return null;
  return (
    <Alert color="yellow" variant="light">
      <Text size="sm">{t('profile.emailUnconfirmed', { email: data.email })}</Text>
      <ErrorAlert error={resend.error} />
      <Group mt="xs">
        <Button
          size="compact-sm"
          variant="light"
          loading={resend.isPending}
          disabled={resend.isSuccess}
          onClick={() => resend.mutate()}
        >
          {t(resend.isSuccess ? 'profile.emailSent' : 'profile.emailResend')}
        </Button>
      </Group>
    </Alert>
  );
}

/** Asks for a phone number, then for the code sent to it. */
function BindPhoneForm() {
  const { t } = useTranslation('account');
  const toasts = useToasts();
  const [phone, setPhone] = useState('');
  const codesAreLogged = useStatus().data?.phone_codes === 'log';
  const number = phone.replace(/[\s()-]/g, '');
  const send = useMutation({
    mutationFn: () => callApi(sendPhoneCode, { body: { phone: number } }),
    onSuccess: () => toasts.success(t(codesAreLogged ? 'profile.phoneLogged' : 'profile.phoneSent')),
  });
  return (
    <Stack gap="sm">
      <InputWithButton
        label={t('profile.phoneLabel')}
        hint={codesAreLogged ? t('profile.phoneLogHint') : t('profile.phoneHint')}
        type="tel"
        autoComplete="tel"
        value={phone}
        onChange={setPhone}
        buttonLabel={t('profile.sendCode')}
        busy={send.isPending}
        onSubmit={send.mutate}
      />
      {send.isSuccess ? (
        <CodeForm
          autoComplete="one-time-code"
          message={t('profile.phoneDone')}
          bind={async (code) => {
            await callApi(bindPhone, { body: { phone: number, code } });
            setPhone('');
            send.reset();
          }}
        />
      ) : null}
      <ErrorAlert error={send.error} />
    </Stack>
  );
}

/** Asks for the code shown by the messaging app. */
function BindMessagingAppForm() {
  const { t } = useTranslation('account');
  return (
    <CodeForm
      hint={t('profile.messagingHint')}
      autoComplete="off"
      message={t('profile.messagingDone')}
      bind={(code) => callApi(bindMessaging, { body: { code } })}
    />
  );
}

interface CodeFormProps {
  readonly hint?: string;
  readonly autoComplete: string;
  /** Submits the code. */
  readonly bind: (code: string) => Promise<unknown>;
  /** Toast shown once the account is linked. */
  readonly message: string;
}

function CodeForm({ hint, autoComplete, bind, message }: CodeFormProps) {
  const { t } = useTranslation('account');
  const queries = useQueryClient();
  const toasts = useToasts();
  const [code, setCode] = useState('');
  const binding = useMutation({
    mutationFn: () => bind(code.trim()),
    onSuccess: async () => {
      setCode('');
      toasts.success(message);
      await queries.invalidateQueries({ queryKey: selfQuery.queryKey });
    },
  });
  return (
    <Stack gap="sm">
      <InputWithButton
        label={t('profile.code')}
        hint={hint}
        type="text"
        autoComplete={autoComplete}
        value={code}
        onChange={setCode}
        buttonLabel={t('profile.bind')}
        busy={binding.isPending}
        onSubmit={binding.mutate}
      />
      <ErrorAlert error={binding.error} />
    </Stack>
  );
}

interface InputWithButtonProps {
  readonly label: string;
  readonly hint?: string;
  readonly type: 'tel' | 'text';
  readonly autoComplete: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly buttonLabel: string;
  readonly busy: boolean;
  readonly onSubmit: () => void;
}

function InputWithButton({
  label,
  hint,
  type,
  autoComplete,
  value,
  onChange,
  buttonLabel,
  busy,
  onSubmit,
}: InputWithButtonProps) {
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        onSubmit();
      }}
    >
      <Group align="flex-end" gap="sm">
        <TextInput
          label={label}
          description={hint}
          type={type}
          autoComplete={autoComplete}
          required
          withAsterisk={false}
          w={{ base: '100%', xs: 280 }}
          value={value}
          onChange={(event) => onChange(event.currentTarget.value)}
        />
        <Button type="submit" variant="default" loading={busy} disabled={value.trim() === ''}>
          {buttonLabel}
        </Button>
      </Group>
    </form>
  );
}
