import { Button, Group, Stack, TextInput } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { bindMessaging, bindPhone, sendPhoneCode } from '../../../contract/accounts.ts';
import { ErrorAlert } from '../../components/error-alert.tsx';
import { useToasts } from '../../components/toasts.tsx';
import { callApi } from '../../data/api-client.ts';
import { selfQuery, useStatus } from '../../data/signed-in-user-and-site-queries.ts';

/** A number, then the code that was sent to it. */
export function BindPhoneForm() {
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

/** The code that the messaging app shows. */
export function BindMessagingAppForm() {
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
  /** Sends the code. */
  readonly bind: (code: string) => Promise<unknown>;
  /** Shown when the account is linked. */
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
  readonly hint?: string | undefined;
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
